package grant

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"cmux/agents/kinds/guard/places"
)

// Shows grants a look at files outside of the agent's directory that are no secret to
// it: what git tracks in the project's checkout, what the system shows to all of its
// users, the agent's own temporary files; and to who leads, the work in agents'
// worktrees: those that git lists for this repository, and no other folder whose path
// begins as theirs do.
func (g *Giver) Shows(dir string, paths []string) bool {
	if g.Machine == nil || len(paths) == 0 {
		return false
	}
	var trees []string
	for _, p := range paths {
		abs := p
		if !filepath.IsAbs(abs) {
			abs = filepath.Join(dir, p)
		}
		clean, err := g.Resolved(filepath.Clean(abs))
		r, err2 := g.Resolved(abs)
		if err != nil || err2 != nil || r != clean || strings.ContainsAny(p, "*?[{") {
			return false
		}
		switch s := g.SpotOf(r); {
		case s.Whose == places.Peers:
			if !g.Leads || s.State != "" || places.Odd(s.Rel) {
				return false
			}
			if trees == nil {
				trees = g.worktrees()
			}
			if !slices.ContainsFunc(trees, func(t string) bool { _, in := places.Inside(t, r); return in }) {
				return false
			}
		case s.Whose == places.Persons:
			if s.State != "" || !g.tracked(r) {
				return false
			}
		case s.Whose != places.Nobodys || !g.shown(r):
			return false
		}
	}
	return true
}

// tracked reports whether a file of the project's checkout is one that git tracks, and
// so every worktree holds, or the graph of agents, which may wait for its first commit.
// What is not there shows nothing.
func (g *Giver) tracked(path string) bool {
	rel, in := places.Inside(g.RootDir, path)
	if !in || rel == "." {
		return false
	}
	if rel == ".cmux-agents.yml" || !g.Machine.Exists(path) {
		return true
	}
	out, err := g.Machine.Git("", append(quiet[:len(quiet):len(quiet)], "-C", g.RootDir, "--literal-pathspecs", "ls-files", "-z", "--", rel)...)
	return err == nil && out == rel+"\x00"
}

// system are the folders in which a system keeps what is its own.
var system = []string{"/etc", "/usr", "/opt", "/sys", "/Library", "/System", "/private/etc"}

// own is a file in a folder that mktemp -d made.
var own = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^tmp\.[A-Za-z0-9]{6,}/.`) })

// shown reports whether a file outside of the project may be looked at by everybody on
// the machine and lies where the system keeps its own, or is a temporary one: the agent's
// own, or not there.
func (g *Giver) shown(path string) bool {
	if slices.ContainsFunc(system, func(dir string) bool { _, in := places.Inside(dir, path); return in }) {
		return g.Machine.Public(path)
	}
	for _, dir := range []string{"/tmp", g.Machine.Env("TMPDIR")} {
		if r, err := g.Resolved(dir); dir != "" && err == nil {
			if rel, in := places.Inside(r, path); in && (own().MatchString(rel) || !strings.Contains(rel, "/") && (g.Machine.Public(path) || !g.Machine.Exists(path))) {
				return true
			}
		}
	}
	return false
}

// worktrees are the folders of the repository's worktrees that git finds where they
// were made, resolved.
func (g *Giver) worktrees() (all []string) {
	out, err := g.Machine.Git("", append(quiet[:len(quiet):len(quiet)], "worktree", "list", "--porcelain")...)
	if err != nil {
		return nil
	}
	for i, about := range strings.Split(strings.TrimSpace(out), "\n\n") {
		first, rest, _ := strings.Cut(about, "\n")
		path, ok := strings.CutPrefix(first, "worktree ")
		if !ok || i == 0 || strings.Contains("\n"+rest, "\nprunable") {
			continue // the first one is the person's
		}
		if r, err := g.Resolved(path); err == nil && r == filepath.Clean(path) {
			all = append(all, r)
		}
	}
	return all
}
