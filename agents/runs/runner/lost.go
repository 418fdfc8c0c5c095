package runner

import (
	"context"
	"fmt"
	"slices"

	"cmux/agents/platform/proc"
	"cmux/agents/runs/attempt"
	"cmux/agents/runs/host"
	"cmux/agents/runs/run"
	"cmux/dag"
)

// cleared is a node that was lost too often and has nothing running any more.
type cleared struct {
	node, attempt int
	ended         []proc.Process
	err           error
}

// EndLeftovers ends what attempts of r left running here that are over: their owner
// was killed, or they left it behind where nothing proved whose it is but their
// mark. It returns what it ended. The caller has made sure that none is at work here.
func EndLeftovers(ctx context.Context, r *run.Run) ([]proc.Process, error) {
	h := run.NewHistory(r.Plan.Graph)
	if _, err := r.Replay(h, 0, nil); err != nil {
		return nil, err
	}
	var all []host.Ref
	for i := range h.Nodes {
		if n := lastHere(&h.Nodes[i]); n > 0 {
			all = append(all, host.Ref{Node: r.Plan.Graph.Nodes[i].Name, N: n})
		}
	}
	return host.EndLeft(ctx, r, all, attempt.Limits{}.Patience())
}

// lastHere returns the number of the newest attempt of n that this machine carried out and
// that does not count as open any more; 0: there is none.
func lastHere(n *run.Node) int {
	for k := len(n.Attempts) - 1; k >= 0; k-- {
		a, newest := &n.Attempts[k], k == len(n.Attempts)-1
		switch {
		case newest && n.Fact.StillOpen && !a.Place.Away():
			return 0
		case !a.Place.Away():
			return a.N
		}
	}
	return 0
}

// clearHeld ends what is left of nodes that were lost too often, beside the
// scheduler: no further attempt does it first.
func (r *Runner) clearHeld(ctx context.Context) {
	held := r.held
	r.held = nil
	for _, i := range slices.Compact(held) {
		n := &r.hist.Nodes[i]
		if !n.Fact.Held {
			continue
		}
		name, last := r.g.Nodes[i].Name, n.Fact.Attempts
		r.tasks.Go(func() {
			ended, err := r.host.End(ctx, host.Ref{Node: name, N: last}, proc.Identity{}, attempt.Limits{}.Patience())
			select {
			case r.cleared <- cleared{i, last, ended, err}:
			case <-r.over:
			}
		})
	}
}

// giveUp ends a node that was lost too often: headless there is nobody to ask
// what to do about it.
func (r *Runner) giveUp(ctx context.Context, c cleared) error {
	n, name := &r.hist.Nodes[c.node], r.g.Nodes[c.node].Name
	if len(c.ended) > 0 {
		r.Log.Warn("ended what a lost attempt left running", "node", name, "processes", proc.Names(c.ended))
	}
	if c.err != nil {
		r.Log.Error("processes of a lost attempt could not be ended", "node", name, "err", c.err)
	}
	if r.Server != nil || !n.Fact.Held || n.Fact.Attempts != c.attempt || r.hist.Stopped {
		return nil
	}
	end := &run.End{Outcome: dag.Failed, Reason: dag.ReasonLost, Exit: 1, Detail: lostDetail(n)}
	if c.err != nil {
		end.Detail += "; " + c.err.Error()
	}
	return r.commit(ctx, run.Record{Type: run.AttemptEnd, Node: name, Attempt: c.attempt, End: end})
}

func lostDetail(n *run.Node) string {
	detail := fmt.Sprintf("lost %d times", n.Fact.Losses)
	if n.Fact.Detail != "" {
		detail += ": " + n.Fact.Detail
	}
	return detail
}
