package worktree

import (
	"crypto/sha1"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"cmux/worktree/git"
)

func TestChangedFiles(t *testing.T) {
	r := newRepo(t)
	start := head(t, r)
	tree := lend(t, r, LendSpec{Path: beside(r, "w"), Branch: "w", Owner: "o"})
	commit(t, tree.Path, "work", "committed", "x", "back", "x")
	sh(t, tree.Path, "mv", "a.txt", "renamed.txt")
	sh(t, tree.Path, "commit", "-q", "-m", "rename")
	os.Remove(filepath.Join(tree.Path, "back"))
	write(t, tree.Path, "new\nline/ü", "x")
	write(t, tree.Path, "dir/b.txt", "changed")
	write(t, tree.Path, "x.ign", "ignored")
	write(t, tree.Path, "staged", "x")
	sh(t, tree.Path, "add", "staged")
	got := must[[]string](t)(r.ChangedFiles(t.Context(), tree.Path, start))
	want := []string{"a.txt", "committed", "dir/b.txt", "new\nline/ü", "renamed.txt", "staged"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestCommitAll(t *testing.T) {
	r := newRepo(t)
	tree := lend(t, r, LendSpec{Path: beside(r, "w"), Branch: "w", Owner: "o"})
	sh(t, r.Root, "config", "commit.gpgSign", "true")
	sh(t, r.Root, "config", "gpg.program", "/bin/false")
	if got := must[string](t)(r.CommitAll(t.Context(), tree.Path, "nothing")); got != tree.Head {
		t.Errorf("nothing to commit: %s, want HEAD %s", got, tree.Head)
	}
	write(t, tree.Path, "sub/new", "x")
	os.Remove(filepath.Join(tree.Path, "a.txt"))
	write(t, tree.Path, "x.ign", "ignored")
	id := must[string](t)(r.CommitAll(t.Context(), tree.Path, "the work\n\nof a node"))
	clean(t, tree.Path, id)
	if got := sh(t, tree.Path, "log", "-1", "--format=%an|%ae|%P|%s|%b"); got != "Ann|ann@example.org|"+tree.Head+"|the work|of a node\n" {
		t.Errorf("%q", got)
	}
	if got := sh(t, tree.Path, "show", "--name-status", "--format=", id); got != "D\ta.txt\nA\tsub/new" {
		t.Error(got)
	}
	stat := must[git.DiffStat](t)(r.DiffStat(t.Context(), tree.Head, id))
	if stat != (git.DiffStat{Files: 2, Added: 1, Deleted: 1}) {
		t.Errorf("%+v", stat)
	}
	commits := must[[]git.Commit](t)(r.Commits(t.Context(), tree.Head, "w"))
	if len(commits) != 1 || commits[0].Subject != "the work" || commits[0].ID != id {
		t.Errorf("%+v", commits)
	}

	for _, k := range []string{"GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"} {
		t.Setenv(k, "")
		os.Unsetenv(k)
	}
	write(t, tree.Path, "more", "x")
	must[string](t)(r.CommitAll(t.Context(), tree.Path, "more"))
	if got := sh(t, tree.Path, "log", "-1", "--format=%an <%ae> %cn <%ce>"); got != "cmux <cmux@localhost> cmux <cmux@localhost>" {
		t.Error(got)
	}
}

func TestCommitAllConcludesAResolvedMergeOnly(t *testing.T) {
	r := newRepo(t)
	x := branchWith(t, r, "x", head(t, r), "a.txt", "x\n")
	tree := lend(t, r, LendSpec{Path: beside(r, "w"), Branch: "w", Owner: "o"})
	ours := commit(t, tree.Path, "ours", "a.txt", "ours\n")
	try(tree.Path, "merge", "-q", "x")
	if _, err := r.CommitAll(t.Context(), tree.Path, "m"); !errors.Is(err, ErrDirty) || !strings.Contains(err.Error(), "a.txt") {
		t.Fatalf("unmerged: %v", err)
	}
	write(t, tree.Path, "a.txt", "both\n")
	sh(t, tree.Path, "add", "a.txt")
	id := must[string](t)(r.CommitAll(t.Context(), tree.Path, "m"))
	if got := sh(t, tree.Path, "log", "-1", "--format=%P"); got != ours+" "+x.Commit {
		t.Error(got)
	}
	clean(t, tree.Path, id)
	if op := git.Operation(tree.GitDir); op != "" {
		t.Error(op)
	}
	sh(t, tree.Path, "init", "-q", "nested")
	commit(t, filepath.Join(tree.Path, "nested"), "x", "x", "x")
	if _, err := r.CommitAll(t.Context(), tree.Path, "m"); !errors.Is(err, ErrUnsavable) {
		t.Errorf("nested repository: %v", err)
	}
}

func TestUpdateRef(t *testing.T) {
	r := newRepo(t)
	first := head(t, r)
	second := commit(t, r.Root, "second")
	ref := git.RunRef("20260101-1", "review")
	for _, c := range []struct {
		commit, old string
		ok          bool
	}{{first, "", true}, {second, "", false}, {second, second, false}, {second, first, true}} {
		if err := r.UpdateRef(t.Context(), ref, c.commit, c.old); (err == nil) != c.ok {
			t.Errorf("%+v: %v", c, err)
		}
	}
	if got := must[string](t)(r.Resolve(t.Context(), ref)); got != second {
		t.Error(got)
	}
}

// cmux rebuilds an index that names a missing object from the files.
func TestCommitAllWithoutTheObjectsOfTheIndex(t *testing.T) {
	r := newRepo(t)
	tree := lend(t, r, LendSpec{Path: beside(r, "w"), Branch: "w", Owner: "o"})
	write(t, tree.Path, "b", "made\n")
	write(t, tree.Path, "a.txt", "changed\n")
	// Older than the index, so that git takes the index's word for them.
	old := time.Now().Add(-time.Hour)
	for _, name := range []string{"a.txt", "b"} {
		if err := os.Chtimes(filepath.Join(tree.Path, name), old, old); err != nil {
			t.Fatal(err)
		}
	}
	sh(t, tree.Path, "add", "--all")
	for _, content := range []string{"made\n", "changed\n"} {
		id := fmt.Sprintf("%x", sha1.Sum([]byte(fmt.Sprintf("blob %d\x00%s", len(content), content))))
		if err := os.Remove(filepath.Join(r.GitDir, "objects", id[:2], id[2:])); err != nil {
			t.Fatal(err)
		}
	}
	id := must[string](t)(r.CommitAll(t.Context(), tree.Path, "work"))
	if got := sh(t, r.Root, "show", id+":b"); got != "made" {
		t.Errorf("b is %q", got)
	}
	if got := sh(t, r.Root, "show", id+":a.txt"); got != "changed" {
		t.Errorf("a.txt is %q", got)
	}
}
