package dag

import (
	"fmt"
	"strings"
	"time"
)

// SourceDerived is the Source of a label that follows from other nodes and not from the
// node's own facts.
const SourceDerived = "derived"

// Status is how a node stands, for people.
type Status struct {
	Label  Label
	Source string        // how cmux knows
	Age    time.Duration // since that was recorded; 0: nothing was
	Reason string        // one line: why, and a command that helps if there is one; may be empty

	Crowded string // ready, but held back by Crowd: why; else empty
}

// Status returns the status of node i. now is the reference for ages and for the rest of a
// backoff; its location is used for times of day.
func (s *State) Status(i int, now time.Time) Status {
	f := &s.facts[i]
	st := Status{Source: f.Source, Age: age(f.At, now), Reason: f.Detail}
	switch s.stands[i] {
	case succeeded, failed, cancelled:
		st.Label = EndLabel(f.Outcome, f.Reason, f.Exit)
		if s.stands[i] != succeeded && f.StillOpen {
			st.Reason = also(st.Reason, "its attempt is still open")
		}
	case blocked:
		return s.blockedStatus(i, now)
	case skipped:
		return s.skippedStatus(i, now)
	case waiting:
		if f.Lost {
			st.Label, st.Reason = f.lost(), also(f.Detail, s.waitsFor(i))
		} else {
			st.Label.State, st.Source, st.Age, st.Reason = NodeWaiting, SourceDerived, 0, s.waitsFor(i)
		}
		if f.StillOpen {
			st.Reason = also(st.Reason, "its earlier attempt is still open")
		}
	case opened:
		st = s.gateStatus(i)
	case held:
		st.Label.State = NodeLost
		why := fmt.Sprintf("lost %d times", f.Losses)
		if s.g.Nodes[i].OnLost == Ask {
			why = "on_lost: ask"
		}
		st.Reason = also(f.Detail, why+": cmux agents retry "+s.g.Nodes[i].Name)
	case doomed:
		st.Label.State, st.Reason = NodeWaiting, "another node of its matrix failed: it is being cancelled"
	case lingering:
		st.Label.State, st.Reason = NodeReady, also(f.Detail, "its earlier attempt is still open")
	case backoff:
		left := max(0, f.NotBefore.Sub(now)).Round(time.Second)
		st.Label.State = NodeReady
		st.Reason = also(why(f), fmt.Sprintf("retry %d of %d in %s", f.Tries, s.g.Nodes[i].Retries.Max, left))
	case startable:
		s.startableStatus(i, now, &st)
	case limited:
		s.limitedStatus(i, now, &st)
	case running, asking, paused:
		st.Label = LiveLabel(f.Activity, time.Time{})
	case requeued:
		st.Label.State, st.Reason = NodeReady, also(f.Detail, "continues when a slot is free")
		if why := s.crowded(i); why != "" {
			st.Reason, st.Crowded = also(f.Detail, why), why
		}
		if l := s.limitOf(i); l != nil {
			if _, barred := l.bars(); barred {
				st.Reason = also(f.Detail, s.barredBy(l, now))
				if l.on {
					st.Label = l.label(now)
				}
			}
		}
	}
	if st.Source != SourceDerived {
		st.Label.Detail = f.Detail
	}
	st.Label.Open = f.StillOpen
	return st
}

// blockedStatus is Status for a node that a dependency blocks.
func (s *State) blockedStatus(i int, now time.Time) Status {
	c := int(s.cause(i))
	st := Status{
		Label:  Label{State: NodeBlocked, By: s.g.Nodes[c].Name, Reason: s.endReason(c), Open: s.facts[i].StillOpen},
		Source: SourceDerived, Age: age(s.facts[c].At, now),
	}
	if root, ok := s.root(c); ok && root != c {
		st.Reason = "because " + s.g.Nodes[root].Name + " " + string(s.endReason(root))
	}
	return st
}

// skippedStatus is Status for a skipped node.
func (s *State) skippedStatus(i int, now time.Time) Status {
	st := Status{Label: Label{State: NodeSkipped, Open: s.facts[i].StillOpen}, Source: SourceDerived}
	for _, d := range s.g.deps[i] {
		if s.stands[d] == skipped && s.join(i) == skipped {
			st.Label.By, st.Reason = s.g.Nodes[d].Name, s.g.Nodes[d].Name+" was skipped"
			return st
		}
		st.Age = age(s.facts[d].At, now)
	}
	st.Reason = "if: " + strings.Join(strings.Fields(s.g.Nodes[i].If), " ")
	return st
}

// gateStatus is Status for a gate that waits for a person.
func (s *State) gateStatus(i int) Status {
	st := Status{Label: Label{State: NodeNeedsInput}, Source: SourceDerived, Reason: "cmux agents approve " + s.g.Nodes[i].Name}
	if s.g.Nodes[i].AsksCode() {
		st.Reason += ", which asks for a code in your own terminal"
	}
	return st
}

// limitedStatus is Status for an attempt that waits for the end of a limit.
func (s *State) limitedStatus(i int, now time.Time, st *Status) {
	f := &s.facts[i]
	until := f.Until
	if l := s.limitOf(i); l != nil && l.on && (l.until.IsZero() || l.until.After(until)) {
		until = l.until
	}
	account := s.g.Nodes[i].Account
	st.Label = limitedLabel(account, until, now)
	if account != "" {
		st.Reason = also(atLimit(account, until, now), f.Detail)
	}
}

// startableStatus is Status for a node that only waits to start.
func (s *State) startableStatus(i int, now time.Time, st *Status) {
	f := &s.facts[i]
	n := &s.g.Nodes[i]
	st.Label.State, st.Reason = NodeReady, why(f)
	if f.Tries > 0 && !f.Lost {
		st.Reason = also(st.Reason, fmt.Sprintf("retry %d of %d", f.Tries, n.Retries.Max))
	}
	if f.At.IsZero() {
		st.Source = SourceDerived
	}
	if f.Lost {
		st.Label = f.lost()
	}
	l := s.limitOf(i)
	barred := false
	if l != nil {
		barred, _ = l.bars()
	}
	if barred && l.on {
		if f.Lost {
			st.Reason = also(st.Reason, l.label(now).String())
		} else {
			st.Label, st.Source, st.Age = l.label(now), SourceDerived, 0
		}
	}
	switch {
	case s.stopped:
		st.Reason = also(st.Reason, "stopped: cmux agents resume")
	case barred:
		st.Reason = also(st.Reason, s.barredBy(l, now))
	case s.pools[s.pool[i]].full():
		st.Reason = also(st.Reason, "waits for a place in pool "+n.Pool)
	case s.crowded(i) != "":
		st.Crowded = s.crowded(i)
		st.Reason = also(st.Reason, st.Crowded)
	default:
		st.Reason = also(st.Reason, "waits for a slot")
	}
}

// crowded returns why node i must wait though this run has a slot for it; empty: it need
// not.
func (s *State) crowded(i int) string {
	if s.g.Nodes[i].UsesModel() && !s.full() {
		return s.crowd
	}
	return ""
}

// limitOf returns the limit of node i's account unless it is known to be over; else nil.
func (s *State) limitOf(i int) *limit {
	if a := s.account[i]; a >= 0 && s.limits[a].known {
		return &s.limits[a]
	}
	return nil
}

// barredBy returns how a limit makes nodes wait.
func (s *State) barredBy(l *limit, now time.Time) string {
	switch {
	case l.on:
		return atLimit(l.name, l.until, now)
	case l.trial >= 0:
		return "account " + l.name + " was at its limit: " + s.g.Nodes[l.trial].Name + " tests whether it is over"
	}
	return "account " + l.name + " was at its limit: those that met it go first"
}

// atLimit returns a text with the account, and the date if the limit ends on another day
// than now.
func atLimit(account string, until, now time.Time) string {
	text := "account " + account + " is at its limit"
	if until.Sub(now) >= 24*time.Hour {
		text += " until " + until.In(now.Location()).Format(time.DateOnly)
	}
	return text
}

func limitedLabel(account string, until, now time.Time) Label {
	l := Label{State: NodeLimited, By: account}
	if !until.IsZero() {
		l.Until = until.In(now.Location())
	}
	return l
}

// label returns the label of a node that only waits for the limit's end.
func (l *limit) label(now time.Time) Label { return limitedLabel(l.name, l.until, now) }

// lost returns the label of a node whose attempt vanished.
func (f *Fact) lost() Label {
	l := Label{State: NodeLost}
	if f.Broken {
		l.Reason = ReasonStopped
	}
	return l
}

// why returns how the last attempt of an Idle node ended.
func why(f *Fact) string {
	if f.Lost || f.Exit == 0 {
		return f.Detail
	}
	text := EndLabel(Failed, f.Reason, f.Exit).String()
	if f.Detail != "" {
		text += ": " + f.Detail
	}
	return text
}

// endReason returns how a node without success ended, for the labels of its dependents.
func (s *State) endReason(i int) Reason {
	switch {
	case s.stands[i] == blocked:
		return ReasonBlocked
	case s.facts[i].Outcome == Cancelled:
		return ReasonCancelled
	}
	return ReasonFailed
}

// root follows the causes from node i to a node that is not blocked itself. It takes a
// bounded number of steps, so that the labels of a long chain stay linear.
func (s *State) root(i int) (root int, ok bool) {
	for range 100 {
		if s.stands[i] != blocked {
			return i, true
		}
		i = int(s.cause(i))
	}
	return 0, false
}

// waitsFor names up to three dependencies that have not ended.
func (s *State) waitsFor(i int) string {
	names := make([]string, 0, 3)
	for _, d := range s.g.deps[i] {
		if s.stands[d].ended() {
			continue
		}
		if names = append(names, s.g.Nodes[d].Name); len(names) == cap(names) {
			break
		}
	}
	text := "waits for " + strings.Join(names, ", ")
	if more := int(s.open[i]) - len(names); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

func age(at, now time.Time) time.Duration {
	if at.IsZero() {
		return 0
	}
	return max(0, now.Sub(at))
}

// also joins the parts of a reason.
func also(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "; " + b
}
