package worktree

import "context"

// Detach takes a worktree off its branch: HEAD stays at the same commit, files and
// index stay as they are, and a later commit in it moves no branch. It does nothing
// where the worktree is on another branch than that, or on none.
func Detach(ctx context.Context, dir, branch string) error {
	on, err := git(ctx, dir, "symbolic-ref", "--quiet", "HEAD")
	if exitCode(err) == 1 {
		return nil
	}
	if err != nil || line(on) != "refs/heads/"+branch {
		return err
	}
	head, err := git(ctx, dir, "rev-parse", "--verify", "--quiet", "HEAD")
	if exitCode(err) == 1 {
		return nil // it has no commit yet
	}
	if err != nil {
		return err
	}
	_, err = git(ctx, dir, "update-ref", "--no-deref", "-m", "cmux: the task was cancelled", "HEAD", line(head))
	return err
}
