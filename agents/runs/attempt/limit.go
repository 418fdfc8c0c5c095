package attempt

import (
	"time"

	"cmux/agents/kinds/news"
	"cmux/agents/records/event"
	"cmux/agents/runs/run"
	"cmux/dag"
)

// account is the account of the attempt's agent, whose limit all attempts share.
type account struct {
	*reporter
	name   string
	home   Home
	limits Limits
}

// limited records that the account met its limit, and returns until when it lasts.
func (a *account) limited(e news.LimitMet) (until time.Time, err error) {
	until = a.limits.lasts(e.Until, a.limit(), time.Now())
	a.keep(event.Event{Kind: event.Limit, Text: e.Text, Until: until})
	return until, a.record(run.Record{Type: run.Limited, Account: a.name, Until: until, Detail: e.Text})
}

// maxWrongEnds is how often in a row a limit may last longer than was stated
// before its stated end is no longer relied on alone.
const maxWrongEnds = 3

// lasts is until when an account is taken to be limited that met a limit now,
// whose end was stated or is zero, and whose limit was known as l before. Where
// nothing is stated, or what is stated was wrong again and again, it is tried
// after a while that grows each time that the limit is met again.
func (p Limits) lasts(stated time.Time, l run.Limit, now time.Time) time.Time {
	switch {
	case stated.IsZero():
		return p.tryAgain(l, now)
	case l.Times > maxWrongEnds:
		return dag.LaterEnd(p.tryAgain(l, now), stated)
	}
	return stated
}

// tryAgain is when an account is tried again that met a limit now and whose
// limit was known as l before. Those that meet it together wake together.
func (p Limits) tryAgain(l run.Limit, now time.Time) time.Time {
	if l.On(now) && !l.Until.IsZero() {
		return l.Until
	}
	return now.Add(min(p.Pause<<min(l.Times, 10), maxPause))
}

// limit is the account's limit as recorded. What cannot be read is taken for none:
// the account itself will say.
func (a *account) limit() run.Limit {
	l, err := a.home.Limit(a.name)
	if err != nil {
		a.note("limits are not known: %v", err)
	}
	return l
}

// works records that the model answered an attempt that was to find out whether the
// limit of its account is over.
func (a *account) works() error {
	if a.limit().Times == 0 {
		return nil
	}
	return a.record(run.Record{Type: run.Freed, Account: a.name})
}
