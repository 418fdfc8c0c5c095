package worktree

import (
	"path/filepath"
	"testing"

	"cmux/signals/powercut"
)

func TestSyncSurvivesAPowerCut(t *testing.T) {
	disk := powercut.New(t)
	root := filepath.Join(disk.Path, "p")
	sh(t, disk.Path, "init", "-q", "-b", "main", root)
	commit(t, root, "first", "a.txt", "a\n")
	r := must[*Repo](t)(Open(t.Context(), root))
	tree := lend(t, r, LendSpec{Path: filepath.Join(disk.Path, "w"), Branch: "w", Owner: "o"})
	write(t, tree.Path, "b.txt", "b\n")
	id := must[string](t)(r.CommitAll(t.Context(), tree.Path, "work"))
	if err := r.Sync(); err != nil {
		t.Fatal(err)
	}
	disk.Cut()
	sh(t, root, "fsck", "--strict")
	if got := sh(t, tree.Path, "rev-parse", "HEAD"); got != id {
		t.Errorf("the worktree is at %s, want %s", got, id)
	}
	if got := sh(t, root, "show", "w:b.txt"); got != "b" {
		t.Errorf("the work is %q", got)
	}
}
