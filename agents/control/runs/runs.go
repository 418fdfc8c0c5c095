// Package runs is what can be asked about the runs of a project: which run and which
// node a command means, how it stands, what a person is wanted for, what was changed.
//
// It only looks: nothing here orders, and no runner is needed or disturbed. A text
// names the command that goes on from what it says, with the session where another run
// could be meant.
package runs

import "cmux/agents/control/project"

// Runs are the runs of a project, as its caller sees them. Which of several is meant
// may be asked once; the answer is then the Session of the Project.
type Runs struct{ *project.Project }
