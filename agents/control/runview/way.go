package runview

import (
	"slices"
	"strings"

	"cmux/agents/platform/say"
	"cmux/agents/runs/run"
	"cmux/dag"
)

// Explained is the label of node i, why it stands so and the way out.
func Explained(v *run.View, i int) string {
	s := v.Nodes[i].Status
	text := s.Label.String()
	if s.Reason != "" {
		text += ": " + say.Line(s.Reason)
	}
	if way := WayOut(v, i); way != "" {
		text += " (" + way + ")"
	}
	return text
}

// WayOut is the command a person would call next for node i; empty when its
// reason names one already.
func WayOut(v *run.View, i int) string {
	n := &v.Nodes[i]
	name, failed := n.Spec.Name, n.Status.Label.State == dag.NodeFailed
	switch {
	case failed && v.RunOverBudget() != nil && v.OverBudget(i) != nil:
		return "raise the budget; " + UpdateWay(v) + "; cmux agents retry " + name
	case failed && v.OverBudget(i) != nil:
		return "raise its budget; cmux agents retry " + name
	case strings.Contains(n.Status.Reason, "cmux agents "):
	case failed && n.Status.Label.Reason == dag.ReasonConflict && strings.Contains(n.Status.Reason, n.Spec.Branch+" and "+v.Run.Plan.BaseName()+" conflict in "):
		return "merge " + v.Run.Plan.BaseName() + " into " + n.Spec.Branch + ", resolve, commit; cmux agents retry " + name + ", or with --fresh to begin at the base"
	case failed && n.Status.Label.Reason == dag.ReasonConflict: // again, until a person has made them fit
		return reconcile(v, i) + ", resolve, commit; cmux agents retry " + name
	case failed:
		return "cmux agents logs " + name + "; cmux agents retry " + name
	case Left(n):
		return "cmux agents override " + name + "; cmux agents retry " + name + "; cmux agents attach " + name
	case Asks(n) && v.Run.Plan.Headless:
		return "cmux agents answer " + name
	case Asks(n):
		return "cmux agents attach " + name + "; cmux agents answer " + name
	case TakenOver(n):
		return "cmux agents release " + name
	}
	return ""
}

// reconcile is the merge by which a person begins to make the branches fit whose
// conflict the reason of node i names: in the node's own worktree if its branch is
// among them, else in that of the first.
func reconcile(v *run.View, i int) string {
	g := v.Run.Plan.Graph
	who, _, _ := strings.Cut(v.Nodes[i].Status.Reason, " conflict") // a file may have a node's name
	words := strings.FieldsFunc(who, func(r rune) bool { return strings.ContainsRune(" ,:", r) })
	var in []*dag.Node
	first := "" // of what a person does
	for j := range g.Nodes {
		n := &g.Nodes[j]
		unfinished := slices.Contains(words, n.Branch+"'s")
		switch {
		case !n.HasBranch() || !n.HasTree() || !unfinished && !slices.Contains(words, n.Branch) && !slices.Contains(words, n.Name):
		case j == i:
			if unfinished {
				first = "git -C " + say.Word(g.TreePath(v.Run.Plan.Root, n)) + " commit -a, then "
			}
			in = slices.Insert(in, 0, n)
		default:
			in = append(in, n)
		}
	}
	if own := &g.Nodes[i]; len(in) == 1 && in[0] != own && own.HasTree() {
		in = []*dag.Node{own, in[0]}
	}
	if len(in) < 2 {
		return "git merge one of these branches in the worktree of another"
	}
	return first + "git -C " + say.Word(g.TreePath(v.Run.Plan.Root, in[0])) + " merge " + say.Word(in[1].Branch)
}

// ApplyWay is the command that applies the edited configuration g.
func ApplyWay(v *run.View, g *dag.Graph) string {
	if v.Run.Plan.Graph.Session != g.Session {
		return SessionWay(v)
	}
	return UpdateWay(v)
}

// SessionWay is the command that starts the configuration under another session.
func SessionWay(v *run.View) string {
	if UnderWay(v) {
		return "cmux agents stop, then cmux agents start --new"
	}
	return "cmux agents start --new"
}

// UpdateWay is the command that takes an edited configuration in.
func UpdateWay(v *run.View) string {
	if v.Run.Plan.Headless && UnderWay(v) { // its commands are children of the runner
		return "cmux agents stop, then cmux agents update"
	}
	return "cmux agents update"
}
