package dag

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

const (
	maxSource   = 10 << 20  // bytes of a configuration or of a task file
	maxExpanded = 2_000_000 // YAML nodes that aliases may stand for altogether
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
}

// Kinds returns the agent kinds of a released binary.
func Kinds() []string {
	return []string{"claude", "codex", "kimi", "qwen", "opencode", "gemini", KindACP, KindCommand}
}

// Fault is one problem of a configuration: its position (1-based, in characters), the
// problem, and a hint, which may be empty.
type Fault struct {
	File         string
	Line, Column int
	Message      string
	Hint         string
}

// Error returns the fault as "file:line:column: message (hint)".
func (f Fault) Error() string {
	s := fmt.Sprintf("%s:%d:%d: %s", f.File, f.Line, f.Column, f.Message)
	if f.Hint != "" {
		s += " (" + f.Hint + ")"
	}
	return s
}

// Warning is a Fault with which the configuration can still be used.
type Warning = Fault

// Faults is every problem of a configuration, in order of position.
type Faults []Fault

// Error returns one line for each fault.
func (fs Faults) Error() string {
	lines := make([]string, len(fs))
	for i, f := range fs {
		lines[i] = f.Error()
	}
	return strings.Join(lines, "\n")
}

// Parse reads and validates a configuration in one pass. name is the name of the file in
// faults. The error is of type Faults and holds all problems at once; the warnings are
// valid with and without an error. The time is linear in the size of src.
func Parse(name string, src []byte, opts ParseOptions) (*Graph, []Warning, error) {
	if opts.Kinds == nil {
		opts.Kinds = Kinds()
	}
	p := &parser{
		file: name, files: []string{name}, reading: path.Base(name), within: []string{path.Base(name)}, opts: opts,
		seen:     make(map[Fault]bool),
		fileOf:   make(map[*yaml.Node]string),
		tasks:    make(map[string]string),
		agentKey: indexFields(agentFields(opts.Kinds)),
		suggest:  suggester{left: 100_000},
	}
	g := p.parse(src)
	slices.SortFunc(p.faults, p.byPosition)
	slices.SortFunc(p.warnings, p.byPosition)
	if len(p.faults) > 0 {
		return nil, p.warnings, p.faults
	}
	return g, p.warnings, nil
}

type parser struct {
	file       string                // the current file, as faults name it
	reading    string                // the current file, relative to the folder of the configuration
	files      []string              // all files, the configuration first
	within     []string              // the current file and the files that include it
	fileOf     map[*yaml.Node]string // file of each value of an included file
	opts       ParseOptions
	faults     Faults
	warnings   []Warning
	seen       map[Fault]bool    // faults already recorded: the text of an anchor is read once per use
	tasks      map[string]string // task files read so far
	agentKey   *fieldIndex[Node]
	defaults   Node
	sources    []source // of each node of the graph
	suggest    suggester
	cloned     int // bytes of text that matrices have made so far
	multiplied int // values that they have made
}

// source is the origin of a node, for faults found after it was read.
type source struct {
	at          *yaml.Node
	entries     []entry
	combination *combination // of a node of a matrix
	finally     bool         // it is under finally
}

// where returns the value of the named key, or the node itself if the key is missing.
func (s source) where(key string) *yaml.Node {
	if i := slices.IndexFunc(s.entries, func(e entry) bool { return e.name == key }); i >= 0 {
		return s.entries[i].val
	}
	return s.at
}

// has reports whether the node itself sets the key.
func (s source) has(key string) bool { return s.where(key) != s.at }

// unread reports whether the key has a value that the parser refused. The caller knows that
// the field is empty.
func (s source) unread(key string) bool {
	v := behind(s.where(key))
	return s.has(key) && (len(v.Content) > 0 || v.Kind == yaml.ScalarNode && strings.TrimSpace(v.Value) != "")
}

// elements returns the elements of the named list, by their text.
func (s source) elements(key string) map[string]*yaml.Node {
	at := make(map[string]*yaml.Node)
	if v := behind(s.where(key)); v.Kind == yaml.SequenceNode {
		for _, e := range v.Content {
			at[behind(e).Value] = e
		}
	}
	return at
}

func (p *parser) faultAt(line, column int, hint, format string, args ...any) {
	p.record(p.file, line, column, hint, format, args...)
}

func (p *parser) record(file string, line, column int, hint, format string, args ...any) {
	f := Fault{file, line, column, fmt.Sprintf(format, args...), hint}
	if !p.seen[f] {
		p.seen[f] = true
		p.faults = append(p.faults, f)
	}
}

func (p *parser) fault(at *yaml.Node, hint, format string, args ...any) {
	p.record(p.fileAt(at), at.Line, at.Column, hint, format, args...)
}

func (p *parser) warn(at *yaml.Node, hint, format string, args ...any) {
	f := Fault{p.fileAt(at), at.Line, at.Column, fmt.Sprintf(format, args...), hint}
	if !p.seen[f] {
		p.seen[f] = true
		p.warnings = append(p.warnings, f)
	}
}

// parse returns a graph that is complete only if it recorded no fault.
func (p *parser) parse(src []byte) *Graph {
	root := p.root(src)
	if root == nil {
		return nil
	}
	g := &Graph{WorktreeBase: "..", MainPane: true, MaxParallel: 8}
	p.defaults = newNode()
	top := indexFields(p.rootFields())
	known := p.readKeys(g, root, top, func(e entry) string {
		if _, ok := p.agentKey.byName[e.name]; ok {
			return "it belongs to an agent, or to all of them under defaults"
		}
		return p.suggest.near(e.name, top.names)
	})
	for _, f := range top.fields {
		if f.required && !known[f.name] && !(f.name == "agents" && known["include"]) {
			p.fault(root, "write "+f.example, "%q is missing", f.name)
		}
	}
	if known["include"] && !known["agents"] && len(p.faults) == 0 && g.Len() == 0 {
		p.fault(root, "write "+top.byName["agents"].example, "neither this file nor what it includes has an agent")
	}
	p.finallyLast(g)
	p.validate(g)
	if len(p.faults) == 0 {
		if err := g.link(); err != nil {
			p.fault(root, "", "%v", err) // validate has missed something
		}
	}
	return g
}

// root returns the top-level mapping of a file, or nil after a fault.
func (p *parser) root(src []byte) *yaml.Node {
	if len(src) > maxSource {
		p.faultAt(1, 1, "move long tasks to files and name them with task_file",
			"the file has %d bytes; at most %d are read", len(src), maxSource)
		return nil
	}
	if !p.readable(src) {
		return nil
	}
	root := p.document(src)
	if root == nil || !p.aliases(root) {
		return nil
	}
	if root.Kind != yaml.MappingNode {
		p.faultAt(root.Line, root.Column, `write "session: NAME" and "agents:"`, "the file must hold keys and values, not %s", describe(root))
		return nil
	}
	return root
}

// readKeys reads the keys of a file and returns those that have a value. unknown returns a
// hint for an unknown key.
func (p *parser) readKeys(g *Graph, root *yaml.Node, top *fieldIndex[Graph], unknown func(entry) string) map[string]bool {
	var known []entry
	for _, e := range p.entries(root, "the file") {
		if strings.HasPrefix(e.name, "x-") {
			continue
		}
		if _, ok := top.byName[e.name]; ok {
			known = append(known, e)
			continue
		}
		p.fault(e.key, unknown(e), "unknown key %q", e.name)
	}
	have := make(map[string]bool)
	// In the table's order, in which defaults come before agents.
	for _, f := range top.fields {
		if i := slices.IndexFunc(known, func(e entry) bool { return e.name == f.name }); i >= 0 && !isNull(known[i].val) {
			have[f.name] = true
			f.read(p, g, known[i].val)
		}
	}
	return have
}

// readable refuses invalid text, for which YAML would give no position.
func (p *parser) readable(src []byte) bool {
	line, column := 1, 1
	for i := 0; i < len(src); {
		r, size := utf8.DecodeRune(src[i:])
		switch {
		case r == utf8.RuneError && size <= 1:
			p.faultAt(line, column, "save the file as UTF-8", "byte %#02x is not UTF-8", src[i])
			return false
		case r < ' ' && r != '\t' && r != '\n' && r != '\r', r >= 0x7f && r < 0xa0 && r != 0x85, r == 0xfffe, r == 0xffff:
			p.faultAt(line, column, "remove it", "control character %U", r)
			return false
		case r == '\n':
			line, column = line+1, 0
		}
		column++
		i += size
	}
	return true
}

// document returns the root of the only document of src, or nil after a fault.
func (p *parser) document(src []byte) *yaml.Node {
	dec := yaml.NewDecoder(bytes.NewReader(src))
	var docs [2]yaml.Node
	for i := range docs {
		err := dec.Decode(&docs[i])
		if errors.Is(err, io.EOF) && i == 1 {
			break
		}
		if errors.Is(err, io.EOF) {
			p.faultAt(1, 1, "cmux agents init writes one", "the file is empty")
			return nil
		}
		if err != nil {
			p.syntax(src, err.Error())
			return nil
		}
		if i == 1 {
			p.faultAt(docs[1].Line, docs[1].Column, "keep one; remove the --- between them", "the file holds more than one document")
		}
	}
	root := docs[0].Content[0]
	if isNull(root) {
		p.faultAt(root.Line, root.Column, "cmux agents init writes one", "the file is empty")
		return nil
	}
	return root
}

// aliases counts the values that the aliases below root stand for. It refuses an anchor
// that contains itself and an alias bomb. Anchors precede their aliases, so one walk in
// document order knows every size it needs.
func (p *parser) aliases(root *yaml.Node) bool {
	const open = -1
	sizes := make(map[*yaml.Node]int) // of anchored nodes, expanded
	expanded := 0
	var size func(n *yaml.Node) (int, bool)
	size = func(n *yaml.Node) (int, bool) {
		if n.Kind == yaml.AliasNode {
			s := sizes[n.Alias]
			if s == open {
				p.faultAt(n.Line, n.Column, "", "anchor %q contains itself", n.Value)
				return 0, false
			}
			if expanded += s; expanded > maxExpanded {
				p.faultAt(n.Line, n.Column, "use fewer aliases", "the aliases stand for more than %d values", maxExpanded)
				return 0, false
			}
			return s, true
		}
		if n.Anchor != "" {
			sizes[n] = open
		}
		total := 1
		for _, c := range n.Content {
			s, ok := size(c)
			if !ok {
				return 0, false
			}
			total += s
		}
		if n.Anchor != "" {
			sizes[n] = total
		}
		return total, true
	}
	_, ok := size(root)
	return ok
}

type entry struct {
	name     string
	key, val *yaml.Node
}

// entries returns the keys and values of a mapping in order, its own before those that <<
// merges in. what names the mapping in faults.
func (p *parser) entries(n *yaml.Node, what string) []entry {
	m := behind(n)
	if m.Kind != yaml.MappingNode {
		p.fault(n, "write it as key: value", "%s must hold keys and values, not %s", what, describe(n))
		return nil
	}
	out := make([]entry, 0, len(m.Content)/2)
	var merged []*yaml.Node
	var index map[string]int // only for a large mapping
	find := func(name string) int {
		if len(out) < 32 {
			return slices.IndexFunc(out, func(e entry) bool { return e.name == name })
		}
		if index == nil {
			index = make(map[string]int)
		}
		for i := len(index); i < len(out); i++ {
			index[out[i].name] = i
		}
		if i, ok := index[name]; ok {
			return i
		}
		return -1
	}
	for i := 0; i < len(m.Content); i += 2 {
		key, val := m.Content[i], m.Content[i+1]
		k := behind(key)
		if k.Kind != yaml.ScalarNode {
			p.fault(key, "", "a key must be text, not %s", describe(key))
			continue
		}
		if k.ShortTag() == "!!merge" {
			if v := behind(val); v.Kind == yaml.SequenceNode {
				merged = append(merged, v.Content...)
			} else {
				merged = append(merged, val)
			}
			continue
		}
		if first := find(k.Value); first >= 0 {
			p.fault(key, fmt.Sprintf("first on line %d", out[first].key.Line), "key %q appears twice", k.Value)
			continue
		}
		out = append(out, entry{k.Value, key, val})
	}
	for _, n := range merged {
		for _, e := range p.entries(n, "what << merges in") {
			if find(e.name) < 0 {
				out = append(out, e)
			}
		}
	}
	return out
}

// behind returns the target of an alias, or n.
func behind(n *yaml.Node) *yaml.Node {
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	return n
}

func isNull(n *yaml.Node) bool {
	n = behind(n)
	return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null"
}

// describe returns the type of a value in words, for faults.
func describe(n *yaml.Node) string {
	n = behind(n)
	switch n.Kind {
	case yaml.SequenceNode:
		return "a list"
	case yaml.MappingNode:
		return "keys and values"
	}
	switch n.ShortTag() {
	case "!!null":
		return "nothing"
	case "!!bool", "!!int", "!!float":
		return n.Value
	case "!!str", "!!timestamp":
		return strconv.Quote(shorten(n.Value))
	}
	return "a value tagged " + n.ShortTag()
}

func shorten(s string) string {
	if r := []rune(s); len(r) > 60 {
		return string(r[:57]) + "..."
	}
	return s
}

// The readers below return false after recording a fault.

// text reads a scalar as it is written; numbers and dates count as text.
func (p *parser) text(key string, n *yaml.Node) (string, bool) {
	v := behind(n)
	if v.Kind == yaml.ScalarNode {
		switch v.ShortTag() {
		case "!!str", "!!int", "!!float", "!!timestamp":
			return v.Value, p.clean(key, n, v.Value)
		case "!!bool":
			p.fault(n, fmt.Sprintf("write %q in quotes if it is meant", v.Value), "%s must be text, not %s", key, v.Value)
			return "", false
		}
	}
	p.fault(n, "", "%s must be text, not %s", key, describe(n))
	return "", false
}

// clean refuses what no argument, environment variable or file name can hold.
func (p *parser) clean(key string, n *yaml.Node, s string) bool {
	if strings.ContainsRune(s, 0) {
		p.fault(n, "remove it", "%s contains a NUL byte", key)
		return false
	}
	if !utf8.ValidString(s) {
		p.fault(n, "save it as UTF-8", "%s is not UTF-8", key)
		return false
	}
	return true
}

func (p *parser) flag(key string, n *yaml.Node) (bool, bool) {
	v := behind(n)
	if v.Kind == yaml.ScalarNode && v.ShortTag() == "!!bool" {
		var b bool
		if v.Decode(&b) == nil {
			return b, true
		}
	}
	p.fault(n, "", "%s must be true or false, not %s", key, describe(n))
	return false, false
}

func (p *parser) count(key string, n *yaml.Node, least int64) (int64, bool) {
	v := behind(n)
	if v.Kind == yaml.ScalarNode && v.ShortTag() == "!!int" {
		var i int64
		if v.Decode(&i) != nil || int64(int(i)) != i {
			p.fault(n, "", "%s: %s is too large", key, v.Value)
			return 0, false
		}
		if i < least {
			p.fault(n, "", "%s must be at least %d, not %d", key, least, i)
			return 0, false
		}
		return i, true
	}
	p.fault(n, "", "%s must be a whole number, not %s", key, describe(n))
	return 0, false
}

func (p *parser) duration(key string, n *yaml.Node, positive bool) (Duration, bool) {
	v := behind(n)
	if v.Kind != yaml.ScalarNode || v.ShortTag() == "!!bool" || v.ShortTag() == "!!null" {
		p.fault(n, "", "%s must be a duration such as 90s or 1h30m, not %s", key, describe(n))
		return 0, false
	}
	d, err := time.ParseDuration(v.Value)
	if err != nil {
		hint := "units are ms, s, m and h"
		if _, err := strconv.ParseUint(v.Value, 10, 63); err == nil {
			hint = fmt.Sprintf("give a unit: %ss, %sm or %sh", v.Value, v.Value, v.Value)
		}
		p.fault(n, hint, "%s must be a duration such as 90s or 1h30m, not %s", key, describe(n))
		return 0, false
	}
	if d < 0 || d == 0 && positive {
		p.fault(n, "", "%s must be more than 0, not %s", key, v.Value)
		return 0, false
	}
	return Duration(d), true
}

// texts reads a list of text or one text. It passes each text with its position to check,
// which may be nil. With split it also splits a string at its commas.
func (p *parser) texts(key string, n *yaml.Node, split bool, check textCheck) ([]string, bool) {
	v := behind(n)
	items := []*yaml.Node{n}
	if v.Kind == yaml.SequenceNode {
		items = v.Content
	} else if v.Kind != yaml.ScalarNode {
		p.fault(n, "", "%s must be a list of text, not %s", key, describe(n))
		return nil, false
	}
	var out []string
	good := true
	for _, item := range items {
		s, ok := p.text(key, item)
		if !ok {
			good = false
			continue
		}
		parts := []string{s}
		if split && v.Kind == yaml.ScalarNode {
			parts = strings.Split(s, ",")
			for i := range parts {
				parts[i] = strings.TrimSpace(parts[i])
			}
		}
		for _, s := range parts {
			if strings.TrimSpace(s) == "" {
				p.fault(item, "remove it", "%s holds an empty string", key)
				good = false
				continue
			}
			if check != nil && !check(p, key, item, s) {
				good = false
			}
			out = append(out, s)
		}
	}
	return out, good
}
