package guard

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"cmux/agents/kinds/guard/grant"
	"cmux/agents/kinds/guard/places"
)

// maxDepth bounds scripts in scripts, such as sh -c "sh -c ...".
const maxDepth = 8

// maxWord bounds what is kept of a word, in bytes.
const maxWord = 4 << 20

// shell reads a script and judges every command that it can be seen to run.
// The first refusal stands.
type shell struct {
	*guard
	dir    string // of the commands; empty when it cannot be told
	sub    bool   // a sub-agent runs them
	vars   map[string]word
	funcs  map[string]*syntax.Stmt
	piped  []word // folders in which what a command reads from the pipe lies
	trees  []gitLead
	loop   int // loops around the commands
	depth  int
	looked int    // words looked up by reads
	called int    // calls of the script's functions
	steps  int    // of the text, of which a refusal lets none run
	argv   []word // of the function that is judged
	reason string
}

// word is what a word of the script expands to: all of it, or only the
// beginning that is known without running anything.
type word struct {
	text  string
	whole bool
}

func literal(text string) word { return word{text, true} }

func (w word) is(names ...string) bool {
	for _, n := range names {
		if w.whole && w.text == n {
			return true
		}
	}
	return false
}

func (w word) option() bool { return strings.HasPrefix(w.text, "-") && w.text != "-" }

func (g *guard) shellTool(c Call, in input) string {
	dir := c.Dir
	if d := in.text("workdir", "cwd"); d != "" {
		dir = d
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(c.Dir, d)
		}
	}
	s := &shell{guard: g, dir: dir, sub: c.Sub, funcs: make(map[string]*syntax.Stmt), vars: map[string]word{
		"CMUX_ROOT": literal(g.Root), "CMUX_BRANCH": literal(g.Branch),
	}}
	for _, name := range []string{"HOME", "XDG_STATE_HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME", "KIMI_SHARE_DIR"} {
		if v := g.Env(name); v != "" {
			s.vars[name] = literal(v)
		}
	}
	var argv []string
	for _, name := range []string{"command", "cmd"} {
		if json.Unmarshal(in.fields[name], &argv) == nil && len(argv) > 0 {
			args := make([]word, len(argv))
			for i, a := range argv {
				args[i] = literal(a)
			}
			s.simple(args, "")
			return s.reason
		}
	}
	script := in.text("command", "cmd")
	if script == "" {
		script = in.whole
	}
	if len(script) > grant.MaxScript {
		return fmt.Sprintf("a command of %d bytes is refused: no shell takes it as an argument. Write it to a file in %s and run that.", len(script), g.Home)
	}
	s.script(script)
	if s.reason != "" && s.steps > 1 {
		return s.reason + " (Nothing else in this call was run either.)"
	}
	return s.reason
}

func (s *shell) refuse(reason string) {
	if s.reason == "" {
		s.reason = reason
	}
}

// script judges a text. What stands before a fault in it is judged, as a shell
// would run it.
func (s *shell) script(text string) {
	if s.depth >= maxDepth {
		return
	}
	s.depth++
	defer func() { s.depth-- }()
	p := syntax.NewParser(syntax.Variant(syntax.LangBash))
	broken := false
	for stmt, err := range p.StmtsSeq(strings.NewReader(text)) {
		// The parser may go on after a fault, even when told to stop.
		if broken = broken || err != nil; !broken {
			s.steps++
			s.walk(stmt)
		}
	}
}

// apart judges what runs in a shell of its own: its cd ends with it.
func (s *shell) apart(nodes ...syntax.Node) {
	dir := s.dir
	for _, n := range nodes {
		s.walk(n)
	}
	s.dir = dir
}

func (s *shell) walk(n syntax.Node) { syntax.Walk(n, s.visit) }

func (s *shell) visit(n syntax.Node) bool {
	switch n := n.(type) {
	case *syntax.Stmt:
		s.statement(n)
	case *syntax.FuncDecl:
		if n.Name != nil {
			s.funcs[n.Name.Value] = n.Body
		}
		s.apart(n.Body)
		return false
	case *syntax.Subshell:
		s.apart(nodes(n.Stmts)...)
		return false
	case *syntax.CmdSubst:
		s.apart(nodes(n.Stmts)...)
		return false
	case *syntax.ProcSubst:
		s.apart(nodes(n.Stmts)...)
		return false
	case *syntax.BinaryCmd:
		s.steps++
		before := s.dir
		switch n.Op {
		case syntax.Pipe, syntax.PipeAll:
			s.apart(n.X)
			piped := s.piped
			s.piped = s.lists(n.X)
			s.apart(n.Y)
			s.piped = piped
			return false
		case syntax.OrStmt: // Y runs when X failed, such as a cd
			s.walk(n.X)
			after := s.dir
			s.dir = before
			s.walk(n.Y)
			s.dir = after
			return false
		}
	case *syntax.ForClause:
		if i, ok := n.Loop.(*syntax.WordIter); ok && i.Name != nil {
			s.loops(n, i)
			return false
		}
	case *syntax.DeclClause:
		for _, a := range n.Args {
			s.assign(a)
		}
	}
	return true
}

// loops judges the body of a loop once for each of its items.
func (s *shell) loops(n *syntax.ForClause, i *syntax.WordIter) {
	name := i.Name.Value
	body := nodes(n.Do)
	items := i.Items
	if s.loop++; s.loop > 2 || len(items) > grant.MaxItems || len(items) == 0 {
		items = nil
	}
	defer func() { s.loop-- }()
	for _, item := range i.Items {
		s.walk(item) // a substitution in it runs
	}
	if items == nil {
		delete(s.vars, name)
		for _, st := range body {
			s.walk(st)
		}
	}
	for _, item := range items {
		s.vars[name] = s.word(item)
		for _, st := range body {
			s.walk(st)
		}
	}
}

func nodes(stmts []*syntax.Stmt) []syntax.Node {
	ns := make([]syntax.Node, len(stmts))
	for i, st := range stmts {
		ns[i] = st
	}
	return ns
}

func (s *shell) assign(a *syntax.Assign) {
	if a.Name == nil || a.Naked {
		return
	}
	if a.Append || a.Index != nil || a.Array != nil {
		delete(s.vars, a.Name.Value)
		return
	}
	// A name is short; a value that doubles with every line is not kept.
	v := s.word(a.Value)
	if len(v.text) > places.MaxValue {
		v = word{}
	}
	s.vars[a.Name.Value] = v
	s.gitEnv(a.Name.Value, v)
}

// statement judges one statement's redirections and, when it is a simple
// command, the command.
func (s *shell) statement(st *syntax.Stmt) {
	stdin := ""
	for _, r := range st.Redirs {
		switch r.Op.String() {
		case "<<", "<<-":
			stdin = s.word(r.Hdoc).text
		case "<<<":
			w := s.word(r.Word)
			stdin = w.text
			s.reads(w, false) // it may be a name for what reads it
		case ">", ">>", ">|", "<>", "&>", "&>>":
			s.write("writing", s.word(r.Word), false)
		case "<":
			s.reads(s.word(r.Word), false)
		case ">&":
			if w := s.word(r.Word); strings.Trim(w.text, "0123456789-") != "" {
				s.write("writing", w, false)
			}
		}
	}
	call, ok := st.Cmd.(*syntax.CallExpr)
	if !ok {
		return
	}
	if len(call.Args) == 0 {
		for _, a := range call.Assigns {
			s.assign(a)
		}
		return
	}
	trees := s.trees
	defer func() { s.trees = trees }() // GIT_DIR counts for this command alone
	for _, a := range call.Assigns {
		if a.Name != nil && a.Value != nil {
			s.gitEnv(a.Name.Value, s.word(a.Value))
		}
	}
	var args []word
	for _, w := range call.Args {
		args = append(args, s.fields(w)...)
	}
	s.simple(args, stdin)
}

// gitEnv takes in a variable that leads git to another repository.
func (s *shell) gitEnv(name string, value word) {
	if name == "GIT_DIR" || name == "GIT_WORK_TREE" || name == "GIT_COMMON_DIR" {
		s.leadGit(name != "GIT_WORK_TREE", value)
	}
}

// at is a folder named in the script; empty when it cannot be told.
func (s *shell) at(w word) string {
	switch {
	case !w.whole || w.text == "":
		return ""
	case filepath.IsAbs(w.text):
		return filepath.Clean(w.text)
	case s.dir == "":
		return ""
	}
	return filepath.Join(s.dir, w.text)
}

// word is what w expands to, as far as that is known.
func (s *shell) word(w *syntax.Word) word {
	if w == nil {
		return literal("")
	}
	var b strings.Builder
	whole := s.parts(&b, w.Parts, false)
	text := b.String()
	if strings.HasPrefix(text, "~") && len(w.Parts) > 0 {
		if l, ok := w.Parts[0].(*syntax.Lit); ok && strings.HasPrefix(l.Value, "~") {
			home := s.Env("HOME")
			if home == "" || text != "~" && !strings.HasPrefix(text, "~/") {
				return word{}
			}
			return word{home + text[1:], whole}
		}
	}
	return word{text, whole}
}

func (s *shell) parts(b *strings.Builder, parts []syntax.WordPart, quoted bool) (whole bool) {
	for _, p := range parts {
		if b.Len() > maxWord {
			return false
		}
		switch p := p.(type) {
		case *syntax.Lit:
			unescape(b, p.Value, quoted)
		case *syntax.SglQuoted:
			if p.Dollar && strings.Contains(p.Value, `\`) {
				return false
			}
			b.WriteString(p.Value)
		case *syntax.DblQuoted:
			if !s.parts(b, p.Parts, true) {
				return false
			}
		case *syntax.ParamExp:
			v, ok := s.param(p)
			b.WriteString(v.text)
			if !ok || !v.whole {
				return false
			}
		case *syntax.CmdSubst:
			v, ok := s.output(p)
			if !ok {
				return false
			}
			b.WriteString(v)
		default:
			return false
		}
	}
	return true
}

// unescape writes a literal as the shell reads it.
func unescape(b *strings.Builder, text string, quoted bool) {
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' && i+1 < len(text) && (!quoted || strings.IndexByte("$`\"\\\n", text[i+1]) >= 0) {
			i++
			if text[i] == '\n' {
				continue
			}
		}
		b.WriteByte(text[i])
	}
}

// param is the value of a plain $NAME that the script or cmux has set.
func (s *shell) param(p *syntax.ParamExp) (word, bool) {
	if p.Param == nil || p.Excl || p.Length || p.Width || p.IsSet || p.Index != nil || len(p.Modifiers) > 0 ||
		p.Slice != nil || p.Repl != nil || p.Names != 0 || p.Flags != nil || p.NestedParam != nil {
		return word{}, false
	}
	if p.Exp != nil {
		return s.orElse(p)
	}
	if p.Param.Value == "PWD" && s.dir != "" {
		return literal(s.dir), true
	}
	v, ok := s.vars[p.Param.Value]
	return v, ok
}

// orElse is the value of ${NAME:-WORD} and the like. A variable that nothing has
// set is taken to be empty.
func (s *shell) orElse(p *syntax.ParamExp) (word, bool) {
	v, ok := s.vars[p.Param.Value]
	switch p.Exp.Op {
	case syntax.DefaultUnset, syntax.DefaultUnsetOrNull, syntax.AssignUnset, syntax.AssignUnsetOrNull:
		if ok && (!v.whole || v.text != "") {
			return v, true
		}
	case syntax.AlternateUnset, syntax.AlternateUnsetOrNull:
	default:
		return word{}, false
	}
	return s.word(p.Exp.Word), true
}

// output is what a substitution prints, where that is known: where the shell
// stands, and the top of the tree there.
func (s *shell) output(c *syntax.CmdSubst) (string, bool) {
	if len(c.Stmts) != 1 || s.dir == "" {
		return "", false
	}
	call, ok := c.Stmts[0].Cmd.(*syntax.CallExpr)
	if !ok {
		return "", false
	}
	var args []string
	for _, w := range call.Args {
		args = append(args, w.Lit())
	}
	at, err := s.Resolved(s.dir)
	if err != nil {
		return "", false
	}
	switch strings.Join(args, " ") {
	case "pwd":
		return s.dir, true
	case "git rev-parse --show-toplevel":
		switch s.SpotOf(at).Whose {
		case places.Own:
			return s.TreeDir, true
		case places.Persons:
			return cmp.Or(s.LeadsFrom(at), s.RootDir), true
		}
	case "git branch --show-current", "git rev-parse --abbrev-ref HEAD":
		if s.SpotOf(at).Whose == places.Own && s.Branch != "" {
			return s.Branch, true
		}
	}
	return "", false
}

// lists are the folders below which the names lie that a pipeline prints: for
// find where it starts, for others that list files where they stand. nil: it
// prints something else.
func (s *shell) lists(st *syntax.Stmt) []word {
	switch cmd := st.Cmd.(type) {
	case *syntax.BinaryCmd:
		if cmd.Op == syntax.Pipe || cmd.Op == syntax.PipeAll {
			return s.lists(cmd.X)
		}
	case *syntax.CallExpr:
		if len(cmd.Args) == 0 {
			return nil
		}
		switch s.word(cmd.Args[0]).text {
		case "git", "ls", "grep", "rg", "fd":
			return []word{literal(".")}
		case "find":
			args := make([]word, len(cmd.Args)-1)
			for i, a := range cmd.Args[1:] {
				args[i] = s.word(a)
			}
			from, _ := findsIn(args)
			return from
		}
	}
	return nil
}

// maxCalls bounds the calls of functions that are judged with their arguments;
// every function is judged once without.
const maxCalls = 200

// calls judges a function of the script with its arguments, if there is one of
// the name. A program of the name may be meant all the same: the function is
// perhaps not defined where this stands.
func (s *shell) calls(name string, args []word) {
	body, ok := s.funcs[name]
	if !ok || s.depth >= maxDepth || s.called >= maxCalls {
		return
	}
	s.called++
	argv := s.argv
	was := make(map[string]word, 9)
	for i := range 9 {
		n := strconv.Itoa(i + 1)
		was[n] = s.vars[n]
		if s.vars[n] = literal(""); i < len(args) {
			s.vars[n] = args[i]
		}
	}
	s.argv = args
	s.depth++
	s.walk(body)
	s.depth--
	s.argv = argv
	maps.Copy(s.vars, was)
}

// fields are the words that a word of a command expands to: those that the
// function was called with for "$@", else one.
func (s *shell) fields(w *syntax.Word) []word {
	if len(w.Parts) == 1 {
		part := w.Parts[0]
		if q, ok := part.(*syntax.DblQuoted); ok && len(q.Parts) == 1 {
			part = q.Parts[0]
		}
		if p, ok := part.(*syntax.ParamExp); ok && p.Param != nil && (p.Param.Value == "@" || p.Param.Value == "*") && p.Exp == nil && p.Slice == nil && p.Repl == nil && !p.Length && s.argv != nil {
			return s.argv
		}
	}
	return []word{s.word(w)}
}
