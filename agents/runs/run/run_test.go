package run

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"cmux/dag"
	"cmux/signals"
)

// newRun is the run of a small graph in a project of its own.
func newRun(t testing.TB) *Run {
	t.Helper()
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	return newRunAgain(t)
}

// newRunAgain is another, of the same person.
func newRunAgain(t testing.TB) *Run {
	t.Helper()
	return newRunAt(t, t.TempDir())
}

// newRunAt is one whose project is root.
func newRunAt(t testing.TB, root string) *Run {
	t.Helper()
	if err := os.Mkdir(filepath.Join(root, ".git"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := signals.Init(root); err != nil {
		t.Fatal(err)
	}
	g, _, err := dag.Parse("x.yml", []byte(`
session: s
defaults: {agent: command, role: review}
agents:
  - {name: a, task: "true", retries: 1}
  - {name: b, task: "true", depends_on: a}
`), dag.ParseOptions{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := Create(Plan{ID: NewID(time.Now()), Root: root, Config: filepath.Join(root, "x.yml"), Graph: g},
		[]byte("config"), []string{"A=b", "EMPTY="}, "/bin/sh")
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func (r *Run) marker(t *testing.T, node string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(r.Signals(), node+signals.Suffix))
	if errors.Is(err, os.ErrNotExist) {
		return "none"
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func replay(t *testing.T, r *Run) *History {
	t.Helper()
	h := NewHistory(r.Plan.Graph)
	if _, err := r.Replay(h, 0, nil); err != nil {
		t.Fatal(err)
	}
	return h
}

func TestCreateThenOpen(t *testing.T) {
	r := newRun(t)
	again, err := Latest(r.Plan.Root)
	if err != nil {
		t.Fatal(err)
	}
	if again.Plan.ID != r.Plan.ID || again.Plan.Graph.Len() != 2 {
		t.Errorf("opened %+v", again.Plan)
	}
	env, err := again.Env()
	if err != nil || !slices.Equal(env, []string{"A=b", "EMPTY="}) {
		t.Errorf("environment %q, %v", env, err)
	}
	if fi, err := os.Stat(filepath.Join(r.Dir, envFile)); err != nil || fi.Mode().Perm() != 0o600 {
		t.Errorf("the environment can be read by others: %v, %v", fi.Mode(), err)
	}
	if fi, err := os.Stat(r.Binary()); err != nil || fi.Mode()&0o100 == 0 {
		t.Errorf("the binary's copy cannot be executed: %v", err)
	}
	if err := r.DropEnv(); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Env(); err == nil {
		t.Error("a dropped environment can still be read")
	}
}

// A program that is started elsewhere in the process while the binary is copied
// must not keep the copy from being run.
func TestTheBinaryCanBeRunAtOnce(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	var others sync.WaitGroup
	for range 4 {
		others.Go(func() {
			for ctx.Err() == nil {
				exec.CommandContext(ctx, "sleep", "0.01").Run()
			}
		})
	}
	dir := t.TempDir()
	for i := range 20 {
		to := filepath.Join(dir, strconv.Itoa(i))
		in, err := os.Open(self)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := copyBinary(to, func(out *os.File) (string, error) { return copySum(out, in) }); err != nil {
			t.Fatal(err)
		}
		in.Close()
		if err := exec.Command(to, "-test.run=^$").Run(); err != nil {
			t.Error(err)
		}
	}
	stop()
	others.Wait()
}

func TestAFolderWithoutAPlanIsNoRun(t *testing.T) {
	r := newRun(t)
	if err := os.Remove(filepath.Join(r.Dir, planFile)); err != nil {
		t.Fatal(err)
	}
	if _, err := Latest(r.Plan.Root); !errors.Is(err, ErrNone) {
		t.Errorf("got %v, want ErrNone", err)
	}
}

func TestCommitRecordsBeforeItMarks(t *testing.T) {
	r := newRun(t)
	book, err := r.OpenBook()
	if err != nil {
		t.Fatal(err)
	}
	defer book.Close()
	err = book.Commit(t.Context(),
		Record{Type: AttemptEnd, Node: "a", Attempt: 1, End: &End{Outcome: dag.Failed, Exit: 99}},
		Record{Type: Blocked, Node: "b", Cause: "a"})
	if err != nil {
		t.Fatal(err)
	}
	if a, b := r.marker(t, "a"), r.marker(t, "b"); a != "1\n" || b != "99\n" {
		t.Errorf("markers %q %q: a node that exits 99 itself gets 1, only a blocked one 99", a, b)
	}
	h := replay(t, r)
	for i := range h.Nodes {
		if n := &h.Nodes[i]; n.Marker == nil || !n.Published {
			t.Errorf("node %d: marker %+v, published %v", i, n.Marker, n.Published)
		}
	}
	if e := h.Nodes[0].Fact; e.Exit != 99 && e.Exit != 1 {
		t.Errorf("the fact forgot the exit code: %+v", e)
	}
}

// Whoever waits to write is asked each time whether it goes on to.
func TestAWaitIsAskedAbout(t *testing.T) {
	for _, cause := range []error{signals.ErrDiskFull, signals.ErrDisplaced} {
		enough := errors.New("enough")
		var asked []error
		b := &Book{Delayed: func(err error) error {
			if asked = append(asked, err); len(asked) > 1 {
				return enough
			}
			return nil
		}}
		err := b.Patiently(t.Context(), func() error { return cause })
		if !errors.Is(err, enough) || !errors.Is(err, cause) || len(asked) != 2 || !errors.Is(asked[0], cause) {
			t.Errorf("%v: %v, asked %v", cause, err, asked)
		}
	}
}

func TestAPersonsMarkerStands(t *testing.T) {
	r := newRun(t)
	if err := os.WriteFile(filepath.Join(r.Signals(), "a.done"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	book, err := r.OpenBook()
	if err != nil {
		t.Fatal(err)
	}
	defer book.Close()
	if err := book.Commit(t.Context(), Record{Type: AttemptEnd, Node: "a", Attempt: 1, End: &End{Outcome: dag.Failed, Exit: 7}}); err != nil {
		t.Fatal(err)
	}
	if m := r.marker(t, "a"); m != "" {
		t.Errorf("marker %q: the first one stands", m)
	}
	if h := replay(t, r); h.Nodes[0].Published {
		t.Error("a marker that lost the race is recorded as published")
	}
}

func TestHistoryFollowsAnAttempt(t *testing.T) {
	r := newRun(t)
	book, err := r.OpenBook()
	if err != nil {
		t.Fatal(err)
	}
	defer book.Close()
	t0 := time.Now().Truncate(time.Millisecond)
	steps := []struct {
		rec  Record
		want func(n *Node) bool
	}{
		{Record{Type: Started, Node: "a", Attempt: 1, Place: &Place{Dir: "/x", Slot: 3}},
			func(n *Node) bool { return n.Fact.Phase == dag.Running && n.Attempt().Place.Slot == 3 }},
		{Record{Type: Began, Node: "a", Attempt: 1, PID: 12, Pane: "%4"},
			func(n *Node) bool { return n.Attempt().PID == 12 && n.Attempt().Pane == "%4" }},
		{Record{Type: Active, Node: "a", Attempt: 1, Activity: dag.NeedsInput, Detail: "which?"},
			func(n *Node) bool { return n.Fact.Phase == dag.Paused && n.Fact.Detail == "which?" }},
		{Record{Type: Wants, Node: "a", Attempt: 1}, func(n *Node) bool { return n.Fact.Phase == dag.Queued }},
		{Record{Type: Granted, Node: "a", Attempt: 1}, func(n *Node) bool { return n.Fact.Phase == dag.Running }},
		{Record{Type: AttemptEnd, Node: "a", Attempt: 1, End: &End{Outcome: dag.Failed, Exit: 2, Retry: true}},
			func(n *Node) bool { return n.Fact.Phase == dag.Idle && n.Fact.Tries == 1 && n.Marker == nil }},
		{Record{Type: Started, Node: "a", Attempt: 2}, func(n *Node) bool { return n.Fact.Attempts == 2 }},
		{Record{Type: Vanished, Node: "a", Attempt: 2, How: HowLost},
			func(n *Node) bool { return n.Fact.Lost && n.Fact.Losses == 1 && n.Attempt().Over() }},
		{Record{Type: Overridden, Node: "a", How: HowTouched, Tip: "abc", Marker: &Written{Empty: true}},
			func(n *Node) bool { return n.Fact.Outcome == dag.Override && n.Tip == "abc" && n.Published }},
		{Record{Type: Reset, Node: "a", Fresh: true},
			func(n *Node) bool { return n.Fact.Phase == dag.Idle && n.Fresh && n.Tip == "" && n.Withdrawn != nil }},
	}
	for k, s := range steps {
		s.rec.At = t0.Add(time.Duration(k) * time.Second)
		if err := book.Append(t.Context(), s.rec); err != nil {
			t.Fatal(err)
		}
		if n := &replay(t, r).Nodes[0]; !s.want(n) {
			t.Errorf("after %s: %+v, attempt %+v", s.rec.Type, n.Fact, n.Attempt())
		}
	}
}

func TestRequestsComeInOrderAndGo(t *testing.T) {
	r := newRun(t)
	for _, op := range []Op{OpRetry, OpStop} {
		if _, err := r.Ask(Request{Op: op, Node: "a"}); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(r.Requests(), "0.json"), []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	qs, err := r.Pending()
	if err == nil {
		t.Error("a damaged request was passed over in silence")
	}
	if len(qs) != 2 {
		t.Fatalf("%d requests, want 2", len(qs))
	}
	for _, q := range qs {
		if err := r.Answered(q); err != nil {
			t.Fatal(err)
		}
	}
	var not *NoRequest
	if _, err := r.Pending(); !errors.As(err, &not) {
		t.Fatalf("the damaged request is not named: %v", err)
	}
	var odd []error
	err = Desk{func(string) bool { return false }, func(Request) (bool, error) { return true, nil },
		func(not, aside error) error { odd = append(odd, not); return aside }}.Serve(r)
	if err != nil || len(odd) != 1 || !errors.As(odd[0], &not) {
		t.Errorf("%v is set aside, %v", odd, err)
	}
	if qs, err := r.Pending(); err != nil || len(qs) != 0 {
		t.Errorf("%d requests are left, %v", len(qs), err)
	}
}

// Every request is answered once: also when its file stayed because the process that
// recorded the answer was killed, and not while it waits.
func TestServe(t *testing.T) {
	r := newRun(t)
	for _, op := range []Op{OpStop, OpRetry, OpLeave} {
		if _, err := r.Ask(Request{Op: op}); err != nil {
			t.Fatal(err)
		}
	}
	on, waiting := make(map[string]bool), true
	var got []Op
	serve := func() error {
		return Desk{func(id string) bool { return on[id] }, func(q Request) (bool, error) {
			if got = append(got, q.Op); q.Op == OpRetry && waiting {
				return true, nil
			}
			on[q.ID] = true
			if q.Op == OpLeave && waiting {
				return false, errors.New("killed")
			}
			return false, nil
		}, func(not, _ error) error { return not }}.Serve(r)
	}
	if err := serve(); err == nil || len(got) != 3 {
		t.Fatalf("answered %v, %v", got, err)
	}
	got, waiting = nil, false
	if err := serve(); err != nil || !slices.Equal(got, []Op{OpRetry}) {
		t.Errorf("then answered %v, %v", got, err)
	}
	if qs, err := r.Pending(); err != nil || len(qs) != 0 {
		t.Errorf("%d requests are left, %v", len(qs), err)
	}
}

func TestAWithdrawnSpecIsNotFound(t *testing.T) {
	r := newRun(t)
	if err := r.WriteSpec(&Spec{Node: "a", Attempt: 2, Token: NewToken()}); err != nil {
		t.Fatal(err)
	}
	if s, err := r.ReadSpec("a", 2); err != nil || s.Token == "" {
		t.Errorf("%+v, %v", s, err)
	}
	if err := r.DropSpec("a", 2); err != nil {
		t.Fatal(err)
	}
	if _, err := r.ReadSpec("a", 2); !errors.Is(err, ErrWithdrawn) {
		t.Errorf("got %v, want ErrWithdrawn", err)
	}
}

// A spec says what its node is; one that an earlier cmux wrote leaves that to
// the frozen graph.
func TestSpecHoldsItsNode(t *testing.T) {
	r := newRun(t)
	for n, def := range []*dag.Node{{Name: "a", Task: "as it is now"}, nil} {
		if err := r.WriteSpec(&Spec{Node: "a", Attempt: n + 1, Def: def}); err != nil {
			t.Fatal(err)
		}
		s, err := r.ReadSpec("a", n+1)
		if err != nil {
			t.Fatal(err)
		}
		want := "true"
		if def != nil {
			want = def.Task
		}
		if s.Def == nil || s.Def.Task != want {
			t.Errorf("attempt %d: %+v, want the task %q", n+1, s.Def, want)
		}
	}
	if err := r.WriteSpec(&Spec{Node: "gone", Attempt: 1}); err != nil {
		t.Fatal(err)
	}
	if s, err := r.ReadSpec("gone", 1); err == nil {
		t.Errorf("a node that nobody knows: %+v", s)
	}
}
