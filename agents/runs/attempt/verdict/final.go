package verdict

import (
	"errors"
	"fmt"
	"os/exec"
	"syscall"

	"cmux/agents/runs/run"
	"cmux/dag"
	"cmux/worktree/git"
)

// Final is the end of an attempt, returned as an error.
type Final struct {
	run.End
	Code int // exit code of the program that decided it, if End does not have it
}

func (f *Final) Error() string {
	return fmt.Sprintf("outcome %d, reason %q: %s", f.Outcome, f.Reason, f.Detail)
}

// Failed is the end of an attempt that failed.
func Failed(reason dag.Reason, format string, a ...any) error {
	return &Final{End: run.End{Outcome: dag.Failed, Reason: reason, Detail: fmt.Sprintf(format, a...)}}
}

// FailedBy is Failed for a program that ended with code.
func FailedBy(code int, reason dag.Reason, format string, a ...any) error {
	return &Final{run.End{Outcome: dag.Failed, Reason: reason, Detail: fmt.Sprintf(format, a...)}, code}
}

// CodeOf returns the exit code, as a shell would report it, of the program that err is
// about; 1: none.
func CodeOf(err error) int {
	var (
		exit *exec.ExitError
		git  *git.Error
	)
	switch {
	case errors.As(err, &exit):
		if ws, ok := exit.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
			return 128 + int(ws.Signal())
		}
		return exit.ExitCode()
	case errors.As(err, &git):
		return git.Code
	}
	return 1
}

// MaxReason bounds the agent's text in one field of a record; its log has all of it.
const MaxReason = 4 << 10
