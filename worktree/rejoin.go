package worktree

import (
	"context"
	"path/filepath"

	"cmux/worktree/git"
	"cmux/worktree/gitfile"
	"cmux/worktree/separate"
)

// Separate reports whether gitDir is one of its own that a worktree of r has for a while.
func (r *Repo) Separate(gitDir string) bool {
	return filepath.Base(gitDir) == gitfile.Separate && filepath.Dir(filepath.Dir(gitDir)) == filepath.Join(r.GitDir, "worktrees")
}

// Rejoin takes over what the worktree at path has in a git directory of its own, which a
// process that was killed left. Nothing may run there.
func (r *Repo) Rejoin(ctx context.Context, path string) error {
	private, err := gitfile.Private(path)
	if err == nil && !r.Separate(private) && !(separate.Worktree{Private: private}).Begun() {
		return nil // nearly always
	}
	w, err := separate.Find(r.GitDir, path)
	if err != nil || !w.Begun() {
		return nil // not registered: others say so
	}
	left, err := w.End(ctx)
	for _, l := range left {
		git.Note(ctx, "%s was changed in %s, not in the repository: kept as %s", l.Ref, path, l.Kept)
	}
	return err
}
