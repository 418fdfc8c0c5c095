package runner

import (
	"cmux/agents/platform/lease"
	"cmux/agents/platform/settings"
	"cmux/agents/runs/run"
	"cmux/dag"
)

// seats are the places that this run's agents have among all of the person's,
// where these are bounded.
type seats struct {
	pool   *lease.Seats // nil: no agent is in the graph, or there are none to be had
	most   int          // how many there are; 0: no bound
	has    map[int]*lease.Lease
	warned string
}

func (r *Runner) openSeats() {
	r.seats.has = make(map[int]*lease.Lease)
	for i := range r.g.Nodes {
		if !r.g.Nodes[i].UsesModel() {
			continue
		}
		pool, err := lease.OpenSeats(r.slots.By)
		if err != nil {
			r.warnSeats(err)
			return
		}
		r.seats.pool = pool
		return
	}
}

func (r *Runner) warnSeats(err error) {
	if text := err.Error(); r.seats.warned != text {
		r.seats.warned = text
		r.Log.Warn("max_agents is not kept", "err", err)
	}
}

// takeSeats reads how many agents may work, and has those that do take their seats.
func (r *Runner) takeSeats() {
	s := &r.seats
	if s.pool == nil {
		return
	}
	user, err := settings.Read()
	if err != nil {
		r.warnSeats(err) // what held before holds on
	} else {
		s.most = user.MaxAgents
	}
	s.pool.Waits()
	if s.most == 0 {
		return
	}
	for i := range r.g.Nodes {
		if r.g.Nodes[i].UsesModel() && s.has[i] == nil && r.sits(i) {
			r.seat(i, true)
		}
	}
}

// sits reports whether node i has an attempt that works.
func (r *Runner) sits(i int) bool {
	f := r.hist.State.Fact(i)
	return f.Phase == dag.Running || f.StillOpen
}

// seat takes a seat for node i, or says why there is none for it. Held: it works
// already.
func (r *Runner) seat(i int, held bool) (why string) {
	s := &r.seats
	name := r.g.Nodes[i].Name
	l, why, err := s.pool.Sit(s.most, name, held)
	if err != nil {
		r.warnSeats(err)
		return ""
	}
	if l != nil {
		s.has[i] = l
	}
	return why
}

// seated is what is due, with a seat for each agent that starts or goes on. Those
// that work no longer give theirs back.
func (r *Runner) seated() []dag.Effect {
	s := &r.seats
	r.hist.State.Bound(run.MostAtOnce(run.FileLimit()))
	for i, l := range s.has {
		if !r.sits(i) {
			if err := lease.ReturnSeat(l); err != nil {
				r.warnSeats(err)
			}
			delete(s.has, i)
		}
	}
	if s.pool == nil || s.most == 0 || r.leaving != "" {
		return r.hist.State.Due()
	}
	due := r.hist.State.DueIf(func(i int) string { return r.seat(i, false) })
	if !r.hist.State.Asks() {
		s.pool.Leave()
	}
	return due
}

// closeSeats gives up what this process has; wrappers that are at work keep
// their seats.
func (r *Runner) closeSeats() {
	for _, l := range r.seats.has {
		if err := lease.ReturnSeat(l); err != nil {
			r.warnSeats(err)
		}
	}
	if r.seats.pool != nil {
		r.seats.pool.Leave()
	}
}
