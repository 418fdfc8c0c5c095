package commands

import (
	"context"
	"errors"
	"fmt"
	"time"

	"cmux/agents/control/runs"
	"cmux/agents/control/runview"
	"cmux/agents/runs/run"
	"cmux/agents/runs/runner"
	"cmux/dag"
	"cmux/worktree"
	"cmux/worktree/hint"
)

// Retry orders that a node runs again, and what it blocked after it.
type Retry struct {
	Node       string `json:"node"`
	Downstream bool   `json:"downstream,omitempty"` // also what succeeded after it
	Fresh      bool   `json:"fresh,omitempty"`      // its work is saved, and it starts from the base
	Frozen     bool   `json:"frozen,omitempty"`     // as the run has it: nothing is taken from the edited configuration
	Comment    string `json:"comment,omitempty"`    // a person's, who sends its work back: it goes on in its conversation
}

// Retried is what a Retry comes to.
type Retried struct {
	Taken
	GoesOn    []Was   `json:"goes_on"`   // in its conversation: its program had ended without a report
	Again     []Was   `json:"again"`     // from their start
	Unblocked []Was   `json:"unblocked"` // by it
	Moved     []Moved `json:"moved"`
	Takes     string  `json:"takes,omitempty"`   // keys that are taken from the edited configuration
	Differs   string  `json:"differs,omitempty"` // keys that differ in it and need an update
	Absent    bool    `json:"absent,omitempty"`  // it does not have the node
	Way       string  `json:"way,omitempty"`     // the command that applies what is not taken
}

// Rest says what of the edited configuration is not taken, and what applies it;
// empty: nothing is left.
func (r *Retried) Rest() string {
	switch {
	case r.Absent:
		return "the edited configuration does not have it; to apply that: " + r.Way
	case r.Differs == "session":
		return "the edited configuration renames the session; to apply it: " + r.Way
	case r.Differs != "":
		return "the edited configuration also changes " + r.Differs + "; to apply that: " + r.Way
	}
	return ""
}

// Was is a node and how it stood before an order.
type Was struct {
	Node  string    `json:"node"`
	Label dag.Label `json:"label"`
	Waits string    `json:"waits,omitempty"` // for what, before it runs again; empty: for a slot at most
}

// Moved is a node whose branch is taken in as it is now.
type Moved struct {
	Node   string `json:"node"`
	Tip    string `json:"tip"`
	Detail string `json:"detail"`
}

// Retry runs a node again that has ended or was lost.
func (p *Commands) Retry(ctx context.Context, q Retry) (*Retried, error) {
	v, i, err := p.Runs.Node(ctx, q.Node)
	if err != nil {
		return nil, err
	}
	was := func(nodes ...int) (all []Was) {
		for _, j := range nodes {
			all = append(all, Was{Node: v.Nodes[j].Spec.Name, Label: v.Nodes[j].Status.Label})
		}
		return all
	}
	res := &Retried{Unblocked: was(v.State.BlockedBy(i)...)}
	req := run.Request{Op: run.OpRetry, Node: q.Node, Downstream: q.Downstream, Fresh: q.Fresh, Text: q.Comment}
	var again []int
	goesOn := runview.Left(&v.Nodes[i])
	if goesOn {
		if err := runner.GoesOn(q.Node, q.Fresh); err != nil {
			return nil, err
		}
		res.GoesOn = was(i)
	} else {
		budget := v.OverBudget
		if !q.Frozen {
			own, err := p.own(v, q.Node)
			if err != nil {
				return nil, err
			}
			res.Takes, res.Differs, res.Absent, res.Way, req.Sum = own.takes, own.differs, own.absent, own.way, own.sum
			if own.graph != nil {
				budget = own.overBudget(v)
			}
		}
		if again, err = runner.Rerun(v.State, i, q.Downstream, budget); err != nil {
			return nil, err
		}
	}
	res.Again = was(again...)
	waitsFirst(v, again, res.Again)
	if res.Moved, err = moved(ctx, v, again); err != nil {
		return nil, err
	}
	if res.Taken, err = p.order(ctx, v, req); err != nil {
		return nil, err
	}
	return res, nil
}

// waitsFirst says of nodes that are to run again what they wait for: one may have
// failed, by a command or before an update, while one that it depends on has not
// succeeded.
func waitsFirst(v *run.View, again []int, all []Was) {
	after := v.State.Clone()
	for _, i := range again {
		after.Take(dag.Change{Kind: dag.Reset, Node: i})
	}
	for k, i := range again {
		if root, ok := after.BlockedAt(i); ok {
			name := v.Nodes[root].Spec.Name
			all[k].Waits = fmt.Sprintf("is blocked by %s, and runs again when that has succeeded: cmux agents retry %s", name, name)
		} else if st := after.Status(i, time.Time{}); k == 0 && st.Label.State == dag.NodeWaiting {
			all[k].Waits = st.Reason + ", and runs again then"
		}
	}
}

// own is what a retry of a node takes from the configuration as it is now.
type own struct {
	takes   string     // its own keys that differ; empty: none
	differs string     // keys that differ and need an update, or session
	absent  bool       // it does not have the node
	way     string     // the command that applies what is not taken
	sum     string     // of the configuration; empty: nothing is taken
	graph   *dag.Graph // with what is taken; nil: nothing is
}

// own compares a node of the plan with the configuration on disk.
func (p *Commands) own(v *run.View, node string) (own, error) {
	src, err := run.ReadConfig(v.Run.Plan.Config)
	var g *dag.Graph
	if err == nil {
		g, _, err = runner.ParseConfig(v.Run, src, p.Kinds, p.Env)
	}
	if err != nil {
		return own{}, hint.New(fmt.Errorf("the configuration cannot be applied: %w", err), "cmux agents retry "+node+" --frozen, which ignores the configuration")
	}
	old := v.Run.Plan.Graph
	j := g.Index(node)
	if j < 0 {
		return own{absent: true, way: runview.ApplyWay(v, g)}, nil
	}
	with, err := run.WithOwn(old, g, node)
	if err != nil {
		return own{}, err
	}
	i := old.Index(node)
	var o own
	if o.takes, err = ChangedKeys(&old.Nodes[i], &with.Nodes[i], "line", "file"); err != nil {
		return own{}, err
	}
	if o.differs, err = ChangedKeys(&with.Nodes[i], &g.Nodes[j], "line", "file"); err != nil {
		return own{}, err
	}
	if old.Session != g.Session {
		o.differs = "session" // and the branches that are named after it
	}
	if o.differs != "" {
		o.way = runview.ApplyWay(v, g)
	}
	if o.takes != "" {
		o.sum, o.graph = run.Sum(src), with
	}
	return o, nil
}

// overBudget is View.OverBudget with the budgets that are taken in.
func (o *own) overBudget(v *run.View) func(int) error {
	return func(i int) error { return v.OverBudgetIn(o.graph, i) }
}

// RetryNamed is Retry of a node, or of all nodes of a matrix that have failed or
// were lost too often.
func (p *Commands) RetryNamed(ctx context.Context, q Retry) ([]*Retried, error) {
	r, err := p.Runs.Meant(ctx, q.Node)
	if err != nil {
		return nil, err
	}
	if g := r.Plan.Graph; g.Index(q.Node) < 0 && runs.HasMatrix(g, q.Node) {
		v, err := r.View(ctx, p.Now())
		if err != nil {
			return nil, err
		}
		return p.retryFailed(ctx, v, q, q.Node)
	}
	res, err := p.Retry(ctx, q)
	if err != nil {
		return nil, err
	}
	return []*Retried{res}, nil
}

// RetryFailed runs all nodes again that have failed or were lost too often.
func (p *Commands) RetryFailed(ctx context.Context, q Retry) ([]*Retried, error) {
	v, err := p.Runs.LatestView(ctx)
	if err != nil {
		return nil, err
	}
	return p.retryFailed(ctx, v, q, "")
}

// retryFailed is RetryFailed of the nodes of a matrix; empty: of all.
func (p *Commands) retryFailed(ctx context.Context, v *run.View, q Retry, matrix string) ([]*Retried, error) {
	var names []string
	for i := range v.Nodes {
		n := &v.Nodes[i]
		if matrix != "" && (n.Spec.Matrix == nil || n.Spec.Matrix.Name != matrix) {
			continue
		}
		if n.Status.Label.State == dag.NodeFailed || runview.Held(n) {
			names = append(names, n.Spec.Name)
		}
	}
	switch {
	case len(names) == 0 && matrix != "":
		return nil, fmt.Errorf("no node of the matrix %s has failed", matrix)
	case len(names) == 0:
		return nil, fmt.Errorf("no node of run %s has failed (it is %s)", v.Run.Plan.ID, v.RunState)
	}
	var (
		all  []*Retried
		errs []error
	)
	for _, q.Node = range names {
		res, err := p.Retry(ctx, q)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		all = append(all, res)
	}
	return all, errors.Join(errs...)
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
