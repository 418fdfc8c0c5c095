package attempt

import (
	"context"
	"time"

	"cmux/agents/kinds/news"
	"cmux/agents/runs/attempt/verdict"
	"cmux/agents/runs/conversation"
	"cmux/dag"
)

// serve answers messages and watches the timers until ch is closed, ready receives or alarm
// fires. It returns every event that ends an attempt from outside.
func (a *attempt) serve(ch <-chan struct{}, alarm <-chan time.Time, ready func() bool) error {
	for {
		if err := a.interrupted(); err != nil {
			return err // before anything else that is ready
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
		case <-a.fenceEar.Came():
			err = tellRefused(a)
		case <-a.meter.due():
			err = a.meter.flush()
		case <-a.clocks.C():
			for _, c := range a.clocks.due(time.Now()) {
				if err = a.feed(conversation.Rang{Clock: c}); err != nil {
					break
				}
			}
		case <-a.probing(a.limits.Retry):
			if !a.job.Home.RunnerLives() {
				err = a.feed(conversation.NoRunner{})
			}
		case <-a.concluding():
			err = a.feed(nil) // finds callers that have gone
		}
		if err != nil {
			return err
		}
	}
}

// takeEnd handles the end of the program. A message about it may come at the same time:
// that is handled first.
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

// during runs f, which must end when its context does, and answers messages meanwhile.
// failure is f's error. err is what came from outside; it ends f first.
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

// tell is Stage.Tell.
func (a *attempt) tell(ctx context.Context, events ...news.Event) error {
	return a.hand(ctx, func() error {
		a.progress.sign()
		return a.reactAll(events, 0)
	})
}

// mayType is Stage.MayType: the conversation decides.
func (a *attempt) mayType(ctx context.Context, s news.Screen) (bool, error) {
	may := make(chan bool, 1)
	err := a.hand(ctx, func() error {
		a.goAhead = false
		err := a.feed(conversation.Did{Event: s})
		may <- a.goAhead
		return err
	})
	if err != nil {
		return false, err
	}
	return <-may, nil
}
