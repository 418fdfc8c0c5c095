// Package commands is what a person, an agent or a client can command of runs: start,
// resume, update, stop, retry, answer, approve, override, release, judge.
//
// A command to a run is a request that its runner carries out or refuses (order.go).
// Without a runner it waits for one, or gives the run one if the caller wants that.
// What a run is, and which one is meant, package runs says.
package commands

import (
	"cmux/agents/control/configfile"
	"cmux/agents/control/project"
	"cmux/agents/control/runs"
)

// Commands gives commands to the runs of a project, for its caller.
type Commands struct {
	*project.Project
	Runs           *runs.Runs        // which run and node is meant
	Configurations *configfile.Files // which configuration a run is started from
}
