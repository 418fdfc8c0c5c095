// Package remains is what runs leave behind: worktrees, snapshots, a changelog, and
// their own folders.
//
// It shows, restores and removes them. A worktree is saved before it is removed; a run
// that has not ended, and the newest of each session, stays.
package remains

import (
	"cmux/agents/control/project"
	"cmux/agents/control/runs"
)

// Remains are what the runs of a project left behind.
type Remains struct {
	*project.Project
	Runs *runs.Runs // which run is meant
}
