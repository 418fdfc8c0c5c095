package attempt

import (
	"context"
	"errors"
	"slices"
	"time"

	"cmux/agents/kinds/news"
	"cmux/agents/runs/attempt/verdict"
	"cmux/agents/runs/attempt/workspace"
	"cmux/agents/runs/conversation"
	"cmux/dag"
)

// serve answers messages and watches the clocks until ch is closed, ready holds
// or alarm rings. Everything that ends an attempt from outside comes out of here.
func (a *attempt) serve(ch <-chan struct{}, alarm <-chan time.Time, ready func() bool) error {
	for {
		if err := a.interrupted(); err != nil {
			return err // before all that is ready as well
		}
		if ready != nil && ready() {
			return nil
		}
		var idle <-chan time.Time
		if a.idle != nil && a.activity == dag.Working {
			idle = a.idle.C
		}
		var err error
		select {
		case <-a.ctx.Done():
			return a.interrupted()
		case <-ch:
			return a.interrupted()
		case <-a.exited():
			err = a.takeEnd()
		case m := <-a.job.Inbox:
			err = a.handle(m)
		case f := <-a.calls:
			err = f()
		case <-a.budget.C:
			return verdict.Failed(dag.ReasonTimeout, "ran past its timeout of %s", time.Duration(a.node.Timeout))
		case <-idle:
			err = a.checkIdle()
		case <-alarm:
			return nil
		case <-a.meter.due():
			err = a.recordUse()
		case <-a.clocks.C():
			for _, c := range a.clocks.due(time.Now()) {
				if err = a.feed(conversation.Rang{Clock: c}); err != nil {
					break
				}
			}
		case <-a.probing():
			if !a.job.Home.RunnerLives() {
				err = a.feed(conversation.NoRunner{})
			}
		case <-a.concluding():
			err = a.feed(nil) // which finds out who is gone
		}
		if err != nil {
			return err
		}
	}
}

// exited is closed when the agent's program has ended and the conversation has
// not been told.
func (a *attempt) exited() <-chan struct{} {
	if a.agent == nil || a.Ended {
		return nil
	}
	return a.agent.Ended()
}

func (a *attempt) hasEnded() bool {
	if a.agent == nil {
		return false
	}
	select {
	case <-a.agent.Ended():
		return true
	default:
		return false
	}
}

// takeEnd takes in that the program has ended. An end and a word about it may
// come together: the word is heard first.
func (a *attempt) takeEnd() error {
	if err := a.interrupted(); err != nil {
		return err
	}
	for {
		select {
		case m := <-a.job.Inbox:
			if err := a.handle(m); err != nil {
				return err
			}
			continue
		default:
		}
		a.shells.rest(time.Now())
		return a.feed(conversation.Ended{})
	}
}

// during runs f, which must end when its context does, while messages are
// served, and returns its error as failure. What came from outside is in err; it
// ends f first.
func (a *attempt) during(f func(context.Context) error, also ...*context.CancelFunc) (failure, err error) {
	ctx, cancel := context.WithCancel(a.ctx)
	defer cancel()
	for _, c := range also {
		*c = cancel
		defer func() { *c = nil }()
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		failure = f(ctx)
	}()
	outer := a.interrupt
	a.interrupt = cancel
	err = a.serve(done, nil, nil)
	a.interrupt = outer
	cancel()
	<-done
	return failure, err
}

// call has the goroutine of Run do f, from within what during runs.
func (a *attempt) call(ctx context.Context, f func() error) error {
	done := make(chan error, 1)
	select {
	case a.calls <- func() error { done <- f(); return nil }:
		return <-done
	case <-ctx.Done():
		return ctx.Err()
	}
}

// tell is Stage.Tell.
func (a *attempt) tell(ctx context.Context, events ...news.Event) error {
	f := func() error {
		a.sign()
		return a.reactAll(events, 0)
	}
	select {
	case a.calls <- f:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// mayType is Stage.MayType: the conversation decides.
func (a *attempt) mayType(ctx context.Context, s news.Screen) (bool, error) {
	may := make(chan bool, 1)
	f := func() error {
		a.goAhead = false
		err := a.feed(conversation.Did{Event: s})
		may <- a.goAhead
		return err
	}
	select {
	case a.calls <- f:
		return <-may, nil
	case <-ctx.Done():
		return false, ctx.Err()
	}
}

func (a *attempt) interrupted() error {
	if a.ctx.Err() == nil {
		return nil
	}
	if errors.Is(context.Cause(a.ctx), ErrStopped) {
		return ErrStopped
	}
	return ErrInterrupted
}

// sign notes a sign of life other than output.
func (a *attempt) sign() { a.lastSign = time.Now() }

func (a *attempt) armIdle() {
	d := time.Duration(a.node.IdleTimeout)
	if d <= 0 || a.Overridden || a.agent == nil {
		return
	}
	a.stopIdle()
	a.lastSign = time.Now()
	a.idle = time.NewTimer(d)
}

func (a *attempt) stopIdle() {
	if a.idle != nil {
		a.idle.Stop()
		a.idle = nil
	}
}

// checkIdle looks, when the idle timer has fired, for the newest sign of life,
// and goes on waiting from there.
func (a *attempt) checkIdle() error {
	d := time.Duration(a.node.IdleTimeout)
	last := a.lastSign
	if w := a.out.LastWrite(); w.After(last) {
		last = w
	}
	// The search ends at the first newer file, so it is repeated from there.
	for time.Since(last) >= d && a.tree != nil {
		m := workspace.Newest(a.ctx, a.spec.Place.Dir, last)
		if m.IsZero() {
			break
		}
		last = m
	}
	a.lastSign = last
	quiet := time.Since(last)
	if quiet >= d {
		return verdict.Failed(dag.ReasonIdle, "no output, no event and no changed file for %s", d)
	}
	a.idle.Reset(d - quiet)
	return nil
}

// probing ticks while a slot is waited for, which nobody grants without a
// runner.
func (a *attempt) probing() <-chan time.Time {
	if a.Phase != conversation.Regaining {
		if a.probe != nil {
			a.probe.Stop()
			a.probe = nil
		}
		return nil
	}
	if a.probe == nil {
		a.probe = time.NewTicker(a.limits.Retry)
	}
	return a.probe.C
}

// concluding is closed when the agent has taken in that its report is good.
func (a *attempt) concluding() <-chan struct{} {
	if a.Phase != conversation.Parting {
		return nil
	}
	return a.gone[a.Concluded]
}

// lost are the hooks and calls for whose answer nobody waits any more.
func (a *attempt) lost() (refs []conversation.Ref) {
	for ref, gone := range a.gone {
		select {
		case <-gone:
			refs = append(refs, ref)
			delete(a.gone, ref)
			delete(a.held, ref)
		default:
		}
	}
	slices.Sort(refs)
	return refs
}
