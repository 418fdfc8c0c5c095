package worktree

import (
	"errors"
	"os"
	"testing"

	"cmux/worktree/merge"
)

// A branch lent to another repository begins, goes on and begins again as one with a
// worktree does.
func TestLendBranch(t *testing.T) {
	r := newRepo(t)
	base := head(t, r)
	spec := LendSpec{Path: beside(r, "w"), Branch: "w", Start: base, Owner: "o"}
	tree := must[*Tree](t)(LendBranch(t.Context(), r, spec))
	if tree.Path != "" || tree.Branch != "w" || tree.Head != base || tree.Continued || sh(t, r.Root, "rev-parse", "w") != base {
		t.Errorf("new: %+v", tree)
	}
	sh(t, r.Root, "branch", "-D", "w")
	work, other := branchWith(t, r, "w", base, "w.txt", "w"), branchWith(t, r, "other", base, "other.txt", "o")
	spec.Contributions = []merge.Tip{other}
	tree = must[*Tree](t)(LendBranch(t.Context(), r, spec))
	if got := sh(t, r.Root, "ls-tree", "--name-only", "w"); !tree.Continued || tree.Ahead != 3 || got != ".gitignore\na.txt\ndir\nother.txt\nw.txt" || tree.Head == work.Commit {
		t.Errorf("continued: %+v\n%s", tree, got)
	}
	again := must[*Tree](t)(LendBranch(t.Context(), r, spec))
	if again.Head != tree.Head {
		t.Errorf("again: %+v", again)
	}
	spec.Fresh = true
	tree = must[*Tree](t)(LendBranch(t.Context(), r, spec))
	if tree.Head != base || tree.Continued || sh(t, r.Root, "rev-parse", "w") != base {
		t.Errorf("fresh: %+v", tree)
	}
	if snaps := must[[]Snapshot](t)(r.Snapshots(t.Context())); len(snaps) != 1 || snaps[0].Head != again.Head || !snaps[0].Bare {
		t.Errorf("saved: %+v", snaps)
	}
	if list := sh(t, r.Root, "worktree", "list"); list == "" || len(must[[]os.DirEntry](t)(os.ReadDir(beside(r, "")))) != 1 {
		t.Errorf("worktrees:\n%s", list)
	}
	if tree := must[*Tree](t)(LendBranch(t.Context(), r, LendSpec{Path: beside(r, "d"), Start: base})); tree.Head != base || tree.Branch != "" {
		t.Errorf("without a branch: %+v", tree)
	}
	conflict := branchWith(t, r, "conflict", base, "a.txt", "b\n")
	sh(t, r.Root, "branch", "-f", "w", branchWith(t, r, "c", base, "a.txt", "c\n").Commit)
	spec.Fresh, spec.Contributions = false, []merge.Tip{conflict}
	before := sh(t, r.Root, "rev-parse", "w")
	var is *merge.ConflictError
	if _, err := LendBranch(t.Context(), r, spec); !errors.As(err, &is) || is.Into != "w" || sh(t, r.Root, "rev-parse", "w") != before {
		t.Errorf("a conflict: %v", err)
	}
}

// A worktree of the branch would fall behind it.
func TestLendBranchWithAWorktree(t *testing.T) {
	r := newRepo(t)
	base := head(t, r)
	spec := LendSpec{Path: beside(r, "w"), Branch: "w", Start: base, Owner: "o"}
	tree := lend(t, r, spec)
	done := commit(t, tree.Path, "work", "w.txt", "w")
	write(t, tree.Path, "dirt.txt", "dirt")
	if _, err := LendBranch(t.Context(), r, spec); !errors.Is(err, ErrDirty) {
		t.Errorf("what does not travel: %v", err)
	}
	if _, err := os.Stat(tree.Path); err != nil {
		t.Fatal(err)
	}
	commit(t, tree.Path, "all")
	got := must[*Tree](t)(LendBranch(t.Context(), r, spec))
	if _, err := os.Stat(tree.Path); !errors.Is(err, os.ErrNotExist) || got.Ahead != 2 {
		t.Errorf("%+v, %v", got, err)
	}
	tree = lend(t, r, spec)
	write(t, tree.Path, "more.txt", "more")
	spec.Fresh = true
	got = must[*Tree](t)(LendBranch(t.Context(), r, spec))
	snaps := must[[]Snapshot](t)(r.Snapshots(t.Context()))
	if got.Head != base || len(snaps) == 0 || sh(t, r.Root, "show", snaps[0].Commit+"^3:more.txt") != "more" {
		t.Errorf("%+v, %+v", got, snaps)
	}
	if sh(t, r.Root, "merge-base", "--is-ancestor", done, snaps[0].Head); t.Failed() {
		t.Log(snaps)
	}
	// The person's own worktrees are left alone.
	sh(t, r.Root, "switch", "-q", "-c", "mine")
	if _, err := LendBranch(t.Context(), r, LendSpec{Path: beside(r, "m"), Branch: "mine", Start: base}); !errors.Is(err, ErrBranchOut) {
		t.Errorf("checked out by a person: %v", err)
	}
	sh(t, r.Root, "worktree", "add", "-q", "-b", "else", beside(r, "e"))
	if _, err := LendBranch(t.Context(), r, LendSpec{Path: beside(r, "e"), Branch: "new", Start: base}); err != nil {
		t.Errorf("a worktree of another branch in the same place: %v", err)
	}
	if sh(t, beside(r, "e"), "symbolic-ref", "--short", "HEAD") != "else" {
		t.Error("it was changed")
	}
}
