package attempt

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"cmux/agents/prompt"
	"cmux/agents/run"
	"cmux/dag"
	"cmux/signals"
	"cmux/worktree"
)

// shared is what the attempt knows of what its worktree shares with others.
type shared struct {
	before *worktree.Shared // when its agent began; nil: not watched
	since  time.Time
	undone []string        // settings that hide from cmux's own git what was put there
	told   map[string]bool // changes that were noted, by what they are
}

// watchShared begins to watch.
func (t *tree) watchShared(ctx context.Context) (shared, error) {
	// The moment comes first: whoever ends while it is read may still have changed
	// what was read, and was at work.
	w := shared{since: time.Now(), told: map[string]bool{}}
	var err error
	w.before, err = t.repo.Shared(ctx, t.lent.Path, true)
	return w, err
}

// sharedChanges finds what has changed of what all worktrees share and is the
// node's: what its own git commands say, and what nobody else can have done
// because no other attempt was at work. The rest is told.
//
// It comes before anything else that asks git: a setting may name a program.
func (a *attempt) sharedChanges(ctx context.Context) (*fault, error) {
	w := &a.shared
	if w.before == nil {
		return nil, nil
	}
	now, err := a.tree.repo.Shared(ctx, a.tree.lent.Path, true)
	if err != nil {
		return nil, err
	}
	changes := slices.DeleteFunc(w.before.Compare(now), a.expected)
	w.undone = worktree.As(changes)
	if to, other := strings.CutPrefix(now.Refs["refs/heads/"+a.spec.Place.Branch], "ref: "); other {
		// What is committed here moves the other one.
		return &fault{
			reason: dag.ReasonScope,
			detail: fmt.Sprintf("its branch %s is another name for %s. Make it a branch again (git update-ref --no-deref refs/heads/%[1]s COMMIT), look at what became of %[2]s, and retry", a.spec.Place.Branch, to),
			tell:   prompt.BranchAlias(a.spec.Place.Branch, to),
		}, nil
	}
	if len(changes) == 0 {
		return nil, nil
	}
	trace := readTrace(traceFile(a.job))
	if nodes := a.beginning(changes, trace); len(nodes) > 0 {
		if err := a.job.Home.AwaitWork(ctx, nodes, w.since); err != nil {
			return nil, err
		}
	}
	mine, others := a.attribute(changes, trace)
	for _, c := range others {
		if line := c.String(); !w.told[line] {
			w.told[line] = true
			worktree.Note(ctx, "changed while this node was at work, by whom is not known: %s%s", line, undo(c))
		}
	}
	if len(mine) == 0 {
		return nil, nil
	}
	var detail, tell []string
	for _, c := range mine {
		detail = append(detail, c.String()+undo(c))
		tell = append(tell, c.String()+undo(c))
	}
	const most = 10
	if n := len(detail) - most; n > 0 {
		detail, tell = detail[:most], tell[:most]
		detail = append(detail, fmt.Sprintf("and %d more", n))
		tell = append(tell, detail[most])
	}
	return &fault{
		reason: dag.ReasonScope,
		detail: "changed what all worktrees share: " + strings.Join(detail, "; "),
		tell:   prompt.SharedChanged(tell),
	}, nil
}

func undo(c worktree.Change) string {
	if c.Undo == "" {
		return ""
	}
	return " (undo: " + c.Undo + ")"
}

// expected reports whether cmux, or the node as it should, changes the like.
func (a *attempt) expected(c worktree.Change) bool {
	switch c.Kind {
	case worktree.ChangedRef:
		if c.Name == "refs/heads/"+a.spec.Place.Branch && a.spec.Place.Branch != "" {
			return true
		}
		if c.Name == attribution && c.New != "" {
			return true
		}
		// Snapshots and what reviews read come; only what was there may not go.
		return strings.HasPrefix(c.Name, "refs/cmux/") && (c.Old == "" || strings.HasPrefix(c.Name, "refs/cmux/runs/") && c.New != "")
	case worktree.ChangedSetting:
		if strings.HasPrefix(c.Name, "submodule.") && c.Old == "" && !c.Sensitive() {
			return true // a new submodule
		}
		// What a push of the run's own sets beside it.
		rest, ok := strings.CutPrefix(c.Name, "branch.")
		return ok && slices.ContainsFunc(a.spec.Frame.Peers, func(n run.Peer) bool {
			return n.Branch != "" && (rest == n.Branch+".remote" || rest == n.Branch+".merge")
		})
	}
	return false
}

// attribution is where Qwen Code notes by itself, after a commit that its agent
// makes, which of the lines are the agent's.
const attribution = "refs/notes/ai-attribution"

// attribute tells the node's own changes from all others.
func (a *attempt) attribute(changes []worktree.Change, trace []traced) (mine, others []worktree.Change) {
	busy := a.atWork()
	alone := len(busy) == 0
	for _, c := range changes {
		branch, isBranch := strings.CutPrefix(c.Name, "refs/heads/")
		isBranch = isBranch && c.Kind == worktree.ChangedRef
		proven := a.proven(c, trace)
		planned := isBranch && a.planned(branch)
		switch {
		case isBranch && busy[branch] && !proven:
			// Its own node commits on it.
		case isBranch && c.Old == "" && !planned, strings.HasPrefix(c.Name, "refs/remotes/") && c.Kind == worktree.ChangedRef:
			// A further branch and what a fetch brings take nothing from anybody.
			others = append(others, c)
		case proven, alone && (planned || !c.Ordinary()):
			mine = append(mine, c)
		default:
			others = append(others, c)
		}
	}
	return mine, others
}

// proven reports whether the node's own git commands say that they did it.
func (a *attempt) proven(c worktree.Change, trace []traced) bool {
	return slices.ContainsFunc(trace, func(t traced) bool { return t.did(c, a.tree.lent.Path, a.spec.Frame.Root) })
}

// beginning are the nodes whose branches have changed though no attempt of theirs
// is on record: one may be about to start, and its branch comes first.
func (a *attempt) beginning(changes []worktree.Change, trace []traced) (nodes []string) {
	busy := a.atWork()
	for _, c := range changes {
		branch, ok := strings.CutPrefix(c.Name, "refs/heads/")
		for _, n := range a.spec.Frame.Peers {
			if ok && c.Kind == worktree.ChangedRef && n.Branch == branch && n.Name != a.node.Name && !busy[branch] && !a.proven(c, trace) {
				nodes = append(nodes, n.Name)
			}
		}
	}
	return nodes
}

// planned reports whether another node of the run has the branch.
func (a *attempt) planned(branch string) bool {
	return slices.ContainsFunc(a.spec.Frame.Peers, func(n run.Peer) bool { return n.Branch == branch && n.Name != a.node.Name })
}

// atWork are the branches of the other nodes of which an attempt was at work
// since this one began; a node without a branch counts under its name. Where
// that cannot be learned, nobody is known to have been alone.
func (a *attempt) atWork() map[string]bool {
	branches := make(map[string]string)
	for _, n := range a.spec.Frame.Peers {
		if n.Branch != "" {
			branches[n.Name] = n.Branch
		}
	}
	busy := make(map[string]bool)
	nodes, err := a.job.Home.AtWork(a.node.Name, a.shared.since)
	for _, node := range nodes {
		if b, ok := branches[node]; ok {
			busy[b] = true
		} else {
			busy["node "+node] = true
		}
	}
	if err != nil {
		busy["unknown"] = true
	}
	return busy
}

// ancestry requires that the branch still holds the commit that it was lent at.
func (a *attempt) ancestry(ctx context.Context) (*fault, error) {
	from := a.spec.Place.Lent
	if from == "" {
		from = a.spec.Place.Commit
	}
	if from == "" || !a.node.HasBranch() {
		return nil, nil
	}
	tip, err := a.tree.repo.Tip(ctx, a.spec.Place.Branch)
	if errors.Is(err, worktree.ErrBadRef) {
		return &fault{
			reason: dag.ReasonScope,
			detail: fmt.Sprintf("its branch %s is gone; bring it back (git branch %s COMMIT) and retry", a.spec.Place.Branch, a.spec.Place.Branch),
			tell:   prompt.BranchGone(a.spec.Place.Branch),
		}, nil
	} else if err != nil {
		return nil, err
	}
	holds, err := a.tree.repo.Holds(ctx, tip, from)
	if err != nil || holds {
		return nil, err
	}
	return &fault{
		reason: dag.ReasonScope,
		detail: fmt.Sprintf("%s (at %.12s) no longer holds the commit that it began at, %.12s: that was amended, rebased or reset. Put the work on it again (in %s: git reset --soft %.12s, then git commit) and retry",
			a.spec.Place.Branch, tip, from, a.tree.lent.Path, from),
		tell: prompt.BaseLost(a.spec.Place.Branch, from),
	}, nil
}

// forgetTrace begins the trace anew, or ends it.
func (a *attempt) forgetTrace() {
	if err := signals.RemoveFile(traceFile(a.job)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		a.note("%v", err)
	}
}
