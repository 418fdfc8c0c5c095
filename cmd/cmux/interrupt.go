package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"syscall"

	"cmux/agents/control"
	"cmux/agents/run"
	"cmux/agents/runner"
)

// errNothing is what an interrupt left of a start that had made no run yet.
var errNothing = control.Tag(errors.New("interrupted: nothing was started"), errInterrupted)

// interruption is what a person is told of a command that a signal ended: that
// it was interrupted, and what it found besides. Where in the work the signal
// was met is nothing to them.
func interruption(ctx context.Context, err error) error {
	if err == nil || errors.Is(err, errInterrupted) || !signalled(ctx) {
		return err
	}
	found, met := without(err)
	if !met {
		return err
	}
	return errors.Join(append([]error{errInterrupted}, found...)...)
}

// byInterrupt reports whether err is no more than that a signal asked the
// command to end, and nobody has said yet what that left.
func byInterrupt(ctx context.Context, err error) bool {
	if err == nil || errors.Is(err, errInterrupted) || !signalled(ctx) {
		return false
	}
	found, met := without(err)
	return met && len(found) == 0
}

// signalled reports whether a signal asked the command of this context to end.
func signalled(ctx context.Context) bool {
	return ctx.Err() != nil && errors.Is(context.Cause(ctx), errInterrupted)
}

// without takes from err what follows from an interrupt, and reports whether
// there was any: the end of the context, and of programs that a terminal's ^C
// reaches as well.
func without(err error) (found []error, met bool) {
	if all, ok := err.(interface{ Unwrap() []error }); ok && errors.Join(all.Unwrap()...).Error() == err.Error() {
		for _, e := range all.Unwrap() {
			f, m := without(e)
			found, met = append(found, f...), met || m
		}
		return found, met
	}
	var exit *exec.ExitError
	if errors.Is(err, context.Canceled) || errors.As(err, &exit) && signalledExit(exit) {
		return nil, true
	}
	return []error{err}, false
}

func signalledExit(e *exec.ExitError) bool {
	ws, ok := e.Sys().(syscall.WaitStatus)
	return ok && ws.Signaled()
}

// interruptedStart says what an interrupt left of a start whose run is there,
// after ending what it began. Nobody has seen this run start, so none is left
// at work unseen. A run that was there before and was not gone on with stays as
// it was.
func (d *Deps) interruptedStart(ctx context.Context, r *run.Run, how string) error {
	ctx = context.WithoutCancel(ctx)
	v, err := r.View(ctx, d.Now())
	if err != nil {
		return left(r, "was made", err)
	}
	if v.Holder == nil && how == runner.HowResume {
		return &Hint{Err: errNothing, Try: "cmux agents resume"}
	}
	if v.Holder != nil {
		fmt.Fprintf(d.Err, "interrupted (again: leaves at once): stopping run %s, for at most %s\n", r.Plan.ID, runner.StopPatience)
	}
	ended := control.End(ctx, v, d.Now)
	if v, err = r.View(ctx, d.Now()); err != nil {
		return left(r, "was made", err)
	}
	if v.Holder != nil || len(control.AtWork(v)) > 0 {
		return stillRunning(r, ended)
	}
	return &Hint{Err: left(r, "was made and is stopped", ended), Try: "cmux agents resume, or cmux agents start --new"}
}

// stillRunning says that a run goes on after an interrupt, and why, if err knows.
func stillRunning(r *run.Run, err error) error {
	return &Hint{Err: left(r, "is running", err), Try: "cmux agents stop, which ends it, or cmux agents attach"}
}

// left says what an interrupt left of a run, and why, if err knows.
func left(r *run.Run, what string, err error) error {
	text := fmt.Errorf("interrupted: run %s %s", r.Plan.ID, what)
	if err != nil {
		text = fmt.Errorf("%w: %w", text, err)
	}
	return control.Tag(text, errInterrupted)
}
