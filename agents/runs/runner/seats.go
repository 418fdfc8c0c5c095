package runner

import (
	"slices"

	"cmux/agents/platform/lease"
	"cmux/agents/runs/host"
	"cmux/agents/runs/run"
	"cmux/agents/runs/shares"
	"cmux/dag"
)

// openShares opens what this run's agents share with all others of the person, and notes
// whose accounts they use.
func (r *Runner) openShares() {
	var n shares.Needs
	for i := range r.g.Nodes {
		node := &r.g.Nodes[i]
		n.Seats = n.Seats || node.UsesModel()
		if node.Account != "" && r.Kinds[node.Agent].Judge {
			n.Limits = true
			r.accounts = append(r.accounts, node.Account)
		}
	}
	slices.Sort(r.accounts)
	r.accounts = slices.Compact(r.accounts)
	r.shares = shares.Open(lease.Holder{Project: r.Run.Plan.Root, Session: r.g.Session, Run: r.Run.Plan.ID}, n, r.Log)
}

// takeSeats reads how many agents may work, and has those that do take their seats.
func (r *Runner) takeSeats() {
	r.shares.Sit(slices.Values(r.g.Names()), r.sits)
}

// sits reports whether a node uses a model and has an attempt that works.
func (r *Runner) sits(node string) bool {
	i := r.g.Index(node)
	f := r.hist.State.Fact(i)
	return r.g.Nodes[i].UsesModel() && (f.Phase == dag.Running || f.StillOpen) && !elsewhere(r.host, &r.g.Nodes[i])
}

// elsewhere reports whether another machine carries n out: its agent takes a seat there.
func elsewhere(h host.Host, n *dag.Node) bool {
	d, ok := h.(host.Distant)
	return ok && d.Far(n) != ""
}

// seated is what is due, with a seat for each agent that starts or goes on. Those
// that work no longer give theirs back.
func (r *Runner) seated() []dag.Effect {
	r.hist.State.Bound(run.MostAtOnce(run.FileLimit()))
	if bounded := r.shares.Free(r.sits); !bounded || r.leaving != "" {
		return r.hist.State.Due()
	}
	due := r.hist.State.DueIf(func(i int) string {
		if elsewhere(r.host, &r.g.Nodes[i]) {
			return ""
		}
		return r.shares.Seat(r.g.Nodes[i].Name)
	})
	if !r.hist.State.Asks() {
		r.shares.Leave()
	}
	return due
}
