package control

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cmux/agents/control/tasks"
	"cmux/agents/org/standing"
	"cmux/agents/org/task"
	"cmux/agents/runs/run"
	"cmux/worktree"
)

// What a clone did stays out as long as the work that it began at does, whatever
// became of the clone.
func TestMergeTasksOfAGoneClone(t *testing.T) {
	s := organized(t, standing.Settings{}, "api")
	base := s.gitIn(s.Root, "rev-parse", "main")
	whole, err := s.Tasks().Add(t.Context(), task.Fields{Title: titleOf("whole")})
	if err != nil {
		t.Fatal(err)
	}
	s.gitIn(s.Root, "branch", whole.WorkBranch(), s.gitIn(s.Root, "commit-tree", "-p", base, "-m", "unjudged", base+"^{tree}"))
	branch := "scratch/api-clone-1"
	part, err := s.Tasks().Add(t.Context(), task.Fields{Title: titleOf("part"), Branch: &branch, PartOf: &whole.ID})
	if err != nil {
		t.Fatal(err)
	}
	s.does("api-clone-1", part.ID, whole.WorkBranch(), "a", "1\n")
	waits := func(when string) {
		t.Helper()
		for _, dry := range []bool{true, false} {
			if got, want := s.merged(tasks.MergeTasks{DryRun: dry}), "t2 waits   t1"; strings.TrimSuffix(got, " api") != want {
				t.Errorf("%s: %s; want %s", when, got, want)
			}
		}
		if tip := s.gitIn(s.Root, "rev-parse", "main"); tip != base {
			t.Fatalf("%s: main is at %s", when, tip)
		}
	}
	waits("the whole is not done")
	if _, err := s.Tasks().Move(t.Context(), whole.ID, task.Cancelled, ""); err != nil {
		t.Fatal(err)
	}
	waits("it was cancelled")
	res, err := s.Tasks().Merge(t.Context(), tasks.MergeTasks{})
	if err != nil || !strings.HasPrefix(res.Tasks[0].Try, "cmux tasks assign t1 NAME") {
		t.Errorf("%+v, %v", res, err)
	}

	// Merged into the whole, it still says with which it comes.
	if err := s.Crew().PartOf(t.Context(), &run.Member{Name: "api-clone-1", Branch: branch, CloneTask: whole.ID}); err != nil {
		t.Fatal(err)
	}
	if v, _ := s.Tasks().Task(part.ID); v.Label != "done, not merged (t1)" {
		t.Errorf("t2 is %s", v.Label)
	}
	waits("it was merged into what was cancelled")

	// The way that it names.
	if _, err := s.Tasks().Assign(t.Context(), whole.ID, "api"); err != nil {
		t.Fatal(err)
	}
	waits("it is taken up again")
	if _, err := s.Tasks().Override(t.Context(), whole.ID, "it will do"); err != nil {
		t.Fatal(err)
	}
	if got, want := s.merged(tasks.MergeTasks{DryRun: true}), "t1 merged; t2 merged"; got != want {
		t.Errorf("dry: %s; want %s", got, want)
	}
	if got, want := s.merged(tasks.MergeTasks{}), "t1 merged; t2 merged"; got != want {
		t.Errorf("%s; want %s", got, want)
	}
}

// A repair is for nobody who went while the checks ran, and is written before what
// names it.
func TestRepairOfAnAgentThatGoes(t *testing.T) {
	s := organized(t, standing.Settings{}, "api")
	s.did("api", "one", "main", []string{"false"}, "a", "1\n")
	org, err := standing.Open(s.Root)
	if err != nil {
		t.Fatal(err)
	}
	goes := func(string) {
		if err := os.RemoveAll(org.Run.NodeDir("api")); err != nil {
			t.Error(err)
		}
	}
	if got, want := s.merged(tasks.MergeTasks{Begun: goes}), "t1 check  false t2"; got != want {
		t.Errorf("%s; want %s", got, want)
	}
	l, err := s.TaskList()
	if err != nil {
		t.Fatal(err)
	}
	if log := l.Log(""); log[len(log)-1].Op != task.OpMerge || l.Get("t2").State != task.Open {
		t.Errorf("t2 is %s, and the last change is %+v", l.Get("t2").Label(), log[len(log)-1])
	}
}

// A check that a repair fails, too, is no other repair's to make pass.
func TestRepairThatFailsLikewise(t *testing.T) {
	s := organized(t, standing.Settings{}, "api")
	s.did("api", "one", "main", []string{"test -e node_modules"}, "a", "1\n")
	if got, want := s.merged(tasks.MergeTasks{}), "t1 check  test -e node_modules t2 api"; got != want {
		t.Fatalf("%s; want %s", got, want)
	}
	s.does("api", "t2", "main", "merge", "task/t1-one")
	want := "t2 check  test -e node_modules; t1 waits   t2 api"
	for range 2 {
		if got := s.merged(tasks.MergeTasks{}); got != want {
			t.Fatalf("%s; want %s", got, want)
		}
	}
	res, err := s.Tasks().Merge(t.Context(), tasks.MergeTasks{})
	v, _ := s.Tasks().Task("t2")
	if err != nil || !strings.Contains(res.Tasks[0].Try, "git merge "+v.Result.Tip[:12]+" into main") {
		t.Fatalf("%+v, %v", res, err)
	}
	// The way that it names.
	s.gitIn(s.Root, "merge", "-q", v.Result.Tip[:12])
	if got, want := s.merged(tasks.MergeTasks{}), "t2 contained; t1 contained"; got != want {
		t.Errorf("%s; want %s", got, want)
	}
}

// What stops a later task does not hide what was merged before it.
func TestMergeTasksStopped(t *testing.T) {
	s := organized(t, standing.Settings{})
	s.did("api", "one", "main", nil, "a", "1\n")
	s.did("api", "two", "main", nil, "b", "1\n")
	s.write(filepath.Join(s.Root, "b"), "mine\n")
	res, err := s.Tasks().Merge(t.Context(), tasks.MergeTasks{})
	if !errors.Is(err, worktree.ErrDirty) || res == nil || len(res.Tasks) != 1 || res.Tasks[0].Outcome != tasks.TaskMerged || res.Commit != s.gitIn(s.Root, "rev-parse", "main") {
		t.Errorf("%+v, %v", res, err)
	}
}

// Nobody is made for a task that cannot be assigned, nor twice for one.
func TestTaker(t *testing.T) {
	s := organized(t, standing.Settings{Overflow: standing.OverflowSpawn})
	org, err := standing.Open(s.Root)
	for _, m := range []run.Member{{Name: "perm-a", Role: standing.PermanentWorker}, {Name: "a-t2", Role: standing.Worker, Once: true}} {
		m.ID, m.Dir = "ag_"+m.Name, s.Root
		err = errors.Join(err, org.Join(t.Context(), m, ""))
	}
	if err != nil {
		t.Fatal(err)
	}
	var notes []string
	s.Note = func(line string) { notes = append(notes, line) }
	later := true
	for _, f := range []task.Fields{{Title: titleOf("at")}, {Title: titleOf("more")}, {Title: titleOf("later"), Backlog: &later}, {Title: titleOf("done")}} {
		if _, err := s.Tasks().Add(t.Context(), f); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Tasks().Assign(t.Context(), "t1", "perm-a"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Tasks().Override(t.Context(), "t4", ""); err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string]string{"t2": "a-t2", "t3": "perm-a", "t4": "perm-a"} {
		if got := s.Tasks().Taker(t.Context(), id, "perm-a"); got != want {
			t.Errorf("%s goes to %s; want %s", id, got, want)
		}
	}
	if len(notes) > 0 {
		t.Errorf("it was tried to make others: %q", notes)
	}
}
