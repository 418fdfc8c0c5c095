package worktree

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
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
	out, err := checkedOut(ctx, r, branch)
	if err != nil {
		return false, err
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

// checkedOut returns the worktree that has a branch checked out; "": none.
func checkedOut(ctx context.Context, r *Repo, branch string) (path string, err error) {
	all, err := r.registrations(ctx)
	for _, e := range all {
		if _, err := os.Lstat(e.path); err == nil && e.branch == branch {
			path = e.path
		}
	}
	return path, err
}

// InTheWay returns an ErrDirty if a branch of r cannot take in the changes of a commit,
// because its checkout has uncommitted changes of the same files, or an operation of git's
// has not ended there. What it does not see, git refuses when the branch moves.
func InTheWay(ctx context.Context, r *Repo, branch, commit string) error {
	out, err := checkedOut(ctx, r, branch)
	if err != nil || out == "" {
		return err
	}
	entries, err := unclean(ctx, out, "all")
	if err != nil {
		return err
	}
	if d, err := dirtOf(ctx, out, entries); err != nil || d.Clean() {
		return err
	} else if d.Operation != "" {
		return &UnfinishedError{Branch: branch, Path: out, Operation: d.Operation}
	}
	from, err := r.Common(ctx, "refs/heads/"+branch, commit) // else than the branch if it has moved meanwhile
	if err != nil || from == "" {
		return err
	}
	touched, err := r.Touched(ctx, from, commit)
	var paths []string
	for _, e := range entries {
		if _, is := slices.BinarySearch(touched, e.Path); is && !strings.HasPrefix(e.Sub, "S") {
			paths = append(paths, e.Path)
		}
	}
	if err != nil || len(paths) == 0 {
		return err
	}
	return fmt.Errorf("%w: %s is checked out in %s, with changes of %s that are not committed", ErrDirty, branch, out, git.Shown(paths))
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
