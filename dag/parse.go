package dag

import (
	"path"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"cmux/dag/keys"
)

// ParseOptions is what Parse needs from outside the configuration.
type ParseOptions struct {
	// Kinds are the known agent kinds; nil: those of a released binary.
	Kinds []string
	// ReadFile reads a task_file or an included file by its path, relative to the folder of
	// the configuration; nil refuses both.
	ReadFile func(path string) ([]byte, error)
	// Account returns the account of a node; the configuration may have set one. nil: the
	// configured one, else the node's kind.
	Account func(n *Node) string
	// InTheWay returns an existing branch because of which git cannot make one of that name;
	// empty: there is none. nil: nobody knows the repository.
	InTheWay func(branch string) string
}

// Kinds returns the agent kinds of a released binary.
func Kinds() []string {
	return []string{"claude", "codex", "kimi", "qwen", "opencode", "gemini", KindACP, KindCommand}
}

// Fault is one problem of a configuration, with its position.
type Fault = keys.Fault

// Warning is a Fault with which the configuration can still be used.
type Warning = Fault

// Faults is every problem of a configuration, in order of position.
type Faults = keys.Faults

// Parse reads and validates a configuration in one pass. name is the name of the file in
// faults. The error is of type Faults and holds all problems at once; the warnings are
// valid with and without an error. The time is linear in the size of src.
func Parse(name string, src []byte, opts ParseOptions) (*Graph, []Warning, error) {
	if opts.Kinds == nil {
		opts.Kinds = Kinds()
	}
	p := &parser{
		Reader: keys.NewReader(name), reading: path.Base(name), within: []string{path.Base(name)}, opts: opts,
		tasks: make(map[string]string), agentKey: keys.NewTable(agentFields(opts.Kinds)),
	}
	p.Empty, p.Large, p.Shape = "cmux agents init writes one", "move long tasks to files and name them with task_file", `write "session: NAME" and "agents:"`
	g := p.parse(src)
	if err := p.Err(); err != nil {
		return nil, p.Warnings, err
	}
	return g, p.Warnings, nil
}

type parser struct {
	*keys.Reader
	reading    string   // the current file, relative to the folder of the configuration
	within     []string // the current file and the files that include it
	opts       ParseOptions
	tasks      map[string]string // task files read so far
	agentKey   *keys.Table[Node]
	defaults   Node
	sources    []source // of each node of the graph
	cloned     int      // bytes of text that matrices have made so far
	multiplied int      // values that they have made
}

// source is the origin of a node, for faults found after it was read.
type source struct {
	at          *yaml.Node
	entries     []keys.Entry
	combination *combination // of a node of a matrix
	finally     bool         // it is under finally
}

// where returns the value of the named key, or the node itself if the key is missing.
func (s source) where(key string) *yaml.Node {
	if i := slices.IndexFunc(s.entries, func(e keys.Entry) bool { return e.Name == key }); i >= 0 {
		return s.entries[i].Val
	}
	return s.at
}

// has reports whether the node itself sets the key.
func (s source) has(key string) bool { return s.where(key) != s.at }

// unread reports whether the key has a value that the parser refused. The caller knows that
// the field is empty.
func (s source) unread(key string) bool {
	v := keys.Behind(s.where(key))
	return s.has(key) && (len(v.Content) > 0 || v.Kind == yaml.ScalarNode && strings.TrimSpace(v.Value) != "")
}

// elements returns the elements of the named list, by their text.
func (s source) elements(key string) map[string]*yaml.Node {
	at := make(map[string]*yaml.Node)
	if v := keys.Behind(s.where(key)); v.Kind == yaml.SequenceNode {
		for _, e := range v.Content {
			at[keys.Behind(e).Value] = e
		}
	}
	return at
}

// parse returns a graph that is complete only if it recorded no fault.
func (p *parser) parse(src []byte) *Graph {
	root := p.Root(src)
	if root == nil {
		return nil
	}
	g := &Graph{WorktreeBase: "..", MainPane: true, MaxParallel: 8}
	p.defaults = newNode()
	top := keys.NewTable(p.rootFields())
	known := top.ReadRoot(p.Reader, g, root, func(e keys.Entry) string {
		if p.agentKey.Of(e.Name) != nil {
			return "it belongs to an agent, or to all of them under defaults"
		}
		return p.Near(e.Name, top.Names)
	})
	for _, f := range top.Fields {
		if f.Required && !known[f.Name] && !(f.Name == "agents" && known["include"]) {
			p.Fault(root, "write "+f.Example, "%q is missing", f.Name)
		}
	}
	if known["include"] && !known["agents"] && len(p.Faults) == 0 && g.Len() == 0 {
		p.Fault(root, "write "+top.Of("agents").Example, "neither this file nor what it includes has an agent")
	}
	p.finallyLast(g)
	p.validate(g)
	p.inTheWay(g, root)
	if len(p.Faults) == 0 {
		if err := g.link(); err != nil {
			p.Fault(root, "", "%v", err) // validate has missed something
		}
	}
	return g
}
