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
	// spareRest is how long spares stand by while nothing starts, and what counts
	// as one start soon after another.
	spareRest = 2 * time.Second
	// mostSpares bounds how many stand by: one is as good as ready again when the
	// shortest of commands has ended.
	mostSpares = 2
)

// spares are wrappers that were started ahead of need, in panes out of sight.
// They are for commands, which may follow each other in no time: the start of a
// pane and of this program takes longer than many of them. An agent's program
// takes so long to start that it would not be noticed. It is used by one
// goroutine.
type spares struct {
	c      *Config
	client *tmux.Client
	panes  []tmux.PaneID // the one that was started first goes first
	most   int
	last   time.Time       // of the starts that a spare suits
	soon   bool            // it came soon after the one before
	left   map[string]bool // nodes that a spare suits and that were not started yet
	rest   *time.Timer     // fires when nothing has started for a while; at rest where no spare stands by
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

// suits reports whether attempts of a node are such as a spare is kept for. It
// may be called by any goroutine.
func (s *spares) suits(n *dag.Node) bool {
	return n.Role != dag.RoleGate && !s.c.Kinds[n.Agent].Judge
}

// take is a spare for an attempt that starts; none where none stands by.
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

// drop ends a spare that was taken and not used, as where the node has a pane.
func (s *spares) drop(ctx context.Context, taken, used tmux.PaneID) {
	if taken != "" && taken != used {
		s.end(ctx, taken)
	}
}

// replenish starts a spare where one is lacking and the next nodes are likely to
// come soon, and reports whether it did.
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

// spareArgs is the command line of a wrapper that waits to be told which attempt
// it is to carry out.
func spareArgs(r *run.Run) []string {
	return []string{r.Binary(), "agents", "exec", "--run", r.Dir, "--spare"}
}

// dismiss ends the spares: what runs takes its time.
func (s *spares) dismiss(ctx context.Context) {
	for _, p := range s.panes {
		s.end(ctx, p)
	}
	s.panes, s.soon = nil, false
}

// end ends a spare. One that does not end does no harm: it ends with the client.
func (s *spares) end(ctx context.Context, p tmux.PaneID) {
	if err := s.client.KillPane(ctx, p); err != nil {
		s.c.Log.Debug("a wrapper that was started ahead of need could not be ended", "err", err)
	}
}
