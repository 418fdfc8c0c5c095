package dag

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// Unfold follows the scheduler: each node once, after its dependencies, never more at once
// than allowed. If only the graph limits it, it takes the time of the critical chain.
func TestUnfold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := drawGraph(t, true)
		parallel := rapid.IntRange(1, 4).Draw(t, "parallel")
		free := rapid.Bool().Draw(t, "free")
		if free {
			for i := range g.Nodes {
				g.Nodes[i].Pool, g.Nodes[i].When = "", AllSuccess
			}
			parallel = g.Len()
		}
		spans := rapid.SliceOfN(rapid.IntRange(0, 5), g.Len(), g.Len()).Draw(t, "took")
		took := func(i int) time.Duration {
			if g.Nodes[i].Role == RoleGate {
				return 0
			}
			return time.Duration(spans[i])
		}
		slots := g.Unfold(parallel, took)
		at := make([]*Slot, g.Len())
		var last time.Duration
		for k := range slots {
			s := &slots[k]
			if at[s.Node] != nil || s.Blocked {
				t.Fatalf("%s: %+v, and before %+v", g.Nodes[s.Node].Name, *s, at[s.Node])
			}
			at[s.Node], last = s, max(last, s.End)
			if k > 0 && s.Start < slots[k-1].Start {
				t.Fatalf("%+v comes behind %+v", *s, slots[k-1])
			}
		}
		if len(slots) != g.Len() {
			t.Fatalf("%d of %d nodes are at work", len(slots), g.Len())
		}
		for i := range at {
			running := 0
			for _, o := range slots {
				if !o.Opened && o.Start <= at[i].Start && at[i].Start < o.End {
					running++
				}
			}
			if running > parallel {
				t.Fatalf("%d run at %d", running, at[i].Start)
			}
			before := func(d int) bool { return at[d].End <= at[i].Start }
			deps := g.Deps(i)
			if one := g.Nodes[i].When == OneSuccess; one && len(deps) > 0 && !slices.ContainsFunc(deps, before) || !one && slices.ContainsFunc(deps, func(d int) bool { return !before(d) }) {
				t.Fatalf("%s starts at %d before what it waits for", g.Nodes[i].Name, at[i].Start)
			}
		}
		chain, whole := g.Critical(took)
		if free && whole != last {
			t.Fatalf("the critical chain %v takes %d, and all of it %d", chain, whole, last)
		}
		var sum time.Duration
		for k, i := range chain {
			sum += took(i)
			if k > 0 && !slices.Contains(g.Deps(i), chain[k-1]) {
				t.Fatalf("%v is no chain", chain)
			}
		}
		if sum != whole {
			t.Fatalf("%v takes %d, not %d", chain, sum, whole)
		}
	})
}

func TestUnfoldOfPresets(t *testing.T) {
	g := &Graph{MaxParallel: 2, Nodes: []Node{
		{Name: "a", Role: RoleBuild, When: AllSuccess}, {Name: "b", Role: RoleBuild, When: AllSuccess, DependsOn: []string{"a"}},
		{Name: "c", Role: RoleBuild, When: AllSuccess}, {Name: "d", Role: RoleBuild, When: AllSuccess, DependsOn: []string{"c"}},
	}}
	if err := g.link(); err != nil {
		t.Fatal(err)
	}
	got := g.Unfold(1, func(int) time.Duration { return 1 },
		Change{Kind: Overridden, Node: 0, Outcome: Override}, Change{Kind: Overridden, Node: 2, Outcome: Failed, Exit: 1, Reason: ReasonByHand})
	if want := []Slot{{Node: 3, Blocked: true}, {Node: 1, End: 1}}; !slices.Equal(got, want) && !slices.Equal(got, []Slot{want[1], want[0]}) {
		t.Errorf("%+v", got)
	}
	if (&Graph{}).Unfold(1, nil) != nil {
		t.Error("of nothing")
	}
}
