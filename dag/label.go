package dag

import (
	"fmt"
	"strings"
	"time"
)

// SourceDerived is the Source of a label that follows from other nodes and
// not from a fact of the node's own.
const SourceDerived = "derived"

// Status is what a person is told about a node.
type Status struct {
	Label  string        // as in the table of markers, e.g. "done", "blocked (auth failed)"
	Source string        // where it is known from
	Age    time.Duration // since that was recorded; 0 when nothing was
	Reason string        // one line: why, and the way out where there is one; may be empty
}

// Label is the status of node i. Ages and the rest of a backoff are counted to
// now, whose location is also that of the times of day.
func (s *State) Label(i int, now time.Time) Status {
	f := &s.facts[i]
	st := Status{Source: f.Source, Age: age(f.At, now), Reason: f.Detail}
	name := s.g.Nodes[i].Name
	switch s.stands[i] {
	case succeeded:
		st.Label = "done"
		if f.Outcome == Override {
			st.Label = "done (override)"
			if f.StillOpen {
				st.Label = "done (override), still open"
			}
		}
	case failed:
		st.Label = failedLabel(f)
		if f.StillOpen {
			st.Reason = also(st.Reason, "its attempt is still open")
		}
	case blocked:
		c := int(s.cause(i))
		st = Status{
			Label: "blocked (" + s.g.Nodes[c].Name + " " + s.endWord(c) + ")", Source: SourceDerived,
			Age: age(s.facts[c].At, now),
		}
		if root, ok := s.root(c); ok && root != c {
			st.Reason = "because " + s.g.Nodes[root].Name + " " + s.endWord(root)
		}
	case waiting:
		if f.Lost {
			st.Label, st.Reason = "lost", also(f.Detail, s.waitsFor(i))
		} else {
			st.Label, st.Source, st.Age, st.Reason = "waiting", SourceDerived, 0, s.waitsFor(i)
		}
		if f.StillOpen {
			st.Reason = also(st.Reason, "its earlier attempt is still open")
		}
	case opened:
		st = Status{Label: "needs input", Source: SourceDerived, Reason: "cmux agents approve " + name}
		if s.g.Nodes[i].AsksCode() {
			st.Reason += ", which asks for a code in a terminal of yours"
		}
	case held:
		st.Label = "lost"
		why := fmt.Sprintf("lost %d times", f.Losses)
		if s.g.Nodes[i].OnLost == Ask {
			why = "on_lost: ask"
		}
		st.Reason = also(f.Detail, why+": cmux agents retry "+name)
	case lingering:
		st.Label, st.Reason = "ready", also(f.Detail, "its earlier attempt is still open")
	case backoff:
		left := max(0, f.NotBefore.Sub(now)).Round(time.Second)
		st.Label = "ready"
		st.Reason = also(why(f), fmt.Sprintf("retry %d of %d in %s", f.Tries, s.g.Nodes[i].Retries.Max, left))
	case startable:
		s.labelStartable(i, now, &st)
	case running:
		switch f.Activity {
		case Checking:
			st.Label = "checking"
		case TakenOver:
			st.Label = "taken over"
		default:
			st.Label = "running"
		}
	case asking:
		st.Label = "needs input"
	case limited:
		until := f.Until
		if l := s.limitOf(i); l != nil && l.on && (l.until.IsZero() || l.until.After(until)) {
			until = l.until
		}
		st.Label = limitedLabel(until, now)
		if account := s.g.Nodes[i].Account; account != "" {
			st.Reason = also(atLimit(account, until, now), f.Detail)
		}
	case paused:
		st.Label = "running"
		if f.Activity == Checking {
			st.Label = "checking"
		} else if f.Activity == TakenOver {
			st.Label = "taken over"
		}
	case requeued:
		st.Label, st.Reason = "ready", also(f.Detail, "goes on when a slot is free")
		if l := s.limitOf(i); l != nil {
			if _, barred := l.bars(); barred {
				st.Reason = also(f.Detail, s.barredBy(l, now))
				if l.on {
					st.Label = limitedLabel(l.until, now)
				}
			}
		}
	}
	return st
}

// labelStartable is Label of a node that only waits to be started.
func (s *State) labelStartable(i int, now time.Time, st *Status) {
	f := &s.facts[i]
	n := &s.g.Nodes[i]
	st.Label, st.Reason = "ready", why(f)
	if f.Tries > 0 && !f.Lost {
		st.Reason = also(st.Reason, fmt.Sprintf("retry %d of %d", f.Tries, n.Retries.Max))
	}
	if f.At.IsZero() {
		st.Source = SourceDerived
	}
	if f.Lost {
		st.Label = "lost"
	}
	l := s.limitOf(i)
	barred := false
	if l != nil {
		barred, _ = l.bars()
	}
	if barred && l.on {
		if f.Lost {
			st.Reason = also(st.Reason, limitedLabel(l.until, now))
		} else {
			st.Label, st.Source, st.Age = limitedLabel(l.until, now), SourceDerived, 0
		}
	}
	switch {
	case s.stopped:
		st.Reason = also(st.Reason, "stopped: cmux agents resume")
	case barred:
		st.Reason = also(st.Reason, s.barredBy(l, now))
	case s.pools[s.pool[i]].full():
		st.Reason = also(st.Reason, "waits for a place in pool "+n.Pool)
	default:
		st.Reason = also(st.Reason, "waits for a slot")
	}
}

// limitOf is the limit of node i's account that is not known to be over, or nil.
func (s *State) limitOf(i int) *limit {
	if a := s.account[i]; a >= 0 && s.limits[a].known {
		return &s.limits[a]
	}
	return nil
}

// barredBy says how a limit keeps nodes waiting.
func (s *State) barredBy(l *limit, now time.Time) string {
	switch {
	case l.on:
		return atLimit(l.name, l.until, now)
	case l.trial >= 0:
		return "account " + l.name + " was at its limit: " + s.g.Nodes[l.trial].Name + " finds out whether it is over"
	}
	return "account " + l.name + " was at its limit: those that met it go first"
}

// atLimit names the account, and the day where the label's time of day is of
// another one.
func atLimit(account string, until, now time.Time) string {
	text := "account " + account + " is at its limit"
	if until.Sub(now) >= 24*time.Hour {
		text += " until " + until.In(now.Location()).Format(time.DateOnly)
	}
	return text
}

func limitedLabel(until, now time.Time) string {
	if until.IsZero() {
		return "limited"
	}
	return "limited until " + until.In(now.Location()).Format("15:04")
}

func failedLabel(f *Fact) string {
	switch {
	case f.Outcome == Cancelled:
		return "failed (cancelled)"
	case f.Reason != ReasonExit:
		return "failed (" + string(f.Reason) + ")"
	}
	return fmt.Sprintf("failed (exit %d)", f.Exit)
}

// why says how the last attempt of an Idle node ended.
func why(f *Fact) string {
	switch {
	case f.Lost || f.Exit == 0:
		return f.Detail
	case f.Detail == "":
		return failedLabel(f)
	}
	return failedLabel(f) + ": " + f.Detail
}

// endWord says in one word how a node that is no success ended.
func (s *State) endWord(i int) string {
	switch {
	case s.stands[i] == blocked:
		return "blocked"
	case s.facts[i].Outcome == Cancelled:
		return "cancelled"
	}
	return "failed"
}

// root follows the causes from node i to one that is not blocked itself, over
// a bounded way: the labels of a long chain stay linear.
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

// also puts the parts of a reason together.
func also(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "; " + b
}
