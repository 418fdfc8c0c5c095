// Package incident records what broke in an organization, and what was done about it, in
// .cmux/incidents.jsonl.
//
// The file is the only record of incidents. Package ledger seals its lines, and saves aside
// a file with invalid lines. A line opens an incident, adds to one, closes one, or records
// that a person knows of it. A List is the fold of the lines.
//
// Each incident has a key, which names its cause: "agent/w1/frozen". While an incident of
// the key is open, another report of the same cause adds to it. If the last one was closed
// less than Again ago, the report opens it again. A report with the same words less than
// Again ago, with nothing done in between, is not written: callers may report a failure
// each time they see it.
package incident

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"time"
)

// Name is the name of the file, in the folder .cmux.
const Name = "incidents.jsonl"

// Again is how long the same words about the same cause are not written again.
const Again = 10 * time.Minute

// Limits of what is written: the middle of a longer text is cut out.
const (
	MaxTitle = 200
	MaxText  = 4 << 10
	MaxNotes = 50 // of each sort in one line

	// These many pieces of evidence and actions of an incident are kept in memory: the
	// first and the newest. The file has all.
	keepFirst, keepLast = 10, 40
)

// Evidence is one observation.
type Evidence struct {
	At   time.Time `json:"at"`   // zero: when it is written
	Text string    `json:"text"` // without an age, which would make it new each time

	written time.Time
}

// Deed is one action that was taken.
type Deed struct {
	At     time.Time `json:"at"` // zero: when it is written
	What   string    `json:"what"`
	Result string    `json:"result"` // how it ended; empty: it has just begun
}

// Cost is the known cost of an incident.
type Cost struct {
	Tokens  int64   `json:"tokens"`
	Seconds float64 `json:"seconds"`
}

// Advice is what a person can do.
type Advice struct {
	Text    string `json:"text"`
	Command string `json:"command,omitempty"` // a command that works as printed
}

// Note is an addition to an incident. All fields are optional.
type Note struct {
	Evidence []Evidence `json:"evidence,omitempty"`
	Deeds    []Deed     `json:"deeds,omitempty"`
	Cost     Cost       `json:"cost,omitzero"`
	Advice   *Advice    `json:"advice,omitempty"` // replaces an older one
}

// Report is a failure to record.
type Report struct {
	Kind  string // agent, server, health, rollback or room
	About string // the name of an agent, server or room, or a project's health
	Key   string // cause; empty: kind and about
	Title string // one line
	Note
}

// Saw returns one piece of evidence, for a report or a note.
func Saw(text string) []Evidence { return []Evidence{{Text: text}} }

// Did returns one action, for a note.
func Did(what, result string) []Deed { return []Deed{{What: what, Result: result}} }

// States of an incident.
const (
	Open   = "open"
	Closed = "closed"
)

// Incident is a failure and its history.
type Incident struct {
	ID       string     `json:"id"`
	Kind     string     `json:"kind"`
	About    string     `json:"about"`
	Key      string     `json:"key"`
	Title    string     `json:"title"`
	State    string     `json:"state"`
	Seen     int        `json:"seen"`     // number of all evidence, kept or not
	Evidence []Evidence `json:"evidence"` // the first and the newest
	Deeds    []Deed     `json:"deeds"`    // the first and the newest
	Cost     Cost       `json:"cost"`
	Advice   *Advice    `json:"advice"` // null: there is nothing to do

	OpenedAt  time.Time  `json:"opened_at"`
	OpenedBy  string     `json:"opened_by"`
	ChangedAt time.Time  `json:"changed_at"`
	ClosedAt  *time.Time `json:"closed_at"`
	ClosedBy  string     `json:"closed_by,omitempty"`
	Outcome   string     `json:"outcome,omitempty"` // how it ended
	AckedAt   *time.Time `json:"acked_at"`
	AckedBy   string     `json:"acked_by,omitempty"`
	Ack       string     `json:"ack,omitempty"` // the person's text

	lines int
}

// Waits reports whether an incident is open and no person has acknowledged it.
func (i *Incident) Waits() bool { return i.State == Open && i.AckedAt == nil }

// Label returns the state for people.
func (i *Incident) Label() string {
	if i.AckedAt != nil {
		return i.State + ", acked"
	}
	return i.State
}

// Op is what a line does.
type Op string

const (
	OpOpen  Op = "open"
	OpAdd   Op = "add"
	OpClose Op = "close" // Text: how it ended
	OpAck   Op = "ack"   // Text: the person's text

	OpReopen Op = "reopen" // it broke again soon after
)

// Line is a line of incidents.jsonl.
type Line struct {
	Incident string    `json:"incident"`
	N        int       `json:"n"` // number among the incident's lines, from 0
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

var errNoLine = errors.New("not a line about an incident")

// check returns an error if a line is not valid.
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

// clean limits the texts of a line and fills in missing fields.
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

// Cut shortens a text to at most so many bytes; a note in its middle says how much is
// missing.
func Cut(text string, most int) string {
	text = strings.ToValidUTF8(text, "\ufffd")
	const gap = " [...] "
	if len(text) <= most {
		return text
	}
	half := max(0, most-len(gap)) / 2
	return strings.ToValidUTF8(text[:half], "") + gap + strings.ToValidUTF8(text[len(text)-half:], "")
}

// apply returns an incident after a line; nil is an incident that does not exist yet.
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
		if i.ClosedBy != "cmux" { // a person closed it as fixed, so a new failure is new to them
			i.AckedAt, i.AckedBy, i.Ack = nil, "", ""
		}
		i.State, i.ClosedAt, i.ClosedBy, i.Outcome = Open, nil, "", ""
	case OpAck:
		i.AckedAt, i.AckedBy, i.Ack = &at, l.By, l.Text
	}
	i.ChangedAt, i.lines = at, l.N+1
	return i
}

// kept appends more to a list and keeps the first and the newest of all.
func kept[T any](all, more []T) []T {
	all = append(all[:len(all):len(all)], more...)
	if len(all) <= keepFirst+keepLast {
		return all
	}
	return append(slices.Clone(all[:keepFirst]), all[len(all)-keepLast:]...)
}

// key returns the cause of a report.
func (r *Report) key() string { return cmp.Or(r.Key, r.Kind+"/"+r.About) }

// within reports whether a line was written less than Again ago. A time in the future,
// after the clock was set back, does not count.
func within(now, written time.Time) bool {
	ago := now.Sub(written)
	return ago >= 0 && ago < Again
}

// again reports whether the incident already has everything in a report.
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
