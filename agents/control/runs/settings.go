package runs

import (
	"context"
	"fmt"
	"strings"

	"cmux/agents/runs/run"
	"cmux/worktree"
	"cmux/worktree/common"
)

// Settings are the settings that cmux's own git reads as they were when the run
// began, as far as they name programs. Where that is not known they hold.
func (p *Runs) Settings(ctx context.Context, r *run.Run, repo *worktree.Repo) []string {
	_, changes, err := r.Drift(ctx, repo)
	if err != nil {
		p.Tell("warning: " + err.Error())
	}
	settings := common.As(changes)
	if len(settings) > 0 {
		names := make([]string, 0, len(settings))
		for _, s := range settings {
			key, _, _ := strings.Cut(s, "=")
			names = append(names, key)
		}
		p.Tell(fmt.Sprintf("warning: changed since the run began and not used: %s (cmux agents shared)", strings.Join(names, ", ")))
	}
	return settings
}
