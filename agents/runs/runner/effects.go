package runner

import (
	"context"
	"time"

	"cmux/agents/runs/attempt"
	"cmux/agents/runs/run"
	"cmux/dag"
)

// perform asks what is due and carries it out, until nothing is. What is due is
// never kept: between asking and recording it nothing else is taken in.
func (r *Runner) perform(ctx context.Context) error {
	for {
		r.clearHeld(ctx)
		if err := r.tellLimits(ctx); err != nil {
			return err
		}
		due := r.seated()
		var err error
		switch {
		case len(due) > 0:
			err = r.carryOut(ctx, due)
		case len(r.published) > 0:
			err = r.flush(ctx)
		default:
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// carryOut carries out what is due. All of it is recorded in one append, before
// anything else becomes known; what then happens in the world follows from the
// records, and the next runner does it when this one is killed in between.
func (r *Runner) carryOut(ctx context.Context, due []dag.Effect) error {
	var (
		recs     []run.Record
		withdraw []int
		granted  []dag.Effect
		started  []*placement
	)
	for _, e := range due {
		name := r.g.Nodes[e.Node].Name
		switch e.Kind {
		case dag.Block:
			recs = append(recs, run.Record{Type: run.Blocked, Node: name, Cause: r.g.Nodes[e.Cause].Name})
		case dag.Unblock:
			recs = append(recs, run.Record{Type: run.Unblocked, Node: name})
			withdraw = append(withdraw, e.Node)
		case dag.Skip:
			recs = append(recs, run.Record{Type: run.Skipped, Node: name, Detail: r.hist.State.Status(e.Node, time.Now()).Reason})
		case dag.Cancel:
			if f := r.hist.State.Fact(e.Node); !f.Live() {
				recs = append(recs, failedFast(name))
			} else {
				r.lives.Say(ctx, r.g.Nodes[e.Node].Name, attempt.Message{Op: attempt.OpCancel})
			}
		case dag.Open:
			recs = append(recs, run.Record{Type: run.Opened, Node: name})
		case dag.Grant:
			recs = append(recs, run.Record{Type: run.Granted, Node: name, Attempt: e.Attempt, Trial: e.Trial})
			granted = append(granted, e)
		case dag.Start:
			if r.leaving != "" {
				continue
			}
			if r.cancelled(e.Node) {
				recs = append(recs, cancelled(name))
				continue
			}
			if err := r.hist.OverBudget(e.Node); err != nil {
				recs = append(recs, unaffordable(name, err))
				continue
			}
			if p := r.place(ctx, e); p != nil {
				recs = append(recs, r.started(p))
				started = append(started, p)
			}
		}
	}
	if len(recs) > 0 {
		if err := r.commit(ctx, recs...); err != nil {
			return err
		}
	}
	if err := r.withdraw(withdraw); err != nil {
		return err
	}
	for _, e := range granted { // recorded first: what the attempt says next comes after it
		r.lives.Say(ctx, r.g.Nodes[e.Node].Name, attempt.Message{Op: attempt.OpGranted, Trial: e.Trial})
	}
	return r.begun(ctx, started)
}
