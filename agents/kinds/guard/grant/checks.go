package grant

import (
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"cmux/agents/kinds/guard/places"
)

// A person wrote the node's checks, and cmux itself runs them. Agents run a check
// cut short, one of its commands, or fewer of its tests. That runs no code that the
// check does not run, so it needs no question.

// reading ends a check of which an agent reads a part: nothing but a pipe into
// filters.
var reading = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?: 2>&1)?(?: *\| *[^;&\n]+)?$`)
})

// status ends a text that shows how its last command ended.
var status = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^((?s).*[^; \n]) *(?:;|\n) *echo (?:(?:[A-Za-z_]+[:=])?\$\?|"(?:[A-Za-z _]+[:=]? ?)?\$\?")$`)
})

// unstated is a text without the command at its end that shows how the last one ended.
func unstated(text string) string {
	m := status().FindStringSubmatch(text)
	if m == nil || documentEnds().MatchString(m[1]) && !strings.HasPrefix(text[len(m[1]):], "\n") {
		return text
	}
	return m[1]
}

// documentEnds matches the end of a here-document, which is one with nothing behind it.
var documentEnds = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\n[ \t]*[A-Z]+$`) })

// blankEnd matches a text that ends so, but with blanks behind: to a shell that is no end.
var blankEnd = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\n[ \t]*[A-Z]+[ \t]+(?:\n[ \t\n]*)?$`) })

// whole matches a check that a shell has read to its end where its text ends.
var whole = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("^[^\n#\\\\<`]*[^\n#\\\\<`&|;]$") })

// runsCheck reports whether a text is one of the node's checks, word for word, of
// whose output filters show a part. The text may begin by going to the worktree. more
// says that a command stands behind it.
func (v *voucher) runsCheck(text string, more bool) bool {
	dir, placed := v.dir, v.placed
	if first, rest, ok := strings.Cut(text, " && "); ok {
		if commands, ok := lex(first); ok && len(commands) == 1 {
			// When it does not get there, nothing may run.
			if to, ok := v.goesHome(commands); ok && (placed && dir == to || !elsewhere(rest)) {
				dir, placed, text = to, true, rest
			}
		}
	}
	if !v.atChecks(dir, placed) || !plainText(text) {
		return false
	}
	return slices.ContainsFunc(v.Verify, func(check string) bool {
		check = trim(check)
		end, ok := strings.CutPrefix(text, check)
		return ok && check != "" && (end == "" && !more || whole().MatchString(check) && reading().MatchString(end) && v.filters(end))
	})
}

// elsewhere reports whether a text runs something though the command before it failed.
func elsewhere(text string) bool {
	return strings.Contains(text, "||") || strings.ContainsAny(strings.NewReplacer("&&", "", ">&", "").Replace(text), ";\n&")
}

// filters reports whether what stands behind a check only shows what it printed.
func (v *voucher) filters(end string) bool {
	end = strings.TrimPrefix(strings.TrimSpace(end), "2>&1")
	if end = strings.TrimLeft(end, " "); end == "" {
		return true
	}
	commands, ok := lex(strings.TrimLeft(strings.TrimPrefix(end, "|"), " "))
	return ok && !slices.ContainsFunc(commands, func(c command) bool {
		return c.to != "" || c.looped || c.after != "" && c.after != "|" || !v.isFilter(c)
	})
}

// isFilter reports whether a command reads what is piped to it, and names no file.
func (v *voucher) isFilter(c command) bool {
	return slices.ContainsFunc(forms, func(f *form) bool {
		if !slices.Contains([]string{"head", "tail", "wc", "cat", "grep", "sed", "sort", "uniq"}, f.words) || !v.reaches(f.words) {
			return false
		}
		m, ok := f.match(c.words)
		return ok && len(m["PATH"])+len(m["BELOW"]) == 0
	})
}

// builders are programs that build and test. One that fails says that the work is not
// right, and not that what stands behind it must not run here.
var builders = strings.Fields("go gofmt staticcheck golangci-lint make ninja cmake ctest meson cargo npm npx pnpm yarn bun deno node tsc eslint prettier vitest jest " +
	"python python3 pytest tox nox ruff black isort flake8 mypy pylint uv poetry mvn gradle dotnet mix bundle rake rspec rubocop composer phpunit swift zig just")

// builds reports whether a command builds or tests, as far as its first words say. A
// script may ask anything, such as where it runs, and an installed program is another's
// too.
func builds(words []lexeme) bool {
	word := func(i int) string {
		if i >= len(words) {
			return ""
		}
		return words[i].text
	}
	switch word(0) {
	case "python", "python3":
		return word(1) == "-m"
	case "node":
		return strings.HasPrefix(word(1), "--")
	case "uv", "poetry", "bundle":
		if word(1) == "run" || word(1) == "exec" {
			return builds(words[2:])
		}
	case "bun":
		return !strings.ContainsAny(word(1), "./")
	case "go", "cargo", "swift", "zig", "dotnet", "deno":
		return word(1) != "run" && (word(1) != "install" || word(0) == "deno")
	}
	return slices.Contains(builders, word(0))
}

// parts are the commands of a check that may be run one by one: the first, and those
// behind programs that build and test. A program that lies elsewhere may be one that
// the check makes first.
func parts(check string) [][]lexeme {
	commands, ok := lex(trim(check))
	if !ok {
		return nil
	}
	var all [][]lexeme
	for i, c := range commands {
		if i > 0 && c.after != "&&" || c.redirected || c.looped || c.here || c.to != "" || c.words[0].here || slices.Contains(builtins, c.words[0].text) {
			return nil
		}
		if i == 0 || !filepath.IsAbs(c.words[0].text) && !strings.Contains(c.words[0].text, "..") && !slices.ContainsFunc(commands[:i], func(c command) bool { return !builds(c.words) }) {
			all = append(all, c.words)
		}
	}
	return all
}

// runner is a program that runs tests: its form is how agents call it.
type runner struct {
	form
	fixed  bool                           // a run begins with the words of the check
	covers func(check, run []string) bool // the arguments of run are among those of check
	only   []string                       // options that a check has to leave out tests: a run has them too
	picks  []string                       // options that pick tests: a check with one is run as it is
	also   []*form                        // other ways to run fewer of all tests
	beside []*form                        // what is granted beside: it builds or shows the same code
}

var (
	unittest = form{options: []string{"-v", "-q", "-f", "-b", "--verbose", "--quiet", "--failfast", "--buffer", "--locals", "-k TEXT"}, args: "TESTS", most: many, mixed: true}
	pytest   = form{options: []string{"-v", "-vv", "-q", "-x", "-s", "-l", "-rA", "-ra", "--lf", "--ff", "--tb=short", "--tb=long", "--tb=line", "--tb=no", "--no-header", "--maxfail=N", "--durations=N", "-k TEXT"}, args: "TESTFILE", most: many, mixed: true}
)

// runners are the programs of which a run of fewer tests is known.
var runners = []*runner{
	{form: form{words: "go test", options: []string{"-v", "-race", "-short", "-failfast", "-cover", "-json", "-count=N", "-count N", "-p=N", "-parallel=N",
		"-run TEXT", "-run=TEXT", "-skip TEXT", "-skip=TEXT", "-timeout TEXT", "-timeout=TEXT"}, args: "PACKAGE", most: many, mixed: true},
		covers: coversPackages, only: []string{"-short"}, picks: []string{"-run", "-skip"},
		beside: []*form{
			{words: "go vet", args: "PACKAGE", most: many},
			{words: "go build -o /dev/null", args: "PACKAGE", most: many},
			{words: "go build", options: []string{"-v"}, args: "PACKAGES", most: many, least: 1, effect: changes},
			{words: "go list", args: "PACKAGE", most: many},
			{words: "go doc", options: []string{"-all"}, args: "SYMBOL", most: 2},
			{words: "go version"}, {words: "go env", args: "SYMBOL", most: many}, {words: "go list -m"},
			{words: "gofmt -l", options: []string{"-s"}, args: "PATH", most: many, least: 1}, {words: "gofmt -s -l", args: "PATH", most: many, least: 1},
			{words: "gofmt", options: []string{"-d", "-l", "-s"}, args: "PATH", most: many, least: 1},
			{words: "gofmt", options: []string{"-w", "-l", "-s"}, args: "GOFILE", most: many, least: 1, effect: changes},
			{words: "go fmt", args: "PACKAGE", most: many, least: 1, effect: changes},
		}},
	{form: under(unittest, "python3 -m unittest"), covers: coversTests, also: discovers("python3"), picks: []string{"-k"}, beside: versions("python3")},
	{form: under(unittest, "python -m unittest"), covers: coversTests, also: discovers("python"), picks: []string{"-k"}, beside: versions("python")},
	{form: found(unittest, "python3 -m unittest discover"), fixed: true, picks: []string{"-k"}, beside: versions("python3")},
	{form: found(unittest, "python -m unittest discover"), fixed: true, picks: []string{"-k"}, beside: versions("python")},
	{form: under(pytest, "pytest"), covers: coversTests, picks: []string{"-k"}},
	{form: under(pytest, "python3 -m pytest"), covers: coversTests, picks: []string{"-k"}, beside: versions("python3")},
	{form: under(pytest, "python -m pytest"), covers: coversTests, picks: []string{"-k"}, beside: versions("python")},
	{form: form{words: "make", options: []string{"-s", "--silent", "-k", "-jN", "-j N", "--no-print-directory"}, args: "TARGET", most: many, mixed: true}, covers: slices.Equal[[]string]},
	{form: form{words: "npm test", options: []string{"-s", "--silent"}}, covers: slices.Equal[[]string], beside: []*form{{words: "npm run test", options: []string{"-s", "--silent"}}, {words: "node --version"}, {words: "npm --version"}}},
	{form: form{words: "npm run", options: []string{"-s", "--silent"}, args: "TARGET", most: 1, least: 1, mixed: true}, covers: slices.Equal[[]string]},
	{form: form{words: "cargo test", options: []string{"-q", "--quiet", "-v", "--verbose", "--lib"}, args: "SYMBOL", most: 1, mixed: true}, covers: coversTests, only: []string{"--lib"},
		beside: []*form{{words: "cargo build", options: []string{"-q", "-v"}}, {words: "cargo check", options: []string{"-q", "-v"}}}},
}

func under(f form, words string) form { f.words = words; return f }

// found is a form whose tests are looked for, where its options say.
func found(f form, words string) form {
	f.words, f.args, f.most = words, "", 0
	f.options = append(slices.Clone(f.options), "-s PATH", "-t PATH", "-p TEXT")
	return f
}

// discovers is how a program looks for the tests in one package.
func discovers(program string) []*form {
	return []*form{{words: program + " -m unittest discover", options: append(slices.Clone(unittest.options), "-s TESTS", "-p TESTGLOB")}}
}

func versions(program string) []*form {
	return []*form{{words: program + " --version"}, {words: program + " -m py_compile", args: "PATH", most: many, least: 1, effect: changes}}
}

// narrows reports whether a command runs less of what a check runs, or builds or shows
// the same code, where the checks are. tests says that it runs code.
func (v *voucher) narrows(c command, part []lexeme) (ok, tests bool) {
	for _, r := range runners {
		of, is := r.match(part)
		if !is || !v.reaches(r.program()) || v.sub != "" && r.args != "PACKAGE" {
			continue
		}
		if slices.ContainsFunc(r.beside, func(f *form) bool {
			m, ok := f.match(c.words)
			tests = ok && f.effect == changes
			return ok && v.fromAbove(f, m) && v.inPlace(m) && v.vouches(f, m) && (f.words != "go build" || v.manyPackages(m["PACKAGES"]) || v.noProgram(m["PACKAGES"])) && (f.words != "go fmt" || v.formatsPackages(m["PACKAGE"])) && (!strings.HasSuffix(f.words, " py_compile") || v.compiles(m["PATH"])) &&
				(f.words != "gofmt" || f.effect != prints || v.showsGo(m["PATH"])) && (f.words != "go env" || v.ownCompiler())
		}) {
			return true, tests
		}
		if len(of[r.args]) == 0 && !slices.ContainsFunc(part, r.picking) && slices.ContainsFunc(r.also, func(f *form) bool {
			m, ok := f.match(c.words)
			return ok && v.inPlace(m)
		}) {
			return true, true
		}
		if m, ok := r.match(c.words); ok && v.fromAbove(&r.form, m) && r.less(part, c.words, of, m) && v.inPlace(m) && (r.args != "TESTFILE" || v.looksThere(of["TESTFILE"], m)) {
			return true, true
		}
	}
	return false, false
}

// fromAbove names packages, files and folders as they are called from where the checks
// are, and reports whether they have such a name.
func (v *voucher) fromAbove(f *form, m match) bool {
	if v.sub == "" {
		return true
	}
	if (f.args == "PACKAGE" || f.args == "PACKAGES") && len(m[f.args]) == 0 {
		m[f.args] = []string{"."}
	}
	for slot, names := range m {
		for i, name := range names {
			switch slot {
			case "PACKAGE", "PACKAGES":
				names[i] = "./" + path.Join(v.sub, name)
			case "PATH", "GOFILE":
				if strings.Contains(name, "..") {
					return false
				}
				if !filepath.IsAbs(name) {
					names[i] = path.Join(v.sub, name)
				}
			case "SYMBOL":
				if strings.HasPrefix(name, ".") {
					return false
				}
			}
		}
	}
	return true
}

var (
	// pythons are names of one program, where they are.
	pythons = []string{"python", "python3"}
	// interpreter is a Python itself. What chooses one may begin with its name too.
	interpreter = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^python[0-9.]*$`) })
)

// called is a command with its program named as a check names it, if both names lead to
// one Python from one folder: that of another folder may be another environment, and a
// program of another name may ask by which one it is called.
func (g *Giver) called(words, part []lexeme) []lexeme {
	name, other := words[0].text, part[0].text
	if name == other || words[0].here || !slices.Contains(pythons, name) || !slices.Contains(pythons, other) || !g.finds(name) || !g.finds(other) {
		return words
	}
	folders, _ := g.Machine.Program(name)
	others, _ := g.Machine.Program(other)
	at := folders[len(folders)-1]
	one, err := g.Resolved(filepath.Join(at, name))
	two, err2 := g.Resolved(filepath.Join(at, other))
	if at != others[len(others)-1] || err != nil || err2 != nil || one != two || !interpreter().MatchString(filepath.Base(one)) {
		return words
	}
	return slices.Concat(part[:1], words[1:])
}

// less reports whether words run nothing but what the check runs. Where tests are
// looked for, the check says.
func (r *runner) less(check, words []lexeme, of, m match) bool {
	if r.fixed {
		more := form{options: slices.Clone(unittest.options)}
		if !hasOption(check, "-p") { // of which the last one counts
			more.options = append(more.options, "-p TESTGLOB")
		}
		_, ok := more.match(words[min(len(check), len(words)):])
		return ok && len(words) >= len(check) && slices.Equal(words[:len(check)], check) &&
			!(slices.ContainsFunc(check, r.picking) && slices.ContainsFunc(words[len(check):], r.picking)) // either would do
	}
	return !slices.ContainsFunc(check, r.picking) &&
		!slices.ContainsFunc(r.only, func(o string) bool { return hasOption(check, o) && !hasOption(words, o) }) &&
		r.covers(of[r.args], m[r.args])
}

// picking reports whether a word picks tests.
func (r *runner) picking(w lexeme) bool {
	return slices.ContainsFunc(r.picks, func(o string) bool { return hasOption([]lexeme{w}, o) })
}

func hasOption(words []lexeme, option string) bool {
	return slices.ContainsFunc(words, func(w lexeme) bool { return w.text == option || strings.HasPrefix(w.text, option+"=") })
}

// atChecks reports whether a command is run where the checks are, by one whom the person
// lets run them: who has a place to work in, or leads the work of the project.
func (g *Giver) atChecks(dir string, placed bool) bool {
	return placed && dir == g.WorkDir && (g.HasOwnPlace || g.Holder.Leads && g.WorkDir == g.RootDir)
}

// inPlace reports whether packages and tests lie in the node's own place by their own
// names, and whether each test by name is a module, which a run of all tests loads too.
func (v *voucher) inPlace(m match) bool {
	for slot, names := range m {
		for _, name := range names {
			ok := true
			switch slot {
			case "PACKAGE", "PACKAGES":
				folder := strings.TrimSuffix(strings.TrimSuffix(name, "/"), "/...")
				ok = !strings.Contains(folder, "..") && v.ownName(folder) && v.inModule(folder)
			case "SYMBOL":
				if strings.HasPrefix(name, "./") { // a folder, and names in it
					ok = v.ownName(name)
					for i, r := range name {
						ok = ok && (r != '.' || i < 2 || v.ownName(name[:i]))
					}
				}
			case "GOFILE":
				ok = v.formats(name)
			case "TESTFILE":
				file, _, _ := strings.Cut(name, "::")
				ok = v.ownName(strings.TrimSuffix(file, "/")) && !slices.ContainsFunc(strings.Split(file, "/"), func(p string) bool { return slices.Contains(unsearched, p) })
			case "TESTS":
				ok = v.isModule(name)
			}
			if !ok {
				return false
			}
		}
	}
	return true
}

// mostEntries bounds the files and folders through which a format is followed.
const mostEntries = 4000

// formatsFile reports whether gofmt writes just that file, and a person need not be asked.
func (s site) formatsFile(name string) bool {
	spots, ok := s.Spots(s.dir, name)
	return ok && s.ownName(name) && s.File(s.dir, name) && !slices.ContainsFunc(append(spots, s.Written(s.dir, name)), s.apart)
}

// formats reports whether gofmt writes nothing but such files.
func (v *voucher) formats(name string) bool {
	if folder, ok := strings.CutSuffix(name, "/*.go"); ok { // options of shells let it mean hidden files, or others' case
		names, err := v.Machine.Names(filepath.Join(v.dir, folder))
		names = slices.DeleteFunc(names, func(n string) bool { return !strings.HasSuffix(strings.ToLower(n), ".go") })
		return err == nil && len(names) > 0 && v.onlyCase(folder) && !v.changed && !v.recorded && len(v.moved) == 0 && !slices.ContainsFunc(names, func(n string) bool {
			_, err := v.Machine.Text(filepath.Join(v.dir, folder, n)) // of a folder, more is formatted
			return err != nil || strings.HasPrefix(n, ".") || !strings.HasSuffix(n, ".go") || !v.formatsFile(path.Join(folder, n))
		})
	}
	if strings.HasSuffix(name, ".go") {
		if _, err := v.Machine.Text(filepath.Join(v.dir, name)); err == nil {
			return v.formatsFile(name)
		}
	}
	return v.allBelow(name, v.formatsFile)
}

// onlyCase reports whether nothing else is called as a folder, or one above it, but for
// the case: with an option, zsh takes a name before a pattern for both.
func (v *voucher) onlyCase(folder string) bool {
	for at := path.Clean(folder); at != "."; at = path.Dir(at) {
		names, err := v.Machine.Names(filepath.Join(v.dir, path.Dir(at)))
		if err != nil || slices.ContainsFunc(names, func(n string) bool { return n != path.Base(at) && strings.EqualFold(n, path.Base(at)) }) {
			return false
		}
	}
	return true
}

// showsGo reports whether gofmt prints only what lies in the node's own place. To show
// what differs, it once started diff.
func (v *voucher) showsGo(names []string) bool {
	own := func(name string) bool { _, ok := v.Spots(v.dir, name); return ok }
	return v.finds("diff") && !slices.ContainsFunc(names, func(name string) bool {
		_, err := v.Machine.Text(places.Absolute(v.dir, name))
		return err != nil && !v.allBelow(name, own)
	})
}

// allBelow asks of each file in a folder that gofmt takes: all that are named so, in
// folders of any name below. It goes through a link to a file, and does not follow one
// to a folder.
func (v *voucher) allBelow(name string, asked func(file string) bool) bool {
	if filepath.IsAbs(name) || v.changed || v.recorded || len(v.moved) > 0 || strings.Contains(name, "..") || !v.ownName(name) || !v.Machine.Exists(filepath.Join(v.dir, name)) {
		return false
	}
	seen := 0
	var below func(folder string) bool
	below = func(folder string) bool {
		entries, err := v.Machine.Names(filepath.Join(v.dir, folder))
		if seen += len(entries); err != nil || seen > mostEntries {
			return false
		}
		return !slices.ContainsFunc(entries, func(entry string) bool {
			name, at := path.Join(folder, entry), filepath.Join(v.dir, folder, entry)
			_, notFolder := v.Machine.Names(at)
			r, err := v.Resolved(at)
			switch {
			case err == nil && r == at && notFolder == nil:
				return !below(name)
			case strings.HasSuffix(entry, ".go"):
				return !asked(name)
			}
			return false
		})
	}
	return below(name)
}

// formatsPackages reports whether go fmt does so: what it writes are files of packages.
func (v *voucher) formatsPackages(patterns []string) bool {
	env := v.Machine.Env("GOENV")
	own := !strings.Contains(v.Machine.Env("GOFLAGS"), "overlay") && (env == "" || env == "off" || v.persons(env))
	return own && v.finds("gofmt") && !slices.ContainsFunc(patterns, func(p string) bool {
		return !v.formats(strings.TrimSuffix(strings.TrimSuffix(p, "..."), "/"))
	})
}

// ownCompiler reports whether the C compiler, which go env asks for its options, is a
// person's: it may be any, from any folder of PATH.
func (g *Giver) ownCompiler() bool {
	env, elsewhere := g.Machine.Env("GOENV"), func(path string) bool { return !g.persons(path) }
	return (env == "" || env == "off" || g.persons(env)) && !slices.ContainsFunc(filepath.SplitList(g.Machine.Env("PATH")), elsewhere) &&
		!slices.ContainsFunc(strings.Fields(g.Machine.Env("CC")), func(word string) bool { return strings.Contains(word, "/") && elsewhere(word) })
}

// ownName reports whether a file or folder is the node's, and no link on the way to it.
func (s site) ownName(name string) bool {
	_, own := s.Spots(s.dir, name)
	at := filepath.Clean(name)
	if !filepath.IsAbs(at) {
		at = filepath.Join(s.dir, filepath.FromSlash(name))
	}
	r, err := s.Resolved(at)
	return own && err == nil && r == at
}

// unsearched are folders that pytest goes into only when it is told to.
var unsearched = []string{"build", "dist", "node_modules", "venv", "CVS", "_darcs"}

// looksThere reports whether pytest, which is told nowhere to look, looks where these
// tests are, and picks none: by its configuration, which may name folders.
func (s site) looksThere(check []string, m match) bool {
	if s.Machine.Env("PYTEST_ADDOPTS") != "" {
		return false
	}
	for dir := s.WorkDir; ; dir = filepath.Dir(dir) {
		for _, name := range pytestFiles {
			text, err := s.Machine.Text(filepath.Join(dir, name))
			if err != nil && s.Machine.Exists(filepath.Join(dir, name)) {
				return false
			}
			if len(m["TEXT"]) > 0 && pytestPicks().MatchString(text) {
				return false
			}
			if len(check) > 0 || len(m["TESTFILE"]) == 0 || !strings.Contains(text, "testpaths") && !strings.Contains(text, "norecursedirs") {
				continue
			}
			at := testPaths().FindAllStringSubmatch(text, -1)
			if len(at) != 1 || strings.Count(text, "testpaths") != 1 || strings.Contains(text, "norecursedirs") ||
				slices.ContainsFunc(m["TESTFILE"], func(f string) bool { return !sameOrBelow(at[0][1], strings.TrimSuffix(f, "/")) }) {
				return false
			}
		}
		if dir == s.TreeDir || dir == filepath.Dir(dir) {
			break
		}
	}
	for _, file := range m["TESTFILE"] { // a project in the project has its own
		file, _, _ = strings.Cut(file, "::")
		for dir := strings.TrimSuffix(file, "/"); dir != "."; dir = path.Dir(dir) {
			if slices.ContainsFunc(pytestFiles, func(name string) bool { return s.Machine.Exists(filepath.Join(s.dir, dir, name)) }) {
				return false
			}
		}
	}
	return true
}

// pytestFiles may hold the configuration of pytest.
var pytestFiles = []string{"pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml", "pyproject.toml", "tox.ini", "setup.cfg"}

var (
	// testPaths is the one folder in which pytest looks for tests.
	testPaths = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?m)^testpaths\s*=\s*(?:\[\s*)?["']?([A-Za-z0-9_][A-Za-z0-9_/]*?)/?["']?,?(?:\s*\])?[ \t]*$`)
	})
	// pytestPicks is an option that picks tests, which a later one would undo.
	pytestPicks = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)(?:^|[\s"'=\[,])-[a-zA-Z]*k`) })
	// conditional is a Go file that go build may leave out.
	conditional = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?m)^//\s*(?:go:build|\+build)|^\s*(?:import\s*)?"C"|^package documentation`)
	})
	// mainPackage is a Go file of a program.
	mainPackage = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?s)package(?:\s|/\*.*?\*/|//[^\n]*\n)*main\b`)
	})
	// ignores are folders that Go's "..." leaves out.
	ignores = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^\s*ignore\b`) })
)

// inModule reports whether a folder of Go packages is one of the module around, and
// not left out of "./...".
func (s site) inModule(folder string) bool {
	if folder == "." {
		return true
	}
	for dir := path.Clean(folder); dir != "."; dir = path.Dir(dir) {
		if s.Machine.Exists(filepath.Join(s.dir, dir, "go.mod")) {
			return false
		}
	}
	for dir := s.dir; ; dir = filepath.Dir(dir) {
		if text, err := s.Machine.Text(filepath.Join(dir, "go.mod")); err == nil {
			return !ignores().MatchString(text)
		}
		if s.Machine.Exists(filepath.Join(dir, "go.mod")) {
			return false
		}
		if dir == s.TreeDir || dir == filepath.Dir(dir) {
			return true
		}
	}
}

// compiles reports whether Python's own py_compile writes what it makes of files where
// it says, and no module of the worktree stands for it.
func (v *voucher) compiles(files []string) bool {
	return len(v.moved) == 0 && len(v.made) == 0 && !v.changed &&
		!v.Machine.Exists(filepath.Join(v.dir, "py_compile.py")) && !v.Machine.Exists(filepath.Join(v.dir, "py_compile")) &&
		!slices.ContainsFunc(files, func(f string) bool {
			return !strings.HasSuffix(f, ".py") || !v.ownName(f) || !v.ownName(path.Join(path.Dir(f), "__pycache__"))
		})
}

// manyPackages reports whether go build finds at least two packages: it writes what it
// makes of a single one into the worktree.
func (v *voucher) manyPackages(patterns []string) bool {
	out, err := v.Machine.Git("", "-c", "core.fsmonitor=false", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", "*.go")
	folders := map[string]bool{}
	for file := range strings.SplitSeq(strings.TrimSuffix(out, "\x00"), "\x00") {
		dir, name := path.Dir(file), path.Base(file)
		if err != nil || folders[dir] || v.touches(dir) || strings.ContainsAny(name, "_") || name[0] == '.' || !coversPackages(patterns, []string{"./" + dir}) || !v.inModule(dir) {
			continue // a name with "_" may be for another system
		}
		if text, err := v.Machine.Text(filepath.Join(v.dir, filepath.FromSlash(file))); err == nil && !conditional().MatchString(text) {
			folders[dir] = true
		}
		if len(folders) > 1 {
			return true
		}
	}
	return false
}

// touches reports whether commands before may have taken the package of a folder away:
// a file in it, or its module, is another one by now.
func (v *voucher) touches(dir string) bool {
	return slices.ContainsFunc(slices.Concat(v.moved, v.brought), func(rel string) bool {
		return strings.EqualFold(path.Dir(rel), dir) || saysModule(rel) && sameOrBelow(path.Dir(rel), dir)
	})
}

// noProgram reports whether go build, which writes none but a program, finds none there.
func (v *voucher) noProgram(patterns []string) bool {
	return !slices.ContainsFunc(patterns, func(p string) bool {
		return !v.allBelow(strings.TrimSuffix(p, "/..."), func(file string) bool {
			text, err := v.Machine.Text(filepath.Join(v.dir, file))
			return err == nil && !mainPackage().MatchString(text)
		})
	})
}

// isModule reports whether a name of a test begins with that of a module in packages.
func (s site) isModule(name string) bool {
	parts := strings.Split(strings.ReplaceAll(strings.TrimSuffix(name, ".py"), "/", "."), ".")
	if at := slices.IndexFunc(parts, func(p string) bool { return 'A' <= p[0] && p[0] <= 'Z' }); at >= 0 {
		parts = parts[:at]
	}
	for i := 1; i < len(parts); i++ {
		if !s.Machine.Exists(filepath.Join(s.dir, filepath.Join(parts[:i]...), "__init__.py")) {
			return false
		}
	}
	at := filepath.Join(s.dir, filepath.Join(parts...))
	return s.Machine.Exists(at+".py") || s.Machine.Exists(filepath.Join(at, "__init__.py"))
}

// coversPackages reports whether each pattern of packages is within one of the check's.
func coversPackages(check, run []string) bool {
	clean := func(names []string) (all []string) {
		for _, n := range names {
			all = append(all, strings.TrimSuffix(n, "/"))
		}
		if len(all) == 0 {
			all = []string{"."}
		}
		return all
	}
	for _, r := range clean(run) {
		if !slices.ContainsFunc(clean(check), func(c string) bool {
			above, all := strings.CutSuffix(c, "/...")
			below, is := strings.CutPrefix(r, above+"/")
			return r == c || all && (r == above || is && !slices.ContainsFunc(strings.Split(below, "/"), unmatched))
		}) {
			return false
		}
	}
	return true
}

// unmatched reports whether "..." stands for no folder of this name.
func unmatched(name string) bool {
	return name == "testdata" || name == "vendor" || strings.HasPrefix(name, "_") || strings.HasPrefix(name, ".") && name != "." && name != "..."
}

// coversTests reports whether tests by name are among the check's: all, or the same.
func coversTests(check, run []string) bool {
	return len(check) == 0 || len(run) > 0 && !slices.ContainsFunc(run, func(r string) bool {
		return !slices.ContainsFunc(check, func(c string) bool {
			return r == c || strings.HasPrefix(r, strings.TrimSuffix(c, "/")+"/") && !strings.Contains(c, ".") || strings.HasPrefix(r, c+"::")
		})
	})
}

// Checks is the table of what is granted beside the checks themselves, as Markdown.
func Checks() string {
	var b strings.Builder
	b.WriteString("| a check | fewer tests, with these options | beside it |\n|---|---|---|\n")
	for _, r := range runners {
		var beside []string
		for _, f := range slices.Concat(r.also, r.beside) {
			beside = append(beside, "`"+strings.TrimSpace(strings.Join(append([]string{f.words}, f.options...), " ")+" "+f.args)+"`")
		}
		b.WriteString("| `" + strings.TrimSpace(r.words+" "+r.args) + "` | `" + strings.Join(r.options, "` `") + "` | " + strings.Join(beside, ", ") + " |\n")
	}
	return b.String()
}

// untimed are the words of a command behind what measures or bounds it, and behind flags
// with which go runs the same tests: a shell's own "time", or the program, "timeout N",
// and GOFLAGS, where no others hold that this would take away.
func (g *Giver) untimed(c command) []lexeme {
	words := c.words
	if w := words[0].text; strings.HasPrefix(w, "GOFLAGS=") && len(words) > 1 && words[1].text == "go" && !c.direct && g.noFlags() {
		return words[1:]
	}
	if folders, _ := g.Machine.Program("time"); c.is("time") && len(words) > 1 && c.after != "|" && !c.direct &&
		!slices.ContainsFunc(folders, func(f string) bool { return !g.persons(f) }) {
		words = words[1:]
	}
	if len(words) > 2 && words[0].text == "timeout" && bound().MatchString(words[1].text) && g.finds("timeout") && g.finds(words[2].text) {
		words = words[2:]
	}
	return words
}

// bound is the time after which timeout ends a program.
var bound = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[1-9][0-9]{0,4}[sm]?$`) })

// noFlags reports whether a person sets no flags of go, in the environment or for good.
func (g *Giver) noFlags() bool { return g.Machine.Env("GOFLAGS") == "" && !g.flagsForGood() }

// flagsForGood reports whether a file of go's own may set flags: a person's, or the
// installation's.
func (g *Giver) flagsForGood() bool {
	home := g.Machine.Env("HOME")
	var files []string
	if root := g.Machine.Env("GOROOT"); root != "" {
		files = append(files, filepath.Join(root, "go.env"))
	}
	if folders, ok := g.Machine.Program("go"); ok {
		if at, err := g.Resolve(filepath.Join(folders[len(folders)-1], "go")); err == nil {
			files = append(files, filepath.Join(filepath.Dir(filepath.Dir(at)), "go.env"))
		}
	}
	for _, folder := range []string{g.Machine.Env("XDG_CONFIG_HOME"), filepath.Join(home, ".config"), filepath.Join(home, "Library/Application Support")} {
		files = append(files, filepath.Join(folder, "go/env"))
	}
	for _, file := range files {
		if text, err := g.Machine.Text(file); filepath.IsAbs(file) && (err != nil && g.Machine.Exists(file) || strings.Contains(text, "GOFLAGS")) {
			return true
		}
	}
	return g.Machine.Env("GOENV") != ""
}
