package attempt

import (
	"context"
	"errors"

	"cmux/worktree"
)

func openTree(ctx context.Context, a *attempt) (tree, error) {
	return nil, errors.New("worktrees are not served yet")
}

func isConflict(err error) bool {
	var c *worktree.ConflictError
	return errors.As(err, &c)
}
