package grant

import (
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"cmux/agents/kinds/guard/places"
	"cmux/agents/kinds/rights"
	"cmux/dag"
)

// Giver grants one node what is surely harmless.
type Giver struct{ *places.Places }

// Of is what grants within the places of a node.
func Of(p *places.Places) *Giver { return &Giver{p} }

// builds reports whether the node has a worktree to change. In a folder that it
// shares, what git takes in or brings back may be another's.
func (g *Giver) builds() bool { return g.HasOwnPlace && !g.Shared && !g.ReadsOnly() }

// File grants a file to be written, wherever a program may look for it.
func (g *Giver) File(dir, path string) bool {
	if g.Leads {
		return g.ledger(dir, path)
	}
	spots, ok := g.Spots(dir, path)
	if places.Obeyed(g.Written(dir, path).Rel) {
		return false
	}
	for _, s := range spots {
		if g.MayWriteAt(path, s) != "" || places.Obeyed(s.Rel) || s.Rel == "." || len(g.Lent(s.Path)) > 0 {
			return false
		}
		if z, _ := g.ZoneAt(s); z != places.Safe && !g.builds() {
			return false
		}
	}
	return ok
}

// trim takes off what every shell takes for blank, and nothing else.
func trim(text string) string { return strings.Trim(text, " \t\n") }

// Text vouches for a text of the shell, given where it would be run, if that is
// known.
func (g *Giver) Text(dir string, placed bool, text string) bool {
	if g.Machine == nil || blankEnd().MatchString(text) || !g.ownShell() {
		return false
	}
	text = trim(text)
	v := g.vouching(dir, placed)
	said := text
	text = unstated(text)
	if v.runsCheck(text, text != said) {
		return true
	}
	commands, ok := lex(text)
	if !ok {
		return false
	}
	if v.looksOn(commands) {
		return true
	}
	if to, ok := v.goesHome(commands); ok {
		v.dir, v.placed, commands = to, true, commands[1:]
	}
	for i, c := range commands {
		if !v.goes(commands[i:]) && !v.grants(c) {
			return false
		}
	}
	return true
}

// leading are variables that name files or folders from which a shell, the loader of
// programs or an interpreter takes code before the program itself begins. A value may
// be a list.
var leading = strings.Fields("BASH_ENV ENV ZDOTDIR HOME LD_PRELOAD LD_AUDIT LD_LIBRARY_PATH DYLD_INSERT_LIBRARIES DYLD_LIBRARY_PATH DYLD_FRAMEWORK_PATH " +
	"PYTHONPATH PYTHONSTARTUP PYTHONHOME PERL5LIB PERLLIB RUBYLIB NODE_PATH GIT_EXEC_PATH GIT_TEMPLATE_DIR")

// ordering are variables whose value is itself an order to an interpreter.
var ordering = strings.Fields("NODE_OPTIONS PERL5OPT PERL5DB RUBYOPT PROMPT_COMMAND")

// ownShell reports whether no shell and no program takes its first orders from the
// worktree. Of an order in words, each part that may name a file is looked at.
func (g *Giver) ownShell() bool {
	for _, name := range leading {
		for _, part := range g.partsOf(name) {
			if !g.persons(part) {
				return false
			}
		}
	}
	for _, name := range ordering {
		if slices.ContainsFunc(strings.FieldsFunc(g.Machine.Env(name), unicode.IsSpace), g.loads) {
			return false
		}
	}
	return true
}

// partsOf are the files and folders that a variable names. A library without a slash
// is the system's own; LD_LIBRARY_PATH, which may lead it elsewhere, is looked at too.
// An empty part of a list is the folder where a program runs.
func (g *Giver) partsOf(name string) []string {
	v := g.Machine.Env(name)
	switch {
	case v == "":
		return nil
	case name == "LD_PRELOAD" || name == "LD_AUDIT" || name == "DYLD_INSERT_LIBRARIES":
		parts := strings.FieldsFunc(v, func(r rune) bool { return r == ':' || unicode.IsSpace(r) })
		return slices.DeleteFunc(parts, func(p string) bool { return !strings.Contains(p, "/") })
	case strings.HasSuffix(name, "PATH") || strings.HasSuffix(name, "LIB"):
		return filepath.SplitList(v)
	}
	return []string{v}
}

// loads reports whether a word of an order to an interpreter may name code that is
// not a person's. A number and an option without a value name none.
func (g *Giver) loads(word string) bool {
	_, value, has := strings.Cut(word, "=")
	switch {
	case has && strings.HasPrefix(word, "--max-"), slices.Contains(harmlessOrders, word):
		return false
	case has && filepath.IsAbs(value):
		return !g.persons(value)
	case filepath.IsAbs(word):
		return !g.persons(word)
	}
	return true
}

// harmlessOrders are options of interpreters that load nothing.
var harmlessOrders = strings.Fields("--require -r --import --loader --experimental-loader --no-warnings --trace-warnings --trace-deprecation --no-deprecation " +
	"--enable-source-maps --openssl-legacy-provider --use-openssl-ca --use-system-ca -W0 -W1 -w")

// persons reports whether a file or folder is out of the reach of agents' file
// tools.
func (g *Giver) persons(path string) bool {
	if !filepath.IsAbs(path) {
		return false
	}
	r, err := g.Resolved(path)
	if err != nil {
		return false
	}
	s := g.SpotOf(r)
	return s.State == ".cmux" || s.Whose == places.Nobodys || s.Whose == places.Persons
}

// site is where a command runs, and what lies there.
type site struct {
	*Giver
	dir    string // resolved
	placed bool   // that is known
}

// voucher vouches for the commands of one text, in their order.
type voucher struct {
	site

	// What the commands before may have made another than it was when the text was
	// judged: files, the index or HEAD; a check, anything. The last one is set when
	// git itself may have brought back what tells it which files to see, and how.
	changed, recorded, checked, broughtBack bool

	// By their names in the worktree: files that the commands before move, remove or
	// write, those of them that they write, and folders that they make. None of them is
	// or becomes a link.
	moved, wrote, made []string
	brought            []string // files that git brings back, takes away or merges
	fresh              []string // files that the text makes where none is
	gone               bool     // some of them are moved or removed, perhaps with their folder

	sub string // the folder below the checks in which a command is run that is read from there

	from []string // where the text was before it went on, outermost first

	git gitFacts
}

func (g *Giver) vouching(dir string, placed bool) *voucher {
	return &voucher{site: site{Giver: g, dir: dir, placed: placed}, git: gitFacts{Giver: g}}
}

// goesHome returns where the commands begin by going: to the worktree, or to the
// folder in which the node works, by its absolute path, which no CDPATH redirects.
// What follows in another folder must not run when that fails.
func (v *voucher) goesHome(commands []command) (to string, ok bool) {
	first := commands[0]
	if !first.is("cd") || first.looped || first.to != "" || len(first.words) != 2 || first.words[1].here || !filepath.IsAbs(first.words[1].text) {
		return "", false
	}
	switch first.words[1].text {
	case v.Home, v.TreeDir:
		to = v.TreeDir
	case v.Begin, v.WorkDir:
		to = v.WorkDir
	default:
		return "", false
	}
	return to, v.placed && v.dir == to || !slices.ContainsFunc(commands, func(c command) bool { return c.after == "||" || c.after == ";" }) &&
		(len(commands) == 1 || commands[1].after == "&&")
}

// goes reports whether a text goes on in a folder of the node's own, or back to one where
// it was: by a path that no CDPATH redirects, and so that nothing behind it runs when that
// fails.
func (v *voucher) goes(commands []command) bool {
	c, rest := commands[0], commands[1:]
	if !c.is("cd") || c.looped || c.to != "" || len(c.words) != 2 || c.words[1].here || c.after == "|" || c.after == "||" ||
		len(rest) > 0 && rest[0].after != "&&" || slices.ContainsFunc(rest, func(c command) bool { return c.after == "||" || c.after == ";" }) {
		return false
	}
	name := c.words[1].text
	if strings.Trim(name, "./") == "" {
		return c.after == "&&" && v.goesBack(strings.TrimSuffix(name, "/"))
	}
	at, err := v.Resolved(places.Absolute(v.dir, name))
	if _, own := v.Spots(v.dir, name); v.changed || !isPath(name) || !filepath.IsAbs(name) && (!v.placed || !strings.HasPrefix(name, "./") && !v.leadsHere(name)) ||
		strings.Contains(name, "..") || !own || err != nil || at != v.Written(v.dir, name).Path {
		return false
	}
	v.from = append(v.from, v.dir)
	v.dir, v.placed = at, true
	return true
}

// leadsHere reports whether every shell takes a plain name for the folder of that name
// where it stands: one that is there, and no place on its stack. No CDPATH leads
// elsewhere, in the environment or in a file with which a person's shells begin.
func (v *voucher) leadsHere(name string) bool {
	_, err := v.Machine.Names(filepath.Join(v.dir, name))
	if v.Machine.Env("CDPATH") != "" || v.Machine.Env("BASH_ENV") != "" || v.Machine.Env("ENV") != "" || v.gone || strings.HasPrefix(name, "+") || err != nil || !v.Machine.Exists(filepath.Join(v.dir, name)) {
		return false
	}
	for _, home := range []string{v.Machine.Env("HOME"), v.Machine.Env("ZDOTDIR")} {
		for _, file := range startFiles {
			file = filepath.Join(home, file)
			if text, err := v.Machine.Text(file); filepath.IsAbs(file) && (err != nil && v.Machine.Exists(file) || strings.Contains(strings.ToLower(text), "cdpath")) {
				return false
			}
		}
	}
	return true
}

// startFiles are files of a person's home with which shells begin.
var startFiles = strings.Fields(".zshenv .zprofile .zshrc .zlogin .bash_profile .bash_login .bashrc .profile .shrc")

// goesBack reports whether ".." and the like lead to a folder where the text was before:
// shells go by the names on the way, and no link is among them. A check that moves folders
// could do by itself what is run elsewhere then.
func (v *voucher) goesBack(name string) bool {
	i := slices.Index(v.from, filepath.Join(v.dir, name))
	if i < 0 || v.gone || slices.ContainsFunc(strings.Split(name, "/"), func(part string) bool { return part != ".." }) {
		return false
	}
	v.dir, v.from = v.from[i], v.from[:i]
	return true
}

// builtins are the names by which shells change themselves: a check that begins
// with one is granted as a text of its own only.
var builtins = strings.Fields("cd pushd popd eval source . exec set unset export alias unalias command builtin trap enable shopt " +
	"setopt unsetopt emulate declare typeset local readonly let read return exit shift hash umask ulimit times wait noglob nocorrect")

// grants vouches for one command. Of those in a loop, it vouches for what reads.
func (v *voucher) grants(c command) bool {
	if c.to != "" {
		return v.writes(c)
	}
	if v.checks(c) || v.looks(c) {
		return true
	}
	if slices.ContainsFunc(c.words, func(w lexeme) bool { return w.here }) && !v.reaches("cat") {
		return false // which prints the message
	}
	if v.orders(c) {
		return true
	}
	for _, f := range forms {
		if f.reads != c.here || (c.looped || c.direct) && f.effect != prints || c.direct && !v.finds(f.program()) {
			continue
		}
		if m, ok := f.match(c.words); ok && v.vouches(f, m) {
			v.changed = v.changed || f.effect == changes
			v.recorded = v.recorded || f.effect == records || f.effect == changes
			if f.effect == changes {
				for _, file := range m["FILE"] {
					v.brought = append(v.brought, v.Written(v.dir, file).Rel)
				}
			}
			if f.words == "sleep" { // others, and the agent itself, may do anything in between
				v.checked, v.changed, v.recorded = true, true, true
			}
			for _, folder := range m["FOLDER"] {
				for rel := v.Written(v.dir, folder).Rel; rel != "."; rel = path.Dir(rel) {
					v.made = append(v.made, rel)
				}
			}
			v.broughtBack = v.broughtBack || f.words == "git restore --staged" || f.effect == changes && slices.ContainsFunc(m["FILE"], steers)
			return true
		}
	}
	return false
}

// orders reports whether a command is an order to cmux that is the agent's to give.
// A person need not be asked about it; what a person decides is refused before.
func (v *voucher) orders(c command) bool {
	if !c.is("cmux") || !v.reaches("cmux") {
		return false
	}
	words := make([]string, 0, len(c.words))
	for _, w := range c.words[1:] {
		if w.open {
			return false
		}
		words = append(words, w.text)
	}
	if c.looped && !rights.Shows(words) {
		return false
	}
	inner, ok := rights.Grants(v.Holder, words)
	if ok && rights.Waits(words) {
		v.checked, v.changed, v.recorded = true, true, true
	}
	if !ok || len(inner) == 0 {
		return ok
	}
	return v.grants(command{after: c.after, words: c.words[len(c.words)-len(inner):], redirected: c.redirected, direct: true})
}

// steers reports whether git reads from a file which files to see, and how.
func steers(file string) bool {
	name := strings.ToLower(path.Base(file))
	return name == ".gitignore" || name == ".gitattributes" || name == ".gitmodules"
}

// checks reports whether a command is one of the node's checks, a part of one or less
// than it. It may do anything, and a person wants it run.
func (v *voucher) checks(c command) bool {
	if c.looped || c.here || c.to != "" {
		return false
	}
	if v.runs(c) {
		return true
	}
	words := v.untimed(c)
	timed := len(words) < len(c.words) && !strings.HasPrefix(words[0].text, "GOFLAGS=") // which a program takes for another
	c.words = words
	return timed && v.runs(c)
}

// runs is checks of words that are not timed.
func (v *voucher) runs(c command) bool {
	if below := v.below(); below != "" {
		return v.checksBelow(c, below)
	}
	if !v.atChecks(v.dir, v.placed) {
		return false
	}
	for _, check := range v.Verify {
		for _, part := range parts(check) {
			c.words = v.called(c.words, part)
			tests := slices.Equal(part, c.words)
			ok := tests
			if !ok {
				ok, tests = v.narrows(c, part)
			}
			if ok {
				v.checked, v.changed, v.recorded = v.checked || tests, v.changed || tests, v.recorded || tests
				return true
			}
		}
	}
	return false
}

// below is the folder, from where the checks are, in which a command is run; empty: none.
func (v *voucher) below() string {
	rel, in := places.Inside(v.WorkDir, v.dir)
	if !in || v.dir == v.WorkDir || !v.atChecks(v.WorkDir, v.placed) {
		return ""
	}
	return rel
}

// checksBelow reports whether a command of Go runs there less than one of the checks: in
// the same module and workspace, the names of packages are others from there, and nothing
// else is.
func (v *voucher) checksBelow(c command, below string) bool {
	if slices.ContainsFunc(v.moved, saysModule) {
		return false
	}
	for dir := below; dir != "."; dir = path.Dir(dir) {
		if v.Machine.Exists(filepath.Join(v.WorkDir, dir, "go.work")) {
			return false
		}
	}
	if flags := v.Machine.Env("GOFLAGS"); strings.Contains(flags, "/") || strings.Contains(flags, "overlay") || strings.Contains(flags, "modfile") || v.flagsForGood() {
		return false // of files from where it stands
	}
	for _, check := range v.Verify {
		for _, part := range parts(check) {
			here := v.dir
			v.dir, v.sub = v.WorkDir, below
			ok, tests := v.narrows(c, part)
			v.dir, v.sub = here, ""
			if ok {
				v.checked, v.changed, v.recorded = v.checked || tests, v.changed || tests, v.recorded || tests
				return true
			}
		}
	}
	return false
}

// spreads reports whether a shell may put names of files in the place of a variable: cmux
// itself sets numbers, and a .env of the worktree anything.
func (v *voucher) spreads(word string) bool {
	value := v.Machine.Env(strings.Trim(word, "${}"))
	return !strings.HasPrefix(word, `"`) && value != "" && !number().MatchString(value)
}

// saysModule reports whether a file says of which module or workspace packages are.
func saysModule(rel string) bool {
	name := strings.ToLower(path.Base(rel))
	return name == "go.mod" || name == "go.work"
}

// vouches looks at what a form does here and now.
func (v *voucher) vouches(f *form, m match) bool {
	at := v.SpotOf(v.dir)
	switch {
	case f.effect == reports:
		return v.reaches(f.program())
	case !v.placed:
		return false
	case at.Whose != places.Own || at.State != "":
		return false
	case f.effect >= makes && !v.builds() && !(len(m["FOLDER"]) > 0 && v.keepsAll(m["FOLDER"])) && (f.words != "go build" || !v.manyPackages(m["PACKAGES"])): // what go builds of several it throws away
		return false
	case len(m["TIP"]) > 0 && !v.brings(m):
		return false
	case !v.places(f, m):
		return false
	case slices.ContainsFunc(m["VARIABLE"], v.spreads):
		return false
	case f.builtin():
		return true
	case !v.reaches(f.program()):
		return false
	case len(m["NEW"]) > 0:
		return v.makesNew(m["NEW"])
	case f.mixed && f.program() != "git" && v.Machine.Env("POSIXLY_CORRECT") != "":
		return false // an option behind an argument would be a file
	case f.effect == edits:
		return v.edits(f, m)
	case f.effect == shifts:
		return v.reaches("git") && v.seesTree(f) && v.movesKept(f, m)
	case f.program() != "git":
		return true
	}
	return v.seesTree(f) && v.provesGit(m["FILE"]) && (f.effect != changes || v.plainFiles(m))
}

// seesTree reports whether git, which begins to look where it is run, finds the
// worktree there, and takes the names of files as they are proven. Below its root it
// finds it only in the node's own folder, as long as nothing there looks like a
// repository.
func (v *voucher) seesTree(f *form) bool {
	if v.dir == v.TreeDir {
		return true
	}
	if v.dir != v.WorkDir || v.changed || len(v.moved) > 0 || f.effect >= changes {
		return false
	}
	for dir := v.dir; dir != v.TreeDir; dir = filepath.Dir(dir) {
		if dir == filepath.Dir(dir) || v.Machine.Exists(filepath.Join(dir, ".git")) || v.Machine.Exists(filepath.Join(dir, "HEAD")) {
			return false
		}
	}
	return true
}

// ledger grants a supervisor a file that is its to write, wherever a
// program may look for it.
func (g *Giver) ledger(dir, path string) bool {
	all, ok := g.Wheres(dir, path)
	for _, p := range all {
		if rel, _ := places.Inside(g.RootDir, p); !g.Keeps(p, true) || places.Obeyed(rel) || g.OrdersAt(p, true) {
			return false
		}
	}
	return ok
}

// notes reports whether the agent leads, and writes what is to be remembered.
func (g *Giver) notes() bool { return g.Leads && g.Role != dag.RoleReview }
