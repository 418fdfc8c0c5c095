package runner

import (
	"context"
	"errors"
	"time"

	"cmux/agents/runs/attempt"
	"cmux/agents/runs/host"
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

// start starts one recorded attempt.
func (r *Runner) start(ctx context.Context, p *placement) error {
	spec := &r.g.Nodes[p.node]
	f := &r.hist.Nodes[p.node].Fact
	s := &run.Spec{
		Node: spec.Name, Frame: r.frame, Def: spec, Attempt: p.attempt, Token: run.NewToken(), Place: p.place,
		Tries: f.Tries, Losses: f.Losses, Headless: r.Server == nil, Trial: p.trial,
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
		r.live[p.node] = &attached{attempt: p.attempt, bound: r.host.Bound(spec), Link: l}
		if r.hist.State.Fact(p.node).Doomed { // while it was on its way
			r.speak(ctx, p.node, attempt.Message{Op: attempt.OpCancel})
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
	return errors.Join(errs...)
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
	name := r.g.Nodes[i].Name
	lost := run.Record{Type: run.Vanished, Node: name, Attempt: a.N, How: run.HowLost}
	if a.Place.Child != "" {
		if a.Place.Child == r.instance {
			return nil // its goroutine will tell
		}
		lost.Detail = "its runner was killed"
		return r.learn(ctx, lost)
	}
	var fresh time.Time
	if a.Began.IsZero() && !gone && r.leaving == "" {
		fresh = a.Started
	}
	pulse, release, err := r.host.Probe(host.Ref{Node: name, N: a.N}, fresh)
	switch {
	case err != nil:
		return err
	case pulse == host.Lives:
		r.attach(ctx, i)
		return nil
	case pulse == host.Unknown:
		return nil
	}
	// Nobody carries the attempt nor can take it up; without its spec nobody
	// will. Its end may have been recorded in the meantime.
	defer release()
	if err := r.catchUp(ctx); err != nil {
		return err
	}
	if a = r.hist.Nodes[i].Attempt(); a.Over() {
		return nil
	}
	if err := r.Run.DropSpec(name, a.N); err != nil {
		return err
	}
	lost.Detail = "its wrapper was killed"
	if a.Began.IsZero() {
		lost.Detail = "its wrapper never came"
	}
	return r.learn(ctx, lost)
}

// attached is what this runner holds of a live attempt.
type attached struct {
	attempt int
	bound   bool // it ends with this process
	host.Link
}

// stands reports whether the attempt can be spoken to.
func (a *attached) stands() bool { return a != nil && host.Stands(a.Link) }

// attach connects to the attempt of node i, to learn of its death at once.
func (r *Runner) attach(ctx context.Context, i int) {
	a := r.hist.Nodes[i].Attempt()
	if a == nil || a.Place.Child != "" {
		return
	}
	if have := r.live[i]; have != nil && have.attempt == a.N {
		return
	}
	ref := host.Ref{Node: r.g.Nodes[i].Name, N: a.N}
	link, err := r.host.Reach(ctx, ref)
	if err != nil {
		r.Log.Debug("an attempt cannot be reached yet", "node", ref.Node, "err", err)
		return // the re-scan tries again
	}
	r.live[i] = &attached{attempt: a.N, Link: link}
	r.news = true
	// What it may have missed, of this runner or of one that was killed.
	switch f := &r.hist.Nodes[i].Fact; {
	case r.parting != "":
		r.speak(ctx, i, attempt.Message{Op: r.parting})
	case f.StillOpen:
		r.speak(ctx, i, attempt.Message{Op: attempt.OpOverridden})
	case f.Phase == dag.Running && r.Kinds[r.g.Nodes[i].Agent].Judge:
		r.speak(ctx, i, attempt.Message{Op: attempt.OpGranted, Trial: r.hist.State.Fact(i).Trial})
	}
	r.awakeOne(ctx, i)
	if r.hist.State.Fact(i).Doomed {
		r.speak(ctx, i, attempt.Message{Op: attempt.OpCancel})
	}
	r.endOverBudget(ctx, i)
	r.showEvents(ctx, i, a.N)
	r.tasks.Go(func() {
		select {
		case <-link.Gone():
			r.left(ref)
		case <-ctx.Done():
		}
	})
}

// left tells the scheduler that the process of an attempt has ended.
func (r *Runner) left(ref host.Ref) {
	select {
	case r.gone <- ref:
	case <-r.over:
	}
}

// speak says something to node i's attempt, if there is one to hear it.
func (r *Runner) speak(ctx context.Context, i int, m attempt.Message) {
	a := r.live[i]
	if a == nil {
		return
	}
	name := r.g.Nodes[i].Name
	r.tasks.Go(func() {
		if _, err := a.Say(ctx, m); err != nil && ctx.Err() == nil {
			r.Log.Warn("an agent was not reached", "node", name, "op", m.Op, "err", err)
		}
	})
}
