package guard

import (
	"path/filepath"
	"strings"

	"cmux/agents/kinds/guard/grant"
)

// wrapper is a program that runs the command behind its options.
type wrapper struct {
	valued  string   // short options that take a value
	long    []string // long ones that take it as the next word
	skip    int      // words between the options and the command
	assigns bool     // NAME=value words come before the command
}

var wrappers = map[string]wrapper{
	"sudo":       {valued: "ugpChrtDRT", long: []string{"user", "group", "chdir", "prompt", "host"}, assigns: true},
	"doas":       {valued: "uC"},
	"env":        {valued: "uC", long: []string{"unset", "chdir"}, assigns: true},
	"command":    {},
	"builtin":    {},
	"exec":       {valued: "a"},
	"nohup":      {},
	"setsid":     {},
	"nice":       {valued: "n", long: []string{"adjustment"}},
	"ionice":     {valued: "cnpPu", long: []string{"class", "classdata"}},
	"time":       {valued: "fo", long: []string{"format", "output"}},
	"timeout":    {valued: "ks", long: []string{"kill-after", "signal"}, skip: 1},
	"gtimeout":   {valued: "ks", long: []string{"kill-after", "signal"}, skip: 1},
	"stdbuf":     {valued: "ioe", long: []string{"input", "output", "error"}},
	"xargs":      {valued: "IJLnPsaEdR", long: []string{"max-args", "max-procs", "arg-file", "delimiter", "max-lines", "replace", "max-chars"}},
	"flock":      {valued: "wE", long: []string{"timeout", "conflict-exit-code"}, skip: 1},
	"watch":      {valued: "nq", long: []string{"interval"}},
	"chronic":    {},
	"unbuffer":   {},
	"busybox":    {},
	"caffeinate": {valued: "tw"},
}

var shellNames = map[string]bool{"sh": true, "bash": true, "dash": true, "zsh": true, "ksh": true, "ash": true}

// simple judges one command with its arguments. stdin is what it is known to
// read.
func (s *shell) simple(args []word, stdin string) {
	if s.depth >= 4*maxDepth {
		return
	}
	s.depth++
	defer func() { s.depth-- }()
	if len(args) == 0 || !args[0].whole {
		return
	}
	s.privacy(args)
	name, rest := filepath.Base(args[0].text), args[1:]
	s.calls(args[0].text, rest)
	if w, ok := wrappers[name]; ok {
		s.wrapped(name, w, rest, stdin)
		return
	}
	if shellNames[name] {
		s.interpreter(rest, stdin)
		return
	}
	switch name {
	case "eval":
		texts := make([]string, len(rest))
		for i, a := range rest {
			if !a.whole {
				return
			}
			texts[i] = a.text
		}
		s.script(strings.Join(texts, " "))
	case "trap":
		if words := plain(rest, ""); len(words) > 1 && words[0].whole {
			s.script(words[0].text)
		}
	case "cd", "pushd":
		to := plain(rest, "")
		if len(to) == 0 {
			s.dir = "" // home
		} else {
			s.dir = s.at(to[0])
		}
	case "popd":
		s.dir = ""
	case "read":
		for _, v := range plain(rest, "adinNptu") {
			delete(s.vars, v.text)
			if len(s.piped) > 0 && s.piped[0].text != "" { // one of the names that come through the pipe
				s.vars[v.text] = word{s.piped[0].text + "/", false}
			}
		}
	case "find":
		s.find(rest)
	case "apply_patch", "applypatch":
		s.patch(rest, stdin)
	case "git":
		s.git(rest)
	default:
		s.program(name, rest)
	}
}

// wrapped finds the command behind a wrapper.
func (s *shell) wrapped(name string, w wrapper, args []word, stdin string) {
	dir, trees := s.dir, s.trees
	defer func() { s.dir, s.trees = dir, trees }()
	i := 0
	for ; i < len(args) && args[i].option(); i++ {
		text := args[i].text
		if text == "--" {
			i++
			break
		}
		value := word{}
		if i+1 < len(args) {
			value = args[i+1]
		}
		if name == "command" && strings.ContainsAny(text, "vV") {
			return // it only tells where the command is
		}
		if name == "env" && (text == "-S" || strings.HasPrefix(text, "--split-string")) {
			if _, after, ok := strings.Cut(text, "="); ok {
				value = literal(after)
			}
			s.script(value.text)
			return
		}
		if after, ok := strings.CutPrefix(text, "-S"); ok && name == "env" {
			s.script(after)
			return
		}
		if name == "env" && (text == "-C" || text == "--chdir") || name == "sudo" && (text == "-D" || text == "--chdir") {
			s.dir = s.at(value)
		}
		if long, ok := strings.CutPrefix(text, "--"); ok {
			for _, l := range w.long {
				if l == long {
					i++
				}
			}
			continue
		}
		if strings.ContainsRune(w.valued, rune(text[len(text)-1])) {
			i++
		}
	}
	for ; w.assigns && i < len(args) && strings.Contains(args[i].text, "="); i++ {
		n, v, _ := strings.Cut(args[i].text, "=")
		s.gitEnv(n, word{v, args[i].whole})
	}
	if i += w.skip; i >= len(args) {
		return
	}
	rest := args[i:]
	switch {
	case name == "flock" && rest[0].is("-c") || name == "watch" && len(rest) == 1:
		s.script(rest[len(rest)-1].text)
	case name == "xargs":
		// What it reads is added: a name that is not known.
		rest = rest[:len(rest):len(rest)]
		if words := strings.Fields(stdin); len(words) > 0 && len(words) <= grant.MaxItems {
			for _, w := range words {
				rest = append(rest, literal(w))
			}
			s.simple(rest, "")
			return
		}
		s.simple(append(rest, word{}), "")
		for _, p := range s.piped {
			if p.text != "" { // one of the names that it reads
				s.simple(append(rest, word{p.text + "/", false}), "")
			}
		}
	default:
		s.simple(rest, stdin)
	}
}

// interpreter judges sh -c SCRIPT, and a script on the standard input.
func (s *shell) interpreter(args []word, stdin string) {
	dir := s.dir
	defer func() { s.dir = dir }()
	script := false
	for i := 0; i < len(args); i++ {
		a := args[i]
		switch {
		case a.is("--") && i+1 < len(args) && script:
			s.script(args[i+1].text)
			return
		case strings.HasPrefix(a.text, "--"):
			if a.is("--rcfile", "--init-file") {
				i++
			}
		case a.option() || strings.HasPrefix(a.text, "+"):
			script = script || a.option() && strings.Contains(a.text, "c")
			if strings.HasSuffix(a.text, "o") || strings.HasSuffix(a.text, "O") {
				i++
			}
		case script:
			s.script(a.text)
			return
		default:
			return // a file
		}
	}
	s.script(stdin)
}

// findsIn are the folders that find begins at, and how many words name them.
func findsIn(args []word) (from []word, n int) {
	for ; n < len(args) && (args[n].is("-H", "-L", "-P") || !args[n].option() && !args[n].is("!", "(")); n++ {
		if !args[n].option() {
			from = append(from, args[n])
		}
	}
	if len(from) == 0 {
		from = []word{literal(".")}
	}
	return from, n
}

// find judges -exec and -delete.
func (s *shell) find(args []word) {
	from, i := findsIn(args)
	for ; i < len(args); i++ {
		switch {
		case args[i].is("-delete"):
			for _, st := range from {
				s.write("deleting", st, false)
			}
		case args[i].is("-fprint", "-fprintf", "-fls", "-fprint0") && i+1 < len(args):
			s.write("writing", args[i+1], false)
		case args[i].is("-exec", "-execdir", "-ok", "-okdir"):
			end := i + 1
			for end < len(args) && !args[end].is(";", "+") {
				end++
			}
			run := make([]word, 0, end-i)
			for _, a := range args[i+1 : end] {
				if at := strings.Index(a.text, "{}"); at >= 0 {
					// It stands for something below a start.
					a = word{a.text[:at] + from[0].text + "/", false}
				}
				run = append(run, a)
			}
			s.simple(run, "")
			i = end
		}
	}
}

// plain are the arguments that are no options. Letters of valued are short
// options whose value is the next word.
func plain(args []word, valued string, long ...string) []word {
	var out []word
	for i := 0; i < len(args); i++ {
		a := args[i]
		switch {
		case a.is("--"):
			return append(out, args[i+1:]...)
		case strings.HasPrefix(a.text, "--"):
			for _, l := range long {
				if a.is("--" + l) {
					i++
				}
			}
		case a.option():
			if len(a.text) == 2 && strings.Contains(valued, a.text[1:]) {
				i++
			}
		default:
			out = append(out, a)
		}
	}
	return out
}

// has reports whether an option is among args, before "--". A long name may be
// cut short, as git and getopt take it.
func has(args []word, short string, long ...string) bool {
	for _, a := range args {
		if a.is("--") {
			return false
		}
		if name, ok := strings.CutPrefix(a.text, "--"); ok {
			name, _, _ = strings.Cut(name, "=")
			for _, l := range long {
				if name == l || len(name) >= 3 && strings.HasPrefix(l, name) {
					return true
				}
			}
			continue
		}
		if a.option() && strings.ContainsAny(a.text[1:], short) {
			return true
		}
	}
	return false
}
