package separate

import (
	"context"
	"path/filepath"

	"cmux/worktree/git"
	"cmux/worktree/gitfile"
)

// Find returns the worktree at path, which must be registered in the git directory common.
func Find(common, path string) (Worktree, error) {
	repo := git.Repo{GitDir: common}
	private, err := repo.FindPrivate(path)
	return Worktree{Tree: path, Private: private, Common: common}, err
}

// Is reports whether gitDir is a separate one of a worktree of the git directory common.
func Is(common, gitDir string) bool {
	return filepath.Base(gitDir) == gitfile.Separate && filepath.Dir(filepath.Dir(gitDir)) == filepath.Join(common, "worktrees")
}

// AtRest returns ctx for git in the worktree at path, of the repository of root, while an
// agent lives there and works on nothing: the agent can have changed where .git leads. It is
// ctx itself where no folder is reserved, or a separate git directory is in use.
func AtRest(ctx context.Context, root, path string) context.Context {
	common := filepath.Join(root, ".git")
	if private, err := gitfile.Private(root); err == nil {
		common = gitfile.Common(private)
	}
	w, err := Find(common, path)
	if err != nil || !w.Begun() || w.Works() {
		return ctx
	}
	return git.WithTree(ctx, path, w.Private)
}

// Publish publishes the commits of the worktree at path, if it has a separate git directory.
func Publish(ctx context.Context, common, path string) error {
	private, err := gitfile.Private(path)
	if err != nil || !Is(common, private) {
		return nil
	}
	w, err := Find(common, path)
	if err != nil {
		return err
	}
	return w.Publish(ctx)
}

// Rejoin ends a separate git directory of the worktree at path which a process that was
// killed left. Nothing may run there.
func Rejoin(ctx context.Context, common, path string) error {
	private, err := gitfile.Private(path)
	if err == nil && !Is(common, private) && !(Worktree{Private: private}).Begun() {
		return nil // nearly always
	}
	w, err := Find(common, path)
	if err != nil || !w.Begun() {
		return nil // not registered: others say so
	}
	left, err := w.End(ctx)
	for _, l := range left {
		git.Note(ctx, "%s: %s", path, l)
	}
	return err
}
