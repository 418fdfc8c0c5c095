package tasks

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"cmux/agents/control/files"
	"cmux/agents/runs/run"
	"cmux/worktree/hint"
)

// Changes are the files that a task's worker has changed for it.
func (p *Tasks) Changes(ctx context.Context, id string, committed bool) (*files.Changes, error) {
	w, err := p.taskWork(ctx, id, committed)
	if err != nil {
		return nil, err
	}
	return w.Changes(ctx)
}

// File is a file of a task's changes.
func (p *Tasks) File(ctx context.Context, id, path, was string, committed bool) (*files.FilePair, error) {
	w, err := p.taskWork(ctx, id, committed)
	if err != nil {
		return nil, err
	}
	return w.File(ctx, path, was)
}

// taskWork is the work of a task: from the commit that it was first given at, or,
// where nobody knows that any more, that its branch has in common with the
// integration branch.
func (p *Tasks) taskWork(ctx context.Context, id string, committed bool) (*files.Span, error) {
	view, err := p.Task(id)
	if err != nil {
		return nil, err
	}
	org, err := p.Org()
	if err != nil {
		return nil, err
	}
	w := &files.Span{By: p.Caller, Dir: p.Root, Root: p.Root, Tip: view.Tip(), Fence: org.Fence()}
	nothing := hint.New(fmt.Errorf("task %s has no changes to show (%s)", id, view.Label), "cmux tasks show "+id)
	var first time.Time
	for _, at := range view.Attempts {
		if org.Agents[at.Agent] == nil {
			continue
		}
		_, err := org.Run.EachAgentRecord(at.Agent, 0, func(r *run.Record) {
			if r.Type == run.Given && r.Work.ID == id && r.Work.Place.Commit != "" && (w.Start == "" || r.At.Before(first)) {
				w.Start, first = r.Work.Place.Commit, r.At
			}
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	if a := org.Agents[view.Agent]; a != nil && !committed && a.Work != nil && a.Work.ID == id && a.Work.Place.Tree != "" && w.Start != "" && w.Stands(a.Work.Place.Tree) {
		tip, err := p.Git(ctx, w.Dir, "rev-parse", "HEAD")
		w.Tip = strings.TrimSpace(tip)
		return w, err
	}
	if w.Tip == "" {
		tip, err := p.Git(ctx, p.Root, "rev-parse", "--verify", "--quiet", "--end-of-options", "refs/heads/"+view.WorkBranch())
		if w.Tip = strings.TrimSpace(tip); err != nil {
			return nil, nothing
		}
	}
	if w.Start == "" {
		start, err := p.Git(ctx, p.Root, "merge-base", "--end-of-options", "refs/heads/"+org.Settings.Integration, w.Tip)
		if w.Start = strings.TrimSpace(start); err != nil {
			return nil, nothing
		}
	}
	return w, nil
}
