// Package trees gives standing agents worktrees of a repository.
package trees

import (
	"context"
	"errors"
	"io/fs"
	"os"

	"cmux/agents/org/standing"
	"cmux/worktree"
	"cmux/worktree/git"
	"cmux/worktree/merge"
	"cmux/worktree/separate"
)

// Git gives agents worktrees of a repository; it implements standing.Trees.
type Git struct{ Repo *worktree.Repo }

// Foreign reports whether path is a worktree of another repository.
func (g Git) Foreign(path string) bool { return g.Repo.Foreign(path) }

// Lend makes the worktree at path. start is a branch or a commit; empty: HEAD.
func (g Git) Lend(ctx context.Context, path, branch, start, owner string) error {
	base, err := g.Repo.Base(ctx, start)
	if err != nil {
		return err
	}
	_, err = g.Repo.Lend(ctx, worktree.LendSpec{Path: path, Branch: branch, Start: base.Commit, Owner: owner, NoFresh: true})
	return err
}

// Start merges the contributions into start without a checkout, in their order. The
// same contributions on the same start give the same commit.
func (g Git) Start(ctx context.Context, branch, start string, all []standing.Contribution) (string, error) {
	base, err := g.Repo.Base(ctx, start)
	if err != nil {
		return "", err
	}
	var tips []merge.Tip
	for i := range all {
		c := &all[i]
		if c.Commit == "" {
			c.Commit, err = g.Repo.Tip(ctx, c.Branch)
			if errors.Is(err, git.ErrBadRef) {
				continue // a person called the task done, and it has no branch
			} else if err != nil {
				return "", err
			}
		}
		tips = append(tips, merge.Tip{Name: c.Task, Commit: c.Commit})
	}
	tip, err := g.Repo.Tip(ctx, branch)
	if err == nil {
		for i := range all {
			if c := &all[i]; c.Commit != "" {
				common, err := g.Repo.Common(ctx, tip, c.Commit)
				if err != nil {
					return "", err
				}
				c.In = common == c.Commit
			}
		}
		return "", nil
	} else if !errors.Is(err, git.ErrBadRef) {
		return "", err
	}
	commit, err := g.Repo.Merge(ctx, base.Commit, tips)
	var conflict *merge.ConflictError
	if errors.As(err, &conflict) {
		conflict.CallBase(start)
	}
	for i := range all {
		all[i].In = err == nil && all[i].Commit != ""
	}
	return commit, err
}

// Switch checks a branch out in the worktree at path, or start itself where
// branch is empty. Work on a branch that is
// there began where it left start.
func (g Git) Switch(ctx context.Context, path, branch, start, reason string) (commit, restore string, err error) {
	base, err := g.Repo.Base(ctx, start)
	if err != nil {
		return "", "", err
	}
	saved, err := g.Repo.Switch(separate.AtRest(ctx, g.Repo.Root, path), worktree.SwitchSpec{Path: path, Branch: branch, Start: base.Commit, Reason: reason})
	if saved != nil {
		restore = saved.RestoreCommand()
	}
	if err != nil {
		return "", restore, err
	}
	if branch == "" {
		return base.Commit, restore, nil
	}
	commit, err = g.Repo.Common(ctx, base.Commit, "refs/heads/"+branch)
	return commit, restore, err
}

// Head is what is checked out in a folder that agents share.
func (g Git) Head(ctx context.Context, dir string) (branch, commit string, err error) {
	f, err := worktree.OpenFolder(separate.AtRest(ctx, g.Repo.Root, dir), dir)
	if err != nil || f == nil {
		return "", "", err
	}
	return f.Branch, f.Commit, nil
}

// Restore brings back into the worktree at path what a snapshot of the branch holds.
func (g Git) Restore(ctx context.Context, path, branch, snapshot string) error {
	s, err := g.Repo.FindSnapshot(ctx, snapshot)
	if err != nil {
		return err
	}
	_, err = g.Repo.Restore(separate.AtRest(ctx, g.Repo.Root, path), s, worktree.RestoreSpec{Path: path, Branch: branch})
	return err
}

// Remove saves what is in the worktree and removes it.
func (g Git) Remove(ctx context.Context, path, name, reason string) (string, error) {
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) && !g.Repo.Registered(path) {
		return "", nil
	}
	s, err := g.Repo.Remove(ctx, path, worktree.RemoveSpec{Name: name, Reason: reason})
	if s == nil {
		return "", err
	}
	return s.RestoreCommand(), err
}
