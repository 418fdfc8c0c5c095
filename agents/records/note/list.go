package note

import (
	"encoding/json"
	"errors"
	"regexp"
	"slices"
	"sync"
	"time"

	"cmux/agents/records/ledger"
)

// List is the fold of all lines. Its notes never change: a line replaces its note by a new
// value. The zero value is empty.
type List struct {
	Bad []ledger.Bad // lines that do not count

	n     int64 // of the last line
	most  int   // highest number of all ids
	order []string
	all   map[string]*Note
	marks map[string]string // of texts, to the note that has or had it
	reads []Read
}

func (l *List) copy() *List {
	c := *l
	c.all = make(map[string]*Note, len(l.all))
	for id, n := range l.all {
		c.all[id] = n
	}
	c.marks = make(map[string]string, len(l.marks))
	for mark, id := range l.marks {
		c.marks[mark] = id
	}
	c.order, c.Bad, c.reads = slices.Clip(l.order), slices.Clip(l.Bad), slices.Clip(l.reads)
	return &c
}

var errUnknown = errors.New("it is about a note that nothing has learned")

// Take folds a line of the file.
func (l *List) Take(text []byte) error {
	line := new(Line)
	if err := json.Unmarshal(text, line); err != nil {
		return errNoLine
	}
	if err := line.check(); err != nil {
		return err
	}
	if line.N <= l.n {
		return ledger.ErrCopy
	}
	l.n = line.N
	l.most = max(l.most, number(line.Note))
	if line.Op != OpLearn && line.Op != OpRead && l.all[line.Note] == nil {
		return errUnknown
	}
	if line.Op == OpLearn && l.all[line.Note] != nil || slices.ContainsFunc(line.Learned, func(s said) bool { return l.all[s.Note] != nil }) {
		return errNoLine
	}
	l.put(line)
	return nil
}

// idIn finds the id in a damaged line, so that the id is not used again.
var idIn = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`"note":"n([0-9]{1,9})"`) })

// Skip records a line that does not count.
func (l *List) Skip(bad ledger.Bad, line []byte) {
	l.Bad = append(l.Bad, bad)
	l.most = ledger.PastBad(l.most, idIn(), line)
}

func (l *List) put(line *Line) {
	if l.all == nil {
		l.all, l.marks = map[string]*Note{}, map[string]string{}
	}
	l.n = line.N
	if line.Op == OpRead {
		r := *line.Read
		r.At, r.Notes = line.At, len(line.Learned)
		l.reads = append(l.reads, r)
		for i := range line.Learned {
			l.put(&Line{N: line.N, At: line.At, Op: OpLearn, By: r.By, said: line.Learned[i]})
		}
		return
	}
	l.most = max(l.most, number(line.Note))
	n := Note{ID: line.Note, By: line.By, At: line.At, From: line.From, State: Shown, Used: []Use{}}
	if old := l.all[line.Note]; old != nil {
		n = *old
	} else {
		l.order = append(l.order, n.ID)
	}
	switch line.Op {
	case OpLearn, OpEdit:
		n.Text, n.Kind, n.About = line.Text, line.Kind, line.About
		l.marks[line.Mark] = n.ID
		if line.Erased { // only what was forgotten is
			n.State = Forgotten
		}
	case OpPin, OpUnpin:
		n.Pinned = line.Op == OpPin
	case OpUse:
		if !n.usedBy(line.Use) {
			n.Used = append(slices.Clip(n.Used), *line.Use)
		}
	case OpForget:
		n.State = Forgotten
	case OpPromote:
		if n.State == Shown {
			n.State = Promoted
		}
	}
	if line.Op != OpUse {
		n.Changed = line.At
	}
	l.all[n.ID] = &n
}

func (n *Note) usedBy(u *Use) bool {
	return slices.ContainsFunc(n.Used, func(have Use) bool {
		return have.Room == u.Room && have.Turn == u.Turn && have.At.Equal(u.At)
	})
}

// Get returns the note with an id, in any state; nil: there is none.
func (l *List) Get(id string) *Note { return l.all[id] }

// Shown returns the notes that are shown, in the order in which they were learned.
func (l *List) Shown() []*Note {
	all := []*Note{}
	for _, id := range l.order {
		if n := l.all[id]; n.State == Shown {
			all = append(all, n)
		}
	}
	return all
}

// Reads returns the ranges that were learned from, the oldest first.
func (l *List) Reads() []Read { return slices.Clone(l.reads) }

// ReadTo returns the last message of a room that was learned from; 0: there is none.
func (l *List) ReadTo(room string, opened time.Time) (to int64) {
	for _, r := range l.reads {
		if r.Room == room && r.Opened.Equal(opened) {
			to = max(to, r.To)
		}
	}
	return to
}
