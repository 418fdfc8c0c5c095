package dag

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/dominikbraun/graph"
	"github.com/dominikbraun/graph/draw"
	"gopkg.in/yaml.v3"
)

// SchemaPath is where the editor line of Format expects the JSON Schema,
// relative to the configuration.
const SchemaPath = ".cmux/schema.json"

// Format writes a configuration that parses to a graph equal to g but for the
// line numbers. What equals a default is left out. A task read from a file is
// written as its task_file.
func Format(g *Graph) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# yaml-language-server: $schema=%s\n", SchemaPath)
	plain := &Graph{WorktreeBase: "..", MainPane: true, MaxParallel: 8}
	for _, f := range new(parser).rootFields() {
		if f.render != nil && !f.same(g, plain) {
			fmt.Fprintf(&b, "%s: %s\n", f.name, f.render(g, "  "))
		}
	}
	b.WriteString("agents:\n")
	fields := agentFields(nil)
	for i := range g.Nodes {
		n := g.Nodes[i]
		base := newNode()
		base.Account = n.Agent
		if n.HasBranch() {
			base.Branch = g.Session + "/" + n.Name
		}
		if n.TaskFile != "" {
			n.Task = ""
		}
		lead := "  - "
		for _, f := range fields {
			if !f.same(&n, &base) {
				fmt.Fprintf(&b, "%s%s: %s\n", lead, f.name, f.render(&n, "      "))
				lead = "    "
			}
		}
	}
	return b.Bytes()
}

// short is the duration without the zeros that time.Duration ends in.
func (d Duration) short() string {
	s := time.Duration(d).String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

func renderAny[V any](v V, _ string) string { return fmt.Sprint(v) }

// Text is text as the value of a key: several lines as a block with that
// indent where YAML can hold them so, else as Scalar. A line feed ends a line
// of s, and nothing else does.
func Text(s, indent string) string {
	body := strings.TrimSuffix(s, "\n")
	plain := strings.Contains(body, "\n") && !strings.HasPrefix(s, " ") && !strings.HasPrefix(s, "\t") && !strings.HasPrefix(s, "\n") && !strings.HasSuffix(body, "\n") &&
		!strings.ContainsFunc(body, func(r rune) bool { return !inBlock(r) }) && utf8.ValidString(body)
	if !plain {
		return Scalar(s)
	}
	head := "|"
	if body == s {
		head = "|-"
	}
	for line := range strings.SplitSeq(body, "\n") {
		head += "\n"
		if line != "" {
			head += indent + line
		}
	}
	return head
}

// Scalar is text as one YAML value on one line, also inside brackets.
func Scalar(s string) string {
	plain := s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("_./-+", r)
	}) && s[0] != '-' && s[0] != '+'
	if n := (&yaml.Node{Kind: yaml.ScalarNode, Value: s}); plain && n.ShortTag() == "!!str" {
		return s
	}
	// Quote's text is a subset of YAML's double-quoted style, but for bytes that
	// are no text, which YAML would take for other characters.
	return strconv.Quote(strings.ToValidUTF8(s, "\ufffd"))
}

func renderList(list []string, indent string) string {
	quoted := make([]string, len(list))
	length := 0
	for i, s := range list {
		quoted[i] = Scalar(s)
		length += len(quoted[i]) + 2
	}
	if length > 90 {
		return "\n" + indent + "- " + strings.Join(quoted, "\n"+indent+"- ")
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

// inBlock reports whether a block of YAML may hold r as it is. No-break spaces
// and joiners stand in what people write; other invisible ones are escaped.
func inBlock(r rune) bool {
	return r == '\n' || r == '\t' || r == '\u00a0' || r == '\u200d' || unicode.IsPrint(r)
}

func renderMap[V any](m map[string]V, _ string) string {
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(m)) {
		v := fmt.Sprint(m[k])
		if s, ok := any(m[k]).(string); ok {
			v = Scalar(s)
		}
		parts = append(parts, Scalar(k)+": "+v)
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// maxReduction bounds the work of a transitive reduction, which takes time in
// the product of edges and nodes.
const maxReduction = 5_000_000

// DOT writes the graph in the language of Graphviz, an arrow from each node to
// those that wait for it. Arrows that follow from others are left out, but in
// graphs of several thousand nodes.
func (g *Graph) DOT(w io.Writer) error {
	d := graph.New(graph.StringHash, graph.Directed(), graph.Acyclic())
	edges := 0
	for i := range g.Nodes {
		n := &g.Nodes[i]
		if err := d.AddVertex(n.Name, graph.VertexAttribute("shape", shapes[n.Role])); err != nil {
			return fmt.Errorf("node %q: %w", n.Name, err)
		}
	}
	for i := range g.Nodes {
		for _, j := range g.deps[i] {
			if err := d.AddEdge(g.Nodes[j].Name, g.Nodes[i].Name); err != nil {
				return fmt.Errorf("edge %q -> %q: %w", g.Nodes[j].Name, g.Nodes[i].Name, err)
			}
			edges++
		}
	}
	if edges*(len(g.Nodes)+edges) <= maxReduction {
		reduced, err := graph.TransitiveReduction(d)
		if err != nil {
			return fmt.Errorf("reduce the graph: %w", err)
		}
		d = reduced
	}
	var b bytes.Buffer
	if err := draw.DOT(d, &b, draw.GraphAttribute("rankdir", "LR")); err != nil {
		return err
	}
	// The library walks maps: sorted, the same graph gives the same text.
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
