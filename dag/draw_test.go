package dag

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestDraw(t *testing.T) {
	g, _, err := Parse("f.yml", []byte(`
session: s
agents:
  - {name: a, task: x}
  - {name: b, task: x, depends_on: a}
  - {name: d, task: x, depends_on: a}
  - {name: c-1.x, role: review, task: x, depends_on: "a, b, d", when: all_done}
  - {name: end, role: merge, depends_on: "a, b, c-1.x"}
  - {name: ok, role: gate}
`), ParseOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for format, want := range map[string]string{
		"text": `a
├─ b
└─ d
   └─ c-1.x (review; also after b; all_done)
      └─ end (merge)
ok (gate)
`,
		"dot": `strict digraph {
	"a" -> "b" [  weight=0 ];
	"a" -> "d" [  weight=0 ];
	"a" [ shape="box",  weight=0 ];
	"b" -> "c-1.x" [  weight=0 ];
	"b" [ shape="box",  weight=0 ];
	"c-1.x" -> "end" [  weight=0 ];
	"c-1.x" [ shape="ellipse",  weight=0 ];
	"d" -> "c-1.x" [  weight=0 ];
	"d" [ shape="box",  weight=0 ];
	"end" [ shape="house",  weight=0 ];
	"ok" [ shape="octagon",  weight=0 ];
	rankdir="LR";
}
`,
		"mermaid": `flowchart LR
    n0["a"]
    n1["b"]
    n2["d"]
    n3(["c-1.x"])
    n4[["end"]]
    n5{{"ok"}}
    n0 --> n1
    n0 --> n2
    n1 --> n3
    n2 --> n3
    n3 --> n4
`,
	} {
		var b bytes.Buffer
		if err := g.Draw(&b, format); err != nil || b.String() != want {
			t.Errorf("%s: error %v\n%s\nwant\n%s", format, err, b.String(), want)
		}
	}
	if err := g.Draw(new(bytes.Buffer), "svg"); err == nil || !strings.Contains(err.Error(), `unknown format "svg": give one of text, dot, mermaid`) {
		t.Errorf("svg: %v", err)
	}
}

// A graph too large to reduce is still drawn whole.
func TestDrawLarge(t *testing.T) {
	g, _, err := Parse("f.yml", layered(3000), ParseOptions{})
	if err != nil {
		t.Fatal(err)
	}
	edges := 0
	for i := range g.Nodes {
		edges += len(g.Deps(i))
	}
	for format, arrow := range map[string]string{"dot": " -> ", "mermaid": " --> "} {
		var b bytes.Buffer
		if err := g.Draw(&b, format); err != nil {
			t.Fatal(err)
		}
		if got := strings.Count(b.String(), arrow); got != edges {
			t.Errorf("%s: %d arrows, want %d", format, got, edges)
		}
	}
}

// As text, every node has a line of its own, however the graph looks.
func TestDrawText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := drawGraph(t, false)
		var b bytes.Buffer
		if err := g.Draw(&b, "text"); err != nil {
			t.Fatal(err)
		}
		told := make(map[string]int)
		for line := range strings.Lines(b.String()) {
			name, _, _ := strings.Cut(strings.TrimLeft(strings.TrimSuffix(line, "\n"), "│├└─ "), " ")
			if name == "…" {
				continue // begins again at the margin
			}
			told[name]++
		}
		for i := range g.Nodes {
			if n := told[g.Nodes[i].Name]; n != 1 {
				t.Errorf("%s is told %d times:\n%s", g.Nodes[i].Name, n, b.String())
			}
		}
	})
}

// A chain that is too deep continues at the margin.
func TestDrawChain(t *testing.T) {
	src := "session: s\nagents:\n  - {name: n0, task: x}\n"
	for i := 1; i < 3*maxDepth; i++ {
		src += fmt.Sprintf("  - {name: n%d, task: x, depends_on: n%d}\n", i, i-1)
	}
	g, _, err := Parse("f.yml", []byte(src), ParseOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := g.Draw(&b, "text"); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"\n… n20\n└─ n21\n", "└─ n20 …\n", "\n… n40\n└─ n41\n"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
}

// The closures equal those found by following the edges one by one.
func TestClosures(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := drawGraph(t, false)
		after := make([]map[int]bool, g.Len()) // of each node, what it depends on
		for _, i := range g.Order() {
			after[i] = map[int]bool{}
			for _, j := range g.Deps(i) {
				after[i][j] = true
				for k := range after[j] {
					after[i][k] = true
				}
			}
		}
		for i := range g.Nodes {
			up, err := g.Upstream(i)
			if err != nil {
				t.Fatal(err)
			}
			down, err := g.Downstream(i)
			if err != nil {
				t.Fatal(err)
			}
			for j := range g.Nodes {
				if got, want := slices.Contains(up, j), after[i][j]; got != want {
					t.Errorf("upstream of %d has %d: %v", i, j, got)
				}
				if got, want := slices.Contains(down, j), after[j][i]; got != want {
					t.Errorf("downstream of %d has %d: %v", i, j, got)
				}
			}
		}
	})
}
