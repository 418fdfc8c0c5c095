package git

import "context"

// Detach takes the worktree at dir off its branch. HEAD, files and index stay as they
// are, and a later commit there moves no branch. Detach does nothing if the worktree is
// on another branch, or on none.
func Detach(ctx context.Context, dir, branch string) error {
	on, err := Run(ctx, dir, "symbolic-ref", "--quiet", "HEAD")
	if ExitCode(err) == 1 {
		return nil
	}
	if err != nil || Line(on) != "refs/heads/"+branch {
		return err
	}
	head, err := Run(ctx, dir, "rev-parse", "--verify", "--quiet", "HEAD")
	if ExitCode(err) == 1 {
		return nil // it has no commit yet
	}
	if err != nil {
		return err
	}
	_, err = Run(ctx, dir, "update-ref", "--no-deref", "-m", "cmux: the task was cancelled", "HEAD", Line(head))
	return err
}
