package attempt

import (
	"strings"
	"time"

	"cmux/agents/agent"
	"cmux/agents/event"
	"cmux/agents/prompt"
	"cmux/agents/run"
	"cmux/dag"
)

// accountLimited records that the node's account met its limit, and returns
// until when it lasts.
func (a *attempt) accountLimited(e agent.Event) (until time.Time, err error) {
	until = a.limits.lasts(e.Until, a.accountLimit(), time.Now())
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
	r := *a.job.Run
	if r.Plan.Graph == nil {
		if err := r.LoadGraph(); err != nil {
			a.note("limits are not known: %v", err)
			return run.Limit{}
		}
	}
	h := run.NewHistory(r.Plan.Graph)
	if _, err := r.Replay(h, 0, nil); err != nil {
		a.note("limits are not known: %v", err)
	}
	return h.Limits[a.node.Account]
}

// accountWorks takes in that the model answered: for an attempt that was to find
// out, the limit of its account is over.
func (a *attempt) accountWorks() error {
	if !a.trial {
		return nil
	}
	a.trial = false
	if a.accountLimit().Times == 0 {
		return nil
	}
	return a.record(run.Record{Type: run.Freed, Account: a.node.Account})
}

// awaitAccount waits, before the agent is started, for the end of a limit that
// its account met since the attempt was given its slot.
func (a *attempt) awaitAccount() error {
	a.trial = a.spec.Trial
	for {
		l := a.accountLimit()
		if !l.On(time.Now()) {
			return nil
		}
		if err := a.pause(l.Until, ""); err != nil || a.overridden {
			return err
		}
		if err := a.regain(); err != nil || a.overridden {
			return err
		}
	}
}

// sleep waits for the end of a limit and sends the agent on in the same
// conversation. It costs no retry.
func (a *attempt) sleep() error {
	e := *a.limit
	a.limit, a.turnEnded, a.wentOn, a.trial = nil, false, false, false
	a.openGate()
	// The account first: the slot that this one gives back must not go to
	// another that runs into the same limit.
	until, err := a.accountLimited(e)
	if err != nil {
		return err
	}
	a.stage.Keep(event.Event{Kind: event.Limit, Text: e.Text, Until: until})
	if err := a.pause(until, oneLine(e.Text)); err != nil {
		return err
	}
	if a.hasEnded() || a.taken || a.limit != nil {
		return nil
	}
	// Awake before its time it works already, which says more than any clock.
	a.trial = a.wentOn || a.done != nil
	if a.done != nil {
		if err := a.accountWorks(); err != nil {
			return err
		}
	}
	if err := a.regain(); err != nil || a.hasEnded() || a.taken || a.wentOn || a.done != nil || a.limit != nil || a.overridden {
		return err
	}
	a.turnEnded = false
	return a.handBack(prompt.LimitOver)
}

// pause gives the slot back until the moment has come, or something happens
// that makes the agent go on before.
func (a *attempt) pause(until time.Time, detail string) error {
	if err := a.become(dag.AtLimit, until, detail); err != nil {
		return err
	}
	al := newAlarm(until)
	defer al.stop()
	var ended <-chan struct{}
	if a.agent != nil {
		ended = a.agent.Ended()
	}
	for {
		rang, err := a.serve(ended, al.timer.C, func() bool {
			return a.taken || a.wentOn || a.done != nil || a.overridden || a.limit != nil
		})
		if err != nil || !rang || al.due() {
			return err
		}
	}
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
