package places

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"cmux/dag/scopes"
)

// Places is a Policy with its folders resolved.
type Places struct {
	Policy
	Home             string // where the node works, as given
	RootDir, TreeDir string // resolved; tree is root when the node has none
	Begin            string // where its program begins, as given
	WorkDir          string // begin, resolved
	peers            []string
	PrivateDirs      []string // resolved, and as given
	MyDirs           []string // likewise
	beside           []string // likewise
	led              []string // likewise
	HasOwnPlace      bool
}

func Of(p Policy) *Places {
	g := &Places{Policy: p, Home: p.Tree, HasOwnPlace: p.Tree != ""}
	if g.Home == "" {
		g.Home = p.Root
	}
	// A folder that cannot be resolved is taken as it is written.
	resolved := func(path string) string {
		if r, err := g.Resolved(path); err == nil {
			return r
		}
		return filepath.Clean(path)
	}
	g.RootDir, g.TreeDir = resolved(p.Root), resolved(g.Home)
	g.Begin, g.WorkDir = g.Home, g.TreeDir
	if p.Dir != "" {
		g.Begin, g.WorkDir = p.Dir, resolved(p.Dir)
	}
	for _, q := range p.Peers {
		if r := resolved(q); r != g.TreeDir {
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
		g.PrivateDirs = append(g.PrivateDirs, both(q)...)
	}
	for _, q := range p.Mine {
		g.MyDirs = append(g.MyDirs, both(q)...)
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

func (g *Places) Resolved(path string) (string, error) {
	if g.Resolve == nil {
		return filepath.Clean(path), nil
	}
	r, err := g.Resolve(path)
	return filepath.Clean(r), err
}

// Whose says whom a place belongs to.
type Whose uint8

const (
	Nobodys Whose = iota // outside of the project
	Own
	Persons
	Peers
)

// Spot is a place on disk as the policy sees it.
type Spot struct {
	Path  string
	Whose Whose
	Rel   string // to the folder it belongs to, with slashes
	State string // ".cmux" or ".git" when it lies in one
}

// SpotOf places a resolved absolute path.
func (g *Places) SpotOf(path string) Spot {
	s := Spot{Path: path}
	try := func(base string, w Whose) bool {
		rel, ok := Inside(base, path)
		if ok {
			s.Whose, s.Rel, s.State = w, rel, StateOf(rel)
		}
		return ok
	}
	if _, below := Inside(g.TreeDir, g.RootDir); below && g.TreeDir != g.RootDir && try(g.RootDir, Persons) {
		return s // the folder that the agent shares holds the project
	}
	if try(g.TreeDir, Own) {
		return s
	}
	for _, p := range g.peers {
		if try(p, Peers) {
			return s
		}
	}
	if try(g.RootDir, Persons) {
		return s
	}
	for _, p := range g.led {
		if try(p, Persons) {
			return s
		}
	}
	for _, p := range g.beside {
		if rest, ok := strings.CutPrefix(path, p); ok && rest != "" && rest[0] != filepath.Separator {
			name, _, _ := strings.Cut(rest, string(filepath.Separator))
			try(p+name, Peers)
		}
	}
	return s
}

// Inside is path relative to base, with slashes, when it lies in it.
func Inside(base, path string) (string, bool) {
	rel, err := filepath.Rel(base, path)
	if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return "", false
	}
	return filepath.ToSlash(rel), true
}

// StateOf names the folder of state that rel lies in. Case does not count: on
// some file systems .GIT is .git. A name may be a pattern of the shell.
func StateOf(rel string) string {
	for i, name := range strings.Split(rel, "/") {
		if i == 0 && Matches(name, ".cmux") {
			return ".cmux"
		}
		if Matches(name, ".git") {
			return ".git"
		}
	}
	return ""
}

func Matches(pattern, name string) bool {
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

// MayWrite judges a file that a write tool is about to write; an empty reason
// allows it. A tool may clean the path before it follows links, or leave that
// to the system, which follows a link before a "..": both must be allowed.
func (g *Places) MayWrite(dir, path string) string {
	abs := path
	if !filepath.IsAbs(abs) {
		abs = dir + string(filepath.Separator) + path
	}
	if strings.ContainsRune(path, 0) {
		return fmt.Sprintf("%q is no file name.", path)
	}
	if reason := g.KeepsOut(dir, path, true); reason != "" {
		return reason
	}
	at := g.Written(dir, path)
	if g.OrdersAt(at.Path, true) {
		return GivesOrders(path)
	}
	if reason := g.Forbids(path, at, false); reason != "" {
		return reason
	}
	for _, abs := range []string{abs, filepath.Clean(abs)} {
		r, err := g.Resolved(abs)
		if err != nil {
			return fmt.Sprintf("%s is refused: where it lies cannot be told (%v). Name the file by its path in %s.", path, err, g.Home)
		}
		if reason := g.MayWriteAt(path, g.SpotOf(r)); reason != "" {
			return reason
		}
	}
	return ""
}

// Written is the place of a path as it is written, whatever its links lead to: a
// folder that is a link lends its name to what is in another one, and a program that
// looks for the name finds that. Only what counts by its name is asked of it.
func (g *Places) Written(dir, path string) Spot {
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	path = filepath.Clean(path)
	for _, base := range []string{g.TreeDir, g.Home} {
		if rel, ok := Inside(base, path); ok {
			return Spot{Path: filepath.Join(g.TreeDir, rel), Whose: Own, Rel: rel}
		}
	}
	return Spot{Path: path, Rel: strings.Trim(filepath.ToSlash(path), "/")}
}

// Lent are the paths by which else a place is found: through links at the top of the
// worktree of names that programs look for.
func (g *Places) Lent(at string) (paths []string) {
	if g.Machine == nil {
		return nil
	}
	names, _ := g.Machine.Names(g.TreeDir)
	for _, name := range names {
		link := filepath.Join(g.TreeDir, name)
		if !Obeyed(name) {
			continue
		}
		if to, err := g.Resolved(link); err == nil && to != link {
			if rel, ok := Inside(to, at); ok {
				paths = append(paths, filepath.Join(link, rel))
			}
		}
	}
	return paths
}

func (g *Places) MayWriteAt(path string, s Spot) string {
	name := path
	if filepath.IsAbs(path) && filepath.Clean(path) != s.Path {
		name += " (which is " + s.Path + ")"
	}
	if reason, settled := g.LeadsAt(name, s, true); settled {
		return reason
	}
	switch {
	case s.State != "":
		return InState(name, s.State)
	case g.OrdersAt(s.Path, true), slices.ContainsFunc(g.Lent(s.Path), func(at string) bool { return g.OrdersAt(at, true) }):
		return GivesOrders(name)
	case s.Whose == Persons:
		return fmt.Sprintf("%s is refused: it lies in the project's own checkout, not in your directory. Write the same file in %s.", name, g.Home)
	case s.Whose == Peers:
		return fmt.Sprintf("%s is refused: it lies in another agent's worktree. Write in %s only.", name, g.Home)
	case s.Whose == Nobodys:
		return fmt.Sprintf("%s is refused: it lies outside your directory. Write in %s only. What you need for yourself alone can be made by the shell in a directory of `mktemp -d`.", name, g.Home)
	}
	if reason := g.Forbids(name, s, false); reason != "" {
		return reason
	}
	switch {
	case len(g.Scope) > 0 && !scopes.In(g.Scope, s.Rel):
		return fmt.Sprintf("%s is refused: it is outside your scope (%s). Do the task within the scope. If that cannot be done, report `blocked` and say why %s must change", name, strings.Join(scopes.Unescaped(g.Scope), ", "), s.Rel)
	case len(g.Scope) == 0 && scopes.In(g.Context, s.Rel):
		return fmt.Sprintf("%s is refused: you may read but not change %s. Do the task without changing it. If that cannot be done, report `blocked` and say why %s must change", name, strings.Join(scopes.Unescaped(g.Context), ", "), s.Rel)
	}
	return g.LinkedElsewhere(name, s)
}

// LinkedElsewhere refuses to write into a file that has another name: that one may
// be anybody's.
func (g *Places) LinkedElsewhere(name string, s Spot) string {
	if s.Whose != Own || g.Linked == nil || !g.Linked(s.Path) {
		return ""
	}
	return name + " is refused: the file has another name (a hard link), perhaps outside your directory. Replace it by a copy first: cp -p FILE COPY && mv COPY FILE"
}

func InState(name, state string) string {
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
			if _, in := Inside("/proc", next); in {
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

// Holds reports whether inner is or lies below what the pattern of a shell,
// mostly a plain path, names.
func Holds(pattern, inner string) bool {
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
