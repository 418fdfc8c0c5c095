package attempt

import (
	"context"
	"errors"
	"time"

	"cmux/agents/platform/proc"
	"cmux/agents/runs/attempt/verdict"
	"cmux/agents/runs/attempt/workspace"
	"cmux/dag"
)

// prepare makes the worktree ready.
func (a *attempt) prepare() error {
	if a.shares() {
		return a.verdict.LookBefore()
	}
	if !a.node.HasTree() || a.spec.Terms.Stays && a.spec.Place.Tree == "" {
		return nil
	}
	var t *workspace.Tree
	if err := a.progress.become(dag.SettingUp, time.Time{}, ""); err != nil {
		return err
	}
	failure, err := a.roomily(func(ctx context.Context) (err error) {
		if t, err = workspace.Open(ctx, a.job.Repo, a.spec, a.paths, a.job.Home); err != nil {
			return err
		}
		// The new worktree must survive a power cut. An error is reported at the end, when
		// it matters.
		a.persisting.Go(func() { _ = t.Repo.Sync() })
		if err := t.Prepare(ctx, a.stage.Env, a.out); err != nil {
			return err
		}
		if err := t.TakeTrace(); err != nil { // of the setup
			a.note("%v", err)
		}
		return t.Watch(ctx)
	})
	if t != nil {
		a.progress.dir = a.spec.Place.Dir
	}
	a.verdict.In(t)
	if failure != nil || err != nil {
		// Processes of an interrupted step belong to no program that could find them.
		_, e := proc.End(context.WithoutCancel(a.ctx), a.limits.Grace, a.stage.Mark)
		failure = errors.Join(failure, e)
	}
	if err != nil {
		return err
	}
	if failure != nil {
		return verdict.FailedBy(verdict.CodeOf(failure), dag.ReasonSetup, "%v", failure)
	}
	return nil
}

// beginVerdict begins the verdict on the current work and drops that of earlier work.
func (a *attempt) beginVerdict() {
	a.back = ""
	a.sender.rest()
	a.progress.dir, a.progress.patience = "", time.Duration(a.node.IdleTimeout)
	a.verdict.Anew(verdict.Job{
		Spec: a.spec, Task: a.task, Shares: a.shares(), Judging: a.kind.Judge, Stage: a.stage, Out: a.out, Paths: a.paths, Home: a.job.Home,
		Outputs: outputFile(a.paths, a.spec), StepTime: a.limits.Step, Grace: a.limits.Grace, Persisting: &a.persisting,
		Attempt: verdict.Attempt{
			Now: func() verdict.Now {
				return verdict.Now{Overridden: a.Overridden, Agent: a.agent.Agent != nil, Ended: a.agent.hasEnded(), Report: a.Report}
			},
			During: func(f func(context.Context) error) (failure, err error) { return a.during(f) }, Roomily: a.roomily, Call: a.call,
			Become: func(act dag.Activity) (dag.Activity, error) {
				was := a.progress.activity
				return was, a.progress.become(act, time.Time{}, "")
			},
			Note: a.note, Record: a.record,
		},
	})
}
