package dag

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	exprparser "github.com/expr-lang/expr/parser"
	"github.com/expr-lang/expr/vm"
	"gopkg.in/yaml.v3"

	"cmux/dag/keys"
)

const maxCondition = 2000 // bytes

// need is what a condition can read of another node.
type need struct {
	Result  string            `expr:"result"`
	Outputs map[string]string `expr:"outputs"`
}

// results are the results of nodes as conditions name them.
func results() []string { return []string{"done", "failed", "cancelled", "blocked", "skipped"} }

// condition is the if: of a node, compiled.
type condition struct {
	program *vm.Program
	names   []string // of the nodes that it reads
	all     bool     // it reads all dependencies of its node
	err     error
}

// conditions holds the conditions of a graph, each compiled at its first use.
type conditions struct {
	mu  sync.Mutex
	all map[int]*condition
}

// condition returns the compiled condition of node i, which must have one.
func (g *Graph) condition(i int) *condition {
	g.conditions.mu.Lock()
	defer g.conditions.mu.Unlock()
	c := g.conditions.all[i]
	if c == nil {
		names := make([]string, len(g.deps[i]))
		for k, d := range g.deps[i] {
			names[k] = g.Nodes[d].Name
		}
		c = compile(g.Nodes[i].If, names)
		if g.conditions.all == nil {
			g.conditions.all = make(map[int]*condition)
		}
		g.conditions.all[i] = c
	}
	return c
}

// compile compiles the condition of a node with these dependencies. Conditions see neither
// clock nor system: equal facts give equal results.
func compile(text string, deps []string) *condition {
	c := new(condition)
	tree, err := exprparser.Parse(expression(text, deps))
	if err != nil {
		c.err = plainly(err)
		return c
	}
	asked := asksOf(&tree.Node)
	c.names, c.all = asked.names, asked.all
	options := []expr.Option{expr.Env(scope(nil)), expr.AsBool(), expr.DisableAllBuiltins()}
	for _, name := range []string{"len", "int", "float", "string", "lower", "upper", "trim", "trimPrefix", "trimSuffix", "split", "hasPrefix", "hasSuffix"} {
		options = append(options, expr.EnableBuiltin(name)) // neither clocks nor loops
	}
	c.program, err = expr.Compile(expression(text, deps), options...)
	if err != nil {
		c.err = plainly(err)
	}
	return c
}

// scope returns the names that a condition can use.
func scope(needs map[string]need) map[string]any {
	some := func(is func(string) bool) bool {
		for _, n := range needs {
			if is(n.Result) {
				return true
			}
		}
		return false
	}
	return map[string]any{
		"needs": needs,
		"failure": func() bool {
			return some(func(r string) bool { return r == "failed" || r == "cancelled" || r == "blocked" })
		},
		"success": func() bool { return !some(func(r string) bool { return r != "done" && r != "skipped" }) },
	}
}

// expression returns the condition as the library expects it: without ${{ }} around it, and
// with names that contain - or . in brackets.
func expression(text string, deps []string) string {
	text = strings.TrimSpace(text)
	if in, ok := strings.CutPrefix(text, "${{"); ok && strings.HasSuffix(in, "}}") && strings.Count(text, "${{") == 1 {
		text = strings.TrimSpace(strings.TrimSuffix(in, "}}"))
	}
	odd := slices.DeleteFunc(slices.Clone(deps), outputName().MatchString)
	if len(odd) == 0 {
		return text
	}
	slices.SortFunc(odd, func(a, b string) int { return len(b) - len(a) })
	var b strings.Builder
	for {
		before, rest, ok := strings.Cut(text, "needs.")
		b.WriteString(before)
		if !ok {
			return b.String()
		}
		text = rest
		i := slices.IndexFunc(odd, func(name string) bool {
			after, ok := strings.CutPrefix(rest, name)
			return ok && (strings.HasPrefix(after, ".result") || strings.HasPrefix(after, ".outputs"))
		})
		if i < 0 {
			b.WriteString("needs.")
			continue
		}
		fmt.Fprintf(&b, "needs[%q]", odd[i])
		text = strings.TrimPrefix(rest, odd[i])
	}
}

// plainly returns an error of the library as one line.
func plainly(err error) error {
	line, _, _ := strings.Cut(err.Error(), "\n")
	if i := strings.LastIndex(line, " ("); i > 0 && strings.HasSuffix(line, ")") {
		line = line[:i] // the position, which counts within the expression only
	}
	return fmt.Errorf("%s", strings.TrimPrefix(line, "reflect: "))
}

// asks collects what an expression reads.
type asks struct {
	names   []string    // of nodes
	outputs [][2]string // node and output
	words   []string    // compared with results
	all     bool        // calls success or failure
	vague   bool        // reads nodes without naming them
	bare    int
}

func asksOf(root *ast.Node) *asks {
	a := new(asks)
	ast.Walk(root, a)
	a.vague = a.vague || a.bare > 0
	return a
}

// Visit implements ast.Visitor. The walk visits members before the objects they belong to.
func (a *asks) Visit(node *ast.Node) {
	switch n := (*node).(type) {
	case *ast.IdentifierNode:
		if n.Value == "needs" {
			a.bare++
		}
		a.all = a.all || n.Value == "success" || n.Value == "failure"
	case *ast.MemberNode:
		a.member(n)
	case *ast.BinaryNode:
		for _, side := range [][2]ast.Node{{n.Left, n.Right}, {n.Right, n.Left}} {
			if m, ok := side[0].(*ast.MemberNode); ok && text(m.Property) == "result" && named(m.Node) != "" {
				a.words = append(a.words, texts(side[1])...)
			}
		}
	}
}

func (a *asks) member(n *ast.MemberNode) {
	if id, ok := n.Node.(*ast.IdentifierNode); ok && id.Value == "needs" {
		a.bare--
		if name := text(n.Property); name != "" {
			a.names = append(a.names, name)
		} else {
			a.vague = true
		}
	}
	if of, ok := n.Node.(*ast.MemberNode); ok && text(of.Property) == "outputs" && named(of.Node) != "" {
		a.outputs = append(a.outputs, [2]string{named(of.Node), text(n.Property)})
	}
}

// named returns NAME if n is needs.NAME.
func named(n ast.Node) string {
	if m, ok := n.(*ast.MemberNode); ok {
		if id, ok := m.Node.(*ast.IdentifierNode); ok && id.Value == "needs" {
			return text(m.Property)
		}
	}
	return ""
}

func text(n ast.Node) string {
	if s, ok := n.(*ast.StringNode); ok {
		return s.Value
	}
	return ""
}

func texts(n ast.Node) []string {
	if list, ok := n.(*ast.ArrayNode); ok {
		var all []string
		for _, n := range list.Nodes {
			all = append(all, texts(n)...)
		}
		return all
	}
	if s, ok := n.(*ast.StringNode); ok {
		return []string{s.Value}
	}
	return nil
}

// wants evaluates the if: of node i with the current results of its dependencies. If the
// condition cannot be evaluated, the node starts, and the start reports the error.
func (s *State) wants(i int) bool {
	ok, err := s.Condition(i)
	return ok || err != nil
}

// Condition evaluates the if: of node i with the current results of its dependencies; true
// if the node has none.
func (s *State) Condition(i int) (bool, error) {
	if s.g.Nodes[i].If == "" {
		return true, nil
	}
	c := s.g.condition(i)
	if c.err != nil {
		return false, fmt.Errorf("if: %w", c.err)
	}
	needs := make(map[string]need)
	if c.all {
		for _, d := range s.g.deps[i] {
			needs[s.g.Nodes[d].Name] = s.need(d)
		}
	}
	for _, name := range c.names {
		if d, ok := s.g.index[name]; ok {
			needs[name] = s.need(d)
		}
	}
	v, err := expr.Run(c.program, scope(needs))
	if err != nil {
		return false, fmt.Errorf("if: %w", plainly(err))
	}
	ok, _ := v.(bool)
	return ok, nil
}

// need returns what a condition can read of node i.
func (s *State) need(i int) need {
	switch s.stands[i] {
	case succeeded:
		return need{"done", s.facts[i].Outputs.Values()}
	case failed:
		return need{Result: "failed"}
	case cancelled:
		return need{Result: "cancelled"}
	case blocked:
		return need{Result: "blocked"}
	case skipped:
		return need{Result: "skipped"}
	}
	return need{} // the node has not ended
}

// condition checks the if: of a node.
func (p *parser) condition(g *Graph, n *Node, src source, index map[string]int, groups map[string][]string) {
	if n.If == "" {
		return
	}
	at := src.where("if")
	var deps []string
	for _, d := range n.DependsOn {
		if _, ok := index[d]; ok {
			deps = append(deps, d)
		}
	}
	if n.Finally {
		for i := range g.Nodes {
			deps = append(deps, g.Nodes[i].Name)
		}
	}
	if len(n.If) > maxCondition {
		p.Fault(at, "compute it in an earlier node and publish the result as an output", "if has %d bytes; at most %d are read", len(n.If), maxCondition)
		return
	}
	tree, err := exprparser.Parse(expression(n.If, deps))
	if err != nil {
		p.Fault(at, `write it as in needs.NAME.result == "done"`, "if: %v", plainly(err))
		return
	}
	good := len(p.Faults)
	asked := asksOf(&tree.Node)
	if asked.vague {
		p.Fault(at, "write needs.NAME.result or needs.NAME.outputs.KEY", "if asks about nodes without naming them")
	}
	for _, name := range asked.names {
		if _, ok := index[name]; !ok {
			for _, all := range slices.Sorted(maps.Keys(index)) { // needs.a-b parses as needs.a minus b
				if strings.HasPrefix(all, name) && strings.Contains(n.If, "needs."+all+".") {
					name = all
				}
			}
		}
		p.needed(g, n, at, name, "", index, groups)
	}
	for _, o := range asked.outputs {
		if o[1] == "" {
			p.Fault(at, "write needs.NAME.outputs.KEY", "if asks about an output without naming it")
		} else if _, ok := index[o[0]]; ok {
			p.needed(g, n, at, o[0], o[1], index, groups)
		}
	}
	for _, w := range asked.words {
		if !slices.Contains(results(), w) {
			hint := p.Near(w, results())
			if w == "success" {
				hint = `did you mean "done"?`
			} else if hint == "" {
				hint = "one of " + strings.Join(results(), ", ")
			}
			p.Fault(at, hint, "if: no result is %q", keys.Shorten(w))
		}
	}
	if len(p.Faults) > good {
		return
	}
	if c := compile(n.If, deps); c.err != nil {
		p.Fault(at, "", "if: %v", c.err)
	}
}

// readCondition reads the key if. true and false count as text.
func readCondition(p *keys.Reader, name string, n *yaml.Node, _ string) (string, bool) {
	if v := keys.Behind(n); v.Kind == yaml.ScalarNode && v.ShortTag() == "!!bool" {
		return v.Value, true
	}
	s, ok := p.Text(name, n)
	return s, ok && keys.OneLine(p, name, n, strings.ReplaceAll(strings.TrimSpace(s), "\n", " "))
}
