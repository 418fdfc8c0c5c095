package attempt

import (
	"time"

	"cmux/agents/kinds/news"
	"cmux/agents/records/event"
	"cmux/agents/runs/run"
	"cmux/dag"
)

// account returns the account of the attempt's agent; all attempts share its limit.
type account struct {
	*reporter
	name   string
	home   Home
	limits Limits
}

// limited records that the account met its limit, and returns its end.
func (a *account) limited(e news.LimitMet) (until time.Time, err error) {
	until = a.limits.lasts(e.Until, a.limit(), time.Now())
	a.keep(event.Event{Kind: event.Limit, Text: e.Text, Until: until})
	return until, a.record(run.Record{Type: run.Limited, Account: a.name, Until: until, Detail: e.Text})
}

// maxWrongEnds is how often in a row a limit may last longer than its stated end before
// cmux no longer relies on that.
const maxWrongEnds = 3

// lasts returns until when an account counts as limited that met a limit now. stated is the
// stated end, or zero; l is the limit as known before. Without a reliable stated end, cmux
// tries the account after a wait that grows each time.
func (p Limits) lasts(stated time.Time, l run.Limit, now time.Time) time.Time {
	switch {
	case stated.IsZero():
		return p.tryAgain(l, now)
	case l.Times > maxWrongEnds:
		return dag.LaterEnd(p.tryAgain(l, now), stated)
	}
	return stated
}

// tryAgain returns when to try an account that met a limit now; l is the limit as known
// before. Agents that meet it together continue together.
func (p Limits) tryAgain(l run.Limit, now time.Time) time.Time {
	if l.On(now) && !l.Until.IsZero() {
		return l.Until
	}
	return now.Add(min(p.Pause<<min(l.Times, 10), maxPause))
}

// limit returns the recorded limit of the account. If it cannot be read, it counts as none:
// the service will report it.
func (a *account) limit() run.Limit {
	l, err := a.home.Limit(a.name)
	if err != nil {
		a.note("limits are not known: %v", err)
	}
	return l
}

// works records that the model answered an attempt that tested whether the limit is over.
func (a *account) works() error {
	if a.limit().Times == 0 {
		return nil
	}
	return a.record(run.Record{Type: run.Freed, Account: a.name})
}
