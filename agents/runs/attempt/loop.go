package attempt

import (
	"context"
	"errors"
	"time"
)

// loop is the goroutine of Run, and how others reach it.
type loop struct {
	ctx       context.Context // of Run
	calls     chan func() error
	interrupt context.CancelFunc // ends the step that runs
	foreign   time.Time          // of a signal that nobody can have typed: no step ran
}

// call has the goroutine of Run do f, from within what during runs.
func (l *loop) call(ctx context.Context, f func() error) error {
	done := make(chan error, 1)
	if err := l.hand(ctx, func() error { done <- f(); return nil }); err != nil {
		return err
	}
	return <-done
}

// hand has the goroutine of Run do f, whose error ends the attempt.
func (l *loop) hand(ctx context.Context, f func() error) error {
	select {
	case l.calls <- f:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// interrupted is the error with which the attempt was broken off; nil: it was not.
func (l *loop) interrupted() error {
	if l.ctx.Err() == nil {
		return nil
	}
	if errors.Is(context.Cause(l.ctx), ErrStopped) {
		return ErrStopped
	}
	return ErrInterrupted
}
