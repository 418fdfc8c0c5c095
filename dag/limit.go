package dag

import (
	"slices"
	"time"
)

// limit is the usage limit of an account.
type limit struct {
	known bool // the account met the limit, and no AccountFree followed
	on    bool // known, and until is not past
	until time.Time
	name  string
	lanes []int32 // of both queues
	trial int32   // node that tries whether it is over; -1: none
	met   int     // number of nodes that wait for its end, or for a slot to continue
}

// bars reports whether nodes of the account get no slot now: nodes that have not started,
// and nodes that would continue.
func (l *limit) bars() (start, goOn bool) {
	goOn = l.on || l.trial >= 0
	return goOn || l.known && l.met > 0, goOn
}

func (s *State) tick(at time.Time) {
	if !at.After(s.now) {
		return
	}
	s.now = at
	for len(s.wake) > 0 && !s.wake[0].at.After(at) {
		w := s.wake.pop()
		if w.node >= 0 {
			s.settle(int(w.node))
		} else if l := &s.limits[w.account]; l.on && l.until.Equal(w.at) {
			l.on = false
			s.findTrial(w.account)
			s.bar(w.account)
		}
	}
}

// LaterEnd returns the later of two ends of a limit; zero if one is unknown.
func LaterEnd(was, is time.Time) time.Time {
	if !is.IsZero() && !was.IsZero() && was.After(is) {
		return was
	}
	return is
}

// setLimit records until when account a is limited; the time may be past.
func (s *State) setLimit(a int32, until time.Time) {
	l := &s.limits[a]
	l.known, l.on, l.until = true, until.IsZero() || until.After(s.now), until
	if l.on && !until.IsZero() {
		s.wake.push(wakeup{at: until, node: -1, account: a})
	}
	s.findTrial(a)
	s.bar(a)
}

// endTrials ends the trial of all nodes of account a, because the account's state is now
// known.
func (s *State) endTrials(a int32) {
	for _, i := range s.trying {
		if s.account[i] == a {
			s.facts[i].Trial = false
		}
	}
	s.findTrial(a)
}

// findTrial finds the node that is on trial for account a. There is at most one, unless a
// program other than the runner wrote records: then the last in graph order counts, as in
// Rebuild.
func (s *State) findTrial(a int32) {
	l := &s.limits[a]
	l.trial = -1
	s.trying = slices.DeleteFunc(s.trying, func(i int32) bool { return !s.facts[i].Trial || s.stands[i] != running })
	for _, i := range s.trying {
		if s.account[i] == a && l.known && !l.on && (l.trial < 0 || s.rank[i] > s.rank[l.trial]) {
			l.trial = i
		}
	}
}

// bar shuts or opens the lanes of account a.
func (s *State) bar(a int32) {
	l := &s.limits[a]
	start, goOn := l.bars()
	for _, lane := range l.lanes {
		s.ready.setShut(lane, start)
		s.queued.setShut(lane, goOn)
	}
}

// tally updates the account of node i with the node's current state.
func (s *State) tally(i int, was, is standing) {
	a := s.account[i]
	if a < 0 {
		return
	}
	l := &s.limits[a]
	l.met += int(btoi(is == limited || is == requeued) - btoi(was == limited || was == requeued))
	if is == running && s.facts[i].Trial && !slices.Contains(s.trying, int32(i)) {
		s.trying = append(s.trying, int32(i))
	}
	if l.known {
		s.findTrial(a)
		s.bar(a)
	}
}
