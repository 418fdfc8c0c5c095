package mailbox

import (
	"slices"
	"time"
)

// Status is the state of a message for one recipient.
type Status struct {
	State State
	Why   string
	At    time.Time // since when it is in this state
	Try   int       // how often it was handed over
}

// Ledger is the fold of messages and deliveries: the messages that wait for each recipient,
// in order. The zero value is empty. Deliveries may be applied before their messages. It is
// not safe for concurrent use.
type Ledger struct {
	lines  []*item // in the order of the mailbox
	index  map[string]*item
	status map[string][]entry // message -> recipient
	open   []*item            // messages that may still wait
}

type item struct {
	Line
	n    int  // its index among all messages
	open bool // it is in the list of messages that may still wait
}

type entry struct {
	to string
	Status
}

// Known reports whether the ledger has a message.
func (l *Ledger) Known(id string) bool { return l.index[id] != nil }

// Add adds a message. If its id is known, Add ignores it: the first one counts.
func (l *Ledger) Add(m Line) bool {
	if l.Known(m.ID) {
		return false
	}
	if l.index == nil {
		l.index = make(map[string]*item)
	}
	i := &item{Line: m, n: len(l.lines), open: m.Type == ""}
	l.index[m.ID] = i
	l.lines = append(l.lines, i)
	if i.open {
		l.open = append(l.open, i)
	}
	return true
}

// Apply applies a delivery. A confirmed message stays confirmed, whatever follows;
// otherwise the last line counts.
func (l *Ledger) Apply(d Delivery) {
	if l.status == nil {
		l.status = make(map[string][]entry)
	}
	all := l.status[d.ID]
	at := slices.IndexFunc(all, func(e entry) bool { return e.to == d.To })
	if at < 0 {
		at = len(all)
		all = append(all, entry{to: d.To})
		l.status[d.ID] = all
	}
	s := &all[at].Status
	if s.State == Confirmed {
		return
	}
	s.State, s.Why, s.At, s.Try = d.State, d.Why, d.At, max(s.Try, d.Try)
	if i := l.index[d.ID]; i != nil && !i.open && i.Type == "" && !d.State.Final() { // retried
		i.open = true
		at, _ := slices.BinarySearchFunc(l.open, i.n, func(o *item, n int) int { return o.n - n })
		l.open = slices.Insert(l.open, at, i)
	}
}

// Recipients returns all recipients of a message; of a message to all, those it was queued
// for.
func (l *Ledger) Recipients(m *Message) []Address {
	to, err := m.Recipient()
	if err != nil || m.Type != "" {
		return nil
	}
	if to.Kind != All {
		return []Address{to}
	}
	var out []Address
	for _, e := range l.status[m.ID] {
		if a, err := ParseAddress(e.to); err == nil && a.Kind != All {
			out = append(out, a)
		}
	}
	return out
}

// Status returns the state of a message for a recipient. Without a delivery it is queued
// since it was written.
func (l *Ledger) Status(id string, to Address) Status {
	name := to.String()
	for _, e := range l.status[id] {
		if e.to == name {
			return e.Status
		}
	}
	s := Status{State: Queued}
	if m := l.index[id]; m != nil {
		s.At = m.TS
	}
	return s
}

// Find returns the message with an id.
func (l *Ledger) Find(id string) (Line, bool) {
	if m := l.index[id]; m != nil {
		return m.Line, true
	}
	return Line{}, false
}

// Lines yields the messages in the order of writing.
func (l *Ledger) Lines(yield func(Line) bool) {
	for _, m := range l.lines {
		if !yield(m.Line) {
			return
		}
	}
}

// Backward yields the messages, the newest first. They belong to the ledger; do not change
// them.
func (l *Ledger) Backward(yield func(*Line) bool) {
	for _, m := range slices.Backward(l.lines) {
		if !yield(&m.Line) {
			return
		}
	}
}

// Len returns the number of messages.
func (l *Ledger) Len() int { return len(l.lines) }

// Waiting is a message that has not reached a recipient.
type Waiting struct {
	Line
	For Address
	Status
}

// Waiting returns the messages that have not reached their recipients, in the order of
// writing. A message to all that was not distributed yet is listed once. The cost depends
// on the waiting messages only.
func (l *Ledger) Waiting() (all []Waiting) {
	kept := l.open[:0]
	for _, m := range l.open {
		to := l.Recipients(&m.Message)
		if len(to) == 0 {
			to = []Address{{Kind: All}}
		}
		before := len(all)
		for _, a := range to {
			if s := l.Status(m.ID, a); !s.State.Final() {
				all = append(all, Waiting{m.Line, a, s})
			}
		}
		if m.open = len(all) > before; m.open {
			kept = append(kept, m)
		}
	}
	clear(l.open[len(kept):])
	l.open = kept
	return all
}

// Places holds the positions up to which both files were read.
type Places struct {
	Messages   Place `json:"messages"`
	Deliveries Place `json:"deliveries"`
}

// Load reads what is new in the files of a box and advances the places. It returns the
// lines that were skipped.
func (l *Ledger) Load(b *Box, at *Places) (bad []Bad, err error) {
	// Messages first: then every delivery recorded before now belongs to a known message.
	m, err := b.Read(at.Messages, l.Known, func(m Line) error { l.Add(m); return nil })
	at.Messages, bad = m.Next, m.Bad
	if err != nil {
		return bad, err
	}
	apply := func(d Delivery) error { l.Apply(d); return nil }
	d, err := b.ReadDeliveries(at.Deliveries, apply)
	at.Deliveries = d.Next
	return append(bad, d.Bad...), err
}
