// Package stdiotest runs one node of a run with its real wrapper, for tests of
// the kinds of agent that package stdio serves.
package stdiotest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"

	"cmux/agents/agent"
	"cmux/agents/attempt"
	"cmux/agents/event"
	"cmux/agents/mcp"
	"cmux/agents/proc"
	"cmux/agents/run"
	"cmux/agents/seal/sealtest"
	"cmux/agents/wrapper"
	"cmux/dag"
)

// Main lets the test binary be what the released one is: the wrapper, and the
// commands that agents call. It returns when it is called for neither.
func Main(kinds ...agent.Kind) {
	if len(os.Args) < 2 {
		return
	}
	switch os.Args[1] {
	case "exec":
		var n int
		fmt.Sscan(os.Args[4], &n)
		os.Exit(wrapper.Main(context.Background(), wrapper.Options{
			RunDir: os.Args[2], Node: os.Args[3], Attempt: n, Kinds: agent.NewKinds(kinds...),
			Limits: attempt.Limits{Grace: 2 * time.Second, Retry: 20 * time.Millisecond, Pause: 10 * time.Millisecond},
		}))
	case "done":
		exit(wrapper.Done(context.Background(), os.Getenv, os.Args[len(os.Args)-1]))
	case "mcp":
		exit(mcp.Serve(context.Background(), os.Getenv, os.Stdin, os.Stdout, "test"))
	case "hook":
		out, code, err := wrapper.Hook(context.Background(), os.Getenv, os.Args[2], os.Stdin)
		fmt.Print(out)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		os.Exit(code)
	case "blocked":
		exit(wrapper.Blocked(context.Background(), os.Getenv, os.Args[len(os.Args)-1]))
	}
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// patience ends broken tests only.
const patience = 2 * time.Minute

// Fixture is a run of one node in a repository of its own.
type Fixture struct {
	t    testing.TB
	Env  []string
	Root string // of the project
	Tree string // the node's worktree, when it has one
	Run  *run.Run
	Node *dag.Node
	Spec *run.Spec

	mu  sync.Mutex
	out bytes.Buffer // what the wrapper printed, or the pane shows
	tty *os.File     // where a person types
}

// Node is a build node of the kind.
func Node(kind, task string, change func(*dag.Node)) dag.Node {
	n := dag.Node{
		Name: "a", Agent: kind, Role: dag.RoleBuild, Branch: "work/a", Task: task,
		When: dag.AllSuccess, OnLost: dag.Redo, Account: kind,
		VerifyAttempts: 3, VerifyTimeout: dag.Duration(time.Minute),
	}
	if change != nil {
		change(&n)
	}
	return n
}

// New makes a repository in base, with a worktree when the node has one, and a
// run of it. env is the environment of start.
func New(t testing.TB, base string, n dag.Node, env []string) *Fixture {
	t.Helper()
	base, err := filepath.EvalSymlinks(base)
	if err != nil {
		t.Fatal(err)
	}
	env = append(env[:len(env):len(env)], sealtest.Env())
	f := &Fixture{t: t, Env: env, Root: filepath.Join(base, "project"), Tree: filepath.Join(base, "s-a")}
	if err := os.MkdirAll(run.SignalsDir(f.Root), 0o755); err != nil {
		t.Fatal(err)
	}
	f.Git(f.Root, "init", "-q", "-b", "main")
	for name, content := range map[string]string{"README": "hello\n", ".gitignore": ".cmux/\n"} {
		if err := os.WriteFile(filepath.Join(f.Root, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	f.Git(f.Root, "add", ".")
	f.Git(f.Root, "commit", "-q", "-m", "base")
	start := f.Git(f.Root, "rev-parse", "HEAD")
	place := run.Place{Dir: f.Root, Commit: start}
	if n.HasTree() {
		f.Git(f.Root, "worktree", "add", "-q", "-b", n.Branch, f.Tree, start)
		place = run.Place{Dir: f.Tree, Tree: f.Tree, Branch: n.Branch, Commit: start}
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
	plan := run.Plan{ID: run.NewID(time.Now()), Root: f.Root, Headless: true, Base: start, Graph: graph}
	if f.Run, err = run.Create(plan, nil, env, self); err != nil {
		t.Fatal(err)
	}
	f.Node = &graph.Nodes[0]
	f.Spec = &run.Spec{Node: n.Name, Attempt: 1, Token: "secret", Headless: true, Place: place}
	f.Append(run.Record{Type: run.Started, Node: n.Name, Attempt: 1, Place: &place})
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("shown:\n%s\nlog:\n%s", f.Shown(), f.Log())
			for _, r := range f.Records() {
				b, _ := json.Marshal(r)
				t.Logf("record %s", b)
			}
			files, _ := filepath.Glob(filepath.Join(f.Run.NodeDir(n.Name), "stderr-*"))
			for _, name := range files {
				b, _ := os.ReadFile(name)
				t.Logf("%s:\n%s", filepath.Base(name), b)
			}
		}
	})
	return f
}

// Again makes the next attempt of the node, which goes on with a conversation.
func (f *Fixture) Again(conversation string) {
	f.t.Helper()
	f.Spec.Attempt++
	f.Spec.Conversation = conversation
	f.Append(run.Record{Type: run.Vanished, Node: f.Node.Name, Attempt: f.Spec.Attempt - 1, How: run.HowLost},
		run.Record{Type: run.Started, Node: f.Node.Name, Attempt: f.Spec.Attempt, Place: &f.Spec.Place})
	n := f.Recorded()
	f.Spec.Used, f.Spec.Counted = n.Used, n.UsedIn(conversation)
}

// Recorded is the fold of what is recorded of the node.
func (f *Fixture) Recorded() *run.Node {
	f.t.Helper()
	h := run.NewHistory(f.Run.Plan.Graph)
	if _, err := f.Run.Replay(h, 0, nil); err != nil {
		f.t.Fatal(err)
	}
	return &h.Nodes[h.Graph.Index(f.Node.Name)]
}

// Start starts the wrapper headless.
func (f *Fixture) Start() (cmd *exec.Cmd, wait func() int) { return f.start(nil) }

// StartInPane starts the wrapper on a terminal, where Type types.
func (f *Fixture) StartInPane() (cmd *exec.Cmd, wait func() int) {
	f.t.Helper()
	ptmx, tty, err := pty.Open()
	if err != nil {
		f.t.Fatal(err)
	}
	f.tty, f.Spec.Headless = ptmx, false
	shown := make(chan struct{})
	go func() { defer close(shown); io.Copy(&locked{f}, ptmx) }()
	f.t.Cleanup(func() { tty.Close(); ptmx.Close(); <-shown })
	return f.start(tty)
}

type locked struct{ f *Fixture }

func (l *locked) Write(p []byte) (int, error) {
	l.f.mu.Lock()
	defer l.f.mu.Unlock()
	return l.f.out.Write(p)
}

func (f *Fixture) start(tty *os.File) (cmd *exec.Cmd, wait func() int) {
	f.t.Helper()
	if err := f.Run.WriteSpec(f.Spec); err != nil {
		f.t.Fatal(err)
	}
	cmd = exec.Command(f.Run.Binary(), "exec", f.Run.Dir, f.Node.Name, fmt.Sprint(f.Spec.Attempt))
	cmd.Env, cmd.Dir = append(f.Env[:len(f.Env):len(f.Env)], "TERM=xterm"), f.Spec.Place.Dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if tty != nil {
		cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, tty, tty
		cmd.SysProcAttr.Setctty = true
	} else {
		cmd.Stdout, cmd.Stderr = &locked{f}, &locked{f}
	}
	if err := cmd.Start(); err != nil {
		f.t.Fatal(err)
	}
	waited := make(chan struct{})
	go func() { defer close(waited); cmd.Wait() }()
	f.t.Cleanup(func() {
		cmd.Process.Kill()
		// What holds the other end of its output open would hold Wait.
		for n := 1; n <= f.Spec.Attempt; n++ {
			proc.End(context.Background(), time.Second, proc.Attempt(f.Run.Plan.ID, f.Spec.Node, n))
		}
		<-waited
	})
	return cmd, func() int {
		f.t.Helper()
		select {
		case <-waited:
		case <-time.After(patience):
			f.t.Fatal("the wrapper does not end")
		}
		return cmd.ProcessState.ExitCode()
	}
}

// Type types in the pane.
func (f *Fixture) Type(keys string) {
	f.t.Helper()
	if _, err := io.WriteString(f.tty, keys); err != nil {
		f.t.Fatal(err)
	}
}

// Shown is what the wrapper printed, or what the pane shows.
func (f *Fixture) Shown() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.out.String()
}

// Append appends records of the run.
func (f *Fixture) Append(recs ...run.Record) {
	f.t.Helper()
	book, err := f.Run.OpenBook()
	if err != nil {
		f.t.Fatal(err)
	}
	defer book.Close()
	if err := book.Append(context.Background(), recs...); err != nil {
		f.t.Fatal(err)
	}
}

// Eventually waits for a fact.
func (f *Fixture) Eventually(what string, fact func() bool) {
	f.t.Helper()
	deadline := time.After(patience)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !fact() {
		select {
		case <-tick.C:
		case <-deadline:
			f.t.Fatalf("never came true: %s", what)
		}
	}
}

// Git runs git in dir and returns what it printed.
func (f *Fixture) Git(dir string, args ...string) string {
	f.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = dir, f.Env
	out, err := cmd.CombinedOutput()
	if err != nil {
		f.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// Log is the node's log.
func (f *Fixture) Log() string {
	b, _ := os.ReadFile(f.Run.Log(f.Node.Name))
	return string(b)
}

// Events are the node's events so far, of a kind, or all.
func (f *Fixture) Events(kind event.Kind) (all []event.Event) {
	f.t.Helper()
	_, err := event.Replay(f.Run.Events(f.Node.Name), 0, func(e event.Event, _ int64) error {
		if kind == "" || e.Kind == kind {
			all = append(all, e)
		}
		return nil
	})
	if err != nil {
		f.t.Fatal(err)
	}
	return all
}

// Records are those of the run so far.
func (f *Fixture) Records() []run.Record {
	b, err := os.ReadFile(f.Run.Records())
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

// Last is the newest record of the type, or nil.
func (f *Fixture) Last(typ run.Type) *run.Record {
	var found *run.Record
	for _, r := range f.Records() {
		if r.Type == typ {
			found = &r
		}
	}
	return found
}

// Ended is the attempt's end, which must be there.
func (f *Fixture) Ended() *run.End {
	f.t.Helper()
	r := f.Last(run.AttemptEnd)
	if r == nil {
		f.t.Fatal("no end is recorded")
	}
	return r.End
}

// Activities are the recorded activities in order, after the setup.
func (f *Fixture) Activities() string {
	names := map[dag.Activity]string{dag.Working: "running", dag.Checking: "checking", dag.NeedsInput: "needs input",
		dag.TakenOver: "taken over", dag.AtLimit: "limited", dag.SettingUp: "setup"}
	var all []string
	for _, r := range f.Records() {
		if r.Type == run.Active {
			all = append(all, names[r.Activity])
		}
	}
	return strings.TrimPrefix(strings.TrimPrefix(strings.Join(all, ", "), "setup, running"), ", ")
}

// Becomes waits until the newest activities are these.
func (f *Fixture) Becomes(activities string) {
	f.t.Helper()
	f.Eventually("it becomes "+activities, func() bool { return strings.HasSuffix(f.Activities(), activities) })
}

// Dial reaches the wrapper.
func (f *Fixture) Dial() *wrapper.Client {
	f.t.Helper()
	var c *wrapper.Client
	f.Eventually("its wrapper answers", func() bool {
		var err error
		c, err = wrapper.Dial(context.Background(), f.Run, f.Node.Name, f.Spec.Attempt)
		return err == nil
	})
	f.t.Cleanup(func() { c.Close() })
	return c
}
