package worktree

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cmux/worktree/git"
	"cmux/worktree/hint"
	"cmux/worktree/submodule"
)

// withNested adds the submodule "lib/sub", which has a submodule "in" itself,
// and lends a worktree with both. Their origins stay.
func withNested(t *testing.T) (r *Repo, dir, sub string) {
	t.Helper()
	t.Setenv("GIT_CONFIG_GLOBAL", filepath.Join(t.TempDir(), "config"))
	r = newRepo(t)
	for _, name := range []string{"inner", "outer"} {
		origin := beside(r, name)
		if err := os.Mkdir(origin, 0o777); err != nil {
			t.Fatal(err)
		}
		sh(t, origin, "init", "-q", "-b", "main")
		sh(t, origin, "config", "receive.denyCurrentBranch", "ignore")
		commit(t, origin, name, name, name)
	}
	sh(t, beside(r, "outer"), "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", beside(r, "inner"), "in")
	commit(t, beside(r, "outer"), "with inner")
	sh(t, r.Root, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", "--name", "the sub", beside(r, "outer"), "lib/sub")
	sh(t, r.Root, "-c", "protocol.file.allow=always", "submodule", "--quiet", "update", "--init", "--recursive")
	commit(t, r.Root, "with submodules")
	tree := lend(t, r, LendSpec{Path: beside(r, "w"), Branch: "w", Owner: "o"})
	return r, tree.Path, filepath.Join(tree.Path, "lib/sub")
}

// What is in a submodule of the worktree and nowhere else goes to the project's
// own copy of the submodule and is named, wherever it hides.
func TestRemoveKeepsWhatOnlyASubmoduleHolds(t *testing.T) {
	for _, c := range []struct {
		name string
		lose func(t *testing.T, r *Repo, dir, sub string) (id string)
	}{
		{"a stash", func(t *testing.T, _ *Repo, _, sub string) string {
			write(t, sub, "outer", "changed")
			sh(t, sub, "stash", "-q")
			return sh(t, sub, "rev-parse", "stash")
		}},
		{"a tag", func(t *testing.T, _ *Repo, _, sub string) string {
			at := sh(t, sub, "rev-parse", "HEAD")
			id := commit(t, sub, "x", "x", "x")
			sh(t, sub, "tag", "v9")
			sh(t, sub, "checkout", "-q", at)
			return id
		}},
		{"an annotated tag", func(t *testing.T, _ *Repo, _, sub string) string {
			sh(t, sub, "tag", "-a", "-m", "mine", "v9")
			return sh(t, sub, "rev-parse", "refs/tags/v9")
		}},
		{"a reflog", func(t *testing.T, _ *Repo, _, sub string) string {
			id := commit(t, sub, "x", "x", "x")
			sh(t, sub, "reset", "-q", "--hard", "HEAD~1")
			return id
		}},
		{"a remote's branch that the remote does not have", func(t *testing.T, _ *Repo, dir, sub string) string {
			id := commit(t, sub, "x", "x", "x")
			sh(t, sub, "update-ref", "refs/remotes/origin/fake", id)
			commit(t, dir, "bump")
			return id
		}},
		{"a submodule that is not checked out any more", func(t *testing.T, _ *Repo, dir, sub string) string {
			sh(t, sub, "checkout", "-q", "-b", "feature")
			id := commit(t, sub, "x", "x", "x")
			commit(t, dir, "bump")
			sh(t, dir, "submodule", "--quiet", "deinit", "-f", "lib/sub")
			return id
		}},
		{"a submodule's submodule", func(t *testing.T, _ *Repo, dir, sub string) string {
			id := commit(t, filepath.Join(sub, "in"), "x", "x", "x")
			commit(t, sub, "bump")
			sh(t, sub, "push", "-q", "origin", "HEAD:refs/heads/bump")
			commit(t, dir, "bump")
			return id
		}},
		{"a remote in the worktree", func(t *testing.T, _ *Repo, dir, sub string) string {
			id := commit(t, sub, "x", "x", "x")
			sh(t, dir, "init", "-q", "--bare", "ignored/store.git")
			sh(t, sub, "remote", "set-url", "origin", filepath.Join(dir, "ignored/store.git"))
			sh(t, sub, "push", "-q", "origin", "HEAD:refs/heads/x")
			commit(t, dir, "bump")
			return id
		}},
		{"a repository that was added as it was", func(t *testing.T, _ *Repo, dir, _ string) string {
			own := filepath.Join(dir, "own")
			sh(t, dir, "init", "-q", "own")
			id := commit(t, own, "x", "x", "x")
			commit(t, dir, "with own")
			return id
		}},
		{"the folder is gone", func(t *testing.T, _ *Repo, dir, sub string) string {
			id := commit(t, sub, "x", "x", "x")
			if err := os.RemoveAll(dir); err != nil {
				t.Fatal(err)
			}
			return id
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, dir, sub := withNested(t)
			id := c.lose(t, r, dir, sub)
			var notes []string
			ctx := git.WithNotes(t.Context(), func(s string) { notes = append(notes, s) })
			if _, err := r.Remove(ctx, dir, RemoveSpec{}); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(strings.Join(notes, "\n"), id[:12]) {
				t.Errorf("%s is not named: %q", id, notes)
			}
			kept := 0
			modules := must[[]*repository](t)(modulesIn(r.GitDir, ""))
			for _, n := range append(modules, &repository{git: r.GitDir}) {
				out, err := submodule.InGitDir(n.git, r.Root, "", "for-each-ref", "--format=%(objectname)", "refs/cmux/kept").Run(t.Context())
				if err != nil {
					t.Error(err)
				}
				if strings.Contains(out, id) {
					kept++
				}
			}
			if kept != 1 {
				t.Errorf("%d copies hold %s", kept, id)
			}
		})
	}
}

// A submodule whose work its remote or the main worktree has goes.
func TestRemoveOfASubmoduleThatOthersHold(t *testing.T) {
	r, dir, sub := withNested(t)
	sh(t, sub, "checkout", "-q", "-b", "feature")
	commit(t, sub, "x", "x", "x")
	sh(t, sub, "push", "-q", "origin", "feature")
	commit(t, dir, "bump")
	if _, err := r.Remove(t.Context(), dir, RemoveSpec{}); err != nil {
		t.Error(err)
	}
}

// A repository that git passes over, because tracked files lie around it, and
// files where a submodule is not checked out are refused and named.
func TestRemoveRefusesHiddenRepositories(t *testing.T) {
	r, dir, sub := withNested(t)
	refused := func(path string) {
		t.Helper()
		_, err := r.Remove(t.Context(), dir, RemoveSpec{})
		if !errors.Is(err, ErrUnsavable) || !strings.Contains(err.Error(), path) {
			t.Fatalf("want a refusal that names %s: %v", path, err)
		}
		if err := os.Rename(filepath.Join(dir, path), filepath.Join(t.TempDir(), "away")); err != nil { // as it says
			t.Fatal(err)
		}
	}
	sh(t, filepath.Join(dir, "dir"), "init", "-q")
	commit(t, filepath.Join(dir, "dir"), "inner", "inner.txt", "inner")
	refused("dir/.git")

	write(t, dir, "dir/.git/note", "no repository, and git shows nothing of it")
	refused("dir/.git")

	if err := os.Mkdir(filepath.Join(sub, "deep"), 0o777); err != nil {
		t.Fatal(err)
	}
	write(t, sub, "deep/.git/note", "x")
	refused("lib/sub/deep/.git")

	sh(t, dir, "submodule", "--quiet", "deinit", "-f", "lib/sub")
	write(t, sub, "x", "x")
	refused("lib/sub")
	saved := must[*Snapshot](t)(r.Remove(t.Context(), dir, RemoveSpec{}))
	again := must[*Tree](t)(r.Restore(t.Context(), saved, RestoreSpec{}))
	if read(t, again.Path, "dir/inner.txt") != "inner" {
		t.Error("the files of the repository that was moved away are not in the snapshot")
	}
}

// History that is broken in a submodule is told.
func TestBrokenSubmoduleIsTold(t *testing.T) {
	r, dir, sub := withNested(t)
	at := sh(t, sub, "rev-parse", "HEAD")
	gone := commit(t, sub, "x", "x", "x")
	commit(t, sub, "y", "y", "y")
	sh(t, sub, "checkout", "-q", at)
	object := filepath.Join(private(t, sub), "objects", gone[:2], gone[2:])
	if err := os.Rename(object, beside(r, "object")); err != nil {
		t.Fatal(err)
	}
	_, err := r.Remove(t.Context(), dir, RemoveSpec{})
	var h *hint.Error
	if !errors.Is(err, ErrUnsavable) || !errors.As(err, &h) || !strings.Contains(h.Try, "fsck") {
		t.Fatal(err)
	}
	if err := os.Rename(beside(r, "object"), object); err != nil {
		t.Fatal(err)
	}
	if _, err = r.Remove(t.Context(), dir, RemoveSpec{}); err != nil {
		t.Fatal(err)
	}
}
