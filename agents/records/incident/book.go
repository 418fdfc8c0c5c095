package incident

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"cmux/agents/records/ledger"
)

var (
	// ErrNone means that there is no incident with that id.
	ErrNone = errors.New("there is no such incident")
	// ErrClosed means that the incident is closed already.
	ErrClosed = errors.New("it is closed already")
)

// List is the fold of all lines. Its incidents never change: a line replaces its incident
// by a new value. The zero value is empty.
type List struct {
	Bad  []ledger.Bad // lines that do not count
	Gaps []string     // incidents with a missing line

	all   map[string]*Incident
	order []string
	most  int // highest number of all ids
}

func (l *List) copy() *List {
	c := *l
	c.all = make(map[string]*Incident, len(l.all))
	for id, i := range l.all {
		c.all[id] = i
	}
	c.order, c.Bad, c.Gaps = slices.Clip(l.order), slices.Clip(l.Bad), slices.Clip(l.Gaps)
	return &c
}

// number returns the number in an incident's id; 0: the id is not valid.
func number(id string) int {
	digits, ok := strings.CutPrefix(id, "i")
	n, err := strconv.Atoi(digits)
	if !ok || err != nil || n < 1 || strconv.Itoa(n) != digits {
		return 0
	}
	return n
}

// Take folds a line of the file.
func (l *List) Take(text []byte) error {
	line := new(Line)
	if err := json.Unmarshal(text, line); err != nil {
		return errNoLine
	}
	if err := line.check(); err != nil {
		return err
	}
	seen := 0
	if old := l.all[line.Incident]; old != nil {
		seen = old.lines
	}
	if line.N < seen {
		return ledger.ErrCopy
	}
	if line.N > seen && !slices.Contains(l.Gaps, line.Incident) {
		l.Gaps = append(l.Gaps, line.Incident)
	}
	l.put(line)
	return nil
}

// idIn finds the id in a damaged line, so that the id is not used again.
var idIn = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`"incident":"i([0-9]{1,9})"`) })

// Skip records a line that does not count.
func (l *List) Skip(bad ledger.Bad, line []byte) {
	l.Bad = append(l.Bad, bad)
	l.most = ledger.PastBad(l.most, idIn(), line)
}

func (l *List) put(line *Line) *Incident {
	if l.all == nil {
		l.all = make(map[string]*Incident)
	}
	old := l.all[line.Incident]
	if old == nil {
		l.order = append(l.order, line.Incident)
	}
	i := line.apply(old)
	l.all[line.Incident] = i
	l.most = max(l.most, number(line.Incident))
	return i
}

// Get returns the incident with an id; nil: there is none.
func (l *List) Get(id string) *Incident { return l.all[id] }

// All returns the incidents in the order in which they were opened.
func (l *List) All() []*Incident {
	all := make([]*Incident, len(l.order))
	for n, id := range l.order {
		all[n] = l.all[id]
	}
	return all
}

// last returns the newest incident of a cause; nil: there is none.
func (l *List) last(key string) *Incident {
	for _, id := range slices.Backward(l.order) {
		if i := l.all[id]; i.Key == key {
			return i
		}
	}
	return nil
}

// Open returns the open incident of a cause; nil: there is none.
func (l *List) Open(key string) *Incident {
	for _, id := range slices.Backward(l.order) {
		if i := l.all[id]; i.Key == key && i.State == Open {
			return i
		}
	}
	return nil
}

// Book holds the incidents of a project. It is safe for concurrent use, and several
// processes may each have one.
type Book struct {
	*ledger.Book[*List]
	now func() time.Time
}

// OpenBook opens the book of the project at root; the file need not exist. write: create
// the person's key if there is none.
func OpenBook(root string, now func() time.Time, write bool) (*Book, error) {
	b, err := ledger.Open(root, ledger.Format[*List]{Name: strings.TrimSuffix(Name, ".jsonl"), Place: "incident", New: func() *List { return new(List) }, Copy: (*List).copy}, write)
	if err != nil {
		return nil, err
	}
	return &Book{b, now}, nil
}

// Open records a failure: in a new incident, or in the last incident of the same cause if
// that is open or was closed less than Again ago. So a cause that comes and goes is one
// incident, and is acknowledged once. It returns the new state of the incident, and whether
// it is a new one.
func (b *Book) Open(ctx context.Context, by string, r Report) (i *Incident, opened bool, err error) {
	i, err = b.change(ctx, func(l *List, now time.Time) (*Incident, *Line, error) {
		line := &Line{Op: OpAdd, By: by, Note: r.Note}
		old := l.Open(r.key())
		if closed := l.last(r.key()); old == nil && closed != nil && within(now, *closed.ClosedAt) {
			line.Op, opened = OpReopen, false
			return closed, line, nil
		}
		if opened = old == nil; opened {
			line.Op, line.Incident = OpOpen, "i"+strconv.Itoa(l.most+1)
			line.Kind, line.About, line.Key, line.Title = r.Kind, r.About, r.key(), r.Title
			return nil, line, nil
		}
		if r.again(old, now) {
			return old, nil, nil
		}
		return old, line, nil
	})
	return i, opened, err
}

// Append adds to an incident, also to a closed one.
func (b *Book) Append(ctx context.Context, id, by string, n Note) (*Incident, error) {
	return b.on(ctx, id, func(*Incident) (*Line, error) { return &Line{Op: OpAdd, By: by, Note: n}, nil })
}

// Close closes an incident and records how it ended. If it is closed already, the error is
// ErrClosed.
func (b *Book) Close(ctx context.Context, id, by, outcome string, n Note) (*Incident, error) {
	return b.on(ctx, id, func(i *Incident) (*Line, error) {
		if i.State == Closed {
			return nil, ErrClosed
		}
		return &Line{Op: OpClose, By: by, Text: outcome, Note: n}, nil
	})
}

// CloseKey closes the open incident of a cause, if there is one.
func (b *Book) CloseKey(ctx context.Context, key, by, outcome string, n Note) (*Incident, error) {
	if l, err := b.List(); err != nil || l.Open(key) == nil { // called at every healthy check
		return nil, err
	}
	return b.change(ctx, func(l *List, _ time.Time) (*Incident, *Line, error) {
		i := l.Open(key)
		if i == nil {
			return nil, nil, nil
		}
		return i, &Line{Op: OpClose, By: by, Text: outcome, Note: n}, nil
	})
}

// Ack records that a person knows of an incident.
func (b *Book) Ack(ctx context.Context, id, by, text string) (*Incident, error) {
	return b.on(ctx, id, func(*Incident) (*Line, error) { return &Line{Op: OpAck, By: by, Text: text}, nil })
}

func (b *Book) on(ctx context.Context, id string, f func(*Incident) (*Line, error)) (*Incident, error) {
	return b.change(ctx, func(l *List, _ time.Time) (*Incident, *Line, error) {
		i := l.Get(id)
		if i == nil {
			return nil, nil, fmt.Errorf("%.40q: %w", id, ErrNone)
		}
		line, err := f(i)
		if err != nil {
			err = fmt.Errorf("%s: %w", id, err)
		}
		return i, line, err
	})
}

// change writes a line that f makes of an incident as it is now; nil: a new one. If f
// returns nil, nothing is written.
func (b *Book) change(ctx context.Context, f func(*List, time.Time) (*Incident, *Line, error)) (after *Incident, err error) {
	_, _, err = b.Book.Change(ctx, func(l *List) ([][]byte, error) {
		now := b.now().UTC().Truncate(time.Millisecond)
		i, line, err := f(l, now)
		if err != nil || line == nil {
			after = i
			return nil, err
		}
		line.At = now
		if i != nil {
			line.Incident, line.N = i.ID, i.lines
		}
		line.clean()
		if err := line.check(); err != nil {
			return nil, err
		}
		text, err := ledger.Encode(line)
		if err != nil {
			return nil, err
		}
		after = l.put(line)
		return [][]byte{text}, nil
	})
	if err != nil {
		return nil, err
	}
	return after, nil
}
