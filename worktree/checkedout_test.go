package worktree

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"cmux/worktree/merge"
	"cmux/worktree/prepare"
)

// touch makes git look into a file again.
func touch(t *testing.T, dir, name string) {
	t.Helper()
	at := time.Now().Add(time.Hour)
	if err := os.Chtimes(filepath.Join(dir, name), at, at); err != nil {
		t.Fatal(err)
	}
}

// unfaithful makes a repository whose files do not lead back to their blobs.
func unfaithful(t *testing.T) *Repo {
	t.Helper()
	r := newRepo(t)
	commit(t, r.Root, "files", "win/res.rc", "a\r\nb\r\n", "key.id", "$Id: somebody's $\n", "up.loud", "quiet\n", "auto.txt", "a\r\n", "src/x", "x\n")
	sh(t, r.Root, "config", "filter.loud.clean", "tr a-z A-Z")
	sh(t, r.Root, "config", "filter.loud.smudge", "cat")
	write(t, r.Root, ".gitattributes", "*.rc text eol=crlf\n*.id ident\n*.loud filter=loud\nauto.txt text=auto\n")
	sh(t, r.Root, "add", ".gitattributes") // alone: git turns the others around when it adds them
	sh(t, r.Root, "commit", "-q", "-m", "attributes")
	return r
}

var unfaithfulFiles = []string{"key.id", "up.loud", "win/res.rc"}

func TestWhatACheckoutMakesIsNobodysChange(t *testing.T) {
	r := unfaithful(t)
	tree := lend(t, r, LendSpec{Path: beside(r, "w"), Branch: "w", Owner: "o"})
	for _, name := range unfaithfulFiles {
		touch(t, tree.Path, name)
	}
	if got := sh(t, tree.Path, "diff", "--name-only"); got != "key.id\nup.loud\nwin/res.rc" {
		t.Fatalf("git shows %q", got)
	}
	if d := must[Dirt](t)(r.Uncommitted(t.Context(), tree.Path)); !d.Clean() {
		t.Errorf("uncommitted: %v", d)
	}
	if snap := must[*Snapshot](t)(r.Snapshot(t.Context(), tree.Path, SnapshotSpec{Name: "w"})); snap != nil {
		t.Errorf("%v saves nothing that anybody made", snap.ID)
	}
	write(t, tree.Path, "src/y", "y\n")
	changed := func(want ...string) {
		t.Helper()
		if got := must[[]string](t)(r.ChangedFiles(t.Context(), tree.Path, tree.Head)); !slices.Equal(got, want) {
			t.Errorf("changed %q, want %q", got, want)
		}
	}
	changed("src/y")
	id := must[string](t)(r.CommitAll(t.Context(), tree.Path, "mine"))
	if got := must[[]string](t)(r.Touched(t.Context(), tree.Head, id)); !slices.Equal(got, []string{"src/y"}) {
		t.Errorf("committed %q", got)
	}

	// git add -A takes the files in as it reads them; a checkout makes the same of both.
	sh(t, tree.Path, "add", "-A")
	changed("src/y")
	sh(t, tree.Path, "commit", "-q", "-m", "with git's own changes")
	if got := must[[]string](t)(r.Touched(t.Context(), tree.Head, sh(t, tree.Path, "rev-parse", "HEAD"))); len(got) < 3 {
		t.Fatalf("the commit holds %q alone", got)
	}
	changed("src/y")

	write(t, tree.Path, "win/res.rc", "a\r\nb\r\nc\r\n")
	changed("src/y", "win/res.rc")
	if d := must[Dirt](t)(r.Uncommitted(t.Context(), tree.Path)); !slices.Equal(d.Paths, []string{"win/res.rc"}) {
		t.Errorf("uncommitted: %v", d.Paths)
	}
}

// A worktree in which nobody wrote is lent, moved on, switched and removed.
func TestWhatACheckoutMakesIsInNobodysWay(t *testing.T) {
	r := unfaithful(t)
	spec := LendSpec{Path: beside(r, "w"), Branch: "w", Owner: "o"}
	tree := lend(t, r, spec)
	touchAll := func() {
		t.Helper()
		for _, name := range unfaithfulFiles {
			touch(t, tree.Path, name)
		}
	}
	touchAll()
	spec.Owner = "another"
	lend(t, r, spec)
	touchAll()
	tip := branchWith(t, r, "more", "main", "win/res.rc", "new\r\n")
	spec.Contributions = []merge.Tip{tip}
	if tree = lend(t, r, spec); read(t, tree.Path, "win/res.rc") != "new\r\n" {
		t.Errorf("%q", read(t, tree.Path, "win/res.rc"))
	}
	touchAll()
	if _, err := r.MergeInto(t.Context(), MergeSpec{Path: tree.Path, Branches: []merge.Tip{branchWith(t, r, "third", "w", "key.id", "third $Id$\n")}}); err != nil {
		t.Error(err)
	}
	touchAll()
	if saved, err := r.Switch(t.Context(), SwitchSpec{Path: tree.Path, Branch: "next", Start: head(t, r)}); saved != nil || err != nil {
		t.Errorf("%v, %v", saved, err)
	}
	touchAll()
	if snap, err := r.Remove(t.Context(), tree.Path, RemoveSpec{}); snap != nil || err != nil {
		t.Errorf("%v, %v", snap, err)
	}
}

// What is modified right after the checkout, for whatever reason, is the baseline
// until somebody writes it.
func TestBaseline(t *testing.T) {
	r := newRepo(t)
	tree := lend(t, r, LendSpec{Path: beside(r, "w"), Branch: "w", Owner: "o"})
	write(t, tree.Path, "a.txt", "of another file, whose name differs in case alone\n")
	if err := prepare.Baseline(t.Context(), tree.Path, tree.GitDir); err != nil {
		t.Fatal(err)
	}
	touch(t, tree.Path, "a.txt")
	if d := must[Dirt](t)(r.Uncommitted(t.Context(), tree.Path)); !d.Clean() {
		t.Errorf("uncommitted: %v", d)
	}
	if err := r.Prepare(t.Context(), tree.Path, tree.GitDir, prepare.Spec{Setup: []string{"echo x > made"}}); err != nil {
		t.Fatal(err)
	}
	if got := must[[]string](t)(r.ChangedFiles(t.Context(), tree.Path, tree.Head)); len(got) > 0 {
		t.Errorf("changed %q", got)
	}
	os.Remove(filepath.Join(tree.Path, "made"))
	// Its next owner is not told of it either.
	lend(t, r, LendSpec{Path: tree.Path, Branch: "w", Owner: "another"})
	if d := must[Dirt](t)(r.Uncommitted(t.Context(), tree.Path)); !d.Clean() {
		t.Errorf("uncommitted: %v", d)
	}
	write(t, tree.Path, "a.txt", "written\n")
	if _, err := r.Lend(t.Context(), LendSpec{Path: tree.Path, Branch: "w", Start: tree.Head, Owner: "a third"}); !errors.Is(err, ErrDirty) {
		t.Errorf("%v", err)
	}
}
