package attempt

import (
	"context"
	"time"

	"cmux/agents/kinds/question"
	"cmux/agents/records/event"
	"cmux/agents/runs/attempt/verdict"
	"cmux/agents/runs/attempt/workspace"
	"cmux/agents/runs/prompt"
	"cmux/agents/runs/run"
	"cmux/dag"
)

// maxDetail bounds what is recorded of an activity.
const maxDetail = verdict.MaxReason + 1<<10

// progress is the recorded activity of an attempt, and the timers that run meanwhile.
type progress struct {
	*reporter
	activity dag.Activity
	detail   string
	until    time.Time
	told     bool               // of an activity
	asks     *question.Question // that a person is to answer now; nil: none
	revives  bool               // its program ended and starts again
	left     *run.Left          // a program that has ended without a report; nil: none has

	budget   *stopwatch    // node.Timeout
	patience time.Duration // node.IdleTimeout
	dir      string        // changes of its files are signs of life too; empty: none
	idle     *time.Timer
	lastSign time.Time // last sign of life other than output
	attended bool      // there is an agent, whose silence counts
	untimed  bool      // a person has decided the node
}

// become records the activity of the attempt and starts or stops its timers. A takeover has
// no timeout.
func (p *progress) become(act dag.Activity, until time.Time, detail string) error {
	counts := act == dag.Working || act == dag.Checking
	p.budget.run(counts && !p.untimed)
	if act == dag.Working {
		p.armIdle()
	} else {
		p.events.Unfinished.Clear() // also of a turn that was broken off
	}
	detail = prompt.Cut(detail, maxDetail)
	if !p.told || act != p.activity || detail != "" {
		p.keep(event.Event{Kind: event.Status, State: act.String(), Text: detail, Until: until})
		p.told = true
	}
	if act == p.activity && act == dag.Working && detail == p.detail {
		return nil // the record Began is enough
	}
	p.activity, p.detail, p.until = act, detail, until
	rec := run.Record{Type: run.Active, Activity: act, Until: until, Detail: detail}
	switch q := p.asks; {
	case q == nil || act != dag.NeedsInput:
	case q.String() == detail, q.Message != "" && len(q.String()) <= maxDetail:
		rec.Question = q
	case q.Message != "": // it is longer than what is recorded of it
		short := question.New(detail)
		short.Message, rec.Question = q.Message, &short
	}
	if p.revives {
		rec.How = run.HowRevived
	}
	if l := p.left; l != nil && act == dag.NeedsInput {
		rec.How, rec.Code = run.HowLeft, l.Exit
	}
	return p.record(rec)
}

// stand stops the timers until the next activity.
func (p *progress) stand() {
	p.budget.run(false)
	p.stopIdle()
}

// decided stops the timers permanently.
func (p *progress) decided() {
	p.untimed = true
	p.stand()
}

// begins records that there is an agent from now on.
func (p *progress) begins() {
	p.attended = true
	p.sign()
	p.armIdle()
}

// sign records a sign of life other than output.
func (p *progress) sign() { p.lastSign = time.Now() }

func (p *progress) armIdle() {
	if p.patience <= 0 || p.untimed || !p.attended {
		return
	}
	p.stopIdle()
	p.sign()
	p.idle = time.NewTimer(p.patience)
}

func (p *progress) stopIdle() {
	if p.idle != nil {
		p.idle.Stop()
		p.idle = nil
	}
}

// quiet fires when a working agent gave no sign of life for a while.
func (p *progress) quiet() <-chan time.Time {
	if p.idle == nil || p.activity != dag.Working {
		return nil
	}
	return p.idle.C
}

// checkIdle, when the idle timer has fired, finds the newest sign of life and continues
// waiting from there.
func (p *progress) checkIdle(ctx context.Context) error {
	d := p.patience
	last := p.lastSign
	if w := p.out.LastWrite(); w.After(last) {
		last = w
	}
	// The search ends at the first newer file, so it is repeated from there.
	for time.Since(last) >= d && p.dir != "" {
		m := workspace.Newest(ctx, p.dir, last)
		if m.IsZero() {
			break
		}
		last = m
	}
	p.lastSign = last
	quiet := time.Since(last)
	if quiet >= d {
		return verdict.Failed(dag.ReasonIdle, "no output, no event and no changed file for %s", d)
	}
	p.idle.Reset(d - quiet)
	return nil
}
