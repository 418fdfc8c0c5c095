package attempt

import (
	"os"
	"path/filepath"
	"syscall"
	"time"

	"cmux/agents/runs/run"
	"cmux/dag"
)

// A shutdown sends TERM to every process, in any order: a program, a check or
// git may die of it before this process learns that it is to end itself. What
// failed is therefore not judged at once: for a while it may still turn out to
// have been interrupted.

// Doubt is how long the verdict on a failure waits for the signal that would
// explain it.
type Doubt struct {
	Signal time.Duration // a signal ended it, as far as its exit code tells, 3 s
	Other  time.Duration // it may be how a program takes the death of its own child: make ends with 2, 1.5 s
	Ending time.Duration // as Signal, and the machine says that it is about to shut down, 15 s
}

func (d Doubt) withDefaults() Doubt {
	if d == (Doubt{}) {
		return Doubt{Signal: 3 * time.Second, Other: 1500 * time.Millisecond, Ending: 15 * time.Second}
	}
	return d
}

// of is the doubt about an end, and code how what decided it ended; ending
// says that the machine is about to shut down.
func (d Doubt) of(e run.End, code int, ending bool) time.Duration {
	if e.Outcome != dag.Failed {
		return 0
	}
	switch e.Reason {
	case dag.ReasonExit, dag.ReasonChecks, dag.ReasonSetup, dag.ReasonOnComplete, dag.ReasonReported:
	default:
		return 0 // found out by cmux itself: a clock, a budget, what git shows
	}
	switch {
	case ending:
		return d.Ending
	case ofSignal(code):
		return d.Signal
	}
	return d.Other
}

// ofSignal reports whether an exit code is that of a program which one of the
// signals of a shutdown ended, or that of a shell which says so of its child.
// Below zero it is not known how the program ended.
func ofSignal(code int) bool {
	switch syscall.Signal(code - 128) {
	case syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGKILL, syscall.SIGPIPE, syscall.SIGTERM:
		return true
	}
	return code < 0
}

// unrest reports whether others of the run are being ended, as far as can be
// told from here, since a little before the moment.
func (d Doubt) unrest(home Home, since time.Time) bool {
	return !home.RunnerLives() || home.Unrest(since.Add(-d.Signal))
}

// shutsDown reports whether the machine says that it is about to shut down.
// root is where its files are.
func shutsDown(root string) bool {
	// Made by shutdown(8) and by systemd before the processes of users are ended.
	for _, name := range []string{"run/systemd/shutdown/scheduled", "run/nologin"} {
		if _, err := os.Stat(filepath.Join(root, name)); err == nil {
			return true
		}
	}
	return false
}
