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

// BoardConfig says whose panes a Board places, and where.
type BoardConfig struct {
	Session SessionID
	Run     string // the run's id, without white space
	Main    *Spec  // the main pane; nil: none
	Apart   bool   // the main pane has a window of its own, else it stands below the agents
	Tile    Tile   // the least size of a live pane; zero: that of a program's lines
	Keep    int    // panes of ended nodes to leave readable; 0: 100
}

// Node is a node's process and what stands in the border of its pane.
type Node struct {
	Name  string // without white space
	Label Label
	Spec
	// Ended: the caller knows that the process in the node's pane has ended
	// (its lock is free). Whatever still holds the terminal is then ended, where
	// otherwise Open fails with ErrPaneActive.
	Ended bool
	// Spare becomes the node's process where it needs a new pane and a window has
	// room for that; Open's pane is then that of the spare. Else Spec is started.
	Spare Spare
}

// Shown is what a Board shows of a node.
type Shown struct {
	Label
	// Over: no process of the node is at work. Its pane leaves the tiles.
	Over bool
	Done bool // it ended well: its pane goes first where many are kept
}

// Board gives the nodes of a run their panes. Live ones share the room, tiled,
// in as many windows as it takes to keep them readable; one that has ended moves
// to a window of ended ones, and back when its node is started again. Which pane
// is whose stands in options of the panes, and what a window is for in one of the
// window, so a new Board on the same session and run finds them all. A later run
// in the session goes on in the windows of the one before, its main pane
// included, and closes the panes whose processes have ended.
//
// Panes in windows of a person's own are left where they are, and so are, for
// the time being, those of a zoomed window.
// Methods may be called from several goroutines.
type Board struct {
	c   *Client
	cfg BoardConfig

	mu       sync.Mutex
	all      []Pane            // of the session, as last listed and changed since
	panes    map[string]PaneID // by node
	shown    map[string]Shown  // by node, as last told
	arranged map[WindowID]string
	cleared  bool   // what earlier runs left is closed
	home     PaneID // the monitor's
}

// Kinds of windows, by what stands in them, and their names; further ones are
// NAME-2, ...
const (
	kindAgents = "agents"
	kindMain   = "main"
	kindEnded  = "ended"
)

// NewBoard makes the board of a run from what the session holds of it.
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

// Refresh reads the session's panes anew and arranges every window of the board
// whose size or panes changed since it was last arranged, as after a terminal
// of another size attached or a person closed a pane; sizes that a person gave
// to panes stay. Call it at notifications and now and then.
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

// list reads the session's panes.
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
		b.panes[p.Node] = p.ID // a pane that lives goes before a dead one
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

// Pane is the pane of a node.
func (b *Board) Pane(node string) (PaneID, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	p, ok := b.panes[node]
	return p, ok
}

// Show shows how nodes stand, all at once: their borders change, and the panes
// of those that are over leave the tiles. Nodes without a pane are passed over.
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
				// A count that grows: the order of ending, for a later Board.
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

// counted reports whether a pane has its place in the order of ending.
func (b *Board) counted(p PaneID) bool {
	return slices.ContainsFunc(b.all, func(q Pane) bool { return q.ID == p && q.Finished > 0 })
}

// carryOut has tmux carry out lines of commands in one go. What a person closed
// meanwhile is no error: the next look finds it out.
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

// arrange carries out lines, then moves the panes that stand in the wrong window
// and tiles every window that is not arranged.
func (b *Board) arrange(ctx context.Context, lines [][][]string) error {
	p := b.plan(time.Now())
	err := b.carryOut(ctx, lines)
	if err == nil {
		err = p.carryOut(ctx)
	}
	if errors.Is(err, ErrNoSpace) { // a person made panes small: all get some room
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
		// Windows were made and closed.
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

// setKind says what the window of p is for, or the current one.
func setKind(p PaneID, kind string) []string {
	args := []string{"set-option", "-w"}
	if p != "" {
		args = append(args, "-t", string(p))
	}
	return append(args, "--", optKind, kind)
}
