package verdict

import (
	"context"
	"errors"
	"fmt"

	"cmux/agents/runs/run"
	"cmux/dag"
	"cmux/worktree"
)

// Survey fills in what git shows of the work, and saves what did not pass.
// What git cannot tell is noted; the verdict stands.
func (v *Verdict) Survey(ctx context.Context, end *run.End) {
	end.Checks, ctx = v.checks, context.WithoutCancel(ctx)
	if v.tree == nil {
		v.surveyShared(ctx, end)
		return
	}
	from := v.Spec.Place.Commit
	ctx = worktree.WithNotes(ctx, func(s string) { v.Note("%s", s) })
	var errs []error
	note := func(err error) { errs = append(errs, err) }
	if end.Outcome != dag.Done && end.Reason != dag.ReasonScope || v.Now().Overridden {
		// Nobody has looked yet. It does not change the verdict.
		f, err := v.tree.Shared.Changes(ctx)
		if note(err); f != nil {
			v.Note("%s", f.Detail)
		}
	}
	if err := v.tree.TakeTrace(); err != nil {
		v.Note("%v", err)
	}
	ctx = v.tree.Config(ctx)
	var err error
	if end.Outcome != dag.Done && !end.Retry {
		end.Snapshot, err = v.tree.Snapshot(ctx, fmt.Sprintf("attempt %d of %s did not pass", v.Spec.Attempt, v.node.Name))
		note(err)
	}
	if v.node.HasBranch() {
		end.Tip, err = v.tree.Repo.Tip(ctx, v.Spec.Place.Branch)
		note(err)
		if end.Outcome == dag.Done && !v.Now().Overridden && v.judged != "" && end.Tip != v.judged {
			v.Note("%s has moved since it was judged: %.12s -> %.12s; dependents get what was judged", v.Spec.Place.Branch, v.judged, end.Tip)
			end.Tip = v.judged
		}
		if from != "" && err == nil && end.Tip != from {
			end.Commits, err = v.tree.Commits(ctx, from)
			note(err)
			end.DiffStat, err = v.tree.DiffStat(ctx, from, end.Tip)
			note(err)
			// The record of the end must not outlive the commits that it names.
			v.Persisting.Wait()
			note(v.tree.Repo.Sync())
		}
	}
	if err := errors.Join(errs...); err != nil {
		v.Note("%v", err)
	}
}
