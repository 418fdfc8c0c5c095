package guard

import (
	"encoding/json"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"mvdan.cc/sh/v3/syntax"

	"cmux/dag"
)

// grants reports whether cmux vouches for a call that is not refused. What is
// not surely harmless is not granted: its kind asks, as it does without cmux.
func (g *guard) grants(c Call, in input) bool {
	switch kindOf(c.Tool) {
	case writes:
		return g.grantsWrite(c, in)
	case shells:
		return g.grantsShell(c, in)
	}
	return false
}

// builds reports whether the node has a worktree to change.
func (g *guard) builds() bool { return g.hasOwnPlace && g.Role != dag.RoleReview }

// grantsWrite grants a file tool of the kinds themselves; what an MCP server
// does beside writing is its own. Codex may ask for leave to write all of a
// folder from now on.
func (g *guard) grantsWrite(c Call, in input) bool {
	paths := in.paths()
	if _, folder := in.fields["grantRoot"]; !g.builds() || folder || strings.HasPrefix(strings.ToLower(c.Tool), "mcp__") || len(paths) == 0 {
		return false
	}
	for _, p := range paths {
		if !g.grantsFile(c.Dir, p) {
			return false
		}
	}
	return true
}

// grantsFile grants a file to be written, wherever a program may look for it.
func (g *guard) grantsFile(dir, path string) bool {
	spots, ok := g.spots(dir, path)
	if !ok || !g.builds() {
		return false
	}
	for _, s := range spots {
		if g.mayWriteAt(path, s) != "" || obeyed(s.rel) || s.rel == "." {
			return false
		}
	}
	return true
}

// spots are the places that a path may mean: with its links followed, and the
// link itself. ok says that all are the node's own and none holds state.
func (g *guard) spots(dir, path string) (spots []spot, ok bool) {
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
	parent, err := g.resolve(filepath.Dir(clean))
	if err != nil {
		return nil, false
	}
	spots = append(spots, g.spotOf(filepath.Join(parent, filepath.Base(clean))))
	for _, p := range []string{abs, clean} {
		r, err := g.resolve(p)
		if err != nil {
			return nil, false
		}
		spots = append(spots, g.spotOf(r))
	}
	for _, s := range spots {
		if s.whose != own || s.state != "" || odd(s.rel) {
			return nil, false
		}
	}
	return spots, true
}

// programs are told what to run by these files and folders, without anyone
// asking for it: the agents themselves, editors, and the hooks of commits.
var programs = []string{
	".claude", ".mcp.json", ".codex", ".kimi", ".agents",
	".vscode", ".idea", ".devcontainer", ".envrc",
	".husky", ".githooks", ".pre-commit-config.yaml", "lefthook.yml", ".lefthook.yml",
	".gitmodules", ".gitconfig",
}

func obeyed(rel string) bool {
	return slices.ContainsFunc(strings.Split(rel, "/"), func(name string) bool {
		return slices.ContainsFunc(programs, func(p string) bool { return strings.EqualFold(name, p) })
	})
}

// odd reports whether some file system takes a name for another one: by
// characters that it does not count, or by a short form of it.
func odd(rel string) bool {
	for _, name := range strings.Split(rel, "/") {
		if name != "." && name != strings.TrimRight(name, ". ") || strings.ContainsAny(name, `\:`) {
			return true
		}
		if i := strings.IndexByte(name, '~'); i >= 0 && i+1 < len(name) && '0' <= name[i+1] && name[i+1] <= '9' {
			return true
		}
	}
	return strings.ContainsFunc(rel, func(r rune) bool {
		return unicode.Is(unicode.Cf, r) || unicode.IsControl(r) || r == unicode.ReplacementChar
	})
}

// harmlessFields of a shell tool's input do not change what a command may do.
var harmlessFields = []string{"command", "description", "timeout", "run_in_background"}

func (g *guard) grantsShell(c Call, in input) bool {
	if t := strings.ToLower(c.Tool); t != "bash" && t != "shell" {
		return false
	}
	for name, value := range in.fields {
		if v := string(value); !slices.Contains(harmlessFields, name) && v != "false" && v != "null" {
			return false
		}
	}
	var script string
	if json.Unmarshal(in.fields["command"], &script) != nil {
		return false
	}
	dir, err := g.resolve(c.Dir)
	if err != nil {
		return false
	}
	if s := g.spotOf(dir); s.whose != own || s.state != "" {
		dir = ""
	}
	v := &voucher{guard: g, dir: dir, sure: true}
	return v.script(script)
}

// voucher vouches for a script when each of its commands is known to be
// harmless, whichever of the common shells runs it.
type voucher struct {
	*guard
	src     string
	dir     string // of the commands, resolved; empty when it cannot be told
	sure    bool   // the last cd cannot have failed
	wrapped bool   // within sh -c
}

func (v *voucher) script(text string) bool {
	if text = strings.TrimSpace(text); len(text) > maxScript || !tidy(text) {
		return false
	}
	if v.verifies(text) {
		return true
	}
	f, err := syntax.NewParser(syntax.Variant(syntax.LangBash), syntax.KeepComments(true)).Parse(strings.NewReader(text), "")
	if err != nil || len(f.Stmts) == 0 || commented(f) {
		return false
	}
	v.src = text
	if inner, ok := v.inner(f.Stmts); ok {
		v.wrapped = true
		return v.script(inner)
	}
	return v.list(f.Stmts)
}

// tidy reports whether a text has no character that shells read differently.
func tidy(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool {
		return r != '\n' && r != '\t' && unicode.IsControl(r) || r == unicode.ReplacementChar
	})
}

// commented reports whether there are comments: not every shell takes them for
// such.
func commented(f *syntax.File) (found bool) {
	syntax.Walk(f, func(n syntax.Node) bool {
		_, is := n.(*syntax.Comment)
		found = found || is
		return !found
	})
	return found
}

// verifies reports whether a text is one of the node's checks, in the place
// where they are run.
func (v *voucher) verifies(text string) bool {
	return v.hasOwnPlace && v.dir == v.tree && slices.ContainsFunc(v.Verify, func(check string) bool {
		return strings.TrimSpace(check) == text
	})
}

var shellDirs = []string{"/bin", "/usr/bin", "/usr/local/bin", "/opt/homebrew/bin"}

// inner is the script of a single sh -c, in which Codex wraps every command.
func (v *voucher) inner(stmts []*syntax.Stmt) (script string, ok bool) {
	if v.wrapped || len(stmts) != 1 {
		return "", false
	}
	call, is := stmts[0].Cmd.(*syntax.CallExpr)
	if !is || len(stmts[0].Redirs) > 0 || len(call.Assigns) > 0 || stmts[0].Background || stmts[0].Coprocess || stmts[0].Disown {
		return "", false
	}
	args, ok := literals(call.Args)
	if !ok || len(args) != 3 || args[1] != "-c" && args[1] != "-lc" {
		return "", false
	}
	dir, name := filepath.Split(args[0])
	if dir != "" && !slices.Contains(shellDirs, filepath.Clean(dir)) || name != "bash" && name != "sh" && name != "zsh" {
		return "", false
	}
	return args[2], true
}

func (v *voucher) list(stmts []*syntax.Stmt) bool {
	for _, st := range stmts {
		if !v.sure {
			v.dir, v.sure = "", true
		}
		if !v.statement(st) {
			return false
		}
	}
	return true
}

func (v *voucher) statement(st *syntax.Stmt) bool {
	before := v.dir
	if !v.plainly(st) {
		return false
	}
	if st.Negated && v.moved(before) {
		v.dir = "" // what follows runs when the cd failed
	}
	return true
}

// moved reports whether a cd since the shell stood in before may have led
// elsewhere; back again counts, as one of them may not have been run.
func (v *voucher) moved(before string) bool { return v.dir != before || !v.sure }

// plainly vouches for a statement whether or not its result is negated.
func (v *voucher) plainly(st *syntax.Stmt) bool {
	if st.Background || st.Coprocess || st.Disown || st.Cmd == nil {
		return false
	}
	for _, r := range st.Redirs {
		if !v.redirection(r) {
			return false
		}
	}
	if v.verifies(v.src[st.Cmd.Pos().Offset():st.Cmd.End().Offset()]) {
		v.afterCheck(st.Cmd)
		return true
	}
	switch c := st.Cmd.(type) {
	case *syntax.CallExpr:
		args, ok := literals(c.Args)
		return ok && len(c.Assigns) == 0 && len(args) > 0 && v.command(args)
	case *syntax.BinaryCmd:
		return v.binary(c)
	}
	return false
}

// afterCheck forgets where the shell stands when a check may have moved it.
func (v *voucher) afterCheck(c syntax.Command) {
	call, ok := c.(*syntax.CallExpr)
	if ok && len(call.Args) > 0 {
		switch call.Args[0].Lit() {
		case "", "cd", "pushd", "popd", "eval", "source", ".", "command", "builtin":
		default:
			return
		}
	}
	v.dir = ""
}

func (v *voucher) binary(c *syntax.BinaryCmd) bool {
	before := v.dir
	switch c.Op {
	case syntax.AndStmt:
		return v.statement(c.X) && v.statement(c.Y)
	case syntax.OrStmt: // Y runs when X failed, such as a cd
		if !v.statement(c.X) {
			return false
		}
		moved := v.moved(before)
		if moved {
			v.dir = ""
		}
		ok := v.statement(c.Y)
		if moved || v.moved(before) {
			v.dir = ""
		}
		return ok
	case syntax.Pipe, syntax.PipeAll:
		sure, moved := v.sure, false
		for _, side := range []*syntax.Stmt{c.X, c.Y} {
			ok := v.statement(side)
			moved = moved || v.dir != before || v.sure != sure
			if v.dir, v.sure = before, sure; !ok {
				return false
			}
		}
		if moved { // zsh runs the last side in the shell itself
			v.dir = ""
		}
		return true
	}
	return false
}

// redirection vouches for what is read from the node's own files, written to
// its scope, or led from one stream to another.
func (v *voucher) redirection(r *syntax.Redirect) bool {
	if r.N != nil && strings.Trim(r.N.Value, "0123456789") != "" {
		return false
	}
	switch r.Op {
	case syntax.Hdoc, syntax.DashHdoc:
		_, ok := heredoc(r)
		return ok
	}
	to, ok := literalWord(r.Word)
	if !ok {
		return false
	}
	switch r.Op {
	case syntax.WordHdoc:
		return true
	case syntax.RdrIn:
		return to == "/dev/null" || v.reads(to)
	case syntax.RdrOut, syntax.AppOut, syntax.RdrAll, syntax.AppAll:
		return to == "/dev/null" || v.grantsFile(v.dir, to)
	case syntax.DplOut, syntax.DplIn:
		return to != "" && strings.Trim(to, "0123456789") == ""
	}
	return false
}

// reads vouches for a file that is read: of the node's own, and no state.
func (v *voucher) reads(path string) bool {
	_, ok := v.spots(v.dir, path)
	return ok
}

// literals are words whose text is known, for every shell and on every machine.
func literals(words []*syntax.Word) (texts []string, ok bool) {
	for _, w := range words {
		text, ok := literalWord(w)
		if !ok {
			return nil, false
		}
		texts = append(texts, text)
	}
	return texts, true
}

func literalWord(w *syntax.Word) (text string, ok bool) {
	if w == nil {
		return "", false
	}
	var b strings.Builder
	for i, part := range w.Parts {
		switch p := part.(type) {
		case *syntax.Lit:
			if !unquoted(&b, p.Value, i == 0) {
				return "", false
			}
		case *syntax.SglQuoted:
			if p.Dollar {
				return "", false
			}
			b.WriteString(p.Value)
		case *syntax.DblQuoted:
			if p.Dollar || !doubleQuoted(&b, p) {
				return "", false
			}
		default:
			return "", false
		}
	}
	return b.String(), true
}

// unquoted writes a literal that stands without quotes. Only characters that
// mean nothing to any shell are taken; first says that it begins the word.
func unquoted(b *strings.Builder, text string, first bool) bool {
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9', strings.IndexByte("_./:@%+,-", c) >= 0:
		case c == '=' || c == '~' || c == '^': // zsh reads them at the beginning of words
			if first && i == 0 || c == '~' && strings.IndexByte("=:", last(b)) >= 0 {
				return false
			}
		case c == '\\' && i+1 < len(text) && text[i+1] > ' ' && text[i+1] < 0x7f:
			i++
			c = text[i]
		default:
			return false
		}
		b.WriteByte(c)
	}
	return true
}

func last(b *strings.Builder) byte {
	if s := b.String(); s != "" {
		return s[len(s)-1]
	}
	return '='
}

// doubleQuoted writes a text in double quotes that expands nothing, or the one
// expansion that agents are in the habit of: "$(cat <<'EOF' ...)".
func doubleQuoted(b *strings.Builder, q *syntax.DblQuoted) bool {
	for _, part := range q.Parts {
		switch p := part.(type) {
		case *syntax.Lit:
			unescape(b, p.Value, true)
		case *syntax.CmdSubst:
			text, ok := catted(p)
			if !ok {
				return false
			}
			b.WriteString(text)
		default:
			return false
		}
	}
	return true
}

// catted is the text of $(cat <<'EOF' ...).
func catted(c *syntax.CmdSubst) (text string, ok bool) {
	if c.Backquotes || c.TempFile || c.ReplyVar || len(c.Stmts) != 1 {
		return "", false
	}
	st := c.Stmts[0]
	call, ok := st.Cmd.(*syntax.CallExpr)
	if !ok || st.Background || st.Coprocess || st.Disown || st.Negated || len(call.Assigns) > 0 || len(st.Redirs) != 1 ||
		len(call.Args) != 1 || call.Args[0].Lit() != "cat" || st.Redirs[0].Op != syntax.Hdoc || st.Redirs[0].N != nil {
		return "", false
	}
	text, ok = heredoc(st.Redirs[0])
	return strings.TrimRight(text, "\n"), ok
}

// heredoc is the text of a here-document that expands nothing.
func heredoc(r *syntax.Redirect) (text string, ok bool) {
	delimiter, ok := literalWord(r.Word)
	if !ok || delimiter == "" || len(r.Word.Parts) != 1 {
		return "", false
	}
	_, plain := r.Word.Parts[0].(*syntax.Lit)
	if r.Hdoc == nil {
		return "", true // an empty document
	}
	var b strings.Builder
	for _, part := range r.Hdoc.Parts {
		l, is := part.(*syntax.Lit)
		if !is {
			return "", false
		}
		if plain {
			unescape(&b, l.Value, true)
		} else {
			b.WriteString(l.Value)
		}
	}
	return b.String(), true
}

// printed are formats of printf that take their arguments as texts. zsh
// calculates a number, and what it calculates may run commands.
var printed = regexp.MustCompile(`^([^-%\\]|%%|%-?[0-9]*[sb]|\\[abefnrtv\\"'])([^%\\]|%%|%-?[0-9]*[sb]|\\[abefnrtv\\"'])*$`)

// command vouches for a command with its arguments.
func (v *voucher) command(args []string) bool {
	name, rest := args[0], args[1:]
	switch name {
	case "cmux":
		return len(rest) > 0 && (rest[0] == "done" || rest[0] == "blocked")
	case "git":
		return v.git(rest)
	case "cd":
		return len(rest) == 1 && v.cd(rest[0])
	case "echo", "true", "false", ":":
		return true
	case "printf":
		return len(rest) > 0 && printed.MatchString(rest[0])
	case "tr":
		_, ok := options{flags: "dscC"}.parse(rest)
		return ok
	}
	r, known := readers[name]
	if !known || v.dir == "" {
		return false
	}
	a, ok := r.options.parse(rest)
	if !ok {
		return false
	}
	files := a.all()
	if r.pattern && !a.seen["e"] {
		if len(files) == 0 {
			return false
		}
		files = files[1:]
	}
	if len(files) > r.most {
		return false
	}
	for _, f := range files {
		if f != "-" && !v.reads(f) {
			return false
		}
	}
	return true
}

// cd moves within the node's own place. The worktree itself is sure to be there.
func (v *voucher) cd(to string) bool {
	if strings.HasPrefix(to, "-") || strings.HasPrefix(to, "+") || slices.Contains(strings.Split(to, "/"), "..") || !v.reads(to) {
		return false
	}
	if !filepath.IsAbs(to) {
		to = filepath.Join(v.dir, to)
	}
	r, err := v.resolve(to)
	v.dir, v.sure = r, v.sure && r == v.tree
	return err == nil
}

// options are those of a command that can do no harm. Others may.
type options struct {
	flags    string   // letters that take no value
	valued   string   // letters whose value is attached or the next word
	attached string   // letters whose value, if any, is attached
	long     []string // names whose value, if any, follows a "="
	longNext []string // names whose value follows a "=" or is the next word
}

// arguments are those of a command, without the options.
type arguments struct {
	words []string
	paths []string // after "--"
	seen  map[string]bool
	value map[string][]string
}

func (a arguments) all() []string { return append(a.words[:len(a.words):len(a.words)], a.paths...) }

// parse takes arguments apart, as getopt does. It fails at an option that is
// not known to be harmless.
func (o options) parse(args []string) (a arguments, ok bool) {
	a.seen, a.value = map[string]bool{}, map[string][]string{}
	for i := 0; i < len(args); i++ {
		arg := args[i]
		next := func() (string, bool) {
			if i+1 >= len(args) {
				return "", false
			}
			i++
			return args[i], true
		}
		switch {
		case arg == "--":
			a.paths = args[i+1:]
			return a, true
		case strings.HasPrefix(arg, "--"):
			name, value, has := strings.Cut(arg[2:], "=")
			separate := slices.Contains(o.longNext, name)
			if !separate && !slices.Contains(o.long, name) {
				return a, false
			}
			if separate && !has {
				if value, has = next(); !has {
					return a, false
				}
			}
			a.seen[name], a.value[name] = true, append(a.value[name], value)
		case strings.HasPrefix(arg, "-") && arg != "-":
			if !o.cluster(arg[1:], &a, next) {
				return a, false
			}
		default:
			a.words = append(a.words, arg)
		}
	}
	return a, true
}

// cluster takes letters apart that stand behind one dash.
func (o options) cluster(letters string, a *arguments, next func() (string, bool)) bool {
	for j := range len(letters) {
		letter, value := letters[j:j+1], letters[j+1:]
		a.seen[letter] = true
		switch {
		case strings.Contains(o.flags, letter):
			continue
		case strings.Contains(o.valued, letter):
			if value == "" {
				var ok bool
				if value, ok = next(); !ok {
					return false
				}
			}
			a.value[letter] = append(a.value[letter], value)
			return true
		case strings.Contains(o.attached, letter):
			return true
		}
		return false
	}
	return true
}

// reader is a command that reads files and can neither write nor start others.
type reader struct {
	options
	pattern bool // the first argument is none of the files
	most    int  // files
}

const (
	digits = "0123456789"
	many   = 1 << 20
)

var readers = map[string]reader{
	"ls":   {options: options{flags: "1aAlhtrRSdFpins"}, most: many},
	"cat":  {options: options{flags: "nbsAetTuvE"}, most: many},
	"head": {options: options{flags: "qv" + digits, valued: "nc"}, most: many},
	"tail": {options: options{flags: "qv" + digits, valued: "nc"}, most: many},
	"wc":   {options: options{flags: "lwcmL"}, most: many},
	"pwd":  {options: options{flags: "LP"}},
	"grep": {options: options{flags: "EFGPivwxcnHhlLoqsraIb" + digits, valued: "eABm", attached: "C", long: []string{
		"include", "exclude", "exclude-dir", "color", "count", "ignore-case", "line-number", "recursive", "files-with-matches",
		"files-without-match", "only-matching", "extended-regexp", "fixed-strings", "invert-match", "quiet", "word-regexp",
	}}, pattern: true, most: many},
	"rg": {options: options{flags: "iSsFwxcnNHIlovUq", valued: "eABCmgtT", long: []string{
		"glob", "type", "type-not", "count", "ignore-case", "smart-case", "fixed-strings", "line-number", "no-heading",
		"heading", "files-with-matches", "word-regexp", "color", "no-ignore", "stats", "json",
	}}, pattern: true, most: many},
	"sort": {options: options{flags: "nrufbhVsgMdi", valued: "kt"}, most: many},
	"uniq": {options: options{flags: "cdui"}},
	"cut":  {options: options{flags: "sn", valued: "dfcb"}, most: many},
}

var (
	diffLong = []string{
		"stat", "numstat", "shortstat", "summary", "dirstat", "name-only", "name-status", "cached", "staged", "color", "no-color",
		"patch", "no-patch", "unified", "word-diff", "abbrev", "exit-code", "quiet", "check", "raw", "minimal", "patience",
		"histogram", "diff-filter", "find-renames", "no-renames", "full-index", "function-context", "text", "merge-base",
		"ignore-all-space", "ignore-space-change", "ignore-blank-lines", "compact-summary", "patch-with-stat",
	}
	logLong = append([]string{
		"oneline", "graph", "decorate", "no-decorate", "all", "branches", "tags", "remotes", "format", "pretty", "abbrev-commit",
		"max-count", "skip", "since", "until", "after", "before", "author", "committer", "grep", "follow", "reverse",
		"first-parent", "merges", "no-merges", "date", "topo-order", "date-order", "left-right", "cherry-pick",
	}, diffLong...)
	diffOptions = options{flags: "puwbaRzs", valued: "SG", attached: "MCBU", long: diffLong}
	logOptions  = options{flags: "puwbaRzsmciEFP" + digits, valued: "SGnL", attached: "MCBU", long: logLong}
)

// gitCommands are the subcommands that are vouched for.
var gitCommands = map[string]struct {
	options
	writes bool
	paths  bool // its arguments are files, not revisions
}{
	"status": {options: options{flags: "sbvz", attached: "u", long: []string{"short", "branch", "porcelain", "long", "verbose", "untracked-files", "ignored", "renames", "no-renames"}}, paths: true},
	"diff":   {options: diffOptions},
	"log":    {options: logOptions},
	"show":   {options: logOptions},
	"rev-parse": {options: options{long: []string{"show-toplevel", "abbrev-ref", "short", "verify", "quiet", "git-dir",
		"git-common-dir", "is-inside-work-tree", "symbolic-full-name", "show-prefix", "absolute-git-dir"}}},
	"add": {options: options{flags: "AuvnN", long: []string{"all", "update", "verbose", "dry-run", "intent-to-add"}}, writes: true, paths: true},
	"commit": {options: options{flags: "aqvs", valued: "mF", long: []string{"all", "quiet", "verbose", "signoff", "amend", "no-edit", "allow-empty"},
		longNext: []string{"message", "file"}}, writes: true, paths: true},
	"restore": {options: options{flags: "SWq", valued: "s", long: []string{"staged", "worktree", "quiet"}, longNext: []string{"source"}}, writes: true, paths: true},
	"mv":      {options: options{flags: "vnk"}, writes: true, paths: true},
	"rm":      {options: options{flags: "qn", long: []string{"cached", "dry-run", "quiet"}}, writes: true, paths: true},
}

// git vouches for a command at the top of the node's worktree: below it, what
// an agent has written could be taken for a repository with commands in its
// configuration.
func (v *voucher) git(args []string) bool {
	dir := v.dir
	for len(args) > 0 && strings.HasPrefix(args[0], "-") {
		switch {
		case args[0] == "--no-pager":
			args = args[1:]
		case args[0] == "-C" && len(args) > 1:
			spots, ok := v.spots(dir, args[1])
			if !ok {
				return false
			}
			dir, args = spots[1].path, args[2:]
		default:
			return false
		}
	}
	if len(args) == 0 || dir != v.tree {
		return false
	}
	sub, known := gitCommands[args[0]]
	if !known || sub.writes && !v.builds() {
		return false
	}
	a, ok := sub.options.parse(args[1:])
	if !ok {
		return false
	}
	for _, w := range a.words {
		if sub.paths && !v.pathspec(dir, w) || !sub.paths && !v.revision(dir, w) {
			return false
		}
	}
	for _, w := range a.paths {
		if !v.pathspec(dir, w) {
			return false
		}
	}
	return v.gitSubcommand(args[0], a, dir)
}

// gitSubcommand looks at what is special to one.
func (v *voucher) gitSubcommand(sub string, a arguments, dir string) bool {
	switch sub {
	case "commit":
		files := append(a.value["F"], a.value["file"]...)
		for _, f := range files {
			if _, ok := v.spots(dir, f); f != "-" && !ok {
				return false
			}
		}
		// Without a message it starts an editor.
		return len(files) > 0 || a.seen["m"] || a.seen["message"] || a.seen["no-edit"]
	case "restore":
		for _, rev := range append(a.value["s"], a.value["source"]...) {
			if !v.revision(dir, rev) || strings.HasPrefix(rev, "-") {
				return false
			}
		}
	case "rm":
		for _, p := range a.all() {
			if spots, ok := v.spots(dir, p); !ok || slices.ContainsFunc(spots, func(s spot) bool { return obeyed(s.rel) }) {
				return false
			}
		}
	case "mv":
		for _, p := range a.all() {
			if !v.grantsFile(dir, p) {
				return false
			}
		}
	}
	return true
}

var globs = regexp.MustCompile(`[*?\[\\]`)

// pathspec vouches for files of the worktree.
func (v *voucher) pathspec(dir, text string) bool {
	if strings.HasPrefix(text, ":") || globs.MatchString(text) {
		return false
	}
	_, ok := v.spots(dir, text)
	return ok
}

// revision vouches for an argument that may be a revision or a file: two files
// outside of the worktree would be compared without git.
func (v *voucher) revision(dir, text string) bool {
	if filepath.IsAbs(text) || slices.Contains(strings.Split(text, "/"), "..") {
		return v.pathspec(dir, text)
	}
	return text != ""
}
