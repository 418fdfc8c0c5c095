package attempt_test

import (
	"os/exec"
	"syscall"
	"testing"

	"cmux/agents/platform/proc"
)

// leaveBehind starts a process outside any Spawner, as a killed owner leaves one.
func leaveBehind(t *testing.T, f *fixture, mark proc.Mark) proc.Identity {
	t.Helper()
	cmd := exec.Command("sleep", "1000")
	cmd.Env = append(f.job.Env, string(mark))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() { defer close(done); cmd.Wait() }()
	t.Cleanup(func() { cmd.Process.Kill(); <-done })
	start, err := proc.StartTime(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	return proc.Identity{PID: cmd.Process.Pid, Start: start}
}
