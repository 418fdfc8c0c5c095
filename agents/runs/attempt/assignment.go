package attempt

import (
	"context"
	"errors"
	"os"
	"slices"
	"time"

	"cmux/agents/kinds/agent"
	"cmux/agents/platform/fence"
	"cmux/agents/records/journal"
	"cmux/agents/runs/run"
	"cmux/dag"
	"cmux/signals/mailbox"
	"cmux/worktree"
	"cmux/worktree/git"
)

// glancePatience bounds a look at the tree while the program waits for its hook.
const glancePatience = 5 * time.Second

// assignment is the work of an attempt: its node and, for a standing agent, the current
// task. Every text for the agent follows from it.
type assignment struct {
	kind  agent.Kind
	paths run.Paths
	stage *agent.Stage
	spec  *run.Spec
	node  *dag.Node // its Def
	task  *run.Work // of a standing agent; nil: none
	base  *dag.Node // what a standing agent is between pieces of work
	place run.Place // where it is then
	ear   ear       // of a standing agent

	fenceEar fence.Ear
	strayed  string // the first file outside of the scope that the fence refused, and the scope
}

// take switches to a task.
func (a *assignment) take(w *run.Work) {
	def, spec := *w.Def, *a.spec
	def.Name, def.Agent, def.Model, def.Account = a.base.Name, a.base.Agent, a.base.Model, a.base.Account
	def.AutoAccept, def.OnLimit, def.Fence = a.base.AutoAccept, a.base.OnLimit, a.base.Fence
	spec.Def, spec.Place, spec.Used, spec.Work, spec.Past, spec.Checks = &def, w.Place, w.Used, w, w.Past, w.Checks
	a.node, a.spec, a.task = &def, &spec, w
}

// rest switches to the standing agent without a task.
func (a *assignment) rest() {
	spec := *a.spec
	spec.Def, spec.Place, spec.Used, spec.Work, spec.Past = a.base, a.place, dag.Usage{}, nil, nil
	a.node, a.spec, a.task = a.base, &spec, nil
}

// shares reports whether the attempt has a task in a shared folder.
func (a *assignment) shares() bool {
	return a.task != nil && a.spec.Place.Tree == "" && a.node.HasBranch() && a.spec.Terms.Keeps
}

// mergesAlone reports whether the attempt merges without an agent.
func (a *assignment) mergesAlone() bool { return a.node.Role == dag.RoleMerge && a.node.Task == "" }

// cramped reports whether a disk that the node needs is full.
func (a *assignment) cramped() bool {
	return run.Cramped(a.paths.Dir) || a.spec.Place.Tree != "" && run.Cramped(a.spec.Place.Tree)
}

// orderer returns whom the agent asks: the sender of its task, else whom its owner names.
func (a *assignment) orderer() string {
	if a.task != nil && a.task.By != "" && a.task.By != a.spec.Node {
		if at, err := mailbox.ParseAddress(a.task.By); err == nil && (at.Kind == mailbox.Agent || at.Kind == mailbox.User) {
			return a.task.By
		}
	}
	return a.spec.Terms.Asks
}

// kept reports whether the agent has committed something or added to the journal since a
// time. If that cannot be checked, kept returns true, so that nobody is held up.
func (a *assignment) kept(ctx context.Context, since time.Time) bool {
	since = since.Truncate(time.Second)
	ctx, cancel := context.WithTimeout(ctx, glancePatience)
	defer cancel()
	at, err := git.CommittedAt(ctx, a.stage.Dir)
	if err != nil && !errors.Is(err, worktree.ErrNotRepository) || !at.Before(since) {
		return true
	}
	j := &journal.Journal{Root: a.spec.Frame.Root, Now: time.Now}
	for _, day := range slices.Compact([]string{journal.Day(since), j.Today()}) {
		page, err := j.Show(day)
		if err != nil {
			return true
		}
		if slices.ContainsFunc(page.Entries, func(e journal.Entry) bool { return e.By == a.spec.Node && !e.At.Before(since) }) {
			return true
		}
		if info, err := os.Lstat(j.ReflectionFile(day)); err == nil && !info.ModTime().Before(since) {
			return true
		}
	}
	return false
}

// leaveBranch detaches the worktree from the branch of a cancelled task: later commits of
// the agent, before it has read about the cancellation, must not land there.
func (a *assignment) leaveBranch(ctx context.Context) error {
	p := a.spec.Place
	if p.Tree == "" || p.Branch == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, glancePatience)
	defer cancel()
	return git.Detach(ctx, p.Tree, p.Branch)
}
