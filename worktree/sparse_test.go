package worktree

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"cmux/worktree/merge"
	"cmux/worktree/prepare"
)

// A new file outside the cone of a sparse checkout is work as any other, and what
// the cone leaves out stays in every commit.
func TestSparse(t *testing.T) {
	r := newRepo(t)
	commit(t, r.Root, "folders", "one/f", "1\n", "two/f", "2\n", "two/g", "2\n")
	wide := branchWith(t, r, "wide", "main", "two/f", "wide\n").Commit
	sh(t, r.Root, "sparse-checkout", "set", "--cone", "one")
	tree := lend(t, r, LendSpec{Path: beside(r, "w"), Branch: "w", Owner: "o"})
	if _, err := os.Lstat(filepath.Join(tree.Path, "two/f")); err == nil {
		t.Fatal("the worktree is not sparse")
	}
	write(t, tree.Path, "two/new", "new\n")
	write(t, tree.Path, "two/g", "changed\n")
	write(t, tree.Path, "one/f", "changed\n")
	snap := must[*Snapshot](t)(r.Snapshot(t.Context(), tree.Path, SnapshotSpec{Name: "w"}))
	want := []string{"one/f", "two/g", "two/new"}
	whole := must[string](t)(whole(t.Context(), tree.Path, snap))
	if got := must[[]string](t)(r.Touched(t.Context(), tree.Head, whole)); !slices.Equal(got, want) {
		t.Errorf("saved %q", got)
	}
	// New work of a dependency outside the cone fits under it.
	spec := LendSpec{Path: tree.Path, Branch: "w", Owner: "o", Contributions: []merge.Tip{{Name: "wide", Commit: wide}}}
	tree = lend(t, r, spec)
	if got := sh(t, tree.Path, "show", "HEAD:two/f"); got != "wide" {
		t.Errorf("two/f is %q", got)
	}
	if _, err := r.Reveal(t.Context(), tree.Path); err != nil {
		t.Error(err)
	}
	if got := must[[]string](t)(r.ChangedFiles(t.Context(), tree.Path, tree.Head)); !slices.Equal(got, want) {
		t.Errorf("changed %q", got)
	}
	id := must[string](t)(r.CommitAll(t.Context(), tree.Path, "mine"))
	if got := must[[]string](t)(r.Touched(t.Context(), tree.Head, id)); !slices.Equal(got, want) {
		t.Errorf("committed %q", got)
	}
	clean(t, tree.Path, id)
	// Beside files that setup made, which stay out.
	next := lend(t, r, LendSpec{Path: beside(r, "v"), Branch: "v", Start: id, Owner: "p"})
	if err := r.Prepare(t.Context(), next.Path, next.GitDir, prepare.Spec{Setup: []string{"mkdir -p two && echo made > two/made"}}); err != nil {
		t.Fatal(err)
	}
	write(t, next.Path, "two/late", "late\n")
	id2 := must[string](t)(r.CommitAll(t.Context(), next.Path, "later"))
	if got := must[[]string](t)(r.Touched(t.Context(), id, id2)); !slices.Equal(got, []string{"two/late"}) {
		t.Errorf("committed %q", got)
	}
	if _, err := r.MergeInto(t.Context(), MergeSpec{Path: beside(r, "m"), Target: "main", StateFile: filepath.Join(t.TempDir(), "s"),
		Branches: []merge.Tip{{Name: "w"}, {Name: "v"}}}); err != nil {
		t.Error(err)
	}
	must[*Snapshot](t)(r.Remove(t.Context(), tree.Path, RemoveSpec{}))
	must[*Tree](t)(r.Restore(t.Context(), snap, RestoreSpec{Path: beside(r, "back"), Branch: "back"}))
	if got := read(t, beside(r, "back"), "two/g") + read(t, beside(r, "back"), "two/new"); got != "changed\nnew\n" {
		t.Errorf("restored %q", got)
	}
}
