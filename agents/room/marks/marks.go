// Package marks reads what an agent says in a room: what of it is for the others, and the
// marks in it that cmux acts on. It is the only reader of marks, and pure: the same text
// gives the same pieces, which together are the text.
//
// Nothing inside of code (fences, backticks) or of <thinking> counts.
package marks

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Kind is what a piece of a text is.
type Kind string

// The kinds of pieces.
const (
	Text    Kind = "text"
	Mention Kind = "mention" // @NAME
	Agree   Kind = "agree"   // +1 NAME
	Handoff Kind = "handoff" // [HANDOFF:NAME]
	Status  Kind = "status"  // [DONE], [DECISION] and the like
	Code    Kind = "code"
)

// All is the name in @all.
const All = "all"

// The marks of status pieces.
const (
	Explore  = "EXPLORE"
	Says     = "STATUS"
	Decision = "DECISION"
	Blocked  = "BLOCKED"
	Question = "QUESTION"
	Todo     = "TODO"
	Done     = "DONE"
)

// mostContext bounds what a handoff says, in characters.
const mostContext = 100

// A Piece is a part of a text.
type Piece struct {
	Kind  Kind   `json:"kind"`
	Text  string `json:"text"`            // as written
	Name  string `json:"name,omitempty"`  // of whom a mention, an agreement or a handoff means: in a room as the room writes it
	Mark  string `json:"mark,omitempty"`  // of a status
	Words string `json:"words,omitempty"` // what a handoff or a status says; the text that follows has it too
	Alone bool   `json:"alone,omitempty"` // of a status: its line has nothing else
}

// A Mark is a row of the table of marks.
type Mark struct {
	Form string // as it is written
	Tone string // in which it is shown: info, ok, warn, bad
	Help string // what it does, a clause
}

// Table lists the marks in the order of the docs.
func Table() []Mark {
	return []Mark{
		{"[PASS]", "info", "as the whole answer, or as its last line where nothing is shared: the turn has nothing new"},
		{"@NAME", "info", "wants an answer of that member; @all of everybody"},
		{"+1 NAME", "ok", "agrees with that member; an answer that only agrees wakes nobody"},
		{"[HANDOFF:NAME] what", "info", "gives what the sentence says to that member"},
		{"[EXPLORE]", "info", "shown as what the member is doing"},
		{"[STATUS: words]", "info", "shown as what the member is doing"},
		{"[DECISION] text", "ok", "proposes a decision, to the end of the paragraph"},
		{"[BLOCKED] why", "bad", "tells the person"},
		{"[QUESTION] text", "warn", "asks the person"},
		{"[TODO] text", "info", "proposes a card"},
		{"[DONE]", "ok", "alone on its line in a turn about a card: ends that phase of the card"},
		{"<Share>text</Share>", "info", "is all that the others are given; what stands beside it is for the person"},
	}
}

// Pieces reads a text in a room of the members; without members any word is a name. The
// pieces together are the text.
func Pieces(text string, members []string) []Piece {
	r := reader{text: text, members: members, inert: inertIn(text)}
	r.read()
	return r.pieces
}

type reader struct {
	text    string
	members []string
	inert   []zone
	pieces  []Piece
	done    int // what stands before it is in pieces
}

func (r *reader) read() {
	for i := 0; i < len(r.text); {
		if z, in := zoneAt(r.inert, i); in {
			if z.code {
				r.add(i, Piece{Kind: Code, Text: r.text[i:z.to]})
			}
			i = z.to
			continue
		}
		var p Piece
		switch r.text[i] {
		case '[':
			p = r.bracket(i)
		case '@':
			p = r.mention(i)
		case '+':
			p = r.agree(i)
		}
		if p.Text == "" {
			i++
			continue
		}
		r.add(i, p)
		i += len(p.Text)
	}
	r.add(len(r.text), Piece{})
}

// add appends the text before at, and a piece that begins there; one without text is none.
func (r *reader) add(at int, p Piece) {
	if at > r.done {
		r.pieces = append(r.pieces, Piece{Kind: Text, Text: r.text[r.done:at]})
	}
	r.done = at + len(p.Text)
	if p.Text != "" {
		r.pieces = append(r.pieces, p)
	}
}

// mention reads @NAME. A path (/@scope) and an address (me@example) are none.
func (r *reader) mention(at int) Piece {
	if before, _ := utf8.DecodeLastRuneInString(r.text[:at]); before == '/' || before == '@' || wordly(before) {
		return Piece{}
	}
	name, n := r.name(at+1, true)
	if n == 0 {
		return Piece{}
	}
	return Piece{Kind: Mention, Text: r.text[at : at+1+n], Name: name}
}

// agree reads +1 NAME, also as +1 @NAME.
func (r *reader) agree(at int) Piece {
	before, _ := utf8.DecodeLastRuneInString(r.text[:at])
	if !strings.HasPrefix(r.text[at:], "+1") || before == '+' || wordly(before) {
		return Piece{}
	}
	from := at + len("+1")
	to := from + len(r.text[from:]) - len(strings.TrimLeft(r.text[from:], " \t"))
	if to == from {
		return Piece{}
	}
	if strings.HasPrefix(r.text[to:], "@") {
		to++
	}
	name, n := r.name(to, false)
	if n == 0 {
		return Piece{}
	}
	return Piece{Kind: Agree, Text: r.text[at : to+n], Name: name}
}

// name reads the name at a place: of the members, the longest that fits, without regard to
// case; without members the whole word. n is its length; 0: there is none.
func (r *reader) name(at int, all bool) (name string, n int) {
	word := wordAt(r.text[at:])
	if r.members == nil || word == "" {
		return word, len(word)
	}
	names := r.members
	if all {
		names = append(slices.Clip(names), All)
	}
	for _, m := range names {
		if len(m) <= n || len(m) > len(word) || !strings.EqualFold(word[:len(m)], m) {
			continue
		}
		// claude is meant by @claude-please, and not by @claude2 or @claudeß.
		if after, _ := utf8.DecodeRuneInString(r.text[at+len(m):]); !wordly(after) {
			name, n = m, len(m)
		}
	}
	return name, n
}

// wordAt returns the word that may be a name at the beginning of s.
func wordAt(s string) string {
	n := 0
	for n < len(s) && (alphanumeric(s[n]) || n > 0 && (s[n] == '-' || s[n] == '_')) {
		n++
	}
	return strings.TrimRight(s[:n], "-_")
}

func alphanumeric(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

// wordly reports whether r can be part of a word.
func wordly(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// bracket reads [HANDOFF:NAME] and the marks of a status.
func (r *reader) bracket(at int) Piece {
	end := strings.IndexAny(r.text[at:], "]\n")
	if end < 0 || r.text[at+end] == '\n' || at > 0 && r.text[at-1] == '\\' {
		return Piece{}
	}
	whole := r.text[at : at+end+1]
	if strings.HasPrefix(r.text[at+end+1:], "(") || r.inertWithin(at, at+end+1) {
		return Piece{} // a link
	}
	word, says, is := strings.Cut(whole[1:end], ":")
	says = strings.TrimSpace(says)
	switch {
	case word == "HANDOFF" && is:
		return r.handoff(at, whole, strings.TrimPrefix(says, "@"))
	case word == Says && is && says == Done:
		word = Done
	case word == Says && is && says != "":
		return Piece{Kind: Status, Text: whole, Mark: Says, Words: says, Alone: r.alone(at, at+len(whole))}
	case is || !slices.Contains([]string{Explore, Decision, Blocked, Question, Todo, Done}, word):
		return Piece{}
	}
	p := Piece{Kind: Status, Text: whole, Mark: word, Alone: r.alone(at, at+len(whole))}
	if word != Explore && word != Done {
		p.Words = r.paragraph(at + len(whole))
	}
	return p
}

func (r *reader) handoff(at int, whole, name string) Piece {
	if name == "" || wordAt(name) != name {
		return Piece{}
	}
	if r.members != nil {
		i := slices.IndexFunc(r.members, func(m string) bool { return strings.EqualFold(m, name) })
		if i >= 0 {
			name = r.members[i]
		} // an unknown one is told to its author
	}
	what := r.text[at+len(whole):]
	what = what[:paragraphEnd(what)]
	if i := sentenceEnd(what); i >= 0 {
		what = what[:i]
	}
	what = strings.Join(strings.Fields(what), " ")
	if n := 0; utf8.RuneCountInString(what) > mostContext {
		for i := range what {
			if n++; n > mostContext {
				what = strings.TrimSpace(what[:i])
				break
			}
		}
	}
	return Piece{Kind: Handoff, Text: whole, Name: name, Words: what}
}

// sentenceEnd is where the first sentence of s ends, without its full stop; -1: it does not.
func sentenceEnd(s string) int {
	for i := 0; i < len(s); i++ {
		if s[i] == '.' && (i+1 == len(s) || strings.ContainsRune(" \t\r\n*_)", rune(s[i+1]))) {
			return i
		}
	}
	return -1
}

// paragraph returns the text from a place to the end of the paragraph, or to the next item
// of a list or mark of a status, on one line.
func (r *reader) paragraph(from int) string {
	s := r.text[from:]
	s = s[:paragraphEnd(s)]
	for i := 0; i < len(s); i++ {
		if s[i] == '\n' && item(s[i+1:]) || s[i] == '[' && !r.inertWithin(from+i, from+i+1) && r.bracket(from+i).Text != "" {
			s = s[:i]
			break
		}
	}
	return strings.Join(strings.Fields(s), " ")
}

// paragraphEnd is where the first blank line of s begins, or its end.
func paragraphEnd(s string) int {
	for i := 0; i < len(s); i++ {
		if s[i] != '\n' {
			continue
		}
		line, _, _ := strings.Cut(s[i+1:], "\n")
		if strings.TrimSpace(line) == "" {
			return i
		}
	}
	return len(s)
}

// item reports whether a line begins an item of a list.
func item(line string) bool {
	line = strings.TrimLeft(line, " \t")
	for _, bullet := range []string{"- ", "* ", "+ "} {
		if strings.HasPrefix(line, bullet) {
			return true
		}
	}
	digits := strings.TrimLeft(line, "0123456789")
	return digits != line && (strings.HasPrefix(digits, ". ") || strings.HasPrefix(digits, ") "))
}

// alone reports whether nothing but emphasis stands beside a part of its line.
func (r *reader) alone(from, to int) bool {
	before := r.text[strings.LastIndexByte(r.text[:from], '\n')+1 : from]
	after, _, _ := strings.Cut(r.text[to:], "\n")
	return bare(before) == "" && bare(after) == ""
}

func (r *reader) inertWithin(from, to int) bool {
	return slices.ContainsFunc(r.inert, func(z zone) bool { return z.from < to && from < z.to })
}

// OnlyAgrees reports whether a text says that its author agrees, and nothing else.
func OnlyAgrees(pieces []Piece) bool {
	agrees := false
	for _, p := range pieces {
		switch {
		case p.Kind == Agree:
			agrees = true
		case p.Kind != Text || strings.IndexFunc(p.Text, wordly) >= 0:
			return false
		}
	}
	return agrees
}
