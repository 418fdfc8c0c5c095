package host

import (
	"context"
	"time"

	"cmux/agents/platform/tmux"
	"cmux/agents/runs/run"
	"cmux/agents/runs/wrapper"
	"cmux/dag"
)

const (
	// spareRest is how long spares wait while nothing starts, and the maximum interval of
	// two starts in quick succession.
	spareRest = 2 * time.Second
	// mostSpares bounds the number of waiting spares: a new one is nearly ready when the
	// shortest command has ended.
	mostSpares = 2
)

// spares are wrappers started in advance, in hidden panes. They are for commands, which may
// follow each other quickly: starting a pane and this program takes longer than many of
// them. An agent's program takes so long to start that a spare would not matter. It is used
// by one goroutine.
type spares struct {
	c      *Config
	client *tmux.Client
	panes  []tmux.PaneID // the oldest first
	most   int
	last   time.Time       // the last start that suits a spare
	soon   bool            // it came soon after the one before
	left   map[string]bool // nodes that suit a spare and have not started
	rest   *time.Timer     // fires when nothing has started for a while; stopped if no spare waits
}

func newSpares(c *Config, client *tmux.Client) *spares {
	s := &spares{c: c, client: client, left: map[string]bool{}, rest: time.NewTimer(0)}
	s.rest.Stop()
	g := c.Run.Plan.Graph
	s.most = min(mostSpares, max(g.MaxParallel, 1))
	for i := range g.Nodes {
		if s.suits(&g.Nodes[i]) {
			s.left[g.Nodes[i].Name] = true
		}
	}
	return s
}

// suits reports whether attempts of a node can use a spare. Any goroutine may call it.
func (s *spares) suits(n *dag.Node) bool {
	return n.Role != dag.RoleGate && !s.c.Kinds[n.Agent].Judge
}

// take returns a spare for a starting attempt; none if none waits.
func (s *spares) take(ref Ref) tmux.Spare {
	s.soon = time.Since(s.last) < spareRest
	s.last = time.Now()
	delete(s.left, ref.Node)
	if len(s.panes) == 0 {
		return tmux.Spare{}
	}
	s.rest.Reset(spareRest)
	p := s.panes[0]
	s.panes = s.panes[1:]
	return tmux.Spare{Pane: p, Word: wrapper.Word(ref.Node, ref.N)}
}

// drop ends a spare that was taken and not used, for example because the node has a pane.
func (s *spares) drop(ctx context.Context, taken, used tmux.PaneID) {
	if taken != "" && taken != used {
		s.end(ctx, taken)
	}
}

// replenish starts a spare if one is missing and nodes are likely to start soon, and
// reports whether it did.
func (s *spares) replenish(ctx context.Context) bool {
	if !s.soon || time.Since(s.last) > spareRest || len(s.panes) >= min(s.most, len(s.left)) {
		return false
	}
	r := s.c.Run
	p, err := s.client.Spare(ctx, tmux.Spec{Dir: r.Plan.Root, Argv: spareArgs(r)})
	if err != nil {
		s.soon = false // not again before the next start
		s.c.Log.Debug("no wrapper could be started ahead of need", "err", err)
		return false
	}
	s.panes = append(s.panes, p)
	s.rest.Reset(spareRest)
	return true
}

// spareArgs is the command line of a wrapper that waits for its attempt.
func spareArgs(r *run.Run) []string {
	return []string{r.Binary(), "agents", "exec", "--run", r.Dir, "--spare"}
}

// dismiss ends the spares in the background.
func (s *spares) dismiss(ctx context.Context) {
	for _, p := range s.panes {
		s.end(ctx, p)
	}
	s.panes, s.soon = nil, false
}

// end ends a spare. If that fails, it ends with the client.
func (s *spares) end(ctx context.Context, p tmux.PaneID) {
	if err := s.client.KillPane(ctx, p); err != nil {
		s.c.Log.Debug("a wrapper that was started ahead of need could not be ended", "err", err)
	}
}
