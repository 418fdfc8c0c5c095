package attempt

import (
	"context"
	"errors"
	"time"
)

// loop is the goroutine of Run, with the ways to reach it.
type loop struct {
	ctx       context.Context // of Run
	calls     chan func() error
	interrupt context.CancelFunc // ends the step that runs
	foreign   time.Time          // time of a signal that no person can have typed: no step ran
}

// call makes the goroutine of Run execute f, from within a function of during.
func (l *loop) call(ctx context.Context, f func() error) error {
	done := make(chan error, 1)
	if err := l.hand(ctx, func() error { done <- f(); return nil }); err != nil {
		return err
	}
	return <-done
}

// hand makes the goroutine of Run execute f, whose error ends the attempt.
func (l *loop) hand(ctx context.Context, f func() error) error {
	select {
	case l.calls <- f:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// interrupted returns the error with which the attempt was interrupted; nil: it was not.
func (l *loop) interrupted() error {
	if l.ctx.Err() == nil {
		return nil
	}
	if errors.Is(context.Cause(l.ctx), ErrStopped) {
		return ErrStopped
	}
	return ErrInterrupted
}
