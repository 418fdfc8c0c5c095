package commands

import (
	"context"
	"fmt"
	"strings"

	"cmux/agents/control/runs"
	"cmux/agents/control/runview"
	"cmux/agents/platform/harmless"
	"cmux/agents/runs/run"
	"cmux/dag"
	"cmux/worktree/hint"
)

// Decision is a person's about one node.
type Decision struct {
	Node string `json:"node"`

	// Prove has a person show that they are one, where the gate asks for a code:
	// without an error, they did. Who cannot is refused.
	Prove func(context.Context, *Opening) error `json:"-"`
}

// Approve opens a gate: what waits for it may start.
func (p *Commands) Approve(ctx context.Context, d Decision) (Taken, error) {
	return p.decide(ctx, run.OpApprove, d, func(n *run.NodeView) error {
		switch {
		case n.Spec.Role != dag.RoleGate && runview.Succeeded(n):
			return fmt.Errorf("%s is a %s, no gate, and done already", n.Spec.Name, n.Spec.Role)
		case n.Spec.Role != dag.RoleGate:
			return hint.New(fmt.Errorf("%s is a %s, no gate", n.Spec.Name, n.Spec.Role), "cmux agents override "+n.Spec.Name+", which calls it done")
		case runview.Succeeded(n):
			return fmt.Errorf("%s is done already", n.Spec.Name)
		}
		return nil
	})
}

// Override calls a node done, whatever it says itself.
func (p *Commands) Override(ctx context.Context, d Decision) (Taken, error) {
	return p.decide(ctx, run.OpOverride, d, func(n *run.NodeView) error {
		if runview.Succeeded(n) {
			return fmt.Errorf("%s is done already", n.Spec.Name)
		}
		return nil
	})
}

// Release gives an agent back that a person took over by typing to it. Of a node
// that waits for the end of its account's limit it says that one may try now.
func (p *Commands) Release(ctx context.Context, d Decision) (Taken, error) {
	return p.decide(ctx, run.OpRelease, d, func(n *run.NodeView) error {
		if n.Status.Label.State == dag.NodeLimited {
			return nil
		}
		return runs.Live(n)
	})
}

func (p *Commands) decide(ctx context.Context, op run.Op, d Decision, fits func(*run.NodeView) error) (Taken, error) {
	v, i, err := p.Runs.Node(ctx, d.Node)
	if err != nil {
		return Taken{}, err
	}
	if err := fits(&v.Nodes[i]); err != nil {
		return Taken{}, err
	}
	q := run.Request{Op: op, Node: d.Node}
	if (op == run.OpApprove || op == run.OpOverride) && v.Nodes[i].Spec.AsksCode() {
		o := opening(v, i, op)
		if d.Prove == nil {
			return Taken{}, o.Refuse(fmt.Errorf("%s asks for a code in your terminal; it stays closed", d.Node))
		}
		if err := d.Prove(ctx, o); err != nil {
			return Taken{}, err
		}
		q.Coded = true
	}
	return p.order(ctx, v, q)
}

// Opening is what a person is shown before they open a gate that asks for a
// code.
type Opening struct {
	Gate    string        `json:"gate"`
	Order   string        `json:"order"` // the command that was given
	Run     string        `json:"run"`
	Session string        `json:"session"`
	Root    string        `json:"root"`
	After   []runs.Beside `json:"after"`
	Before  []runs.Beside `json:"before"`
}

func opening(v *run.View, i int, op run.Op) *Opening {
	g := v.Run.Plan.Graph
	name := v.Nodes[i].Spec.Name
	return &Opening{Gate: name, Order: "cmux agents " + string(op) + " " + name, Run: v.Run.Plan.ID, Session: g.Session, Root: v.Run.Plan.Root,
		After: runs.Besides(v, g.Deps(i)), Before: runs.Besides(v, g.Dependents(i))}
}

// Refuse is err with the way to open the gate all the same.
func (o *Opening) Refuse(err error) error {
	return hint.New(err, o.Order+", in a terminal that no agent can type in: no pane of cmux's tmux server")
}

// maxBeside bounds how many nodes on each side of a gate are named.
const maxBeside = 20

// String says for a person what is before and behind the gate.
func (o *Opening) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "gate %s of run %s, session %s, in %s\n", o.Gate, o.Run, o.Session, harmless.Line(o.Root))
	list := func(how string, nodes []runs.Beside) {
		for k, n := range nodes {
			if k == maxBeside {
				fmt.Fprintf(&b, "  %s %d more\n", how, len(nodes)-k)
				return
			}
			fmt.Fprintf(&b, "  %s %s: %s", how, n.Name, n.Label)
			if n.Tip != "" {
				fmt.Fprintf(&b, ", %s at %.12s", harmless.Line(n.Branch), n.Tip)
			}
			b.WriteByte('\n')
		}
	}
	list("after", o.After)
	list("before", o.Before)
	return b.String()
}
