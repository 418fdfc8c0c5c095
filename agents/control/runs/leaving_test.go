package runs

import (
	"os"
	"os/exec"
	"runtime"
	"testing"
	"time"

	"cmux/signals"
)

// TestLeaving: that a runner was killed is noticed at once, and who goes before
// it waits for nobody.
func TestLeaving(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the system cannot tell")
	}
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sleep", "1000")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer cmd.Process.Kill()
	var l leaving
	l.watch(t.Context(), nil)
	l.watch(t.Context(), &signals.Holder{PID: cmd.Process.Pid, Host: "elsewhere." + host})
	if l.gone != nil {
		t.Error("a process of another machine is watched")
	}
	for range 2 {
		l.watch(t.Context(), &signals.Holder{PID: cmd.Process.Pid, Host: host})
	}
	select {
	case <-l.gone:
		t.Fatal("it lives")
	default:
	}
	cmd.Process.Kill()
	select {
	case <-l.gone:
	case <-time.After(time.Minute): // ends broken tests only
		t.Error("nothing was heard")
	}
	l.watch(t.Context(), &signals.Holder{PID: os.Getpid(), Host: host})
	l.close()
}
