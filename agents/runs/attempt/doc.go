// Package attempt carries one attempt of one node from its start to its end.
//
// Run prepares the worktree, starts the agent, serves what comes in meanwhile,
// judges the result and returns a run.End that the caller makes durable. It
// writes no marker and no end record itself, and it needs nobody: without a
// runner an attempt goes on to its end. An attempt that is interrupted has no
// end; Run then returns ErrInterrupted.
//
// It is told all that it is to know, in its Job, and asks its Home what has
// become of the run meanwhile. It reads nothing of the run itself, so it can
// live on another machine.
//
// What runs is an agent.Agent. For a kind that judges itself (a
// command) the program's exit code is its report. All others report with
// `cmux done` or `cmux blocked`, and an exit code proves nothing. In both
// cases verify, scope and commits decide together with the report: see package
// verdict, which knows nothing of the conversation.
//
// An attempt has parts with fields of their own: an assignment (the node or task and its
// text for the agent), a talk (the conversation, the program and the callers that wait
// for an answer), a progress (its activity and clocks), a meter and a verdict. The attempt
// does what needs several parts, on one goroutine.
//
// When Run returns, no process of the attempt is left.
package attempt
