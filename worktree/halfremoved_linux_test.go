package worktree

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cmux/worktree/git"
)

// A removal that fails half-way says how the work comes back, and so does the
// one that ends it. What was written there in between is saved as well.
func TestRemoveThatFailsHalfWay(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("what root may not remove takes root to make")
	}
	for _, changed := range []bool{false, true} {
		r := newRepo(t)
		tree := lend(t, r, LendSpec{Path: beside(r, "w"), Branch: "w", Owner: "o"})
		write(t, tree.Path, "kept/file", "kept")
		write(t, tree.Path, "a.txt", "edited")
		stuck := filepath.Join(tree.Path, "kept")
		if err := immutable(stuck, true); err != nil {
			t.Skipf("the file system knows no immutable files: %v", err)
		}
		t.Cleanup(func() { immutable(stuck, false) })
		snap, err := r.Remove(t.Context(), tree.Path, RemoveSpec{})
		if snap == nil || err == nil || !strings.Contains(err.Error(), snap.RestoreCommand()) || !strings.Contains(err.Error(), "kept/file") {
			t.Fatalf("%v, %v", snap, err)
		}
		again, err := r.Remove(t.Context(), tree.Path, RemoveSpec{})
		if again == nil || again.ID != snap.ID || err == nil || !strings.Contains(err.Error(), snap.RestoreCommand()) {
			t.Fatalf("a second time: %v, %v", again, err)
		}
		if err := immutable(stuck, false); err != nil {
			t.Fatal(err)
		}
		var told []string
		ctx := git.WithNotes(t.Context(), func(s string) { told = append(told, s) })
		if changed {
			write(t, tree.Path, "new", "new")
			later := time.Now().Add(time.Hour) // however coarse the clock of files is
			if err := os.Chtimes(filepath.Join(tree.Path, "new"), later, later); err != nil {
				t.Fatal(err)
			}
		}
		last, err := r.Remove(ctx, tree.Path, RemoveSpec{})
		if err != nil || last == nil || (last.ID == snap.ID) == changed {
			t.Fatalf("%+v, %v", last, err)
		}
		if changed && !strings.Contains(strings.Join(told, "\n"), snap.RestoreCommand()) {
			t.Errorf("the first snapshot is not told: %q", told)
		}
		restored := must[*Tree](t)(r.Restore(t.Context(), snap, RestoreSpec{}))
		if read(t, restored.Path, "kept/file") != "kept" || read(t, restored.Path, "a.txt") != "edited" {
			t.Error("not restored")
		}
		if changed {
			restored = must[*Tree](t)(r.Restore(t.Context(), last, RestoreSpec{Path: beside(r, "second"), Branch: "second"}))
			if read(t, restored.Path, "new") != "new" {
				t.Error("what was written in between is gone")
			}
		}
	}
}

// The folder of a removal that failed is not lent as it is.
func TestLendAfterAHalfRemoval(t *testing.T) {
	r := newRepo(t)
	tree := lend(t, r, LendSpec{Path: beside(r, "w"), Branch: "w", Owner: "o"})
	write(t, tree.Path, "x", "x")
	later := time.Now().Add(time.Hour)
	if err := errors.Join(os.WriteFile(filepath.Join(tree.GitDir, git.RemovingFile), nil, 0o666), os.Chtimes(filepath.Join(tree.Path, "x"), later, later)); err != nil {
		t.Fatal(err)
	}
	tree = lend(t, r, LendSpec{Path: tree.Path, Branch: "w", Owner: "o"})
	if _, err := os.Lstat(filepath.Join(tree.Path, "x")); err == nil || tree.Adopted {
		t.Error("lent as it was")
	}
	if all := must[[]Snapshot](t)(r.Snapshots(context.Background())); len(all) != 1 {
		t.Errorf("%+v", all)
	}
}
