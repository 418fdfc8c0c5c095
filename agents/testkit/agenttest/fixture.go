package agenttest

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"cmux/agents/platform/proc"
	"cmux/agents/platform/seal/sealtest"
	"cmux/agents/records/event"
	"cmux/agents/runs/owner"
	"cmux/agents/runs/run"
	"cmux/agents/runs/wrapper"
	"cmux/agents/testkit/agenttest/until"
	"cmux/dag"
	"cmux/signals"
)

// Fixture is a run of one node in a project of its own, and the means to start
// its wrapper.
type Fixture struct {
	T    testing.TB
	Env  []string // of start, and of the wrapper
	Root string   // of the project
	Tree string   // the node's worktree, when it has one
	Run  *run.Run
	Node *dag.Node
	Spec *run.Spec

	mu   sync.Mutex
	out  bytes.Buffer // what the wrapper printed, or its terminal shows
	tty  *os.File     // where a person types
	tmux *Pane        // nil: it was never in one

	began int // the attempt that was started last

	// Spare has the wrapper start elsewhere and wait for its Word.
	Spare bool
}

// Node is a build node of the kind.
func Node(kind, task string, change func(*dag.Node)) dag.Node {
	n := dag.Node{
		Name: "a", Agent: kind, Role: dag.RoleBuild, Branch: "work/a", Task: task,
		When: dag.AllSuccess, OnLost: dag.Redo, OnLimit: dag.Wake, Account: kind,
		VerifyAttempts: 3, VerifyTimeout: dag.Duration(time.Minute),
	}
	if change != nil {
		change(&n)
	}
	return n
}

// Project makes the folder of the project below base, for those who must know
// it before New, and returns its real path.
func Project(t testing.TB, base string) string {
	t.Helper()
	base, err := filepath.EvalSymlinks(base)
	if err != nil {
		t.Fatal(err)
	}
	root := filepath.Join(base, "project")
	if err := os.MkdirAll(root, 0o755); err != nil {
		t.Fatal(err)
	}
	return root
}

// New makes a repository in Project of base, with a worktree when the node has
// one, and a run of it. env is the environment of start.
func New(t testing.TB, base string, n dag.Node, env []string) *Fixture {
	t.Helper()
	root := Project(t, base)
	f := &Fixture{T: t, Env: env, Root: root, Tree: filepath.Join(filepath.Dir(root), "s-a")}
	f.Git(f.Root, "init", "-q", "-b", "main")
	f.Write(f.Root, "README", "hello\n")
	f.Write(f.Root, ".gitignore", ".cmux/\n")
	f.Git(f.Root, "add", ".")
	f.Git(f.Root, "commit", "-q", "-m", "base")
	place := run.Place{Dir: f.Root, Commit: f.Git(f.Root, "rev-parse", "HEAD")}
	if n.HasTree() {
		f.Git(f.Root, "worktree", "add", "-q", "-b", n.Branch, f.Tree, place.Commit)
		place.Dir, place.Tree, place.Branch = f.Tree, f.Tree, n.Branch
	}
	f.open(n, place)
	return f
}

// Bare is a run of one node in root, which needs be no repository.
func Bare(t testing.TB, root string, n dag.Node, env []string) *Fixture {
	t.Helper()
	f := &Fixture{T: t, Env: env, Root: root}
	f.open(n, run.Place{Dir: root})
	return f
}

// open makes the run.
func (f *Fixture) open(n dag.Node, place run.Place) {
	f.T.Helper()
	f.Env = append(f.Env[:len(f.Env):len(f.Env)], sealtest.Env())
	if err := os.MkdirAll(run.SignalsDir(f.Root), 0o755); err != nil {
		f.T.Fatal(err)
	}
	g, err := (&dag.Graph{Session: "s", WorktreeBase: "..", Nodes: []dag.Node{n}}).Encode()
	if err != nil {
		f.T.Fatal(err)
	}
	graph, err := dag.Decode(g)
	if err != nil {
		f.T.Fatal(err)
	}
	called, err := called()
	if err != nil {
		f.T.Fatal(err)
	}
	plan := run.Plan{ID: run.NewID(time.Now()), Root: f.Root, Headless: true, Base: place.Commit, Graph: graph}
	if f.Run, err = run.Create(plan, nil, f.Env, called); err != nil {
		f.T.Fatal(err)
	}
	f.Node = &graph.Nodes[0]
	f.Spec = &run.Spec{Node: n.Name, Attempt: 1, Token: "secret", Headless: true, Place: place,
		Terms: owner.Terms{Keeps: true, Unattended: n.InputTimeout == 0, Sits: n.UsesModel(), Group: "agents"}}
	f.Append(run.Record{Type: run.Started, Node: n.Name, Attempt: 1, Place: &place})
	f.WriteSpec()
	f.T.Cleanup(f.tell)
}

// tell tells of a test that failed.
func (f *Fixture) tell() {
	if !f.T.Failed() {
		return
	}
	f.T.Logf("shown:\n%s\nlog:\n%s", f.Shown(), f.Log())
	for _, r := range f.Records() {
		b, _ := json.Marshal(r)
		f.T.Logf("record %s", b)
	}
	files, _ := filepath.Glob(filepath.Join(f.Run.NodeDir(f.Node.Name), "stderr-*"))
	for _, name := range files {
		b, _ := os.ReadFile(name)
		f.T.Logf("%s:\n%s", filepath.Base(name), b)
	}
}

// Lost makes the next attempt of the node, as the runner does after a lost one: it
// continues that conversation.
func (f *Fixture) Lost() {
	f.T.Helper()
	if v := f.Last(run.Vanished); v == nil || v.Attempt != f.Spec.Attempt {
		f.Append(run.Record{Type: run.Vanished, Node: f.Node.Name, Attempt: f.Spec.Attempt, How: run.HowLost})
	}
	f.Eventually("the wrapper has let go of the node", func() bool {
		l, err := signals.TryLock(f.Run.NodeLock(f.Node.Name))
		if err == nil {
			l.Unlock()
		}
		return err == nil
	})
	f.Spec.Attempt++
	f.Append(run.Record{Type: run.Started, Node: f.Node.Name, Attempt: f.Spec.Attempt, Place: &f.Spec.Place})
	f.resume(f.Recorded().Resumable(f.Spec.Attempt))
	if f.Spec.Conversation == "" {
		f.T.Fatal("nothing to resume")
	}
}

// Again makes the next attempt of the node, which continues that conversation.
func (f *Fixture) Again(conversation string) {
	f.T.Helper()
	f.Spec.Attempt++
	f.Append(run.Record{Type: run.Vanished, Node: f.Node.Name, Attempt: f.Spec.Attempt - 1, How: run.HowLost},
		run.Record{Type: run.Started, Node: f.Node.Name, Attempt: f.Spec.Attempt, Place: &f.Spec.Place})
	f.resume(conversation)
}

func (f *Fixture) resume(conversation string) {
	n := f.Recorded()
	f.Spec.Conversation = conversation
	f.Spec.Used, f.Spec.Counted, f.Spec.Left = n.Used, n.UsedIn(conversation), n.Left
}

// History is the fold of what is recorded.
func (f *Fixture) History() *run.History {
	f.T.Helper()
	h := run.NewHistory(f.Run.Plan.Graph)
	if _, err := f.Run.Replay(h, 0, nil); err != nil {
		f.T.Fatal(err)
	}
	return h
}

// Recorded is what is recorded of the node.
func (f *Fixture) Recorded() *run.Node {
	f.T.Helper()
	h := f.History()
	return &h.Nodes[h.Graph.Index(f.Node.Name)]
}

// Append appends records of the run.
func (f *Fixture) Append(recs ...run.Record) {
	f.T.Helper()
	open := f.Run.OpenBook
	if f.Run.IsOrganization() {
		open = func() (*run.Book, error) { return f.Run.OpenAgentBook(f.Node.Name) }
	}
	book, err := open()
	if err != nil {
		f.T.Fatal(err)
	}
	defer book.Close()
	if err := book.Append(context.Background(), recs...); err != nil {
		f.T.Fatal(err)
	}
}

// WriteSpec leaves the spec where the wrapper looks for it. A wrapper that is
// started again in the same attempt finds what the first one left of it.
func (f *Fixture) WriteSpec() {
	f.T.Helper()
	if f.began == f.Spec.Attempt {
		return
	}
	if err := f.Run.WriteSpec(f.Spec); err != nil {
		f.T.Fatal(err)
	}
}

// patience ends broken tests only, and in time to tell of them.
func patience(t testing.TB) time.Duration {
	d := 4 * time.Minute
	if t, ok := t.(*testing.T); ok {
		if end, ok := t.Deadline(); ok {
			d = min(d, max(time.Until(end)-15*time.Second, time.Second))
		}
	}
	return d
}

// Eventually waits for a fact.
func (f *Fixture) Eventually(what string, fact func() bool) {
	f.T.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience(f.T))
	defer cancel()
	if !until.True(ctx, fact) {
		f.T.Fatalf("never came true: %s", what)
	}
}

// Write writes a file.
func (f *Fixture) Write(dir, name, content string) {
	f.T.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
		f.T.Fatal(err)
	}
}

// Git runs git in dir and returns what it printed.
func (f *Fixture) Git(dir string, args ...string) string {
	f.T.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = dir, f.Env
	out, err := cmd.CombinedOutput()
	if err != nil {
		f.T.Fatalf("git %v: %v\n%s", args, err, out)
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
	f.T.Helper()
	_, err := event.Replay(f.Run.Events(f.Node.Name), 0, func(e event.Event, _ int64) error {
		if kind == "" || e.Kind == kind {
			all = append(all, e)
		}
		return nil
	})
	if err != nil {
		f.T.Fatal(err)
	}
	return all
}

// Records are those of the run so far.
func (f *Fixture) Records() []run.Record {
	path := f.Run.Records()
	if f.Run.IsOrganization() {
		path = f.Run.AgentRecords(f.Node.Name)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		f.T.Fatal(err)
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
	f.T.Helper()
	r := f.Last(run.AttemptEnd)
	if r == nil {
		f.T.Fatal("no end is recorded")
	}
	return r.End
}

// ActivityName is an activity as status calls it.
func ActivityName(a dag.Activity) string {
	return map[dag.Activity]string{dag.Working: "running", dag.Checking: "checking", dag.NeedsInput: "needs input",
		dag.TakenOver: "taken over", dag.AtLimit: "limited", dag.SettingUp: "setup"}[a]
}

// Activities are the recorded activities in order, after the setup.
func (f *Fixture) Activities() string {
	var all []string
	for _, r := range f.Records() {
		if r.Type == run.Active {
			all = append(all, ActivityName(r.Activity))
		}
	}
	return strings.TrimPrefix(strings.TrimPrefix(strings.Join(all, ", "), "setup, running"), ", ")
}

// Becomes waits until the newest activities are these.
func (f *Fixture) Becomes(activities string) {
	f.T.Helper()
	f.Eventually("it becomes "+activities, func() bool { return strings.HasSuffix(f.Activities(), activities) })
}

// Dial reaches the wrapper.
func (f *Fixture) Dial() *wrapper.Client {
	f.T.Helper()
	var c *wrapper.Client
	f.Eventually("its wrapper answers", func() bool {
		var err error
		c, err = wrapper.Dial(context.Background(), f.Run, f.Node.Name, f.Spec.Attempt)
		return err == nil
	})
	f.T.Cleanup(func() { c.Close() })
	return c
}

// Processes are those of the attempt.
func (f *Fixture) Processes() []proc.Process {
	f.T.Helper()
	all, err := proc.Descendants(f.mark(f.Spec.Attempt))
	if err != nil {
		f.T.Fatal(err)
	}
	return all
}

func (f *Fixture) mark(attempt int) proc.Mark {
	return proc.Attempt(f.Run.Mark(), f.Node.Name, attempt)
}

// endProcesses ends what a broken test left.
func (f *Fixture) endProcesses() {
	for n := 1; n <= f.Spec.Attempt; n++ {
		proc.End(context.Background(), time.Second, f.mark(n))
	}
}

// Shown is what the wrapper printed, or what its terminal shows.
func (f *Fixture) Shown() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.out.String()
}

// screen takes in what the wrapper prints.
type screen struct{ f *Fixture }

func (s *screen) Write(p []byte) (int, error) {
	s.f.mu.Lock()
	defer s.f.mu.Unlock()
	return s.f.out.Write(p)
}
