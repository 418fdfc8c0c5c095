package worktree

import (
	"testing"

	"cmux/worktree/git"
)

// A commit that comes after the worktree was taken off its branch does not land
// there, and what is not committed stays where it is.
func TestDetach(t *testing.T) {
	r := newRepo(t)
	tree := lend(t, r, LendSpec{Path: beside(r, "w"), Branch: "task/1", Owner: "s/agents/a"})
	made := commit(t, tree.Path, "work", "made.txt", "made\n")
	write(t, tree.Path, "staged.txt", "staged\n")
	sh(t, tree.Path, "add", "staged.txt")
	write(t, tree.Path, "made.txt", "changed\n")
	before := sh(t, tree.Path, "status", "--porcelain")

	if err := git.Detach(t.Context(), tree.Path, "another"); err != nil || sh(t, tree.Path, "symbolic-ref", "--short", "HEAD") != "task/1" {
		t.Fatalf("on another branch: %v", err)
	}
	for range 2 { // again, by one that was killed in between
		if err := git.Detach(t.Context(), tree.Path, "task/1"); err != nil {
			t.Fatal(err)
		}
	}
	if on := sh(t, tree.Path, "rev-parse", "--abbrev-ref", "HEAD"); on != "HEAD" {
		t.Errorf("it is on %s", on)
	}
	if after := sh(t, tree.Path, "status", "--porcelain"); after != before {
		t.Errorf("status was\n%s\nand is\n%s", before, after)
	}
	sh(t, tree.Path, "commit", "-q", "-a", "-m", "too late")
	if tip := sh(t, r.Root, "rev-parse", "task/1"); tip != made {
		t.Errorf("task/1 moved from %s to %s", made, tip)
	}
}
