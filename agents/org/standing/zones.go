package standing

import (
	"path"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
	"gopkg.in/yaml.v3"

	"cmux/agents/runs/run"
)

// zoneKeys are the keys below zones.
func zoneKeys(z *run.Zones) []configKey {
	list := func(name, doc string, to *[]string) configKey {
		return configKey{name: name, doc: doc, schema: map[string]any{"type": "array", "items": map[string]any{"type": "string"}},
			read: func(p *configParser, n *yaml.Node) { *to = p.patterns(n, "zones."+name) }}
	}
	return []configKey{
		list("forbidden", "No agent edits these with its tools; a shell is not watched.", &z.Forbidden),
		list("careful", "An agent that edits these is told to take care.", &z.Careful),
		list("safe", "An agent may edit these without being asked.", &z.Safe),
	}
}

// patterns reads patterns of files in the project, as those of a scope.
func (p *configParser) patterns(n *yaml.Node, key string) (all []string) {
	if n.Kind != yaml.SequenceNode {
		p.fault(n, "write it as [a/, \"b/*.go\"]", "%s must be a list of files, folders and globs", key)
		return nil
	}
	for _, item := range n.Content {
		s := p.text(item, "an item of "+key)
		clean := path.Clean(s)
		switch {
		case s == "":
		case path.IsAbs(s) || clean == ".." || strings.HasPrefix(clean, "../"):
			p.fault(item, "write it from the project's root", "%s: %q lies outside the project", key, s)
		case !doublestar.ValidatePattern(s):
			p.fault(item, "", "%s: %q is no pattern", key, s)
		default:
			all = append(all, s)
		}
	}
	return all
}
