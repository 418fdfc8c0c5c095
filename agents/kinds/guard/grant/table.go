package grant

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"cmux/agents/kinds/rights"
)

// effect is what a form promises to do at most.
type effect uint8

const (
	prints  effect = iota // reads the node's own files and history
	reports               // tells cmux
	makes                 // makes empty folders and files
	records               // changes the index, or adds a commit
	changes               // changes files of the worktree
	shifts                // moves or removes files that git keeps
	edits                 // changes files where they lie, as the file tools may
)

var effects = [...]string{prints: "prints", reports: "reports", makes: "makes what is empty", records: "records", changes: "changes files", shifts: "moves files", edits: "edits files"}

// form is a command that is granted: the words that begin it, options that
// stand for themselves, and then arguments. A word in capitals stands for what
// slots say. What git or a program may make of any other word does not matter.
type form struct {
	words   string
	options []string
	needs   string // the slot that one of the options must have filled
	first   string // the slot of the first argument, when it is another one
	args    string // the slot of the arguments
	most    int    // arguments
	least   int
	paths   string // the slot of the arguments behind "--"
	to      bool   // the last argument, whichever, is in the slot TO
	mixed   bool   // options may stand behind arguments
	reads   bool   // it reads a here-document
	effect  effect
}

func (f *form) program() string { name, _, _ := strings.Cut(f.words, " "); return name }

// builtin reports whether every shell itself is the program.
func (f *form) builtin() bool {
	return slices.Contains([]string{"echo", "pwd", "true", "cd", "command", "type"}, f.program())
}

const many = 1 << 20

var (
	diffOptions = []string{
		"--stat", "--numstat", "--shortstat", "--summary", "--name-only", "--name-status", "--cached", "--staged",
		"--no-color", "--check", "-p", "--patch", "--unified=N", "-UN", "-w", "--quiet", "--exit-code", "--no-ext-diff", "--color=never",
	}
	logOptions = []string{
		"--oneline", "-N", "-n N", "-nN", "--max-count=N", "--graph", "--decorate", "--all", "--no-merges", "--merges", "--first-parent",
		"--reverse", "--stat", "--shortstat", "--name-only", "--name-status", "-p", "--patch", "--no-color", "--follow",
		"--format=FORMAT", "--pretty=FORMAT", "--abbrev-commit", "--date=short", "--date=iso", "--date=relative",
		"--no-patch", "--color=never", "--since=TEXT", "--until=TEXT", "--author=TEXT", "--grep=TEXT",
	}
)

// grepOptions have grep read no list of patterns and no folder.
var grepOptions = []string{"-n", "-v", "-i", "-E", "-F", "-c", "-q", "-w", "-o", "-l", "-h", "-H", "-nE", "-En", "-vE", "-Ev", "-iE", "-Ei", "-in", "-ni", "-nv", "-iv",
	"-A N", "-B N", "-C N", "-AN", "-BN", "-CN", "-m N", "-mN"}

// forms is all that is granted in a shell. docs/grants.md shows it.
var forms = []*form{
	{words: "cmux done", args: "TEXT", least: 1, most: 1, effect: reports},
	{words: "cmux done --", args: "TEXT", least: 1, most: 1, effect: reports},
	{words: "cmux blocked", args: "TEXT", least: 1, most: 1, effect: reports},
	{words: "cmux blocked --", args: "TEXT", least: 1, most: 1, effect: reports},

	{words: "git status", options: []string{"-s", "--short", "-b", "-sb", "--branch", "--porcelain", "--porcelain=v1", "--porcelain=v2", "-uno", "-uall"}, paths: "PATH"},
	{words: "git diff", options: diffOptions, args: "REV", most: 2, paths: "PATH", mixed: true},
	{words: "git log", options: logOptions, args: "REV", most: 2, paths: "PATH", mixed: true},
	{words: "git show", options: logOptions, args: "OBJECT", most: 1, paths: "PATH", mixed: true},
	{words: "git stash list"},
	{words: "git branch --show-current"},
	{words: "git branch", options: []string{"-a", "-r", "-v", "-vv", "-av", "-avv", "--all", "--remotes", "--list", "--no-color"}},
	{words: "git worktree list", options: []string{"--porcelain", "-v"}},
	{words: "git rev-list --count", args: "REV", least: 1, most: 2},
	{words: "git tag", options: []string{"-l", "--list", "-n"}},
	{words: "git describe", options: []string{"--tags", "--always"}},
	{words: "git merge-base", args: "REV", least: 2, most: 2},
	{words: "git ls-files", args: "PATH", most: many, paths: "PATH"},
	{words: "git rev-parse", options: []string{"--abbrev-ref", "--short", "--verify", "--show-toplevel"}, args: "REV", most: 1},

	{words: "git add", options: []string{"-A", "--all", "-u", "--update", "-v"}, args: "PATH", most: many, paths: "PATH", effect: records},
	{words: "git commit", options: []string{"-q", "--quiet", "-a", "--all", "-aq", "-qa", "--allow-empty",
		"-m MESSAGE", "-am MESSAGE", "-qm MESSAGE", "-qam MESSAGE", "-aqm MESSAGE", "--message=MESSAGE"}, needs: "MESSAGE", effect: records},
	{words: "git commit -F -", options: []string{"-q", "--quiet", "-a", "--all"}, reads: true, effect: records},
	{words: "git commit -q -F -", options: []string{"-a", "--all"}, reads: true, effect: records},
	{words: "git commit -a -F -", options: []string{"-q", "--quiet"}, reads: true, effect: records},
	{words: "git commit --no-edit", options: []string{"-q", "--quiet", "-a", "--all"}, effect: records},
	{words: "git merge --no-edit", args: "TIP", most: 1, least: 1, effect: changes},
	{words: "git restore --staged", options: []string{"-q", "--quiet"}, args: "PATH", most: many, paths: "PATH", effect: records},
	{words: "git restore", options: []string{"-q", "--quiet", "--staged", "--worktree", "--source=COMMIT", "-s COMMIT"}, args: "FILE", most: many, paths: "FILE", effect: changes},
	{words: "git checkout --", args: "FILE", most: many, least: 1, effect: changes},
	{words: "git checkout -q --", args: "FILE", most: many, least: 1, effect: changes},
	{words: "git rm", options: []string{"-q", "--quiet", "--cached"}, args: "FILE", most: many, paths: "FILE", effect: changes},

	{words: "git mv", args: "KEPT", most: many, paths: "KEPT", to: true, effect: shifts},
	{words: "mv", args: "KEPT", most: many, paths: "KEPT", to: true, effect: shifts},
	{words: "rm", options: []string{"-f"}, args: "KEPT", most: many, paths: "KEPT", effect: shifts},

	{words: "mkdir", options: []string{"-p"}, args: "FOLDER", most: many, least: 1, effect: makes},
	{words: "touch", args: "NEW", most: many, least: 1, effect: makes},
	{words: "cat", options: []string{"-n"}, args: "PATH", most: many},
	{words: "head", options: []string{"-N", "-n N", "-nN", "-c N", "-cN"}, args: "PATH", most: 1},
	{words: "tail", options: []string{"-N", "-n N", "-nN", "-c N", "-cN"}, args: "PATH", most: 1},
	{words: "wc", options: []string{"-l", "-c", "-w"}, args: "PATH", most: many},
	{words: "grep", options: grepOptions, args: "PATH", first: "PATTERN", most: many},
	{words: "grep", options: slices.Concat(grepOptions, []string{"-r", "-rn", "-nr", "-rl", "-rc", "-rin", "-rni", "-rnE", "-rnF", "-rnw", "--include=TEXT"}), first: "PATTERN", args: "BELOW", most: many, least: 2, mixed: true},
	{words: "find", options: []string{"-type KIND", "-name PATTERN", "-iname PATTERN", "-path PATTERN", "-not", "-maxdepth N", "-mindepth N", "-print"}, args: "BELOW", most: many, least: 1, mixed: true},
	{words: "diff", options: []string{"-u", "-r", "-q", "-w", "-b", "-N", "-ru", "-rq", "--brief"}, args: "BELOW", most: 2, least: 2},
	{words: "sed", options: []string{"-n LINES"}, needs: "LINES", args: "PATH", most: 1},
	{words: "sed -i", first: "EDIT", args: "EDITED", least: 2, most: 2, effect: edits},
	{words: "sed -E -i", first: "EDIT", args: "EDITED", least: 2, most: 2, effect: edits},
	{words: "sed -i -E", first: "EDIT", args: "EDITED", least: 2, most: many, effect: edits},
	{words: "sed -i", options: []string{"-e EDIT"}, needs: "EDIT", args: "EDITED", least: 1, most: many, effect: edits},
	{words: "sed -E -i", options: []string{"-e EDIT"}, needs: "EDIT", args: "EDITED", least: 1, most: many, effect: edits},
	{words: "sed -i -E", options: []string{"-e EDIT"}, needs: "EDIT", args: "EDITED", least: 1, most: many, effect: edits},
	{words: "sed -i.bak", options: []string{"-E"}, first: "EDIT", args: "EDITED", least: 2, most: many, effect: edits},
	{words: "sed -i.bak", options: []string{"-E", "-e EDIT"}, needs: "EDIT", args: "EDITED", least: 1, most: many, effect: edits},
	{words: "sort", options: []string{"-n", "-r", "-u", "-rn", "-nr"}},
	{words: "uniq", options: []string{"-c", "-d", "-u"}},
	{words: "ls", options: []string{"-l", "-a", "-la", "-al", "-A", "-1", "-lh", "-lah", "-lA", "-d", "-ld", "-t", "-lt"}, args: "PATH", most: many},
	{words: "ls -R", options: []string{"-1", "-l"}, args: "PATH", most: many},
	{words: "tree", options: []string{"-L N", "-d", "-f", "-I PATTERN", "--noreport"}, args: "PATH", most: many, mixed: true},
	{words: "pwd"},
	{words: "sleep", args: "SECONDS", most: 1, least: 1},
	{words: "which", options: []string{"-a"}, args: "PROGRAM", most: many, least: 1},
	{words: "command -v", args: "PROGRAM", most: many, least: 1},
	{words: "type", options: []string{"-a"}, args: "PROGRAM", most: many, least: 1},
	{words: "true"},
	{words: "echo", args: "TEXT", most: many},
	{words: "echo", args: "VARIABLE", most: many, least: 1},
}

// match is a command that fits a form: what fills its slots.
type match map[string][]string

// match reports whether words fit the form, option by option.
func (f *form) match(words []lexeme) (m match, ok bool) {
	m = match{}
	words, ok = f.start(words)
	if !ok {
		return nil, false
	}
	var before []lexeme // arguments before an option
	for len(words) > 0 && words[0].text != "--" {
		n := f.option(words, m)
		if n == 0 && (!f.mixed || strings.HasPrefix(words[0].text, "-")) {
			break
		}
		if n == 0 {
			before, n = append(before, words[0]), 1
		}
		words = words[n:]
	}
	words = slices.Concat(before, words)
	args, paths := words, []lexeme(nil)
	if i := slices.IndexFunc(words, func(w lexeme) bool { return !w.here && w.text == "--" }); i >= 0 {
		if args, paths = words[:i], words[i+1:]; f.paths == "" {
			return nil, false
		}
	}
	if len(args) < f.least || len(args) > f.most || f.needs != "" && len(m[f.needs]) == 0 || len(m["LINES"]) > 1 {
		return nil, false
	}
	if f.effect == shifts && len(args) > 0 && len(args) < len(words) {
		return nil, false // some programs take the "--" behind an argument for a file
	}
	if all := max(len(args), len(paths)); f.to && all > 0 {
		last := slices.Concat(args, paths)[all-1]
		if !m.fill("TO", last, false) {
			return nil, false
		}
		args, paths = args[:max(0, len(args)-1)], paths[:max(0, len(paths)-1)]
	}
	if f.first != "" {
		if len(args) == 0 || !m.fill(f.first, args[0], false) {
			return nil, false
		}
		args = args[1:]
	}
	for _, w := range args {
		if !m.fill(f.args, w, f.words == "cmux done --" || f.words == "cmux blocked --" || f.words == "echo" && strings.HasPrefix(w.text, "---")) {
			return nil, false
		}
	}
	for _, w := range paths {
		if !m.fill(f.paths, w, false) {
			return nil, false
		}
	}
	return m, true
}

// takesDocument reports whether a command is known to read a here-document.
func takesDocument(c *command) bool {
	if c.to != "" {
		return len(c.words) == 1 && c.is("cat")
	}
	return slices.ContainsFunc(forms, func(f *form) bool {
		_, ok := f.match(c.words)
		return ok && f.reads
	})
}

// start takes the words off that begin the form. git takes --no-pager before
// its subcommand.
func (f *form) start(words []lexeme) (rest []lexeme, ok bool) {
	for i, want := range strings.Fields(f.words) {
		if i == 1 && f.program() == "git" && len(words) > 0 && words[0].text == "--no-pager" {
			words = words[1:]
		}
		if len(words) == 0 || words[0].here || words[0].text != want {
			return nil, false
		}
		words = words[1:]
	}
	return words, true
}

// option takes one option off, and says of how many words it is.
func (f *form) option(words []lexeme, m match) (n int) {
	for _, o := range f.options {
		at := slotOf(o)
		if at < 0 {
			if words[0].text == o && !words[0].here {
				return 1
			}
			continue
		}
		slot := o[at:]
		if name, separate := strings.CutSuffix(o[:at], " "); separate {
			if words[0].text == name && !words[0].here && len(words) > 1 && m.fill(slot, words[1], false) {
				return 2
			}
			continue
		}
		if value, ok := strings.CutPrefix(words[0].text, o[:at]); ok && !words[0].here && m.fill(slot, lexeme{text: value}, false) {
			return 1
		}
	}
	return 0
}

// slotOf returns where the slot of an option begins; -1: it stands for itself.
func slotOf(option string) int {
	for at := range option {
		if _, is := slots[option[at:]]; is {
			return at
		}
	}
	return -1
}

// fill puts a word into a slot when it fits there.
func (m match) fill(slot string, w lexeme, dashes bool) bool {
	s, known := slots[slot]
	if !known || w.here && slot != "MESSAGE" || w.open && slot != "VARIABLE" && slot != "GOFILE" || !dashes && strings.HasPrefix(w.text, "-") || !s.fits(w.text) {
		return false
	}
	m[slot] = append(m[slot], w.text)
	return true
}

// slots are what a word in capitals stands for. No word begins with "-", but a
// text behind "--".
var slots = map[string]struct {
	fits func(string) bool
	says string
}{
	"N":        {func(s string) bool { return number().MatchString(s) }, "a number"},
	"TEXT":     {func(string) bool { return true }, "a literal text. That of `echo` may begin with `---`"},
	"MESSAGE":  {func(string) bool { return true }, "a literal text, or `\"$(cat <<'EOF'`, lines none of which begins with `EOF`, `EOF` and `)\"`, as Claude Code writes it; `EOF` is any word of capitals"},
	"PATH":     {isPath, "a file or folder where the node works, links followed, outside of `.git` and `.cmux`; no pattern"},
	"BELOW":    {isPath, "as PATH, a folder of at most 4000 files in which no link, no `.cmux` and no other repository is, or a file"},
	"FILE":     {isPath, "as PATH, one file that git tracks, and nothing that programs take orders from (below)"},
	"KEPT":     {isPath, "as PATH, one file in the `scope` that git tracks and that is as in the last commit; `rm` may also remove one that the same text made. No part of its name begins with a dot, and none is a link or another repository"},
	"TO":       {isPath, "a folder, or a file that is not there or is as KEPT. What the files are then called follows the rule of KEPT"},
	"NEW":      {isPath, "a file that is not there, where the file tools may write it, under the rule of KEPT for its name"},
	"FOLDER":   {isPath, "as PATH, without `..` and links, and nothing that programs take orders from (below)"},
	"REV":      {isRange, "a branch, a tag, a commit, `HEAD~1`, `'HEAD^'`, or two of them with `..` or `...` between"},
	"OBJECT":   {isObject, "as REV, or `REV:PATH`"},
	"COMMIT":   {func(s string) bool { return revision().MatchString(s) && !strings.Contains(s, "..") }, "a commit"},
	"SECONDS":  {func(s string) bool { return seconds().MatchString(s) }, "a number up to 600"},
	"PROGRAM":  {func(s string) bool { return program().MatchString(s) }, "the name of a program, without a folder"},
	"VARIABLE": {func(s string) bool { return strings.Contains(s, "$CMUX_") || strings.Contains(s, "${CMUX_") }, "`$CMUX_PORT_BASE` or `$CMUX_SLOT`, and in double quotes also `$CMUX_NODE`, `$CMUX_BRANCH` and `$CMUX_ROOT`"},
	"PATTERN":  {func(string) bool { return true }, "a literal text that does not begin with `-`"},
	"KIND":     {func(s string) bool { return s == "f" || s == "d" }, "`f` or `d`"},
	"LINES":    {func(s string) bool { return lines().MatchString(s) }, "lines to print: `'1,40p'`, `'5p;9,$p'`"},
	"EDIT":     {isEdit, "`s` with `/`, `|`, `#`, `,`, `:` or `@` just three times, and behind it `g`, `I` or a number at most, also for lines (`3s/a/b/`, `2,5s/a/b/`), or `d` for lines or a pattern (`3d`, `2,5d`, `/x/d`). `/x/` may also choose the lines of `s`, and begin or end those of `d` (`/x/,$d`), and several are granted, if no sed can take the bounds for others: no backslash is before one, and no `[` open there"},
	"EDITED":   {isPath, "a file as the file tools may write it, under the rule of KEPT for its name. Some programs take the word behind `-i` for the ending of a copy, which must not be there, or the file for a script: no file whose name would write as one"},
	"PACKAGE":  {func(s string) bool { return packages().MatchString(s) }, "a Go package here, or all below a folder: `.`, `./a`, `./a/...`"},
	"PACKAGES": {func(s string) bool { return packages().MatchString(s) && strings.HasSuffix(s, "/...") }, "all Go packages below a folder, when they are more than one, or none is a program: `./...`"},
	"GOFILE": {func(s string) bool {
		return isPath(s) || strings.HasSuffix(s, "/*.go") && isPath(strings.TrimSuffix(s, "/*.go"))
	}, "a file `.go` that the node may write, no link on the way to it, or a folder in which all are, or `FOLDER/*.go`, where there are some and none is hidden"},
	"SYMBOL":   {func(s string) bool { return symbol().MatchString(s) && !strings.Contains(s, "..") }, "a name, without `..`"},
	"TARGET":   {func(s string) bool { return target().MatchString(s) }, "a name of a target or script; the same ones as in the check"},
	"TESTS":    {func(s string) bool { return tests().MatchString(s) }, "a module of tests in packages, `tests.test_a` or `tests/test_a.py`, a class of it whose name begins with `Test` or ends so, or a test of that"},
	"TESTFILE": {func(s string) bool { return testFile().MatchString(s) }, "a folder `test` or `tests`, or a file of tests below it, or a test of that"},
	"TESTGLOB": {func(s string) bool { return testGlob().MatchString(s) }, "names of files among `test*.py`"},
	"TIP":      {func(s string) bool { return tip().MatchString(s) }, "the whole id of a commit that deletes, links and renames nothing since it and HEAD parted, and neither does HEAD; the files that it changes are in the `scope`, and none is one that programs take orders from"},
	"FORMAT":   {func(s string) bool { return format().MatchString(s) }, "`oneline`, `short`, `medium`, `full`, or the placeholders of hash, author, date, subject and body"},
}

// Compiled when they are needed: every hook starts with this package, and few
// judge a command.
var (
	number   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9]{1,9}$`) })
	pathText = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[\pL\pN_./@+,][\pL\pN\pM_./@+,%= -]*$`) })
	lines    = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^[0-9]+(?:,(?:[0-9]+|\$))?p(?:; ?[0-9]+(?:,(?:[0-9]+|\$))?p)*$`)
	})
	packages = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^\.(?:/[A-Za-z0-9_][A-Za-z0-9_.-]*)*(?:/\.\.\.|/)?$`)
	})
	symbol  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(?:\./)?[A-Za-z0-9_][A-Za-z0-9_./:-]*$`) })
	seconds = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(?:[0-9]|[1-9][0-9]|[1-5][0-9][0-9]|600)$`) })
	program = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.+-]*$`) })
	tip     = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(?:[0-9a-f]{40}|[0-9a-f]{64})$`) })
	target  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.:/-]*$`) })
	tests   = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(?:[a-z_][a-z0-9_]*/)*test[a-z0-9_]*\.py$|^(?:[a-z_][a-z0-9_]*\.)*test[a-z0-9_]*(?:\.(?:Test[A-Za-z0-9_]*|[A-Z][A-Za-z0-9_]*Test(?:s|Case)?)(?:\.test[A-Za-z0-9_]*)?)?$`)
	})
	testGlob = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^test[A-Za-z0-9_*]*\.py$`) })
	testFile = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(?:[A-Za-z0-9_]+/)*tests?(?:/[A-Za-z0-9_]+)*(?:/|/test_[A-Za-z0-9_]*\.py(?:::[A-Za-z0-9_]+)*)?$`)
	})
	revision = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]*(?:/[A-Za-z0-9_][A-Za-z0-9_.-]*)*(?:[~^][0-9]*)*$`)
	})
	deletes = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(?:[0-9]+(?:,(?:[0-9]+|\$))?|\$|/[^/\n]+/)d$`) })
	chosen  = sync.OnceValue(func() *regexp.Regexp {
		const line = `(?:[0-9]+|\$|/` + sureText + `/)`
		return regexp.MustCompile(`^` + line + `(?:,` + line + `)?(d$|s)`)
	})
	sure     = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^` + strings.ReplaceAll(sureText, "/", "") + `$`) })
	replaces = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(?:[0-9]+(?:,(?:[0-9]+|\$))?)?s([/|#,:@])([^\n]*)$`)
	})
	flags  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(?:g|[0-9]*I?)$|^gI$`) })
	format = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(?:oneline|short|medium|full|fuller|(?:format:|tformat:)?(?:%[hHsbBtTpPdDn]|%a[neadirsI]|%c[neadirsI]|[A-Za-z0-9 ,.;:|/()\[\]_-])*)$`)
	})
)

// sureText is a pattern between slashes that every sed takes for one.
const sureText = `(?:[^/\\\[\n]|\\[^/\n]|\[\^?(?:\[:[a-z]+:\]|[^/\\\[\]\n^])(?:\[:[a-z]+:\]|[^/\\\[\]\n])*\])+`

func isPath(s string) bool { return pathText().MatchString(s) }

// isRange reports whether a text is one revision, or two with dots between.
func isRange(s string) bool {
	from, to, two := strings.Cut(s, "..")
	if !two {
		return revision().MatchString(s)
	}
	to = strings.TrimPrefix(to, ".")
	return revision().MatchString(from) && !strings.Contains(to, "..") && (to == "" || revision().MatchString(to))
}

func isObject(s string) bool {
	rev, path, two := strings.Cut(s, ":")
	if !two {
		return isRange(s)
	}
	return revision().MatchString(rev) && !strings.Contains(s, "..") && isPath(path)
}

// isEdit reports whether every sed takes a text for one command that only changes lines,
// or for a fault: what takes fewer of the three for its bounds finds no end.
func isEdit(s string) bool {
	if deletes().MatchString(s) {
		return true
	}
	m := replaces().FindStringSubmatch(s)
	if m == nil {
		return isSureEdit(s)
	}
	parts := strings.Split(m[2], m[1])
	return len(parts) == 3 && parts[0] != "" && flags().MatchString(parts[2])
}

// isSureEdit reports whether every sed takes a text for just one command that only
// changes lines, and what is added to it for another one.
func isSureEdit(s string) bool {
	if at := chosen().FindStringSubmatchIndex(s); at != nil {
		if s[at[2]:at[3]] == "d" {
			return true
		}
		s = s[at[2]:]
	}
	m := replaces().FindStringSubmatch(s)
	if m == nil || s[0] != 's' {
		return false
	}
	parts := strings.Split(m[2], m[1])
	return len(parts) == 3 && sure().MatchString(parts[0]) && !strings.HasSuffix(parts[1], `\`) && flags().MatchString(parts[2])
}

// Grants is the table of what is granted in a shell, as Markdown.
func Grants() string {
	var b strings.Builder
	b.WriteString("| command | options | arguments | |\n|---|---|---|---|\n")
	code := func(words []string) string {
		if len(words) == 0 {
			return ""
		}
		return "`" + strings.Join(words, "` `") + "`"
	}
	for _, f := range forms {
		var args []string
		if f.first != "" {
			args = append(args, f.first)
		}
		switch {
		case f.args != "" && f.most == 1+len(args):
			args = append(args, f.args)
		case f.args != "":
			args = append(args, f.args+" ...")
		}
		if f.paths != "" {
			args = append(args, "-- "+f.paths+" ...")
		}
		if f.reads {
			args = append(args, "<<'EOF'")
		}
		if f.to {
			for i := range args {
				args[i] += " TO"
			}
		}
		b.WriteString("| `" + f.words + "` | " + code(f.options) + " | " + code(args) + " | " + effects[f.effect] + " |\n")
	}
	b.WriteString("\n")
	for _, name := range []string{"TEXT", "MESSAGE", "PATH", "BELOW", "FILE", "KEPT", "TO", "EDITED", "EDIT", "NEW", "FOLDER", "REV", "OBJECT", "COMMIT", "TIP", "FORMAT", "N", "VARIABLE", "SECONDS", "PROGRAM", "PATTERN", "KIND", "LINES", "PACKAGE", "PACKAGES", "GOFILE", "TESTS", "TESTFILE", "TESTGLOB", "TARGET", "SYMBOL"} {
		b.WriteString("- `" + name + "`: " + slots[name].says + "\n")
	}
	b.WriteString("\nA check, word for word, may end with `2>&1`, a pipe into `head`, `tail`, `wc`, `cat`, `grep`, `sed -n`, `sort` or `uniq`, and `; echo $?`. " +
		"Of a check whose commands are joined by `&&`, the first may be run alone, and each that stands behind programs that build and test only (`go`, `make`, `npm`, `python3 -m`, ...; a script such as `python3 x.py` is none). " +
		"Where a check runs one of these programs, a run of fewer of its tests is granted, and what builds or shows the same code. An option of the check that leaves out tests (`-short`) stays; a check that picks tests (`-run`, `-k`) is run as it is. `python` stands for `python3`, and the reverse, where both are one file from one folder. To `discover` of a check without `-p`, `-p TESTGLOB` may be added. `time` and `timeout N` may stand before one, and before `go`, where you have set no flags of it, `GOFLAGS=-count=1`, `-race` or `-v`. In a folder below, `go` may do the same with the packages there (`cd price && go test .`), if no `go.mod` or `go.work` is in between. Go packages in `testdata`, `vendor`, `_x` or another module are not granted, and neither are tests that the configuration of pytest leaves out:\n\n" + Checks())
	b.WriteString("\nOrders to cmux, with literal words and these options only (and `--help`, also of `cmux` itself and of a group such as `cmux tasks`). No option stands right before `--`, and a role is named, not a file. Behind `--`, `locks with` has a command that prints, a check or an order, and after it and `locks take` the same holds as after a check:\n\n" + rights.Table())
	return b.String()
}
