package dag

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/dominikbraun/graph"
	"github.com/dominikbraun/graph/draw"
)

// Formats are the names that Draw takes.
var Formats = []string{"text", "dot", "mermaid"}

// Draw writes the graph as text, as Graphviz (dot) or as Mermaid, each node before its
// dependents. It leaves out edges that follow from others, except in graphs of several
// thousand nodes.
func (g *Graph) Draw(w io.Writer, format string) error {
	reduced, err := g.reduced()
	if err != nil {
		return err
	}
	switch format {
	case "text":
		return g.text(w, reduced)
	case "dot":
		return dot(w, reduced)
	case "mermaid":
		return g.mermaid(w, reduced)
	}
	return fmt.Errorf("unknown format %q: give one of %s", format, strings.Join(Formats, ", "))
}

// library returns the graph in the library's type, with an edge from each node to those
// that next lists.
func (g *Graph) library(next [][]int) (graph.Graph[string, string], error) {
	d := graph.New(graph.StringHash, graph.Directed(), graph.Acyclic())
	for i := range g.Nodes {
		n := &g.Nodes[i]
		if err := d.AddVertex(n.Name, graph.VertexAttribute("shape", shapes[n.Role])); err != nil {
			return nil, fmt.Errorf("node %q: %w", n.Name, err)
		}
	}
	for i := range g.Nodes {
		for _, j := range next[i] {
			if err := d.AddEdge(g.Nodes[i].Name, g.Nodes[j].Name); err != nil {
				return nil, fmt.Errorf("edge %q -> %q: %w", g.Nodes[i].Name, g.Nodes[j].Name, err)
			}
		}
	}
	return d, nil
}

// maxReduction bounds the work of a transitive reduction, which grows with the product of
// edges and nodes.
const maxReduction = 5_000_000

// reduced returns the graph without edges that follow from others.
func (g *Graph) reduced() (graph.Graph[string, string], error) {
	d, err := g.library(g.dependents)
	if err != nil {
		return nil, err
	}
	edges, err := d.Size()
	if err != nil || edges*(g.Len()+edges) > maxReduction {
		return d, err
	}
	return graph.TransitiveReduction(d)
}

// Downstream returns every node that depends on node i, directly or not, in graph order.
func (g *Graph) Downstream(i int) ([]int, error) { return g.closure(i, g.dependents) }

// Upstream returns every node that node i depends on, directly or not, in graph order.
func (g *Graph) Upstream(i int) ([]int, error) { return g.closure(i, g.deps) }

// closure returns every node that can be reached from i along next.
func (g *Graph) closure(i int, next [][]int) ([]int, error) {
	d, err := g.library(next)
	if err != nil {
		return nil, err
	}
	reached := make(map[string]bool)
	err = graph.DFS(d, g.Nodes[i].Name, func(name string) (stop bool) {
		reached[name] = true
		return false
	})
	return slices.DeleteFunc(slices.Clone(g.order), func(j int) bool { return j == i || !reached[g.Nodes[j].Name] }), err
}

// dot writes d in the language of Graphviz.
func dot(w io.Writer, d graph.Graph[string, string]) error {
	var b bytes.Buffer
	if err := draw.DOT(d, &b, draw.GraphAttribute("rankdir", "LR")); err != nil {
		return err
	}
	// The library iterates over maps: sort, so that the same graph gives the same text.
	var lines []string
	for line := range strings.Lines(b.String()) {
		if strings.HasPrefix(line, "\t") {
			lines = append(lines, line)
		}
	}
	slices.Sort(lines)
	_, err := fmt.Fprintf(w, "strict digraph {\n%s}\n", strings.Join(lines, ""))
	return err
}

var shapes = map[Role]string{RoleBuild: "box", RoleReview: "ellipse", RoleMerge: "house", RoleGate: "octagon"}

// arrows returns, for each node, its dependents by an edge of d, in graph order, and how
// many of its own dependencies d still has.
func (g *Graph) arrows(d graph.Graph[string, string]) (waiting, deps [][]int, err error) {
	edges, err := d.PredecessorMap()
	if err != nil {
		return nil, nil, err
	}
	waiting, deps = make([][]int, g.Len()), make([][]int, g.Len())
	for _, i := range g.order {
		for _, j := range g.deps[i] {
			if _, ok := edges[g.Nodes[i].Name][g.Nodes[j].Name]; ok {
				waiting[j] = append(waiting[j], i)
				deps[i] = append(deps[i], j)
			}
		}
	}
	return waiting, deps, nil
}

// mermaid writes d as a Mermaid flowchart, which Markdown pages show. It calls nodes by
// their index, because names like "end" are keywords there.
func (g *Graph) mermaid(w io.Writer, d graph.Graph[string, string]) error {
	waiting, _, err := g.arrows(d)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	b.WriteString("flowchart LR\n")
	for i := range g.Nodes {
		n := &g.Nodes[i]
		form := outlines[n.Role]
		fmt.Fprintf(&b, "    n%d%s\"%s\"%s\n", i, form[0], n.Name, form[1])
	}
	for _, i := range g.order {
		for _, j := range waiting[i] {
			fmt.Fprintf(&b, "    n%d --> n%d\n", i, j)
		}
	}
	_, err = w.Write(b.Bytes())
	return err
}

var outlines = map[Role][2]string{RoleBuild: {"[", "]"}, RoleReview: {"([", "])"}, RoleMerge: {"[[", "]]"}, RoleGate: {"{{", "}}"}}

// maxDepth is how far text indents. Deeper nodes begin at the margin again: otherwise a
// long chain would need space in the square of its length.
const maxDepth = 20

// text writes d as trees. A node with several dependencies stands below the one with the
// longest path to it, and names the others.
func (g *Graph) text(w io.Writer, d graph.Graph[string, string]) error {
	f, err := g.forest(d)
	if err != nil {
		return err
	}
	roots := f.roots
	var b bytes.Buffer
	var tree func(i int, first, rest string, depth int)
	tree = func(i int, first, rest string, depth int) {
		below := f.below[i]
		cut := depth == maxDepth && len(below) > 0
		if depth == 0 && f.under[i] >= 0 {
			first = "… "
		}
		fmt.Fprintf(&b, "%s%s%s", first, g.Nodes[i].Name, g.aside(i, f.under[i], f.deps[i]))
		if cut {
			b.WriteString(" …")
			roots = append(roots, i)
		}
		b.WriteByte('\n')
		for k, j := range below {
			switch {
			case cut:
			case k < len(below)-1:
				tree(j, rest+"├─ ", rest+"│  ", depth+1)
			default:
				tree(j, rest+"└─ ", rest+"   ", depth+1)
			}
		}
	}
	for len(roots) > 0 {
		i := roots[0]
		roots = roots[1:]
		tree(i, "", "", 0)
	}
	_, err = w.Write(b.Bytes())
	return err
}

// aside returns what the position of a drawn node does not show: its role, its other
// dependencies, and its join.
func (g *Graph) aside(i, under int, deps []int) string {
	n := &g.Nodes[i]
	var notes []string
	if n.Role != RoleBuild {
		notes = append(notes, string(n.Role))
	}
	var others []string
	for _, j := range deps {
		if j != under && !n.Finally { // which waits for everything
			others = append(others, g.Nodes[j].Name)
		}
	}
	if len(others) > 0 {
		notes = append(notes, "also after "+strings.Join(others, ", "))
	}
	switch {
	case n.Finally && n.When != Always:
		notes = append(notes, "finally", string(n.When))
	case n.Finally:
		notes = append(notes, "finally")
	case n.When != AllSuccess && len(n.DependsOn) > 0:
		notes = append(notes, string(n.When))
	}
	if len(notes) == 0 {
		return ""
	}
	return " (" + strings.Join(notes, "; ") + ")"
}
