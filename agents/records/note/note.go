// Package note keeps the notes of what rooms learned, in .cmux/memory.jsonl.
//
// The file is the only record of notes. Package ledger seals its lines, and saves aside a file
// with invalid lines. A line learns a note, changes one, or says who got one. A List is
// the fold of the lines; it is pure.
//
// A note is learned once: a text that is known, with other white space, case or punctuation, is
// not learned a second time, and one that was forgotten never again. Each text has a mark, which
// nobody can compute without the person's key, so that the text itself can be erased.
package note

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"cmux/agents/platform/harmless"
	"cmux/agents/records/journal"
)

// Name is the name of the file, in the folder .cmux.
const Name = "memory.jsonl"

// Bounds of a note.
const (
	MaxText  = 300 // characters
	MaxFiles = 20
	maxField = 200 // bytes of the name of a file, a kind or a model
)

// Kind is what a note is about.
type Kind string

// The kinds.
const (
	Project  Kind = "project"
	Practice Kind = "practice" // how something is done here
	Member   Kind = "member"   // what a kind and a model did
	Decision Kind = "decision"
)

// Kinds are all kinds.
func Kinds() []Kind { return []Kind{Project, Practice, Member, Decision} }

// Who learns a note besides a program, which is named by its kind.
const (
	ByUser      = "user"
	ByHeuristic = "heuristic"
)

// State is what has become of a note.
type State string

// The states.
const (
	Shown     State = "shown"
	Forgotten State = "forgotten"
	Promoted  State = "promoted" // it is in MEMORY.md
)

// States are all states.
func States() []State { return []State{Shown, Forgotten, Promoted} }

// About says what a note concerns.
type About struct {
	Files []string `json:"files,omitempty" maxItems:"20" doc:"Files, from the project's root"`
	Agent string   `json:"agent,omitempty" maxLength:"200" doc:"Kind of a program"`
	Model string   `json:"model,omitempty" maxLength:"200"`
}

// From says where a note comes from: messages of a room.
type From struct {
	Room     string    `json:"room"`
	Opened   time.Time `json:"opened_at"` // its first line: another room may have the name later
	Messages []int64   `json:"messages"`
}

// Use says that a turn got a note.
type Use struct {
	Room   string    `json:"room"`
	Turn   string    `json:"turn"`
	Member string    `json:"member"`
	At     time.Time `json:"at"` // the turn began
}

// Note is something that was learned.
type Note struct {
	ID      string    `json:"id"`
	Text    string    `json:"text"` // empty: it was erased
	Kind    Kind      `json:"kind"`
	About   About     `json:"about"`
	From    *From     `json:"from"` // null: a person has written it
	By      string    `json:"by"`   // kind of the program, heuristic, or user
	At      time.Time `json:"at"`
	Pinned  bool      `json:"pinned"`
	State   State     `json:"state"`
	Changed time.Time `json:"changed_at"`
	Used    []Use     `json:"used"` // oldest first
}

// Fields are what a note says.
type Fields struct {
	Text  string
	Kind  Kind
	About About
	From  *From
	By    string
}

// ErrText means that something is no note.
var ErrText = errors.New("not a note")

// Clean returns the fields as they are kept: on one line, without control characters.
func (f Fields) Clean() (Fields, error) {
	f.Text = strings.TrimSpace(harmless.Line(f.Text))
	switch n := utf8.RuneCountInString(f.Text); {
	case marked(f.Text) == "":
		return f, fmt.Errorf("%w: it says nothing", ErrText)
	case n > MaxText:
		return f, fmt.Errorf("%w: it has %d characters, and may have %d", ErrText, n, MaxText)
	case !slices.Contains(Kinds(), f.Kind):
		return f, fmt.Errorf("%w: %.40q is no kind of note: project, practice, member and decision are", ErrText, string(f.Kind))
	case len(f.About.Files) > MaxFiles:
		return f, fmt.Errorf("%w: it is about %d files, and may be about %d", ErrText, len(f.About.Files), MaxFiles)
	}
	files := slices.Clone(f.About.Files)
	for i := range files {
		files[i] = strings.TrimSpace(harmless.Line(files[i]))
	}
	f.About = About{Files: files, Agent: strings.TrimSpace(harmless.Line(f.About.Agent)), Model: strings.TrimSpace(harmless.Line(f.About.Model))}
	for _, s := range append(files, f.About.Agent, f.About.Model) {
		if len(s) > maxField {
			return f, fmt.Errorf("%w: %.40q is too long", ErrText, s)
		}
	}
	return f, nil
}

// marked is the text by which a note is known again: its words.
func marked(text string) string {
	return strings.Join(strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !journal.Letter(r) }), " ")
}

// Op is what a line does.
type Op string

// The changes.
const (
	OpLearn   Op = "learn"
	OpEdit    Op = "edit"
	OpPin     Op = "pin"
	OpUnpin   Op = "unpin"
	OpUse     Op = "use"     // a turn got it
	OpForget  Op = "forget"  // for ever
	OpPromote Op = "promote" // it was moved into MEMORY.md
	OpRead    Op = "read"    // a range of a room's messages was learned from, and gave notes
)

// Ops are all changes.
func Ops() []Op {
	return []Op{OpLearn, OpEdit, OpPin, OpUnpin, OpUse, OpForget, OpPromote, OpRead}
}

// Read says that a range of a room's messages was learned from, so that this happens once.
type Read struct {
	Room   string    `json:"room"`
	Opened time.Time `json:"opened_at"`
	From   int64     `json:"from"` // first message
	To     int64     `json:"to"`   // last message
	By     string    `json:"by"`   // as of a note
	Notes  int       `json:"notes"`
	Why    string    `json:"why,omitempty"` // why it gave none, or the heuristic did it
	At     time.Time `json:"at,omitzero"`
}

// Line is a line of memory.jsonl.
type Line struct {
	N  int64     `json:"n"` // above that of the line before
	At time.Time `json:"at"`
	Op Op        `json:"op"`
	By string    `json:"by,omitempty"`
	said

	Use     *Use   `json:"use,omitempty"`
	Read    *Read  `json:"read,omitempty"`
	Learned []said `json:"learned,omitempty"` // of OpRead: in one line, so that a cut leaves all of it or nothing
}

// said is what a line says about a note.
type said struct {
	Note   string `json:"note,omitempty"`
	Text   string `json:"text,omitempty"`
	Mark   string `json:"mark,omitempty"`   // of the text
	Erased bool   `json:"erased,omitempty"` // the text was here
	Kind   Kind   `json:"kind,omitempty"`
	About  About  `json:"about,omitzero"`
	From   *From  `json:"from,omitempty"`
}

// full reports whether it says what a note says.
func (s *said) full() bool {
	return number(s.Note) > 0 && s.Mark != "" && (s.Text == "") == s.Erased && slices.Contains(Kinds(), s.Kind)
}

var errNoLine = errors.New("not a line about a note")

// Number is the number in the note's id.
func (n *Note) Number() int { return number(n.ID) }

// number returns the number in a note's id; 0: the id is not valid.
func number(id string) int {
	digits, ok := strings.CutPrefix(id, "n")
	n, err := strconv.Atoi(digits)
	if !ok || err != nil || n < 1 || strconv.Itoa(n) != digits {
		return 0
	}
	return n
}

// check returns an error if a line is not valid.
func (l *Line) check() error {
	if l.N < 1 || l.Op != OpRead && number(l.Note) == 0 {
		return errNoLine
	}
	valid := true
	switch l.Op {
	case OpLearn:
		valid = l.full() && l.By != ""
	case OpEdit:
		valid = l.full()
	case OpUse:
		valid = l.Use != nil
	case OpRead:
		valid = l.Read != nil && l.Read.Room != "" && l.Read.By != "" && l.Read.From <= l.Read.To
		for i := range l.Learned {
			valid = valid && l.Learned[i].full()
		}
	case OpPin, OpUnpin, OpForget, OpPromote:
	default:
		valid = false
	}
	if !valid {
		return errNoLine
	}
	return nil
}
