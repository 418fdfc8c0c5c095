package worktree

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"cmux/worktree/prepare"
)

// What was brought is nobody's until it changes: by what it holds, not by when
// it was written, and across a second lending of the tree.
func TestBrought(t *testing.T) {
	r := newRepo(t)
	write(t, r.Root, "secret.local", "secret")
	spec := prepare.Spec{Copy: []string{"secret.local"}, Setup: []string{"mkdir -p gen && echo one > gen/one && echo two > gen/two && echo more >> dir/b.txt && ln -s gen way"}}
	tree := lend(t, r, LendSpec{Path: beside(r, "w"), Branch: "w", Owner: "o"})
	start := sh(t, tree.Path, "rev-parse", "HEAD")
	changed := func(want ...string) {
		t.Helper()
		got, err := r.ChangedFiles(t.Context(), tree.Path, start)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("changed %q, want %q, %v", got, want, err)
		}
		if d, err := r.Uncommitted(t.Context(), tree.Path); err != nil || d.Clean() != (len(want) == 0) {
			t.Errorf("uncommitted: %v, %v", d, err)
		}
	}
	if err := r.Prepare(t.Context(), tree.Path, tree.GitDir, spec); err != nil {
		t.Fatal(err)
	}
	changed()
	later := time.Now().Add(time.Hour)
	if err := os.Chtimes(filepath.Join(tree.Path, "gen/one"), later, later); err != nil {
		t.Fatal(err)
	}
	write(t, tree.Path, "gen/two.new", "two\n")
	if err := os.Rename(filepath.Join(tree.Path, "gen/two.new"), filepath.Join(tree.Path, "gen/two")); err != nil {
		t.Fatal(err)
	}
	changed() // written again with the same content
	tree = lend(t, r, LendSpec{Path: beside(r, "w"), Branch: "w", Owner: "o"})
	if err := r.Prepare(t.Context(), tree.Path, tree.GitDir, spec); err != nil {
		t.Fatal(err)
	}
	changed()
	write(t, tree.Path, "gen/one", "One\n") // as long as before
	if err := os.Chmod(filepath.Join(tree.Path, "gen/two"), 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, tree.Path, "dir/b.txt", "another\n")
	changed("dir/b.txt", "gen/one", "gen/two")
	commit, err := r.CommitAll(t.Context(), tree.Path, "work")
	if err != nil {
		t.Fatal(err)
	}
	if got := sh(t, tree.Path, "diff", "--name-only", start, commit); got != "dir/b.txt\ngen/one\ngen/two" {
		t.Errorf("committed %q", got)
	}
	if got := sh(t, tree.Path, "status", "--porcelain"); got != "?? secret.local\n?? way" {
		t.Errorf("left %q", got)
	}
	// Committed by somebody it counts, unchanged or not.
	sh(t, tree.Path, "add", "-A")
	sh(t, tree.Path, "commit", "-q", "-m", "all")
	got, err := r.ChangedFiles(t.Context(), tree.Path, start)
	if err != nil || !slices.Contains(got, "secret.local") || !slices.Contains(got, "way") {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := r.TakenIn(t.Context(), tree.Path, start); err != nil || !slices.Equal(got, []string{"secret.local"}) {
		t.Errorf("taken in: %q, %v", got, err)
	}
}

// Setup may leave tens of thousands of files that git shows.
func TestManyFilesAreBrought(t *testing.T) {
	if testing.Short() {
		t.Skip("many files")
	}
	r := newRepo(t)
	tree := lend(t, r, LendSpec{Path: beside(r, "w"), Branch: "w", Owner: "o"})
	const n = 5_000
	spec := prepare.Spec{Setup: []string{fmt.Sprintf("mkdir many && cd many && seq 1 %d | xargs touch", n)}}
	began := time.Now()
	if err := r.Prepare(t.Context(), tree.Path, tree.GitDir, spec); err != nil {
		t.Fatal(err)
	}
	prepared := time.Now()
	write(t, tree.Path, "many/7", "mine")
	got, err := r.ChangedFiles(t.Context(), tree.Path, sh(t, tree.Path, "rev-parse", "HEAD"))
	if err != nil || !slices.Equal(got, []string{"many/7"}) {
		t.Errorf("%d changed, %v", len(got), err)
	}
	t.Logf("%d files: prepared in %s, compared in %s", n, prepared.Sub(began), time.Since(prepared))
	if _, err := r.CommitAll(t.Context(), tree.Path, "mine"); err != nil {
		t.Fatal(err)
	}
	if got := sh(t, tree.Path, "show", "--stat", "--format=", "HEAD"); !strings.Contains(got, "1 file changed") {
		t.Errorf("committed %s", got)
	}
}

// What setup hid in the index is nobody's until it changes; what an agent hides
// there is seen, but for what a sparse checkout leaves out.
func TestReveal(t *testing.T) {
	r := newRepo(t)
	tree := lend(t, r, LendSpec{Path: beside(r, "w"), Branch: "w", Owner: "o"})
	start := sh(t, tree.Path, "rev-parse", "HEAD")
	if err := r.Prepare(t.Context(), tree.Path, tree.GitDir, prepare.Spec{Setup: []string{"echo local >> dir/b.txt && git update-index --skip-worktree dir/b.txt"}}); err != nil {
		t.Fatal(err)
	}
	reveal := func(want ...string) {
		t.Helper()
		if got, err := r.Reveal(t.Context(), tree.Path); err != nil || !slices.Equal(got, want) {
			t.Errorf("revealed %q, want %q, %v", got, want, err)
		}
	}
	reveal()
	write(t, tree.Path, "dir/b.txt", "the agent's\n")
	reveal("dir/b.txt")
	reveal()
	if got, err := r.ChangedFiles(t.Context(), tree.Path, start); err != nil || !slices.Equal(got, []string{"dir/b.txt"}) {
		t.Errorf("changed %q, %v", got, err)
	}
	sh(t, tree.Path, "checkout", "--", "dir/b.txt")
	sh(t, tree.Path, "sparse-checkout", "set", "nowhere")
	reveal()
}
