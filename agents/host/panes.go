package host

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"cmux/agents/run"
	"cmux/agents/tmux"
	"cmux/dag"
)

// agentsWindow is the first window of the agents' panes.
const agentsWindow = "agents"

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

	mu     sync.Mutex
	queue  []func(context.Context)
	more   chan struct{}
	starts map[Ref]bool // attempts whose pane is being opened
	labels map[string]string
	cancel context.CancelFunc
	done   chan struct{}
}

// NewPanes connects to the tmux server, where the run has its session. own is
// the pane that this process runs in; empty: none.
func NewPanes(ctx context.Context, c Config, server *tmux.Server, own tmux.PaneID) (*Panes, error) {
	client, err := server.Connect(ctx, nil)
	if err != nil {
		return nil, err
	}
	session, err := client.FindSession(ctx, c.Run.Plan.Graph.Session)
	if err != nil {
		return nil, errors.Join(err, client.Close())
	}
	cfg := tmux.BoardConfig{Session: session, Run: c.Run.Plan.ID, Window: agentsWindow}
	if c.Run.Plan.Graph.MainPane {
		cfg.Main = &tmux.Spec{Dir: c.Run.Plan.Root}
	}
	board, err := tmux.NewBoard(ctx, client, cfg)
	if err != nil {
		return nil, errors.Join(err, client.Close())
	}
	work, cancel := context.WithCancel(context.Background())
	p := &Panes{
		wrappers: wrappers{c: &c},
		client:   client, board: board, own: own, more: make(chan struct{}, 1), cancel: cancel, done: make(chan struct{}),
		starts: make(map[Ref]bool), labels: make(map[string]string),
	}
	go func() {
		defer close(p.done)
		p.serve(work)
	}()
	return p, nil
}

func (p *Panes) serve(ctx context.Context) {
	for {
		p.mu.Lock()
		queue := p.queue
		p.queue = nil
		p.mu.Unlock()
		for _, f := range queue {
			f(ctx)
		}
		if len(queue) > 0 {
			continue
		}
		select {
		case <-p.more:
		case <-ctx.Done():
			return
		}
	}
}

func (p *Panes) do(f func(context.Context)) {
	p.mu.Lock()
	p.queue = append(p.queue, f)
	p.mu.Unlock()
	select {
	case p.more <- struct{}{}:
	default:
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
	p.mu.Unlock()
	dir := s.Place.Dir
	p.do(func(ctx context.Context) {
		p.mu.Lock()
		label := p.labels[ref.Node]
		p.mu.Unlock()
		if label == "" {
			label = ref.Node // its status follows
		}
		_, err := p.board.Open(ctx, tmux.Node{Name: ref.Node, Label: label, Spec: tmux.Spec{Dir: dir, Argv: argv}, Ended: true})
		p.mu.Lock()
		delete(p.starts, ref)
		p.mu.Unlock()
		if err != nil && ctx.Err() == nil {
			p.failed(ref, err)
		}
	})
	return nil, nil
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

// Done lets the pane of a node that succeeded be used again when panes run
// short; others stay readable.
func (p *Panes) Done(node string, l dag.Label) {
	p.do(func(ctx context.Context) { p.board.Finish(ctx, node, border(node, l)) })
}

// Label shows a node's status in the border of its pane.
func (p *Panes) Label(node string, l dag.Label) {
	text := border(node, l)
	p.mu.Lock()
	same := p.labels[node] == text
	p.labels[node] = text
	p.mu.Unlock()
	if !same {
		p.do(func(ctx context.Context) { p.board.Label(ctx, node, text) })
	}
}

// Refresh arranges what a person or a terminal of another size changed.
func (p *Panes) Refresh() {
	p.do(func(ctx context.Context) { p.board.Refresh(ctx) })
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

// Close ends the connection. Whoever comes here leaves in order, so tmux is
// not to start this process again.
func (p *Panes) Close() error {
	p.cancel()
	<-p.done
	var err error
	if p.own != "" {
		ctx, cancel := context.WithTimeout(context.Background(), unguardPatience)
		defer cancel()
		if err = p.client.Unguard(ctx, p.own); errors.Is(err, tmux.ErrGone) || errors.Is(err, tmux.ErrNotFound) {
			err = nil // with the server
		}
	}
	return errors.Join(err, p.client.Close())
}

// border is what stands in the border of a node's pane.
func border(node string, l dag.Label) string { return node + ": " + l.String() }
