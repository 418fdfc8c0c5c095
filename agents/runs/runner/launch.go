package runner

import (
	"context"
	"errors"
	"time"

	"cmux/agents/runs/attempt"
	"cmux/agents/runs/host"
	"cmux/agents/runs/owner"
	"cmux/agents/runs/prompt"
	"cmux/agents/runs/run"
	"cmux/dag"
	"cmux/worktree/merge"
)

// placement is an attempt that has a slot and is on its way to be launched.
type placement struct {
	node, attempt int
	place         run.Place
	conflict      error // it has no place: why
	tips          []merge.Tip
	deps          []run.Dependency
	branches      []run.Dependency // role merge
	fresh         bool
	trial         bool       // it finds out whether the limit of its account is over
	earlier       *run.Place // of the attempt that this one goes on from; nil: none
}

// lent is a placement that came back from git.
type lent struct{ *placement }

// ended is an attempt that leaves it to this process to record its end.
type ended struct {
	host.Ref
	end run.End
	err error
}

// started is the record of an attempt that is about to be started.
func (r *Runner) started(p *placement) run.Record {
	return run.Record{Type: run.Started, Node: r.g.Nodes[p.node].Name, Attempt: p.attempt, Place: &p.place, Trial: p.trial}
}

// begun starts attempts that are recorded as started.
func (r *Runner) begun(ctx context.Context, ps []*placement) error {
	if len(ps) == 0 {
		return nil
	}
	unsafe := r.proveBin(ctx)
	var stillborn []run.Record
	for _, p := range ps {
		_, unasked := r.hist.State.Condition(p.node)
		err := errors.Join(p.conflict, unsafe, unasked)
		if err == nil {
			err = r.start(ctx, p)
		}
		if err == nil || errors.Is(err, context.Canceled) {
			continue // this runner leaves: the next one finds an attempt that never began
		}
		end := run.End{Outcome: dag.Failed, Reason: dag.ReasonSetup, Exit: 1, Detail: err.Error()}
		var conflict *merge.ConflictError
		if errors.As(err, &conflict) {
			end.Reason = dag.ReasonConflict
		}
		spec := &r.g.Nodes[p.node]
		end.Retry = spec.WillRetry(end.Outcome, end.Reason, r.hist.Nodes[p.node].Fact.Tries)
		stillborn = append(stillborn, run.Record{Type: run.AttemptEnd, Node: spec.Name, Attempt: p.attempt, End: &end})
	}
	if len(stillborn) > 0 {
		return r.commit(ctx, stillborn...)
	}
	return nil
}

// terms are those of every node: it does one piece of work and reports it.
func terms(n *dag.Node, headless bool) owner.Terms {
	return owner.Terms{Keeps: true, Unattended: headless && n.InputTimeout == 0, Sits: n.UsesModel(), Group: "agents"}
}

// start starts one recorded attempt.
func (r *Runner) start(ctx context.Context, p *placement) error {
	spec := &r.g.Nodes[p.node]
	f := &r.hist.Nodes[p.node].Fact
	s := &run.Spec{
		Node: spec.Name, Frame: r.frame, Def: spec, Attempt: p.attempt, Token: run.NewToken(), Place: p.place,
		Tries: f.Tries, Losses: f.Losses, Terms: terms(spec, r.Server == nil), Headless: r.Server == nil, Trial: p.trial,
		Dependencies: p.deps, Branches: p.branches, Outputs: f.Outputs, Used: r.hist.Nodes[p.node].Used,
	}
	if !p.fresh {
		s.Conversation = r.hist.Nodes[p.node].Resumable(p.attempt)
		s.Counted = r.hist.Nodes[p.node].UsedIn(s.Conversation)
		s.Left = r.hist.Nodes[p.node].Left
	}
	s.Said = r.hist.Nodes[p.node].Said()
	if r.Kinds[spec.Agent].Judge {
		s.Past = prompt.Past(r.hist.Nodes[p.node].Attempts, p.attempt)
	}
	r.showEvents(ctx, p.node, p.attempt)
	l, err := r.host.Start(ctx, s)
	if err == nil && l != nil {
		r.lives.Hold(host.Ref{Node: spec.Name, N: p.attempt}, l, r.host.Bound(spec))
		if r.hist.State.Fact(p.node).Doomed { // while it was on its way
			r.lives.Say(ctx, spec.Name, attempt.Message{Op: attempt.OpCancel})
		}
	}
	return err
}

// ends records how attempts ended: all that ended by now share one sync.
func (r *Runner) ends(ctx context.Context, first ended) error {
	if r.told.Err() != nil {
		// Recorded before what it interrupted: that is no loss.
		if err := r.interrupted(ctx); err != nil {
			return err
		}
	}
	batch := []ended{first}
	for more := true; more; {
		select {
		case e := <-r.ended:
			batch = append(batch, e)
		default:
			more = false
		}
	}
	var (
		finals, recs []run.Record
		errs         []error
	)
	for _, e := range batch {
		rec := run.Record{Type: run.AttemptEnd, Node: e.Node, Attempt: e.N, End: &e.end}
		switch {
		case e.err == nil:
			if r.hist.Nodes[r.g.Index(e.Node)].Fact.StillOpen {
				e.end.Retry = true // a person has decided: it gets no marker
			}
			finals = append(finals, rec)
		case errors.Is(e.err, attempt.ErrInterrupted):
			rec = run.Record{Type: run.Vanished, Node: e.Node, Attempt: e.N, How: run.HowInterrupted, Detail: e.err.Error()}
			if errors.Is(e.err, attempt.ErrStopped) {
				rec.How = run.HowStopped
			}
			recs = append(recs, rec)
		default:
			r.Log.Error("an attempt could not be carried out", "node", e.Node, "err", e.err)
			recs = append(recs, run.Record{Type: run.Vanished, Node: e.Node, Attempt: e.N, How: run.HowLost, Detail: e.err.Error()})
		}
	}
	if len(finals) > 0 {
		errs = append(errs, r.commit(ctx, finals...))
	}
	if len(recs) > 0 {
		errs = append(errs, r.learn(ctx, recs...))
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if d, ok := r.host.(host.Distant); ok {
		for _, e := range batch {
			d.Collected(e.Ref)
		}
	}
	return nil
}

// drain receives what attempts still have to say until all tasks have ended,
// and records it.
func (r *Runner) drain() {
	over := make(chan struct{})
	go func() {
		defer close(over)
		r.tasks.Wait()
	}()
	for {
		select {
		case e := <-r.ended:
			if err := r.ends(context.Background(), e); err != nil {
				r.Log.Error("an end could not be recorded", "err", err)
			}
		case <-r.lives.Gone(): // the next runner finds out how it ended
		case <-over:
			if err := r.flush(context.Background()); err != nil {
				r.Log.Error("markers that are in place could not be recorded", "err", err)
			}
			return
		}
	}
}

// probe finds out whether node i's attempt still has its process, by its lock,
// and records it as vanished when it has not. Gone says that the process is
// known to have ended, or that nobody here started it: without a lock there is
// nothing to wait for.
func (r *Runner) probe(ctx context.Context, i int, gone bool) error {
	a := r.hist.Nodes[i].Attempt()
	if a == nil || a.Over() {
		return nil
	}
	ref := host.Ref{Node: r.g.Nodes[i].Name, N: a.N}
	switch a.Place.Child {
	case "":
	case r.instance:
		return nil // its goroutine will tell
	default:
		return r.lost(ctx, ref, "its runner was killed")
	}
	var fresh time.Time
	if a.Began.IsZero() && !gone && r.leaving == "" {
		fresh = a.Started
	}
	_, err := r.lives.Look(ctx, ref, fresh)
	return err
}

// again is lives.Policy.Again.
func (r *Runner) again(ctx context.Context, ref host.Ref) (open, began bool, err error) {
	err = r.catchUp(ctx)
	a := r.hist.Nodes[r.g.Index(ref.Node)].Attempt()
	return a.N == ref.N && !a.Over(), !a.Began.IsZero(), err
}

// lost is lives.Policy.Lost: it records an attempt as vanished.
func (r *Runner) lost(ctx context.Context, ref host.Ref, why string) error {
	return r.learn(ctx, run.Record{Type: run.Vanished, Node: ref.Node, Attempt: ref.N, How: run.HowLost, Detail: why})
}

// reached is lives.Policy.Reached: it sends an attempt what it may have missed from
// this runner, or from one that was killed.
func (r *Runner) reached(ctx context.Context, ref host.Ref) {
	i := r.g.Index(ref.Node)
	r.news = true
	switch f := &r.hist.Nodes[i].Fact; {
	case r.parting != "":
		r.lives.Say(ctx, ref.Node, attempt.Message{Op: r.parting})
	case f.StillOpen:
		r.lives.Say(ctx, ref.Node, attempt.Message{Op: attempt.OpOverridden})
	case f.Phase == dag.Running && r.Kinds[r.g.Nodes[i].Agent].Judge:
		r.lives.Say(ctx, ref.Node, attempt.Message{Op: attempt.OpGranted, Trial: r.hist.State.Fact(i).Trial})
	}
	r.awakeOne(ctx, i)
	if r.hist.State.Fact(i).Doomed {
		r.lives.Say(ctx, ref.Node, attempt.Message{Op: attempt.OpCancel})
	}
	r.endOverBudget(ctx, i)
	r.showEvents(ctx, i, ref.N)
}
