package runner

import (
	"sort"

	"cmux/agents/runs/run"
	"cmux/dag"
	"cmux/worktree/merge"
)

// ranks is each node's position in graph order.
func ranks(g *dag.Graph) []int {
	rank := make([]int, g.Len())
	for at, i := range g.Order() {
		rank[i] = at
	}
	return rank
}

// branchy says of each node whether it depends, however far, on a node that
// leaves a branch: only those have contributions to merge.
func branchy(g *dag.Graph) []bool {
	b := make([]bool, g.Len())
	for _, i := range g.Order() {
		for _, d := range g.Sources(i) {
			if b[d] || g.Nodes[d].HasBranch() {
				b[i] = true
				break
			}
		}
	}
	return b
}

// contributors are the nodes whose branches node i starts from, in graph
// order. A success with a branch contributes its tip; a success without one
// contributes what its own dependencies do; anything else contributes nothing.
func contributors(h *run.History, rank []int, i int) []int {
	var found []int
	seen := make(map[int]bool)
	var visit func(int)
	visit = func(i int) {
		for _, d := range h.Graph.Sources(i) {
			if seen[d] {
				continue
			}
			seen[d] = true
			n := &h.Nodes[d]
			if n.Fact.Phase != dag.Ended || !n.Fact.Outcome.Success() {
				continue
			}
			if n.Tip != "" {
				found = append(found, d)
			} else {
				visit(d)
			}
		}
	}
	visit(i)
	sort.Slice(found, func(a, b int) bool { return rank[found[a]] < rank[found[b]] })
	return found
}

func tips(h *run.History, nodes []int) []merge.Tip {
	t := make([]merge.Tip, len(nodes))
	for k, i := range nodes {
		t[k] = merge.Tip{Name: h.Graph.Nodes[i].Name, Commit: h.Nodes[i].Tip}
	}
	return t
}

// dependency is what an attempt may know about node i.
func dependency(h *run.History, i int, label dag.Label) run.Dependency {
	spec, n := &h.Graph.Nodes[i], &h.Nodes[i]
	d := run.Dependency{Name: spec.Name, Label: label, Tip: n.Tip}
	if spec.HasBranch() {
		d.Branch = spec.Branch
	}
	if e := n.LastEnd(); e != nil && n.Fact.Outcome.Success() {
		d.Summary, d.DiffStat, d.Outputs = e.Summary, e.DiffStat, n.Fact.Outputs.Values()
	}
	return d
}
