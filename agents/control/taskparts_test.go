package control

import (
	"testing"

	"cmux/agents/run"
	"cmux/agents/standing"
	"cmux/agents/task"
)

// What a clone did stays out as long as the work that it began at does, whatever
// became of the clone.
func TestMergeTasksOfAGoneClone(t *testing.T) {
	s := organised(t, standing.Settings{}, "api")
	base := s.gitIn(s.Root, "rev-parse", "main")
	whole, err := s.AddTask(t.Context(), task.Fields{Title: titleOf("whole")})
	if err != nil {
		t.Fatal(err)
	}
	s.gitIn(s.Root, "branch", whole.WorkBranch(), s.gitIn(s.Root, "commit-tree", "-p", base, "-m", "unjudged", base+"^{tree}"))
	branch := "scratch/api-clone-1"
	part, err := s.AddTask(t.Context(), task.Fields{Title: titleOf("part"), Branch: &branch, PartOf: &whole.ID})
	if err != nil {
		t.Fatal(err)
	}
	s.does("api-clone-1", part.ID, whole.WorkBranch(), "a", "1\n")
	waits := func(when string) {
		t.Helper()
		for _, dry := range []bool{true, false} {
			if got, want := s.merged(MergeTasks{DryRun: dry}), "t2 waits   t1"; got != want {
				t.Errorf("%s: %s; want %s", when, got, want)
			}
		}
		if tip := s.gitIn(s.Root, "rev-parse", "main"); tip != base {
			t.Fatalf("%s: main is at %s", when, tip)
		}
	}
	waits("the whole is not done")
	if _, err := s.MoveTask(t.Context(), whole.ID, task.Cancelled, ""); err != nil {
		t.Fatal(err)
	}
	waits("it was cancelled")

	// Merged into the whole, it still says with which it comes.
	if err := s.partOf(t.Context(), &run.Member{Name: "api-clone-1", Branch: branch, CloneTask: whole.ID}); err != nil {
		t.Fatal(err)
	}
	if v, _ := s.Task(part.ID); v.Label != "done, not merged (t1)" {
		t.Errorf("t2 is %s", v.Label)
	}
	waits("it was merged into what was cancelled")

	if _, err := s.OverrideTask(t.Context(), whole.ID, "it will do"); err != nil {
		t.Fatal(err)
	}
	if got, want := s.merged(MergeTasks{DryRun: true}), "t1 merged; t2 merged"; got != want {
		t.Errorf("dry: %s; want %s", got, want)
	}
	if got, want := s.merged(MergeTasks{}), "t1 merged; t2 merged"; got != want {
		t.Errorf("%s; want %s", got, want)
	}
}
