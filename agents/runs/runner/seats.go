package runner

import (
	"cmux/agents/platform/lease"
	"cmux/agents/runs/run"
	"cmux/dag"
)

// openSeats opens the seats of this run's agents; a run without an agent has none.
func (r *Runner) openSeats() {
	r.seats = new(lease.Seating)
	for i := range r.g.Nodes {
		if r.g.Nodes[i].UsesModel() {
			r.seats = lease.OpenSeating(r.slots.By, r.warnSeats)
			return
		}
	}
}

func (r *Runner) warnSeats(err error) {
	if text := err.Error(); r.seatless != text {
		r.seatless = text
		r.Log.Warn("max_agents is not kept", "err", err)
	}
}

// takeSeats reads how many agents may work, and has those that do take their seats.
func (r *Runner) takeSeats() {
	r.seats.Look(true)
	if !r.seats.Bounded() {
		return
	}
	for i := range r.g.Nodes {
		if r.g.Nodes[i].UsesModel() && r.sits(i) {
			r.seats.Take(r.g.Nodes[i].Name, true)
		}
	}
}

// sits reports whether node i has an attempt that works.
func (r *Runner) sits(i int) bool {
	f := r.hist.State.Fact(i)
	return f.Phase == dag.Running || f.StillOpen
}

// seated is what is due, with a seat for each agent that starts or goes on. Those
// that work no longer give theirs back.
func (r *Runner) seated() []dag.Effect {
	r.hist.State.Bound(run.MostAtOnce(run.FileLimit()))
	r.seats.Keep(func(node string) bool { return r.sits(r.g.Index(node)) })
	if !r.seats.Bounded() || r.leaving != "" {
		return r.hist.State.Due()
	}
	due := r.hist.State.DueIf(func(i int) string { return r.seats.Take(r.g.Nodes[i].Name, false) })
	if !r.hist.State.Asks() {
		r.seats.Leave()
	}
	return due
}
