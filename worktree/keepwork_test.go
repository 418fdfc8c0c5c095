package worktree

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"cmux/worktree/merge"
)

// A contribution that is missing comes under unfinished work, which is saved
// first; where the two do not fit nothing is changed and the files are named.
func TestLendCarriesUnfinishedWork(t *testing.T) {
	setup := func(t *testing.T) (r *Repo, tree *Tree, base string, lendWith func(merge.Tip) (*Tree, error)) {
		r = newRepo(t)
		base = commit(t, r.Root, "lines", "f.txt", "1\n2\n3\n4\n5\n6\n7\n8\n9\n", "gone.txt", "x\n")
		tree = lend(t, r, LendSpec{Path: beside(r, "w"), Branch: "feature", Start: base, Owner: "o"})
		write(t, tree.Path, "f.txt", "1\n2\n3\n4\n5\n6\n7\n8\nnine\n")
		write(t, tree.Path, "new.txt", "new")
		write(t, tree.Path, "staged.txt", "staged")
		sh(t, tree.Path, "add", "staged.txt")
		sh(t, tree.Path, "rm", "-q", "gone.txt")
		return r, tree, base, func(tip merge.Tip) (*Tree, error) {
			return r.Lend(t.Context(), LendSpec{Path: tree.Path, Branch: "feature", Start: tip.Commit, Contributions: []merge.Tip{tip}, Owner: "o"})
		}
	}
	unfinished := func(t *testing.T, tree *Tree) {
		t.Helper()
		if !strings.HasSuffix(read(t, tree.Path, "f.txt"), "nine\n") || read(t, tree.Path, "new.txt") != "new" || read(t, tree.Path, "staged.txt") != "staged" {
			t.Error("the unfinished work is gone")
		}
		if got := sh(t, tree.Path, "status", "--porcelain", "gone.txt"); !strings.Contains(got, "D") {
			t.Errorf("the removal is gone: %q", got)
		}
	}
	t.Run("fits", func(t *testing.T) {
		r, tree, base, lendWith := setup(t)
		dep := branchWith(t, r, "dep", base, "f.txt", "one\n2\n3\n4\n5\n6\n7\n8\n9\n")
		got, err := lendWith(dep)
		if err != nil {
			t.Fatal(err)
		}
		unfinished(t, tree)
		if text := read(t, tree.Path, "f.txt"); !strings.HasPrefix(text, "one\n") {
			t.Errorf("the contribution did not arrive: %q", text)
		}
		if got.Head != dep.Commit || sh(t, tree.Path, "rev-parse", "HEAD") != dep.Commit || sh(t, tree.Path, "stash", "list") != "" {
			t.Errorf("head %s, want %s; stash %q", got.Head, dep.Commit, sh(t, tree.Path, "stash", "list"))
		}
		if all := must[[]Snapshot](t)(r.Snapshots(t.Context())); len(all) != 1 || all[0].Name != "feature" {
			t.Errorf("saved: %+v", all)
		}
	})
	for name, files := range map[string][]string{
		"same lines":         {"f.txt", "1\n2\n3\n4\n5\n6\n7\n8\nNINE\n"},
		"same untracked":     {"new.txt", "theirs"},
		"changed what it rm": {"gone.txt", "changed\n"},
	} {
		t.Run(name, func(t *testing.T) {
			r, tree, base, lendWith := setup(t)
			before := sh(t, tree.Path, "status", "--porcelain")
			dep := branchWith(t, r, "dep", base, files[0], files[1])
			_, err := lendWith(dep)
			var conflict *merge.ConflictError
			if !errors.As(err, &conflict) || !errors.Is(err, ErrDirty) || !slices.Equal(conflict.Files, files[:1]) || !slices.Contains(conflict.Tips, "dep") {
				t.Fatalf("got %v, want a conflict with dep in %s", err, files[0])
			}
			unfinished(t, tree)
			if after := sh(t, tree.Path, "status", "--porcelain"); after != before || sh(t, tree.Path, "rev-parse", "HEAD") != base {
				t.Errorf("changed: %q to %q", before, after)
			}
			// The way out that the message means.
			sh(t, tree.Path, "add", "-A")
			sh(t, tree.Path, "commit", "-qm", "mine")
			sh(t, tree.Path, "merge", "-q", "-s", "ours", "-m", "both", dep.Commit)
			if _, err := lendWith(dep); err != nil {
				t.Errorf("brought together: %v", err)
			}
		})
	}
	t.Run("in the middle of a merge", func(t *testing.T) {
		r, tree, base, lendWith := setup(t)
		sh(t, tree.Path, "commit", "-qam", "mine")
		other := branchWith(t, r, "other", base, "f.txt", "x")
		try(tree.Path, "merge", other.Commit)
		dep := branchWith(t, r, "dep", base, "dep.txt", "dep")
		if _, err := lendWith(dep); !errors.Is(err, ErrDirty) || !strings.Contains(err.Error(), "merge") {
			t.Errorf("got %v", err)
		}
	})
}
