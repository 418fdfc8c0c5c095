package tmux

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// keptPanes is how many panes a Board keeps readable before it uses those of
// finished nodes again.
const keptPanes = 100

// BoardOptions say whose panes a Board places.
type BoardOptions struct {
	Session SessionID
	Run     string // id of the run
	Main    bool   // keep a shell at Root below the first window's panes
	Root    string // the project's root, absolute
	Keep    int    // panes kept readable; 0: 100
}

// Board places the panes of a run's nodes: tiled above the main pane, in
// further windows once a window is full. Each node has one pane, used again by
// its next attempt. What a Board knows it has read from tmux, so it can be
// dropped and made anew. It is not for concurrent use.
type Board struct {
	c       *Client
	o       BoardOptions
	windows []*boardWindow
	panes   map[string]*boardPane // by node
	free    []PaneID              // dead panes of earlier runs and of finished nodes, oldest first
	order   []string              // nodes, in the order in which their panes were made
}

type boardWindow struct {
	id            WindowID
	agents        []PaneID // in tmux's order
	main          PaneID   // empty: none
	width, height int
}

func (w *boardWindow) capacity() int { return Capacity(w.width, w.height, w.main != "") }

type boardPane struct {
	id       PaneID
	window   *boardWindow
	finished bool
}

// optBoard marks the windows' panes that a Board may split, the main pane
// among them, whatever the run.
const optBoard = "@cmux_board"

// NewBoard reads what stands in the session and makes the first window when
// there is none.
func NewBoard(ctx context.Context, c *Client, o BoardOptions) (*Board, error) {
	if o.Keep == 0 {
		o.Keep = keptPanes
	}
	b := &Board{c: c, o: o, panes: make(map[string]*boardPane)}
	panes, err := c.SessionPanes(ctx, o.Session)
	if err != nil {
		return nil, err
	}
	windows := make(map[WindowID]*boardWindow)
	for _, p := range panes {
		if p.Run == "" {
			continue // the monitor, or a person's own
		}
		w := windows[p.Window]
		if w == nil {
			w = &boardWindow{id: p.Window, width: p.WindowWidth, height: p.WindowHeight}
			windows[p.Window] = w
			b.windows = append(b.windows, w)
		}
		if p.Node == "" {
			w.main = p.ID
			continue
		}
		w.agents = append(w.agents, p.ID)
		switch {
		case p.Run == o.Run:
			b.panes[p.Node] = &boardPane{id: p.ID, window: w, finished: p.Finished}
			b.order = append(b.order, p.Node)
		case p.Dead:
			b.free = append(b.free, p.ID)
		}
	}
	if len(b.windows) == 0 && o.Main {
		at, err := c.NewWindow(ctx, o.Session, "agents", Spec{Dir: o.Root})
		if err != nil {
			return nil, err
		}
		w := &boardWindow{id: at.Window, main: at.Pane, width: DefaultWidth, height: DefaultHeight}
		b.windows = append(b.windows, w)
		if _, err := c.RunAll(ctx,
			[]string{"set-option", "-p", "-t", string(at.Pane), "--", optRun, o.Run},
			[]string{"set-option", "-p", "-t", string(at.Pane), "--", optLabel, "main"},
			[]string{"select-window", "-t", string(at.Window)}); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// Pane is the pane of a node, if it has one.
func (b *Board) Pane(node string) (PaneID, bool) {
	if p := b.panes[node]; p != nil {
		return p.id, true
	}
	return "", false
}

// Open runs s in the pane of a node: its own if it has one (ErrPaneActive when
// the process in it has not ended), a new one otherwise.
func (b *Board) Open(ctx context.Context, node string, s Spec) (PaneID, error) {
	if p := b.panes[node]; p != nil {
		err := b.c.RespawnPane(ctx, p.id, s, false)
		if !errors.Is(err, ErrNotFound) {
			if err == nil {
				p.finished = false
				err = b.c.SetOption(ctx, p.id, optFinished, "")
			}
			return p.id, err
		}
		b.forget(node) // a person closed it
	}
	if id, ok := b.reuse(); ok {
		if err := b.c.RespawnPane(ctx, id, s, true); err == nil {
			return id, b.own(ctx, node, id, b.windowOf(id))
		}
	}
	w, at, err := b.split(ctx, s)
	if err != nil {
		return "", err
	}
	return at, b.own(ctx, node, at, w)
}

// own marks a pane as the node's and lays its window out.
func (b *Board) own(ctx context.Context, node string, id PaneID, w *boardWindow) error {
	b.panes[node] = &boardPane{id: id, window: w}
	b.order = append(b.order, node)
	set := func(name, value string) []string {
		return []string{"set-option", "-p", "-t", string(id), "--", name, value}
	}
	commands := [][]string{set(optRun, b.o.Run), set(optNode, node), set(optFinished, ""), set(optLabel, labelText(node))}
	if w != nil {
		if layout, err := Layout(w.width, w.height, w.agents, w.main); err == nil {
			commands = append(commands, []string{"select-layout", "-t", string(w.id), layout})
		}
	}
	_, err := b.c.RunAll(ctx, commands...)
	return err
}

// reuse takes a pane that nobody needs any more: one of an earlier run, or
// beyond the kept number the oldest one of a finished node.
func (b *Board) reuse() (PaneID, bool) {
	if len(b.free) > 0 {
		id := b.free[0]
		b.free = b.free[1:]
		return id, true
	}
	if len(b.panes) < b.o.Keep {
		return "", false
	}
	for _, node := range b.order {
		if p := b.panes[node]; p != nil && p.finished {
			id := p.id
			delete(b.panes, node)
			b.order = slices.DeleteFunc(b.order, func(n string) bool { return n == node })
			return id, true
		}
	}
	return "", false
}

func (b *Board) windowOf(id PaneID) *boardWindow {
	for _, w := range b.windows {
		if slices.Contains(w.agents, id) {
			return w
		}
	}
	return nil
}

func (b *Board) forget(node string) {
	p := b.panes[node]
	delete(b.panes, node)
	b.order = slices.DeleteFunc(b.order, func(n string) bool { return n == node })
	if w := p.window; w != nil {
		w.agents = slices.DeleteFunc(w.agents, func(id PaneID) bool { return id == p.id })
	}
}

const splitFormat = "#{pane_id} #{window_id} #{window_width} #{window_height}"

// split makes a pane in the first window that has room, or in a new one.
func (b *Board) split(ctx context.Context, s Spec) (*boardWindow, PaneID, error) {
	rest, err := s.args()
	if err != nil {
		return nil, "", err
	}
	for _, w := range b.windows {
		if len(w.agents) >= w.capacity() {
			continue
		}
		args := []string{"split-window", "-v", "-t"}
		if n := len(w.agents); n > 0 {
			args = append(args, string(w.agents[n-1]))
		} else {
			args = append(args, string(w.main), "-b")
		}
		out, err := b.c.Run(ctx, append(append(args, "-d", "-P", "-F", splitFormat), rest...)...)
		if errors.Is(err, ErrNotFound) || errors.Is(err, ErrNoSpace) {
			// A person closed or resized it: look again, and try the next.
			b.refresh(ctx, w)
			continue
		}
		if err != nil {
			return nil, "", err
		}
		id, err := w.took(out)
		return w, id, err
	}
	name := "agents"
	if n := len(b.windows); n > 0 {
		name = "agents-" + strconv.Itoa(n+1)
	}
	args := []string{"new-window", "-t", string(b.o.Session) + ":", "-n", formatLiteral(name)}
	out, err := b.c.Run(ctx, append(append(args, "-d", "-P", "-F", splitFormat), rest...)...)
	if err != nil {
		return nil, "", err
	}
	w := &boardWindow{}
	id, err := w.took(out)
	b.windows = append(b.windows, w)
	return w, id, err
}

// took reads the answer to a split.
func (w *boardWindow) took(out string) (PaneID, error) {
	f := strings.Fields(out)
	if len(f) != 4 {
		return "", fmt.Errorf("tmux: cannot read the ids of a new pane from %q", out)
	}
	w.id = WindowID(f[1])
	w.width, _ = strconv.Atoi(f[2])
	w.height, _ = strconv.Atoi(f[3])
	w.agents = append(w.agents, PaneID(f[0]))
	return PaneID(f[0]), nil
}

// refresh reads what is left of a window; one that is gone holds nothing and
// is never split.
func (b *Board) refresh(ctx context.Context, w *boardWindow) {
	panes, err := b.c.WindowPanes(ctx, w.id)
	w.agents, w.main = nil, ""
	if err != nil {
		w.width, w.height = 0, 0
		b.windows = slices.DeleteFunc(slices.Clone(b.windows), func(o *boardWindow) bool { return o == w })
		return
	}
	for _, p := range panes {
		w.width, w.height = p.WindowWidth, p.WindowHeight
		switch {
		case p.Run == "":
		case p.Node == "":
			w.main = p.ID
		default:
			w.agents = append(w.agents, p.ID)
		}
	}
}

// Finish says that a node is done: its pane may be used again when panes run
// short.
func (b *Board) Finish(ctx context.Context, node string) error {
	p := b.panes[node]
	if p == nil {
		return nil
	}
	p.finished = true
	return b.c.SetOption(ctx, p.id, optFinished, "1")
}

// Label shows text in the border of a node's pane.
func (b *Board) Label(ctx context.Context, node, text string) error {
	p := b.panes[node]
	if p == nil {
		return nil
	}
	return b.c.SetLabel(ctx, p.id, text)
}
