package grant

import (
	"regexp"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// command is one command of a text that bash, zsh, dash and sh read alike,
// whatever their options.
type command struct {
	after      string // the operator that stands before it: "", "&&", "||", ";" or "|"
	words      []lexeme
	redirected bool
	to         string // the file that takes what it prints; empty: none
	adds       bool   // the file keeps what it holds
	here       bool   // a literal here-document is what it reads
	looped     bool   // it stands in a loop, which runs it for another word too
	direct     bool   // a program starts it, once it has waited, and no shell
}

// lexeme is a word as every shell hands it to a program.
type lexeme struct {
	text string
	here bool // it is the here-document of a commit message
	open bool // the shell puts a variable that cmux set, or names of files, in its place
}

func (c command) is(name string) bool { return !c.words[0].here && c.words[0].text == name }

// plainText reports whether a text has none of the characters that are not
// seen, or that a shell may take for others.
func plainText(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsFunc(text, func(r rune) bool {
		return r != '\n' && r != '\t' && unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp) || r == unicode.ReplacementChar
	})
}

// lexer takes a text apart, and gives up at whatever it does not know.
type lexer struct{ rest string }

// lex takes a text apart into commands. There is no assignment in its language, and
// no reserved word that its reader takes for a name. Nothing is expanded but the
// variable of a loop over words.
func lex(text string) (commands []command, ok bool) {
	if len(text) > MaxScript || !plainText(text) {
		return nil, false
	}
	return lexAll(text)
}

func lexAll(text string) (commands []command, ok bool) {
	l := &lexer{text}
	for after := ""; ; {
		c := command{after: after}
		if loop, ok := l.loop(after); ok {
			commands = append(commands, loop...)
		} else if l.command(&c) {
			commands = append(commands, c)
		} else {
			return nil, false
		}
		if l.rest == "" {
			return commands, true
		}
		if after, ok = l.operator(); !ok {
			return nil, false
		}
	}
}

// operators by what is written. Several newlines are one.
var operators = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(?:(&&|\|\||\||;) *|(?: *\n)+ *)`) })

func (l *lexer) operator() (op string, ok bool) {
	m := operators().FindStringSubmatch(l.rest)
	if m == nil {
		return "", false
	}
	l.rest = l.rest[len(m[0]):]
	if m[1] == "" {
		return ";", true
	}
	return m[1], true
}

// redirections lead what is printed to nowhere, or errors to where the rest
// goes.
var redirections = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(2>&1|2> ?/dev/null|> ?/dev/null( 2>&1)?)( *)(&&|\|\||[|;\n]|$)`)
})

// intoFile leads what is printed to a file of a plain name.
var intoFile = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^>{1,2} ?([A-Za-z0-9_./][A-Za-z0-9_./@+,-]*)( *)(&&|\|\||[|;\n]|$)`)
})

// documents begin a here-document, and may name the file that takes it, before or behind.
var documents = sync.OnceValue(func() *regexp.Regexp {
	const to = `(>{1,2}) ?([A-Za-z0-9_./][A-Za-z0-9_./@+,-]*)`
	return regexp.MustCompile(`^(?:` + to + ` )?<<(-?)('[A-Z]+'|"[A-Z]+"|[A-Z]+)(?: ` + to + `)?\n`)
})

// document reads a here-document in which no shell replaces anything, with its end. No
// line of it may begin as its end does, which some shells take for the end.
func (l *lexer) document(c *command) bool {
	m := documents().FindStringSubmatch(l.rest)
	if m == nil || m[2] != "" && m[6] != "" {
		return false
	}
	end := strings.Trim(m[4], `'"`)
	begins := l.rest[len(m[0]):]
	rest := begins
	for line := range strings.Lines(begins) {
		last := strings.TrimSuffix(line, "\n")
		if m[3] != "" {
			last = strings.TrimLeft(last, "\t")
		}
		if last == end {
			c.to, c.adds, c.here = m[2]+m[6], m[1]+m[5] == ">>", true
			text := begins[:len(begins)-len(rest)]
			rest = rest[len(line):]
			if l.rest = rest; strings.HasSuffix(line, "\n") {
				l.rest = "\n" + rest
			}
			return end != m[4] || !strings.ContainsAny(text, expanded)
		}
		if strings.HasPrefix(strings.TrimSpace(line), end) {
			return false
		}
		rest = rest[len(line):]
	}
	return false
}

// expanded are the characters that mean something where a here-document is not quoted.
const expanded = "$`\\"

// command reads words up to an operator or the end.
func (l *lexer) command(c *command) bool {
	for {
		if m := redirections().FindStringSubmatchIndex(l.rest); m != nil && len(c.words) > 0 {
			c.redirected, l.rest = true, l.rest[m[7]:]
			return true
		}
		if documents().MatchString(l.rest) {
			return l.document(c) && takesDocument(c)
		}
		if m := intoFile().FindStringSubmatchIndex(l.rest); m != nil && len(c.words) > 0 {
			c.to, c.adds, l.rest = l.rest[m[2]:m[3]], strings.HasPrefix(l.rest, ">>"), l.rest[m[5]:]
			return true
		}
		w, ok := l.word()
		if !ok {
			return false
		}
		c.words = append(c.words, w)
		blank := len(l.rest) - len(strings.TrimLeft(l.rest, " "))
		l.rest = l.rest[blank:]
		if l.rest == "" || operators().MatchString(l.rest) {
			return true
		}
		if blank == 0 {
			return false
		}
	}
}

var (
	// bare words mean nothing to any shell; "=" only within an option, once, and "~" only
	// behind a letter or digit, as in HEAD~1. The flags of go are a word too: where a
	// command begins it sets them, and anywhere else it is a text.
	bare = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(?:GOFLAGS=-(?:count=1|race|v)|--?[a-z][a-z-]*=[A-Za-z0-9_./:@%+,-]*|(?:[A-Za-z0-9]~|[A-Za-z0-9_./:@%+,-])+)`)
	})
	// opens is a variable of cmux's without a blank or a secret, or all Go files of a folder.
	opens = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(?:\$CMUX_(?:PORT_BASE|SLOT)|"\$CMUX_(?:PORT_BASE|SLOT|NODE|BRANCH|ROOT)"|\$\{CMUX_(?:PORT_BASE|SLOT)\}|(?:\./)?(?:[A-Za-z0-9_][A-Za-z0-9_.-]*/)+\*\.go)`)
	})
	// prefixed is an option whose value is quoted, or all of it but a word and a colon.
	prefixed = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^--?[a-z][a-z-]*=(?:[a-z]+:)?$`) })
	single   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^'[^']+'(?:\\''[^']+')*`) })
	double   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("^\"[^\"$`\\\\!]*\"") })
	ends     = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(?:[ \n|;]|&&|$)`) })
)

func (l *lexer) word() (w lexeme, ok bool) {
	if text, rest, ok := commitMessage(l.rest); ok {
		l.rest = rest
		return lexeme{text: text, here: true}, ends().MatchString(rest)
	}
	if w.text = opens().FindString(l.rest); w.text != "" {
		l.rest, w.open = l.rest[len(w.text):], true
		return w, ends().MatchString(l.rest)
	}
	w.text = bare().FindString(l.rest)
	l.rest = l.rest[len(w.text):]
	if w.text == "" || prefixed().MatchString(w.text) {
		quoted := single().FindString(l.rest)
		if quoted != "" {
			w.text += strings.ReplaceAll(quoted[1:len(quoted)-1], `'\''`, "'")
		} else if quoted = double().FindString(l.rest); quoted != "" {
			w.text += quoted[1 : len(quoted)-1]
		}
		if quoted == "" && w.text == "" {
			return w, false
		}
		l.rest = l.rest[len(quoted):]
	}
	return w, ends().MatchString(l.rest)
}

// hereBegins begins the here-document of a commit message.
var hereBegins = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^"\$\(cat <<(?:'([A-Z]+)'|([A-Z]+))\n`) })

// commitMessage reads the one substitution that is known: the here-document
// that Claude Code writes for commit messages. No line of it may begin as its
// end does, which some shells take for the end. Others look for the closing
// parenthesis without knowing of here-documents: they must find the same, or
// nothing that they could run.
func commitMessage(text string) (message, rest string, ok bool) {
	m := hereBegins().FindStringSubmatch(text)
	if m == nil {
		return "", "", false
	}
	end := m[1] + m[2]
	message, rest, ok = strings.Cut(text[len(m[0]):], "\n"+end+"\n)\"")
	if !ok || strings.ContainsAny(rest, `'"`) || m[2] != "" && strings.ContainsAny(message, expanded) {
		return "", "", false
	}
	for line := range strings.Lines(message) {
		if strings.HasPrefix(strings.TrimSpace(line), end) {
			return "", "", false
		}
	}
	if _, after, closed := strings.Cut(message, ")"); closed && strings.ContainsAny(after, "\"`$") {
		return "", "", false
	}
	return message, rest, true
}

// MaxScript bounds a text of the shell, in bytes. Systems take 128 KB to 1 MB as an
// argument; a parser's stack is bounded by it.
const MaxScript = 1 << 20
