package guard

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"cmux/dag"
)

// Places is a Policy with its folders resolved.
type Places struct {
	Policy
	home        string // where the node works, as given
	root, tree  string // resolved; tree is root when the node has none
	begin       string // where its program begins, as given
	work        string // begin, resolved
	peers       []string
	private     []string // resolved, and as given
	mine        []string // likewise
	beside      []string // likewise
	led         []string // likewise
	hasOwnPlace bool
}

func newPlaces(p Policy) *Places {
	g := &Places{Policy: p, home: p.Tree, hasOwnPlace: p.Tree != ""}
	if g.home == "" {
		g.home = p.Root
	}
	// A folder that cannot be resolved is taken as it is written.
	resolved := func(path string) string {
		if r, err := g.resolve(path); err == nil {
			return r
		}
		return filepath.Clean(path)
	}
	g.root, g.tree = resolved(p.Root), resolved(g.home)
	g.begin, g.work = g.home, g.tree
	if p.Dir != "" {
		g.begin, g.work = p.Dir, resolved(p.Dir)
	}
	for _, q := range p.Peers {
		if r := resolved(q); r != g.tree {
			g.peers = append(g.peers, r)
		}
	}
	both := func(q string) []string {
		if clean := filepath.Clean(q); resolved(q) == clean {
			return []string{clean}
		}
		return []string{filepath.Clean(q), resolved(q)}
	}
	for _, q := range p.Private {
		g.private = append(g.private, both(q)...)
	}
	for _, q := range p.Mine {
		g.mine = append(g.mine, both(q)...)
	}
	if p.Led != "" {
		for _, dir := range both(p.Led) { // worktrees of its workers lie beside it
			g.led, g.beside = append(g.led, dir), append(g.beside, dir+"-")
		}
	}
	if p.Beside != "" {
		for _, dir := range both(filepath.Dir(p.Beside)) {
			g.beside = append(g.beside, filepath.Join(dir, filepath.Base(p.Beside)))
		}
	}
	return g
}

func (g *Places) resolve(path string) (string, error) {
	if g.Resolve == nil {
		return filepath.Clean(path), nil
	}
	r, err := g.Resolve(path)
	return filepath.Clean(r), err
}

// whose says whom a place belongs to.
type whose uint8

const (
	nobodys whose = iota // outside of the project
	own
	persons
	peers
)

// spot is a place on disk as the policy sees it.
type spot struct {
	path  string
	whose whose
	rel   string // to the folder it belongs to, with slashes
	state string // ".cmux" or ".git" when it lies in one
}

// spotOf places a resolved absolute path.
func (g *Places) spotOf(path string) spot {
	s := spot{path: path}
	try := func(base string, w whose) bool {
		rel, ok := inside(base, path)
		if ok {
			s.whose, s.rel, s.state = w, rel, stateOf(rel)
		}
		return ok
	}
	if _, below := inside(g.tree, g.root); below && g.tree != g.root && try(g.root, persons) {
		return s // the folder that the agent shares holds the project
	}
	if try(g.tree, own) {
		return s
	}
	for _, p := range g.peers {
		if try(p, peers) {
			return s
		}
	}
	if try(g.root, persons) {
		return s
	}
	for _, p := range g.led {
		if try(p, persons) {
			return s
		}
	}
	for _, p := range g.beside {
		if rest, ok := strings.CutPrefix(path, p); ok && rest != "" && rest[0] != filepath.Separator {
			name, _, _ := strings.Cut(rest, string(filepath.Separator))
			try(p+name, peers)
		}
	}
	return s
}

// inside is path relative to base, with slashes, when it lies in it.
func inside(base, path string) (string, bool) {
	rel, err := filepath.Rel(base, path)
	if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return "", false
	}
	return filepath.ToSlash(rel), true
}

// stateOf names the folder of state that rel lies in. Case does not count: on
// some file systems .GIT is .git. A name may be a pattern of the shell.
func stateOf(rel string) string {
	for i, name := range strings.Split(rel, "/") {
		if i == 0 && matches(name, ".cmux") {
			return ".cmux"
		}
		if matches(name, ".git") {
			return ".git"
		}
	}
	return ""
}

func matches(pattern, name string) bool {
	if strings.EqualFold(pattern, name) {
		return true
	}
	// A shell's pattern matches a name with a leading dot only by a dot.
	if !strings.HasPrefix(pattern, ".") || !strings.ContainsAny(pattern, "*?[") {
		return false
	}
	ok, err := filepath.Match(pattern, name)
	return err == nil && ok
}

// mayWrite judges a file that a write tool is about to write; an empty reason
// allows it. A tool may clean the path before it follows links, or leave that
// to the system, which follows a link before a "..": both must be allowed.
func (g *Places) mayWrite(dir, path string) string {
	abs := path
	if !filepath.IsAbs(abs) {
		abs = dir + string(filepath.Separator) + path
	}
	if strings.ContainsRune(path, 0) {
		return fmt.Sprintf("%q is no file name.", path)
	}
	if reason := g.keepsOut(dir, path, true); reason != "" {
		return reason
	}
	at := g.written(dir, path)
	if g.ordersAt(at.path, true) {
		return givesOrders(path)
	}
	if reason := g.forbids(path, at, false); reason != "" {
		return reason
	}
	for _, abs := range []string{abs, filepath.Clean(abs)} {
		r, err := g.resolve(abs)
		if err != nil {
			return fmt.Sprintf("%s is refused: where it lies cannot be told (%v). Name the file by its path in %s.", path, err, g.home)
		}
		if reason := g.mayWriteAt(path, g.spotOf(r)); reason != "" {
			return reason
		}
	}
	return ""
}

// written is the place of a path as it is written, whatever its links lead to: a
// folder that is a link lends its name to what is in another one, and a program that
// looks for the name finds that. Only what counts by its name is asked of it.
func (g *Places) written(dir, path string) spot {
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	path = filepath.Clean(path)
	for _, base := range []string{g.tree, g.home} {
		if rel, ok := inside(base, path); ok {
			return spot{path: filepath.Join(g.tree, rel), whose: own, rel: rel}
		}
	}
	return spot{path: path, rel: strings.Trim(filepath.ToSlash(path), "/")}
}

// lent are the paths by which else a place is found: through links at the top of the
// worktree of names that programs look for.
func (g *Places) lent(at string) (paths []string) {
	if g.Machine == nil {
		return nil
	}
	names, _ := g.Machine.Names(g.tree)
	for _, name := range names {
		link := filepath.Join(g.tree, name)
		if !obeyed(name) {
			continue
		}
		if to, err := g.resolve(link); err == nil && to != link {
			if rel, ok := inside(to, at); ok {
				paths = append(paths, filepath.Join(link, rel))
			}
		}
	}
	return paths
}

func (g *Places) mayWriteAt(path string, s spot) string {
	name := path
	if filepath.IsAbs(path) && filepath.Clean(path) != s.path {
		name += " (which is " + s.path + ")"
	}
	if reason, settled := g.leadsAt(name, s, true); settled {
		return reason
	}
	switch {
	case s.state != "":
		return inState(name, s.state)
	case g.ordersAt(s.path, true), slices.ContainsFunc(g.lent(s.path), func(at string) bool { return g.ordersAt(at, true) }):
		return givesOrders(name)
	case s.whose == persons:
		return fmt.Sprintf("%s is refused: it lies in the project's own checkout, not in your directory. Write the same file in %s.", name, g.home)
	case s.whose == peers:
		return fmt.Sprintf("%s is refused: it lies in another agent's worktree. Write in %s only.", name, g.home)
	case s.whose == nobodys:
		return fmt.Sprintf("%s is refused: it lies outside your directory. Write in %s only. What you need for yourself alone can be made by the shell in a directory of `mktemp -d`.", name, g.home)
	}
	if reason := g.forbids(name, s, false); reason != "" {
		return reason
	}
	switch {
	case len(g.Scope) > 0 && !dag.InScope(g.Scope, s.rel):
		return fmt.Sprintf("%s is refused: it is outside your scope (%s). Do the task within the scope. If that cannot be done, report `blocked` and say why %s must change", name, strings.Join(dag.Unescaped(g.Scope), ", "), s.rel)
	case len(g.Scope) == 0 && dag.InScope(g.Context, s.rel):
		return fmt.Sprintf("%s is refused: you may read but not change %s. Do the task without changing it. If that cannot be done, report `blocked` and say why %s must change", name, strings.Join(dag.Unescaped(g.Context), ", "), s.rel)
	}
	return g.linkedElsewhere(name, s)
}

// linkedElsewhere refuses to write into a file that has another name: that one may
// be anybody's.
func (g *Places) linkedElsewhere(name string, s spot) string {
	if s.whose != own || g.Linked == nil || !g.Linked(s.path) {
		return ""
	}
	return name + " is refused: the file has another name (a hard link), perhaps outside your directory. Replace it by a copy first: cp -p FILE COPY && mv COPY FILE"
}

func inState(name, state string) string {
	if state == ".cmux" {
		return name + " is refused: .cmux holds cmux's own state. Report with `done` or `blocked`, never by a file."
	}
	return name + " is refused: .git holds git's own state. Use git commands on your branch."
}

// maxLinks bounds how many links one path may lead through, as systems do.
const maxLinks = 255

// Follow is the path with every symbolic link followed as the system would on
// opening it, also where the end of the path, or what a link points to, does
// not exist.
func Follow(path string) (string, error) {
	if !filepath.IsAbs(path) {
		return "", fmt.Errorf("%s is not absolute", path)
	}
	const sep = string(filepath.Separator)
	done, rest := sep, path
	for links := 0; rest != ""; {
		var name string
		name, rest, _ = strings.Cut(strings.TrimLeft(rest, sep), sep)
		switch name {
		case "", ".":
			continue
		case "..":
			done = filepath.Dir(done)
			continue
		}
		next := filepath.Join(done, name)
		target, err := os.Readlink(next)
		switch {
		case err == nil:
			if _, in := inside("/proc", next); in {
				return "", fmt.Errorf("%s: a link in /proc leads each program elsewhere", path)
			}
			if links++; links > maxLinks {
				return "", fmt.Errorf("%s: too many symbolic links", path)
			}
			if filepath.IsAbs(target) {
				done = sep
			}
			rest = target + sep + rest
		case isNoLink(err):
			done = next
		default:
			return "", err
		}
	}
	return done, nil
}

// holds reports whether inner is or lies below what the pattern of a shell,
// mostly a plain path, names.
func holds(pattern, inner string) bool {
	for {
		if ok, err := filepath.Match(pattern, inner); pattern == inner || err == nil && ok {
			return true
		}
		parent := filepath.Dir(inner)
		if parent == inner {
			return false
		}
		inner = parent
	}
}
