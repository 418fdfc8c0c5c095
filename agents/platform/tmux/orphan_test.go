package tmux

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"cmux/agents/platform/proc"
)

// A killed process reads no more, but its client still ends, and so does the server that it
// started.
func TestClientOfAKilledProcess(t *testing.T) {
	s := newServer(t)
	if err := s.writeConfig(); err != nil {
		t.Fatal(err)
	}
	c := &Client{server: s}
	if err := c.start(t.Context()); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- c.cmd.Wait() }()
	t.Cleanup(func() { c.cmd.Process.Kill() })
	// Close what the end of a process closes, before it has read anything.
	c.stdout.Close()
	c.stdin.Close()
	select {
	case <-ended:
	case <-time.After(30 * time.Second):
		t.Error("the client is still there")
	}
	eventually(t, func() error {
		if _, err := s.Exec(t.Context(), "list-sessions"); !errors.Is(err, ErrNoServer) {
			return fmt.Errorf("the server is still there: %v", err)
		}
		return nil
	})
}

// If a client remains that tmux cannot write to, its server is stuck. The next connection
// recognizes and ends that client.
func TestOrphanIsEnded(t *testing.T) {
	for _, how := range []string{"its session ended", "the server was told to end"} {
		t.Run(how, func(t *testing.T) {
			s := newServer(t)
			if err := s.writeConfig(); err != nil {
				t.Fatal(err)
			}
			pid := orphan(t, s)
			eventually(t, func() error {
				out, err := s.Exec(t.Context(), "list-clients", "-F", "#{client_pid}")
				if errors.Is(err, ErrNoServer) && syscall.Kill(pid, 0) != nil {
					pid = orphan(t, s) // tmux may notice at once that it cannot write, and end
				}
				if err == nil && out != fmt.Sprint(pid) {
					err = fmt.Errorf("clients %q, want %d", out, pid)
				}
				return err
			})
			if how == "its session ended" {
				s.Exec(t.Context(), "kill-session", "-a")
				hidden, err := s.Exec(t.Context(), "list-sessions", "-F", "#{session_id}")
				if err != nil {
					t.Fatal(err)
				}
				if _, err := s.Exec(t.Context(), "kill-session", "-t", hidden); err != nil {
					t.Fatal(err)
				}
			} else {
				s.Exec(t.Context(), "kill-server")
			}
			if there, err := s.HasSession(t.Context(), "shop"); there || err != nil {
				t.Errorf("a session is there: %v, %v", there, err)
			}
			orphans, err := s.Orphans()
			if err != nil {
				t.Fatal(err)
			}
			i := slices.IndexFunc(orphans, func(p proc.Process) bool { return p.PID == pid })
			if i < 0 {
				t.Fatalf("%d is not among the orphans %v", pid, orphans)
			}
			c := connect(t, s, nil)
			session(t, c, cat("/tmp"))
			if there, err := s.HasSession(t.Context(), "shop"); !there || err != nil {
				t.Errorf("the session is there: %v, %v", there, err)
			}
			if orphans[i].Alive() {
				t.Errorf("the orphan %v is still there", orphans[i])
			}
		})
	}
}

// The clients of living processes are not orphans.
func TestLivingClientIsNoOrphan(t *testing.T) {
	s := newServer(t)
	c := connect(t, s, nil)
	orphans, err := s.Orphans()
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range orphans {
		if o.PID == c.cmd.Process.Pid {
			t.Errorf("%v is an orphan", o)
		}
	}
	connect(t, s, nil)
	run(t, c, "list-sessions")
}

// orphan starts a control client that tmux cannot write to, from a shell that then ends, as
// an older cmux left it when it was killed.
func orphan(t *testing.T, s Server) (pid int) {
	t.Helper()
	control, err := s.control(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	// This shell's end orphans the client; the name that control chose has this process's
	// time, which is not its parent.
	sh := exec.Command("sh", append([]string{"-c", `"$@" <&3 >&4 3<&- 4>&- & echo $!`, "sh"}, control.Args...)...)
	sh.Env, sh.Dir = control.Env, "/"
	sh.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	inR, inW, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	outR, outW, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	sh.ExtraFiles = []*os.File{inR, outW}
	outR.Close()
	inW.Close()
	var said strings.Builder
	told, tell, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	sh.Stdout = tell
	if err := sh.Run(); err != nil {
		t.Fatal(err)
	}
	inR.Close()
	outW.Close()
	tell.Close()
	told.SetReadDeadline(time.Now().Add(30 * time.Second))
	b := make([]byte, 32)
	n, err := told.Read(b)
	told.Close()
	said.Write(b[:n])
	if _, serr := fmt.Sscan(said.String(), &pid); err != nil || serr != nil {
		t.Fatalf("the client's pid: %q, %v, %v", said.String(), err, serr)
	}
	t.Cleanup(func() { syscall.Kill(pid, syscall.SIGKILL) })
	return pid
}
