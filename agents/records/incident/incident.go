// Package incident is what broke in an organization, and what was done about it,
// as it stands in .cmux/incidents.jsonl.
//
// The file is the only memory of incidents, and a ledger: see package ledger for
// how lines are sealed, cut off and saved aside. A line opens an incident, adds to
// one, closes one or says that a person knows of it. A List is the one fold of the
// lines.
//
// Each incident has a key, which names its cause: "agent/w1/frozen". While one of
// the key is open, another report of the same cause adds to it instead of opening
// a second; one that was closed less than Again ago is opened again. What was reported in the same words less than Again ago, with nothing
// done meanwhile, is not written: an incident may be reported each time it is seen.
package incident

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"time"
)

// Name is that of the file, in the folder .cmux.
const Name = "incidents.jsonl"

// Again is for how long the same words about the same cause are not written again.
const Again = 10 * time.Minute

// Bounds of what is written: longer text is cut in its middle.
const (
	MaxTitle = 200
	MaxText  = 4 << 10
	MaxNotes = 50 // of each sort in one line

	// Of the evidence and of the deeds of an incident so many are kept in memory:
	// the first ones, and the newest. The file has all.
	keepFirst, keepLast = 10, 40
)

// Evidence is something that was seen.
type Evidence struct {
	At   time.Time `json:"at"`   // zero: when it is written
	Text string    `json:"text"` // without an age in it, which would make it new each time

	written time.Time
}

// Deed is something that was done.
type Deed struct {
	At     time.Time `json:"at"` // zero: when it is written
	What   string    `json:"what"`
	Result string    `json:"result"` // what came of it; empty: it has just begun
}

// Cost is what an incident has cost, as far as it is known.
type Cost struct {
	Tokens  int64   `json:"tokens"`
	Seconds float64 `json:"seconds"`
}

// Advice is what a person can do.
type Advice struct {
	Text    string `json:"text"`
	Command string `json:"command,omitempty"` // one that works as it stands
}

// Note is what is added to an incident. Everything in it may be missing.
type Note struct {
	Evidence []Evidence `json:"evidence,omitempty"`
	Deeds    []Deed     `json:"deeds,omitempty"`
	Cost     Cost       `json:"cost,omitzero"`
	Advice   *Advice    `json:"advice,omitempty"` // takes the place of an older one
}

// Report says that something broke.
type Report struct {
	Kind  string // one word of a few: agent, server, health, rollback
	About string // what it is about: the name of an agent, server, a project's health
	Key   string // names the cause; empty: kind and about
	Title string // one line
	Note
}

// Saw is a report's or a note's one piece of evidence.
func Saw(text string) []Evidence { return []Evidence{{Text: text}} }

// Did is a note's one deed.
func Did(what, result string) []Deed { return []Deed{{What: what, Result: result}} }

// States of an incident.
const (
	Open   = "open"
	Closed = "closed"
)

// Incident is something that broke.
type Incident struct {
	ID       string     `json:"id"`
	Kind     string     `json:"kind"`
	About    string     `json:"about"`
	Key      string     `json:"key"`
	Title    string     `json:"title"`
	State    string     `json:"state"`
	Seen     int        `json:"seen"`     // how much evidence there is, what is left out included
	Evidence []Evidence `json:"evidence"` // the first and the newest
	Deeds    []Deed     `json:"deeds"`    // likewise
	Cost     Cost       `json:"cost"`
	Advice   *Advice    `json:"advice"` // null: nothing is to be done

	OpenedAt  time.Time  `json:"opened_at"`
	OpenedBy  string     `json:"opened_by"`
	ChangedAt time.Time  `json:"changed_at"`
	ClosedAt  *time.Time `json:"closed_at"`
	ClosedBy  string     `json:"closed_by,omitempty"`
	Outcome   string     `json:"outcome,omitempty"` // how it ended
	AckedAt   *time.Time `json:"acked_at"`
	AckedBy   string     `json:"acked_by,omitempty"`
	Ack       string     `json:"ack,omitempty"` // what they wrote

	lines int
}

// Waits reports whether a person has not been seen to know of an incident that is
// open.
func (i *Incident) Waits() bool { return i.State == Open && i.AckedAt == nil }

// Label is the state as people read it.
func (i *Incident) Label() string {
	if i.AckedAt != nil {
		return i.State + ", acked"
	}
	return i.State
}

// Op says what a line does.
type Op string

const (
	OpOpen  Op = "open"
	OpAdd   Op = "add"
	OpClose Op = "close" // Text: how it ended
	OpAck   Op = "ack"   // Text: what the person wrote

	OpReopen Op = "reopen" // it broke again soon after
)

// Line is a line of incidents.jsonl.
type Line struct {
	Incident string    `json:"incident"`
	N        int       `json:"n"` // of the incident's lines, from 0
	Op       Op        `json:"op"`
	At       time.Time `json:"at"`
	By       string    `json:"by"` // user, cmux, or the address of an agent
	Kind     string    `json:"kind,omitempty"`
	About    string    `json:"about,omitempty"`
	Key      string    `json:"key,omitempty"`
	Title    string    `json:"title,omitempty"`
	Text     string    `json:"text,omitempty"`
	Note
}

var errNoLine = errors.New("it is no line about an incident")

// check refuses a line that is none.
func (l *Line) check() error {
	if number(l.Incident) == 0 || l.N < 0 || (l.Op == OpOpen) != (l.N == 0) {
		return errNoLine
	}
	switch l.Op {
	case OpOpen:
		if l.Kind == "" || l.Title == "" || l.Key == "" {
			return errNoLine
		}
	case OpAdd, OpClose, OpAck, OpReopen:
	default:
		return errNoLine
	}
	return nil
}

// clean bounds a line, and fills in what is left out.
func (l *Line) clean() {
	l.Title = oneLine(l.Title, MaxTitle)
	l.About, l.Kind = oneLine(l.About, MaxTitle), oneLine(l.Kind, MaxTitle)
	l.Text = Cut(l.Text, MaxText)
	l.Evidence, l.Deeds = slices.Clone(l.Evidence), slices.Clone(l.Deeds)
	l.Evidence, l.Deeds = l.Evidence[max(0, len(l.Evidence)-MaxNotes):], l.Deeds[max(0, len(l.Deeds)-MaxNotes):]
	for i := range l.Evidence {
		e := &l.Evidence[i]
		e.At, e.Text = moment(e.At, l.At), Cut(e.Text, MaxText)
	}
	for i := range l.Deeds {
		d := &l.Deeds[i]
		d.At, d.What, d.Result = moment(d.At, l.At), Cut(d.What, MaxText), Cut(d.Result, MaxText)
	}
	if l.Advice != nil {
		l.Advice = &Advice{Cut(l.Advice.Text, MaxText), Cut(l.Advice.Command, MaxText)}
	}
}

func moment(at, or time.Time) time.Time {
	if at.IsZero() {
		return or
	}
	return at.UTC().Truncate(time.Millisecond)
}

func oneLine(text string, most int) string {
	return Cut(strings.Join(strings.Fields(text), " "), most)
}

// Cut is a text of at most so many bytes, which says what is missing in its middle.
func Cut(text string, most int) string {
	text = strings.ToValidUTF8(text, "\ufffd")
	const gap = " [...] "
	if len(text) <= most {
		return text
	}
	half := max(0, most-len(gap)) / 2
	return strings.ToValidUTF8(text[:half], "") + gap + strings.ToValidUTF8(text[len(text)-half:], "")
}

// apply is an incident, nil for one that is not there, after a line.
func (l *Line) apply(old *Incident) *Incident {
	i := &Incident{ID: l.Incident, Kind: l.Kind, About: l.About, Key: l.Key, Title: l.Title, State: Open,
		Evidence: []Evidence{}, Deeds: []Deed{}, OpenedAt: l.At, OpenedBy: l.By}
	if old != nil {
		copied := *old
		i = &copied
	}
	at := l.At
	i.Seen += len(l.Evidence)
	seen := slices.Clone(l.Evidence)
	for n := range seen {
		seen[n].written = at
	}
	i.Evidence, i.Deeds = kept(i.Evidence, seen), kept(i.Deeds, l.Deeds)
	i.Cost.Tokens += l.Cost.Tokens
	i.Cost.Seconds += l.Cost.Seconds
	if l.Advice != nil {
		i.Advice = l.Advice
	}
	switch l.Op {
	case OpClose:
		if i.ClosedAt == nil {
			i.State, i.ClosedAt, i.ClosedBy, i.Outcome = Closed, &at, l.By, l.Text
		}
	case OpReopen:
		if i.ClosedBy != "cmux" { // a person called it mended: what comes now is new to them
			i.AckedAt, i.AckedBy, i.Ack = nil, "", ""
		}
		i.State, i.ClosedAt, i.ClosedBy, i.Outcome = Open, nil, "", ""
	case OpAck:
		i.AckedAt, i.AckedBy, i.Ack = &at, l.By, l.Text
	}
	i.ChangedAt, i.lines = at, l.N+1
	return i
}

// kept are some things with more behind them: the first and the newest of all.
func kept[T any](all, more []T) []T {
	all = append(all[:len(all):len(all)], more...)
	if len(all) <= keepFirst+keepLast {
		return all
	}
	return append(slices.Clone(all[:keepFirst]), all[len(all)-keepLast:]...)
}

// key is the cause of a report.
func (r *Report) key() string { return cmp.Or(r.Key, r.Kind+"/"+r.About) }

// within reports whether something was written less than Again ago. A clock that was
// ahead when it was keeps nothing quiet.
func within(now, written time.Time) bool {
	ago := now.Sub(written)
	return ago >= 0 && ago < Again
}

// again reports whether a report says nothing that the incident does not have.
func (r *Report) again(i *Incident, now time.Time) bool {
	if len(r.Deeds) > 0 || r.Cost != (Cost{}) || r.Advice != nil && (i.Advice == nil || *r.Advice != *i.Advice) || !within(now, i.ChangedAt) {
		return false
	}
	for _, e := range r.Evidence {
		if !slices.ContainsFunc(i.Evidence, func(have Evidence) bool { return have.Text == Cut(e.Text, MaxText) && within(now, have.written) }) {
			return false
		}
	}
	return true
}
