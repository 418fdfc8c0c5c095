package worktree

import (
	"context"
	"errors"
	"fmt"

	"cmux/worktree/git"
	"cmux/worktree/separate"
)

// LendBranch makes the branch of s in r as Lend does, for work in another repository, and no
// worktree: a branch that exists is continued with those of the Contributions that it
// lacks merged in, a Fresh one is saved and begins again at Start. The Tree has no path.
//
// A worktree of the branch at Path would fall behind it, so it is removed, with what it
// holds saved if s.Fresh. Otherwise what is not committed there is refused (ErrDirty): it
// does not travel. A branch checked out elsewhere is ErrBranchOut.
func LendBranch(ctx context.Context, r *Repo, s LendSpec) (*Tree, error) {
	if s.Branch == "" {
		return &Tree{Head: s.Start, Owner: s.Owner}, nil
	}
	path, err := git.RealPath(s.Path)
	if err != nil {
		return nil, err
	}
	s.Path = path
	release, err := r.claim(path)
	if err != nil {
		return nil, err
	}
	defer release()
	if _, err := git.Run(ctx, r.Root, "check-ref-format", "refs/heads/"+s.Branch); err != nil {
		if git.ExitCode(err) > 0 {
			err = fmt.Errorf("git does not allow the branch name %q", s.Branch)
		}
		return nil, err
	}
	if err := separate.Rejoin(ctx, r.GitDir, s.Path); err != nil {
		return nil, err
	}
	if err := leavePath(ctx, r, s); err != nil {
		return nil, err
	}
	if err := r.freeBranch(ctx, s); err != nil {
		return nil, err
	}
	old, err := r.Tip(ctx, s.Branch)
	if err != nil && !errors.Is(err, git.ErrBadRef) {
		return nil, err
	}
	t, _, err := branch(ctx, r, s, old)
	if err != nil {
		return nil, err
	}
	t.Path = ""
	return t, nil
}

// leavePath removes the worktree at the path if it has the branch.
func leavePath(ctx context.Context, r *Repo, s LendSpec) error {
	all, err := r.registrations(ctx)
	if err != nil {
		return err
	}
	for i, e := range all {
		if i == 0 || e.path != s.Path || e.branch != s.Branch {
			continue
		}
		if copied, err := r.forgetCopied(ctx, e.path); copied || err != nil {
			return err
		}
		free, err := absentOrEmpty(s.Path)
		if err != nil {
			return err
		}
		if !free && !s.Fresh && !r.unfinished(s.Path) {
			if err := r.relink(ctx, s.Path); err != nil {
				return err
			}
			d, err := dirt(ctx, s.Path)
			if err != nil {
				return err
			}
			if !d.Clean() {
				return r.dirty(s.Path, d, "only commits travel to another machine")
			}
		}
		_, err = r.remove(ctx, s.Path, RemoveSpec{Name: snapshotName(s), Reason: "the work on " + s.Branch + " moves to another machine"})
		return err
	}
	return nil
}
