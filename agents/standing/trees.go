package standing

import (
	"context"
	"errors"
	"io/fs"
	"os"

	"cmux/worktree"
)

// GitTrees gives agents worktrees of a repository.
type GitTrees struct{ Repo *worktree.Repo }

// Lend makes the worktree at path. start is a branch or a commit; empty: HEAD.
func (g GitTrees) Lend(ctx context.Context, path, branch, start, owner string) error {
	base, err := g.Repo.Base(ctx, start)
	if err != nil {
		return err
	}
	_, err = g.Repo.Lend(ctx, worktree.LendSpec{Path: path, Branch: branch, Start: base.Commit, Owner: owner})
	return err
}

// Remove saves what is in the worktree and removes it.
func (g GitTrees) Remove(ctx context.Context, path, name, reason string) (string, error) {
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) && !g.Repo.Registered(path) {
		return "", nil
	}
	s, err := g.Repo.Remove(ctx, path, worktree.RemoveSpec{Name: name, Reason: reason})
	if s == nil {
		return "", err
	}
	return s.RestoreCommand(), err
}
