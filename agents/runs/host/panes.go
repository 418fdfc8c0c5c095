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

// Panes runs each attempt's wrapper in a pane of tmux, with the node's label in the border.
// It keeps tmux's display up to date; answers of tmux decide nothing. One goroutine makes
// all calls to tmux in order, so that nobody waits for them.
type Panes struct {
	wrappers
	client *tmux.Client
	own    tmux.PaneID // the monitor's, in which this process runs; else empty
	board  *tmux.Board

	mu      sync.Mutex
	opens   []opening
	dirty   map[string]bool // nodes whose pane is outdated
	shown   map[string]standing
	summary *Summary // to show; nil: nothing new
	last    tmux.Headline
	stale   bool              // a person changed something: restore the layout
	starts  map[string]launch // by node: the attempt whose pane was opened last

	spares *spares // used by the goroutine that calls tmux

	seen   *atomic.Bool // a client attached
	viewed atomic.Bool  // a client was attached when the panes were last listed
	listed atomic.Int64 // when that was, in nanoseconds since 1970
	more   chan struct{}
	cancel context.CancelFunc
	done   chan struct{}
}

// launch is the opening of an attempt's pane.
type launch struct {
	attempt int
	opened  time.Time // zero: it is being opened
}

// opening is an attempt whose pane must be opened.
type opening struct {
	ref   Ref
	spec  tmux.Spec
	quick bool // a spare may carry it out
}

// standing is the status of a node.
type standing struct {
	label dag.Label
	live  bool
}

// shown converts a standing for a Board.
func (s standing) shown() tmux.Shown {
	return tmux.Shown{Label: border(s.label), Over: !s.live, Done: s.label.State == dag.NodeDone}
}

const (
	// settle is how long a change waits for others, so that nodes that end together or
	// quickly after each other are shown together. Panes are opened at once.
	settle = 40 * time.Millisecond
	// spacing is the minimum time between two such updates: each makes tmux list all panes,
	// move ended ones and tile the rest, and that must not delay the opening of panes.
	spacing = 200 * time.Millisecond
	// unviewed is how often cmux checks the panes for a person's changes while no client is
	// attached. tmux reports a new client.
	unviewed = 10 * time.Second
)

// NewPanes connects to the tmux server of the run's session. own is the pane of this
// process; empty: none.
func NewPanes(ctx context.Context, c Config, server *tmux.Server, own tmux.PaneID) (*Panes, error) {
	more := make(chan struct{}, 1)
	var seen atomic.Bool
	client, err := server.Connect(ctx, func(e tmux.Event) {
		if e.Name == "client-session-changed" { // a client attached, maybe with another size
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
		starts: make(map[string]launch), dirty: make(map[string]bool), shown: make(map[string]standing),
	}
	go func() {
		defer close(p.done)
		p.serve(work)
	}()
	return p, nil
}

// apart is the number of agents from which the main pane has its own window: with fewer
// there is room for it.
const apart = 4

// boardConfig returns how the panes of a run are placed. An AI agent shows its own program,
// whose questions must fit: so the panes are larger and there are more windows. No pane is
// zoomed automatically, because a person might type into the wrong one.
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

// serve makes all calls to tmux: it opens panes first, and shows other changes a little
// later.
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
			p.show(context.WithoutCancel(ctx)) // the last changes, when the runner leaves
			return
		}
	}
}

// wake makes serve look for work.
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
		p.c.Log.Warn("the panes could not be updated completely", "err", err)
	}
}

// Start opens a pane in which the attempt's wrapper runs.
func (p *Panes) Start(ctx context.Context, s *run.Spec) (Link, error) {
	argv, err := p.specify(ctx, s)
	if err != nil {
		return nil, err
	}
	ref := Ref{s.Node, s.Attempt}
	p.mu.Lock()
	p.starts[ref.Node] = launch{attempt: ref.N}
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
		label.State = dag.NodeRunning // its status follows
	}
	n := tmux.Node{Name: o.ref.Node, Label: border(label), Spec: o.spec, Ended: true}
	if o.quick {
		n.Spare = p.spares.take(o.ref)
	}
	pane, err := p.board.Open(ctx, n)
	p.spares.drop(ctx, n.Spare.Pane, pane)
	p.mu.Lock()
	if p.starts[o.ref.Node].attempt == o.ref.N {
		p.starts[o.ref.Node] = launch{o.ref.N, time.Now()}
	}
	p.mu.Unlock()
	if err != nil && ctx.Err() == nil {
		p.failed(o.ref, err)
	}
}

// failed reports that a pane could not be opened. If tmux is gone, this process ends too,
// and the next one finds the result.
func (p *Panes) failed(ref Ref, err error) {
	if errors.Is(err, tmux.ErrGone) {
		return
	}
	p.c.Log.Error("a pane could not be opened", "node", ref.Node, "err", err)
	p.c.Go(func() { p.c.Left(ref) })
}

// Probe treats an attempt whose pane is being opened as starting.
func (p *Panes) Probe(ref Ref, fresh time.Time) (Pulse, func() error, error) {
	p.mu.Lock()
	l := p.starts[ref.Node]
	p.mu.Unlock()
	switch {
	case l.attempt != ref.N:
	case l.opened.IsZero():
		return Unknown, nil, nil
	case !fresh.IsZero():
		fresh = l.opened
	}
	return p.wrappers.Probe(ref, fresh)
}

// Shows reports that people see the panes.
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

// Refresh restores the layout after changes of a person or of a terminal's size.
func (p *Panes) Refresh() {
	if !p.viewed.Load() && time.Since(time.Unix(0, p.listed.Load())) < unviewed {
		return
	}
	p.mu.Lock()
	p.stale = true
	p.mu.Unlock()
	wake(p.more)
}

// Broken is closed when the connection to tmux ends.
func (p *Panes) Broken() <-chan struct{} { return p.client.Done() }

// Err returns why the connection to tmux ended.
func (p *Panes) Err() error { return p.client.Err() }

// Terminals returns those of all panes of the server.
func (p *Panes) Terminals(ctx context.Context) ([]string, error) {
	out, err := p.client.Run(ctx, "list-panes", "-a", "-F", "#{pane_tty}")
	return strings.Fields(out), err
}

// Return makes Close leave this process's pane guarded, so that tmux restarts it.
func (p *Panes) Return() { p.own = "" }

// Close ends the connection. The process leaves on purpose, so tmux must not restart it.
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
