package control

import (
	"context"

	"cmux/agents/run"
	"cmux/agents/runner"
	"cmux/dag"
	"cmux/worktree"
)

// Retry orders that a node runs again, and what it blocked after it.
type Retry struct {
	Node       string `json:"node"`
	Downstream bool   `json:"downstream,omitempty"` // also what succeeded after it
	Fresh      bool   `json:"fresh,omitempty"`      // its work is saved, and it starts from the base
	Comment    string `json:"comment,omitempty"`    // a person's, who sends its work back: it goes on in its conversation
}

// Retried is what a Retry comes to.
type Retried struct {
	Taken
	GoesOn    []Was   `json:"goes_on"`   // in its conversation: its program had ended without a report
	Again     []Was   `json:"again"`     // from their start
	Unblocked []Was   `json:"unblocked"` // by it
	Moved     []Moved `json:"moved"`
}

// Was is a node and how it stood before an order.
type Was struct {
	Node  string    `json:"node"`
	Label dag.Label `json:"label"`
}

// Moved is a node whose branch is taken in as it is now.
type Moved struct {
	Node   string `json:"node"`
	Tip    string `json:"tip"`
	Detail string `json:"detail"`
}

// Retry runs a node again that has ended or was lost.
func (p *Project) Retry(ctx context.Context, q Retry) (*Retried, error) {
	v, i, err := p.node(ctx, q.Node)
	if err != nil {
		return nil, err
	}
	was := func(nodes ...int) (all []Was) {
		for _, j := range nodes {
			all = append(all, Was{v.Nodes[j].Spec.Name, v.Nodes[j].Status.Label})
		}
		return all
	}
	res := &Retried{Unblocked: was(v.State.BlockedBy(i)...)}
	var again []int
	if left(&v.Nodes[i]) {
		if err := runner.GoesOn(q.Node, q.Fresh); err != nil {
			return nil, err
		}
		res.GoesOn = was(i)
	} else if again, err = runner.Rerun(v.State, i, q.Downstream, v.OverBudget); err != nil {
		return nil, err
	}
	res.Again = was(again...)
	if res.Moved, err = moved(ctx, v, again); err != nil {
		return nil, err
	}
	res.Taken, err = p.order(ctx, v, run.Request{Op: run.OpRetry, Node: q.Node, Downstream: q.Downstream, Fresh: q.Fresh, Text: q.Comment})
	if err != nil {
		return nil, err
	}
	return res, nil
}

// moved says which branches a retry of nodes takes in as they are now.
func moved(ctx context.Context, v *run.View, nodes []int) ([]Moved, error) {
	repo, err := worktree.Open(ctx, v.Run.Plan.Root)
	if err != nil {
		return nil, err
	}
	h := run.NewHistory(v.Run.Plan.Graph)
	if _, err := v.Run.Replay(h, 0, nil); err != nil {
		return nil, err
	}
	var all []Moved
	for _, rec := range runner.Moved(ctx, repo, h, nodes...) {
		all = append(all, Moved{rec.Node, rec.Tip, rec.Detail})
	}
	return all, nil
}
