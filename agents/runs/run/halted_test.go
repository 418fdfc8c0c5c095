package run

import (
	"context"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"cmux/agents/testkit/agenttest/until"
	"cmux/signals"
)

// A runner that a signal has stopped holds its lock and does nothing: that is seen.
func TestHalted(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "sleep", "1000")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	here, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	h := signals.Holder{PID: cmd.Process.Pid, Host: here}
	becomes := func(what string, sig os.Signal, want bool) {
		t.Helper()
		if err := cmd.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if !until.True(ctx, func() bool { return halted(h) == want }) {
			t.Errorf("%s: halted is %v", what, !want)
		}
	}
	if halted(h) {
		t.Error("one that works is halted")
	}
	becomes("stopped", syscall.SIGSTOP, true)
	if halted(signals.Holder{PID: h.PID, Host: "another"}) {
		t.Error("a process of another machine is looked at here")
	}
	becomes("continued", syscall.SIGCONT, false)
}
