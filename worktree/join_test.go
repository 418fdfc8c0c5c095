package worktree

import (
	"errors"
	"strings"
	"testing"

	"cmux/worktree/git"
	"cmux/worktree/merge"
)

func TestJoin(t *testing.T) {
	r := newRepo(t)
	base := head(t, r)
	into := branchWith(t, r, "into", base, "i", "i")
	part := branchWith(t, r, "part", into.Commit, "p", "p")

	// Always a merge commit, where a fast-forward would do; and once.
	at, moved, err := r.Join(t.Context(), "into", part)
	if err != nil || !moved || sh(t, r.Root, "log", "-1", "--format=%P|%s", "into") != into.Commit+" "+part.Commit+"|Merge part into into" {
		t.Fatalf("%s, %v, %v: %s", at, moved, err, sh(t, r.Root, "log", "-1", "--format=%P|%s", "into"))
	}
	if again, moved, err := r.Join(t.Context(), "into", part); err != nil || moved || again != at {
		t.Errorf("again: %s, %v, %v", again, moved, err)
	}

	// A conflict names the files and changes nothing.
	other := branchWith(t, r, "other", into.Commit, "p", "other")
	_, _, err = r.Join(t.Context(), "into", other)
	var conflict *merge.ConflictError
	if !errors.As(err, &conflict) || conflict.Into != "into" || strings.Join(conflict.Files, " ") != "p" || sh(t, r.Root, "rev-parse", "into") != at {
		t.Errorf("a conflict: %v", err)
	}

	// A checkout comes along, over nothing that is not committed.
	tree := lend(t, r, LendSpec{Path: beside(r, "w"), Branch: "into"})
	more := branchWith(t, r, "more", into.Commit, "m", "m")
	write(t, tree.Path, "m", "mine")
	if _, _, err = r.Join(t.Context(), "into", more); !errors.Is(err, ErrDirty) || read(t, tree.Path, "m") != "mine" || sh(t, r.Root, "rev-parse", "into") != at {
		t.Errorf("over what is not committed: %v", err)
	}
	write(t, tree.Path, "unrelated", "mine")
	sh(t, tree.Path, "clean", "-q", "-f", "m")
	if _, moved, err = r.Join(t.Context(), "into", more); err != nil || !moved || read(t, tree.Path, "m") != "m" || read(t, tree.Path, "unrelated") != "mine" {
		t.Errorf("beside what is not committed: %v, %v", moved, err)
	}

	if err := r.DropBranch(t.Context(), "part", into.Commit); err == nil {
		t.Error("a branch was removed that is at another commit")
	}
	if err := r.DropBranch(t.Context(), "part", part.Commit); err != nil {
		t.Error(err)
	}
	if _, err := r.Tip(t.Context(), "part"); !errors.Is(err, git.ErrBadRef) {
		t.Errorf("the branch stays: %v", err)
	}
}
