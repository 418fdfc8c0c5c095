package wrapper_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"cmux/agents/agent"
	"cmux/agents/attempt"
	"cmux/agents/command"
	"cmux/agents/proc"
	"cmux/agents/run"
	"cmux/agents/scripted"
	"cmux/agents/seal/sealtest"
	"cmux/agents/wrapper"
	"cmux/dag"
	"cmux/signals"
)

// TestMain lets the test binary be what the released one is: the wrapper, and
// the commands that agents call.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "exec":
			var n int
			fmt.Sscan(os.Args[4], &n)
			doubt, err := time.ParseDuration(os.Getenv("TEST_DOUBT"))
			if err != nil {
				doubt = 20 * time.Millisecond
			}
			os.Exit(wrapper.Main(context.Background(), wrapper.Options{
				RunDir: os.Args[2], Node: os.Args[3], Attempt: n,
				Kinds:  agent.NewKinds(command.Kind(), scripted.Kind(true), frontKind()),
				Limits: attempt.Limits{Grace: time.Second, Retry: 20 * time.Millisecond, Pause: 10 * time.Millisecond, Doubt: attempt.Doubt{Signal: doubt, Other: doubt, Ending: doubt}},
			}))
		case "done":
			exit(wrapper.Done(context.Background(), os.Getenv, os.Args[2]))
		case "blocked":
			exit(wrapper.Blocked(context.Background(), os.Getenv, os.Args[2]))
		case "hook":
			out, code, err := wrapper.Hook(context.Background(), os.Getenv, os.Args[2], os.Stdin)
			fmt.Print(out)
			if err != nil {
				fmt.Fprintln(os.Stderr, err)
			}
			os.Exit(code)
		}
	}
	os.Exit(sealtest.Main(m))
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

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

// fixture is a run with one node and the means to start its wrapper.
type fixture struct {
	t    *testing.T
	run  *run.Run
	node *dag.Node
	spec *run.Spec

	doubt time.Duration // about failures; 0: next to none
}

func newFixture(t *testing.T, node dag.Node) *fixture {
	return fixtureIn(t, t.TempDir(), node)
}

func fixtureIn(t *testing.T, root string, node dag.Node) *fixture {
	t.Helper()
	if node.Name == "" {
		node.Name = "a"
	}
	if node.Agent == "" {
		node.Agent = dag.KindCommand
	}
	if node.Role == "" {
		node.Role = dag.RoleReview
	}
	node.When, node.OnLost, node.Account = dag.AllSuccess, dag.Redo, node.Agent
	g, err := (&dag.Graph{Session: "s", Nodes: []dag.Node{node}}).Encode()
	if err != nil {
		t.Fatal(err)
	}
	graph, err := dag.Decode(g)
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(run.SignalsDir(root), 0o755); err != nil {
		t.Fatal(err)
	}
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1"}
	r, err := run.Create(run.Plan{ID: run.NewID(time.Now()), Root: root, Headless: true, Graph: graph}, nil, env, self)
	if err != nil {
		t.Fatal(err)
	}
	f := &fixture{t: t, run: r, node: &graph.Nodes[0]}
	f.attempt(1)
	return f
}

func (f *fixture) attempt(n int) {
	f.t.Helper()
	f.spec = &run.Spec{Node: f.node.Name, Attempt: n, Token: "secret", Headless: true, Place: run.Place{Dir: f.run.Plan.Root}}
	f.write()
}

func (f *fixture) write() {
	f.t.Helper()
	if err := f.run.WriteSpec(f.spec); err != nil {
		f.t.Fatal(err)
	}
}

// start starts the wrapper as a process of its own.
func (f *fixture) start() (cmd *exec.Cmd, out *bytes.Buffer, wait func() int) {
	f.t.Helper()
	self, err := os.Executable()
	if err != nil {
		f.t.Fatal(err)
	}
	out = new(bytes.Buffer)
	cmd = exec.Command(self, "exec", f.run.Dir, f.node.Name, fmt.Sprint(f.spec.Attempt))
	cmd.Stdout, cmd.Stderr = out, out
	cmd.Env = []string{sealtest.Env(), "PATH=" + os.Getenv("PATH"), "TERM=dumb"}
	if f.doubt > 0 {
		cmd.Env = append(cmd.Env, "TEST_DOUBT="+f.doubt.String())
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		f.t.Fatal(err)
	}
	waited := make(chan struct{})
	go func() { defer close(waited); cmd.Wait() }()
	f.t.Cleanup(func() {
		cmd.Process.Kill()
		<-waited
		proc.End(context.Background(), time.Second, proc.Attempt(f.run.Plan.ID, f.spec.Node, f.spec.Attempt))
	})
	return cmd, out, func() int { <-waited; return cmd.ProcessState.ExitCode() }
}

func (f *fixture) records() []run.Record {
	f.t.Helper()
	b, err := os.ReadFile(f.run.Records())
	if err != nil {
		f.t.Fatal(err)
	}
	var all []run.Record
	for line := range bytes.Lines(b) {
		if r, err := run.ParseRecord(bytes.TrimSpace(line)); err == nil {
			all = append(all, *r)
		}
	}
	return all
}

func (f *fixture) last(typ run.Type) *run.Record {
	var found *run.Record
	for _, r := range f.records() {
		if r.Type == typ {
			found = &r
		}
	}
	return found
}

// activities are the recorded activities in order.
func (f *fixture) activities() string {
	names := map[dag.Activity]string{dag.Working: "running", dag.Checking: "checking", dag.NeedsInput: "needs input",
		dag.TakenOver: "taken over", dag.AtLimit: "limited", dag.SettingUp: "setup"}
	var all []string
	for _, r := range f.records() {
		switch r.Type {
		case run.Active:
			all = append(all, names[r.Activity])
		case run.Wants:
			all = append(all, "wants")
		}
	}
	return strings.Join(all, ", ")
}

func (f *fixture) marker() string {
	b, err := os.ReadFile(filepath.Join(f.run.Signals(), f.node.Name+".done"))
	if errors.Is(err, os.ErrNotExist) {
		return "none"
	}
	if err != nil {
		f.t.Fatal(err)
	}
	return strings.TrimSpace(string(b))
}

func (f *fixture) log() string {
	b, _ := os.ReadFile(f.run.Log(f.node.Name))
	return string(b)
}

func (f *fixture) dial() *wrapper.Client {
	f.t.Helper()
	var c *wrapper.Client
	eventually(f.t, "the wrapper listens", func() (ok bool) {
		var err error
		c, err = wrapper.Dial(f.t.Context(), f.run, f.node.Name, f.spec.Attempt)
		return err == nil
	})
	f.t.Cleanup(func() { c.Close() })
	return c
}

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
		began, end := f.last(run.Began), f.last(run.AttemptEnd)
		if began == nil || began.PID == 0 || began.PIDStart == 0 || end == nil || end.Marker == nil || end.Attempt != 1 {
			t.Errorf("%s: records %+v, %+v", task, began, end)
		}
		if !strings.Contains(out.String(), "── a: ") || !strings.Contains(out.String(), f.run.Log("a")) {
			t.Errorf("%s: the last line is missing:\n%s", task, out)
		}
		// A second wrapper for the same attempt finds nothing to do.
		_, _, again := f.start()
		if code := again(); code != 0 || strings.Count(f.log(), "attempt 1") != 1 {
			t.Errorf("%s: run again: exit %d\n%s", task, code, f.log())
		}
		if _, err := os.Stat(f.run.Socket("a")); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: the socket is left: %v", task, err)
		}
	}
}

func TestLockHeldByAnother(t *testing.T) {
	f := newFixture(t, dag.Node{Task: "echo ran"})
	lock, err := signals.TryLock(f.run.NodeLock("a"))
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Unlock()
	_, out, wait := f.start()
	if code := wait(); code != wrapper.ExitElsewhere || f.log() != "" || !strings.Contains(out.String(), fmt.Sprint(os.Getpid())) {
		t.Errorf("exit %d\n%s", code, out)
	}
}

func TestSignals(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGHUP, syscall.SIGTERM, syscall.SIGINT, syscall.SIGQUIT} {
		f := newFixture(t, dag.Node{Task: "echo up; sleep 1000 & sleep 1000"})
		cmd, out, wait := f.start()
		eventually(t, "the program printed", func() bool { return strings.Contains(f.log(), "up\n") })
		cmd.Process.Signal(sig)
		if code := wait(); code != wrapper.ExitInterrupted {
			t.Errorf("%v: exit %d\n%s", sig, code, out)
		}
		if v := f.last(run.Vanished); v == nil || v.How != run.HowInterrupted || f.marker() != "none" {
			t.Errorf("%v: %+v, marker %s", sig, v, f.marker())
		}
		if left, err := proc.Descendants(proc.Attempt(f.run.Plan.ID, "a", 1)); err != nil || len(left) > 0 {
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
		f := newFixture(t, dag.Node{Task: "ulimit -c 0; echo up; while [ ! -e go ]; do sleep 0.01; done; " + c.die})
		f.spec.Headless = false
		f.write()
		if c.marker == "none" {
			f.doubt = 30 * time.Second
		}
		cmd, out, wait := f.start()
		eventually(t, "the program printed", func() bool { return strings.Contains(f.log(), "up") })
		for _, sig := range c.sigs {
			cmd.Process.Signal(sig)
		}
		if err := os.WriteFile(filepath.Join(f.run.Plan.Root, "go"), nil, 0o644); err != nil {
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
		"trap 'exit 1' TERM; echo up; echo $$ > pid; while :; do sleep 0.01; done",
	} {
		f := newFixture(t, dag.Node{Task: task})
		f.doubt = 30 * time.Second
		cmd, out, wait := f.start()
		pid := 0
		eventually(t, "the program printed", func() bool {
			b, _ := os.ReadFile(filepath.Join(f.run.Plan.Root, "pid"))
			fmt.Sscan(string(b), &pid)
			return pid > 0 && strings.Contains(f.log(), "up\n")
		})
		id := proc.Identity{PID: pid}
		id.Start, _ = proc.StartTime(pid)
		syscall.Kill(pid, syscall.SIGTERM)
		eventually(t, "the program is gone", func() bool { return !id.Alive() })
		cmd.Process.Signal(syscall.SIGTERM)
		if code := wait(); code != wrapper.ExitInterrupted || f.marker() != "none" {
			t.Errorf("%s: exit %d, marker %s\n%s", task, code, f.marker(), out)
		}
	}
}

func TestSuspendedProgramIsContinued(t *testing.T) {
	f := newFixture(t, dag.Node{Task: "kill -STOP $$; echo went on"})
	_, _, wait := f.start()
	if code := wait(); code != 0 || !strings.Contains(f.log(), "went on") {
		t.Errorf("exit %d\n%s", code, f.log())
	}
}

// kill -9 of the wrapper takes the program with it; what escaped is ended by
// the redo, and the socket it left is replaced.
func TestKilledWrapper(t *testing.T) {
	f := newFixture(t, dag.Node{Task: "if [ -e again ]; then echo second; exit 0; fi; touch again; setsid sleep 1000 & echo $! > pid; echo up; sleep 1000"})
	cmd, _, wait := f.start()
	c := f.dial()
	eventually(t, "the program printed", func() bool { return strings.Contains(f.log(), "up\n") })
	mark := proc.Attempt(f.run.Plan.ID, "a", 1)
	escaped, err := proc.Descendants(mark)
	if err != nil || len(escaped) < 2 {
		t.Fatalf("%v, %v", escaped, err)
	}
	cmd.Process.Kill()
	wait()
	<-c.Gone()
	if _, held, err := signals.ReadHolder(f.run.NodeLock("a")); held || err != nil {
		t.Fatalf("the lock is held: %v", err)
	}
	eventually(t, "the program died with its wrapper", func() bool {
		ps, err := proc.Descendants(mark)
		return err == nil && !strings.Contains(proc.Names(ps), "sh (") // its own children are without a parent now
	})
	f.attempt(2)
	_, out, wait := f.start()
	if code := wait(); code != 0 || !strings.Contains(f.log(), "second") {
		t.Errorf("exit %d\n%s\n%s", code, out, f.log())
	}
	if ps, err := proc.Descendants(mark); err != nil || len(ps) > 0 {
		t.Errorf("left: %v, %v", ps, err)
	}
}

func TestLongSocketPath(t *testing.T) {
	root := filepath.Join(t.TempDir(), strings.Repeat("a long folder name é/", 9))
	f := fixtureIn(t, root, dag.Node{Name: strings.Repeat("n", 100), Task: "cmux done 'by a long way'; sleep 1000"})
	_, _, wait := f.start()
	c := f.dial()
	if err := c.Ping(t.Context()); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the report is recorded", func() bool { n := f.last(run.Noted); return n != nil && n.Detail == "by a long way" })
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
	c := f.dial()
	ctx := t.Context()
	for what, err := range map[string]error{"answer": c.Answer(ctx, "x"), "release": c.Release(ctx)} {
		if err == nil {
			t.Errorf("%s of a command was accepted", what)
		}
	}
	env := func(token string) func(string) string {
		return func(name string) string {
			return map[string]string{"CMUX_SOCKET": f.run.Socket("a"), "CMUX_TOKEN": token, "CMUX_NODE": "a"}[name]
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
	if code := wait(); code != wrapper.ExitInterrupted || f.last(run.Vanished).How != run.HowStopped {
		t.Errorf("exit %d, %+v", code, f.last(run.Vanished))
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
	c := f.dial()
	dir, err := os.MkdirTemp("/tmp", "s")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := os.Symlink(f.run.NodeDir("a"), filepath.Join(dir, "d")); err != nil {
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
while ! test -e pids; do sleep 0.01; done; echo up; ` + c.rest})
		cmd, out, wait := f.start()
		var ids []proc.Identity
		eventually(t, "its orphan is up", func() bool {
			b, err := os.ReadFile(filepath.Join(f.run.Plan.Root, "pids"))
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
			eventually(t, "it goes on", func() bool { return strings.Contains(f.log(), "up\n") })
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
		if n := f.last(run.Noted); n == nil || !strings.Contains(n.Detail, "left running in the background") {
			t.Errorf("%s: nobody is told: %+v", name, n)
		}
	}
}
