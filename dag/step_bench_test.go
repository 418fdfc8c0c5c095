package dag

import (
	"fmt"
	"testing"
)

var runShapes = []struct {
	name string
	make func(n int) *Graph
}{
	{"chain", func(n int) *Graph {
		return nodesOf(n, func(i int) []int {
			if i == 0 {
				return nil
			}
			return []int{i - 1}
		})
	}},
	{"fan", func(n int) *Graph { // one, then all but two, then one
		return nodesOf(n, func(i int) []int {
			switch i {
			case 0:
				return nil
			case n - 1:
				deps := make([]int, n-2)
				for k := range deps {
					deps[k] = k + 1
				}
				return deps
			}
			return []int{0}
		})
	}},
	{"layers", func(n int) *Graph { // of ten, each node on two of the layer before
		return nodesOf(n, func(i int) []int {
			if i < 10 {
				return nil
			}
			first := (i/10 - 1) * 10
			return []int{first + i%10, first + (i+1)%10}
		})
	}},
	{"wide", func(n int) *Graph { return nodesOf(n, func(int) []int { return nil }) }},
}

func nodesOf(n int, deps func(i int) []int) *Graph {
	g := &Graph{MaxParallel: 8, Pools: map[string]int{"p": 2}, Nodes: make([]Node, n)}
	name := func(i int) string { return fmt.Sprint("n", i) }
	for i := range g.Nodes {
		nd := &g.Nodes[i]
		*nd = Node{Name: name(i), Role: RoleReview, When: AllSuccess, Agent: KindCommand, Account: "work"}
		if i%3 == 0 {
			nd.Pool = "p"
		}
		for _, d := range deps(i) {
			nd.DependsOn = append(nd.DependsOn, name(d))
		}
	}
	if err := g.link(); err != nil {
		panic(err)
	}
	return g
}

// play takes a run from its start to its end, one change a step, and returns
// how many attempts it took.
func play(g *Graph, outcome func(i int) Outcome) (s *State, starts int) {
	s = Rebuild(g, Facts{Nodes: make([]Fact, g.Len()), Now: nine})
	effects := s.Due()
	var live []int
	for {
		for _, e := range effects {
			if e.Kind == Start {
				live = append(live, e.Node)
			}
		}
		if len(live) == 0 {
			return s, starts
		}
		i := live[0]
		live = live[1:]
		starts++
		effects = s.Step(Change{Kind: AttemptEnded, Node: i, Outcome: outcome(i), Exit: 1})
	}
}

func always(o Outcome) func(int) Outcome { return func(int) Outcome { return o } }

// Big graphs play to their end: no recursion runs deep, nothing is left over.
func TestBigGraphs(t *testing.T) {
	for _, shape := range runShapes {
		g := shape.make(10_000)
		s, starts := play(g, always(Done))
		if starts != g.Len() || s.Run() != RunDone {
			t.Errorf("%s: %d starts, run is %s", shape.name, starts, s.Run())
		}
		s, _ = play(g, func(i int) Outcome {
			if i == 0 {
				return Failed
			}
			return Done
		})
		if s.Run() != RunFailed {
			t.Errorf("%s: run is %s", shape.name, s.Run())
		}
		s.Step(Change{Kind: Overridden, Node: 0})
		if n := s.BlockedBy(0); len(n) != 0 {
			t.Errorf("%s: %d still blocked", shape.name, len(n))
		}
	}
}

func perNode(b *testing.B, n int) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/node")
}

func eachShape(b *testing.B, bench func(b *testing.B, g *Graph)) {
	for _, shape := range runShapes {
		for _, n := range []int{1_000, 10_000, 100_000} {
			b.Run(fmt.Sprintf("graph=%s/nodes=%d", shape.name, n), func(b *testing.B) {
				g := shape.make(n)
				b.ReportAllocs()
				b.ResetTimer()
				bench(b, g)
				perNode(b, n)
			})
		}
	}
}

// A whole run, one change a step: the price of a node must not grow with the graph.
func BenchmarkStep(b *testing.B) {
	eachShape(b, func(b *testing.B, g *Graph) {
		for b.Loop() {
			play(g, always(Done))
		}
	})
}

func BenchmarkRebuild(b *testing.B) {
	eachShape(b, func(b *testing.B, g *Graph) {
		f := Facts{Nodes: make([]Fact, g.Len()), Now: nine}
		for k, i := range g.Order()[:g.Len()/2] {
			f.Nodes[i] = Fact{Phase: Ended, Outcome: Done, Attempts: 1 + k%2}
		}
		for b.Loop() {
			Rebuild(g, f).Due()
		}
	})
}

// One step while very many nodes are ready behind a full pool, a limited
// account or no free slot: none of them may be looked at.
func BenchmarkStepWhileManyWait(b *testing.B) {
	for _, behind := range []string{"slots", "pool", "account"} {
		for _, n := range []int{1_000, 100_000} {
			b.Run(fmt.Sprintf("behind=%s/ready=%d", behind, n), func(b *testing.B) {
				g := nodesOf(n, func(int) []int { return nil })
				for i := range g.Nodes {
					nd := &g.Nodes[i]
					nd.Pool, nd.Account = "", ""
					switch {
					case behind == "pool" && i > 0:
						nd.Pool = "p"
					case behind == "account" && i > 0:
						nd.Account = "work"
					}
				}
				s := Rebuild(g, Facts{Nodes: make([]Fact, n), Now: nine})
				s.Due()
				s.Step(Change{Kind: AccountLimited, Account: "work"})
				b.ReportAllocs()
				for b.Loop() { // node 0 ends and is reset, over and over
					s.Step(Change{Kind: AttemptEnded, Node: 0, Outcome: Done})
					s.Step(Change{Kind: Reset, Node: 0})
				}
			})
		}
	}
}

func BenchmarkLabels(b *testing.B) {
	eachShape(b, func(b *testing.B, g *Graph) {
		s, _ := play(g, func(i int) Outcome {
			if i == 0 {
				return Failed
			}
			return Done
		})
		for b.Loop() {
			for i := range g.Nodes {
				s.Status(i, nine)
			}
		}
	})
}
