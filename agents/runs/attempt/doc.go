// Package attempt carries one attempt of one node from its start to its end.
//
// Run prepares the worktree, starts the agent, answers messages meanwhile, judges the
// result and returns a run.End, which the caller makes durable. Run writes no marker and no
// end record itself. It depends on no other process: without a runner an attempt continues
// to its end. An interrupted attempt has no end; Run then returns ErrInterrupted.
//
// The Job contains everything the attempt needs. It asks its Home about later changes of
// the run, and reads nothing of the run itself, so it can run on another machine.
//
// The attempt runs an agent.Agent. For a kind with Judge false (a command), the program's
// exit code is its report. All others report with `cmux done` or `cmux blocked`, and their
// exit code proves nothing. In both cases verify, scope and commits decide together with
// the report: see package verdict, which does not know the conversation.
//
// An attempt has parts with fields of their own: an assignment (the node or task and its
// text for the agent), a talk (the conversation, the program and the callers that wait
// for an answer), a progress (its activity and clocks), a meter and a verdict. The attempt
// does what needs several parts, on one goroutine.
//
// When Run returns, no process of the attempt is left.
package attempt
