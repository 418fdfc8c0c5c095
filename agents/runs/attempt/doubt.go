package attempt

import (
	"os"
	"path/filepath"
	"syscall"
	"time"

	"cmux/agents/runs/run"
	"cmux/dag"
)

// A shutdown sends TERM to all processes, in any order: a program, a check or git may end
// before this process gets its own signal. So cmux does not judge a failure at once: for a
// while it waits for a signal that would explain it.

// Doubt is how long the verdict on a failure waits for a signal that would explain it.
type Doubt struct {
	Signal time.Duration // its exit code says that a signal ended it, 3 s
	Other  time.Duration // it may have ended because its own child was ended (make ends with 2), 1.5 s
	Ending time.Duration // as Signal, if the machine is about to shut down, 15 s
}

func (d Doubt) withDefaults() Doubt {
	if d == (Doubt{}) {
		return Doubt{Signal: 3 * time.Second, Other: 1500 * time.Millisecond, Ending: 15 * time.Second}
	}
	return d
}

// of returns how long to doubt an end. code is the exit code that decided it; ending: the
// machine is about to shut down.
func (d Doubt) of(e run.End, code int, ending bool) time.Duration {
	if e.Outcome != dag.Failed {
		return 0
	}
	switch e.Reason {
	case dag.ReasonExit, dag.ReasonChecks, dag.ReasonSetup, dag.ReasonOnComplete, dag.ReasonReported:
	default:
		return 0 // decided by cmux itself: a timer, a budget, the state of git
	}
	switch {
	case ending:
		return d.Ending
	case ofSignal(code):
		return d.Signal
	}
	return d.Other
}

// ofSignal reports whether an exit code is that of a program ended by a signal of a
// shutdown, or of a shell that reports this of its child. Below zero: unknown.
func ofSignal(code int) bool {
	switch syscall.Signal(code - 128) {
	case syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGKILL, syscall.SIGPIPE, syscall.SIGTERM:
		return true
	}
	return code < 0
}

// unrest reports whether other processes of the run have been ended since shortly before
// the time.
func (d Doubt) unrest(home Home, since time.Time) bool {
	return !home.RunnerLives() || home.Unrest(since.Add(-d.Signal))
}

// shutsDown reports whether the machine is about to shut down. root is the root of its
// files.
func shutsDown(root string) bool {
	// shutdown(8) and systemd create these before they end the users' processes.
	for _, name := range []string{"run/systemd/shutdown/scheduled", "run/nologin"} {
		if _, err := os.Stat(filepath.Join(root, name)); err == nil {
			return true
		}
	}
	return false
}
