package places

import (
	"path/filepath"
	"slices"
	"strings"

	"cmux/dag"
)

// A supervisor leads and writes no code: it keeps the journal, the roles and what
// is to be remembered, by tool or shell; everything else is judged as a review's.

// ledgers are what a supervisor writes: files and folders, from the project's
// root. What grants power is none of them: config.yml, tokens, records, markers.
var ledgers = []struct {
	path   string
	folder bool
}{
	{".cmux/journal", true}, {".cmux/roles", true}, {".cmux/graphs", true}, {".cmux/worker-contexts", true},
	{"MEMORY.md", false}, {"reflection.md", false}, {"memory", true},
}

// A Ledger is a file or a folder that a supervisor writes, from the project's root.
type Ledger struct {
	Path   string
	Folder bool
}

// Ledgers lists what a supervisor writes.
func Ledgers() (all []Ledger) {
	for _, l := range ledgers {
		all = append(all, Ledger{l.path, l.folder})
	}
	return all
}

// leadsOnly ends the refusals of a supervisor.
const leadsOnly = " is refused: a supervisor leads and changes no files of the project. Give it to a worker: cmux tasks add \"title\" \"what to do\", then cmux tasks assign ID NAME. You write .cmux/journal, .cmux/roles, .cmux/graphs, .cmux/worker-contexts, MEMORY.md, memory/ and reflection.md"

// ReadsOnly reports whether the agent changes nothing of the project.
func (g *Places) ReadsOnly() bool { return g.Role == dag.RoleReview || g.Leads }

// ChangesNothing ends the refusals of who changes nothing.
func (g *Places) ChangesNothing() string {
	if g.Leads {
		return leadsOnly
	}
	return ChangesNothing
}

// Keeps reports whether a resolved path is a supervisor's to write. whole says
// that the folder goes with all that is in it, which is more than writing there.
func (g *Places) Keeps(path string, whole bool) bool {
	rel, ok := Inside(g.RootDir, path)
	if !ok {
		rel, ok = Inside(g.TreeDir, path)
	}
	// Braces make several names of one, of which some may leave the folder.
	if !ok || Odd(rel) || strings.ContainsAny(rel, "{}") {
		return false
	}
	parts := strings.Split(rel, "/")
	if slices.Contains(parts[1:], ".cmux") || slices.ContainsFunc(parts, func(p string) bool { return Matches(p, ".git") }) {
		return false
	}
	for _, l := range ledgers {
		if below := strings.HasPrefix(rel, l.path+"/"); l.folder && below || rel == l.path && !(l.folder && whole) {
			return true
		}
	}
	return false
}

// LeadsFrom is the project outside of the root that the agent leads and in which
// a resolved path lies; empty: none.
func (g *Places) LeadsFrom(path string) string {
	for _, led := range g.led {
		if _, in := Inside(led, path); in {
			return led
		}
	}
	return ""
}

// Above reports whether the project, its worktree or one that is led lies in what
// a path names.
func (g *Places) Above(path string) bool {
	return Holds(path, g.RootDir) || Holds(path, g.TreeDir) ||
		slices.ContainsFunc(g.led, func(led string) bool { return Holds(path, led) })
}

// LeadsAt judges a place that a supervisor is about to write; ok says that this
// settles it.
func (g *Places) LeadsAt(name string, s Spot, whole bool) (reason string, settled bool) {
	switch {
	case !g.Leads || g.OrdersAt(s.Path, true):
		return "", false
	case g.Keeps(s.Path, whole):
		if g.Linked != nil && g.Linked(s.Path) {
			return name + " is refused: the file has another name too, under which it may be code. Write a new file beside it, or remove this name first: rm FILE", true
		}
		return "", true
	case g.LeadsFrom(s.Path) != "":
		return name + leadsOnly, true
	case s.Whose == Nobodys || s.State != "" && s.State != ".cmux":
		return "", false
	}
	return name + leadsOnly, true
}

// Wheres are the places that a path may mean, resolved: the link itself, and what
// it leads to.
func (g *Places) Wheres(dir, path string) (all []string, ok bool) {
	abs := path
	if !filepath.IsAbs(abs) {
		if dir == "" {
			return nil, false
		}
		abs = dir + string(filepath.Separator) + path
	}
	if path == "" || strings.ContainsRune(path, 0) {
		return nil, false
	}
	clean := filepath.Clean(abs)
	parent, err := g.Resolved(filepath.Dir(clean))
	if err != nil {
		return nil, false
	}
	all = append(all, filepath.Join(parent, filepath.Base(clean)))
	for _, p := range []string{abs, clean} {
		r, err := g.Resolved(p)
		if err != nil {
			return nil, false
		}
		all = append(all, r)
	}
	return all, true
}

// ChangesNothing ends the refusals of a review.
const ChangesNothing = " is refused: you change nothing in this task. Write what you need for yourself in a directory of `mktemp -d`, and describe changes in your summary"
