package dag

import (
	"slices"
	"time"
)

// State is the scheduler's state of a run: the recorded Facts and what follows from them.
// Step changes it in place. It is not safe for concurrent use.
type State struct {
	g     *Graph
	facts []Fact // own facts; everything below but now and stopped is derived from them

	now     time.Time
	stopped bool

	accounts map[string]int32 // of the graph's nodes; "" is no account
	limits   []limit          // by account

	rank  []int32 // position in graph order
	pool  []int32 // by node; 0 is no pool
	pools []places

	account []int32 // by node; -1 is none

	open   []int32 // dependencies that have not ended
	wins   []int32 // dependencies that are successes
	skips  []int32 // dependencies that are skipped
	stands []standing
	count  [standings]int
	told   []int32 // newest effect emitted for the node: a Block's cause, or a constant below

	ready  *queue
	queued *queue

	bound   int     // how many nodes the runner can run at once; 0: no bound
	crowd   string  // why no agent may start or continue now, even with a free slot; empty: they may
	lanesOf []int32 // of agents, in both queues
	wake    wakes

	trying  []int32 // nodes that may be on trial for their accounts
	dirty   []int32 // nodes to judge again: a dependency ended or was reset
	touched []int32 // nodes that may have a Block, Unblock or Open to emit
	listed  []bool  // by node: it is in touched
}

const (
	toldNothing = -1
	toldOpen    = -2
	toldSkipped = -4
	toldDoomed  = -5
	toldGone    = -3 // a Block whose cause is no longer in the graph
)

// toldMarker reports whether the effect emitted for a node was a Block or a Skip, which has
// a marker.
func toldMarker(told int32) bool { return told >= 0 || told == toldGone || told == toldSkipped }

type places struct {
	name      string
	used, max int // max 0: no bound
}

func (p *places) full() bool { return p.max > 0 && p.used >= p.max }

// standing is the derived state of a node.
type standing uint8

const (
	waiting   standing = iota // its join is not decided
	blocked                   // its join cannot be met: ends as 99
	startable                 // asks for a slot
	backoff                   // asks for a slot from NotBefore on
	opened                    // a gate that waits for a person
	held                      // lost, waits for a person
	doomed                    // will be cancelled
	lingering                 // reset, but the attempt of its earlier life still runs
	running                   // has a slot
	asking                    // paused: needs input
	limited                   // paused: at a limit
	paused                    // paused otherwise
	requeued                  // live, asks for a slot to continue
	succeeded
	failed
	cancelled
	skipped
	standings
)

func (st standing) ended() bool {
	return st == succeeded || st == failed || st == cancelled || st == blocked || st == skipped
}

// settle computes the standing of node i again and, if its end changed, that of its
// dependents.
func (s *State) settle(i int) {
	s.place(i)
	for len(s.dirty) > 0 {
		last := len(s.dirty) - 1
		i := s.dirty[last]
		s.dirty = s.dirty[:last]
		s.place(int(i))
	}
}

// place sets the standing of node i from its fact and the counters of its dependencies. If
// its end changed, place updates the counters of its dependents and marks them dirty.
func (s *State) place(i int) {
	was, is := s.stands[i], s.judge(i)
	if f := &s.facts[i]; f.Doomed && f.Phase != Ended {
		if s.told[i] != toldDoomed {
			s.touch(i)
		}
	} else if is == blocked || is == skipped || is == opened || s.told[i] != toldNothing {
		s.touch(i)
	}
	if is == backoff { // also from one backoff to the next
		s.wake.push(wakeup{at: s.facts[i].NotBefore, node: int32(i)})
	}
	if was == is {
		return
	}
	s.stands[i] = is
	s.count[was]--
	s.count[is]++
	switch was {
	case running:
		s.occupy(i, -1)
	case startable:
		s.ready.set(i, false)
	case requeued:
		s.queued.set(i, false)
	}
	switch is {
	case running:
		s.occupy(i, +1)
	case startable:
		s.ready.set(i, true)
	case requeued:
		s.queued.set(i, true)
	}
	s.tally(i, was, is)
	ends := btoi(is.ended()) - btoi(was.ended())
	wins := btoi(is == succeeded) - btoi(was == succeeded)
	skips := btoi(is == skipped) - btoi(was == skipped)
	if !was.ended() && !is.ended() {
		return
	}
	for _, d := range s.g.dependents[i] {
		s.open[d] -= ends
		s.wins[d] += wins
		s.skips[d] += skips
		s.dirty = append(s.dirty, int32(d))
	}
}

// touch makes Due look at node i.
func (s *State) touch(i int) {
	if !s.listed[i] {
		s.listed[i] = true
		s.touched = append(s.touched, int32(i))
	}
}

func (s *State) occupy(i int, by int) {
	p := s.pool[i]
	was := s.pools[p].full()
	s.pools[p].used += by
	if is := s.pools[p].full(); is != was {
		s.ready.setFull(p, is)
		s.queued.setFull(p, is)
	}
}

// judge returns the standing of node i, from its own fact and the ends of its direct
// dependencies alone.
func (s *State) judge(i int) standing {
	f := &s.facts[i]
	switch f.Phase {
	case Running:
		return running
	case Queued:
		return requeued
	case Paused:
		switch f.Activity {
		case NeedsInput:
			return asking
		case AtLimit:
			return limited
		}
		return paused
	case Ended:
		switch {
		case f.Outcome.Success():
			return succeeded
		case f.Outcome == Cancelled:
			return cancelled
		}
		return failed
	}
	if f.Doomed {
		return doomed
	}
	// Between two attempts of one life, dependencies do not block the node again, but it
	// waits for a dependency that was reset.
	if j := s.join(i); j != startable && (!f.begun() || j == waiting && !f.Held) {
		return j
	}
	if !f.begun() && !s.wants(i) {
		return skipped
	}
	switch {
	case s.g.Nodes[i].Role == RoleGate:
		return opened
	case f.Held:
		return held
	case f.StillOpen:
		return lingering
	case f.NotBefore.After(s.now):
		return backoff
	}
	return startable
}

// join returns whether the dependencies of node i let it start (startable), can no longer
// let it start (blocked), have not decided (waiting), or skip it because they were skipped
// themselves (skipped).
func (s *State) join(i int) standing {
	deps, open, wins := int32(len(s.g.deps[i])), s.open[i], s.wins[i]
	when := s.g.Nodes[i].When
	switch {
	case deps == 0, when == OneSuccess && wins > 0:
		return startable
	case open > 0:
		return waiting
	case when == AllDone, when == Always, when != OneSuccess && wins == deps:
		return startable
	case s.skips[i] > 0 && (s.skips[i] == deps || when != OneSuccess && wins+s.skips[i] == deps):
		return skipped
	}
	return blocked
}

// cause returns the dependency that a blocked node names: the first, in depends_on order,
// that is neither a success nor skipped.
func (s *State) cause(i int) int32 {
	for _, d := range s.g.deps[i] {
		if s.stands[d] != succeeded && s.stands[d] != skipped {
			return int32(d)
		}
	}
	return toldNothing
}

// Clone returns an independent copy, for reading: its Due does not repeat effects that s
// has emitted.
func (s *State) Clone() *State {
	c := *s
	c.facts = slices.Clone(s.facts)
	c.limits = slices.Clone(s.limits)
	c.pools = slices.Clone(s.pools)
	c.open, c.wins, c.skips = slices.Clone(s.open), slices.Clone(s.wins), slices.Clone(s.skips)
	c.stands, c.told = slices.Clone(s.stands), slices.Clone(s.told)
	c.ready, c.queued = s.ready.clone(s.rank), s.queued.clone(s.rank)
	c.wake, c.trying = slices.Clone(s.wake), slices.Clone(s.trying)
	c.dirty, c.touched, c.listed = nil, nil, make([]bool, len(s.listed))
	return &c
}
