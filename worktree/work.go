package worktree

import (
	"context"
	"fmt"
	"strings"
)

// Tip is the commit of a local branch; ErrBadRef when there is none.
func (r *Repo) Tip(ctx context.Context, branch string) (string, error) {
	return r.Resolve(ctx, "refs/heads/"+branch)
}

// UpdateRef moves a full ref name from old to commit in one step. An empty old
// means that the ref must not exist yet; it fails when the ref holds anything
// but old.
func (r *Repo) UpdateRef(ctx context.Context, ref, commit, old string) error {
	if old == "" {
		old = strings.Repeat("0", len(commit))
	}
	_, err := git(ctx, r.Root, "update-ref", "--create-reflog", "-m", "cmux", "--", ref, commit, old)
	if err != nil {
		return fmt.Errorf("cannot move %s to %.12s: %w", ref, commit, err)
	}
	return nil
}
