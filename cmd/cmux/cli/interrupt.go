package cli

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"cmux/agents/control/commands"
)

// Interruption returns the error to print for a command that a signal ended:
// "interrupted", and any other error that the command found. It drops the place
// where the command noticed the signal.
func Interruption(ctx context.Context, err error) error {
	if err == nil || errors.Is(err, commands.ErrInterrupted) || !signalled(ctx) {
		return err
	}
	found, met := without(err)
	if !met {
		return err
	}
	return errors.Join(append([]error{commands.ErrInterrupted}, found...)...)
}

// ByInterrupt reports whether err is no more than that a signal asked the
// command to end, and nobody has said yet what that left.
func ByInterrupt(ctx context.Context, err error) bool {
	if err == nil || errors.Is(err, commands.ErrInterrupted) || !signalled(ctx) {
		return false
	}
	found, met := without(err)
	return met && len(found) == 0
}

// signalled reports whether a signal asked the command of this context to end.
func signalled(ctx context.Context) bool {
	return ctx.Err() != nil && errors.Is(context.Cause(ctx), commands.ErrInterrupted)
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

// OwnSignals marks the commands that handle signals themselves.
const OwnSignals = "own signals"

// untilSignal is ctx until a signal asks this process to end.
func untilSignal(ctx context.Context) context.Context {
	ctx, cancel := context.WithCancelCause(ctx)
	ch := make(chan os.Signal, 1)
	signal.Notify(ch, endSignals()...)
	go func() { // ends with the first signal or with the process
		<-ch
		// Before anybody acts on the first one: a second ends the process at once,
		// and SIGQUIT without a word about what its goroutines do.
		again := make(chan os.Signal, 1)
		signal.Notify(again, syscall.SIGQUIT)
		signal.Stop(ch)
		cancel(commands.ErrInterrupted)
		<-again
		os.Exit(128 + int(syscall.SIGQUIT))
	}()
	return ctx
}

// endSignals are the signals that end a command in order. What the caller has
// it ignore stays ignored: nohup, and a shell's & where there is no job control.
func endSignals() []os.Signal {
	all := []os.Signal{syscall.SIGTERM}
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGQUIT, syscall.SIGHUP} {
		if !signal.Ignored(s) {
			all = append(all, s)
		}
	}
	return all
}
