package runner

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"cmux/agents/platform/limits"
	"cmux/agents/runs/attempt"
	"cmux/agents/runs/run"
	"cmux/dag"
)

// tellLimits makes known to all runs of the person what this one found out about
// their accounts.
func (r *Runner) tellLimits(ctx context.Context) error {
	if r.untold || len(r.hist.Untold) == 0 {
		return nil
	}
	now := time.Now()
	var recs []run.Record
	for _, account := range slices.Sorted(maps.Keys(r.hist.Untold)) {
		rec := r.hist.Untold[account]
		if !slices.Contains(r.accounts, account) {
			continue
		}
		released := rec.How == run.HowReleased
		if rec.Type == run.Limited && !released && !rec.Until.After(now) {
			continue // it is past, and nobody has tried since
		}
		s := limits.State{Account: account, Free: rec.Type == run.Freed, Until: rec.Until, Said: rec.Detail, At: rec.At}
		is, ok := r.shares.Tell(s, rec.Node, released, now)
		switch {
		case !ok:
			r.untold = true
			return nil
		case is == nil: // it is for this run alone
			recs = append(recs, run.Record{Type: rec.Type, Account: account, Until: rec.Until, Shared: &run.Shared{}})
		case r.mine(is) && is.By.Node == rec.Node && is.Until.Equal(s.Until) && is.Free == s.Free:
			recs = append(recs, run.Record{Type: rec.Type, Account: account, Until: rec.Until, Shared: &run.Shared{ID: is.ID}})
		default:
			recs = append(recs, r.takenIn(is)...)
		}
	}
	if len(recs) == 0 {
		return nil
	}
	return r.learn(ctx, recs...)
}

// takeLimits takes in what other runs of the person found out about the
// accounts of this one.
func (r *Runner) takeLimits(ctx context.Context) error {
	if err := r.tellLimits(ctx); err != nil {
		return err
	}
	now := time.Now()
	var recs []run.Record
	for _, account := range r.accounts {
		is, ok := r.shares.Limit(account, now)
		l := r.hist.Limits[account]
		switch {
		case !ok:
		case is == nil:
			// A person removed what all runs knew.
			if r.hist.Shared[account] != "" && l.Times > 0 {
				recs = append(recs, run.Record{Type: run.Freed, Account: account, Shared: &run.Shared{}})
			}
		case is.ID == r.hist.Shared[account]:
		case l.Times == 0 && (is.Free || !is.Until.After(now)):
			// Nothing that matters here.
		default:
			recs = append(recs, r.takenIn(is)...)
		}
	}
	if len(recs) == 0 {
		return nil
	}
	return r.learn(ctx, recs...)
}

// takenIn is what a state of an account means for this run.
func (r *Runner) takenIn(is *limits.State) (recs []run.Record) {
	shared := &run.Shared{ID: is.ID, By: &is.By}
	if r.mine(is) {
		shared.By = nil
	}
	if l := r.hist.Limits[is.Account]; is.Free || l.Times > 0 && (l.Until.IsZero() || is.Until.Before(l.Until)) {
		recs = append(recs, run.Record{Type: run.Freed, Account: is.Account, Shared: shared})
	}
	if !is.Free {
		recs = append(recs, run.Record{Type: run.Limited, Account: is.Account, Until: is.Until, Detail: is.Said, Shared: shared})
	}
	return recs
}

// mine reports whether this run found out a state.
func (r *Runner) mine(is *limits.State) bool {
	return is.By.Run == r.Run.Plan.ID && is.By.Project == r.Run.Plan.Root
}

// awake tells the attempts that wait for the end of an account's limit that it
// came before its time.
func (r *Runner) awake(ctx context.Context, account string) {
	if r.hist.Limits[account].On(time.Now()) {
		return
	}
	for i := range r.hist.Nodes {
		if r.g.Nodes[i].Account == account {
			r.awakeOne(ctx, i)
		}
	}
}

func (r *Runner) awakeOne(ctx context.Context, i int) {
	f := &r.hist.Nodes[i].Fact
	if f.Phase == dag.Paused && f.Activity == dag.AtLimit && !r.hist.Limits[r.g.Nodes[i].Account].On(time.Now()) {
		r.lives.Say(ctx, r.g.Nodes[i].Name, attempt.Message{Op: attempt.OpAwake})
	}
}

// answerRelease gives an agent back that a person took over; of a node that
// waits for the end of its account's limit it says that it may be tried now, in
// all runs of the person.
func (r *Runner) answerRelease(ctx context.Context, q run.Request, i int) deed {
	account := r.g.Nodes[i].Account
	now := time.Now()
	if r.asked[q.ID] != nil || r.hist.State.Status(i, now).Label.State != dag.NodeLimited {
		return r.passOn(ctx, q, i, attempt.Message{Op: attempt.OpRelease})
	}
	if r.hist.Limits[account].Times == 0 {
		return deed{refusal: errors.New(q.Node + " waits for a limit of its own program: attach to it and continue there")}
	}
	return deed{recs: []run.Record{
		{Type: run.Freed, Account: account, How: run.HowReleased, At: now},
		{Type: run.Limited, Account: account, Until: now, How: run.HowReleased, At: now},
	}}
}
