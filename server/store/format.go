package store

import (
	"encoding/json"
	"errors"
	"strings"
	"time"
	"unicode/utf8"

	"cmux/agents/org/task"
	"cmux/agents/records/event"
	"cmux/agents/records/incident"
	"cmux/signals/mailbox"
)

// row is an event on its way into the store.
type row struct {
	at         int64
	known      bool // at says when it happened
	kind, name string
	body       []byte
	said       string // what is found by a search
	once       bool   // there is one message of this name
	foreign    bool   // cmux of this person did not write it
}

// format is how the lines of a source are read.
type format struct {
	whole  bool // the file is one row, and not lines
	line   func(line []byte) row
	sealed string // name of the file whose lines cmux codes; empty: it does not, or each file has its own
}

var (
	events = &format{line: func(line []byte) row {
		var f struct{ At, Node, Kind, Text string }
		r := parse(line, &f)
		r.when(f.At)
		r.set(f.Kind, f.Node)
		switch event.Kind(f.Kind) {
		case event.ToolUse, event.Usage, event.Session, event.Subagent:
		case event.ToolResult:
			r.said = event.Cut(f.Text, 500)
		default:
			r.said = f.Text
		}
		return r
	}}
	messages = &format{sealed: mailbox.Name, line: func(line []byte) row {
		var f struct{ ID, TS, From, To, Subject, Body, Type string }
		r := parse(line, &f)
		r.when(f.TS)
		switch f.Type {
		case "":
			r.set(Message, f.ID)
		case mailbox.StatusUpdate:
			r.set(StatusUpdate, f.ID)
		default:
			r.set(other, f.ID)
		}
		r.once = f.ID != "" && r.kind != Unreadable
		r.said = join(f.From, f.To, f.Subject, f.Body)
		return r
	}}
	deliveries = &format{sealed: mailbox.Deliveries, line: func(line []byte) row {
		var f struct{ At, ID string }
		r := parse(line, &f)
		r.when(f.At)
		r.set(Delivery, f.ID)
		return r
	}}
	tasks = &format{sealed: task.Name, line: func(line []byte) row {
		var f struct{ At, Task, Op, Title, Body, Reason string }
		r := parse(line, &f)
		r.when(f.At)
		r.set(f.Op, f.Task)
		r.said = join(f.Title, f.Body, f.Reason)
		return r
	}}
	incidentLines = &format{sealed: incident.Name, line: func(line []byte) row {
		var f struct {
			incident.Line
			At string `json:"at"`
		}
		r := parse(line, &f)
		r.when(f.At)
		r.set(Incident, f.Incident)
		said := []string{f.Title, f.About, f.Text}
		for _, e := range f.Evidence {
			said = append(said, e.Text)
		}
		for _, d := range f.Deeds {
			said = append(said, d.What, d.Result)
		}
		r.said = join(said...)
		return r
	}}
	facts = &format{line: func(line []byte) row {
		var f struct{ At, Kind, By, Name, Member, Text, Aside, Why, What string }
		r := parse(line, &f)
		r.when(f.At)
		r.set(f.Kind, first(f.Member, f.Name, f.By))
		r.said = join(f.Text, f.Aside, f.Why, f.What)
		return r
	}}
	calls = &format{line: func(line []byte) row {
		var f struct {
			Timestamp, Order, By string
			Agent                string `json:"agent_name"`
		}
		r := parse(line, &f)
		r.when(f.Timestamp)
		if f.Order != "" {
			r.set(Order, f.By)
		} else {
			r.set(Call, f.Agent)
		}
		return r
	}}
	screens = &format{whole: true, line: func(text []byte) row {
		r := row{kind: Screen, said: string(text)}
		r.body, _ = json.Marshal(string(text))
		return r
	}}
	removals = &format{whole: true, line: func(text []byte) row {
		var f struct{ At, By string }
		r := parse(text, &f)
		r.when(f.At)
		r.set(Removed, f.By)
		return r
	}}
)

// parse reads a line into the fields of a format. What is no JSON is kept as text.
func parse(line []byte, into any) (r row) {
	err := json.Unmarshal(line, into)
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		r.kind = Unreadable
		line, _ = json.Marshal(string(line)) // a string is always JSON
	} else if !utf8.Valid(line) {
		line = []byte(strings.ToValidUTF8(string(line), "\ufffd"))
	}
	r.body = line
	return r
}

// when takes the time that a line says.
func (r *row) when(text string) {
	at, err := time.Parse(time.RFC3339Nano, text)
	if r.known = err == nil && at.Year() > 1970 && at.Year() < 2200; r.known {
		r.at = at.UnixNano()
	}
}

// other is the kind of what says none.
const other = "other"

// maxName bounds what a line says of itself.
const maxName = 200

// set says what a row is, unless it is no JSON.
func (r *row) set(kind, name string) {
	if r.kind == Unreadable {
		return
	}
	r.kind, r.name = event.Cut(first(kind, other), maxName), event.Cut(name, maxName)
}

func first(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}

func join(texts ...string) string { return strings.TrimSpace(strings.Join(texts, " ")) }

// of reports whether a format is that of the events of a source and kind.
func (f *format) of(source, kind string) bool {
	switch f {
	case events:
		return (strings.HasPrefix(source, "run:") || strings.HasPrefix(source, "agent:")) && kind != Screen && kind != Removed
	case messages:
		return source == Mailbox && kind != Delivery
	case tasks:
		return source == Tasks
	case incidentLines:
		return source == Incidents
	case facts:
		return strings.HasPrefix(source, Room)
	}
	return false
}
