package dag

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"cmux/dag/keys"
)

const maxIncluded = 200 // files

// Included is a file that a configuration takes agents from.
type Included struct {
	Path string `json:"path"` // relative to the folder of the configuration
	Sum  string `json:"sum"`  // sha256 of its content
}

// readInclude reads the agents of other files and puts them before the agents of the file
// that includes them.
func (p *parser) readInclude(g *Graph, n *yaml.Node) bool {
	_, ok := p.Texts("include", n, false, func(_ *keys.Reader, _ string, at *yaml.Node, s string) bool {
		if !keys.OneLine(p.Reader, "include", at, s) {
			return false
		}
		if path.IsAbs(s) || strings.HasPrefix(s, "~") {
			p.Fault(at, "write it relative to this file", "include %q is absolute", keys.Shorten(s))
			return false
		}
		return p.include(g, at, path.Join(path.Dir(p.reading), s))
	})
	return ok
}

// include reads the file that at names; name is its path relative to the folder of the
// configuration.
func (p *parser) include(g *Graph, at *yaml.Node, name string) bool {
	if i := slices.Index(p.within, name); i >= 0 {
		p.Fault(at, "remove one of them", "cycle: %s -> %s", strings.Join(p.within[i:], " -> "), name)
		return false
	}
	if slices.ContainsFunc(g.Included, func(f Included) bool { return f.Path == name }) {
		p.Fault(at, "remove one", "%s is included twice", name)
		return false
	}
	if len(g.Included) == maxIncluded {
		p.Fault(at, "put several files together", "more than %d files are included", maxIncluded)
		return false
	}
	if p.opts.ReadFile == nil {
		p.Fault(at, "write its agents here", "include cannot be used here")
		return false
	}
	src, err := p.opts.ReadFile(name)
	if err != nil {
		p.Fault(at, "", "include: %v", err)
		return false
	}
	sum := sha256.Sum256(src)
	g.Included = append(g.Included, Included{name, hex.EncodeToString(sum[:])})

	reading, defaults, good := p.reading, p.defaults, len(p.Faults)
	p.reading, p.within = name, append(p.within, name)
	p.Include(path.Join(path.Dir(p.File()), name), src, func(root *yaml.Node) { p.readIncluded(g, root) })
	p.reading, p.defaults, p.within = reading, defaults, p.within[:len(p.within)-1]
	return len(p.Faults) == good
}

// readIncluded reads the keys of an included file: those about agents.
func (p *parser) readIncluded(g *Graph, root *yaml.Node) {
	fields := p.rootFields()
	all := keys.NewTable(fields)
	some := keys.NewTable(slices.DeleteFunc(slices.Clone(fields), func(f keys.Field[Graph]) bool {
		return !slices.Contains([]string{"defaults", "include", "agents", "finally"}, f.Name)
	}))
	some.ReadRoot(p.Reader, g, root, func(e keys.Entry) string {
		if all.Of(e.Name) != nil {
			return "it belongs to " + p.File() + "; an included file has " + strings.Join(some.Names, ", ")
		}
		return p.Near(e.Name, some.Names)
	})
}

// firstAt returns a hint with the position of the first of two equal things.
func (p *parser) firstAt(first, again *yaml.Node) string {
	hint := fmt.Sprintf("first on line %d", first.Line)
	if file := p.FileAt(first); file != p.FileAt(again) {
		hint += " of " + file
	}
	return hint
}
