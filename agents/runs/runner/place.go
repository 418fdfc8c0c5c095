package runner

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"cmux/agents/runs/host"
	"cmux/agents/runs/run"
	"cmux/agents/runs/shares"
	"cmux/dag"
	"cmux/worktree"
	"cmux/worktree/common"
	"cmux/worktree/git"
	"cmux/worktree/merge"
)

// place finds out where an attempt is to run. What needs git is asked beside
// the scheduler and comes back through lent; the rest is returned at once.
func (r *Runner) place(ctx context.Context, e dag.Effect) *placement {
	i, n := e.Node, e.Attempt
	spec := &r.g.Nodes[i]
	p := &placement{node: i, attempt: n, trial: e.Trial, fresh: r.hist.Nodes[i].Fresh || r.Run.Plan.Fresh && n == 1}
	p.place = run.Place{Dir: r.Run.Plan.Stand(), Commit: r.Run.Plan.Base}
	if f := &r.hist.Nodes[i].Fact; f.Tries+f.Losses > 0 || f.Lost {
		for k := range r.hist.Nodes[i].Attempts {
			if a := &r.hist.Nodes[i].Attempts[k]; a.Place.TreeHere() != "" {
				p.earlier = &a.Place
			}
		}
	}
	if !p.fresh {
		for k := range r.hist.Nodes[i].Attempts {
			if lent := r.hist.Nodes[i].Attempts[k].Place.Lent; lent != "" {
				p.place.Lent = lent
			}
		}
	}
	if d, ok := r.host.(host.Distant); ok {
		p.place.Far = d.Far(spec)
	}
	if !p.place.Away() { // else its machine has slots of its own
		p.place.Slot, p.place.PortBase = r.shares.Take()
	}
	if r.host.Bound(spec) {
		p.place.Child = r.instance
	}
	now := time.Now()
	for _, d := range r.g.Deps(i) {
		p.deps = append(p.deps, dependency(r.hist, d, r.hist.State.Status(d, now).Label))
	}
	if r.branchy[i] {
		from := contributors(r.hist, r.rank, i)
		p.tips = tips(r.hist, from)
		if spec.Role == dag.RoleMerge {
			for _, d := range from {
				p.branches = append(p.branches, dependency(r.hist, d, r.hist.State.Status(d, now).Label))
			}
		}
	}
	rest := r.rest(i, now)
	if !spec.HasTree() && len(p.tips) == 0 && rest == 0 {
		return p
	}
	r.placing++
	r.tasks.Go(func() {
		r.linger(ctx, rest)
		if spec.HasTree() || len(p.tips) > 0 {
			p.conflict = r.lendPatiently(ctx, spec, p)
		}
		// Git may have died of a signal that this process has yet to get.
		var git *git.Error
		if errors.As(p.conflict, &git) {
			r.linger(ctx, gitDoubt)
		}
		select {
		case r.lent <- lent{p}:
		case <-ctx.Done():
		}
	})
	return nil
}

const (
	// interruptedRest is how long a node that a signal interrupted is left alone:
	// in a shutdown this process is about to be told of it as well.
	interruptedRest = time.Second
	// gitDoubt is how long a failure of git is held before it is believed.
	gitDoubt = 2 * time.Second
)

// rest is how long the next attempt of node i is put off.
func (r *Runner) rest(i int, now time.Time) time.Duration {
	a := r.hist.Nodes[i].Attempt()
	if a == nil || a.Vanished != run.HowInterrupted {
		return 0
	}
	return max(0, interruptedRest-now.Sub(a.Ended))
}

// linger waits, unless this process is told to end or ctx ends.
func (r *Runner) linger(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-r.told.Done():
	case <-ctx.Done():
	}
}

// lendPatiently is lend, again for as long as a disk is full.
func (r *Runner) lendPatiently(ctx context.Context, spec *dag.Node, p *placement) error {
	from := p.place.Commit
	for waited := false; ; waited = true {
		err := r.lend(ctx, spec, p)
		if err == nil || !run.NoSpace(err) && !run.NoFiles(err) && !run.Cramped(r.Run.Dir) && !run.Cramped(filepath.Dir(r.g.TreePath(r.Run.Plan.Root, spec))) {
			return err
		}
		if !waited {
			what := "the disk is full; a node waits for space"
			if run.NoFiles(err) {
				what = "too many open files; a node waits until one is closed"
			}
			r.Log.Error(what, "node", spec.Name, "err", err)
		}
		if r.linger(ctx, time.Second); r.told.Err() != nil || ctx.Err() != nil {
			return err
		}
		p.place.Commit = from
	}
}

// lend makes the start commit and the worktree of a placement.
func (r *Runner) lend(ctx context.Context, spec *dag.Node, p *placement) error {
	ctx = git.WithNotes(ctx, func(s string) { r.Log.Warn(s, "node", spec.Name) })
	if err := r.undrifted(ctx); err != nil {
		return err
	}
	var err error
	if spec.Role != dag.RoleMerge {
		var conflict *merge.ConflictError
		if p.place.Commit, err = r.repo.Merge(ctx, p.place.Commit, p.tips); errors.As(err, &conflict) {
			conflict.CallBase(r.Run.Plan.BaseName())
		}
		if err != nil {
			return err
		}
	}
	if spec.Role == dag.RoleReview {
		ref := git.RunRef(r.Run.Plan.ID, spec.Name)
		old, err := r.repo.Resolve(ctx, ref)
		if err != nil && !errors.Is(err, git.ErrBadRef) {
			return err
		}
		if old != p.place.Commit {
			if err := r.repo.UpdateRef(ctx, ref, p.place.Commit, old); err != nil {
				return err
			}
		}
	}
	if !spec.HasTree() {
		return nil
	}
	lend := worktree.LendSpec{
		Path: r.g.TreePath(r.Run.Plan.Root, spec), Branch: spec.Branch, Start: p.place.Commit,
		Fresh: p.fresh, Owner: r.g.Session + "/" + spec.Name,
	}
	if spec.HasBranch() && p.place.Lent == "" { // one from an earlier run lacks what the base gained since
		lend.Contributions = []merge.Tip{{Name: r.Run.Plan.BaseName(), Commit: r.Run.Plan.Base}}
	}
	if spec.Role == dag.RoleBuild {
		lend.Contributions = append(lend.Contributions, p.tips...)
	}
	if !r.host.Lends(spec) {
		t, err := worktree.LendBranch(ctx, r.repo, lend)
		if err != nil {
			return err
		}
		p.place.Branch = t.Branch
		return lentFrom(ctx, r.repo, p, lend.Start, t)
	}
	if err := r.repo.HideTrees(ctx, []string{lend.Path}); err != nil { // an update may have added the node
		return err
	}
	t, err := r.repo.Lend(ctx, lend)
	if errors.Is(err, worktree.ErrDirty) && p.earlier != nil && lend.Contributions != nil {
		// What has come in since the earlier attempt does not fit its unfinished
		// work, and nobody asked for it: it goes on from what that one began with.
		lend.Contributions, p.place.Commit = nil, p.earlier.Commit
		lend.Start = p.earlier.Commit
		t, err = r.repo.Lend(ctx, lend)
	}
	if err != nil {
		return err
	}
	p.place.Dir, p.place.Tree, p.place.Branch = t.Path, t.Path, t.Branch
	return lentFrom(ctx, r.repo, p, lend.Start, t)
}

// lentFrom notes what the branch of a placement must still hold when its node is done.
func lentFrom(ctx context.Context, repo *worktree.Repo, p *placement, start string, t *worktree.Tree) (err error) {
	if p.place.Lent != "" || t.Branch == "" {
		return nil
	}
	// A branch from before may hold only a part of what it would start at.
	p.place.Lent = start
	if t.Continued {
		if p.place.Lent, err = repo.Common(ctx, start, t.Head); p.place.Lent == "" {
			p.place.Lent = t.Head
		}
	}
	return err
}

// freeSlot gives the slot of an attempt back, if it has one here.
func freeSlot(s *shares.Shares, p *run.Place) {
	if !p.Away() {
		s.Release(p.Slot)
	}
}

// undrifted refuses to merge or check out anything under settings that have
// changed since the run began and could run another program.
func (r *Runner) undrifted(ctx context.Context) error {
	stamp := r.repo.Shared.Stamp()
	if last, ok := r.stamp.Load().(string); ok && last == stamp {
		return nil
	}
	if _, err := r.Run.Undrifted(ctx, r.repo, "no worktree is created", common.Change.Runs); err != nil {
		return err
	}
	r.stamp.Store(stamp)
	return nil
}

// placed continues a placement that came back from git.
func (r *Runner) placed(ctx context.Context, l lent) error {
	r.placing--
	if r.leaving != "" || r.told.Err() != nil {
		return nil // the tree is there for another time
	}
	f := r.hist.State.Fact(l.node)
	if f.Phase != dag.Running || f.Attempts != l.attempt {
		// Overridden while git was at work: nothing was started.
		freeSlot(r.shares, &l.place)
		r.hist.State.Take(dag.Change{
			Kind: dag.AttemptEnded, Node: l.node, Attempt: l.attempt, Outcome: dag.Cancelled, At: time.Now(), Source: "runner",
		})
		r.news = true
		return nil
	}
	if r.cancelled(l.node) {
		freeSlot(r.shares, &l.place)
		return r.commit(ctx, cancelled(r.g.Nodes[l.node].Name))
	}
	if err := r.hist.OverBudget(l.node); err != nil {
		freeSlot(r.shares, &l.place)
		return r.commit(ctx, unaffordable(r.g.Nodes[l.node].Name, err))
	}
	if err := r.learn(ctx, r.started(l.placement)); err != nil {
		return err
	}
	return r.begun(ctx, []*placement{l.placement})
}
