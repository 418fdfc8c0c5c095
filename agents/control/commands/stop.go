package commands

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"cmux/agents/control/runs"
	"cmux/agents/control/runview"
	"cmux/agents/runs/run"
	"cmux/agents/runs/runner"
	"cmux/dag"
	"cmux/signals"
)

// Cancelled is what has become of the order to cancel a node.
type Cancelled struct {
	Taken
	Stays dag.Label `json:"stays,omitzero"` // how the node stands on: its agent, which was still open, was ended
}

// Cancel ends the agent of a node, which then counts as failed.
func (p *Commands) Cancel(ctx context.Context, node string) (Cancelled, error) {
	v, i, err := p.Runs.Node(ctx, node)
	if err != nil {
		return Cancelled{}, err
	}
	n := &v.Nodes[i]
	if v.State.Settled(i) && !n.Fact.Live() {
		return Cancelled{}, fmt.Errorf("%s has ended already (%s)", node, n.Status.Label)
	}
	var c Cancelled
	if n.Fact.StillOpen {
		c.Stays = n.Status.Label
		c.Stays.Open = false
	}
	away := n.Away()
	if v.Holder == nil && n.Fact.Live() && away == nil {
		ended, err := runner.Cancel(ctx, v.Run, node)
		var held *signals.HeldError
		switch {
		case errors.As(err, &held): // a runner has come meanwhile
		case err != nil:
			return Cancelled{}, err
		case len(ended) > 0:
			c.Done = true
			return c, nil
		}
	}
	c.Taken, err = p.order(ctx, v, run.Request{Op: run.OpStop, Node: node})
	if away != nil && !c.Done && c.Note != "" {
		c.Note = fmt.Sprintf("its agent works on %s, and %s", cmp.Or(away.Place.Machine, "another machine"), c.Note)
	}
	return c, err
}

// RunStopped is what Stop came to.
type RunStopped struct {
	Run   string       `json:"run"`
	Ended []string     `json:"ended"`           // agents that were still open when the run had ended; it stays as it was
	Stays dag.RunState `json:"stays,omitempty"` // empty: it is stopped, until it is resumed
	Try   string       `json:"-"`               // what resumes it

	Finally []string `json:"finally,omitempty"` // nodes under finally: that have not run; the resumed run starts them at its end
}

// Stop ends the agents of the run and waits until its runner is gone.
func (p *Commands) Stop(ctx context.Context) (*RunStopped, error) {
	v, err := p.Runs.LatestView(ctx)
	if err != nil {
		return nil, err
	}
	id, at := v.Run.Plan.ID, runview.AtWork(v)
	switch {
	case len(at) == 0 && (runview.Over(v) || v.Holder == nil && v.RunState == dag.RunStopped):
		return nil, fmt.Errorf("run %s is not running (%s)", id, v.RunState)
	case runview.Over(v):
		ended, err := p.endOpen(ctx, v, at)
		if err != nil {
			return nil, err
		}
		return &RunStopped{Run: id, Ended: ended, Stays: v.RunState}, nil
	}
	err = End(ctx, v, p.Now)
	var away *run.AwayError
	if errors.As(err, &away) {
		return nil, fmt.Errorf("run %s is stopped, but %w", id, err)
	}
	if err != nil {
		return nil, err
	}
	return &RunStopped{Run: id, Finally: Unrun(v), Try: p.Runs.InSession("cmux agents resume", v.Run.Plan.Graph.Session)}, nil
}

// Unrun names the nodes under finally: that no attempt has begun and that have not
// ended.
func Unrun(v *run.View) (names []string) {
	for i := range v.Nodes {
		n := &v.Nodes[i]
		if n.Spec.Finally && n.Fact.Attempts == 0 && n.Fact.Phase != dag.Ended {
			names = append(names, n.Spec.Name)
		}
	}
	return names
}

// endOpen ends agents that are still open in a run that has ended.
func (p *Commands) endOpen(ctx context.Context, v *run.View, at []string) (ended []string, err error) {
	if v.Holder == nil {
		return runner.Cancel(ctx, v.Run, "")
	}
	for _, node := range at {
		if _, err := p.order(ctx, v, run.Request{Op: run.OpStop, Node: node}); err != nil {
			return ended, err
		}
		ended = append(ended, node)
	}
	return ended, nil
}

// End ends the agents of a run and its runner, and waits until it is gone. What a
// runner that is killed meanwhile leaves at work is ended here.
func End(ctx context.Context, v *run.View, now func() time.Time) error {
	r := v.Run
	for lives := v.Holder != nil; ; {
		if lives {
			q, err := r.Ask(run.Request{Op: run.OpStop})
			if err != nil {
				return err
			}
			var last *run.View
			if err := runs.Follow(ctx, r, now, func(v *run.View) bool { last = v; return v.Holder != nil }); err != nil {
				return err
			}
			if waits := slices.ContainsFunc(last.Pending, func(p run.Request) bool { return p.ID == q.ID }); !waits || runview.Over(last) {
				return r.Answered(q)
			}
		}
		err := runner.Stop(ctx, r)
		var held *signals.HeldError
		if lives = errors.As(err, &held); !lives {
			return err
		}
	}
}
