package attempt

import (
	"context"
	"errors"
	"time"

	"cmux/agents/kinds/news"
	"cmux/agents/runs/attempt/verdict"
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
		case <-a.progress.budget.C:
			return verdict.Failed(dag.ReasonTimeout, "ran past its timeout of %s", time.Duration(a.node.Timeout))
		case <-a.progress.quiet():
			err = a.progress.checkIdle(a.ctx)
		case <-alarm:
			return nil
		case <-a.meter.due():
			err = a.meter.flush()
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
	if a.agent.Agent == nil || a.Ended {
		return nil
	}
	return a.agent.Ended()
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
		a.progress.sign()
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
	return a.callers.gone[a.Concluded]
}
