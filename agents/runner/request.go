package runner

import (
	"context"
	"errors"
	"fmt"
	"time"

	"cmux/agents/attempt"
	"cmux/agents/run"
	"cmux/dag"
	"cmux/signals"
)

// requests carries out what commands left for the runner. Each is recorded
// under its id before its file goes, so that none is carried out twice.
func (r *Runner) requests(ctx context.Context) error {
	pending, err := r.Run.Pending()
	if err != nil {
		r.Log.Error("a request could not be read and is set aside", "err", err)
	}
	for _, q := range pending {
		if r.leaving != "" {
			return nil
		}
		if !r.hist.Answered[q.ID] {
			refusal, err := r.answer(ctx, q)
			if err != nil {
				return err
			}
			rec := run.Record{Type: run.Requested, Node: q.Node, How: string(q.Op), Request: q.ID}
			if refusal != nil {
				rec.Detail = refusal.Error()
			}
			if err := r.learn(ctx, rec); err != nil {
				return err
			}
			r.Log.Info("request", "op", q.Op, "node", q.Node, "refused", rec.Detail)
		}
		if err := r.Run.Answered(q); err != nil {
			return err
		}
	}
	return nil
}

// answer carries one request out. A refusal is for the person who asked.
func (r *Runner) answer(ctx context.Context, q run.Request) (refusal, err error) {
	if q.Op == run.OpStop && q.Node == "" {
		if err := r.learn(ctx, run.Record{Type: run.Stopped}); err != nil {
			return nil, err
		}
		r.stop(ctx)
		return nil, nil
	}
	i := r.g.Index(q.Node)
	if i < 0 {
		return fmt.Errorf("this run has no node %q", q.Node), nil
	}
	f := r.state.Fact(i)
	live := f.Live()
	switch q.Op {
	case run.OpRetry:
		nodes, refusal := Rerun(r.state, i, q.Downstream)
		if refusal != nil {
			return refusal, nil
		}
		return nil, r.reset(ctx, q.ID, q.Fresh, nodes...)
	case run.OpApprove:
		switch {
		case r.g.Nodes[i].Role != dag.RoleGate:
			return fmt.Errorf("%s is no gate: cmux agents override %s calls it done", q.Node, q.Node), nil
		case r.success(i):
			return fmt.Errorf("%s is done already", q.Node), nil
		}
		return nil, r.commit(ctx, run.Record{Type: run.Overridden, Node: q.Node, How: run.HowApproved})
	case run.OpOverride:
		if r.success(i) {
			return fmt.Errorf("%s is done already", q.Node), nil
		}
		tip := r.tip(ctx, i)
		id, err := signals.Replace(r.Run.Signals(), q.Node, signals.Content{Kind: signals.Empty})
		if err != nil {
			return fmt.Errorf("the marker of %s cannot be written: %w", q.Node, err), nil
		}
		if err := r.commit(ctx, run.Record{Type: run.Overridden, Node: q.Node, How: run.HowOverride, Tip: tip,
			Marker: &run.Written{Empty: true, Identity: id}}); err != nil {
			return nil, err
		}
		r.speak(ctx, i, attempt.Message{Op: attempt.OpOverridden})
		return nil, nil
	case run.OpStop:
		if live {
			r.speak(ctx, i, attempt.Message{Op: attempt.OpCancel})
			return nil, nil
		}
		if r.state.Settled(i) {
			return fmt.Errorf("%s is not running", q.Node), nil
		}
		return nil, r.commit(ctx, run.Record{Type: run.AttemptEnd, Node: q.Node, At: time.Now(),
			End: &run.End{Outcome: dag.Cancelled, Exit: 130, Detail: "cancelled before it started"}})
	case run.OpAnswer, run.OpRelease:
		if !live {
			return fmt.Errorf("%s is not running", q.Node), nil
		}
		op := attempt.OpAnswer
		if q.Op == run.OpRelease {
			op = attempt.OpRelease
		}
		r.speak(ctx, i, attempt.Message{Op: op, Text: q.Text})
		return nil, nil
	}
	return fmt.Errorf("this version of cmux does not know the request %q", q.Op), nil
}

// Rerun is the nodes that `retry` of node i begins anew: the node itself and,
// with downstream, every ended node behind it. What i blocked follows by
// itself. The error is for the person who asked.
func Rerun(s *dag.State, i int, downstream bool) ([]int, error) {
	g := s.Graph()
	name := g.Nodes[i].Name
	f := s.Fact(i)
	if f.Phase != dag.Ended && !f.Held && !f.Lost {
		if f.Live() {
			return nil, fmt.Errorf("%s is still running: cmux agents stop %s first", name, name)
		}
		if cause, ok := s.Blocked(i); ok {
			c := g.Nodes[cause].Name
			return nil, fmt.Errorf("%s never ran, it is blocked by %s: cmux agents retry %s", name, c, c)
		}
		return nil, fmt.Errorf("%s has not ended yet", name)
	}
	if f.StillOpen {
		return nil, fmt.Errorf("the overridden attempt of %s is still open: cmux agents stop %s first", name, name)
	}
	nodes := []int{i}
	if !downstream {
		return nodes, nil
	}
	var errs []error
	for _, d := range g.Downstream(i) {
		df := s.Fact(d)
		if df.Live() {
			errs = append(errs, fmt.Errorf("%s, which depends on %s, is still running: cmux agents stop %s first", g.Nodes[d].Name, name, g.Nodes[d].Name))
		} else if df.Phase == dag.Ended {
			nodes = append(nodes, d)
		}
	}
	return nodes, errors.Join(errs...)
}
