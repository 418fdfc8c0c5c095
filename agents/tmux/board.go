package tmux

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// BoardConfig says whose panes a Board places, and where.
type BoardConfig struct {
	Session SessionID
	Run     string // the run's id, without white space
	Window  string // name of the first window; further ones are Window-2, ...
	Main    *Spec  // the main pane of the first window; nil: none
	Keep    int    // panes of finished nodes to leave readable; 0: 100
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
}

// Board gives the nodes of a run their panes: tiled above the main pane, in
// further windows when a window is full. Which pane is whose stands in options
// of the panes, so a new Board on the same session and run finds them all. A
// later run in the session goes on in the windows of the one before, its main
// pane included, and first uses the panes whose processes have ended.
// Methods may be called from several goroutines.
type Board struct {
	c   *Client
	cfg BoardConfig

	mu       sync.Mutex
	windows  []WindowID        // in order of opening
	panes    map[string]PaneID // by node
	finished []string          // nodes whose panes may be used again, oldest first
	free     []PaneID          // dead panes of earlier runs
	arranged map[WindowID]string
	full     map[WindowID]bool // had no room when last asked, since the last refresh
	home     PaneID            // the monitor's
	after    map[PaneID]PaneID // of the panes that need a person: see SetRing
}

// NewBoard makes the board of a run from what the session holds of it.
func NewBoard(ctx context.Context, c *Client, cfg BoardConfig) (*Board, error) {
	if cfg.Keep == 0 {
		cfg.Keep = 100
	}
	if cfg.Run == "" || strings.ContainsAny(cfg.Run, " \t\r\n") {
		return nil, fmt.Errorf("bad run id %q for a board", cfg.Run)
	}
	b := &Board{c: c, cfg: cfg, arranged: map[WindowID]string{}}
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
	all, err := b.c.SessionPanes(ctx, b.cfg.Session)
	if err != nil {
		return err
	}
	b.windows, b.panes, b.finished, b.free = nil, map[string]PaneID{}, nil, nil
	b.full = map[WindowID]bool{}
	b.home, b.after = "", map[PaneID]PaneID{}
	live := map[string]bool{}
	for _, p := range all {
		if p.Monitor {
			b.home = p.ID
		}
		if p.After != "" {
			b.after[p.ID] = p.After
		}
		if p.Run == "" {
			continue // the monitor, or a person's own
		}
		if !slices.Contains(b.windows, p.Window) {
			b.windows = append(b.windows, p.Window)
		}
		if p.Node == "" {
			continue
		}
		if p.Run != b.cfg.Run {
			if p.Dead {
				b.free = append(b.free, p.ID)
			}
			continue
		}
		if live[p.Node] {
			continue
		}
		b.panes[p.Node] = p.ID // a pane that lives goes before a dead one
		live[p.Node] = !p.Dead
	}
	done := map[string]int{} // when, as a count
	for _, p := range all {
		if p.Run == b.cfg.Run && p.Finished > 0 && b.panes[p.Node] == p.ID {
			done[p.Node] = p.Finished
			b.finished = append(b.finished, p.Node)
		}
	}
	slices.SortFunc(b.finished, func(x, y string) int { return done[x] - done[y] })
	slices.Sort(b.windows)
	slices.SortStableFunc(b.windows, func(x, y WindowID) int { return len(x) - len(y) }) // @9 before @10
	for w := range b.arranged {
		if !slices.Contains(b.windows, w) {
			delete(b.arranged, w)
		}
	}
	var errs []error
	for _, w := range b.windows {
		panes := slices.Collect(func(yield func(Pane) bool) {
			for _, p := range all {
				if p.Window == w && !yield(p) {
					return
				}
			}
		})
		errs = append(errs, b.arrange(ctx, panes))
	}
	return ignore(errors.Join(errs...), ErrNotFound)
}

// Pane is the pane of a node.
func (b *Board) Pane(node string) (PaneID, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	p, ok := b.panes[node]
	return p, ok
}

// Open starts a node's process and returns its pane: the node's own one where
// it has one, else one left by an earlier run, else that of the node that
// finished first, once more than Keep have, else a new one. The pane is the node's from the moment it exists.
func (b *Board) Open(ctx context.Context, n Node) (PaneID, error) {
	if n.Name == "" || strings.ContainsAny(n.Name, " \t\r\n") {
		return "", fmt.Errorf("bad node name %q for a pane", n.Name)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if p, ok := b.panes[n.Name]; ok {
		err := b.reuse(ctx, p, n, n.Ended, nil)
		if !errors.Is(err, ErrNotFound) {
			return p, err
		}
		delete(b.panes, n.Name) // a person closed it
	}
	for len(b.free) > 0 {
		p := b.free[0]
		b.free = b.free[1:]
		err := b.reuse(ctx, p, n, false, clearHistory(p))
		if err == nil {
			b.panes[n.Name] = p
			return p, nil
		}
		if !errors.Is(err, ErrNotFound) && !errors.Is(err, ErrPaneActive) {
			return "", err
		}
	}
	for i := 0; len(b.finished)-i > b.cfg.Keep; i++ {
		old := b.finished[i]
		p := b.panes[old]
		err := b.reuse(ctx, p, n, false, clearHistory(p))
		if errors.Is(err, ErrPaneActive) {
			continue // something still holds its terminal
		}
		delete(b.panes, old)
		b.finished = slices.Delete(b.finished, i, i+1)
		if err == nil {
			b.panes[n.Name] = p
			return p, nil
		}
		if !errors.Is(err, ErrNotFound) {
			return "", err
		}
		i--
	}
	return b.place(ctx, n)
}

// Label sets what stands in the border of a node's pane; without a pane it does
// nothing.
func (b *Board) Label(ctx context.Context, node string, l Label) error {
	p, ok := b.Pane(node)
	if !ok {
		return nil
	}
	_, err := b.c.sequence(ctx, l.commands(p)...)
	return ignore(err, ErrNotFound)
}

// Finish labels the pane of a node that is done and lets it be used again when
// many are kept. A node that failed keeps its pane: use Label.
func (b *Board) Finish(ctx context.Context, node string, l Label) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	p, ok := b.panes[node]
	if !ok {
		return nil
	}
	b.finished = append(slices.DeleteFunc(b.finished, func(s string) bool { return s == node }), node)
	_, err := b.c.sequence(ctx, append(l.commands(p),
		// A count that grows: the order of finishing, for a later Board.
		[]string{"set-option", "-sF", "@cmux_count", "#{e|+:#{@cmux_count},1}"},
		[]string{"set-option", "-pF", "-t", string(p), optFinished, "#{@cmux_count}"})...)
	return ignore(err, ErrNotFound)
}

func clearHistory(p PaneID) []string { return []string{"clear-history", "-t", string(p)} }

func setPane(p PaneID, name, value string) []string {
	args := []string{"set-option", "-p"}
	if p != "" {
		args = append(args, "-t", string(p))
	}
	return append(args, "--", name, value)
}

// tags are the commands that make p, or the current pane, the node's.
func (b *Board) tags(p PaneID, n Node) [][]string {
	return append([][]string{setPane(p, optRun, b.cfg.Run), setPane(p, optNode, n.Name)}, n.Label.commands(p)...)
}

// reuse starts n in an existing pane. The respawn goes first: where it is
// refused, nothing has changed. The lines that scrolled away stay, which are
// the node's own earlier attempts, unless after clears them.
func (b *Board) reuse(ctx context.Context, p PaneID, n Node, kill bool, after []string) error {
	start, err := respawn(p, n.Spec, kill)
	if err != nil {
		return err
	}
	unset := []string{"set-option", "-p", "-u", "-t", string(p), optFinished}
	commands := append([][]string{start, unset}, b.tags(p, n)...)
	if after != nil {
		commands = append(commands, after)
	}
	if _, err = b.c.sequence(ctx, commands...); err == nil {
		b.finished = slices.DeleteFunc(b.finished, func(s string) bool { return s == n.Name })
	}
	return err
}

// place starts n in a new pane of the first window with room, or a new window.
func (b *Board) place(ctx context.Context, n Node) (PaneID, error) {
	if len(b.windows) == 0 && b.cfg.Main != nil {
		if _, err := b.window(ctx, *b.cfg.Main, [][]string{
			setPane("", optRun, b.cfg.Run), setPane("", optLabel, "main")}); err != nil {
			return "", fmt.Errorf("open the main pane: %w", err)
		}
	}
	for i := 0; i < len(b.windows); i++ {
		if b.full[b.windows[i]] {
			continue
		}
		p, err := b.split(ctx, b.windows[i], n)
		if errors.Is(err, ErrNotFound) { // a person closed the window
			b.windows = slices.Delete(b.windows, i, i+1)
			i--
			continue
		}
		if err != nil || p != "" {
			return p, err
		}
	}
	pane, err := b.window(ctx, n.Spec, b.tags("", n))
	if err == nil {
		b.panes[n.Name] = pane
	}
	return pane, err
}

// window opens a window and tags its pane in the same breath: a process killed
// in between would leave a pane that nobody knows. That is why the new window
// is current for a moment in which nothing is drawn or typed.
func (b *Board) window(ctx context.Context, spec Spec, tags [][]string) (PaneID, error) {
	rest, err := spec.args()
	if err != nil {
		return "", err
	}
	name := b.cfg.Window
	if k := len(b.windows); k > 0 {
		name += "-" + strconv.Itoa(k+1)
	}
	create := append([]string{"new-window", "-P", "-F", placeFormat, "-t", string(b.cfg.Session) + ":",
		"-n", formatLiteral(name)}, rest...)
	out, err := b.c.sequence(ctx, append(append([][]string{create}, tags...), []string{"last-window"})...)
	if err != nil {
		return "", err
	}
	at, err := parsePlace(out[0])
	if err != nil {
		return "", err
	}
	b.windows = append(b.windows, at.Window)
	return at.Pane, nil
}

// split starts n in a new pane of w; no pane and no error: the window is full.
func (b *Board) split(ctx context.Context, w WindowID, n Node) (PaneID, error) {
	panes, err := b.c.WindowPanes(ctx, w)
	if err != nil {
		return "", err
	}
	agents, main := b.roles(panes)
	if len(agents) >= Capacity(panes[0].WindowWidth, panes[0].WindowHeight, main != "") {
		b.full[w] = true
		return "", nil
	}
	p, err := b.splitInto(ctx, panes, n)
	if errors.Is(err, ErrNoSpace) { // a person made panes small
		delete(b.arranged, w)
		if err := b.arrange(ctx, panes); err != nil {
			return "", err
		}
		p, err = b.splitInto(ctx, panes, n)
	}
	if err != nil {
		return "", err
	}
	b.panes[n.Name] = p
	if panes, err = b.c.WindowPanes(ctx, w); err == nil {
		err = b.arrange(ctx, panes)
	}
	return p, ignore(err, ErrNotFound)
}

func (b *Board) splitInto(ctx context.Context, panes []Pane, n Node) (PaneID, error) {
	rest, err := n.Spec.args()
	if err != nil {
		return "", err
	}
	// tmux puts the new pane beside the target in the window's list, which is
	// the order of the layout: before the main pane or after the last agent.
	create := []string{"split-window", "-v", "-P", "-F", placeFormat}
	target := panes[len(panes)-1].ID
	if _, main := b.roles(panes); main != "" {
		create = append(create, "-b")
		target = main
	}
	back := []string{"last-pane", "-t", string(panes[0].Window)}
	if panes[0].Zoomed {
		create, back = append(create, "-Z"), append(back, "-Z")
	}
	create = append(append(create, "-t", string(target)), rest...)
	out, err := b.c.sequence(ctx, append(append([][]string{create}, b.tags("", n)...), back)...)
	if err != nil {
		return "", err
	}
	at, err := parsePlace(out[0])
	return at.Pane, err
}

// roles are the panes of a window without the main pane, and that one.
func (b *Board) roles(panes []Pane) (agents []PaneID, main PaneID) {
	for _, p := range panes {
		if p.Run != "" && p.Node == "" && main == "" {
			main = p.ID
		} else {
			agents = append(agents, p.ID)
		}
	}
	return agents, main
}

// Arrange tiles the panes of a window of the board anew, whatever a person
// changed.
func (b *Board) Arrange(ctx context.Context, w WindowID) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	panes, err := b.c.WindowPanes(ctx, w)
	if err != nil {
		return err
	}
	delete(b.arranged, w)
	return b.arrange(ctx, panes)
}

// arrange tiles a window unless its size and panes are those it was last tiled
// for. A zoomed window is left for later: tiling would end the zoom.
func (b *Board) arrange(ctx context.Context, panes []Pane) error {
	if len(panes) == 0 || panes[0].Zoomed {
		return nil
	}
	first := panes[0]
	agents, main := b.roles(panes)
	var swap [][]string
	if last := panes[len(panes)-1].ID; main != "" && last != main {
		swap = [][]string{{"swap-pane", "-d", "-s", string(main), "-t", string(last)}}
		// last now stands where main stood.
		at := slices.IndexFunc(panes, func(p Pane) bool { return p.ID == main })
		agents = slices.Insert(agents[:len(agents)-1], at, last)
	}
	key := fmt.Sprint(first.WindowWidth, first.WindowHeight, agents, main)
	if swap == nil && b.arranged[first.Window] == key {
		return nil
	}
	layout, err := Layout(first.WindowWidth, first.WindowHeight, agents, main)
	if err != nil {
		return nil // too small to tile; tmux's own squeezing has to do
	}
	_, err = b.c.sequence(ctx, append(swap, []string{"select-layout", "-t", string(first.Window), layout})...)
	if err == nil {
		b.arranged[first.Window] = key
	}
	return err
}
