package agenttest

import "cmux/dag"

// Play is what an agent does: to each prompt that it is given, the acts of the
// first part that is about it. After the last of them its turn ends.
type Play []Part

// Part is what it does to a prompt.
type Part struct {
	On   string // in the prompt; empty: the task
	Acts []Act
}

// Act is one thing that an agent does: Do, Say, Report, Blocked, Ask, Limit,
// Fail, Use or Hold.
type Act interface{ act() }

type (
	// Do runs a line of shell commands.
	Do string
	// Say is said to whoever reads along.
	Say string
	// Report says that the task is done.
	Report string
	// Blocked says why it cannot be done.
	Blocked string
	// Ask puts the question of the Subject to a person and waits for the answer.
	Ask struct{}
	// Limit is a limit that the account meets; it ends the turn.
	Limit struct{}
	// Fail is what makes the agent fail, as often as it tries; it ends the turn.
	Fail struct{}
	// Use is what the next answer of the model uses.
	Use dag.Usage
	// Hold waits until the gate of that name is open.
	Hold string
)

func (Do) act()      {}
func (Say) act()     {}
func (Report) act()  {}
func (Blocked) act() {}
func (Ask) act()     {}
func (Limit) act()   {}
func (Fail) act()    {}
func (Use) act()     {}
func (Hold) act()    {}

// Player has an agent play.
type Player interface {
	// Env is the environment of start.
	Env() []string
	// Task is what is to be the node's task for the agent to be told this one.
	Task(task string) string
	// Heard is all that the agent was told so far: prompts, answers, what its
	// commands printed.
	Heard() string
	// Held reports whether the agent waits at the gate.
	Held(gate string) bool
	// Release opens the gate, for good.
	Release(gate string)
}

// Question is what an agent asks with Ask.
type Question struct {
	Shown  string // in what a person is shown of it
	Answer string // that the person gives
	Told   string // in what the agent is told then
}
