package worktree

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"cmux/worktree/git"
	"cmux/worktree/hint"
	"cmux/worktree/merge"
)

func TestLendMakesBranchAtStart(t *testing.T) {
	r := newRepo(t)
	for i, name := range []string{"plain", "with space", "ünï", "new\nline", "-dash"} {
		tree := lend(t, r, LendSpec{Path: beside(r, name), Branch: fmt.Sprint("b/", i), Owner: "s/r/n"})
		if tree.Continued || tree.Adopted || tree.Head != head(t, r) {
			t.Errorf("%q: %+v", name, tree)
		}
		if got := read(t, tree.Path, "dir/b.txt"); got != "b\n" {
			t.Errorf("%q: content %q", name, got)
		}
		if got := sh(t, tree.Path, "status", "--porcelain", "--branch"); got != "## "+tree.Branch {
			t.Errorf("%q: status %q", name, got)
		}
	}
}

func TestLendDetached(t *testing.T) {
	r := newRepo(t)
	first := head(t, r)
	tree := lend(t, r, LendSpec{Path: beside(r, "d"), Owner: "o"})
	if got := sh(t, tree.Path, "branch", "--show-current"); got != "" {
		t.Errorf("on branch %s", got)
	}
	second := commit(t, r.Root, "second", "c.txt", "c")
	moved := lend(t, r, LendSpec{Path: tree.Path, Start: second, Owner: "another"})
	if moved.Head != second || sh(t, tree.Path, "rev-parse", "HEAD") != second {
		t.Errorf("adopted detached tree is at %s, want %s (was %s)", moved.Head, second, first)
	}
}

func TestLendConcurrently(t *testing.T) {
	r := newRepo(t)
	start := head(t, r)
	var wg sync.WaitGroup
	errs := make([]error, 16)
	for i := range errs {
		wg.Go(func() {
			_, errs[i] = r.Lend(t.Context(), LendSpec{Path: beside(r, fmt.Sprint("t", i)), Branch: fmt.Sprint("b", i), Start: start, Owner: "o"})
		})
	}
	wg.Wait()
	for i, err := range errs {
		if err != nil {
			t.Error(err)
		} else if got := sh(t, beside(r, fmt.Sprint("t", i)), "status", "--porcelain", "--branch"); got != fmt.Sprint("## b", i) {
			t.Error(got)
		}
	}
}

func TestLendContinuesBranch(t *testing.T) {
	r := newRepo(t)
	base := head(t, r)
	x := branchWith(t, r, "feature", base, "f.txt", "f")
	dep := branchWith(t, r, "dep", base, "dep.txt", "dep")
	bad := branchWith(t, r, "bad", base, "f.txt", "other")

	_, err := r.Lend(t.Context(), LendSpec{Path: beside(r, "w"), Branch: "feature", Start: base, Contributions: []merge.Tip{bad}, Owner: "o"})
	var conflict *merge.ConflictError
	if !errors.As(err, &conflict) || conflict.Into != "feature" || strings.Join(conflict.Files, " ") != "f.txt" {
		t.Fatalf("got %v, want a conflict in f.txt", err)
	}
	if _, err := os.Lstat(beside(r, "w")); err == nil {
		t.Error("a refused Lend left a directory")
	}
	if tip := must[string](t)(r.Tip(t.Context(), "feature")); tip != x.Commit {
		t.Error("a refused Lend moved the branch")
	}

	tree := lend(t, r, LendSpec{Path: beside(r, "w"), Branch: "feature", Start: base, Owner: "o"})
	if !tree.Continued || tree.Ahead != 1 || tree.Head != x.Commit {
		t.Errorf("%+v", tree)
	}
	write(t, tree.Path, "half.txt", "half")
	again := lend(t, r, LendSpec{Path: tree.Path, Branch: "feature", Start: base, Owner: "o"})
	if !again.Adopted || read(t, again.Path, "half.txt") != "half" {
		t.Errorf("the same owner goes on in its dirty tree: %+v", again)
	}
	commit(t, tree.Path, "half")
	merged := lend(t, r, LendSpec{Path: tree.Path, Branch: "feature", Start: dep.Commit, Contributions: []merge.Tip{dep}, Owner: "o"})
	if read(t, merged.Path, "dep.txt") != "dep" || sh(t, merged.Path, "status", "--porcelain") != "" {
		t.Error("the contribution did not arrive in the adopted tree")
	}
	if merged.Head != sh(t, tree.Path, "rev-parse", "HEAD") {
		t.Error("Head is not the tree's")
	}
}

func TestLendRefuses(t *testing.T) {
	r := newRepo(t)
	other := newRepo(t)
	base := head(t, r)
	lend(t, r, LendSpec{Path: beside(r, "dirty"), Branch: "dirty", Owner: "run1"})
	write(t, beside(r, "dirty"), "x", "x")
	lend(t, r, LendSpec{Path: beside(r, "out"), Branch: "out", Owner: "run1"})
	write(t, beside(r, "full"), "x", "x")
	write(t, r.Root, "../file", "x")
	sh(t, other.Root, "worktree", "add", "-q", beside(r, "foreign"))
	sh(t, r.Root, "worktree", "add", "-q", "-b", "lk", beside(r, "lk"))
	sh(t, r.Root, "worktree", "lock", "--reason", "on a stick", beside(r, "lk"))
	if err := os.RemoveAll(beside(r, "lk")); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		path, branch string
		want         error
		says         string
	}{
		{"dirty", "dirty", ErrDirty, "1 untracked"},
		{"new", "out", ErrBranchOut, beside(r, "out")},
		{"new", "main", ErrBranchOut, r.Root},
		{"full", "n", ErrOccupied, "is no worktree"},
		{"file", "n", ErrOccupied, "is no worktree"},
		{"foreign", "n", ErrOccupied, "another repository"},
		{"out", "n", ErrOccupied, "is on out"},
		{"lk", "lk", ErrLocked, "on a stick"},
		{filepath.Base(r.Root), "n", ErrOccupied, "main worktree"},
		{"new", "a..b", nil, "does not allow"},
		{"new", "dirty/sub", nil, "cannot move refs/heads/dirty/sub"},
	} {
		before := sh(t, r.Root, "for-each-ref") + sh(t, r.Root, "worktree", "list")
		_, err := r.Lend(t.Context(), LendSpec{Path: beside(r, c.path), Branch: c.branch, Start: base, Owner: "run2"})
		if err == nil || c.want != nil && !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s on %s: %v; want %v saying %q", c.branch, c.path, err, c.want, c.says)
		}
		var h *hint.Error
		if c.want != nil && !errors.As(err, &h) {
			t.Errorf("%v: no way out", err)
		}
		if after := sh(t, r.Root, "for-each-ref") + sh(t, r.Root, "worktree", "list"); after != before {
			t.Errorf("%s on %s changed something:\n%s\n%s", c.branch, c.path, before, after)
		}
	}
}

func TestLendAdoptsCleanTreeOfAnEarlierRun(t *testing.T) {
	r := newRepo(t)
	lend(t, r, LendSpec{Path: beside(r, "w"), Branch: "w", Owner: "run1"})
	commit(t, beside(r, "w"), "work", "w.txt", "w")
	tree := lend(t, r, LendSpec{Path: beside(r, "w"), Branch: "w", Owner: "run2"})
	if !tree.Adopted || !tree.Continued || tree.Ahead != 1 {
		t.Errorf("%+v", tree)
	}
	write(t, tree.Path, "dirt", "")
	if tree = lend(t, r, LendSpec{Path: beside(r, "w"), Branch: "w", Owner: "run2"}); tree.Owner != "run2" {
		t.Errorf("adoption did not change the owner: %+v", tree)
	}
}

func TestLendAfterDirectoryWasRemovedByHand(t *testing.T) {
	r := newRepo(t)
	tree := lend(t, r, LendSpec{Path: beside(r, "w"), Branch: "w", Owner: "o"})
	done := commit(t, tree.Path, "work", "w.txt", "w")
	os.RemoveAll(tree.Path)
	if again := lend(t, r, LendSpec{Path: tree.Path, Branch: "w", Owner: "o2"}); again.Head != done || read(t, tree.Path, "w.txt") != "w" {
		t.Errorf("%+v", again)
	}
	write(t, tree.Path, "staged.txt", "staged")
	sh(t, tree.Path, "add", "staged.txt")
	os.RemoveAll(tree.Path)
	lend(t, r, LendSpec{Path: tree.Path, Branch: "w", Owner: "o2"})
	if read(t, tree.Path, "staged.txt") != "staged" {
		t.Error("staged work was lost with the directory")
	}
	// The branch of a directory that is gone can be lent elsewhere.
	commit(t, tree.Path, "staged")
	os.RemoveAll(tree.Path)
	lend(t, r, LendSpec{Path: beside(r, "w2"), Branch: "w", Owner: "o3"})
}

func TestLendCompletesAnInterruptedOne(t *testing.T) {
	r := newRepo(t)
	unfinished := func(want bool) {
		t.Helper()
		if tree, err := r.Tree(t.Context(), beside(r, "w")); err != nil || tree.Unfinished != want {
			t.Errorf("%+v, %v: want it unfinished: %v", tree, err, want)
		}
	}
	// git worktree add happened, the checkout did not.
	sh(t, r.Root, "worktree", "add", "-q", "--no-checkout", "-b", "w", beside(r, "w"))
	unfinished(true)
	tree := lend(t, r, LendSpec{Path: beside(r, "w"), Branch: "w", Owner: "o"})
	if sh(t, tree.Path, "status", "--porcelain") != "" {
		t.Error("not clean")
	}
	unfinished(false)
	// The checkout was under way.
	if err := os.Rename(filepath.Join(tree.GitDir, git.OwnerFile), filepath.Join(tree.GitDir, git.LendingFile)); err != nil {
		t.Fatal(err)
	}
	os.Remove(filepath.Join(tree.Path, "a.txt"))
	write(t, tree.GitDir, "index.lock", "")
	unfinished(true)
	tree = lend(t, r, LendSpec{Path: beside(r, "w"), Branch: "w", Owner: "o"})
	if sh(t, tree.Path, "status", "--porcelain") != "" {
		t.Error("not clean")
	}
}

func TestLendCancelledLeavesNothing(t *testing.T) {
	r := newRepo(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.Lend(ctx, LendSpec{Path: beside(r, "w"), Branch: "w", Start: head(t, r), Owner: "o"}); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if out := sh(t, r.Root, "worktree", "list") + sh(t, r.Root, "branch", "--list", "w"); strings.Contains(out, "w ") && strings.Count(out, "\n") > 0 {
		t.Error(out)
	}
}

func TestLendFresh(t *testing.T) {
	r := newRepo(t)
	base := head(t, r)
	tree := lend(t, r, LendSpec{Path: beside(r, "w"), Branch: "w", Owner: "o"})
	old := commit(t, tree.Path, "work", "w.txt", "w")
	write(t, tree.Path, "dirt.txt", "dirt")
	tree = lend(t, r, LendSpec{Path: beside(r, "w"), Branch: "w", Start: base, Owner: "o", Fresh: true})
	if tree.Head != base || tree.Continued || sh(t, tree.Path, "status", "--porcelain") != "" {
		t.Errorf("%+v", tree)
	}
	snaps := must[[]Snapshot](t)(r.Snapshots(t.Context()))
	if len(snaps) != 1 || snaps[0].Head != old {
		t.Fatalf("%+v", snaps)
	}
	if got := sh(t, r.Root, "show", snaps[0].Commit+"^3:dirt.txt"); got != "dirt" {
		t.Error(got)
	}
	// A branch without a tree is saved as well.
	x := branchWith(t, r, "x", base, "x.txt", "x")
	lend(t, r, LendSpec{Path: beside(r, "x"), Branch: "x", Start: base, Owner: "o", Fresh: true})
	snaps = must[[]Snapshot](t)(r.Snapshots(t.Context()))
	if len(snaps) != 2 || snaps[1].Head != x.Commit || !snaps[1].Bare {
		t.Fatalf("%+v", snaps)
	}
}

// A copy of a repository has its registrations, but the worktrees are the
// other's: none of them keeps a branch from the copy, and none is touched.
func TestLendInACopy(t *testing.T) {
	r := newRepo(t)
	tree := lend(t, r, LendSpec{Path: beside(r, "theirs"), Branch: "n", Owner: "o"})
	write(t, tree.Path, "a.txt", "unfinished\n")
	before := sh(t, tree.Path, "status", "--porcelain=v2", "--branch")
	root := beside(r, "copy")
	if err := os.CopyFS(root, os.DirFS(r.Root)); err != nil {
		t.Fatal(err)
	}
	copied := must[*Repo](t)(Open(t.Context(), root))
	if _, err := copied.Lend(t.Context(), LendSpec{Path: tree.Path, Branch: "n", Start: head(t, r), Owner: "o"}); !errors.Is(err, ErrOccupied) {
		t.Errorf("at the place of the other's worktree: %v", err)
	}
	mine := lend(t, copied, LendSpec{Path: beside(r, "mine"), Branch: "n", Owner: "o"})
	if got := sh(t, mine.Path, "symbolic-ref", "--short", "HEAD"); got != "n" {
		t.Errorf("the copy's worktree is on %q", got)
	}
	if list := sh(t, root, "worktree", "list"); strings.Contains(list, tree.Path) {
		t.Errorf("the copy still lists the other's worktree:\n%s", list)
	}
	if after := sh(t, tree.Path, "status", "--porcelain=v2", "--branch"); after != before {
		t.Errorf("the other's worktree was touched:\n%s\nbefore:\n%s", after, before)
	}
}
