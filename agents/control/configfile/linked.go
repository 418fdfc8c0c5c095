package configfile

import (
	"context"
	"strings"

	"cmux/agents/control/project"
)

// Linked returns the root of the linked worktree that the caller stands in. "" means
// that they stand in the main worktree or in none, or that CMUX_HOME names the
// project.
func (p *Files) Linked(ctx context.Context) (string, error) {
	if p.Getenv("CMUX_HOME") != "" || p.Dir == p.Root {
		return "", nil
	}
	top, err := p.Git(ctx, p.Dir, "rev-parse", "--path-format=absolute", "--show-toplevel")
	if err != nil { // in no worktree at all, such as .git
		return "", ctx.Err()
	}
	if top = strings.TrimSuffix(top, "\n"); top == p.Root || project.IsGuard(top) {
		return "", nil
	}
	return top, nil
}
