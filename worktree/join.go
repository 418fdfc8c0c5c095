package worktree

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"sync"
)

// Join merges a tip into a branch, always by a merge commit, and without a
// checkout. Where the branch is checked out, the checkout comes along; ErrDirty
// says that uncommitted changes there would be overwritten. A *ConflictError names
// what does not fit: nothing was touched. It returns where the branch is now, and
// whether it moved: a tip that it holds already is not merged again.
func (r *Repo) Join(ctx context.Context, branch string, tip Tip) (commit string, moved bool, err error) {
	for {
		base, err := r.Tip(ctx, branch)
		if err != nil {
			return "", false, err
		}
		if holds, err := r.Holds(ctx, base, tip.Commit); err != nil || holds {
			return base, false, err
		}
		tree, files, err := r.mergeTree(ctx, base, tip.Commit, branch, tip.Name)
		if err != nil {
			return "", false, err
		}
		if len(files) > 0 {
			return "", false, &ConflictError{Into: branch, Tips: []string{tip.Name}, Files: files}
		}
		parents := []Tip{{Commit: base}, tip}
		m := merger{r: r}
		if m.date, err = r.latestDate(ctx, parents); err != nil {
			return "", false, err
		}
		commit, err := m.commit(ctx, tree, fmt.Sprintf("Merge %s into %s\n", tip.Name, branch), parents)
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
	r.ownBranch(out, commit)
	f := follower{r: r, root: out, person: true}
	err = f.run(ctx, func() error { return fastForward(ctx, out, commit) })
	if err == nil || ctx.Err() != nil {
		return false, err
	}
	if now, terr := r.Tip(ctx, branch); terr == nil && now != tip {
		return true, nil // somebody committed at this moment
	}
	var ge *GitError
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

// DropBranch removes a branch that is at a commit, and at no other.
func (r *Repo) DropBranch(ctx context.Context, branch, commit string) error {
	if err := r.deleteRef(ctx, "refs/heads/"+branch, commit); err != nil {
		return fmt.Errorf("cannot remove the branch %s: %w", branch, err)
	}
	return nil
}

// deleteRef removes a ref that is at a commit, and at no other.
func (r *Repo) deleteRef(ctx context.Context, ref, commit string) error {
	r.own(Own{Ref: ref, Old: commit})
	_, err := git(ctx, r.Root, "update-ref", "-d", "--", ref, commit)
	return err
}

// RemoveBranch is DropBranch for a branch that somebody may be on: git refuses one
// that is checked out or being rebased in any worktree.
func (r *Repo) RemoveBranch(ctx context.Context, branch, commit string) error {
	tip, err := r.Tip(ctx, branch)
	if err == nil && tip != commit {
		err = fmt.Errorf("it has moved to %.12s", tip)
	}
	if err == nil {
		var out string
		r.own(Own{Ref: "refs/heads/" + branch, Old: commit})
		out, err = git(ctx, r.Root, "branch", "-D", "--", branch)
		if m := removed().FindStringSubmatch(out); err == nil && m != nil && !strings.HasPrefix(commit, m[1]) { // it moved in between
			_, err = git(ctx, r.Root, "branch", "--no-track", "--", branch, m[1])
			err = errors.Join(errors.New("it has moved"), err)
		}
	}
	if err != nil {
		return fmt.Errorf("cannot remove the branch %s: %w", branch, err)
	}
	return nil
}

var removed = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\(was ([0-9a-f]{4,64})\)`) })
