package grant

import (
	"path/filepath"
	"slices"
	"strings"

	"cmux/agents/kinds/guard/places"
	"cmux/dag"
)

// there is the machine as it is in another worktree.
type there struct {
	places.Machine
	tree string
}

// Git implements Machine: it runs git in that worktree.
func (t there) Git(stdin string, args ...string) (string, error) {
	return t.Machine.Git(stdin, append([]string{"-C", t.tree}, args...)...)
}

// visits returns a voucher for a worktree of the agents whom the agent leads: of what is
// done there it vouches for what it would for one who reviews that work. Nil: the folder
// is none.
func (v *voucher) visits(tree string) *voucher {
	if !v.Leads || !filepath.IsAbs(tree) || filepath.Clean(tree) != tree || v.SpotOf(tree).Whose != places.Peers || !slices.Contains(v.worktrees(), tree) {
		return nil
	}
	return Of(places.Of(places.Policy{
		Role: dag.RoleReview, Root: v.Root, Tree: tree, Private: v.Private, Mine: v.Mine, Beside: v.Beside,
		Resolve: v.Resolve, Linked: v.Linked, Machine: there{v.Machine, tree},
	})).vouching(tree, true)
}

// looks vouches for a command of who leads that shows something of the worktrees of its
// agents: git -C WORKTREE, or a program whose files all lie in some of them or in its own
// folder, by their whole names or from where the shell stands.
func (v *voucher) looks(c command) bool {
	if !v.Leads || v.checked || v.changed || v.recorded || len(c.words) < 2 || c.direct || c.here || c.to != "" {
		return false
	}
	if words := c.words; words[0].text == "git" && len(words) > 3 && words[1].text == "-C" && !words[1].here && !words[2].here {
		at := v.visits(v.wholeName(words[2].text))
		return at != nil && at.prints(slices.Concat(words[:1], words[3:]))
	}
	return slices.ContainsFunc(forms, func(f *form) bool {
		m, ok := f.match(c.words)
		files := slices.Concat(m["PATH"], m["BELOW"])
		return ok && f.effect == prints && f.program() != "git" && len(files) > 0 && !slices.ContainsFunc(files, func(name string) bool {
			at := v.visitsAt(name)
			if at == nil && !strings.Contains(name, "..") {
				at = v
			}
			return at == nil || !at.vouches(f, match{f.args: {v.wholeName(name)}})
		})
	})
}

// looksOn vouches for a text of who leads that goes to a worktree of its agents and
// shows something there.
func (v *voucher) looksOn(commands []command) bool {
	if first := commands[0]; len(commands) < 2 || len(first.words) != 2 {
		return false
	}
	at := v.visits(commands[0].words[1].text)
	if at == nil {
		return false
	}
	at.dir, at.placed = v.dir, v.placed
	to, ok := at.goesHome(commands)
	at.dir, at.placed = to, true
	return ok && !slices.ContainsFunc(commands[1:], func(c command) bool { return c.looped || c.to != "" || !at.prints(c.words) })
}

// prints vouches for words that only show something.
func (v *voucher) prints(words []lexeme) bool {
	return slices.ContainsFunc(forms, func(f *form) bool {
		m, ok := f.match(words)
		return ok && f.effect == prints && f.words != "sleep" && v.vouches(f, m)
	})
}

// wholeName is a path from the root, also of one that leads up from where the shell stands.
func (s site) wholeName(name string) string {
	if s.placed && strings.HasPrefix(name, "../") && filepath.Clean(name) == name {
		return filepath.Join(s.dir, name)
	}
	return name
}

// visitsAt is visits for the worktree in which a file lies.
func (v *voucher) visitsAt(name string) *voucher {
	if name = filepath.Clean(v.wholeName(name)); !filepath.IsAbs(name) {
		return nil
	}
	for _, tree := range v.worktrees() {
		if _, in := places.Inside(tree, name); in {
			return v.visits(tree)
		}
	}
	return nil
}
