package proc_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"cmux/agents/platform/proc"
)

func eventually(t *testing.T, what string, fact func() bool) {
	t.Helper()
	deadline := time.After(30 * time.Second)
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !fact() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("never came true: %s", what)
		}
	}
}

// TestMain lets the test binary run as an owner that starts a program and is killed.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "owner" {
		s, err := proc.NewSpawner()
		if err != nil {
			panic(err)
		}
		cmd := exec.Command("sleep", "1000")
		cmd.Env = append(os.Environ(), os.Args[2])
		p, err := s.Start(cmd, proc.Mark(os.Args[2]), nil)
		if err != nil {
			panic(err)
		}
		fmt.Println(p.PID)
		<-p.Exited()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func spawner(t testing.TB) *proc.Spawner {
	t.Helper()
	s, err := proc.NewSpawner()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func mark(t testing.TB) proc.Mark {
	return proc.Attempt(fmt.Sprintf("test-%d-%d", os.Getpid(), time.Now().UnixNano()), t.Name(), 1)
}

func shell(script string, m proc.Mark) *exec.Cmd {
	cmd := exec.Command("/bin/sh", "-c", script)
	cmd.Env = append(os.Environ(), string(m))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return cmd
}

func TestIdentity(t *testing.T) {
	self, err := proc.Self()
	if err != nil || self.PID != os.Getpid() || self.Start == 0 || !self.Alive() {
		t.Errorf("self: %+v, %v", self, err)
	}
	if (proc.Identity{PID: self.PID, Start: self.Start + 1}).Alive() {
		t.Error("another process of the same pid counts as alive")
	}
	cmd := exec.Command("true")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	start, err := proc.StartTime(cmd.Process.Pid)
	if err != nil || start < self.Start {
		t.Errorf("child started at %d, parent at %d: %v", start, self.Start, err)
	}
	cmd.Wait()
	if _, err := proc.StartTime(cmd.Process.Pid); !errors.Is(err, proc.ErrGone) {
		t.Errorf("after the end: %v", err)
	}
}

func TestExit(t *testing.T) {
	s := spawner(t)
	for script, want := range map[string]string{"exit 0": "exit 0", "exit 99": "exit 99", "kill -9 $$": "signal 9 (killed)"} {
		if _, err := s.Start(shell(script, mark(t)), mark(t), nil); err == nil {
			t.Fatal("a program without its mark was started")
		}
		m := mark(t)
		p, err := s.Start(shell(script, m), m, nil)
		if err != nil {
			t.Fatal(err)
		}
		<-p.Exited()
		if got := p.Exit().String(); got != want {
			t.Errorf("%s: %s", script, got)
		}
		if left, err := p.Survivors(); err != nil || len(left) > 0 {
			t.Errorf("%s: left %v, %v", script, left, err)
		}
	}
	m := mark(t)
	cmd := shell("", m)
	cmd.Path = "/no/such/program"
	if _, err := s.Start(cmd, m, nil); err == nil {
		t.Error("a missing program was started")
	}
}

// All processes of a program are found and ended, however they hide, and no others.
func TestEnd(t *testing.T) {
	for name, script := range map[string]string{
		"child":           "sleep 1000 & sleep 1000 & echo up; exit 0",
		"own session":     "setsid sleep 1000 & echo up; exit 0",
		"orphan":          "(setsid sh -c 'sleep 1000 & sleep 1000' &); echo up; exit 0",
		"no environment":  "env -i sleep 1000 & echo up; exit 0",
		"stopped":         "sleep 1000 & kill -STOP $!; echo up; exit 0",
		"ignores TERM":    "sh -c 'trap \"\" TERM; echo up; while :; do sleep 0.1; done' & exit 0",
		"still running":   "sleep 1000 & echo up; wait",
		"starts others":   "sh -c 'trap \"setsid sleep 1000 & exit\" TERM; echo up; while :; do sleep 0.1; done' & exit 0",
		"own environment": "CMUX_ATTEMPT=other sleep 1000 & echo up; exit 0",
	} {
		t.Run(name, func(t *testing.T) {
			s, m := spawner(t), mark(t)
			bystander, other := shell("exec sleep 1000", mark(t)), proc.Identity{}
			if err := bystander.Start(); err != nil {
				t.Fatal(err)
			}
			defer func() { bystander.Process.Kill(); bystander.Wait() }()
			other.PID = bystander.Process.Pid
			other.Start, _ = proc.StartTime(other.PID)

			r, w, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			cmd := shell(script, m)
			cmd.Stdout = w
			p, err := s.Start(cmd, m, nil)
			w.Close()
			if err != nil {
				t.Fatal(err)
			}
			if _, err := r.Read(make([]byte, 3)); err != nil {
				t.Fatal(err)
			}
			if name != "still running" {
				<-p.Exited()
			}
			if left, err := p.Survivors(); err != nil || len(left) == 0 {
				t.Errorf("survivors %v, %v", left, err)
			}
			ended, err := p.End(t.Context(), 200*time.Millisecond)
			if err != nil || len(ended) == 0 {
				t.Errorf("ended %v, %v", ended, err)
			}
			<-p.Exited()
			for _, q := range ended {
				if q.Alive() {
					t.Errorf("%v is alive", q)
				}
			}
			if left, err := p.Survivors(); err != nil || len(left) > 0 {
				t.Errorf("left %v, %v", left, err)
			}
			if !other.Alive() {
				t.Error("a bystander was ended")
			}
		})
	}
}

// A context that is over shortens the grace and leaves nothing behind.
func TestEndWithAContextThatIsOver(t *testing.T) {
	s, m := spawner(t), mark(t)
	p, err := s.Start(shell("trap '' TERM; while :; do sleep 0.1; done", m), m, nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.End(ctx, time.Hour); err != nil {
		t.Error(err)
	}
	<-p.Exited()
}

func TestOwnerIsKilled(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	m := mark(t)
	owner := exec.Command(self, "owner", string(m))
	out, err := owner.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := owner.Start(); err != nil {
		t.Fatal(err)
	}
	var pid int
	if _, err := fmt.Fscan(out, &pid); err != nil {
		t.Fatal(err)
	}
	if ps, err := proc.Descendants(m); err != nil || len(ps) != 1 || ps[0].PID != pid || !strings.HasPrefix(ps[0].String(), "sleep ") {
		t.Errorf("%v, %v", ps, err)
	}
	owner.Process.Kill()
	owner.Wait()
	diesWithItsOwner(t, m)
	if _, err := proc.End(t.Context(), time.Second, m); err != nil {
		t.Error(err)
	}
	if ps, err := proc.Descendants(m); err != nil || len(ps) > 0 {
		t.Errorf("%v, %v", ps, err)
	}
}

func TestSelfIsNeverEnded(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	m := mark(t)
	cmd := exec.Command(self, "-test.run=^TestEndsOwnMark$", "-test.v")
	cmd.Env = append(os.Environ(), string(m), "PROC_TEST_MARK="+string(m))
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS: TestEndsOwnMark") {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestEndsOwnMark runs in a process that carries the mark itself.
func TestEndsOwnMark(t *testing.T) {
	m := proc.Mark(os.Getenv("PROC_TEST_MARK"))
	if m == "" {
		t.Skip("run by TestSelfIsNeverEnded")
	}
	if ended, err := proc.End(t.Context(), time.Second, m); err != nil || len(ended) > 0 {
		t.Errorf("ended %v, %v", ended, err)
	}
}

func TestContinue(t *testing.T) {
	s, m := spawner(t), mark(t)
	p, err := s.Start(shell("kill -STOP $$", m), m, nil)
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the stopped program goes on to its end", func() bool {
		s.Continue()
		select {
		case <-p.Exited():
			return true
		default:
			return false
		}
	})
}

// Compare with os/exec: the cost of the owner's thread and of the search for survivors.
func BenchmarkStart(b *testing.B) {
	env := append(os.Environ(), string(mark(b)))
	b.Run("by=exec", func(b *testing.B) {
		for b.Loop() {
			cmd := exec.Command("/bin/true")
			cmd.Env = env
			if err := cmd.Run(); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("by=spawner", func(b *testing.B) {
		s := spawner(b)
		m := proc.Mark(env[len(env)-1])
		for b.Loop() {
			cmd := exec.Command("/bin/true")
			cmd.Env = env
			p, err := s.Start(cmd, m, nil)
			if err != nil {
				b.Fatal(err)
			}
			<-p.Exited()
			if _, err := p.End(b.Context(), time.Second); err != nil {
				b.Fatal(err)
			}
		}
	})
}
