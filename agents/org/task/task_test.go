package task

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"cmux/agents/platform/seal/sealtest"
	"cmux/agents/runs/run"
	"cmux/agents/testkit/agenttest/fuzzing"
	"cmux/dag"
)

func TestMain(m *testing.M) { os.Exit(sealtest.Main(m)) }

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func ptr[T any](v T) *T { return &v }

func newBook(t testing.TB, root string) *Book {
	t.Helper()
	b, err := OpenBook(root, func() time.Time { return noon }, true)
	must(t, err)
	return b
}

// change makes changes, each as the one before left the tasks.
func change(t testing.TB, b *Book, all ...Change) *List {
	t.Helper()
	l, _, err := b.Change(t.Context(), func(l *List) ([]Change, error) {
		seen := map[string]int{}
		for i := range all {
			if have := l.Get(all[i].Task); have != nil && seen[all[i].Task] == 0 {
				seen[all[i].Task] = have.Version
			}
			all[i].Saw = seen[all[i].Task]
			seen[all[i].Task]++
		}
		return all, nil
	})
	must(t, err)
	return l
}

func add(id, title string) Change {
	return Change{Task: id, Op: OpAdd, By: "user", Fields: Fields{Title: &title}}
}

func move(id string, to State) Change {
	c := Change{Task: id, Op: OpMove, By: "cmux", To: to}
	if to == Assigned {
		c.Agent = "w1"
	}
	return c
}

func verdict(id string, n int, end run.End) Change {
	return Change{Task: id, Op: OpVerdict, By: "cmux", Attempt: n, End: &end}
}

// A task's story, as the changes of it and how it stands after each.
func TestStory(t *testing.T) {
	b := newBook(t, t.TempDir())
	failed := run.End{Outcome: dag.Failed, Reason: dag.ReasonChecks, Detail: "go test"}
	reported := run.End{Outcome: dag.Failed, Reason: dag.ReasonReported, Detail: "no access"}
	for i, c := range []struct {
		c    Change
		want string // label; what is wrong begins with !
	}{
		{add("t1", "Login"), "open"},
		{add("t1", "Login"), "!changed meanwhile"},
		{move("t1", Working), "!it is open, and cannot become working"},
		{Change{Task: "t1", Op: OpMove, To: Assigned}, "!needs an agent"},
		{move("t1", Assigned), "assigned"},
		{move("t1", Working), "working"},
		{move("t1", Checking), "checking"},
		{move("t1", Working), "working"},
		{verdict("t1", 2, failed), "!no attempt 2"},
		{verdict("t1", 1, failed), "failed (checks)"},
		{verdict("t1", 1, run.End{Outcome: dag.Done}), "!known already"},
		{Change{Task: "t1", Op: OpMerge, Merged: &Merged{Commit: "abc"}}, "!only what is done is merged"},
		{Change{Task: "t1", Op: OpEdit, Fields: Fields{Title: ptr("x")}}, "!it is failed"},
		{move("t1", Assigned), "assigned"},
		{Change{Task: "t1", Op: OpEdit, Fields: Fields{Priority: ptr(High)}}, "assigned"},
		{Change{Task: "t1", Op: OpEdit, Fields: Fields{Priority: ptr(Priority("soon"))}}, "!no priority"},
		{Change{Task: "t1", Op: OpEdit}, "!nothing is changed"},
		{move("t1", Working), "working"},
		{Change{Task: "t1", Op: OpMove, To: Paused, Reason: "t2 comes first"}, "paused (t2 comes first)"},
		{move("t1", Working), "working"},
		{Change{Task: "t1", Op: OpMove, To: Limited, Until: noon.Local()}, "limited until " + noon.Local().Format("15:04")},
		{move("t1", Working), "working"},
		{verdict("t1", 2, reported), "blocked (no access)"},
		{move("t1", Assigned), "assigned"},
		{move("t1", Working), "working"},
		{Change{Task: "t1", Op: OpOverride, By: "user", Reason: "good enough"}, "done (override)"},
		{verdict("t1", 3, failed), "done (override)"}, // the record alone
		{Change{Task: "t1", Op: OpOverride}, "!it is done"},
		{Change{Task: "t1", Op: OpMerge, Merged: &Merged{Conflict: []string{"a"}}}, "done (override), not merged (conflict)"},
		{Change{Task: "t1", Op: OpMerge, Merged: &Merged{Check: "make", Task: "t2"}}, "done (override), not merged (check)"},
		{Change{Task: "t1", Op: OpMerge, Merged: &Merged{Commit: "abc"}}, "done (override), merged"},
		{Change{Task: "t9", Op: OpEdit, Fields: Fields{Title: ptr("x")}}, "!no such task"},
		{Change{Task: "t1", Op: "sing"}, "!no change"},
		{add("x1", "x"), "!no such task"},
		{Change{Task: "t2", Op: OpAdd}, "!needs a title"},
		{add("t2", "a\nb"), "!one line"},
	} {
		l, _, err := b.Change(t.Context(), func(l *List) ([]Change, error) {
			if have := l.Get(c.c.Task); have != nil && c.c.Op != OpAdd {
				c.c.Saw = have.Version
			}
			return []Change{c.c}, nil
		})
		if why, is := strings.CutPrefix(c.want, "!"); is {
			if err == nil || !strings.Contains(err.Error(), why) {
				if !(c.c.Op == OpAdd && errors.Is(err, ErrNone) && why == "changed meanwhile") {
					t.Errorf("%d: %v, want %s", i, err, why)
				}
			}
			continue
		}
		if err != nil || l.Get(c.c.Task).Label() != c.want {
			t.Fatalf("%d: %v, %+v; want %s", i, err, l, c.want)
		}
	}
	l, err := b.List()
	must(t, err)
	task := l.Get("t1")
	if len(task.Attempts) != 3 || task.Attempts[2].End.Reason != dag.ReasonChecks || task.Merged.Commit != "abc" || task.Priority != High || task.CreatedBy != "user" || task.Agent != "w1" {
		t.Errorf("%+v", task)
	}
	// An id that a merge names is nobody else's, though the task was never written.
	if len(l.Log("t1")) != task.Version || len(l.All()) != 1 || l.NextID() != "t3" {
		t.Errorf("%d changes, version %d", len(l.Log("t1")), task.Version)
	}
	if info, err := os.Stat(b.Path()); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

// A blocked task names the command that takes it up again.
func TestBlockedNext(t *testing.T) {
	for _, c := range []struct {
		task        Task
		label, next string
	}{
		{Task{State: Blocked, Agent: "api", Reason: "which port?"}, "blocked (which port?)", "cmux tasks assign t1 api"},
		{Task{State: Blocked, Agent: "api"}, "blocked", "cmux tasks assign t1 api"},
		{Task{State: Blocked, Agent: "api", Reason: NoAgent("api")}, "blocked (there is no agent api: cmux tasks assign t1 NAME)", "cmux tasks assign t1 NAME"},
		{Task{State: Blocked, Agent: "api", Reason: NoAgent("web")}, "blocked (there is no agent web)", "cmux tasks assign t1 api"},
		{Task{State: Assigned, Agent: "api", Reason: NoAgent("api")}, "assigned", ""},
		{Task{State: Failed, Agent: "api", Reason: NoAgent("api")}, "failed (there is no agent api)", ""},
	} {
		c.task.ID = "t1"
		if label, next := c.task.Label(), c.task.Next(); label != c.label || next != c.next {
			t.Errorf("%+v: %q, %q, want %q, %q", c.task, label, next, c.label, c.next)
		}
	}
}

// Every state can be left, but done, and a person can call any other one done.
func TestTable(t *testing.T) {
	for _, from := range States() {
		for _, to := range next[from] {
			if !slices.Contains(States(), to) || to == Done {
				t.Errorf("%s -> %s", from, to)
			}
		}
		if !May(from, Cancelled) && from != Done && from != Cancelled && from != Failed {
			t.Errorf("%s cannot be cancelled", from)
		}
		if from.Over() && from.Active() {
			t.Errorf("%s is both", from)
		}
	}
}

func TestNext(t *testing.T) {
	b := newBook(t, t.TempDir())
	give := func(id string, p Priority) []Change {
		c := add(id, id)
		c.Priority = &p
		return []Change{c, move(id, Assigned)}
	}
	says := func(l *List) string {
		begin, put := l.Next("w1")
		out := "-"
		if begin != nil {
			out = begin.ID
		}
		if put != nil {
			out += " for " + put.ID
		}
		return out
	}
	l := change(t, b, give("t1", Low)...)
	if got := says(l); got != "t1" {
		t.Error(got)
	}
	l = change(t, b, append([]Change{move("t1", Working)}, give("t2", Normal)...)...)
	if got := says(l); got != "-" {
		t.Error(got)
	}
	l = change(t, b, append(give("t3", High), give("t4", Critical)...)...)
	if got := says(l); got != "t4 for t1" {
		t.Error(got)
	}
	l = change(t, b, move("t1", Paused), move("t4", Working))
	if got := says(l); got != "-" {
		t.Error(got)
	}
	l = change(t, b, move("t4", Checking), verdict("t4", 1, run.End{Outcome: dag.Done}), move("t3", Cancelled))
	if got := says(l); got != "t2" {
		t.Error(got)
	}
	if begin, _ := l.Next("w2"); begin != nil {
		t.Error(begin)
	}
	for p, over := range map[Priority]string{Critical: "normal low", High: "normal low", Normal: "", Low: ""} {
		var all []string
		for _, r := range Priorities() {
			if p.Preempts(r) {
				all = append(all, string(r))
			}
		}
		if strings.Join(all, " ") != over {
			t.Errorf("%s: %v", p, all)
		}
	}
	backlog := add("t9", "later")
	backlog.Backlog = ptr(true)
	l = change(t, b, backlog)
	if l.Get("t9").Label() != "backlog" {
		t.Error(l.Get("t9").Label())
	}
	if err := l.Step(Change{Task: "t9", Saw: 1, Op: OpMove, To: Assigned, Agent: "w1"}); !errors.Is(err, ErrIllegal) {
		t.Error(err)
	}
}

// A task that comes after others is begun when all of them are done, and what cmux
// made for an occasion is found by it.
func TestAfter(t *testing.T) {
	b := newBook(t, t.TempDir())
	third := add("t3", "judge")
	third.After, third.Key = &[]string{"t1", "t2"}, "debate"
	change(t, b, add("t1", "for"), add("t2", "against"), third, move("t1", Assigned), move("t2", Assigned), move("t3", Assigned))
	l := change(t, b, move("t1", Working), verdict("t1", 1, run.End{Outcome: dag.Done}), move("t2", Working))
	for i, c := range []Change{{}, verdict("t2", 1, run.End{Outcome: dag.Failed}), {Op: OpOverride, Task: "t2", By: "user"}} {
		if c.Op != "" {
			l = change(t, b, c)
		}
		begin, _ := l.Next("w1")
		if ready := begin != nil && begin.ID == "t3"; ready != (i == 2) || len(l.Before(l.Get("t3"))) != map[bool]int{true: 0, false: 1}[ready] {
			t.Errorf("%d: begins %+v", i, begin)
		}
	}
	if made := l.ByKey("debate"); made == nil || made.ID != "t3" || l.ByKey("x") != nil {
		t.Error(made)
	}
	none := add("t4", "x")
	none.After = &[]string{"t9"}
	if err := l.Step(none); !errors.Is(err, ErrIllegal) {
		t.Error(err)
	}
	if err := l.Step(Change{Task: "t3", Saw: l.Get("t3").Version, Op: OpEdit, Fields: Fields{After: &[]string{"t3"}}}); !errors.Is(err, ErrIllegal) {
		t.Error(err)
	}
}

// Many who change tasks at once each build on what the others did.
func TestManyWriters(t *testing.T) {
	root := t.TempDir()
	var writers sync.WaitGroup
	for i := range 6 {
		b := newBook(t, root)
		writers.Go(func() {
			for n := range 20 {
				_, _, err := b.Change(t.Context(), func(l *List) ([]Change, error) {
					c := add(l.NextID(), fmt.Sprint(i, " ", n))
					return []Change{c, {Task: c.Task, Saw: 1, Op: OpMove, To: Assigned, Agent: "w1"}}, nil
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	writers.Wait()
	l, err := newBook(t, root).List()
	must(t, err)
	if len(l.All()) != 120 || l.NextID() != "t121" || len(l.Bad)+len(l.Gaps) != 0 {
		t.Errorf("%d tasks, %v, %v", len(l.All()), l.Bad, l.Gaps)
	}
}

// Random changes: a list that is read in parts, one that is read whole and the one
// of the writer are the same.
func TestFoldProperty(t *testing.T) {
	for seed := range uint64(20) {
		rnd := rand.New(rand.NewPCG(seed, 3))
		root := t.TempDir()
		b, other := newBook(t, root), newBook(t, root)
		var want *List
		for range 80 {
			l, _, err := b.Change(t.Context(), func(l *List) ([]Change, error) {
				if len(l.All()) == 0 || rnd.IntN(6) == 0 {
					return []Change{add(l.NextID(), "x")}, nil
				}
				task := l.All()[rnd.IntN(len(l.All()))]
				c := Change{Task: task.ID, Saw: task.Version, Op: OpMove, To: States()[rnd.IntN(len(States()))], Agent: "w1"}
				if rnd.IntN(4) == 0 && len(task.Attempts) > 0 {
					c = verdict(task.ID, 1+rnd.IntN(len(task.Attempts)), run.End{Outcome: dag.Outcome(1 + rnd.IntN(4))})
					c.Saw = task.Version
				}
				return []Change{c}, nil
			})
			if err == nil {
				want = l
			} else if !errors.Is(err, ErrIllegal) && !errors.Is(err, ErrKnown) {
				t.Fatal(err)
			}
			if rnd.IntN(3) == 0 {
				_, err := other.List()
				must(t, err)
			}
		}
		parts, err := other.List()
		must(t, err)
		whole, err := newBook(t, root).List()
		must(t, err)
		for i, task := range want.All() {
			for _, l := range []*List{parts, whole} {
				if got := l.All()[i]; fmt.Sprintf("%+v", got.Label()) != task.Label() || got.Version != task.Version || len(got.Attempts) != len(task.Attempts) {
					t.Fatalf("seed %d: %+v, want %+v", seed, got, task)
				}
				if a := l.All()[i].Last(); a != nil && !reflect.DeepEqual(a.Ended == nil, task.Last().Ended == nil) {
					t.Fatalf("seed %d: %+v, want %+v", seed, a, task.Last())
				}
			}
		}
	}
}

// Whatever byte the file is cut behind, what was whole counts, and the next change
// is made; what was cut is saved aside.
func TestCutAfterEveryByte(t *testing.T) {
	root := t.TempDir()
	b := newBook(t, root)
	change(t, b, add("t1", "one"), move("t1", Assigned), add("t2", "two"))
	whole, err := os.ReadFile(b.Path())
	must(t, err)
	for n := range len(whole) + 1 {
		must(t, os.WriteFile(b.Path(), whole[:n], 0o600))
		l, err := b.List()
		must(t, err)
		lines := strings.Count(string(whole[:n]), "\n")
		if got := len(l.Log("")); got != lines || len(l.Bad) != 0 {
			t.Fatalf("cut at %d: %d changes, %v", n, got, l.Bad)
		}
		l, _, err = b.Change(t.Context(), func(l *List) ([]Change, error) { return []Change{add(l.NextID(), "next")}, nil })
		must(t, err)
		after, err := newBook(t, root).List()
		must(t, err)
		if got := len(after.Log("")); got != len(l.Log("")) || after.Log("")[got-1].Title == nil || *after.Log("")[got-1].Title != "next" {
			t.Fatalf("cut at %d: %d changes, want %d", n, got, len(l.Log("")))
		}
	}
}

// cmux reports lines that do not count, keeps the good ones, and copies the file
// aside before it writes to it.
func TestDamage(t *testing.T) {
	root := t.TempDir()
	b := newBook(t, root)
	change(t, b, add("t1", "one"), add("t2", "two"), move("t1", Assigned), add("t3", "three"))
	raw, err := os.ReadFile(b.Path())
	must(t, err)
	lines := strings.SplitAfter(strings.TrimSuffix(string(raw), "\n"), "\n")
	damaged := lines[0] + "rubbish\n" + lines[1] + strings.Replace(lines[2], "w1", "w9", 1) + `{"task":"t7","saw":0,"op":"add","by":"user","title":"forged"}` + "\n" + lines[0] + lines[3] + "\n"
	must(t, os.WriteFile(b.Path(), []byte(damaged), 0o600))
	l, err := b.List()
	must(t, err)
	var why []string
	for i := range l.Bad {
		why = append(why, l.Bad[i].Why)
	}
	want := "not JSON|not written by this person's cmux|not written by this person's cmux|copy of an older change"
	if strings.Join(why, "|") != want || len(l.All()) != 3 || l.Get("t1").State != Open {
		t.Errorf("%q; %d tasks", why, len(l.All()))
	}
	if !strings.HasPrefix(l.Bad[0].String(), "tasks.jsonl, offset ") {
		t.Error(l.Bad[0].String())
	}
	l, aside, err := b.Change(t.Context(), func(l *List) ([]Change, error) { return []Change{add(l.NextID(), "four")}, nil })
	if err != nil || aside != "tasks.jsonl.damaged-1" || len(l.All()) != 4 || len(l.Bad) != 0 {
		t.Errorf("%s, %v, %+v", aside, err, l)
	}
	if got, err := os.ReadFile(filepath.Join(root, ".cmux", aside)); err != nil || string(got) != damaged {
		t.Errorf("%v: %s", err, got)
	}
	if got, err := os.ReadFile(b.Path()); err != nil || !strings.HasPrefix(string(got), lines[0]+lines[1]+lines[3]+"\n") {
		t.Errorf("%v: %s", err, got)
	}
	// A change that is missing does not hide those behind it.
	must(t, os.WriteFile(b.Path(), []byte(lines[1]+lines[2]), 0o600))
	l, err = b.List()
	if err != nil || len(l.Gaps) != 1 || l.Get("t1") == nil || l.Get("t1").State != Assigned {
		t.Errorf("%v, %+v", err, l)
	}
	// With another key nothing counts, and nothing is touched.
	must(t, os.WriteFile(b.Path(), []byte(`{"task":"t7","saw":0,"op":"add","title":"forged"}`+"\n"), 0o600))
	if _, err := b.List(); !errors.Is(err, ErrForeign) {
		t.Errorf("%v", err)
	}
	if _, _, err := b.Change(t.Context(), func(l *List) ([]Change, error) { return nil, nil }); !errors.Is(err, ErrForeign) {
		t.Errorf("%v", err)
	}
	must(t, os.Remove(b.Path()))
	if l, err := b.List(); err != nil || len(l.All()) != 0 {
		t.Errorf("%v", err)
	}
}

func TestFuzzing(t *testing.T) { fuzzing.Run(t) }

func FuzzChange(f *testing.F) {
	f.Add([]byte(`{"task":"t1","saw":0,"op":"add","at":"2026-03-01T12:00:00Z","by":"user","title":"x","priority":"high"}`))
	f.Add([]byte(`{"task":"t1","saw":3,"op":"verdict","attempt":2,"end":{"outcome":"done","exit":0}}`))
	f.Add([]byte(`{"task":"t1","saw":1,"op":"move","to":"working"}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		c, err := parse(line)
		if err != nil {
			return
		}
		var l List
		l.fold(*c)
		l.fold(*c)
		if got := l.Get(c.Task); got == nil || got.Version != c.Saw+1 {
			t.Errorf("%+v", got)
		}
		l.Get(c.Task).Label()
		l.Step(Change{Task: c.Task, Saw: c.Saw + 1, Op: OpMove, To: Cancelled})
	})
}

// TestStarts names the work that a task starts from, and what it is merged after.
func TestStarts(t *testing.T) {
	b := newBook(t, t.TempDir())
	after := func(c Change, ids ...string) Change { c.After = &ids; return c }
	done := func(id string, n int, commits int) []Change {
		return []Change{move(id, Assigned), move(id, Working), verdict(id, n, run.End{Outcome: dag.Done, Commits: commits, Tip: map[bool]string{true: "tip of " + id}[commits > 0]})}
	}
	var all []Change
	all = append(all, add("t1", "one"), after(add("t2", "reads"), "t1"), after(add("t3", "waits"), "t2"), after(add("t4", "two"), "t2", "t1", "t3"), after(add("t5", "none")))
	all = append(all, done("t1", 1, 2)...)
	all = append(all, done("t2", 1, 0)...)
	list := change(t, b, all...)
	starts := func(id string) (ids []string) {
		for _, s := range list.Starts(list.Get(id)) {
			ids = append(ids, s.ID)
		}
		return ids
	}
	for id, want := range map[string][]string{"t1": nil, "t2": {"t1"}, "t3": {"t1"}, "t4": {"t1"}, "t5": nil} {
		if got := starts(id); !slices.Equal(got, want) {
			t.Errorf("%s starts from %v, want %v", id, got, want)
		}
	}
	list = change(t, b, done("t3", 1, 1)...)
	if got := starts("t4"); !slices.Equal(got, []string{"t1", "t3"}) {
		t.Errorf("t4 starts from %v", got)
	}
	// It is merged after what it started from, and not without it.
	begun := Change{Task: "t4", Op: OpEdit, By: Cmux, Fields: Fields{Start: &Start{Commit: "c", Tasks: []string{"t1", "t3"}}}}
	list = change(t, b, append([]Change{begun}, done("t4", 1, 1)...)...)
	var order []string
	for _, u := range list.Unmerged() {
		order = append(order, u.ID)
	}
	if !slices.Equal(order, []string{"t1", "t3", "t4"}) {
		t.Errorf("they are merged in the order %v", order)
	}
	if n := len(list.Mergeable()); n != 3 {
		t.Errorf("%d can be merged, want 3", n)
	}
	if below := list.Below(list.Get("t4")); len(below) != 2 {
		t.Errorf("%d tasks are below it, want 2", len(below))
	}
	list = change(t, b, Change{Task: "t1", Op: OpMerge, Merged: &Merged{Commit: "m"}}, Change{Task: "t3", Op: OpMerge, Merged: &Merged{Commit: "m"}})
	if below := list.Below(list.Get("t4")); len(below) != 0 {
		t.Errorf("%s is below it, and merged", below[0].ID)
	}
}

// What a task that is not over is to bring in waits for that, and for no person.
func TestMergeable(t *testing.T) {
	b := newBook(t, t.TempDir())
	var all []Change
	for _, id := range []string{"t1", "t2"} {
		all = append(all, add(id, "x"), move(id, Assigned), move(id, Working), verdict(id, 1, run.End{Outcome: dag.Done, Commits: 1, Tip: id}))
	}
	list := change(t, b, append(all, add("t3", "mends t1"))...)
	for by, want := range map[string]int{"": 2, "t3": 1, "t9": 2} {
		list.Get("t1").Merged = &Merged{Conflict: []string{"code"}, Task: by}
		if got := len(list.Mergeable()); got != want {
			t.Errorf("by %q: %d, want %d", by, got, want)
		}
	}
}

// A verdict names the check that failed.
func TestVerdictTold(t *testing.T) {
	checks := []run.Check{{Command: "go vet ./..."}, {Command: "go test ./...", Exit: 1}, {Command: "late", TimedOut: true}}
	for want, end := range map[string]run.End{
		"attempt 2: failed (checks): `go test ./...`: exit 1":        {Outcome: dag.Failed, Reason: dag.ReasonChecks, Checks: checks},
		"attempt 2: failed (checks): `late` took longer than it may": {Outcome: dag.Failed, Reason: dag.ReasonChecks, Checks: checks[2:]},
		"attempt 2: done": {Outcome: dag.Done, Checks: checks[:1]},
	} {
		if got := (&Change{Op: OpVerdict, Attempt: 2, End: &end}).String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got := (*Merged)(nil).String(); got != "" {
		t.Error(got)
	}
}

// Whatever takes a task from its agent ends the attempt; one that is put back goes on.
func TestAttemptEnds(t *testing.T) {
	for name, c := range map[string]struct {
		c    Change
		ends bool
	}{
		"override":   {Change{Task: "t1", Op: OpOverride}, true},
		"cancelled":  {move("t1", Cancelled), true},
		"blocked":    {move("t1", Blocked), true},
		"failed":     {move("t1", Failed), true},
		"to another": {move("t1", Assigned), true},
		"judged":     {verdict("t1", 1, run.End{Outcome: dag.Done}), true},
		"paused":     {move("t1", Paused), false},
		"checking":   {move("t1", Checking), false},
	} {
		l := change(t, newBook(t, t.TempDir()), add("t1", "x"), move("t1", Assigned), move("t1", Working), c.c)
		if last := l.Get("t1").Last(); last == nil || (last.Ended != nil) != c.ends {
			t.Errorf("%s: %+v, ends %v", name, last, c.ends)
		}
	}
}
