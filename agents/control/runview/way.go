package runview

import (
	"os"
	"slices"
	"strings"

	"cmux/agents/platform/say"
	"cmux/agents/runs/run"
	"cmux/dag"
)

// Explained is the label of node i, why it stands so and the way out.
func Explained(v *run.View, i int) string {
	s := v.Nodes[i].Status
	text := Label(&v.Nodes[i])
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
	case failed && n.Status.Label.Reason == dag.ReasonConflict: // again, until a person has made them fit
		way, fresh := reconcile(v, i)
		if way += ", resolve, commit; cmux agents retry " + name; fresh {
			way += ", or with --fresh to begin at the base"
		}
		return way + "; or cmux rooms start --about node:" + name
	case failed && n.Status.Label.Reason == dag.ReasonChecks:
		return "cmux agents logs " + name + "; cmux agents retry " + name + "; cmux rooms start --about node:" + name
	case failed:
		return "cmux agents logs " + name + "; cmux agents retry " + name
	case Left(n) && n.Away() != nil:
		return "cmux agents override " + name + "; cmux agents retry " + name
	case Left(n):
		return "cmux agents override " + name + "; cmux agents retry " + name + "; cmux agents attach " + name
	case Asks(n) && n.Away() != nil && inPane(n):
		return "answer it in its terminal on " + n.Where()
	case Asks(n) && (v.Run.Plan.Headless || n.Away() != nil):
		return "cmux agents answer " + name + " TEXT"
	case Asks(n) && inPane(n):
		return "cmux agents attach " + name
	case Asks(n):
		return "cmux agents attach " + name + "; cmux agents answer " + name + " TEXT"
	case TakenOver(n):
		return "cmux agents release " + name
	}
	return ""
}

// inPane reports whether only keys in its pane answer what a node asks.
func inPane(n *run.NodeView) bool {
	a := n.Attempt()
	return a != nil && a.Asks != nil && a.Asks.InPane && !a.Over()
}

// reconcile are the merges by which a person begins to make the sides fit whose
// conflict the reason of node i names: in the node's own worktree if its branch is
// among them, else in that of the first. The base goes by its commit: what its branch
// has gained since the run began would count as the node's. With fresh, the node can do without what it has.
func reconcile(v *run.View, i int) (way string, fresh bool) {
	p, own := &v.Run.Plan, &v.Run.Plan.Graph.Nodes[i]
	who, _, _ := strings.Cut(v.Nodes[i].Status.Reason, " conflict") // a file may have a node's name
	who, _, unrelated := strings.Cut(who, " have no commit in common")
	words := strings.FieldsFunc(who, func(r rune) bool { return strings.ContainsRune(" ,:", r) })
	base := slices.Contains(words, p.BaseName())
	var in []*dag.Node
	for j := range p.Graph.Nodes {
		n := &p.Graph.Nodes[j]
		switch {
		case !n.HasBranch() || !n.HasTree() || !slices.ContainsFunc([]string{n.Branch, n.Branch + "'s", n.Name}, func(s string) bool { return slices.Contains(words, s) }):
		case n == own:
			in = slices.Insert(in, 0, n)
		default:
			in = append(in, n)
		}
	}
	if own.HasTree() && (len(in) == 0 && base || len(in) == 1 && in[0] != own && !base) {
		in = slices.Insert(in, 0, own)
	}
	if len(in) == 0 {
		return "git merge one of these branches in the worktree of another", false
	}
	tree := p.Graph.TreePath(p.Root, in[0])
	at := "git -C " + say.Word(tree)
	var steps []string
	if _, err := os.Lstat(tree); err != nil {
		steps = append(steps, "git -C "+say.Word(p.Root)+" worktree add "+say.Word(tree)+" "+say.Word(in[0].Branch))
	}
	if slices.Contains(words, in[0].Branch+"'s") { // unfinished work
		steps = append(steps, at+" add -A && "+at+" commit")
	}
	merge, note := at+" merge ", ""
	if unrelated {
		merge, note = merge+"--allow-unrelated-histories ", " (what one side deleted is there again)"
	}
	if base = base || len(in) == 1; base {
		steps = append(steps, merge+p.Base+note)
	}
	for _, n := range in[1:] {
		steps = append(steps, merge+say.Word(n.Branch)+note)
	}
	return strings.Join(steps, ", then "), base && in[0] == own
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
