package dag

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

const maxIncluded = 200 // files

// Included is a file that a configuration takes agents from.
type Included struct {
	Path string `json:"path"` // relative to the folder of the configuration
	Sum  string `json:"sum"`  // sha256 of its content
}

// readInclude reads the agents of other files and puts them before the agents of the file
// that includes them.
func (p *parser) readInclude(g *Graph, n *yaml.Node) {
	p.texts("include", n, false, func(_ *parser, _ string, at *yaml.Node, s string) bool {
		if !oneLine(p, "include", at, s) {
			return false
		}
		if path.IsAbs(s) || strings.HasPrefix(s, "~") {
			p.fault(at, "write it relative to this file", "include %q is absolute", shorten(s))
			return false
		}
		return p.include(g, at, path.Join(path.Dir(p.reading), s))
	})
}

// include reads the file that at names; name is its path relative to the folder of the
// configuration.
func (p *parser) include(g *Graph, at *yaml.Node, name string) bool {
	if i := slices.Index(p.within, name); i >= 0 {
		p.fault(at, "remove one of them", "cycle: %s -> %s", strings.Join(p.within[i:], " -> "), name)
		return false
	}
	if slices.ContainsFunc(g.Included, func(f Included) bool { return f.Path == name }) {
		p.fault(at, "remove one", "%s is included twice", name)
		return false
	}
	if len(g.Included) == maxIncluded {
		p.fault(at, "put several files together", "more than %d files are included", maxIncluded)
		return false
	}
	if p.opts.ReadFile == nil {
		p.fault(at, "write its agents here", "include cannot be used here")
		return false
	}
	src, err := p.opts.ReadFile(name)
	if err != nil {
		p.fault(at, "", "include: %v", err)
		return false
	}
	sum := sha256.Sum256(src)
	g.Included = append(g.Included, Included{name, hex.EncodeToString(sum[:])})

	file, reading, defaults, good := p.file, p.reading, p.defaults, len(p.faults)
	p.file, p.reading = path.Join(path.Dir(p.files[0]), name), name
	p.files, p.within = append(p.files, p.file), append(p.within, name)
	if root := p.root(src); root != nil {
		p.inFile(root)
		p.readIncluded(g, root)
	}
	p.file, p.reading, p.defaults, p.within = file, reading, defaults, p.within[:len(p.within)-1]
	return len(p.faults) == good
}

// readIncluded reads the keys of an included file: those about agents.
func (p *parser) readIncluded(g *Graph, root *yaml.Node) {
	var fields []field[Graph]
	var names []string
	for _, f := range p.rootFields() {
		if f.included {
			fields = append(fields, f)
			names = append(names, f.name)
		}
	}
	p.readKeys(g, root, indexFields(fields), func(e entry) string {
		if slices.ContainsFunc(p.rootFields(), func(f field[Graph]) bool { return f.name == e.name }) {
			return "it belongs to " + p.files[0] + "; an included file has " + strings.Join(names, ", ")
		}
		return p.suggest.near(e.name, names)
	})
}

// inFile records the current file for n and everything below it.
func (p *parser) inFile(n *yaml.Node) {
	p.fileOf[n] = p.file
	for _, c := range n.Content {
		p.inFile(c)
	}
}

// fileAt returns the file of a value.
func (p *parser) fileAt(n *yaml.Node) string {
	if file, ok := p.fileOf[n]; ok {
		return file
	}
	return p.files[0]
}

// firstAt returns a hint with the position of the first of two equal things.
func (p *parser) firstAt(first, again *yaml.Node) string {
	hint := fmt.Sprintf("first on line %d", first.Line)
	if file := p.fileAt(first); file != p.fileAt(again) {
		hint += " of " + file
	}
	return hint
}

// byPosition orders faults by file, in the order of reading, then by position.
func (p *parser) byPosition(a, b Fault) int {
	return cmp.Or(slices.Index(p.files, a.File)-slices.Index(p.files, b.File), a.Line-b.Line, a.Column-b.Column, strings.Compare(a.Message, b.Message))
}
