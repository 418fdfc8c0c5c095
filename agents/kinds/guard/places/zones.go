package places

import (
	"fmt"
	"path"
	"strings"

	"cmux/dag/scopes"
)

// Zones are parts of the project, as patterns of a scope, by how much is at
// stake. Where a path lies in several, forbidden stands above careful, and
// careful above safe.
type Zones struct {
	Forbidden []string // no agent changes them
	Careful   []string // an agent that changes them is told so; cmux grants nothing there
	Safe      []string // changes by a tool that writes files are granted
}

type zone uint8

const (
	noZone zone = iota
	Safe
	Careful
	Forbidden
)

// ZoneAt is the zone of a place of the agent's own, and the pattern that says so.
func (g *Places) ZoneAt(s Spot) (zone, string) {
	if s.Whose != Own {
		return noZone, ""
	}
	for _, z := range []struct {
		zone     zone
		patterns []string
	}{{Forbidden, g.Zones.Forbidden}, {Careful, g.Zones.Careful}, {Safe, g.Zones.Safe}} {
		for _, p := range z.patterns {
			// A file system that takes another case for the same name is no way in.
			if scopes.In([]string{p}, s.Rel) || z.zone != Safe && scopes.In([]string{strings.ToLower(p)}, strings.ToLower(s.Rel)) {
				return z.zone, p
			}
		}
	}
	return noZone, ""
}

// Forbids says why a place is not to be written. whole says that all below it
// goes with it.
func (g *Places) Forbids(name string, s Spot, whole bool) string {
	if z, p := g.ZoneAt(s); z == Forbidden {
		return inForbidden(name, p)
	}
	if !whole || s.Whose != Own {
		return ""
	}
	for _, p := range g.Zones.Forbidden {
		fixed, _, _ := strings.Cut(p, "*")
		if i := strings.IndexAny(fixed, `?[{\`); i >= 0 {
			fixed = fixed[:i]
		}
		if len(fixed) < len(p) {
			fixed = fixed[:strings.LastIndex(fixed, "/")+1]
		}
		if fixed = path.Clean("/" + fixed); s.Rel == "." || fixed != "/" && Holds("/"+s.Rel, fixed) {
			return inForbidden(name, p)
		}
	}
	return ""
}

func inForbidden(name, pattern string) string {
	return fmt.Sprintf("%s is refused: it is in a forbidden zone (%s) of .cmux/config.yml, which only a person changes. Do the task without changing it. If that cannot be done, report `blocked` and say what should change there, and why", name, pattern)
}

// Care is what an agent is told that is about to write these files; empty: none
// of them is in a careful zone.
func (g *Places) Care(dir string, paths []string) string {
	for _, p := range paths {
		spots := []Spot{g.Written(dir, p)}
		all, _ := g.Wheres(dir, p)
		for _, at := range all {
			spots = append(spots, g.SpotOf(at))
		}
		for _, at := range spots {
			if z, pattern := g.ZoneAt(at); z == Careful {
				return fmt.Sprintf("%s is in a careful zone (%s) of .cmux/config.yml: much depends on it. Change no more than the task needs, run the tests, and name the change in your summary.", p, pattern)
			}
		}
	}
	return ""
}
