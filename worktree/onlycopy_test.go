package worktree

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cmux/worktree/hint"
	"cmux/worktree/merge"
)

// aside commits on a detached HEAD and goes back.
func aside(t *testing.T, dir, file string) (id string) {
	t.Helper()
	branch := sh(t, dir, "symbolic-ref", "--short", "HEAD")
	sh(t, dir, "checkout", "-q", "--detach")
	id = commit(t, dir, file, file, file)
	sh(t, dir, "checkout", "-q", branch)
	return id
}

// private is the private git directory of a worktree.
func private(t *testing.T, dir string) string {
	t.Helper()
	return sh(t, dir, "rev-parse", "--absolute-git-dir")
}

// What nothing but a worktree's private git directory names is in the snapshot
// when the worktree goes, and restoring names it.
func TestRemoveKeepsWhatOnlyTheWorktreeNames(t *testing.T) {
	for _, c := range []struct {
		name, from string
		lose       func(t *testing.T, r *Repo, dir string) (id string)
	}{
		{"a detached HEAD's commits", "logs/HEAD", func(t *testing.T, _ *Repo, dir string) string { return aside(t, dir, "x") }},
		{"a commit that was reset away", "ORIG_HEAD", func(t *testing.T, _ *Repo, dir string) string {
			id := commit(t, dir, "x", "x", "x")
			sh(t, dir, "reset", "-q", "--hard", "HEAD~1")
			return id
		}},
		{"a ref of the worktree's own", "refs/worktree/mine", func(t *testing.T, _ *Repo, dir string) string {
			id := aside(t, dir, "x")
			sh(t, dir, "update-ref", "refs/worktree/mine", id)
			if err := os.Remove(filepath.Join(private(t, dir), "logs/HEAD")); err != nil {
				t.Fatal(err)
			}
			return id
		}},
		{"what was fetched", "FETCH_HEAD", func(t *testing.T, _ *Repo, dir string) string {
			other := newRepo(t)
			id := commit(t, other.Root, "theirs", "theirs", "x")
			sh(t, dir, "fetch", "-q", other.Root)
			return id
		}},
		{"a file", "refs/worktree/b", func(t *testing.T, _ *Repo, dir string) string {
			write(t, dir, "x", "only here")
			id := sh(t, dir, "hash-object", "-w", "x")
			sh(t, dir, "update-ref", "refs/worktree/b", id)
			return id
		}},
		{"a branch whose ref is gone", "logs/HEAD", func(t *testing.T, _ *Repo, dir string) string {
			id := commit(t, dir, "x", "x", "x")
			write(t, dir, "y", "y")
			sh(t, dir, "update-ref", "-d", "refs/heads/w")
			return id
		}},
		{"the folder is gone", "logs/HEAD", func(t *testing.T, _ *Repo, dir string) string {
			id := aside(t, dir, "x")
			if err := os.RemoveAll(dir); err != nil {
				t.Fatal(err)
			}
			return id
		}},
		{"the folder is gone, and its branch", "logs/HEAD", func(t *testing.T, _ *Repo, dir string) string {
			id := commit(t, dir, "x", "x", "x")
			sh(t, dir, "update-ref", "-d", "refs/heads/w")
			if err := os.RemoveAll(dir); err != nil {
				t.Fatal(err)
			}
			return id
		}},
		{"the folder is gone, detached", "HEAD", func(t *testing.T, _ *Repo, dir string) string {
			sh(t, dir, "checkout", "-q", "--detach")
			id := commit(t, dir, "x", "x", "x")
			if err := os.RemoveAll(dir); err != nil {
				t.Fatal(err)
			}
			return id
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRepo(t)
			tree := lend(t, r, LendSpec{Path: beside(r, "w"), Branch: "w", Owner: "o"})
			id := c.lose(t, r, tree.Path)
			saved, err := r.Remove(t.Context(), tree.Path, RemoveSpec{})
			if err != nil || saved == nil {
				t.Fatalf("%v, %v", saved, err)
			}
			sh(t, r.Root, "gc", "-q", "--prune=now")
			if kind := sh(t, r.Root, "cat-file", "-t", id); kind != "commit" && kind != "blob" {
				t.Error(kind)
			}
			found := must[*Snapshot](t)(r.FindSnapshot(t.Context(), saved.ID))
			if len(found.Kept) != 1 || found.Kept[0].ID != id || found.Kept[0].From != c.from {
				t.Errorf("kept %v, want %s from %s", found.Kept, id, c.from)
			}
			if message := sh(t, r.Root, "log", "-1", "--format=%B", saved.Ref); !strings.Contains(message, "kept "+id) {
				t.Errorf("the message: %s", message)
			}
			if _, err := r.Restore(t.Context(), found, RestoreSpec{}); err != nil {
				t.Error(err)
			}
		})
	}
}

// An annotated tag that no ref held can be made again from the snapshot.
func TestKeptTag(t *testing.T) {
	r := newRepo(t)
	tree := lend(t, r, LendSpec{Path: beside(r, "w"), Branch: "w", Owner: "o"})
	sh(t, tree.Path, "tag", "-a", "-m", "mine", "t", aside(t, tree.Path, "x"))
	id := sh(t, tree.Path, "rev-parse", "refs/tags/t")
	sh(t, tree.Path, "update-ref", "refs/worktree/t", id)
	sh(t, tree.Path, "tag", "-d", "t")
	saved := must[*Snapshot](t)(r.Remove(t.Context(), tree.Path, RemoveSpec{}))
	sh(t, r.Root, "gc", "-q", "--prune=now")
	again := must[*Tree](t)(r.Restore(t.Context(), saved, RestoreSpec{}))
	if got := sh(t, again.Path, "rev-parse", "refs/worktree/t"); got != id {
		t.Errorf("refs/worktree/t is %s, want %s", got, id)
	}
	sh(t, r.Root, "cat-file", "-e", id+"^{commit}")
}

// A tree whose work others hold goes without a snapshot, and what its refs hold
// of that comes back with one.
func TestRemoveOfWhatOthersHold(t *testing.T) {
	r := newRepo(t)
	tree := lend(t, r, LendSpec{Path: beside(r, "w"), Branch: "w", Owner: "o"})
	commit(t, tree.Path, "work", "x", "x")
	sh(t, tree.Path, "update-ref", "refs/worktree/held", "HEAD")
	if saved, err := r.Remove(t.Context(), tree.Path, RemoveSpec{}); saved != nil || err != nil {
		t.Errorf("%v, %v", saved, err)
	}

	tree = lend(t, r, LendSpec{Path: beside(r, "w"), Branch: "w", Owner: "o"})
	id := aside(t, tree.Path, "y")
	sh(t, tree.Path, "update-ref", "refs/worktree/mine", id)
	saved := must[*Snapshot](t)(r.Remove(t.Context(), tree.Path, RemoveSpec{}))
	again := must[*Tree](t)(r.Restore(t.Context(), saved, RestoreSpec{}))
	if got := sh(t, again.Path, "rev-parse", "refs/worktree/mine"); got != id {
		t.Errorf("refs/worktree/mine is %s, want %s", got, id)
	}
}

// What a person committed in the tree of a merge that is aborted is kept; a
// trial merge of cmux's that was taken back is not worth a snapshot.
func TestAbortedMergeKeepsAPersonsCommits(t *testing.T) {
	for _, theirs := range []bool{false, true} {
		r := newRepo(t)
		base := head(t, r)
		commit(t, r.Root, "ours", "a.txt", "ours\n")
		spec := MergeSpec{Path: beside(r, "scratch"), Target: "main", StateFile: beside(r, "state.json"),
			Branches: []merge.Tip{branchWith(t, r, "b", base, "b.txt", "b\n"), branchWith(t, r, "c", base, "a.txt", "c\n")}}
		if _, err := r.MergeInto(t.Context(), spec); err == nil {
			t.Fatal("no conflict")
		}
		id := ""
		if theirs {
			id = commit(t, spec.Path, "mended", "a.txt", "mended\n")
		}
		if err := r.AbortMerge(t.Context(), spec); err != nil {
			t.Fatal(err)
		}
		all := must[[]Snapshot](t)(r.Snapshots(t.Context()))
		if !theirs && len(all) != 0 {
			t.Errorf("a snapshot of trial merges: %+v", all)
		}
		if theirs && (len(all) != 1 || all[0].Head != id) {
			t.Errorf("%+v does not hold %s", all, id)
		}
	}
}

// History that is broken is told, not passed over.
func TestBrokenHistoryIsTold(t *testing.T) {
	r := newRepo(t)
	tree := lend(t, r, LendSpec{Path: beside(r, "w"), Branch: "w", Owner: "o"})
	sh(t, tree.Path, "checkout", "-q", "--detach")
	gone := commit(t, tree.Path, "x", "x", "x")
	commit(t, tree.Path, "y", "y", "y")
	sh(t, tree.Path, "checkout", "-q", "w")
	if err := os.Remove(filepath.Join(r.GitDir, "objects", gone[:2], gone[2:])); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(tree.Path); err != nil {
		t.Fatal(err)
	}
	_, err := r.Remove(t.Context(), tree.Path, RemoveSpec{})
	var h *hint.Error
	if !errors.As(err, &h) || !errors.Is(err, ErrUnsavable) || !strings.Contains(err.Error(), gone) {
		t.Fatal(err)
	}
	literally(t, r, h.Try)
	if _, err := r.Remove(t.Context(), tree.Path, RemoveSpec{}); err != nil {
		t.Error(err)
	}
}
