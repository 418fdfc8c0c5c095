// Package merging merges what the nodes of a run did: branch by branch into a branch
// of the person's, with checks after each.
//
// A merge that stops keeps what it has done and says how it goes on. Only a node that
// the review lets through is taken.
package merging

import (
	"cmux/agents/control/project"
	"cmux/agents/control/runs"
)

// Merging merges the work of the runs of a project, and checks it.
type Merging struct {
	*project.Project
	Runs *runs.Runs // which run is merged
}
