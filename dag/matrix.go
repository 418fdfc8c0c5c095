package dag

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"gopkg.in/yaml.v3"

	"cmux/dag/keys"
)

const (
	maxCombinations = 256      // nodes of one matrix
	maxCloned       = 64 << 20 // bytes of text that all matrices together make
	matrixExclude   = "exclude"
	axisPattern     = `^[A-Za-z_][A-Za-z0-9_]*$`
)

// Matrix is the matrix that a node comes from.
type Matrix struct {
	Name     string `json:"name"`                // the name that stands for all of its nodes in depends_on
	FailFast bool   `json:"fail_fast,omitempty"` // a failed node cancels the others
}

// combination holds the value of each axis for one node of a matrix.
type combination struct {
	axes   []string
	values map[string]string
	group  string // name of the matrix
	ruled  bool   // the name holds templates
	free   string // an axis that no template of the name uses; empty: none
}

// name returns the name of a node whose agent's name has no template.
func (c *combination) name(base string) string {
	for _, a := range c.axes {
		if part := c.inName(a); part != "" {
			base += "-" + part
		}
	}
	return base
}

// inName returns the value of an axis as it appears in names.
func (c *combination) inName(axis string) string {
	return strings.Trim(notInName().ReplaceAllString(c.values[axis], "-"), "-")
}

var (
	notInName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[^a-zA-Z0-9._-]+`) })
	axisName  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(axisPattern) })
)

// blank replaces ${{ matrix.KEY }} if the matrix has a fault, so that the fault is reported
// only once.
const blank = "x"

// expand returns the entries of each node of an agent: one node, or one for each
// combination of the axes of its matrix.
func (p *parser) expand(item *yaml.Node, entries []keys.Entry) []source {
	plain := source{at: item, entries: entries}
	at := plain.where("matrix")
	if !plain.has("matrix") || keys.IsNull(at) {
		if fast := plain.where("fail_fast"); plain.has("fail_fast") && !keys.IsNull(fast) {
			p.Warn(fast, "write matrix: {KEY: [VALUE, VALUE]}, or remove it", "fail_fast has no effect on an agent without a matrix")
		}
		return []source{plain}
	}
	own := slices.DeleteFunc(slices.Clone(entries), func(e keys.Entry) bool { return e.Name == "matrix" })
	written := keys.Behind(plain.where("name")).Value // empty if the name is not text
	combinations, ok := p.combinations(at)
	if !ok {
		combinations = []combination{{}}
	}
	// aliases bounds alias expansion once, but each node reads all of it again.
	if p.multiplied += weight(item) * len(combinations); p.multiplied > keys.MaxExpanded {
		p.Fault(at, "use fewer values, aliases or shorter texts", "the matrices make more than %d values", keys.MaxExpanded)
		combinations = combinations[:1]
	}
	out := make([]source, len(combinations))
	for i := range combinations {
		c := &combinations[i]
		c.group, c.ruled = matrixName(written), len(templates(written)) > 0
		for _, a := range c.axes {
			if c.free == "" || !strings.Contains(written, a) {
				c.free = a
			}
		}
		out[i] = source{at: item, entries: p.substituted(own, c), combination: c}
	}
	return out
}

// weight returns the cost of reading a value: the number of values below it, and the bytes
// of its text.
func weight(n *yaml.Node) int {
	n = keys.Behind(n)
	w := 1 + len(n.Value)/100
	for _, c := range n.Content {
		w += weight(c)
	}
	return w
}

// combinations returns the combinations of a matrix, in the order of its axes and values.
func (p *parser) combinations(n *yaml.Node) ([]combination, bool) {
	good := len(p.Faults)
	var axes []string
	values := make(map[string][]string)
	var excluded *yaml.Node
	for _, e := range p.Entries(n, "matrix") {
		switch {
		case e.Name == matrixExclude:
			excluded = e.Val
		case !axisName().MatchString(e.Name):
			p.Fault(e.Key, "letters, digits and underscores, not beginning with a digit", "matrix: %q is not a name of an axis", keys.Shorten(e.Name))
		default:
			if list, ok := p.Texts("matrix."+e.Name, e.Val, false, p.unlike(e.Name)); ok && len(list) == 0 {
				p.Fault(e.Val, "give at least one value", "matrix.%s has no value", e.Name)
			} else if ok {
				axes = append(axes, e.Name)
				values[e.Name] = list
			}
		}
	}
	if len(p.Faults) == good && len(axes) == 0 {
		p.Fault(n, "write matrix: {KEY: [VALUE, VALUE]}", "matrix has no axis")
	}
	if len(p.Faults) > good {
		return nil, false
	}
	count := 1
	for _, a := range axes {
		if count *= len(values[a]); count > maxCombinations {
			p.Fault(n, "use fewer values, or several agents", "the matrix makes more than %d nodes", maxCombinations)
			return nil, false
		}
	}
	out := []combination{{axes: axes}}
	for _, a := range axes {
		var next []combination
		for _, c := range out {
			for _, v := range values[a] {
				m := maps.Clone(c.values)
				if m == nil {
					m = make(map[string]string)
				}
				m[a] = v
				next = append(next, combination{axes: axes, values: m})
			}
		}
		out = next
	}
	out = p.exclude(excluded, values, out)
	if len(p.Faults) == good && len(out) == 0 {
		p.Fault(excluded, "remove one", "exclude leaves no node of the matrix")
	}
	return out, len(p.Faults) == good
}

// unlike refuses a value that an axis already has.
func (p *parser) unlike(axis string) keys.Check {
	seen := make(map[string]bool)
	return func(p *keys.Reader, key string, at *yaml.Node, s string) bool {
		if seen[s] {
			p.Fault(at, "remove one", "matrix.%s has the value %q twice", axis, keys.Shorten(s))
			return false
		}
		seen[s] = true
		return true
	}
}

// exclude removes the combinations that a matrix excludes. Each entry names values of some
// axes and matches any value of the others.
func (p *parser) exclude(n *yaml.Node, values map[string][]string, all []combination) []combination {
	if n == nil || keys.IsNull(n) {
		return all
	}
	list := keys.Behind(n)
	if list.Kind != yaml.SequenceNode {
		p.Fault(n, "write exclude: [{KEY: VALUE}]", "exclude must be a list, not %s", keys.Describe(n))
		return all
	}
	for _, item := range list.Content {
		good := len(p.Faults)
		out := make(map[string]string)
		for _, e := range p.Entries(item, "exclude") {
			if values[e.Name] == nil {
				p.Fault(e.Key, p.Near(e.Name, slices.Sorted(maps.Keys(values))), "exclude: the matrix has no axis %q", keys.Shorten(e.Name))
			} else if v, ok := p.Text("exclude."+e.Name, e.Val); ok && !slices.Contains(values[e.Name], v) {
				p.Fault(e.Val, p.Near(v, values[e.Name]), "exclude: matrix.%s has no value %q", e.Name, keys.Shorten(v))
			} else {
				out[e.Name] = v
			}
		}
		switch {
		case len(p.Faults) > good:
		case len(out) == 0:
			p.Fault(item, "write {KEY: VALUE}", "exclude holds an entry without a value")
		default:
			all = slices.DeleteFunc(all, func(c combination) bool {
				for k, v := range out {
					if c.values[k] != v {
						return false
					}
				}
				return true
			})
		}
	}
	return all
}

// substituted returns the entries with every ${{ matrix.KEY }} in their values replaced.
// Entries without one are shared.
func (p *parser) substituted(entries []keys.Entry, c *combination) []keys.Entry {
	out := slices.Clone(entries)
	for i := range out {
		out[i].Val = p.clone(out[i].Val, c, out[i].Name == "name" || out[i].Name == "depends_on")
	}
	return out
}

// clone returns a copy of a value with its templates replaced; names: the value is one or
// more names.
func (p *parser) clone(n *yaml.Node, c *combination, names bool) *yaml.Node {
	copied := func() *yaml.Node {
		d := *n
		p.Stands(&d, n)
		return &d
	}
	switch n.Kind {
	case yaml.AliasNode:
		if below := p.clone(n.Alias, c, names); below != n.Alias {
			d := copied()
			d.Alias = below
			return d
		}
	case yaml.ScalarNode:
		if s := p.inMatrix(n, n.Value, c, names); s != n.Value {
			d := copied()
			d.Value = s
			if n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) == 0 {
				d.Tag = "" // may become a number or a flag
			}
			return d
		}
	default:
		var content []*yaml.Node
		for i, below := range n.Content {
			d := p.clone(below, c, names)
			if d != below && content == nil {
				content = slices.Clone(n.Content)
			}
			if content != nil {
				content[i] = d
			}
		}
		if content != nil {
			d := copied()
			d.Content = content
			return d
		}
	}
	return n
}

// inMatrix replaces the templates of a text by the node's values.
func (p *parser) inMatrix(at *yaml.Node, s string, c *combination, names bool) string {
	return replaceTemplates(s, func(t template) (string, bool) {
		key, ours := strings.CutPrefix(t.inner, "matrix.")
		if !ours {
			return "", false
		}
		if c.values == nil {
			return blank, true
		}
		v, ok := c.values[key]
		if !ok {
			hint := p.Near(key, c.axes)
			if hint == "" {
				hint = "it has " + strings.Join(c.axes, ", ")
			}
			p.Fault(at, hint, "the matrix has no %q", keys.Shorten(key))
			return blank, true
		}
		if p.cloned += len(v) + len(s); p.cloned > maxCloned {
			p.Fault(at, "use fewer values or shorter texts", "the matrices make more than %d bytes of text", maxCloned)
			return blank, true
		}
		if names {
			v = c.inName(key)
		}
		return v, true
	})
}

// matrixName returns the name that stands for all nodes of a matrix: the agent's name up to
// its first template.
func matrixName(written string) string {
	if rule := templates(written); rule != nil && rule[0].start > 0 {
		written = written[:rule[0].start]
	}
	return strings.Trim(replaceTemplates(written, func(template) (string, bool) { return "", true }), "-._ ")
}

// template is one ${{ ... }} of a text.
type template struct {
	start, end int    // position, in bytes
	inner      string // content, without blanks around it
}

// templates returns the templates of a text. $${{ begins none: it is an escaped ${{.
func templates(s string) (out []template) {
	for at := 0; ; {
		open := strings.Index(s[at:], "${{")
		if open < 0 {
			return out
		}
		open += at
		shut := strings.Index(s[open:], "}}")
		if shut < 0 {
			return out
		}
		if open > 0 && s[open-1] == '$' {
			at = open + len("${{")
			continue
		}
		at = open + shut + len("}}")
		out = append(out, template{open, at, strings.TrimSpace(s[open+len("${{") : at-len("}}")])})
	}
}

// replaceTemplates replaces the templates of a text for which by returns a value.
func replaceTemplates(s string, by func(template) (string, bool)) string {
	var b strings.Builder
	at := 0
	for _, t := range templates(s) {
		if v, ok := by(t); ok {
			b.WriteString(s[at:t.start])
			b.WriteString(v)
			at = t.end
		}
	}
	if at == 0 && b.Len() == 0 {
		return s
	}
	return b.String() + s[at:]
}

// noMatrix refuses templates of matrix values in an agent without a matrix.
func (p *parser) noMatrix(at *yaml.Node, s string) {
	for _, t := range templates(s) {
		if strings.HasPrefix(t.inner, "matrix.") {
			p.Fault(at, "give the agent a matrix; $${{ where the text itself is meant", "%q stands for a value of a matrix, and this agent has none", keys.Shorten(s[t.start:t.end]))
			return
		}
	}
}

// grouped replaces the names of matrices in depends_on by their nodes. It returns the nodes
// of each matrix.
func (p *parser) grouped(g *Graph, index map[string]int) map[string][]string {
	groups := make(map[string][]string)
	for i := range g.Nodes {
		if m := g.Nodes[i].Matrix; m != nil {
			groups[m.Name] = append(groups[m.Name], g.Nodes[i].Name)
		}
	}
	if len(groups) == 0 {
		return nil
	}
	for i := range g.Nodes {
		if g.Nodes[i].Matrix == nil && groups[g.Nodes[i].Name] != nil {
			p.Fault(p.sources[i].where("name"), "rename one of them", "%q is also the name of a matrix", g.Nodes[i].Name)
		}
	}
	for i := range g.Nodes {
		n := &g.Nodes[i]
		if !slices.ContainsFunc(n.DependsOn, func(d string) bool { _, node := index[d]; return !node && groups[d] != nil }) {
			continue
		}
		var all []string
		for _, d := range n.DependsOn {
			_, node := index[d]
			switch {
			case node || groups[d] == nil:
				all = append(all, d)
			case n.Matrix != nil && n.Matrix.Name == d:
				p.Fault(p.sources[i].where("depends_on"), "remove it", "%q depends on its own matrix, %q", n.Name, d)
			default:
				all = append(all, groups[d]...)
			}
		}
		n.DependsOn = all
	}
	return groups
}
