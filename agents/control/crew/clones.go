package crew

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"cmux/agents/control/project"
	"cmux/agents/org/standing"
	"cmux/agents/org/task"
	"cmux/agents/runs/run"
	"cmux/worktree"
	"cmux/worktree/git"
	"cmux/worktree/hint"
	"cmux/worktree/merge"
)

// maxClones bounds how many names are tried for a clone.
const maxClones = 1000

// Clone makes a clone of a worker: the same program and role, in a worktree
// of its own, on a branch that begins where the worker's is.
func (p *Crew) Clone(ctx context.Context, name string) (*standing.Made, error) {
	org, err := p.Running()
	if err != nil {
		return nil, err
	}
	a, err := org.Find(name)
	if err != nil {
		return nil, project.Usage("cmux workers list", "%w", err)
	}
	if err := standing.MayClone(a); err != nil {
		return nil, err
	}
	by, err := p.Orderer()
	if err != nil {
		return nil, err
	}
	if by == a.Name {
		by = a.Member.Supervisor
	}
	repo, err := worktree.Open(ctx, p.Root)
	if err != nil {
		return nil, err
	}
	s := standing.Spawn{Role: standing.Clone, Supervisor: by, CloneOf: a.Name}
	for n := 1; ; n++ {
		s.Name = standing.CloneName(a.Name, n)
		s.Branch = org.Run.Plan.Session + "/" + s.Name
		if org.Agents[s.Name] != nil {
			continue
		}
		// What an earlier one of the name left is not taken up again.
		if _, err := repo.Tip(ctx, s.Branch); errors.Is(err, git.ErrBadRef) {
			break
		} else if err != nil {
			return nil, err
		}
		if n == maxClones {
			return nil, fmt.Errorf("%s has %d clones", a.Name, n)
		}
	}
	made := new(standing.Made)
	if err := p.AskKeeper(ctx, standing.OpSpawn, s.Name, standing.Ask{By: by, Spawn: &s}, made); err != nil {
		return nil, err
	}
	p.Letters.TellAgent(ctx, a.Name, made.Name+" is your clone", "It works on a branch that begins where yours is, "+made.Branch+". What it does comes into your branch when it is merged; you are told then.")
	return made, nil
}

// Gone is what a worker that was removed has left.
type Gone = standing.Gone

// MergedClone is what happened to a clone.
type MergedClone struct {
	Gone
	Into   string `json:"into"`   // branch that its work is on now
	Commit string `json:"commit"` // that the branch is at
	Moved  bool   `json:"moved"`  // there was something to merge
}

// MergeClone merges what a clone did into the branch that its own began at, always
// by a merge commit, and removes the clone. What conflicts leaves everything as it
// was. A call that was cut off is repeated.
func (p *Crew) MergeClone(ctx context.Context, name string) (*MergedClone, error) {
	org, err := p.Running()
	if err != nil {
		return nil, err
	}
	a, err := org.Find(name)
	if err != nil {
		return nil, project.Usage("cmux workers list", "%w", err)
	}
	m := a.Member
	if m.CloneOf == "" {
		return nil, project.Usage("cmux workers list", "%s is no clone", a.Name)
	}
	if err := p.rests(a); err != nil {
		return nil, err
	}
	repo, err := worktree.Open(ctx, p.Root)
	if err != nil {
		return nil, err
	}
	tip, err := repo.Tip(ctx, m.Branch)
	if err != nil {
		return nil, err
	}
	out := &MergedClone{Into: m.CloneFrom}
	if out.Commit, out.Moved, err = repo.Join(ctx, m.CloneFrom, merge.Tip{Name: m.Branch, Commit: tip}); err != nil {
		return nil, joinHint(err, a)
	}
	if err := p.PartOf(ctx, &m); err != nil {
		return nil, err
	}
	gone, err := p.Kill(ctx, a.Name, false)
	if err != nil {
		return nil, fmt.Errorf("%s is merged into %s, but could not be removed: %w", a.Name, m.CloneFrom, err)
	}
	out.Gone = *gone
	if err := repo.DropBranch(ctx, m.Branch, tip); err == nil { // else something came to it meanwhile: it stays
		out.Branch = ""
	}
	if out.Moved && org.Agents[m.CloneOf] != nil {
		p.Letters.TellAgent(ctx, m.CloneOf, a.Name+" was merged into your branch "+m.CloneFrom, "What it did is there now: git log --first-parent -3 "+m.CloneFrom)
	}
	return out, nil
}

// rests refuses what would cut off the work of a clone, or bring in what of it was
// rejected.
func (p *Crew) rests(a *standing.Agent) error {
	list, err := p.TaskList()
	if err != nil {
		return err
	}
	return Mergeable(list, a, p.Now())
}

// Mergeable says why a clone is not to be merged now; nil: it may be.
func Mergeable(list *task.List, a *standing.Agent, now time.Time) error {
	if word, _ := a.Stands(now, false); word == standing.Working || word == standing.Checking {
		if a.Work == nil {
			return hint.New(fmt.Errorf("%s is in the middle of a turn", a.Name), "the same when it is idle: cmux workers status "+a.Name)
		}
	}
	for _, t := range list.All() {
		if t.Worker() == a.Name && t.State == task.Failed && t.WorkBranch() == a.Member.Branch && committed(t) {
			return hint.New(fmt.Errorf("the task %s of %s failed (%s), and what it committed is on the branch %s with all the rest", t.ID, a.Name, t.Label(), a.Member.Branch),
				fmt.Sprintf("have it mended: cmux tasks assign %s %s. Or accept it: cmux tasks done %[1]s", t.ID, a.Name))
		}
	}
	for _, t := range list.All() {
		if t.Agent == a.Name && !t.State.Over() {
			return hint.New(fmt.Errorf("%s has the task %s, which is %s", a.Name, t.ID, t.Label()), "cmux tasks show "+t.ID+", or cmux tasks cancel "+t.ID)
		}
	}
	return nil
}

// committed reports whether an attempt at the task left commits.
func committed(t *task.Task) bool {
	return slices.ContainsFunc(t.Attempts, func(at task.Attempt) bool { return at.End != nil && at.End.Commits > 0 })
}

// joinHint adds to what keeps a clone from being merged how to go on.
func joinHint(err error, a *standing.Agent) error {
	var conflict *merge.ConflictError
	switch {
	case errors.As(err, &conflict):
		return hint.New(fmt.Errorf("%w; nothing was changed", err), fmt.Sprintf("cmux workers assign %s 'git merge %s%s, and resolve what conflicts', then cmux workers merge-clone %[1]s", a.Name, conflict.Options(), a.Member.CloneFrom))
	case errors.Is(err, worktree.ErrDirty):
		return hint.New(err, "have what is not committed there committed, then cmux workers merge-clone "+a.Name)
	}
	return err
}

// PartOf says of a clone's finished tasks that they come in with the task that they
// were a part of, as long as that one is not done.
func (p *Crew) PartOf(ctx context.Context, m *run.Member) error {
	_, err := p.Tasks.Write(ctx, func(l *task.List) (all []task.Change, err error) {
		whole := l.Get(m.CloneTask)
		if whole == nil || whole.State == task.Done {
			return nil, nil
		}
		for _, t := range l.All() {
			if t.Worker() == m.Name && t.WorkBranch() == m.Branch && t.Delivers() && t.Merged == nil {
				all = append(all, task.Change{Task: t.ID, Saw: t.Version, Op: task.OpMerge, Merged: &task.Merged{Conflict: []string{}, Task: whole.ID}})
			}
		}
		return all, nil
	})
	return err
}

// Demote makes ordinary workers of permanent ones: of one, or without a name
// of all. It returns whose turn it was.
func (p *Crew) Demote(ctx context.Context, name string) ([]string, error) {
	org, err := p.Running()
	if err != nil {
		return nil, err
	}
	names := []string{}
	if name != "" {
		a, err := org.Find(name)
		if err != nil {
			return nil, project.Usage("cmux workers list", "%w", err)
		}
		if a.Member.Role != standing.PermanentWorker {
			return nil, project.Usage("cmux workers list", "%s is no permanent worker", a.Name)
		}
		names = append(names, a.Name)
	} else {
		for _, n := range org.Names() {
			if org.Agents[n].Member.Role == standing.PermanentWorker {
				names = append(names, n)
			}
		}
	}
	for _, n := range names {
		if err := p.AskKeeper(ctx, standing.OpDemote, n, standing.Ask{}, nil); err != nil {
			return nil, err
		}
	}
	return names, nil
}
