package runner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"cmux/agents/runs/attempt"
	"cmux/agents/runs/host"
	"cmux/agents/runs/run"
	"cmux/dag"
	"cmux/signals"
)

// learn appends records and takes them in, together with what others appended
// meanwhile. Reading back is the only way in which anything becomes known.
func (r *Runner) learn(ctx context.Context, recs ...run.Record) error {
	recs = append(r.published, recs...)
	r.published = nil
	if err := r.book.Append(ctx, recs...); err != nil {
		return err
	}
	return r.catchUp(ctx)
}

// commit is learn for records that come with markers or must be durable.
func (r *Runner) commit(ctx context.Context, recs ...run.Record) error {
	recs = append(r.published, recs...)
	r.published = nil
	published, err := r.book.Mark(ctx, recs...)
	r.published = published
	if errors.Is(err, run.ErrMarker) {
		r.Log.Error("trying again at the next look", "err", err)
	} else if err != nil {
		return err
	}
	return r.catchUp(ctx)
}

// catchUp reads the records that are new and lets the scheduler take them in.
// What is due then is asked when it can be carried out, by perform.
func (r *Runner) catchUp(ctx context.Context) error {
	r.hist.Tick(time.Now())
	var err error
	r.offset, err = r.book.Replay(r.hist, r.offset, func(rec *run.Record) {
		r.heard(ctx, rec)
		if r.Tell != nil {
			r.Tell(r.hist, rec)
		}
	})
	if errors.Is(err, signals.ErrShrunk) {
		return fmt.Errorf("%s was truncated by another program; cmux agents resume continues from what is left: %w", r.Run.Records(), err)
	}
	r.show()
	r.sweep(ctx)
	return err
}

// heard follows what a record means for this runner's connections.
func (r *Runner) heard(ctx context.Context, rec *run.Record) {
	if (rec.Type == run.Limited || rec.Type == run.Freed) && r.hasAccount(rec.Account) {
		r.heardLimit(ctx, rec)
	}
	if rec.Type == run.Collided {
		r.notifyCollision(ctx, rec)
	}
	if rec.Node == "" {
		return
	}
	r.postman.learns(rec)
	i := r.g.Index(rec.Node)
	if i < 0 {
		return
	}
	r.relabel[i] = true
	switch rec.Type {
	case run.Started, run.Overridden:
		r.detect(i)
		r.radar.again(i)
	case run.AttemptEnd, run.Vanished, run.Reset:
		r.detect(i)
	}
	switch rec.Type {
	case run.Confirmed:
		r.postman.kick()
	case run.Began:
		if a := r.hist.Nodes[i].Attempt(); a != nil && a.Place.Child == "" {
			r.lives.Reach(ctx, host.Ref{Node: rec.Node, N: a.N})
		}
		r.postman.kick()
		r.news = true
	case run.Used:
		r.keepBudget(ctx)
	case run.AttemptEnd, run.Vanished:
		r.postman.kick()
		r.keepBudget(ctx)
		r.news = true
		if r.hist.Nodes[i].Fact.Held {
			r.held = append(r.held, i)
		}
		r.lives.Drop(rec.Node, rec.Attempt)
		r.shown(i, rec.Attempt)
		// One that vanished gave its slot back then.
		if a := r.hist.Nodes[i].Attempt(); a != nil && a.N == rec.Attempt && (rec.Type == run.Vanished || a.Vanished == "") {
			freeSlot(r.shares, &a.Place)
		}
		r.tell(rec)
	case run.Opened:
		r.notifyInput(ctx, rec)
		r.tell(rec)
	case run.Active:
		if rec.Activity == dag.NeedsInput {
			r.notifyInput(ctx, rec)
		}
		r.awakeOne(ctx, i)
		r.tell(rec)
	case run.Overridden:
		if r.hist.Nodes[i].Fact.StillOpen {
			r.lives.Say(ctx, rec.Node, attempt.Message{Op: attempt.OpOverridden})
		}
		r.tell(rec)
	case run.Reset, run.Blocked, run.Unblocked, run.Skipped, run.Moved:
		r.tell(rec)
	}
}

// heardLimit follows what became known of an account.
func (r *Runner) heardLimit(ctx context.Context, rec *run.Record) {
	for i := range r.g.Nodes {
		if r.g.Nodes[i].Account == rec.Account {
			r.relabel[i] = true
		}
	}
	r.awake(ctx, rec.Account)
	if rec.Type == run.Limited {
		r.notifyLimit(ctx, rec)
	}
	if rec.Shared == nil || rec.Shared.By != nil { // else the record is reported already
		r.tell(rec)
	}
}

// hasAccount reports whether a limit of the account concerns the run.
func (r *Runner) hasAccount(account string) bool {
	return slices.ContainsFunc(r.g.Nodes, func(n dag.Node) bool { return n.Account == account })
}

// tell logs a record for people.
func (r *Runner) tell(rec *run.Record) {
	kv := []any{"node", rec.Node}
	if rec.Attempt > 0 {
		kv = append(kv, "attempt", rec.Attempt)
	}
	if rec.End != nil {
		kv = append(kv, "exit", rec.End.Exit)
		if rec.End.Reason != "" {
			kv = append(kv, "reason", rec.End.Reason)
		}
	}
	if rec.Cause != "" {
		kv = append(kv, "cause", rec.Cause)
	}
	if d := rec.Detail; d != "" {
		kv = append(kv, "detail", d)
	}
	r.Log.Info(string(rec.Type), kv...)
}

// flush records the markers that are in place, where nothing else had to be
// recorded meanwhile.
func (r *Runner) flush(ctx context.Context) error {
	if len(r.published) == 0 {
		return nil
	}
	return r.learn(ctx)
}

// audit holds what the scheduler came to, step by step, against what follows
// from the same facts at once. The two are equal; should they ever not be, it is
// known.
func (r *Runner) audit() {
	now := time.Now()
	told := dag.Rebuild(r.g, r.hist.State.Facts())
	for i := range r.g.Nodes {
		if have, want := r.hist.State.Status(i, now).Label, told.Status(i, now).Label; !have.Same(want) {
			r.Log.Error(diverged, "node", r.g.Nodes[i].Name, "runner", have, "records", want)
		}
	}
}

// diverged is what audit logs.
const diverged = "the runner and its records disagree"
