package runs

import (
	"fmt"
	"testing"

	"cmux/dag"
)

func TestWaits(t *testing.T) {
	many := make([]string, 1000)
	for i := range many {
		many[i] = fmt.Sprint("n", i)
	}
	for _, c := range []struct {
		node dag.Node // When: as a configuration has it that says nothing
		want string
	}{
		{dag.Node{}, ""},
		{dag.Node{DependsOn: []string{"a", "b"}}, "a, b"},
		{dag.Node{DependsOn: many[:8]}, "n0, n1, n2, n3, n4, n5, n6, n7"},
		{dag.Node{DependsOn: many}, "n0, n1, n2, n3, n4, n5, n6, n7 and 992 more"},
		{dag.Node{DependsOn: many[:9], When: dag.AllDone}, "n0, n1, n2, n3, n4, n5, n6, n7 and 1 more (all_done)"},
		{dag.Node{DependsOn: []string{"a"}, If: "nodes.a.done"}, "a, if nodes.a.done"},
		{dag.Node{Finally: true, When: dag.Always}, "all agents"},
	} {
		if c.node.When == "" {
			c.node.When = dag.AllSuccess
		}
		if got := Waits(&c.node); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
