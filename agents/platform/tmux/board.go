package tmux

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// BoardConfig describes a Board: whose panes it places, and how.
type BoardConfig struct {
	Session SessionID
	Run     string // the run's id, without white space
	Main    *Spec  // the main pane; nil: none
	Apart   bool   // the main pane has its own window; else it is below the agents
	Tile    Tile   // minimum size of a live pane; zero: that for a program's lines
	Keep    int    // number of panes of ended nodes to keep; 0: 100
}

// Node is a node's process and the label in the border of its pane.
type Node struct {
	Name  string // without white space
	Label Label
	Spec
	// Ended: the caller knows that the process in the node's pane has ended (its lock is
	// free). Open then ends any process that still holds the terminal; otherwise it returns
	// ErrPaneActive.
	Ended bool
	// Spare becomes the node's process if the node needs a new pane and a window has room
	// for it; Open then returns the spare's pane. Otherwise Open starts Spec.
	Spare Spare
}

// Shown is how a Board shows a node.
type Shown struct {
	Label
	// Over: no process of the node runs. Its pane leaves the tiled windows.
	Over bool
	Done bool // it succeeded: its pane is closed first if there are too many
}

// Board gives the nodes of a run their panes. Live panes are tiled in as many windows as
// needed to keep them readable. A pane whose node has ended moves to a window for ended
// nodes, and back when its node starts again. Options of panes and windows record which
// node and which kind they belong to, so a new Board on the same session and run finds them
// all. A later run in the session continues in the windows of the one before, including its
// main pane, and closes the panes whose processes have ended.
//
// A Board never moves panes in windows of the person, and does not touch a zoomed window
// until the zoom ends. It is safe for concurrent use.
type Board struct {
	c   *Client
	cfg BoardConfig

	mu       sync.Mutex
	all      []Pane            // of the session, as last listed and updated since
	panes    map[string]PaneID // by node
	shown    map[string]Shown  // by node, as last set
	arranged map[WindowID]string
	cleared  bool   // what earlier runs left is closed
	home     PaneID // the monitor's
}

// Kinds of windows and their names; further ones are NAME-2, ...
const (
	kindAgents = "agents"
	kindMain   = "main"
	kindEnded  = "ended"
)

// NewBoard makes the board of a run from the panes in the session.
func NewBoard(ctx context.Context, c *Client, cfg BoardConfig) (*Board, error) {
	if cfg.Keep == 0 {
		cfg.Keep = 100
	}
	if cfg.Tile == (Tile{}) {
		cfg.Tile = lineTile
	}
	if cfg.Run == "" || strings.ContainsAny(cfg.Run, " \t\r\n") {
		return nil, fmt.Errorf("bad run id %q for a board", cfg.Run)
	}
	b := &Board{c: c, cfg: cfg, arranged: map[WindowID]string{}, shown: map[string]Shown{}}
	return b, b.Refresh(ctx)
}

// Refresh lists the session's panes again and tiles every window of the board whose size or
// panes changed since it was last tiled, for example after a terminal of another size
// attached or a person closed a pane. Sizes that a person gave to panes stay. Call it after
// notifications and from time to time.
func (b *Board) Refresh(ctx context.Context) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.refresh(ctx)
}

func (b *Board) refresh(ctx context.Context) error {
	if err := b.list(ctx); err != nil {
		return err
	}
	return b.arrange(ctx, nil)
}

// list lists the session's panes.
func (b *Board) list(ctx context.Context) error {
	all, err := b.c.SessionPanes(ctx, b.cfg.Session)
	if err != nil {
		return err
	}
	b.all, b.panes = all, map[string]PaneID{}
	b.home = ""
	live := map[string]bool{}
	for _, p := range all {
		if p.Monitor {
			b.home = p.ID
		}
		if p.Run != b.cfg.Run || p.Node == "" || live[p.Node] {
			continue
		}
		b.panes[p.Node] = p.ID // a live pane wins over a dead one
		live[p.Node] = !p.Dead
	}
	for w := range b.arranged {
		if !slices.ContainsFunc(all, func(p Pane) bool { return p.Window == w }) {
			delete(b.arranged, w)
		}
	}
	return nil
}

// Viewed reports whether somebody saw the session when its panes were listed.
func (b *Board) Viewed() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.ContainsFunc(b.all, func(p Pane) bool { return p.Viewed })
}

// Pane returns the pane of a node.
func (b *Board) Pane(node string) (PaneID, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	p, ok := b.panes[node]
	return p, ok
}

// Show updates nodes, all at once: it sets their borders and moves panes of nodes that are
// Over out of the tiled windows. It ignores nodes without a pane.
func (b *Board) Show(ctx context.Context, nodes map[string]Shown) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	var lines [][][]string
	moved := false
	for name, s := range nodes {
		was := b.shown[name]
		b.shown[name] = s
		p, ok := b.panes[name]
		if !ok {
			continue
		}
		var line [][]string
		if was.Label != s.Label {
			line = s.Label.commands(p)
		}
		moved = moved || s.Over != was.Over
		if s.Over && !b.counted(p) {
			line = append(line,
				// A counter: the order of ending, for a later Board.
				[]string{"set-option", "-sF", "@cmux_count", "#{e|+:#{@cmux_count},1}"},
				[]string{"set-option", "-pF", "-t", string(p), "--", optFinished, "#{@cmux_count}"})
		}
		if line != nil {
			lines = append(lines, line)
		}
	}
	if !moved {
		return b.carryOut(ctx, lines)
	}
	if err := b.list(ctx); err != nil {
		return err
	}
	return b.arrange(ctx, lines)
}

// counted reports whether a pane has a number in the order of ending.
func (b *Board) counted(p PaneID) bool {
	return slices.ContainsFunc(b.all, func(q Pane) bool { return q.ID == p && q.Finished > 0 })
}

// carryOut runs lines of commands in tmux, at once. A pane that a person has closed is no
// error: the next Refresh notices it.
func (b *Board) carryOut(ctx context.Context, lines [][][]string) error {
	results, err := b.c.send(ctx, lines)
	if err != nil {
		return err
	}
	var errs []error
	for _, r := range results {
		if r.err != nil && !errors.Is(r.err, ErrNotFound) {
			errs = append(errs, r.err)
		}
	}
	return errors.Join(errs...)
}

// arrange runs lines, then moves the panes that are in the wrong window and tiles every
// window that needs it.
func (b *Board) arrange(ctx context.Context, lines [][][]string) error {
	p := b.plan(time.Now())
	err := b.carryOut(ctx, lines)
	if err == nil {
		err = p.carryOut(ctx)
	}
	if errors.Is(err, ErrNoSpace) { // a person made panes small: tile first
		var even [][][]string
		for _, f := range b.frames() {
			if !f.zoomed {
				even = append(even, [][]string{{"select-layout", "-t", string(f.first()), "tiled"}})
			}
		}
		if err = errors.Join(b.carryOut(ctx, even), b.list(ctx)); err == nil {
			clear(b.arranged)
			p = b.plan(time.Now())
			err = p.carryOut(ctx)
		}
	}
	if err != nil {
		return err
	}
	if p.moved {
		// Windows were created and closed.
		if err := b.list(ctx); err != nil {
			return err
		}
	}
	for _, f := range b.frames() {
		if k, ok := p.tiled[f.first()]; ok {
			b.arranged[f.id] = k
		}
	}
	return nil
}

func setPane(p PaneID, name, value string) []string {
	args := []string{"set-option", "-p"}
	if p != "" {
		args = append(args, "-t", string(p))
	}
	return append(args, "--", name, value)
}

// setKind sets the kind of the window of p, or of the current one.
func setKind(p PaneID, kind string) []string {
	args := []string{"set-option", "-w"}
	if p != "" {
		args = append(args, "-t", string(p))
	}
	return append(args, "--", optKind, kind)
}
