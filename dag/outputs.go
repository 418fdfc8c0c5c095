package dag

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"gopkg.in/yaml.v3"

	"cmux/dag/keys"
)

// OutputPattern is the pattern of output names.
const OutputPattern = `^[A-Za-z_][A-Za-z0-9_]*$`

const maxOutputName = 64

var outputName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(OutputPattern) })

// Outputs holds the values that a node has published, as one text; equal values give equal
// texts. Empty: none.
type Outputs string

// Values returns the outputs by name. The caller owns the map.
func (o Outputs) Values() map[string]string {
	if o == "" {
		return nil
	}
	var m map[string]string
	if err := json.Unmarshal([]byte(o), &m); err != nil {
		return nil // With made it, so it is valid
	}
	return m
}

// With returns o with one more value.
func (o Outputs) With(name, value string) Outputs {
	m := o.Values()
	if m == nil {
		m = make(map[string]string)
	}
	m[name] = value
	b, err := json.Marshal(m) // sorted by name
	if err != nil {
		panic(err) // texts can be written
	}
	return Outputs(b)
}

// OutputVar returns the environment variable that passes an output of the named node to its
// dependents.
func OutputVar(node, output string) string {
	return "CMUX_NEEDS_" + strings.ToUpper(notInVar().ReplaceAllString(node, "_")) + "_" + output
}

var notInVar = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[^a-zA-Z0-9]`) })

// Need is a template ${{ needs.NODE.outputs.OUTPUT }} or ${{ needs.NODE.result }}.
type Need struct {
	Node   string
	Output string // empty: the result
}

var needForm = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^needs\.([a-zA-Z0-9][a-zA-Z0-9._-]*)\.(result|outputs\.([A-Za-z_][A-Za-z0-9_]*))$`)
})

// FillTask returns the task of an agent with its templates replaced by value, and $${{ by
// ${{. Templates for which value returns nothing stay as they are.
func FillTask(task string, value func(Need) (string, bool)) string {
	var b strings.Builder
	at := 0
	for _, t := range templates(task) {
		m := needForm().FindStringSubmatch(t.inner)
		if m == nil {
			continue
		}
		if v, ok := value(Need{m[1], m[3]}); ok {
			b.WriteString(unescaped(task[at:t.start]))
			b.WriteString(v)
			at = t.end
		}
	}
	return b.String() + unescaped(task[at:])
}

func unescaped(s string) string { return strings.ReplaceAll(s, "$${{", "${{") }

// Result returns the label as conditions name it; empty: the node has not ended.
func (l Label) Result() string {
	switch {
	case l.State == NodeFailed && l.Reason == ReasonCancelled:
		return "cancelled"
	case l.State == NodeDone, l.State == NodeFailed, l.State == NodeBlocked, l.State == NodeSkipped:
		return string(l.State)
	}
	return ""
}

// needs checks the ${{ needs.... }} templates of nodes.
func (p *parser) needs(g *Graph, index map[string]int, groups map[string][]string) {
	for i := range g.Nodes {
		n, src := &g.Nodes[i], p.sources[i]
		at := src.where("task")
		if n.TaskFile != "" {
			at = src.where("task_file")
		}
		for _, t := range needTemplates(n.Task) {
			switch need, ok := p.need(g, n, at, t.inner, index, groups); {
			case !ok:
			case !n.UsesModel() && need.Output == "":
				p.Fault(at, "use if: to start it or not", "a command cannot hold ${{ %s }}: the shell would run what it stands for", t.inner)
			case !n.UsesModel():
				p.Fault(at, fmt.Sprintf(`write "$%s"`, OutputVar(need.Node, need.Output)), "a command cannot hold ${{ %s }}: the shell would run what it stands for", t.inner)
			}
		}
		for _, key := range []string{"verify", "env", "scope", "context", "branch", "model"} {
			if src.has(key) {
				p.noNeeds(key, src.where(key))
			}
		}
		p.sameVars(g, n, src, index)
		p.condition(g, n, src, index, groups)
	}
}

func needTemplates(s string) []template {
	return slices.DeleteFunc(templates(s), func(t template) bool { return !strings.HasPrefix(t.inner, "needs.") })
}

// need parses inner, a reference to another node, and checks that the node may use it.
func (p *parser) need(g *Graph, n *Node, at *yaml.Node, inner string, index map[string]int, groups map[string][]string) (Need, bool) {
	m := needForm().FindStringSubmatch(inner)
	if m == nil {
		p.Fault(at, "write needs.NAME.outputs.KEY or needs.NAME.result; $${{ where the text itself is meant", "${{ %s }} is not understood", keys.Shorten(inner))
		return Need{}, false
	}
	return Need{m[1], m[3]}, p.needed(g, n, at, m[1], m[3], index, groups)
}

// needed reports whether node n may read the output (empty: the result) of the named node.
func (p *parser) needed(g *Graph, n *Node, at *yaml.Node, name, output string, index map[string]int, groups map[string][]string) bool {
	j, ok := index[name]
	switch {
	case !ok && groups[name] != nil:
		p.Fault(at, "name one of its nodes: "+strings.Join(groups[name][:min(3, len(groups[name]))], ", "), "needs.%s is a matrix", name)
	case !ok:
		p.Fault(at, p.Near(name, n.DependsOn), "needs.%s is not defined", name)
	case !slices.Contains(n.DependsOn, name) && !(n.Finally && !g.Nodes[j].Finally):
		p.Fault(at, "add it there", "needs.%s: %s does not name it in depends_on", name, called(n))
	case output != "" && !slices.Contains(g.Nodes[j].Outputs, output):
		hint := p.Near(output, g.Nodes[j].Outputs)
		if hint == "" {
			hint = fmt.Sprintf("write outputs: [%s] there, if it publishes that", output)
		}
		p.Fault(at, hint, "needs.%s.outputs.%s: %s does not declare that output", name, output, name)
	default:
		return true
	}
	return false
}

// noNeeds refuses templates in keys where cmux does not replace them.
func (p *parser) noNeeds(key string, n *yaml.Node) {
	n = keys.Behind(n)
	for _, t := range needTemplates(n.Value) {
		hint := "cmux replaces it only in the task of an agent"
		if m := needForm().FindStringSubmatch(t.inner); m != nil && m[3] != "" && key == "verify" {
			hint = fmt.Sprintf(`write "$%s"`, OutputVar(m[1], m[3]))
		}
		p.Fault(n, hint, "%s cannot hold ${{ %s }}", key, keys.Shorten(t.inner))
	}
	for _, c := range n.Content {
		p.noNeeds(key, c)
	}
}

// sameVars refuses two outputs that a node would get in the same variable.
func (p *parser) sameVars(g *Graph, n *Node, src source, index map[string]int) {
	var whose map[string]string
	for _, d := range n.DependsOn {
		j, ok := index[d]
		if !ok {
			continue
		}
		for _, output := range g.Nodes[j].Outputs {
			name := OutputVar(d, output)
			if whose == nil {
				whose = make(map[string]string)
			}
			if first, ok := whose[name]; ok {
				p.Fault(src.where("depends_on"), "rename one of them", "%s would find outputs of both %s and %s in %s", called(n), first, d, name)
			}
			whose[name] = d
		}
	}
}

// published records an output. Outputs do not change after the node's end.
func (f *Fact) published(c *Change) folded {
	if f.Phase == Ended || f.StillOpen {
		return passed
	}
	f.Outputs = f.Outputs.With(c.Output, c.Value)
	return noted
}
