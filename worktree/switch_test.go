package worktree

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestSwitch(t *testing.T) {
	r := newRepo(t)
	start := head(t, r)
	tree := lend(t, r, LendSpec{Path: beside(r, "w"), Branch: "home", Owner: "s/agents/a"})
	to := func(branch string) (*Snapshot, error) {
		return r.Switch(t.Context(), SwitchSpec{Path: tree.Path, Branch: branch, Start: start, Reason: "the next task"})
	}
	on := func() string { return sh(t, tree.Path, "symbolic-ref", "--short", "HEAD") }

	if s, err := to("task/1"); s != nil || err != nil || on() != "task/1" {
		t.Fatalf("a clean tree: %v, %v, on %s", s, err, on())
	}
	done := commit(t, tree.Path, "work", "made.txt", "made\n")

	// What is not committed is saved and leaves, whatever state it is in.
	write(t, tree.Path, "a.txt", "changed\n")
	write(t, tree.Path, "staged.txt", "staged\n")
	sh(t, tree.Path, "add", "staged.txt")
	write(t, tree.Path, "new/untracked.txt", "untracked\n")
	write(t, tree.Path, "kept.ign", "ignored\n")
	before := shape(t, tree.Path, "kept.ign")
	s, err := to("task/2")
	if err != nil || s == nil || on() != "task/2" {
		t.Fatalf("a dirty tree: %v, %v, on %s", s, err, on())
	}
	if status := sh(t, tree.Path, "status", "--porcelain"); status != "" {
		t.Errorf("it carried over %s", status)
	}
	if _, err := os.Stat(filepath.Join(tree.Path, "made.txt")); err == nil {
		t.Error("it carried over what the other branch has")
	}
	if _, err := os.Stat(filepath.Join(tree.Path, "kept.ign")); err != nil {
		t.Errorf("what git ignores left: %v", err)
	}
	if sh(t, tree.Path, "rev-parse", "HEAD") != start || sh(t, r.Root, "rev-parse", "task/1") != done {
		t.Error("a branch moved")
	}

	// Back on the first, everything is there again.
	if s, err := to("task/1"); s != nil || err != nil {
		t.Fatalf("back: %v, %v", s, err)
	}
	if _, err := r.Restore(t.Context(), s, RestoreSpec{Path: tree.Path, Branch: "task/1"}); err != nil {
		t.Fatal(err)
	}
	if after := shape(t, tree.Path, "kept.ign"); after != before {
		t.Errorf("restored it is\n%s\nnot\n%s", after, before)
	}

	// An operation that is under way is nobody's to end.
	sh(t, tree.Path, "add", "-A")
	sh(t, tree.Path, "commit", "-q", "-m", "rest")
	branchWith(t, r, "other", start, "made.txt", "another\n")
	try(tree.Path, "merge", "other")
	if _, err := to("task/2"); !errors.Is(err, ErrDirty) || on() != "task/1" {
		t.Errorf("in a merge: %v, on %s", err, on())
	}
	sh(t, tree.Path, "merge", "--abort")
	if _, err := to("task/2"); err != nil || on() != "task/2" {
		t.Errorf("after it: %v, on %s", err, on())
	}
}

// What a snapshot cannot take in keeps the tree where it is.
func TestSwitchRefuses(t *testing.T) {
	r := newRepo(t)
	tree := lend(t, r, LendSpec{Path: beside(r, "w"), Branch: "home"})
	nested := filepath.Join(tree.Path, "nested")
	if err := os.Mkdir(nested, 0o777); err != nil {
		t.Fatal(err)
	}
	sh(t, nested, "init", "-q")
	commit(t, nested, "theirs", "x", "x\n")
	if _, err := r.Switch(t.Context(), SwitchSpec{Path: tree.Path, Branch: "task/1", Start: head(t, r)}); err == nil {
		t.Error("a nested repository was left behind unsaved")
	}
	if _, err := os.Stat(filepath.Join(nested, "x")); err != nil {
		t.Errorf("what is in it is gone: %v", err)
	}
}
