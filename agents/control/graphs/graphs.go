// Package graphs shows and edits graphs of nodes: the one of a configuration, as it
// would unfold, and that of a run, beside that of another run.
//
// Only WriteGraph changes anything: the file of the configuration, if it is still what
// the caller has read.
package graphs

import (
	"cmux/agents/control/configfile"
	"cmux/agents/control/project"
	"cmux/agents/control/runs"
)

// Graphs are the graphs of a project, as its caller sees them.
type Graphs struct {
	*project.Project
	Runs           *runs.Runs
	Configurations *configfile.Files
}
