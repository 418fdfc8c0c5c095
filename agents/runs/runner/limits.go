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

// known is what this runner shares with all runs of the person about the
// accounts of its nodes.
type known struct {
	dir      string          // of the files; empty: there is none to be had
	accounts []string        // of the nodes
	warned   map[string]bool // by what was said: once is enough
	later    bool            // they could not be told: not again before the next look at everything
}

func (r *Runner) openLimits() {
	accounts := make(map[string]bool)
	for i := range r.g.Nodes {
		if n := &r.g.Nodes[i]; n.Account != "" && r.Kinds[n.Agent].Judge {
			accounts[n.Account] = true
		}
	}
	r.known = known{accounts: slices.Sorted(maps.Keys(accounts)), warned: make(map[string]bool)}
	if len(accounts) == 0 {
		return
	}
	dir, err := limits.Open()
	if err != nil {
		r.warnLimits(err)
		return
	}
	r.known.dir = dir
}

func (r *Runner) warnLimits(err error) {
	if !r.known.warned[err.Error()] {
		r.known.warned[err.Error()] = true
		r.Log.Warn("usage limits are not shared with your other runs", "err", err)
	}
}

// tellLimits makes known to all runs of the person what this one found out about
// their accounts.
func (r *Runner) tellLimits(ctx context.Context) error {
	if r.known.dir == "" || r.known.later || len(r.hist.Untold) == 0 {
		return nil
	}
	now := time.Now()
	var recs []run.Record
	for _, account := range slices.Sorted(maps.Keys(r.hist.Untold)) {
		rec := r.hist.Untold[account]
		if !slices.Contains(r.known.accounts, account) {
			continue
		}
		released := rec.How == run.HowReleased
		if rec.Type == run.Limited && !released && !rec.Until.After(now) {
			continue // it is past, and nobody has tried since
		}
		root := r.Run.Plan.Root
		s := limits.State{Account: account, Free: rec.Type == run.Freed, Until: rec.Until, Said: rec.Detail, At: rec.At,
			By: limits.Source{Project: root, Session: r.g.Session, Run: r.Run.Plan.ID, Node: rec.Node}}
		is, err := limits.Tell(r.known.dir, s, released, now)
		switch {
		case err != nil:
			r.warnLimits(err)
			r.known.later = true
			return nil
		case is == nil: // it is for this run alone
			recs = append(recs, run.Record{Type: rec.Type, Account: account, Until: rec.Until, Shared: &run.Shared{}})
		case is.By == s.By && is.Until.Equal(s.Until) && is.Free == s.Free:
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
	if r.known.dir == "" {
		return nil
	}
	if err := r.tellLimits(ctx); err != nil {
		return err
	}
	now := time.Now()
	var recs []run.Record
	for _, account := range r.known.accounts {
		is, err := limits.Read(r.known.dir, account, now)
		l := r.hist.Limits[account]
		switch {
		case err != nil:
			r.warnLimits(err)
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
	if is.By.Run == r.Run.Plan.ID && is.By.Project == r.Run.Plan.Root {
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
