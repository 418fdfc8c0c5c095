// Package verdict decides whether the work of an attempt counts as done: by its checks, its
// scope, its changes outside its worktree, and its commits.
//
// A Verdict is about one piece of work. It does not know the conversation with the agent;
// Now contains what it needs of it. Each time the agent reports, the attempt asks for the
// Fault, the first thing between the report and done. A Verdict also merges for merge nodes
// and runs the on_complete steps. An end of the attempt is returned as an error, a *Final
// if it is the node's own end.
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
	"cmux/worktree/git"
)

// Job is the input of a verdict.
type Job struct {
	Spec    *run.Spec
	Task    *run.Work // task of a standing agent; nil: none, or the attempt is a node's
	Shares  bool      // it works in a shared folder, see sharing.go
	Judging bool      // agent.Kind.Judge: the agent reports; else the program's exit code is the report
	Stage   *agent.Stage
	Out     *output.Output
	Paths   run.Paths
	Home    Home

	Outputs    string          // file into which a command writes its outputs
	StepTime   time.Duration   // limit of a step without its own limit
	Grace      time.Duration   // between TERM and KILL
	Persisting *sync.WaitGroup // goroutines that make the tree survive a power cut

	Attempt
}

// Attempt is what the verdict calls of its attempt, on their common goroutine.
type Attempt struct {
	Now func() Now
	// During runs f, which must end when its context does, and answers messages meanwhile.
	// failure is f's error; err is what came from outside.
	During func(f func(context.Context) error) (failure, err error)
	// Roomily is During, repeated while a disk is full.
	Roomily func(f func(context.Context) error) (failure, err error)
	// Call runs f on the attempt's goroutine, from within a function of During.
	Call func(ctx context.Context, f func() error) error
	// Become changes the attempt's activity and returns the earlier one.
	Become func(dag.Activity) (was dag.Activity, err error)
	Note   func(format string, args ...any)
	Record func(run.Record) error
}

// Now is the current state of the conversation.
type Now struct {
	Overridden bool // a person has decided the node
	Agent      bool // there is one
	Ended      bool // its program has ended
	Report     *conversation.Report
}

// Home answers what a push depends on.
type Home interface {
	// Pushable returns what all worktrees shared when the run began; nil: unknown. It
	// returns an error if settings that affect a push have changed since.
	Pushable(ctx context.Context, repo *worktree.Repo) (*common.State, error)
}

// A Verdict holds the results about one piece of work.
type Verdict struct {
	Job
	node   *dag.Node
	tree   *workspace.Tree  // nil: the work has none
	scopes workspace.Scopes // what the node may write
	start  string           // the node's own changes are those since this commit
	steps  int              // number of checks and on_complete steps started

	checksFailed int
	scopeFailed  int
	askedCommit  bool
	passed       string // fingerprint of the tree that passed its checks
	judged       string // tip of the branch that was accepted
	checks       []run.Check
	outputs      map[string]bool // that this attempt has published
	tookOutputs  bool            // those of a command's file are included
}

// Anew forgets the results about other work: from now on the verdict is about j.
func (v *Verdict) Anew(j Job) { *v = Verdict{Job: j, node: j.Spec.Def, steps: v.steps} }

// Again forgets what the agent was told: it begins again with the same work.
func (v *Verdict) Again() {
	v.checksFailed, v.scopeFailed, v.askedCommit, v.checks = 0, 0, false, nil
}

// In sets the worktree prepared for the work.
func (v *Verdict) In(tree *workspace.Tree) {
	v.tree, v.scopes, v.start = tree, workspace.ScopesOf(v.node, v.Spec.Place.Tree), v.Spec.Place.Commit
}

// Rejoined says that the worktree has no git directory of its own any more. It returns ctx
// for what cmux's own git does in the shared one.
func (v *Verdict) Rejoined(ctx context.Context) context.Context {
	v.tree = v.tree.Rejoined()
	return git.Looking(ctx)
}

// Scopes returns what the node may write. If no worktree was prepared, it uses the files
// that exist now.
func (v *Verdict) Scopes() workspace.Scopes {
	if v.tree == nil {
		v.scopes = workspace.ScopesOf(v.node, cmp.Or(v.Spec.Place.Tree, v.Spec.Place.Dir))
	}
	return v.scopes
}

// Decider returns the exit code of the program that decided an end; exit is that of the
// agent's program.
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
