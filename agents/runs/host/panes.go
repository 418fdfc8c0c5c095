package host

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"cmux/agents/platform/tmux"
	"cmux/agents/runs/run"
	"cmux/dag"
)

// unguardPatience bounds the wait for tmux at the end.
const unguardPatience = 5 * time.Second

// Panes is where every attempt has a pane of tmux, in which its wrapper runs,
// with the node's label in the border. It keeps tmux's view of a run true; what
// tmux says back decides nothing. All calls to tmux are made in order on one
// goroutine, so that nobody waits for it.
type Panes struct {
	wrappers
	client *tmux.Client
	own    tmux.PaneID // the monitor's, in which this process runs; empty elsewhere
	board  *tmux.Board

	mu      sync.Mutex
	opens   []opening
	dirty   map[string]bool // nodes whose pane shows something old
	shown   map[string]standing
	summary *Summary // to be shown; nil: nothing new
	last    tmux.Headline
	stale   bool         // arrange anew what a person changed
	starts  map[Ref]bool // attempts whose pane is being opened

	spares *spares // of the goroutine that calls tmux

	seen   *atomic.Bool // somebody attached
	viewed atomic.Bool  // somebody was attached when the panes were listed last
	listed atomic.Int64 // when that was, in nanoseconds since 1970
	more   chan struct{}
	cancel context.CancelFunc
	done   chan struct{}
}

// opening is an attempt whose pane is to be opened.
type opening struct {
	ref   Ref
	spec  tmux.Spec
	quick bool // a spare may carry it out
}

// standing is how a node stands.
type standing struct {
	label dag.Label
	live  bool
}

// shown is a standing as a Board takes it.
func (s standing) shown() tmux.Shown {
	return tmux.Shown{Label: border(s.label), Over: !s.live, Done: s.label.State == dag.NodeDone}
}

const (
	// settle is how long what is to be shown waits for more of it: nodes that end
	// together, or one after the other in no time, are shown together. Panes are
	// opened at once.
	settle = 40 * time.Millisecond
	// spacing is the least time from one such showing to the next, for which tmux
	// lists all panes, moves those that have ended and tiles what is left: what
	// goes on and on is not to keep it from opening panes.
	spacing = 200 * time.Millisecond
	// unviewed is how often is looked what a person changed while nobody is
	// attached. Whoever attaches is heard of.
	unviewed = 10 * time.Second
)

// NewPanes connects to the tmux server, where the run has its session. own is
// the pane that this process runs in; empty: none.
func NewPanes(ctx context.Context, c Config, server *tmux.Server, own tmux.PaneID) (*Panes, error) {
	more := make(chan struct{}, 1)
	var seen atomic.Bool
	client, err := server.Connect(ctx, func(e tmux.Event) {
		if e.Name == "client-session-changed" { // somebody attached, with a terminal of another size
			seen.Store(true)
			wake(more)
		}
	})
	if err != nil {
		return nil, err
	}
	session, err := client.FindSession(ctx, c.Run.Plan.TmuxSession())
	if err != nil {
		return nil, errors.Join(err, client.Close())
	}
	board, err := tmux.NewBoard(ctx, client, boardConfig(&c, session))
	if err != nil {
		return nil, errors.Join(err, client.Close())
	}
	work, cancel := context.WithCancel(context.Background())
	p := &Panes{
		wrappers: wrappers{c: &c},
		client:   client, board: board, own: own, more: more, seen: &seen, cancel: cancel, done: make(chan struct{}),
		spares: newSpares(&c, client),
		starts: make(map[Ref]bool), dirty: make(map[string]bool), shown: make(map[string]standing),
	}
	go func() {
		defer close(p.done)
		p.serve(work)
	}()
	return p, nil
}

// apart is the number of agents from which the main pane has a window of its own:
// beside fewer there is room for it.
const apart = 4

// boardConfig says how the panes of a run are placed. An agent of an AI kind has
// a program of its own in its pane, whose questions are to be seen whole: larger
// panes, and more windows where that takes them, rather than one that is zoomed
// by itself, into which a person would type what was meant for another.
func boardConfig(c *Config, session tmux.SessionID) tmux.BoardConfig {
	g := c.Run.Plan.Graph
	cfg := tmux.BoardConfig{Session: session, Run: c.Run.Plan.ID}
	agents := 0
	for i := range g.Nodes {
		if g.Nodes[i].Role == dag.RoleGate {
			continue
		}
		agents++
		if c.Kinds[g.Nodes[i].Agent].Judge {
			cfg.Tile = tmux.AgentTile
		}
	}
	if g.MainPane {
		cfg.Main, cfg.Apart = &tmux.Spec{Dir: c.Run.Plan.Root}, agents >= apart
	}
	return cfg
}

// serve makes all calls to tmux: first opens panes, then, when there is something
// else to be shown, a little later, shows it.
func (p *Panes) serve(ctx context.Context) {
	later := time.NewTimer(0)
	later.Stop()
	defer later.Stop()
	var shown time.Time
	for armed := false; ; {
		p.mu.Lock()
		opens := p.opens
		p.opens = nil
		p.stale = p.seen.Swap(false) || p.stale
		news := len(p.dirty) > 0 || p.summary != nil || p.stale
		p.mu.Unlock()
		for _, o := range opens {
			p.open(ctx, o)
		}
		if news && !armed {
			armed = true
			later.Reset(max(settle, spacing-time.Since(shown)))
		}
		if len(opens) > 0 || p.spares.replenish(ctx) {
			continue
		}
		select {
		case <-p.more:
		case <-later.C:
			armed = false
			p.show(ctx)
			shown = time.Now()
		case <-p.spares.rest.C:
			p.spares.dismiss(ctx)
		case <-ctx.Done():
			p.show(context.WithoutCancel(ctx)) // what is left when the runner leaves
			return
		}
	}
}

// wake has serve look for work.
func wake(more chan<- struct{}) {
	select {
	case more <- struct{}{}:
	default:
	}
}

// show shows what is new.
func (p *Panes) show(ctx context.Context) {
	p.mu.Lock()
	dirty, summary, stale := p.dirty, p.summary, p.stale
	p.dirty, p.summary, p.stale = make(map[string]bool), nil, false
	now := make(map[string]tmux.Shown, len(dirty))
	for node := range dirty {
		now[node] = p.shown[node].shown()
	}
	p.mu.Unlock()
	var errs []error
	if len(now) > 0 {
		errs = append(errs, p.board.Show(ctx, now))
	}
	if stale {
		errs = append(errs, p.board.Refresh(ctx))
		p.viewed.Store(p.board.Viewed())
		p.listed.Store(time.Now().UnixNano())
	}
	if summary != nil {
		if h := headline(*summary); h != p.last {
			p.last = h
			errs = append(errs, p.board.SetHeadline(ctx, h))
		}
	}
	if err := errors.Join(errs...); err != nil && ctx.Err() == nil && !errors.Is(err, tmux.ErrGone) {
		p.c.Log.Warn("the panes do not show all that is new", "err", err)
	}
}

// Bound says that an attempt in a pane needs nobody.
func (p *Panes) Bound(*dag.Node) bool { return false }

// Lends says that every node works in a worktree of the repository.
func (p *Panes) Lends(*dag.Node) bool { return true }

// Start opens a pane in which the attempt's wrapper runs.
func (p *Panes) Start(ctx context.Context, s *run.Spec) (Link, error) {
	argv, err := p.specify(ctx, s)
	if err != nil {
		return nil, err
	}
	ref := Ref{s.Node, s.Attempt}
	p.mu.Lock()
	p.starts[ref] = true
	p.opens = append(p.opens, opening{ref, tmux.Spec{Dir: s.Place.Dir, Argv: argv}, p.spares.suits(s.Def)})
	p.mu.Unlock()
	wake(p.more)
	return nil, nil
}

// open opens the pane of an attempt.
func (p *Panes) open(ctx context.Context, o opening) {
	p.mu.Lock()
	label := p.shown[o.ref.Node].label
	p.mu.Unlock()
	if label.State == "" {
		label.State = dag.NodeRunning // how it stands follows
	}
	n := tmux.Node{Name: o.ref.Node, Label: border(label), Spec: o.spec, Ended: true}
	if o.quick {
		n.Spare = p.spares.take(o.ref)
	}
	pane, err := p.board.Open(ctx, n)
	p.spares.drop(ctx, n.Spare.Pane, pane)
	p.mu.Lock()
	delete(p.starts, o.ref)
	p.mu.Unlock()
	if err != nil && ctx.Err() == nil {
		p.failed(o.ref, err)
	}
}

// failed tells that a pane could not be opened. Where tmux is gone so is this
// process, and the next one finds out what came of it.
func (p *Panes) failed(ref Ref, err error) {
	if errors.Is(err, tmux.ErrGone) {
		return
	}
	p.c.Log.Error("a pane could not be opened", "node", ref.Node, "err", err)
	p.c.Go(func() { p.c.Left(ref) })
}

// Probe waits for a pane that is still to come.
func (p *Panes) Probe(ref Ref, begun, sure bool) (Pulse, func() error, error) {
	p.mu.Lock()
	opening := p.starts[ref]
	p.mu.Unlock()
	if !begun && opening {
		p.expect(ref.Node, ref.N)
		return Unknown, nil, nil
	}
	return p.wrappers.Probe(ref, begun, sure)
}

// Shows says that people look at panes.
func (p *Panes) Shows() bool { return true }

// Show shows a node's status in the border of its pane.
func (p *Panes) Show(node string, l dag.Label, live bool) {
	p.mu.Lock()
	was, known := p.shown[node]
	p.shown[node] = standing{l, live}
	changed := !known || was.live != live || was.label != l
	if changed {
		p.dirty[node] = true
	}
	p.mu.Unlock()
	if changed {
		wake(p.more)
	}
}

// Headline shows how the run stands in the status line, and whether a gate waits
// in the monitor.
func (p *Panes) Headline(s Summary) {
	p.mu.Lock()
	p.summary = &s
	p.mu.Unlock()
	wake(p.more)
}

// Refresh arranges what a person or a terminal of another size changed.
func (p *Panes) Refresh() {
	if !p.viewed.Load() && time.Since(time.Unix(0, p.listed.Load())) < unviewed {
		return
	}
	p.mu.Lock()
	p.stale = true
	p.mu.Unlock()
	wake(p.more)
}

// Broken is closed when tmux can no longer be spoken to.
func (p *Panes) Broken() <-chan struct{} { return p.client.Done() }

// Err is why the connection to tmux is gone.
func (p *Panes) Err() error { return p.client.Err() }

// Terminals are those of all panes of the server.
func (p *Panes) Terminals(ctx context.Context) ([]string, error) {
	out, err := p.client.Run(ctx, "list-panes", "-a", "-F", "#{pane_tty}")
	return strings.Fields(out), err
}

// Return says that this process stays in its pane after Close, which then leaves
// the pane to be started again by tmux.
func (p *Panes) Return() { p.own = "" }

// Close ends the connection. Whoever comes here leaves in order, so tmux is
// not to start this process again.
func (p *Panes) Close() error {
	p.cancel()
	<-p.done
	var err error
	if p.own != "" {
		ctx, cancel := context.WithTimeout(context.Background(), unguardPatience)
		defer cancel()
		if err = p.client.Unguard(ctx, p.own, os.Getpid()); errors.Is(err, tmux.ErrGone) || errors.Is(err, tmux.ErrNotFound) {
			err = nil // with the server
		}
	}
	return errors.Join(err, p.client.Close())
}
