package worktree

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cmux/worktree/git"
	"cmux/worktree/hint"
	"cmux/worktree/merge"
)

func TestOpenFindsTheMainRoot(t *testing.T) {
	r := newRepo(t)
	linked := beside(r, "linked")
	sh(t, r.Root, "worktree", "add", "-q", linked)
	if err := os.Symlink(r.Root, beside(r, "link")); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{r.Root, filepath.Join(r.Root, "dir"), linked, filepath.Join(linked, "dir"), beside(r, "link/dir"), filepath.Join(r.Root, ".git")} {
		got, err := Open(t.Context(), dir)
		if err != nil || got.Root != r.Root || got.GitDir != r.GitDir {
			t.Errorf("%s: %+v, %v; want %s", dir, got, err, r.Root)
		}
	}
	separate := filepath.Join(t.TempDir(), "w")
	sh(t, r.Root, "clone", "-q", "--separate-git-dir", filepath.Join(t.TempDir(), "g"), r.Root, separate)
	if got, err := Open(t.Context(), filepath.Join(separate, "dir")); err != nil || got.Root != separate {
		t.Errorf("separate git directory: %+v, %v", got, err)
	}
}

func TestOpenRefuses(t *testing.T) {
	r := newRepo(t)
	dir := t.TempDir()
	sh(t, dir, "init", "-q", "empty")
	sh(t, dir, "clone", "-q", "--bare", r.Root, "bare")
	write(t, dir, "plain/x", "")
	for _, c := range []struct {
		dir  string
		want error
	}{{"plain", ErrNotRepository}, {"bare", ErrBare}, {"empty", ErrNoCommits}} {
		_, err := Open(t.Context(), filepath.Join(dir, c.dir))
		var h *hint.Error
		if !errors.Is(err, c.want) || !errors.As(err, &h) || h.Try == "" {
			t.Errorf("%s: %v, want %v with a way out", c.dir, err, c.want)
		}
	}
	t.Setenv("PATH", dir)
	if _, err := Open(t.Context(), r.Root); !errors.Is(err, git.ErrGit) {
		t.Errorf("without git: %v", err)
	}
}

func TestBase(t *testing.T) {
	r := newRepo(t)
	id := head(t, r)
	sh(t, r.Root, "tag", "v1")
	for ref, want := range map[string]git.Base{
		"": {Ref: "HEAD", Commit: id, Branch: "main"}, "main": {Ref: "main", Commit: id, Branch: "main"}, "v1": {Ref: "v1", Commit: id}, id[:8]: {Ref: id[:8], Commit: id},
	} {
		if got, err := r.Base(t.Context(), ref); err != nil || got != want {
			t.Errorf("%q: %+v, %v; want %+v", ref, got, err, want)
		}
	}
	for _, ref := range []string{"nowhere", "-rf", "--help", "HEAD:a.txt", "main\x01"} {
		if _, err := r.Base(t.Context(), ref); !errors.Is(err, git.ErrBadRef) {
			t.Errorf("%q: %v", ref, err)
		}
	}
	sh(t, r.Root, "checkout", "-q", "--detach")
	r = must[*Repo](t)(Open(t.Context(), r.Root))
	if got, err := r.Base(t.Context(), ""); err != nil || got != (git.Base{Ref: "HEAD", Commit: id}) {
		t.Errorf("detached: %+v, %v", got, err)
	}
}

// The caller's own git variables must not lead us elsewhere.
func TestEnvironmentDoesNotLeak(t *testing.T) {
	r, other := newRepo(t), newRepo(t)
	t.Setenv("GIT_DIR", other.GitDir)
	t.Setenv("GIT_INDEX_FILE", filepath.Join(other.GitDir, "index"))
	t.Setenv("GIT_WORK_TREE", other.Root)
	t.Setenv("GIT_CONFIG_COUNT", "1")
	t.Setenv("GIT_CONFIG_KEY_0", "core.bare")
	t.Setenv("GIT_CONFIG_VALUE_0", "true")
	t.Setenv("LANG", "de_DE.UTF-8")
	got, err := Open(t.Context(), r.Root)
	if err != nil || got.Root != r.Root {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestHooksDoNotRun(t *testing.T) {
	r := newRepo(t)
	ran := filepath.Join(t.TempDir(), "ran")
	for _, hook := range []string{"post-checkout", "pre-commit", "commit-msg", "post-commit", "post-merge", "reference-transaction", "post-index-change"} {
		write(t, r.GitDir, "hooks/"+hook, "#!/bin/sh\necho "+hook+" >> '"+ran+"'\nexit 1\n")
		if err := os.Chmod(filepath.Join(r.GitDir, "hooks", hook), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	tree := lend(t, r, LendSpec{Path: beside(r, "w"), Branch: "w", Start: must[string](t)(r.Resolve(t.Context(), "HEAD")), Owner: "o"})
	write(t, tree.Path, "x", "x")
	tip := must[string](t)(r.CommitAll(t.Context(), tree.Path, "work"))
	if _, err := r.MergeInto(t.Context(), MergeSpec{Path: beside(r, "m"), Target: "main", Branches: []merge.Tip{{Name: "w", Commit: tip}}, StateFile: ran + ".json"}); err != nil {
		t.Fatal(err)
	}
	write(t, tree.Path, "y", "y")
	if _, err := r.Remove(t.Context(), tree.Path, RemoveSpec{}); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(ran); err == nil {
		t.Errorf("ran %q", b)
	}
}

func TestDirty(t *testing.T) {
	r := newRepo(t)
	if d := must[Dirt](t)(dirt(t.Context(), r.Root)); !d.Clean() || d.String() != "clean" {
		t.Errorf("%+v", d)
	}
	write(t, r.Root, "a.txt", "changed")
	write(t, r.Root, "new/1", "")
	write(t, r.Root, "new/2", "")
	write(t, r.Root, "x.ign", "")
	write(t, r.Root, "staged", "")
	sh(t, r.Root, "add", "staged")
	if d := must[Dirt](t)(dirt(t.Context(), r.Root)); d.String() != "1 staged, 1 modified, 1 untracked" || strings.Join(d.Paths, " ") != "a.txt staged new/" {
		t.Errorf("%+v", d)
	}
}

// One look says of HEAD and of what is uncommitted what two would say.
func TestHere(t *testing.T) {
	r := newRepo(t)
	write(t, r.Root, "a.txt", "changed")
	for _, at := range []string{"-q main", "-q -b side/way", "-q -b (detached)", "-q --detach"} {
		sh(t, r.Root, append([]string{"checkout"}, strings.Fields(at)...)...)
		d, b, err := r.Here(t.Context(), r.Root)
		if want := must[git.Base](t)(r.Base(t.Context(), "")); err != nil || b != want {
			t.Errorf("%s: %+v, %v; want %+v", at, b, err, want)
		}
		if d.String() != "1 modified" {
			t.Errorf("%s: %v", at, d)
		}
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := r.Here(over, r.Root); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// The first commit takes in what git does not ignore, once; without a file it is empty.
func TestFirstCommit(t *testing.T) {
	dir := t.TempDir()
	sh(t, dir, "init", "-q", "-b", "main")
	write(t, dir, "a.txt", "a")
	write(t, dir, "dir/b.txt", "b")
	write(t, dir, "out.log", "x")
	write(t, dir, ".gitignore", "*.log\n")
	files := must[[]string](t)(FirstFiles(t.Context(), dir))
	if strings.Join(files, " ") != ".gitignore a.txt dir/b.txt" {
		t.Errorf("%q would be committed", files)
	}
	commit := must[string](t)(FirstCommit(t.Context(), dir))
	if r := must[*Repo](t)(Open(t.Context(), dir)); head(t, r) != commit {
		t.Errorf("HEAD is not %s", commit)
	}
	if got := sh(t, dir, "ls-tree", "-r", "--name-only", "HEAD"); strings.Join(strings.Fields(got), " ") != strings.Join(files, " ") {
		t.Errorf("committed: %q", got)
	}
	if _, err := FirstCommit(t.Context(), dir); err == nil || !strings.Contains(err.Error(), "has a commit already") {
		t.Errorf("a second first commit: %v", err)
	}
	empty := t.TempDir()
	sh(t, empty, "init", "-q")
	must[string](t)(FirstCommit(t.Context(), empty))
	nobody := t.TempDir()
	sh(t, nobody, "init", "-q")
	for _, name := range []string{"GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL", "EMAIL"} {
		t.Setenv(name, "")
	}
	sh(t, nobody, "config", "user.useConfigOnly", "true")
	var h *hint.Error
	if _, err := FirstCommit(t.Context(), nobody); !errors.As(err, &h) || !strings.Contains(h.Try, "user.email") {
		t.Errorf("by nobody: %v", err)
	}
}
