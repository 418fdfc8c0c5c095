// Package schedule is what an organization does at certain times: reminders and
// recurring tasks, as they stand in .cmux/schedule.jsonl.
//
// What is due, Due says: it is pure, knows no clock, and goes by what was fired, so
// that a due time counts once, whatever the clock of the machine did meanwhile. Of
// due times that were missed while nobody looked, the last one is fired, once, and
// says how many it stands for. What comes of a due time has an id that only the
// entry and the time make, so that who is killed between making it and writing it
// down makes it once.
package schedule

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"cmux/agents/org/task"
	"cmux/agents/records/ledger"
)

// Name is that of the file, in the folder .cmux.
const Name = "schedule.jsonl"

// Bounds of an entry.
const (
	MaxTitle   = task.MaxTitle
	MaxBody    = 64 << 10
	MaxEntries = 500
)

// An Entry makes a message or a task at certain times.
type Entry struct {
	ID    string    `json:"id"`
	By    string    `json:"by"` // user, or the address of an agent
	Added time.Time `json:"added_at"`
	When

	Title    string        `json:"title"` // of the task, or the subject of the message
	Body     string        `json:"body,omitempty"`
	Task     bool          `json:"task"` // it makes a task; else it sends a message
	To       string        `json:"to"`   // whom the message is for, or who is given the task; empty: nobody yet
	Priority task.Priority `json:"priority,omitempty"`
	Verify   []string      `json:"verify,omitempty"`
	Scope    []string      `json:"scope,omitempty"`
}

// Fired is a due time that was seen to.
type Fired struct {
	Due    time.Time `json:"due"`
	At     time.Time `json:"at"`
	Missed int       `json:"missed"` // due times before it that it stands for as well
	Made   string    `json:"made"`   // id of the task or the message
	Failed string    `json:"failed,omitempty"`
	Extra  bool      `json:"extra,omitempty"` // somebody asked for it out of turn
}

// line is a line of the file. One of its members is set.
type line struct {
	Add    *Entry `json:"add,omitempty"`
	Remove string `json:"remove,omitempty"` // id
	By     string `json:"by,omitempty"`
	At     string `json:"at,omitempty"`
	Of     string `json:"of,omitempty"` // id of the entry of Fired
	Fired  *Fired `json:"fired,omitempty"`
	Base   *base  `json:"base,omitempty"`
	Kept   *kept  `json:"kept,omitempty"`
}

// keptDues is how many due times are remembered of an entry.
const keptDues = 200

// State is an entry and its last firing.
type State struct {
	Entry
	Last  *Fired `json:"last"`  // nil: it was not due yet
	Count int    `json:"count"` // how often it was fired
	Over  bool   `json:"over"`  // it was to come once, and has

	plan *plan
	dues []time.Time // that were seen to, as they were written
}

// List is the fold of the file.
type List struct {
	Bad []ledger.Bad

	entries map[string]*State
	most    int
	left    int // lines that are to say what a file that was shortened keeps
}

// Copy is a list that goes on by itself.
func (l *List) Copy() *List {
	c := &List{Bad: slices.Clip(l.Bad), most: l.most, left: l.left, entries: make(map[string]*State, len(l.entries))}
	for id, s := range l.entries {
		one := *s
		one.dues = slices.Clone(s.dues)
		c.entries[id] = &one
	}
	return c
}

// Skip keeps in mind a line that does not count.
func (l *List) Skip(b ledger.Bad, _ []byte) { l.Bad = append(l.Bad, b) }

// Take takes in a line, or says why it does not count.
func (l *List) Take(b []byte) error {
	var n line
	if err := json.Unmarshal(b, &n); err != nil {
		return errors.New("it is no line of a schedule")
	}
	return l.step(&n)
}

func (l *List) step(n *line) error {
	switch {
	case n.Base != nil:
		return l.begin(n.Base)
	case n.Kept != nil:
		return l.keep(n.Kept)
	case n.Add != nil:
		return l.add(n.Add)
	case n.Remove != "":
		if l.entries[n.Remove] == nil {
			return fmt.Errorf("%w: it removes what is not there", ledger.ErrCopy)
		}
		delete(l.entries, n.Remove)
	case n.Fired != nil:
		if s := l.entries[n.Of]; s != nil { // else it was removed meanwhile
			s.fired(n.Fired)
		}
	default:
		return errors.New("it says nothing")
	}
	return nil
}

func (l *List) add(e *Entry) error {
	n, err := strconv.Atoi(strings.TrimPrefix(e.ID, "s"))
	if err != nil || n <= l.most {
		return ledger.ErrCopy
	}
	p, err := e.When.plan()
	if err != nil {
		return err
	}
	if l.entries == nil {
		l.entries = make(map[string]*State)
	}
	l.most = n
	l.entries[e.ID] = &State{Entry: *e, plan: p}
	return nil
}

func (s *State) fired(f *Fired) {
	if s.Last == nil || !f.At.Before(s.Last.At) {
		s.Last = f
	}
	s.Count++
	if f.Extra {
		return
	}
	s.Over = s.Over || !s.When.At.IsZero()
	if s.dues = append(s.dues, f.Due); len(s.dues) > keptDues {
		s.dues = slices.Clone(s.dues[len(s.dues)-keptDues:])
	}
}

// Check returns an error if the entry is not valid.
func (e *Entry) Check() error {
	switch {
	case strings.TrimSpace(e.Title) == "" || strings.ContainsAny(e.Title, "\n\r"):
		return errors.New("say in one line what it is about")
	case len(e.Title) > MaxTitle:
		return fmt.Errorf("the line has %d bytes, and %d is the most: say the rest in the text", len(e.Title), MaxTitle)
	case len(e.Body) > MaxBody:
		return fmt.Errorf("the text has %d bytes, and %d is the most", len(e.Body), MaxBody)
	case !e.Task && (e.To == "" || e.Priority != "" || e.Verify != nil || e.Scope != nil):
		return errors.New("a message needs somebody that it is for, and priority, verify and scope are a task's")
	case e.Priority != "" && !slices.Contains(task.Priorities(), e.Priority):
		return fmt.Errorf("%.40q is no priority: want critical, high, normal or low", e.Priority)
	}
	_, err := e.When.plan()
	return err
}

// Get is an entry; nil: there is none.
func (l *List) Get(id string) *State { return l.entries[id] }

// All are the entries, oldest first.
func (l *List) All() []*State {
	return slices.SortedFunc(maps.Values(l.entries), func(a, b *State) int {
		return cmp.Or(a.Added.Compare(b.Added), cmp.Compare(len(a.ID), len(b.ID)), cmp.Compare(a.ID, b.ID))
	})
}

// Next is when the entry is due next, as seen from now; zero: never again.
func (s *State) Next(now time.Time) time.Time {
	if s.Over {
		return time.Time{}
	}
	return s.after(s.floor(now))
}

// floor is up to when everything that was due is seen to. What was fired in a future
// that the clock has come back from says nothing about the time before it. A time that
// passed while its entry was written is due.
func (s *State) floor(now time.Time) time.Time {
	floor := s.Added
	if at := s.When.At; !at.IsZero() && !at.After(floor) {
		floor = at.Add(-1)
	}
	if floor.After(now) {
		floor = now
	}
	for _, due := range s.dues {
		if due.After(floor) && !due.After(now) {
			floor = due
		}
	}
	return floor
}

// after is the first due time after a moment that was not seen to.
func (s *State) after(t time.Time) time.Time {
	for range keptDues + 1 {
		if t = s.plan.next(t, s.Added); t.IsZero() || !slices.ContainsFunc(s.dues, t.Equal) {
			return t
		}
	}
	return t
}

// Firing is a due time that is to be seen to.
type Firing struct {
	Entry  Entry
	Due    time.Time
	Missed int // due times before it that nobody saw to
}

// maxMissed bounds how far missed due times are counted.
const maxMissed = 1000

// Due says what is due now, and when something is due next; zero: nothing is. It is
// pure.
func Due(l *List, now time.Time) (all []Firing, next time.Time) {
	for _, s := range l.All() {
		if s.Over {
			continue
		}
		t, missed := s.Next(now), -1
		var due time.Time
		for ; !t.IsZero() && !t.After(now); t = s.after(t) {
			if due, missed = t, missed+1; missed >= maxMissed {
				due, t = s.latest(now), s.after(now)
				break
			}
		}
		if !due.IsZero() {
			all = append(all, Firing{s.Entry, due, missed})
		}
		if !t.IsZero() && (next.IsZero() || t.Before(next)) {
			next = t
		}
	}
	return all, next
}

// latest is the last due time that is not after now, where there are many.
func (s *State) latest(now time.Time) time.Time {
	for back := time.Minute; back < never; back *= 2 {
		var last time.Time
		for t := s.after(now.Add(-back)); !t.IsZero() && !t.After(now); t = s.after(t) {
			last = t
		}
		if !last.IsZero() {
			return last
		}
	}
	return now
}
