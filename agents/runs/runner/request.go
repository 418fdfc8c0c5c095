package runner

import (
	"context"
	"errors"
	"fmt"
	"time"

	"cmux/agents/runs/attempt"
	"cmux/agents/runs/host"
	"cmux/agents/runs/run"
	"cmux/dag"
	"cmux/signals"
)

// asked is a request that waits for what an attempt does about it.
type asked struct {
	node, attempt int // the attempt it was passed on to; 0: to none yet
	cancel        bool
	done          bool  // it answered
	err           error // what it refused
	reply         attempt.Reply
}

// said is what an attempt answered.
type said struct {
	to    *asked
	err   error
	reply attempt.Reply
}

// deed is what a request comes to.
type deed struct {
	refusal error // for the person who asked; nothing was done
	wait    bool  // it is not decided yet: ask again when there is news
	value   string
	recs    []run.Record
	then    func() error // once recs are recorded; may be nil
}

func refuse(format string, a ...any) deed { return deed{refusal: fmt.Errorf(format, a...)} }

// requests carries out what commands left for the runner. What a request does
// and that it was done are recorded in one append, before its file goes, so
// that it is carried out once whenever this process is killed.
func (r *Runner) requests(ctx context.Context) error {
	r.waiting = false
	known := func(id string) bool { return r.hist.Answered[id] }
	answer := func(q run.Request) (bool, error) {
		if r.leaving != "" || r.told.Err() != nil {
			return true, nil // what it took up now would wait for another runner
		}
		wait, err := r.respond(ctx, q)
		r.waiting = r.waiting || wait
		return wait, err
	}
	return run.Desk{Known: known, Answer: answer, Odd: func(not, aside error) error { return r.noRequest(ctx, not, aside) }}.Serve(r.Run)
}

// respond answers a request and records that. It may have to wait.
func (r *Runner) respond(ctx context.Context, q run.Request) (wait bool, err error) {
	var d deed
	if q.Op == run.OpLeave || q.Op == run.OpStop {
		d = r.answer(ctx, q)
	} else if done, err := r.keepNames(ctx); err != nil {
		d.refusal = err
	} else {
		defer done()
		d = r.answer(ctx, q)
	}
	if d.wait {
		return true, nil
	}
	delete(r.asked, q.ID)
	rec := run.Record{Type: run.Requested, Node: q.Node, How: string(q.Op), Request: q.ID}
	if d.refusal != nil {
		rec.Detail = d.refusal.Error()
	}
	rec.Value = d.value
	if err := r.commit(ctx, append(d.recs, rec)...); err != nil {
		return false, err
	}
	if d.then != nil {
		if err := d.then(); err != nil {
			return false, err
		}
	}
	r.Log.Info("request", "op", q.Op, "node", q.Node, "refused", rec.Detail)
	return false, nil
}

// answer says what a request comes to.
func (r *Runner) answer(ctx context.Context, q run.Request) deed {
	switch {
	case q.Op == run.OpLeave && r.hist.Final == "":
		return refuse("run %s goes on", r.Run.Plan.ID)
	case q.Op == run.OpLeave, q.Op == run.OpStop && q.Node == "" && r.hist.Final != "":
		return deed{then: func() error { r.leave(string(r.hist.Final)); return nil }}
	case q.Op == run.OpStop && q.Node == "":
		return deed{recs: []run.Record{{Type: run.Stopped}}, then: func() error { r.stop(ctx); return nil }}
	case q.Op == run.OpUpdate:
		return r.answerUpdate(ctx, q)
	}
	i := r.g.Index(q.Node)
	if i < 0 {
		return refuse("this run has no node %q", q.Node)
	}
	switch q.Op {
	case run.OpRetry:
		// Whoever asks may have seen its end before this runner did.
		if r.hist.Nodes[i].Fact.Live() {
			if err := r.probe(ctx, i, false); err != nil {
				return deed{refusal: err}
			}
		}
		if n := &r.hist.Nodes[i]; n.Left != nil && n.Fact.Live() || r.asked[q.ID] != nil {
			if refusal := GoesOn(q.Node, q.Fresh); refusal != nil {
				return deed{refusal: refusal}
			}
			return r.passOn(ctx, q, i, attempt.Message{Op: attempt.OpRetry})
		}
		budget := r.hist.OverBudget
		own, src, err := r.own(q)
		if err != nil {
			return deed{refusal: err}
		}
		if own != nil {
			budget = func(i int) error { return r.hist.OverBudgetIn(own, i) }
		}
		nodes, refusal := Rerun(r.hist.State, i, q.Downstream, budget)
		if refusal != nil {
			return deed{refusal: refusal}
		}
		d := deed{then: func() error { return r.withdraw(nodes) }, recs: Moved(ctx, r.repo, r.hist, nodes...)}
		for _, i := range nodes {
			rec := run.Record{Type: run.Reset, Node: r.g.Nodes[i].Name, How: q.ID, Fresh: q.Fresh}
			if rec.Node == q.Node {
				if rec.Comment = q.Text; q.Text != "" {
					rec.Tip = tip(ctx, r.repo, &r.g.Nodes[i])
				}
			}
			d.recs = append(d.recs, rec)
		}
		if own != nil {
			return r.refreeze(own, src, d)
		}
		return d
	case run.OpApprove:
		switch {
		case r.success(i):
			return refuse("%s is done already", q.Node)
		case r.g.Nodes[i].Role != dag.RoleGate:
			return refuse("%s is no gate: cmux agents override %s calls it done", q.Node, q.Node)
		case r.g.Nodes[i].AsksCode() && !q.Coded:
			return uncoded(q)
		}
		return deed{recs: []run.Record{{Type: run.Overridden, Node: q.Node, How: run.HowApproved, Coded: q.Coded}}}
	case run.OpOverride:
		if r.success(i) {
			return refuse("%s is done already", q.Node)
		}
		if r.g.Nodes[i].AsksCode() && !q.Coded {
			return uncoded(q)
		}
		tip := tip(ctx, r.repo, &r.g.Nodes[i])
		id, err := signals.Replace(r.Run.Signals(), q.Node, signals.Content{Kind: signals.Empty})
		if err != nil {
			return refuse("the marker of %s cannot be written: %w", q.Node, err)
		}
		return deed{recs: []run.Record{{Type: run.Overridden, Node: q.Node, How: run.HowOverride, Tip: tip, Coded: q.Coded,
			Marker: &run.Written{Empty: true, Identity: id}}}}
	case run.OpStop:
		return r.answerCancel(ctx, q, i)
	case run.OpAnswer:
		if r.asked[q.ID] == nil && q.Question != nil && *q.Question != r.hist.Nodes[i].Asked() {
			return deed{refusal: run.AsksElse(q.Node)}
		}
		return r.passOn(ctx, q, i, attempt.Message{Op: attempt.OpAnswer, Text: q.Text, Key: q.ID, ToOpen: q.Question != nil && *q.Question != ""})
	case run.OpRelease:
		return r.answerRelease(ctx, q, i)
	}
	return refuse("this version of cmux does not know the request %q", q.Op)
}

// uncoded refuses to open a gate on an order that was given without its code:
// before the gate asked for one, or not by the commands.
func uncoded(q run.Request) deed {
	return refuse("%s asks for a code, and this order was given without one: cmux agents %s %s shows it in your own terminal", q.Node, q.Op, q.Node)
}

// answerCancel cancels node i. It is done when the node has ended: until then
// the request stands, so that another runner takes it up when this one dies.
func (r *Runner) answerCancel(ctx context.Context, q run.Request, i int) deed {
	f := r.hist.State.Fact(i)
	a := r.asked[q.ID]
	switch {
	case f.Live():
		if a == nil {
			a = &asked{node: i, cancel: true}
			r.asked[q.ID] = a
		}
		if l := r.lives.Of(q.Node); l != nil && l.N != a.attempt {
			a.attempt = l.N
			r.lives.Say(ctx, q.Node, attempt.Message{Op: attempt.OpCancel})
		}
		return deed{wait: true}
	case a != nil && r.hist.State.Settled(i):
		return deed{}
	case r.hist.State.Settled(i):
		return refuse("%s is not running", q.Node)
	}
	return deed{recs: []run.Record{cancelled(q.Node)}}
}

// cancelled is the end of a node that was cancelled before it started.
func cancelled(node string) run.Record {
	return run.Record{Type: run.AttemptEnd, Node: node, At: time.Now(),
		End: &run.End{Outcome: dag.Cancelled, Exit: 130, Detail: "cancelled before it started"}}
}

// failedFast is the end of a node that has not started and another of whose
// matrix has failed.
func failedFast(node string) run.Record {
	rec := cancelled(node)
	rec.End.Detail = "fail_fast: another node of its matrix failed"
	return rec
}

// cancelled reports whether a request to cancel node i waits.
func (r *Runner) cancelled(i int) bool {
	for _, a := range r.asked {
		if a.node == i && a.cancel {
			return true
		}
	}
	return false
}

// passOn hands a request to the attempt of node i, whose answer is the answer.
func (r *Runner) passOn(ctx context.Context, q run.Request, i int, m attempt.Message) deed {
	a := r.asked[q.ID]
	switch {
	case a != nil && a.done:
		return deed{refusal: a.err, value: a.reply.Outcome()}
	case !r.hist.Nodes[i].Fact.Live():
		return refuse("%s is not running", q.Node)
	case a != nil:
		return deed{wait: true}
	}
	l := r.lives.Of(q.Node)
	if l == nil {
		return deed{wait: true} // it cannot be spoken to yet
	}
	a = &asked{node: i, attempt: l.N}
	r.asked[q.ID] = a
	r.tasks.Go(func() {
		say := l.Say
		if m.Op == attempt.OpAnswer { // it waits for its outcome, and the grant of a slot must pass meanwhile
			if own, err := r.host.Reach(ctx, host.Ref{Node: q.Node, N: a.attempt}); err == nil {
				defer own.Close()
				say = own.Say
			}
		}
		reply, err := say(ctx, m)
		select {
		case r.said <- said{a, err, reply}:
		case <-r.over:
		}
	})
	return deed{wait: true}
}

// GoesOn says why `retry` cannot have an agent go on whose program has ended
// without a report; nil: it can.
func GoesOn(node string, fresh bool) error {
	if fresh {
		return fmt.Errorf("%s has not ended yet, its attempt waits for a person: cmux agents stop %s first, then cmux agents retry %s --fresh", node, node, node)
	}
	return nil
}

// Rerun returns the nodes that `retry` of node i starts again: the node itself and,
// with downstream, every ended node behind it. Nodes that i blocked follow by
// themselves. Rerun refuses a node that is over its budget. The error is for the
// person who asked.
func Rerun(s *dag.State, i int, downstream bool, overBudget func(int) error) ([]int, error) {
	g := s.Graph()
	name := g.Nodes[i].Name
	f := s.Fact(i)
	if f.Phase != dag.Ended && !f.Held && !f.Lost {
		if f.Live() {
			return nil, fmt.Errorf("%s is still running: cmux agents stop %s first", name, name)
		}
		if root, ok := s.BlockedAt(i); ok {
			c := g.Nodes[root].Name
			return nil, fmt.Errorf("%s is blocked by %s: cmux agents retry %s", name, c, c)
		}
		if s.Skipped(i) {
			return nil, fmt.Errorf("%s never ran, it is skipped (%s): cmux agents override %s counts it as done", name, s.Status(i, time.Now()).Reason, name)
		}
		return nil, fmt.Errorf("%s has not ended yet", name)
	}
	if f.StillOpen {
		return nil, fmt.Errorf("the overridden attempt of %s is still open: cmux agents stop %s first", name, name)
	}
	if root, ok := s.BlockedAt(i); ok && f.Outcome == dag.Done { // it would not run, and lose the result that it has
		c := g.Nodes[root].Name
		return nil, fmt.Errorf("%s would be blocked by %s, which has not succeeded since: cmux agents retry %s first", name, c, c)
	}
	if err := overBudget(i); err != nil {
		var of *run.BudgetError
		if errors.As(err, &of) && of.Node == "" {
			return nil, fmt.Errorf("%w: raise it in the configuration, take that in with cmux agents update, then cmux agents retry %s", err, name)
		}
		return nil, fmt.Errorf("%w: raise it in the configuration, then cmux agents retry %s", err, name)
	}
	nodes := []int{i}
	if !downstream {
		return nodes, nil
	}
	behind, err := g.Downstream(i)
	if err != nil {
		return nil, err
	}
	var errs []error
	for _, d := range behind {
		df := s.Fact(d)
		if df.Live() {
			errs = append(errs, fmt.Errorf("%s, which depends on %s, is still running: cmux agents stop %s first", g.Nodes[d].Name, name, g.Nodes[d].Name))
		} else if err := overBudget(d); err != nil && df.Phase == dag.Ended {
			errs = append(errs, fmt.Errorf("%w, and %s depends on %s", err, g.Nodes[d].Name, name))
		} else if df.Phase == dag.Ended {
			nodes = append(nodes, d)
		}
	}
	return nodes, errors.Join(errs...)
}
