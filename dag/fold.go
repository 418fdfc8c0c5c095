package dag

import "time"

// folded is the result of applying a change to a fact.
type folded uint8

const (
	passed folded = iota // the change does not apply to the node's current state
	noted                // it applied, but the newest recorded event stays the earlier one
	news                 // it applied
)

// fold applies a change of a node to its fact and reports whether it applied.
func (s *State) fold(f *Fact, c *Change) bool {
	if c.Attempt != 0 && c.Attempt < f.Attempts {
		return false
	}
	met := c.Kind <= Vanished && f.meet(c.Attempt)
	is := passed
	switch c.Kind {
	case Began, Active, Wants, Regained:
		is = f.goOn(c)
	case Published:
		is = f.published(c)
	case AttemptEnded, Vanished:
		is = s.over(f, c)
	case Overridden:
		is = f.decide(c)
	case Reset:
		if !f.counted() {
			*f = Fact{Attempts: f.Attempts, StillOpen: f.StillOpen, StartedAt: f.StartedAt}
			is = news
		}
	}
	if is == news {
		f.Source, f.At = c.Source, c.At
	}
	return met || is != passed
}

// counted reports whether a live attempt has a slot or will need one.
func (f *Fact) counted() bool { return f.Phase == Running || f.Phase == Paused || f.Phase == Queued }

// meet records an attempt if it is newer than those known.
func (f *Fact) meet(attempt int) bool {
	if attempt <= f.Attempts {
		return false
	}
	switch f.Phase {
	case Idle:
		f.start(attempt)
	case Ended:
		f.Attempts, f.StillOpen = attempt, true
	default:
		f.Attempts = attempt
	}
	return true
}

// goOn applies an event of a live attempt.
func (f *Fact) goOn(c *Change) folded {
	switch {
	case c.Kind == Began && f.Live():
		f.StartedAt = c.At
		if f.StillOpen {
			return noted
		}
		f.Detail, f.Trial = c.Detail, f.Trial || c.Trial && f.Phase == Running
	case c.Kind == Active && f.counted():
		if c.Activity == NeedsInput || c.Activity == AtLimit {
			f.Phase, f.Trial = Paused, false
		}
		f.Activity, f.Detail, f.Until = c.Activity, c.Detail, c.Until
	case c.Kind == Wants && f.Phase == Paused:
		f.Phase = Queued
	case c.Kind == Regained && (f.Phase == Paused || f.Phase == Queued):
		f.Phase, f.Activity, f.Detail, f.Until, f.Trial = Running, Working, "", time.Time{}, c.Trial
	default:
		return passed
	}
	return news
}

// over records that an attempt ended or vanished.
func (s *State) over(f *Fact, c *Change) folded {
	switch {
	case f.StillOpen:
		f.StillOpen = false
		return noted
	case c.Kind == AttemptEnded && (f.counted() || f.Phase == Idle && c.endsUnstarted(f)):
		s.endAttempt(f, c)
	case c.Kind == Vanished && f.counted():
		f.Phase, f.Lost, f.Broken, f.Trial, f.Detail = Idle, true, s.stopped, false, c.Detail
		f.Activity, f.Until, f.EndedAt = Working, time.Time{}, c.At
		if !s.stopped {
			f.Losses++
			f.Held = !s.g.Nodes[c.Node].WillRedo(f.Losses)
		}
	default:
		return passed
	}
	return news
}

// decide applies a person's decision.
func (f *Fact) decide(c *Change) folded {
	if c.Outcome != Failed && f.Phase == Ended && f.Outcome.Success() {
		return passed
	}
	f.StillOpen = f.Live()
	f.end(c.Outcome, c)
	switch {
	case c.Outcome == Failed && f.Reason == ReasonExit:
		f.Reason = ReasonByHand
	case c.Outcome != Failed && c.Outcome != Done:
		f.Outcome = Override
	}
	return news
}

// endsUnstarted reports whether an AttemptEnded also ends a node with fact f that has no
// attempt.
func (c *Change) endsUnstarted(f *Fact) bool {
	return c.Outcome == Cancelled ||
		c.Outcome == Failed && (c.Reason == ReasonBudget || c.Reason == ReasonLost && f.Held)
}

// endAttempt records how an attempt ended that holds or waits for a slot.
func (s *State) endAttempt(f *Fact, c *Change) {
	n := &s.g.Nodes[c.Node]
	retry := n.WillRetry(c.Outcome, c.Reason, f.Tries)
	doomed := f.Doomed
	f.end(c.Outcome, c)
	if c.Outcome == Failed {
		f.Tries++
	}
	if retry {
		f.Doomed = doomed
		f.Phase, f.Outcome = Idle, NoOutcome // Exit, Reason and Detail stay: why cmux retries it
		if b := time.Duration(n.Retries.Backoff); b > 0 {
			f.NotBefore = c.At.Add(b)
		}
	}
}

// end records in f that the node ended.
func (f *Fact) end(o Outcome, c *Change) {
	f.Phase, f.Outcome = Ended, o
	f.Exit, f.Reason, f.Detail, f.EndedAt = 0, ReasonExit, c.Detail, c.At
	f.Lost, f.Broken, f.Held, f.Trial, f.Doomed, f.NotBefore = false, false, false, false, false, time.Time{}
	f.Activity, f.Until = Working, time.Time{}
	switch o {
	case Failed:
		f.Exit, f.Reason = c.Exit, c.Reason
		if f.Exit == 0 {
			f.Exit = 1
		}
	case Cancelled:
		f.Exit = 130
	}
}

// start records in f that an attempt runs.
func (f *Fact) start(attempt int) {
	*f = Fact{Phase: Running, Attempts: attempt, Tries: f.Tries, Losses: f.Losses, Outputs: f.Outputs}
}

// doom marks the other nodes of node i's matrix to be cancelled; node i has just failed.
func (s *State) doom(i int) {
	m := s.g.Nodes[i].Matrix
	if m == nil || !m.FailFast || s.facts[i].Phase != Ended || s.facts[i].Outcome != Failed {
		return
	}
	for j := range s.g.Nodes {
		o, f := s.g.Nodes[j].Matrix, &s.facts[j]
		if j != i && o != nil && o.Name == m.Name && f.Phase != Ended && !f.Doomed {
			f.Doomed = true
			s.settle(j)
		}
	}
}
