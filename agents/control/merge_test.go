package control

import (
	"io"
	"path/filepath"
	"strings"
	"testing"

	"cmux/agents/control/merging"
	"cmux/agents/runs/run"
	"cmux/agents/runs/runner"
	"cmux/dag"
	"cmux/worktree/hint"
)

func quiet(q merging.Merge) merging.Merge {
	q.Output, q.Begun, q.Tell = io.Discard, func(string) {}, func(string) {}
	return q
}

// A conflict stops a merge; repaired as its way out says, it goes on.
func TestMergeThatConflicts(t *testing.T) {
	s := newScratch(t, `session: scratch
defaults: {agent: command}
agents:
  - {name: a, task: "echo one > both"}
  - {name: b, task: "echo two > both"}
`)
	s.begin(runner.StartOptions{Headless: true})
	s.carry(dag.RunDone)
	was := s.gitIn(s.Root, "rev-parse", "main")
	_, err := s.Merging().Merge(t.Context(), quiet(merging.Merge{}))
	tree := filepath.Join(s.Root, ".cmux", "merge")
	if _, try := hint.Explain(err); try != "git -C "+tree+" merge scratch/b, resolve and commit there, then cmux agents merge --continue; or cmux agents merge --abort; or cmux rooms start --about merge:b" {
		t.Fatalf("%v, try %q", err, try)
	}
	if now := s.gitIn(s.Root, "rev-parse", "main"); now != was {
		t.Errorf("main has moved to %s", now)
	}
	_, err = s.Merging().Merge(t.Context(), quiet(merging.Merge{}))
	refused(t, err, "a merge into main was begun and has not ended", "cmux agents merge --continue, or --abort")
	_, err = s.Merging().Merge(t.Context(), quiet(merging.Merge{Into: "scratch/a", Continue: true}))
	refused(t, err, "the merge that was begun is into main", "cmux agents merge --abort")
	got, err := s.Merging().Merge(t.Context(), merging.Merge{Abort: true})
	if err != nil || !got.Abandoned || got.Target != "main" {
		t.Fatalf("%+v, %v", got, err)
	}
	if _, err = s.Merging().Merge(t.Context(), quiet(merging.Merge{})); err == nil {
		t.Fatal("what conflicts was merged")
	}
	s.gitIn(tree, "-c", "merge.conflictStyle=merge", "merge", "-q", "-X", "theirs", "--no-edit", "scratch/b")
	got, err = s.Merging().Merge(t.Context(), quiet(merging.Merge{Continue: true}))
	if err != nil || got.Commit != s.gitIn(s.Root, "rev-parse", "main") {
		t.Fatalf("%+v, %v", got, err)
	}
	if got := s.gitIn(s.Root, "show", "main:both"); got != "two" {
		t.Errorf("merged is %q", got)
	}
}

// A check that breaks stops a merge; a repair on the branch is taken in.
func TestMergeThatBreaksACheck(t *testing.T) {
	s := newScratch(t, `session: scratch
defaults: {agent: command}
agents:
  - {name: a, task: "echo one > a", verify: ["! test -e b || test -e repaired"]}
  - {name: b, task: "echo two > b"}
`)
	s.begin(runner.StartOptions{Headless: true})
	s.carry(dag.RunDone)
	_, err := s.Merging().Merge(t.Context(), quiet(merging.Merge{}))
	if _, try := hint.Explain(err); try != "repair it on scratch/b, then cmux agents merge --continue; or cmux agents merge --abort" {
		t.Fatalf("%v, try %q", err, try)
	}
	tree := filepath.Join(filepath.Dir(s.Root), "scratch-b")
	s.write(filepath.Join(tree, "repaired"), "")
	s.gitIn(tree, "add", ".")
	s.gitIn(tree, "commit", "-q", "-m", "repaired")
	var told []string
	q := quiet(merging.Merge{Continue: true})
	q.Tell = func(line string) { told = append(told, line) }
	if _, err := s.Merging().Merge(t.Context(), q); err != nil || len(told) > 0 {
		t.Fatalf("%v, told %q", err, told)
	}
	if got := s.gitIn(s.Root, "ls-tree", "--name-only", "main"); !strings.Contains(got, "repaired") {
		t.Errorf("merged is\n%s", got)
	}
}

// What is not done is left out, and said.
func TestMergeLeavesOut(t *testing.T) {
	s := begun(t, "  - {name: a, task: 'true', role: build}\n")
	var told []string
	q := quiet(merging.Merge{})
	q.Tell = func(line string) { told = append(told, line) }
	_, err := s.Merging().Merge(t.Context(), q)
	refused(t, err, "no node of the run is done and has a branch", "cmux agents status")
	if len(told) != 1 || told[0] != "left out: a (ready)" {
		t.Errorf("told %q", told)
	}
}

// What a person stopped is said so, and not called lost.
func TestMergeLeavesOutWhatWasStopped(t *testing.T) {
	s := begun(t, "  - {name: a, task: 'true', role: build}\n")
	s.record(run.Record{Type: run.RunnerUp}, started("a"), run.Record{Type: run.Stopped}, run.Record{Type: run.Vanished, Node: "a", Attempt: 1, How: run.HowStopped})
	var told []string
	q := quiet(merging.Merge{})
	q.Tell = func(line string) { told = append(told, line) }
	_, err := s.Merging().Merge(t.Context(), q)
	refused(t, err, "no node of the run is done and has a branch", "cmux agents status")
	if len(told) != 1 || told[0] != "left out: a (stopped)" {
		t.Errorf("told %q", told)
	}
}
