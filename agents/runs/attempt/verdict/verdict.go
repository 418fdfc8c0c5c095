// Package verdict finds out whether what an attempt has done counts as done: its
// checks, its scope, what it reached beyond its worktree, and its commits.
//
// A Verdict is about one piece of work. It knows nothing of the conversation with
// the agent; what it must know of the agent is in Now. It asks for the Fault, the
// first thing that stands between a report and done, as often as the agent reports,
// merges what the node merges, and does what is done on completion. What ends the
// attempt comes out as an error, a *Final where it is the node's own end.
package verdict

import (
	"cmp"
	"context"
	"sync"
	"time"

	"cmux/agents/kinds/agent"
	"cmux/agents/runs/attempt/output"
	"cmux/agents/runs/attempt/workspace"
	"cmux/agents/runs/conversation"
	"cmux/agents/runs/run"
	"cmux/dag"
	"cmux/worktree"
	"cmux/worktree/common"
)

// Job is what a verdict is about, and what it needs for that.
type Job struct {
	Spec    *run.Spec
	Task    *run.Work // of a standing agent; nil: it has none, or the attempt is a node's
	Shares  bool      // it works in a folder that it shares, see sharing.go
	Judging bool      // agent.Kind.Judge: the agent reports; else the program's exit code does
	Stage   *agent.Stage
	Out     *output.Output
	Paths   run.Paths
	Home    Home

	Outputs    string          // file in which a command leaves what it publishes
	StepTime   time.Duration   // bound of a step that has none of its own
	Grace      time.Duration   // between TERM and KILL
	Persisting *sync.WaitGroup // what goes on to have the tree survive a power cut

	Attempt
}

// Attempt is what the attempt does for its verdict, on the goroutine that both are of.
type Attempt struct {
	Now func() Now
	// During runs f, which must end when its context does, while messages are served,
	// and returns its error as failure. What came from outside is in err.
	During func(f func(context.Context) error) (failure, err error)
	// Roomily is During, again and again while a disk is full.
	Roomily func(f func(context.Context) error) (failure, err error)
	// Call has f done from within what During runs.
	Call func(ctx context.Context, f func() error) error
	// Become changes what the attempt is doing, and returns what it was doing.
	Become func(dag.Activity) (was dag.Activity, err error)
	Note   func(format string, args ...any)
	Record func(run.Record) error
}

// Now is what counts of the conversation at this moment.
type Now struct {
	Overridden bool // a person has decided the node
	Agent      bool // there is one
	Ended      bool // its program has ended
	Report     *conversation.Report
}

// Home answers what decides about a push.
type Home interface {
	// Pushable is what all worktrees shared when the run began; nil: that is not
	// known. It is an error when what decides about a push has changed since.
	Pushable(ctx context.Context, repo *worktree.Repo) (*common.State, error)
}

// A Verdict is what was found out about one piece of work.
type Verdict struct {
	Job
	node   *dag.Node
	tree   *workspace.Tree  // nil: the work has none
	scopes workspace.Scopes // what the node may write
	start  string           // commit since which changes are the node's own
	steps  int              // checks and on_complete steps started

	checksFailed int
	scopeFailed  int
	askedCommit  bool
	passed       string // fingerprint of the tree that passed its checks
	judged       string // tip of the branch that was found good
	checks       []run.Check
	outputs      map[string]bool // that this attempt has published
	tookOutputs  bool            // what a command has left in its file is among them
}

// Anew forgets what was found out about other work: from now on it is about j's.
func (v *Verdict) Anew(j Job) { *v = Verdict{Job: j, node: j.Spec.Def, steps: v.steps} }

// Again forgets what the agent was told: it begins again with the same work.
func (v *Verdict) Again() {
	v.checksFailed, v.scopeFailed, v.askedCommit, v.checks = 0, 0, false, nil
}

// In tells the verdict the worktree that was made ready for the work.
func (v *Verdict) In(tree *workspace.Tree) {
	v.tree, v.scopes, v.start = tree, workspace.ScopesOf(v.node, v.Spec.Place.Tree), v.Spec.Place.Commit
}

// Scopes are what the node may write. Where nothing was made ready, what exists now
// counts.
func (v *Verdict) Scopes() workspace.Scopes {
	if v.tree == nil {
		v.scopes = workspace.ScopesOf(v.node, cmp.Or(v.Spec.Place.Tree, v.Spec.Place.Dir))
	}
	return v.scopes
}

// Decider is the exit code of what decided an end; exit is that of the program.
func (v *Verdict) Decider(f *Final, exit int) int {
	switch {
	case f.Code != 0:
		return f.Code
	case f.Reason == dag.ReasonChecks && len(v.checks) > 0:
		return v.checks[len(v.checks)-1].Exit
	case f.Exit != 0:
		return f.Exit
	}
	return exit
}
