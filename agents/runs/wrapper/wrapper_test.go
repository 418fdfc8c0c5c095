package wrapper_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"cmux/agents/platform/proc"
	"cmux/agents/runs/attempt"
	"cmux/agents/runs/run"
	"cmux/agents/runs/wrapper"
	"cmux/dag"
	"cmux/signals"
)

func TestEndIsCommitted(t *testing.T) {
	for task, want := range map[string]int{"echo hi": 0, "exit 7": 7, "exit 99": 1} {
		f := newFixture(t, dag.Node{Task: task})
		_, out, wait := f.start()
		if code := wait(); code != want {
			t.Errorf("%s: exit %d, want %d\n%s", task, code, want, out)
		}
		if m := f.marker(); m != fmt.Sprint(want) {
			t.Errorf("%s: marker %s", task, m)
		}
		began, end := f.Last(run.Began), f.Last(run.AttemptEnd)
		if began == nil || began.PID == 0 || began.PIDStart == 0 || end == nil || end.Marker == nil || end.Attempt != 1 {
			t.Errorf("%s: records %+v, %+v", task, began, end)
		}
		if !strings.Contains(out.String(), "── a: ") || !strings.Contains(out.String(), ", log: cmux agents logs a ──") {
			t.Errorf("%s: the last line is missing:\n%s", task, out)
		}
		// A second wrapper for the same attempt finds nothing to do.
		_, _, again := f.start()
		if code := again(); code != 0 || strings.Count(f.Log(), "attempt 1") != 1 {
			t.Errorf("%s: run again: exit %d\n%s", task, code, f.Log())
		}
		if _, err := os.Stat(f.Run.Socket("a")); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: the socket is left: %v", task, err)
		}
	}
}

func TestLockHeldByAnother(t *testing.T) {
	f := newFixture(t, dag.Node{Task: "echo ran"})
	lock, err := signals.TryLock(f.Run.NodeLock("a"))
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Unlock()
	_, out, wait := f.start()
	if code := wait(); code != wrapper.ExitElsewhere || f.Log() != "" || !strings.Contains(out.String(), fmt.Sprint(os.Getpid())) {
		t.Errorf("exit %d\n%s", code, out)
	}
}

// The wrapper of the attempt before has recorded its end and is about to go:
// the next attempt, which is started at once, waits for it.
func TestLockHandedOver(t *testing.T) {
	f := newFixture(t, dag.Node{Task: "echo ran"})
	lock, err := signals.TryLock(f.Run.NodeLock("a"))
	if err != nil {
		t.Fatal(err)
	}
	_, out, wait := f.start()
	time.AfterFunc(300*time.Millisecond, func() { lock.Unlock() })
	if code := wait(); code != 0 || !strings.Contains(f.Log(), "ran") {
		t.Errorf("exit %d\n%s\n%s", code, out, f.Log())
	}
}

func TestSignals(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGHUP, syscall.SIGTERM, syscall.SIGINT, syscall.SIGQUIT} {
		f := newFixture(t, dag.Node{Task: "echo up; sleep 1000 & sleep 1000"})
		cmd, out, wait := f.start()
		f.Eventually("the program printed", func() bool { return strings.Contains(f.Log(), "up\n") })
		cmd.Process.Signal(sig)
		if code := wait(); code != wrapper.ExitInterrupted {
			t.Errorf("%v: exit %d\n%s", sig, code, out)
		}
		if v := f.Last(run.Vanished); v == nil || v.How != run.HowInterrupted || f.marker() != "none" {
			t.Errorf("%v: %+v, marker %s", sig, v, f.marker())
		}
		if left, err := proc.Descendants(proc.Attempt(f.Run.Plan.ID, "a", 1)); err != nil || len(left) > 0 {
			t.Errorf("%v: left %v, %v", sig, left, err)
		}
	}
	// The terminal's own signals do not end the wrapper of a pane, and its
	// children have the default for them: a program that dies of one has ended,
	// unless the wrapper got it as well, as when it is sent to all.
	for _, c := range []struct {
		name, die string
		sigs      []syscall.Signal
		code      int
		marker    string
	}{
		{"all of them, and a failure of its own", "exit 7", []syscall.Signal{syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTSTP, syscall.SIGWINCH}, 7, "7"},
		{"a program ended by INT", "kill -INT $$; sleep 1000", []syscall.Signal{syscall.SIGTSTP, syscall.SIGWINCH}, 130, "130"},
		{"INT to both", "kill -INT $$; sleep 1000", []syscall.Signal{syscall.SIGINT}, wrapper.ExitInterrupted, "none"},
		{"QUIT to both", "kill -QUIT $$; sleep 1000", []syscall.Signal{syscall.SIGQUIT}, wrapper.ExitInterrupted, "none"},
	} {
		f := newFixture(t, dag.Node{Task: "ulimit -c 0; echo up; while [ ! -e go ]; do sleep 0.1; done; " + c.die})
		f.Spec.Headless, f.Spec.Terms.Unattended = false, false
		f.WriteSpec()
		if c.marker == "none" {
			f.Env = append(f.Env, "TEST_DOUBT=30s")
		}
		cmd, out, wait := f.start()
		f.Eventually("the program printed", func() bool { return strings.Contains(f.Log(), "up") })
		for _, sig := range c.sigs {
			cmd.Process.Signal(sig)
		}
		if err := os.WriteFile(filepath.Join(f.Run.Plan.Root, "go"), nil, 0o644); err != nil {
			t.Fatal(err)
		}
		if code := wait(); code != c.code || f.marker() != c.marker {
			t.Errorf("%s: exit %d, marker %s\n%s", c.name, code, f.marker(), out)
		}
	}
}

// A shutdown's TERM reaches the program first: it is no verdict.
func TestProgramDiesBeforeItsWrapper(t *testing.T) {
	for _, task := range []string{
		"echo up; sleep 1000 & echo $! > pid; wait $!",           // a shell that says 143
		"echo up; sleep 1000 & echo $! > pid; wait $! || exit 2", // as make does
		"echo up; echo $$ > pid; exec sleep 1000",                // the signal itself
		"trap 'exit 1' TERM; echo up; echo $$ > pid; while :; do sleep 0.1; done",
	} {
		f := newFixture(t, dag.Node{Task: task})
		f.Env = append(f.Env, "TEST_DOUBT=30s")
		cmd, out, wait := f.start()
		pid := 0
		f.Eventually("the program printed", func() bool {
			b, _ := os.ReadFile(filepath.Join(f.Run.Plan.Root, "pid"))
			fmt.Sscan(string(b), &pid)
			return pid > 0 && strings.Contains(f.Log(), "up\n")
		})
		id := proc.Identity{PID: pid}
		id.Start, _ = proc.StartTime(pid)
		syscall.Kill(pid, syscall.SIGTERM)
		f.Eventually("the program is gone", func() bool { return !id.Alive() })
		cmd.Process.Signal(syscall.SIGTERM)
		if code := wait(); code != wrapper.ExitInterrupted || f.marker() != "none" {
			t.Errorf("%s: exit %d, marker %s\n%s", task, code, f.marker(), out)
		}
	}
}

func TestSuspendedProgramIsContinued(t *testing.T) {
	f := newFixture(t, dag.Node{Task: "kill -STOP $$; echo went on"})
	_, _, wait := f.start()
	if code := wait(); code != 0 || !strings.Contains(f.Log(), "went on") {
		t.Errorf("exit %d\n%s", code, f.Log())
	}
}

// kill -9 of the wrapper takes the program with it; what escaped is ended by
// the redo, and the socket it left is replaced.
func TestKilledWrapper(t *testing.T) {
	f := newFixture(t, dag.Node{Task: "if [ -e again ]; then echo second; exit 0; fi; touch again; setsid sleep 1000 & echo $! > pid; echo up; sleep 1000"})
	cmd, _, wait := f.start()
	c := f.Dial()
	f.Eventually("the program printed", func() bool { return strings.Contains(f.Log(), "up\n") })
	mark := proc.Attempt(f.Run.Plan.ID, "a", 1)
	escaped, err := proc.Descendants(mark)
	if err != nil || len(escaped) < 2 {
		t.Fatalf("%v, %v", escaped, err)
	}
	cmd.Process.Kill()
	wait()
	<-c.Gone()
	if _, held, err := signals.ReadHolder(f.Run.NodeLock("a")); held || err != nil {
		t.Fatalf("the lock is held: %v", err)
	}
	f.Eventually("the program died with its wrapper", func() bool {
		ps, err := proc.Descendants(mark)
		return err == nil && !strings.Contains(proc.Names(ps), "sh (") // its own children are without a parent now
	})
	f.Again("")
	_, out, wait := f.start()
	if code := wait(); code != 0 || !strings.Contains(f.Log(), "second") {
		t.Errorf("exit %d\n%s\n%s", code, out, f.Log())
	}
	if ps, err := proc.Descendants(mark); err != nil || len(ps) > 0 {
		t.Errorf("left: %v, %v", ps, err)
	}
}

func TestLongSocketPath(t *testing.T) {
	root := filepath.Join(t.TempDir(), strings.Repeat("a long folder name é/", 9))
	f := fixtureIn(t, root, dag.Node{Name: strings.Repeat("n", 100), Task: "cmux done 'by a long way'; sleep 1000"})
	_, _, wait := f.start()
	c := f.Dial()
	if err := c.Ping(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.Eventually("the report is recorded", func() bool { n := f.Last(run.Noted); return n != nil && n.Detail == "by a long way" })
	if err := c.Cancel(t.Context()); err != nil {
		t.Fatal(err)
	}
	<-c.Gone()
	if code := wait(); code != 130 {
		t.Errorf("exit %d", code)
	}
}

func TestClientRequests(t *testing.T) {
	f := newFixture(t, dag.Node{Task: "sleep 1000"})
	_, _, wait := f.start()
	c := f.Dial()
	ctx := t.Context()
	for what, err := range map[string]error{"answer": c.Answer(ctx, "x"), "release": c.Release(ctx)} {
		if err == nil {
			t.Errorf("%s of a command was accepted", what)
		}
	}
	env := func(token string) func(string) string {
		return func(name string) string {
			return map[string]string{"CMUX_SOCKET": f.Run.Socket("a"), "CMUX_TOKEN": token, "CMUX_NODE": "a"}[name]
		}
	}
	if err := wrapper.Done(ctx, env("wrong"), "x"); err == nil || !strings.Contains(err.Error(), "token") {
		t.Errorf("a wrong token: %v", err)
	}
	if err := wrapper.Done(ctx, env(""), "x"); err == nil {
		t.Error("no token was accepted")
	}
	if err := wrapper.Done(ctx, env("secret"), "x"); err != nil {
		t.Error(err)
	}
	if _, code, err := wrapper.Hook(ctx, env("secret"), "no-such-event", strings.NewReader("{}")); err == nil || code == 0 {
		t.Errorf("an unknown event: %d, %v", code, err)
	}
	if _, _, err := wrapper.Hook(ctx, env("secret"), "activity", strings.NewReader("not json")); err == nil {
		t.Error("a payload that is not JSON was accepted")
	}
	if _, code, err := wrapper.Hook(ctx, env("secret"), "activity", strings.NewReader("")); err != nil || code != 0 {
		t.Errorf("%d, %v", code, err)
	}
	if err := c.Stop(ctx); err != nil {
		t.Error(err)
	}
	<-c.Gone()
	if code := wait(); code != wrapper.ExitInterrupted || f.Last(run.Vanished).How != run.HowStopped {
		t.Errorf("exit %d, %+v", code, f.Last(run.Vanished))
	}
	if err := wrapper.Done(ctx, env("secret"), "x"); !errors.Is(err, wrapper.ErrGone) {
		t.Errorf("after the end: %v", err)
	}
	if _, code, err := wrapper.Hook(ctx, env("secret"), "PreToolUse", strings.NewReader("{}")); code != 2 || err == nil {
		t.Errorf("a guard without its wrapper: %d, %v", code, err)
	}
}

func TestOutsideANode(t *testing.T) {
	none := func(string) string { return "" }
	if err := wrapper.Done(t.Context(), none, "x"); !errors.Is(err, wrapper.ErrOutside) {
		t.Error(err)
	}
	if _, _, err := wrapper.Hook(t.Context(), none, "activity", strings.NewReader("")); !errors.Is(err, wrapper.ErrOutside) {
		t.Error(err)
	}
	// A headless command has no wrapper; its exit code is its report.
	headless := func(name string) string { return map[string]string{"CMUX_ATTEMPT": "r/a/1"}[name] }
	if err := wrapper.Done(t.Context(), headless, "x"); err != nil {
		t.Error(err)
	}
}

// The protocol itself: any number of requests on one connection, one line each.
func TestProtocol(t *testing.T) {
	f := newFixture(t, dag.Node{Task: "sleep 1000"})
	_, _, wait := f.start()
	c := f.Dial()
	dir, err := os.MkdirTemp("/tmp", "s")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := os.Symlink(f.Run.NodeDir("a"), filepath.Join(dir, "d")); err != nil {
		t.Fatal(err)
	}
	conn := dialUnix(t, filepath.Join(dir, "d", "sock"))
	io.WriteString(conn, `{"op":"ping"}`+"\n"+`{"op":"dance"}`+"\n"+`{"op":"ping"}`+"\n")
	dec := json.NewDecoder(conn)
	var replies [3]attempt.Reply
	for i := range replies {
		if err := dec.Decode(&replies[i]); err != nil {
			t.Fatal(err)
		}
	}
	if replies[0].Error != "" || !strings.Contains(replies[1].Error, "dance") || replies[2].Error != "" {
		t.Errorf("%+v", replies)
	}
	if err := c.Cancel(t.Context()); err != nil {
		t.Error(err)
	}
	if code := wait(); code != 130 {
		t.Errorf("exit %d", code)
	}
}

// What a program left in a session and an environment of its own is ended with
// the attempt, however that ends; nothing else proves whose it is.
func TestOrphansGoWithTheAttempt(t *testing.T) {
	for name, c := range map[string]struct {
		rest string
		code int
	}{
		"done":        {"exit 0", 0},
		"failed":      {"exit 5", 5},
		"interrupted": {"sleep 1000", wrapper.ExitInterrupted},
	} {
		f := newFixture(t, dag.Node{Task: `env -i PATH="$PATH" setsid sh -c 'trap "" TERM; sleep 1000 & echo $$ $! > pids.new; mv pids.new pids; wait' < /dev/null > /dev/null 2>&1 &
while ! test -e pids; do sleep 0.1; done; echo up; ` + c.rest})
		cmd, out, wait := f.start()
		var ids []proc.Identity
		f.Eventually("its orphan is up", func() bool {
			b, err := os.ReadFile(filepath.Join(f.Run.Plan.Root, "pids"))
			if err != nil {
				return false
			}
			for p := range strings.FieldsSeq(string(b)) {
				var id proc.Identity
				fmt.Sscan(p, &id.PID)
				id.Start, _ = proc.StartTime(id.PID)
				ids = append(ids, id)
			}
			return true
		})
		if c.code == wrapper.ExitInterrupted {
			f.Eventually("it goes on", func() bool { return strings.Contains(f.Log(), "up\n") })
			cmd.Process.Signal(syscall.SIGTERM)
		}
		if code := wait(); code != c.code {
			t.Errorf("%s: exit %d\n%s", name, code, out)
		}
		for _, id := range ids {
			if id.Alive() {
				t.Errorf("%s: %d lives\n%s", name, id.PID, out)
				syscall.Kill(id.PID, syscall.SIGKILL)
			}
		}
		if n := f.Last(run.Noted); n == nil || !strings.Contains(n.Detail, "left running in the background") {
			t.Errorf("%s: nobody is told: %+v", name, n)
		}
	}
}
