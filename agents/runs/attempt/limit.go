package attempt

import (
	"time"

	"cmux/agents/kinds/news"
	"cmux/agents/records/event"
	"cmux/agents/runs/run"
	"cmux/dag"
)

// accountLimited records that the node's account met its limit, and returns
// until when it lasts.
func (a *attempt) accountLimited(e news.LimitMet) (until time.Time, err error) {
	until = a.limits.lasts(e.Until, a.accountLimit(), time.Now())
	a.stage.Keep(event.Event{Kind: event.Limit, Text: e.Text, Until: until})
	return until, a.record(run.Record{Type: run.Limited, Account: a.node.Account, Until: until, Detail: e.Text})
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

// accountLimit is the limit of the node's account as recorded. What cannot be
// read is taken for none: the account itself will say.
func (a *attempt) accountLimit() run.Limit {
	l, err := a.job.Home.Limit(a.node.Account)
	if err != nil {
		a.note("limits are not known: %v", err)
	}
	return l
}

// accountWorks records that the model answered an attempt that was to find out
// whether the limit of its account is over.
func (a *attempt) accountWorks() error {
	if a.accountLimit().Times == 0 {
		return nil
	}
	return a.record(run.Record{Type: run.Freed, Account: a.node.Account})
}
