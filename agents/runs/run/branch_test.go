package run

import (
	"testing"

	"cmux/dag"
)

func TestMeet(t *testing.T) {
	graph := func(branches ...string) *dag.Graph {
		g := new(dag.Graph)
		for i, b := range branches {
			g.Nodes = append(g.Nodes, dag.Node{Name: string(rune('a' + i)), Role: dag.RoleBuild, Branch: b})
		}
		g.Nodes = append(g.Nodes, dag.Node{Name: "r", Role: dag.RoleReview})
		return g
	}
	for _, c := range []struct {
		mine, others string
		meets        bool
	}{
		{"feature/x", "feature/x", true},
		{"feature/x", "Feature/X", true},
		{"feature", "feature/x", true},
		{"feature/x/y", "feature/x", true},
		{"feature/x", "feature/y", false},
		{"feature/xy", "feature/x", false},
		{"x", "feature/x", false},
	} {
		e := meet(graph("one", c.mine), graph("two", c.others))
		if (e != nil) != c.meets || e != nil && (e.Node != "b" || e.Other != "b" || e.Has != c.others) {
			t.Errorf("%s beside %s: %v", c.mine, c.others, e)
		}
	}
}
