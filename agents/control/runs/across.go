package runs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"cmux/agents/org/task"
	"cmux/agents/runs/run"
	"cmux/dag"
	"cmux/worktree"
	"cmux/worktree/common"
	"cmux/worktree/git"
	"cmux/worktree/merge"
)

// A runner compares the branches of its own run, whenever a commit appears. What
// two runs, or two tasks, do to the same files is found out here, when somebody
// asks: nobody holds both.

// maxAcross bounds how many branches are compared with each other.
const maxAcross = 60

// liveBranch is a branch that something works on, or that is not merged yet.
type liveBranch struct {
	of   string // the session, or the task: two of one are not compared here
	name string // SESSION:NAME, or the id of the task
	tip  merge.Known
	view *run.View // its run; nil: it is a task's
}

// Collisions are the files that two branches both change: of the run that is
// meant, of all unfinished ones where none is, and of tasks. id is that of
// the one that is meant. Nodes of other runs are called SESSION:NAME, tasks by
// their ids.
func (p *Runs) Collisions(ctx context.Context) (id string, all []Collision, err error) {
	open, err := p.Several(ctx)
	if err != nil {
		return "", nil, err
	}
	var views []*run.View
	see := func(r *run.Run) error {
		v, err := r.View(ctx, p.Now())
		if err == nil {
			views = append(views, v)
		}
		return err
	}
	for _, r := range open {
		if err := see(r); err != nil {
			return "", nil, err
		}
	}
	if len(open) < 2 {
		r, err := p.Latest(ctx)
		if _, unkept := p.Org(); errors.Is(err, run.ErrNone) && unkept == nil {
			all, err = p.across(ctx, nil)
			return "", all, err
		}
		if err != nil {
			return "", nil, err
		}
		views = nil
		if err := see(r); err != nil {
			return "", nil, err
		}
		id, all = r.Plan.ID, Collisions(views[0])
		others, err := p.others(r)
		if err != nil {
			return "", nil, err
		}
		for _, r := range others {
			if err := see(r); err != nil {
				p.Tell(fmt.Sprintf("Run %s of session %s is not compared: %s", r.Plan.ID, r.Plan.Session, err))
			}
		}
	} else {
		for _, v := range views {
			for _, c := range Collisions(v) {
				c.A, c.B = v.Run.Plan.Session+":"+c.A, v.Run.Plan.Session+":"+c.B
				all = append(all, c)
			}
		}
	}
	slices.SortFunc(views, func(a, b *run.View) int { return strings.Compare(a.Run.Plan.ID, b.Run.Plan.ID) })
	between, err := p.across(ctx, views)
	return id, append(all, between...), err
}

// others are the unfinished runs beside r.
func (p *Runs) others(r *run.Run) (runs []*run.Run, err error) {
	owners, err := run.Owners(p.Root)
	if err != nil {
		return nil, err
	}
	all, err := p.candidates(owners)
	for _, c := range unended(all) {
		if c.ID != r.Plan.ID {
			runs = append(runs, c.run)
		}
	}
	return runs, err
}

// across are the collisions between the branches of different unfinished runs and
// tasks.
func (p *Runs) across(ctx context.Context, views []*run.View) ([]Collision, error) {
	repo, err := worktree.Open(ctx, p.Root)
	if err != nil {
		return nil, err
	}
	live, err := p.liveBranches(ctx, repo, views)
	if err != nil {
		return nil, err
	}
	// Where what git may run has changed since a run began, nothing is merged.
	drifted := make(map[*run.View]string)
	for _, v := range views {
		if _, err := v.Run.Undrifted(ctx, repo, "no merge is tried", common.Change.Runs); err != nil {
			drifted[v] = err.Error()
		}
	}
	var all []Collision
	now := p.Now()
	for i := range live {
		for j := range live[:i] {
			a, b := &live[j], &live[i]
			if a.of == b.of || a.tip.Commit == b.tip.Commit || len(merge.Both(a.tip.Files, b.tip.Files)) == 0 {
				continue
			}
			unknown := cmp.Or(drifted[a.view], drifted[b.view])
			clash, err := repo.Clash(ctx, a.tip, b.tip, unknown == "")
			if err != nil {
				return nil, fmt.Errorf("%s and %s: %w", a.name, b.name, err)
			}
			if len(clash.Files) == 0 {
				continue
			}
			if unknown == "" && len(clash.Conflicts) == 0 {
				unknown = clash.Drops()
			}
			files := clash.Files[:min(len(clash.Files), run.MaxCollisionFiles)]
			all = append(all, Collision{A: a.name, B: b.name, Files: files, More: len(clash.Files) - len(files), Uncommitted: []string{},
				Conflicts: append([]string{}, clash.Conflicts...), Unknown: unknown, Since: now, At: now})
		}
	}
	return all, nil
}

// liveBranches are the branches that have commits of their own: of nodes that
// began and did not fail, and of tasks that are not merged.
func (p *Runs) liveBranches(ctx context.Context, repo *worktree.Repo, views []*run.View) (all []liveBranch, err error) {
	more := false
	defer func() {
		if more {
			p.Tell(fmt.Sprintf("Of different runs and tasks, %d branches are compared; there are more.", maxAcross))
		}
	}()
	add := func(l liveBranch, branch, start string) error {
		tip, err := repo.Tip(ctx, branch)
		if errors.Is(err, git.ErrBadRef) || start == "" || tip == start {
			return nil
		}
		if len(all) == maxAcross {
			more = true
			return nil
		}
		if err != nil {
			return err
		}
		l.tip = merge.Known{Commit: tip, From: start}
		if l.tip.Files, err = repo.Touched(ctx, start, tip); err != nil {
			return err
		}
		all = append(all, l)
		return nil
	}
	for _, v := range views {
		session := v.Run.Plan.Session
		for i := range v.Nodes {
			n := &v.Nodes[i]
			a := n.Attempt()
			if a == nil || !n.Spec.HasBranch() || n.Fact.Phase == dag.Ended && !n.Fact.Outcome.Success() {
				continue
			}
			start := a.Place.Lent
			if start == "" {
				start = a.Place.Commit
			}
			if err := add(liveBranch{of: session, name: session + ":" + n.Spec.Name, view: v}, n.Spec.Branch, start); err != nil {
				return nil, err
			}
		}
	}
	org, err := p.Org()
	if errors.Is(err, run.ErrNoOrganization) {
		return all, nil
	}
	if err != nil {
		return nil, err
	}
	into, err := repo.Tip(ctx, org.Settings.Integration)
	if err != nil {
		return nil, err
	}
	list, err := p.TaskList()
	if err != nil {
		return nil, err
	}
	for _, t := range list.All() {
		if !t.State.Active() && t.State != task.Paused && (!t.Delivers() || t.Merged.In()) {
			continue
		}
		tip, err := repo.Tip(ctx, t.WorkBranch())
		if errors.Is(err, git.ErrBadRef) {
			continue
		}
		if err != nil {
			return nil, err
		}
		start, err := repo.Common(ctx, into, tip)
		if err != nil {
			return nil, err
		}
		if err := add(liveBranch{of: "task " + t.ID, name: t.ID}, t.WorkBranch(), start); err != nil {
			return nil, err
		}
	}
	return slices.Clip(all), nil
}
