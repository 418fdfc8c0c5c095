package verdict

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"cmux/agents/platform/proc"
	"cmux/agents/runs/attempt/workspace"
	"cmux/agents/runs/run"
	"cmux/dag"
	"cmux/worktree/git"
)

// Survey adds the state of the work in git to the end, and saves work that did not pass.
// Errors of git are noted; the verdict does not change.
func (v *Verdict) Survey(ctx context.Context, end *run.End) {
	end.Checks, ctx = v.checks, context.WithoutCancel(ctx)
	if v.tree == nil {
		v.surveyShared(ctx, end)
		return
	}
	from := v.Spec.Place.Commit
	ctx = git.WithNotes(ctx, func(s string) { v.Note("%s", s) })
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
		reason := fmt.Sprintf("attempt %d of %s did not pass", v.Spec.Attempt, v.node.Name)
		if end.Outcome == dag.Cancelled {
			reason = strings.TrimSuffix(v.node.Name+" was taken off its task: "+end.Detail, ": ")
		}
		end.Snapshot, err = v.tree.Snapshot(ctx, reason)
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
			// The record of the end must not be durable before the commits that it names.
			v.Persisting.Wait()
			note(v.tree.Repo.Sync())
		}
	}
	if err := errors.Join(errs...); err != nil {
		v.Note("%v", err)
	}
}

// Findings describes the work of an agent that has ended without a report, including the
// results of its checks. It changes nothing.
func (v *Verdict) Findings(exit proc.Exit) (string, error) {
	how := fmt.Sprintf("exit %d", exit.Code)
	if exit.Signal != 0 {
		how = exit.String()
	}
	var there []string
	add := func(format string, args ...any) { there = append(there, fmt.Sprintf(format, args...)) }
	f, err := v.verify("")
	if err != nil {
		return "", err
	}
	if v.tree != nil && v.node.HasBranch() {
		err := v.git(func(ctx context.Context) error { return v.work(ctx, add) })
		if _, ended := err.(*Final); ended {
			add("git could not examine it (%v)", err) // the person is asked all the same
		} else if err != nil {
			return "", err
		}
	}
	switch {
	case f != nil:
		add("its check failed (%s)", oneLine(f.Detail))
	case len(v.node.Verify) > 0:
		add("its checks pass")
	}
	detail := "ended without a report (" + how + ")"
	if len(there) > 0 {
		detail += ": " + strings.Join(there, ", ")
	}
	return detail, nil
}

// work describes the agent's work in the branch and the worktree.
func (v *Verdict) work(ctx context.Context, add func(string, ...any)) error {
	n, err := v.tree.Commits(ctx, v.start)
	if err != nil {
		return err
	}
	switch n {
	case 0:
		add("no commit")
	case 1:
		add("1 commit")
	default:
		add("%d commits", n)
	}
	dirt, err := v.tree.Repo.Uncommitted(ctx, v.tree.Lent.Path)
	if err != nil {
		return err
	}
	if !dirt.Clean() {
		add("not committed: %s (%s)", dirt, workspace.Shown(dirt.Paths))
	}
	f, err := v.scope(ctx)
	if err == nil && f != nil {
		add("%s", f.Detail)
	}
	return err
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
