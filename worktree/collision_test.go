package worktree

import (
	"context"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"cmux/worktree/lookout"
	"cmux/worktree/merge"
)

func TestClash(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	r := newRepo(t)
	base := head(t, r)
	left := branchWith(t, r, "left", base, "a.txt", "left\n", "new", "l\n", "only-left", "")
	right := branchWith(t, r, "right", base, "a.txt", "right\n", "dir/b.txt", "r\n")
	same := branchWith(t, r, "same", base, "a.txt", "left\n", "dir/c.txt", "s\n")
	apart := branchWith(t, r, "apart", base, "apart", "")
	onLeft := branchWith(t, r, "on-left", left.Commit, "a.txt", "on left\n")
	mainMoved := commit(t, r.Root, "moved", "main.txt", "m\n")
	later := branchWith(t, r, "later", mainMoved, "new", "n\n")
	objects := sh(t, r.Root, "count-objects")
	for _, c := range []struct {
		name             string
		a, b             merge.Tip
		files, conflicts string
	}{
		{"both wrote", left, right, "a.txt", "a.txt"},
		{"both wrote the same", left, same, "a.txt", ""},
		{"different files", left, apart, "", ""},
		{"one is built on the other", left, onLeft, "", ""},
		{"the one that is built on another meets a third", right, onLeft, "a.txt", "a.txt"},
		{"different starts, a file new in both", left, later, "new", "new"},
	} {
		for _, swap := range []bool{false, true} {
			a, b := c.a, c.b
			if swap {
				a, b = b, a
			}
			known := func(tip merge.Tip) merge.Known {
				k := merge.Known{Commit: tip.Commit, From: base}
				k.Files = must[[]string](t)(r.Touched(t.Context(), base, tip.Commit))
				return k
			}
			got := must[merge.Clash](t)(r.Clash(t.Context(), known(a), known(b), true))
			if f, x := strings.Join(got.Files, " "), strings.Join(got.Conflicts, " "); f != c.files || x != c.conflicts {
				t.Errorf("%s (swapped: %t): files %q, conflicts %q; want %q, %q", c.name, swap, f, x, c.files, c.conflicts)
			}
			got = must[merge.Clash](t)(r.Clash(t.Context(), known(a), known(b), false))
			if f := strings.Join(got.Files, " "); f != c.files || got.Conflicts != nil {
				t.Errorf("%s, without a merge: %+v", c.name, got)
			}
		}
	}
	if now := sh(t, r.Root, "count-objects"); now != objects {
		t.Errorf("the repository has %s, before %s", now, objects)
	}
	if left := must[[]os.DirEntry](t)(os.ReadDir(tmp)); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

func TestEdited(t *testing.T) {
	r := newRepo(t)
	tree := lend(t, r, LendSpec{Path: beside(r, "w"), Branch: "w", Owner: "o"}).Path
	long := time.Now().Add(-time.Hour)
	for _, f := range []string{"a.txt", "dir/b.txt"} {
		if err := os.Chtimes(filepath.Join(tree, f), long, long); err != nil {
			t.Fatal(err)
		}
	}
	since := time.Now().Add(-time.Minute)
	files := []string{"*", "a.txt", "dir/b.txt", "gone.txt", "new.txt"}
	got := func() []string { t.Helper(); return must[[]string](t)(r.Edited(t.Context(), tree, files, since)) }
	if e := got(); e != nil {
		t.Errorf("untouched: %q", e)
	}
	write(t, tree, "a.txt", "edited\n")
	write(t, tree, "new.txt", "n\n")
	write(t, tree, "*", "its name is a pattern\n")
	write(t, tree, "beside.txt", "nobody asked\n")
	write(t, tree, "dir/b.txt", "b\n") // written, and as it was
	want := []string{"*", "a.txt", "new.txt"}
	if e := got(); !reflect.DeepEqual(e, want) {
		t.Errorf("edited: %q, want %q", e, want)
	}
	sh(t, tree, "add", "a.txt")
	if e := got(); !reflect.DeepEqual(e, want) {
		t.Errorf("staged: %q, want %q", e, want)
	}
	sh(t, tree, "add", "-A")
	sh(t, tree, "commit", "-q", "-m", "all")
	if e := got(); len(e) != 0 {
		t.Errorf("committed: %q", e)
	}
}

func TestTipNow(t *testing.T) {
	r := newRepo(t)
	tip := branchWith(t, r, "s/x", head(t, r), "x", "")
	if got := must[string](t)(r.TipNow(t.Context(), "s/x")); got != tip.Commit {
		t.Error(got)
	}
	sh(t, r.Root, "pack-refs", "--all")
	if got := must[string](t)(r.TipNow(t.Context(), "s/x")); got != tip.Commit {
		t.Errorf("packed: %s", got)
	}
	sh(t, r.Root, "symbolic-ref", "refs/heads/alias", "refs/heads/s/x")
	if got := must[string](t)(r.TipNow(t.Context(), "alias")); got != tip.Commit {
		t.Errorf("another name for it: %s", got)
	}
	if _, err := r.TipNow(t.Context(), "none"); err == nil {
		t.Error("a branch that is not there has a tip")
	}
}

// Every way in which a branch moves under its worktree is told, and what moves
// nothing is not.
func TestLookout(t *testing.T) {
	r := newRepo(t)
	one := lend(t, r, LendSpec{Path: beside(r, "one"), Branch: "one", Owner: "o"}).Path
	two := lend(t, r, LendSpec{Path: beside(r, "two"), Branch: "two", Owner: "o"}).Path
	l := must[*lookout.Lookout](t)(lookout.New())
	defer l.Close()
	for _, tree := range []string{one, two} {
		if err := l.Watch(tree); err != nil {
			t.Fatal(err)
		}
	}
	// What was told by the time a commit in the other worktree is.
	told := func(by string) map[string]bool {
		t.Helper()
		commit(t, by, "mark")
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		seen := make(map[string]bool)
		for !seen[by] {
			select {
			case trees := <-l.C:
				for _, tree := range trees {
					seen[tree] = true
				}
			case <-ctx.Done():
				t.Fatalf("nothing was reported about %s", by)
			}
		}
		return seen
	}
	commit(t, one, "first", "f", "1")
	for _, c := range []struct {
		name  string
		moves bool
		do    func()
	}{
		{"a commit", true, func() { commit(t, one, "second", "f", "2") }},
		{"the commit of a file that is there", true, func() { write(t, one, "f", "3"); sh(t, one, "commit", "-q", "-a", "-m", "third") }},
		{"an amended commit", true, func() { sh(t, one, "commit", "-q", "--amend", "-m", "other words") }},
		{"a reset", true, func() { sh(t, one, "reset", "-q", "--hard", "HEAD~1") }},
		{"a merge", true, func() { sh(t, one, "merge", "-q", "--no-edit", "two") }},
		{"plumbing", true, func() { sh(t, one, "update-ref", "refs/heads/one", "HEAD~1") }},
		{"a status", false, func() { write(t, one, "f", "4"); sh(t, one, "status") }},
		{"files that are added", false, func() { write(t, one, "g", "5"); sh(t, one, "add", "-A") }},
		{"a diff", false, func() { sh(t, one, "diff", "HEAD") }},
	} {
		told(two) // what came before
		c.do()
		if got := told(two)[one]; got != c.moves {
			t.Errorf("%s: told %t, want %t", c.name, got, c.moves)
		}
	}
	l.Forget(one)
	commit(t, one, "unseen")
	if told(two)[one] {
		t.Error("one that is forgotten was reported")
	}
	if err := l.Watch(beside(r, "none")); err == nil {
		t.Error("a worktree that is not there is watched")
	}
}
