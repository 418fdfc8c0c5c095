// Package runview answers what commands ask of a run as they see it: whether it is
// over, which agents live, what a node waits for, and the command that a person
// would call next.
//
// It is pure: a run.View in, a fact or a text out.
package runview

import (
	"slices"

	"cmux/agents/runs/run"
	"cmux/dag"
)

// Label is the label of a node as a person reads it, with since when its machine is silent.
func Label(n *run.NodeView) string {
	text := n.Status.Label.String()
	if at := n.HeardAt(); !at.IsZero() {
		text += ", no contact since " + at.Local().Format("15:04")
	}
	return text
}

// NoMachine is what Where returns while a node waits for a machine.
const NoMachine = "no machine yet"

// Where is where a person reads that a node is carried out; empty: it has not started.
func Where(n *run.NodeView) string {
	if n.Attempt() != nil && n.Where() == "" {
		return NoMachine
	}
	return n.Where()
}

// Elsewhere reports whether another machine carries out a node of v, or did so last.
func Elsewhere(v *run.View) bool {
	return slices.ContainsFunc(v.Nodes, func(n run.NodeView) bool {
		a := n.Attempt()
		return a != nil && a.Place.Away()
	})
}

// Over reports whether nothing more happens in a run by itself.
func Over(v *run.View) bool { return v.RunState == dag.RunDone || v.RunState == dag.RunFailed }

// UnderWay reports whether a runner carries a run that has not ended.
func UnderWay(v *run.View) bool { return v.Holder != nil && !Over(v) }

// AtWork names the nodes whose agents live.
func AtWork(v *run.View) []string {
	var names []string
	for i := range v.Nodes {
		if v.Nodes[i].Fact.Live() {
			names = append(names, v.Nodes[i].Spec.Name)
		}
	}
	return names
}

// Succeeded reports whether what depends on a node may start.
func Succeeded(n *run.NodeView) bool {
	return n.Fact.Phase == dag.Ended && n.Fact.Outcome.Success()
}

// Asks reports whether an agent waits for an answer.
func Asks(n *run.NodeView) bool { return n.Status.Label.State == dag.NodeNeedsInput }

// Left reports whether an agent's program has ended without a report, and its
// attempt waits for a person.
func Left(n *run.NodeView) bool { return n.Left != nil && n.Fact.Live() }

// TakenOver reports whether a person types to the agent.
func TakenOver(n *run.NodeView) bool { return n.Status.Label.State == dag.NodeTakenOver }

// Held reports whether an agent was lost too often, so that it is not begun
// again without a person.
func Held(n *run.NodeView) bool { return n.Status.Label.State == dag.NodeLost && n.Fact.Held }
