package dag

import "time"

// Step calls Take and then Due.
func (s *State) Step(changes ...Change) []Effect {
	s.Take(changes...)
	return s.Due()
}

// Take applies changes in order. The time is proportional to the changes and the dependents
// of the nodes they end (times a logarithm for the queues), whatever the size of the graph.
// Changes that cannot apply (of an older attempt, of a node that is not live) do nothing,
// so a change may be given twice.
func (s *State) Take(changes ...Change) {
	for i := range changes {
		s.Fold(changes[i])
	}
}

// Recorded tells the State that e, a Block, Skip, Unblock or Open, was carried out. Due
// then emits it again only if it has changed, and withdraws what no longer holds. A Cause
// below 0 is a node that is not in the graph.
func (s *State) Recorded(e Effect) {
	told := int32(toldNothing)
	switch {
	case e.Kind == Open:
		told = toldOpen
	case e.Kind == Skip:
		told = toldSkipped
	case e.Kind == Cancel:
		told = toldDoomed
	case e.Kind == Block && e.Cause < 0:
		told = toldGone
	case e.Kind == Block:
		told = int32(e.Cause)
	}
	s.told[e.Node] = told
	s.touch(e.Node)
}

// Fold is Take for one change. It reports whether the change applied.
func (s *State) Fold(c Change) bool {
	switch c.Kind {
	case Tick:
		s.tick(c.At)
	case Stop:
		s.stopped = true
	case Resume:
		s.stopped = false
	case AccountLimited:
		if a, ok := s.accounts[c.Account]; ok {
			l := &s.limits[a]
			until := c.Until
			if l.known {
				until = LaterEnd(l.until, until)
			}
			s.endTrials(a)
			s.setLimit(a, until)
		}
	case AccountFree:
		if a, ok := s.accounts[c.Account]; ok {
			s.limits[a].known, s.limits[a].on, s.limits[a].until = false, false, time.Time{}
			s.endTrials(a)
			s.bar(a)
		}
	default:
		if s.told[c.Node] == toldDoomed && (c.Kind == AttemptEnded || c.Kind == Vanished) {
			s.told[c.Node] = toldNothing // another attempt of it must be cancelled too
			s.touch(c.Node)
		}
		ended := s.facts[c.Node].Phase == Ended && s.facts[c.Node].Outcome == Failed
		if !s.fold(&s.facts[c.Node], &c) {
			return false
		}
		if c.Kind == Overridden || c.Kind == Reset {
			s.told[c.Node] = toldNothing // the end replaces the effect
		}
		s.settle(c.Node)
		if !ended {
			s.doom(c.Node)
		}
	}
	return true
}

// Due returns the effects that are due now: what has changed since the last call, and the
// free slots. The caller must carry out all of them before it calls Take again: after that,
// an effect may no longer hold. The time is proportional to the changes and the results.
//
// Effects come in this order: Unblock, Block, Skip, Cancel and Open, then Grants, then Starts in
// graph order.
func (s *State) Due() []Effect { return s.DueIf(nil) }

// DueIf is Due with a check of every agent, in order, before it starts or continues. If
// admit returns a reason, DueIf calls Crowd with it, asks for no other agent, and starts
// only nodes that are not agents.
func (s *State) DueIf(admit func(i int) (why string)) []Effect {
	s.Crowd("")
	var out []Effect
	for _, t := range s.touched {
		i := int(t)
		s.listed[i] = false
		was, is := s.told[i], int32(toldNothing)
		switch s.stands[i] {
		case blocked:
			is = s.cause(i)
		case skipped:
			is = toldSkipped
		case opened:
			is = toldOpen
		}
		if f := &s.facts[i]; f.Doomed && f.Phase != Ended {
			is = toldDoomed
		}
		if was == is {
			continue
		}
		s.told[i] = is
		// When only the cause changes, the marker 99 stays.
		if toldMarker(was) && s.facts[i].Phase != Ended && (is < 0 || was == toldSkipped) {
			out = append(out, Effect{Kind: Unblock, Node: i})
		}
		switch {
		case is >= 0:
			out = append(out, Effect{Kind: Block, Node: i, Cause: int(is)})
		case is == toldSkipped:
			out = append(out, Effect{Kind: Skip, Node: i})
		case is == toldDoomed:
			out = append(out, Effect{Kind: Cancel, Node: i})
		case is == toldOpen:
			out = append(out, Effect{Kind: Open, Node: i})
		}
	}
	s.touched = s.touched[:0]

	for !s.stopped && !s.full() {
		kind, i := Grant, s.queued.first()
		if i < 0 {
			kind, i = Start, s.ready.first()
		}
		if i < 0 {
			break
		}
		if admit != nil && s.g.Nodes[i].UsesModel() {
			if why := admit(i); why != "" {
				s.Crowd(why)
				continue
			}
		}
		f := &s.facts[i]
		if kind == Grant {
			f.Phase, f.Activity, f.Detail, f.Until = Running, Working, "", time.Time{}
		} else {
			f.start(f.Attempts + 1)
			f.StartedAt = s.now
		}
		f.Source, f.At, f.Trial = "runner", s.now, s.account[i] >= 0 && s.limits[s.account[i]].known
		s.settle(i)
		out = append(out, Effect{Kind: kind, Node: i, Attempt: f.Attempts, Trial: f.Trial})
	}
	return out
}

// Crowd keeps all agents from starting and continuing, and records why; empty: they may.
func (s *State) Crowd(why string) {
	if s.crowd == why {
		return
	}
	s.crowd = why
	held := why != ""
	for _, l := range s.lanesOf {
		s.ready.setHeld(l, held)
		s.queued.setHeld(l, held)
	}
}

// Asks reports whether an agent would start or continue without Crowd.
func (s *State) Asks() bool {
	if s.stopped || s.full() {
		return false
	}
	was := s.crowd
	s.Crowd("")
	defer s.Crowd(was)
	for _, q := range []*queue{s.queued, s.ready} {
		// The queues return only the first node of all, which may hide an agent behind a
		// node without an agent.
		for _, l := range s.lanesOf {
			if n := &q.lanes[l]; !n.shut && !n.nodes.empty() && !s.pools[n.pool].full() {
				return true
			}
		}
	}
	return false
}

// Bound limits how many nodes run at once, in addition to max_parallel; 0: no bound.
func (s *State) Bound(most int) { s.bound = most }

func (s *State) full() bool {
	return s.g.MaxParallel > 0 && s.count[running] >= s.g.MaxParallel || s.bound > 0 && s.count[running] >= s.bound
}

func btoi(b bool) int32 {
	if b {
		return 1
	}
	return 0
}
