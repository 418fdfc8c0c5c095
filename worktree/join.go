package worktree

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"cmux/worktree/git"
	"cmux/worktree/merge"
	"cmux/worktree/submodule"
)

// Join merges a tip into a branch, always by a merge commit, and without a
// checkout. Where the branch is checked out, the checkout comes along; ErrDirty
// says that uncommitted changes there would be overwritten. A *ConflictError names
// what does not fit: nothing was touched. It returns where the branch is now, and
// whether it moved: a tip that it holds already is not merged again.
func (r *Repo) Join(ctx context.Context, branch string, tip merge.Tip) (commit string, moved bool, err error) {
	for {
		base, err := r.Tip(ctx, branch)
		if err != nil {
			return "", false, err
		}
		if holds, err := r.Holds(ctx, base, tip.Commit); err != nil || holds {
			return base, false, err
		}
		tree, files, err := r.MergeTree(ctx, base, tip.Commit, branch, tip.Name)
		if err != nil {
			return "", false, err
		}
		if len(files) > 0 {
			return "", false, &merge.ConflictError{Into: branch, Tips: []string{tip.Name}, Files: files}
		}
		parents := []merge.Tip{{Commit: base}, tip}
		date, err := r.LatestDate(ctx, parents)
		if err != nil {
			return "", false, err
		}
		commit, err := r.CommitTree(ctx, tree, fmt.Sprintf("Merge %s into %s\n", tip.Name, branch), parents, date)
		if err != nil {
			return "", false, err
		}
		if again, err := r.advance(ctx, branch, base, commit); err != nil || !again {
			return commit, err == nil, err
		}
	}
}

// advance moves a branch from tip to a commit that holds it. A checkout of it comes
// along, but over no uncommitted changes (ErrDirty). again says that somebody else
// has moved it meanwhile.
func (r *Repo) advance(ctx context.Context, branch, tip, commit string) (again bool, err error) {
	all, err := r.registrations(ctx)
	if err != nil {
		return false, err
	}
	out := ""
	for _, e := range all {
		if _, err := os.Lstat(e.path); err == nil && e.branch == branch {
			out = e.path
		}
	}
	if out == "" {
		return false, r.UpdateRef(ctx, "refs/heads/"+branch, commit, tip)
	}
	r.RecordOwnBranch(out, commit)
	f := submodule.Follower{Repo: &r.Repo, Root: out, Person: true}
	err = f.Run(ctx, func() error { return fastForward(ctx, out, commit) })
	if err == nil || ctx.Err() != nil {
		return false, err
	}
	if now, terr := r.Tip(ctx, branch); terr == nil && now != tip {
		return true, nil // somebody committed at this moment
	}
	var ge *git.Error
	if errors.As(err, &ge) && strings.Contains(ge.Stderr, "overwritten") {
		return false, fmt.Errorf("%w: %s is checked out in %s: %w", ErrDirty, branch, out, err)
	}
	if d, derr := dirt(ctx, out); derr == nil && d.Operation != "" {
		return false, &UnfinishedError{Branch: branch, Path: out, Operation: d.Operation}
	}
	return false, err
}

// UnfinishedError says that a branch cannot move, because an operation of git's has
// not ended where it is checked out. It is an ErrDirty.
type UnfinishedError struct {
	Branch    string
	Path      string // of the worktree
	Operation string // merge, cherry-pick, ...
}

func (e *UnfinishedError) Error() string {
	return fmt.Sprintf("%v: %s is checked out in %s, where a %s has not ended", ErrDirty, e.Branch, e.Path, e.Operation)
}

func (e *UnfinishedError) Unwrap() error { return ErrDirty }
