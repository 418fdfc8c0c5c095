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

// Final is the end of an attempt, on its way up as an error.
type Final struct {
	run.End
	Code int // how the program ended that decided it, where End does not say
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

// CodeOf is how the program ended that err tells of, as a shell would say it;
// 1 when it tells of none.
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

// MaxReason bounds what an agent says in one place of the record; its log has
// the whole.
const MaxReason = 4 << 10
