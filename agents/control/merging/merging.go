// Package merging merges what the nodes of a run did: branch by branch into a branch
// of the person's, with checks after each.
//
// A merge that stops keeps what it has done and says how it goes on. Only a node that
// the review lets through is taken.
package merging

import (
	"cmux/agents/control/project"
	"cmux/agents/control/runs"
	"context"
)

// Merging merges the work of the runs of a project, and checks it.
type Merging struct {
	*project.Project
	Runs *runs.Runs // which run is merged
	Talk Talk       // about work that does not fit; nil: nobody does
}

// Talk has agents talk about work that does not fit, merge:ID, where that is wanted, and
// returns the room in which they do; empty: there is none.
type Talk func(ctx context.Context, about string) (room string, err error)
