package claude_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"cmux/agents/agent"
	"cmux/agents/attempt"
	"cmux/agents/claude"
	"cmux/agents/mcp"
	"cmux/agents/modeltest"
	"cmux/agents/proc"
	"cmux/agents/run"
	"cmux/agents/seal/sealtest"
	"cmux/agents/wrapper"
	"cmux/dag"
)

// TestMain lets the test binary be what the released one is: the wrapper, and
// the commands that agents call.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "exec":
			var n int
			fmt.Sscan(os.Args[4], &n)
			os.Exit(wrapper.Main(context.Background(), wrapper.Options{
				RunDir: os.Args[2], Node: os.Args[3], Attempt: n, Kinds: agent.NewKinds(claude.Kind()),
				Limits: attempt.Limits{Grace: 10 * time.Second, Retry: 20 * time.Millisecond, Pause: 10 * time.Millisecond, Settle: settle(), Parting: time.Minute},
			}))
		case "done":
			exit(wrapper.Done(context.Background(), os.Getenv, os.Args[len(os.Args)-1]))
		case "blocked":
			exit(wrapper.Blocked(context.Background(), os.Getenv, os.Args[len(os.Args)-1]))
		case "mcp":
			exit(mcp.Serve(context.Background(), os.Getenv, os.Stdin, os.Stdout, "test"))
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

// settle is how long a test lets background work take; 0: the default.
func settle() time.Duration {
	d, _ := time.ParseDuration(os.Getenv("TEST_SETTLE")) // most set none
	return d
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// patience ends broken tests only.
const patience = 4 * time.Minute

// fixture is a run of one node in a repository of its own, and the means to
// start its wrapper.
type fixture struct {
	t      *testing.T
	server *modeltest.Server
	home   *modeltest.Home
	root   string
	tree   string
	run    *run.Run
	node   *dag.Node
	spec   *run.Spec
	outs   []*bytes.Buffer // of headless wrappers
	tmux   *terminal       // nil: headless
}

// node is a build node whose task marks the script of that name.
func node(script string, change func(*dag.Node)) dag.Node {
	n := dag.Node{
		Name: "a", Agent: claude.Name, Role: dag.RoleBuild, Branch: "work/a", Task: "Do what is to be done. #script:" + script,
		When: dag.AllSuccess, OnLost: dag.Redo, Account: "claude", AutoAccept: true,
		VerifyAttempts: 3, VerifyTimeout: dag.Duration(time.Minute),
	}
	if change != nil {
		change(&n)
	}
	return n
}

func newFixture(t *testing.T, n dag.Node, scripts ...modeltest.Script) *fixture {
	t.Helper()
	f := &fixture{t: t, server: modeltest.New(t, scripts...)}
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	f.root, f.tree = filepath.Join(base, "project"), filepath.Join(base, "s-a")
	if err := os.MkdirAll(f.root, 0o755); err != nil {
		t.Fatal(err)
	}
	f.home = modeltest.Env(t, f.server, f.root)
	f.setenv(sealtest.Env())
	f.git(f.root, "init", "-q", "-b", "main")
	f.write(f.root, "README", "hello\n")
	f.write(f.root, ".gitignore", ".cmux/\n")
	f.git(f.root, "add", ".")
	f.git(f.root, "commit", "-q", "-m", "base")
	start := f.git(f.root, "rev-parse", "HEAD")
	place := run.Place{Dir: f.root, Commit: start}
	if n.HasTree() {
		f.git(f.root, "worktree", "add", "-q", "-b", n.Branch, f.tree, start)
		place = run.Place{Dir: f.tree, Tree: f.tree, Branch: n.Branch, Commit: start}
	}
	g, err := (&dag.Graph{Session: "s", WorktreeBase: "..", Nodes: []dag.Node{n}}).Encode()
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
	if err := os.MkdirAll(run.SignalsDir(f.root), 0o755); err != nil {
		t.Fatal(err)
	}
	plan := run.Plan{ID: run.NewID(time.Now()), Root: f.root, Headless: true, Base: start, Graph: graph}
	if f.run, err = run.Create(plan, nil, f.home.Env, self); err != nil {
		t.Fatal(err)
	}
	f.node = &graph.Nodes[0]
	f.spec = &run.Spec{Node: n.Name, Attempt: 1, Token: "secret", Headless: true, Place: place}
	f.append(run.Record{Type: run.Started, Node: n.Name, Attempt: 1, Place: &place})
	t.Cleanup(func() {
		if t.Failed() {
			for _, out := range f.outs {
				t.Logf("wrapper:\n%s", out) // it has ended: this cleanup comes last
			}
			t.Logf("log:\n%s", f.log())
			for _, r := range f.server.Requests() {
				said := ""
				if texts := r.UserTexts(); len(texts) > 0 {
					said = fmt.Sprintf("%.300q", texts[0])
				}
				t.Logf("request %d: %q turn %d, %d messages: %s", r.Seq, r.Script, r.Turn, len(r.Messages), said)
			}
			for _, r := range f.records() {
				b, _ := json.Marshal(r)
				t.Logf("record %s", b)
			}
		}
	})
	return f
}

// start starts the wrapper headless.
func (f *fixture) start() (wait func() int) {
	f.t.Helper()
	f.writeSpec()
	cmd := exec.Command(f.run.Binary(), "exec", f.run.Dir, f.node.Name, fmt.Sprint(f.spec.Attempt))
	out := new(bytes.Buffer)
	f.outs = append(f.outs, out)
	cmd.Stdout, cmd.Stderr = out, out
	cmd.Env, cmd.Dir = f.home.Env, f.spec.Place.Dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		f.t.Fatal(err)
	}
	waited := make(chan struct{})
	go func() { defer close(waited); cmd.Wait() }()
	f.t.Cleanup(func() {
		cmd.Process.Kill()
		<-waited
		f.endProcesses()
	})
	return func() int {
		f.t.Helper()
		select {
		case <-waited:
		case <-time.After(patience):
			f.t.Fatal("the wrapper does not end")
		}
		return cmd.ProcessState.ExitCode()
	}
}

func (f *fixture) append(recs ...run.Record) {
	f.t.Helper()
	book, err := f.run.OpenBook()
	if err != nil {
		f.t.Fatal(err)
	}
	defer book.Close()
	if err := book.Append(context.Background(), recs...); err != nil {
		f.t.Fatal(err)
	}
}

func (f *fixture) writeSpec() {
	f.t.Helper()
	if err := f.run.WriteSpec(f.spec); err != nil {
		f.t.Fatal(err)
	}
}

func (f *fixture) endProcesses() {
	for n := 1; n <= f.spec.Attempt; n++ {
		proc.End(context.Background(), time.Second, proc.Attempt(f.run.Plan.ID, f.spec.Node, n))
	}
}

func (f *fixture) eventually(what string, fact func() bool) {
	f.t.Helper()
	deadline := time.After(patience)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !fact() {
		select {
		case <-tick.C:
		case <-deadline:
			f.t.Fatalf("never came true: %s", what)
		}
	}
}

func (f *fixture) write(dir, name, content string) {
	f.t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
		f.t.Fatal(err)
	}
}

func (f *fixture) git(dir string, args ...string) string {
	f.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = dir, f.home.Env
	out, err := cmd.CombinedOutput()
	if err != nil {
		f.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func (f *fixture) log() string {
	b, _ := os.ReadFile(f.run.Log(f.node.Name))
	return string(b)
}

func (f *fixture) records() []run.Record {
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

// ended is the attempt's end, which must be there.
func (f *fixture) ended() *run.End {
	f.t.Helper()
	r := f.last(run.AttemptEnd)
	if r == nil {
		f.t.Fatal("no end is recorded")
	}
	return r.End
}

// activities are the recorded activities in order, after the setup.
func (f *fixture) activities() string {
	names := map[dag.Activity]string{dag.Working: "running", dag.Checking: "checking", dag.NeedsInput: "needs input",
		dag.TakenOver: "taken over", dag.AtLimit: "limited", dag.SettingUp: "setup"}
	var all []string
	for _, r := range f.records() {
		if r.Type == run.Active {
			all = append(all, names[r.Activity])
		}
	}
	return strings.TrimPrefix(strings.TrimPrefix(strings.Join(all, ", "), "setup, running"), ", ")
}

func (f *fixture) becomes(activities string) {
	f.t.Helper()
	f.eventually("it becomes "+activities, func() bool { return strings.HasSuffix(f.activities(), activities) })
}

func (f *fixture) dial() *wrapper.Client {
	f.t.Helper()
	var c *wrapper.Client
	f.eventually("its wrapper answers", func() bool {
		var err error
		c, err = wrapper.Dial(f.t.Context(), f.run, f.node.Name, f.spec.Attempt)
		return err == nil
	})
	f.t.Cleanup(func() { c.Close() })
	return c
}
