package runs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"cmux/agents/control/runview"
	"cmux/agents/runs/run"
	"cmux/dag"
	"cmux/worktree/hint"
)

// ErrUnfinished says that a run ended with a node not done.
var ErrUnfinished = errors.New("the run ended with a node not done")

// Wait asks to be told when the run that is meant, or one node of it, has ended.
type Wait struct {
	Node    string        `json:"node,omitempty"`    // empty: the run
	Timeout time.Duration `json:"timeout,omitempty"` // zero: for ever

	Person func(node, why string) `json:"-"` // is told, once each time, what waits for a person alone; may be nil
}

// Wait waits. Without an error, what was waited for is done; with an
// ErrUnfinished it ended otherwise.
func (p *Runs) Wait(ctx context.Context, o Wait) error {
	r, err := p.Meant(ctx, o.Node)
	if err != nil {
		return err
	}
	if _, err := needed(r, o.Node); err != nil {
		return err
	}
	cause := fmt.Errorf("not ended after %s", o.Timeout)
	if o.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, o.Timeout, cause)
		defer cancel()
	}
	var outcome error
	orphaned := 0 // looks in a row that found no runner
	var told []want
	err = Follow(ctx, r, p.Now, func(v *run.View) bool {
		if v.RunState == dag.RunNoRunner {
			orphaned++
		} else {
			orphaned = 0
		}
		var more bool
		if outcome, more = Waited(v, o.Node, orphaned > 2); !more {
			return false
		}
		nodes, err := needed(v.Run, o.Node)
		if err != nil {
			outcome = err
			return false
		}
		wants := wanted(v, nodes)
		for _, w := range wants {
			if o.Person != nil && !slices.Contains(told, w) {
				o.Person(w.node, w.why)
			}
		}
		told = wants
		return true
	})
	if errors.Is(err, context.DeadlineExceeded) && context.Cause(ctx) == cause {
		return hint.New(cause, "cmux agents status")
	}
	if err != nil {
		return err
	}
	return outcome
}

// needed are the nodes that a node of r needs to end, itself included; without a name all
// of r. An update may change them.
func needed(r *run.Run, node string) ([]int, error) {
	if node == "" {
		return r.Plan.Graph.Order(), nil
	}
	i, err := Index(r, node)
	if err != nil {
		return nil, err
	}
	all, err := r.Plan.Graph.Upstream(i)
	return append(all, i), err
}

// Waited judges a view: whether there is more to wait for, and how it came out.
// node is empty for the whole run. orphaned says that the run has had no runner for
// longer than one needs to come back.
func Waited(v *run.View, node string, orphaned bool) (outcome error, more bool) {
	if node != "" {
		i, err := Index(v.Run, node)
		if err != nil {
			return err, false // an update took it out
		}
		n := &v.Nodes[i]
		if v.State.Settled(i) {
			if runview.Succeeded(n) || v.State.Skipped(i) {
				return nil, false
			}
			return fmt.Errorf("%s: %s: %w", n.Spec.Name, n.Status.Label, ErrUnfinished), false
		}
		if n.Fact.Live() {
			return nil, true // it continues without a runner
		}
	}
	switch {
	case v.RunState == dag.RunDone:
		return nil, false
	case v.RunState == dag.RunFailed:
		return hint.New(ErrUnfinished, "cmux agents status"), false
	case Halted(v) != nil:
		return Halted(v), false
	case v.RunState == dag.RunNoRunner && orphaned:
		return hint.New(errors.New("the run has no runner, so nothing new starts"), "cmux agents resume"), false
	}
	return nil, true
}

// Halted says that nothing more comes of a run until a person resumes it; nil:
// something may.
func Halted(v *run.View) error {
	if v.RunState != dag.RunStopped || v.Holder != nil {
		return nil
	}
	return hint.New(errors.New("the run is stopped"), "cmux agents resume")
}

// want is a node for which only a person can do something now.
type want struct{ node, why string }

// wanted is what is wanted of a person for the nodes that are needed.
func wanted(v *run.View, needed []int) []want {
	var all []want
	for _, i := range needed {
		if n := &v.Nodes[i]; runview.Asks(n) || runview.TakenOver(n) || runview.Held(n) {
			all = append(all, want{n.Spec.Name, runview.Explained(v, i)})
		}
	}
	return all
}
