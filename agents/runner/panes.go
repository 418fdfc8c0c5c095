package runner

import (
	"context"
	"errors"
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

// rootOption is the session option that names the project it belongs to.
const rootOption = "@cmux_root"

// panes keeps tmux's view of a run true: a pane for every attempt, its label
// in the border. What tmux says back decides nothing. All calls to tmux are
// made in order on one goroutine, so that the scheduler never waits for it.
type panes struct {
	client *tmux.Client
	own    tmux.PaneID // the monitor's, in which this process runs; empty elsewhere
	board  *tmux.Board
	failed func(node, attempt int, err error)

	mu     sync.Mutex
	queue  []func(context.Context)
	more   chan struct{}
	starts map[goneNode]bool // attempts whose pane is being opened
	labels map[string]string
	cancel context.CancelFunc
	done   chan struct{}
}

func openPanes(ctx context.Context, o Options) (*panes, error) {
	client, err := o.Server.Connect(ctx, nil)
	if err != nil {
		return nil, err
	}
	session, err := client.FindSession(ctx, o.Run.Plan.Graph.Session)
	if err != nil {
		return nil, errors.Join(err, client.Close())
	}
	cfg := tmux.BoardConfig{Session: session, Run: o.Run.Plan.ID, Window: agentsWindow}
	if o.Run.Plan.Graph.MainPane {
		cfg.Main = &tmux.Spec{Dir: o.Run.Plan.Root}
	}
	board, err := tmux.NewBoard(ctx, client, cfg)
	if err != nil {
		return nil, errors.Join(err, client.Close())
	}
	work, cancel := context.WithCancel(context.Background())
	p := &panes{
		client: client, board: board, own: tmux.PaneID(o.Pane), more: make(chan struct{}, 1), cancel: cancel, done: make(chan struct{}),
		starts: make(map[goneNode]bool), labels: make(map[string]string),
	}
	go func() {
		defer close(p.done)
		p.serve(work)
	}()
	return p, nil
}

func (p *panes) serve(ctx context.Context) {
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

func (p *panes) do(f func(context.Context)) {
	p.mu.Lock()
	p.queue = append(p.queue, f)
	p.mu.Unlock()
	select {
	case p.more <- struct{}{}:
	default:
	}
}

// open starts argv in a pane of the node.
func (p *panes) open(i, n int, node, dir string, argv []string) {
	key := goneNode{i, n}
	p.mu.Lock()
	p.starts[key] = true
	p.mu.Unlock()
	p.do(func(ctx context.Context) {
		p.mu.Lock()
		label := p.labels[node]
		p.mu.Unlock()
		if label == "" {
			label = node // its status follows
		}
		_, err := p.board.Open(ctx, tmux.Node{Name: node, Label: label, Spec: tmux.Spec{Dir: dir, Argv: argv}, Ended: true})
		p.mu.Lock()
		delete(p.starts, key)
		p.mu.Unlock()
		if err != nil && ctx.Err() == nil {
			p.failed(i, n, err)
		}
	})
}

// opening reports whether the pane of attempt n of node i is still to come.
func (p *panes) opening(i, n int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.starts[goneNode{i, n}]
}

// ended lets the pane of a node that succeeded be used again when panes run
// short; others stay readable.
func (p *panes) ended(rec *run.Record) {
	if rec.End == nil || rec.End.Marker() != 0 {
		return
	}
	p.do(func(ctx context.Context) { p.board.Finish(ctx, rec.Node, paneLabel(rec.Node, rec.End.Label())) })
}

// label shows a node's status in the border of its pane.
func (p *panes) label(node string, l dag.Label) {
	text := paneLabel(node, l)
	p.mu.Lock()
	same := p.labels[node] == text
	p.labels[node] = text
	p.mu.Unlock()
	if !same {
		p.do(func(ctx context.Context) { p.board.Label(ctx, node, text) })
	}
}

// refresh arranges what a person or a terminal of another size changed.
func (p *panes) refresh() {
	p.do(func(ctx context.Context) { p.board.Refresh(ctx) })
}

// close ends the connection. Whoever comes here leaves in order, so tmux is
// not to start this process again.
func (p *panes) close() error {
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

// paneLabel is what stands in the border of a node's pane.
func paneLabel(node string, l dag.Label) string { return node + ": " + l.String() }
