package worktree

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// withSubmodule adds an initialised submodule "lib/sub" whose origin is then
// taken away, so that nothing but the local objects can serve it.
func withSubmodule(t *testing.T, r *Repo) {
	t.Helper()
	origin := filepath.Join(t.TempDir(), "origin")
	if err := os.Mkdir(origin, 0o777); err != nil {
		t.Fatal(err)
	}
	sh(t, origin, "init", "-q", "-b", "main")
	commit(t, origin, "sub", "sub.txt", "sub\n")
	sh(t, r.Root, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", "--name", "the sub", origin, "lib/sub")
	// A commit that only the main worktree's submodule has.
	commit(t, filepath.Join(r.Root, "lib/sub"), "local", "local.txt", "local\n")
	commit(t, r.Root, "with submodule")
	if err := os.RemoveAll(origin); err != nil {
		t.Fatal(err)
	}
}

func TestLendChecksSubmodulesOut(t *testing.T) {
	r := newRepo(t)
	withSubmodule(t, r)
	url := sh(t, r.Root, "-C", "lib/sub", "config", "remote.origin.url")
	tree := lend(t, r, LendSpec{Path: beside(r, "w"), Branch: "w", Owner: "o"})
	if read(t, tree.Path, "lib/sub/local.txt") != "local\n" {
		t.Error("not checked out")
	}
	if got := sh(t, tree.Path, "-C", "lib/sub", "config", "remote.origin.url"); got != url {
		t.Errorf("origin %q, want %q", got, url)
	}
	if got := sh(t, r.Root, "config", "submodule.the sub.url"); got != url {
		t.Errorf("the main worktree's configuration says %q now", got)
	}
	clean(t, tree.Path, tree.Head)

	write(t, tree.Path, "lib/sub/local.txt", "changed\n")
	if _, err := r.Remove(t.Context(), tree.Path, RemoveSpec{}); !errors.Is(err, ErrUnsavable) || !strings.Contains(err.Error(), "lib/sub") {
		t.Errorf("changes in the submodule: %v", err)
	}
	commit(t, filepath.Join(tree.Path, "lib/sub"), "in the submodule")
	if _, err := r.Remove(t.Context(), tree.Path, RemoveSpec{}); !errors.Is(err, ErrUnsavable) {
		t.Errorf("a commit in the submodule: %v", err)
	}
	commit(t, tree.Path, "bump")
	if _, err := r.Remove(t.Context(), tree.Path, RemoveSpec{}); !errors.Is(err, ErrUnsavable) {
		t.Errorf("a commit in the submodule alone: %v", err)
	}
	sh(t, tree.Path, "-C", "lib/sub", "push", "-q", filepath.Join(r.Root, "lib/sub"), "HEAD:refs/heads/kept")
	if _, err := r.Remove(t.Context(), tree.Path, RemoveSpec{}); err != nil {
		t.Error(err)
	}
}

func TestLendSaysThatASubmoduleFails(t *testing.T) {
	r := newRepo(t)
	withSubmodule(t, r)
	sub := filepath.Join(r.Root, "lib/sub")
	old := sh(t, sub, "rev-parse", "HEAD")
	commit(t, sub, "gone")
	start := commit(t, r.Root, "points to a commit that will be gone")
	sh(t, sub, "reset", "-q", "--hard", old)
	sh(t, sub, "reflog", "expire", "--expire=all", "--all")
	sh(t, sub, "gc", "-q", "--prune=now")
	_, err := r.Lend(t.Context(), LendSpec{Path: beside(r, "w"), Branch: "w", Start: start, Owner: "o"})
	var h *Hint
	if !errors.Is(err, ErrSubmodule) || !errors.As(err, &h) || !strings.Contains(h.Try, "submodule update") {
		t.Errorf("%v", err)
	}
}
