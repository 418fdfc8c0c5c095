package store

import (
	"encoding/json"
	"time"
)

// Event is one thing that happened.
type Event struct {
	Seq    int64           `json:"seq"`
	At     time.Time       `json:"at"`
	Source string          `json:"source"` // run:ID/NODE, agent:NAME, room:NAME, mailbox, tasks, journal, audit, incidents
	Kind   string          `json:"kind"`
	Name   string          `json:"name,omitempty"` // of the node, agent, message, task or day
	Body   json.RawMessage `json:"body"`           // the line as it stands in its file

	// Unverified says of a line of the mailbox, of tasks or of a room that cmux of this
	// person did not write it, so that it may not be from who it says.
	Unverified bool `json:"unverified,omitempty"`
}

// Sources whose events come from files of the whole project. Those of a node of a
// run are run:ID/NODE, those of an agent agent:NAME, those of a room room:NAME.
const (
	Mailbox   = "mailbox"
	Tasks     = "tasks"
	Journal   = "journal"
	Memory    = "memory" // notes of rooms
	Incidents = "incidents"
	Audit     = "audit"
	Room      = "room:" // and its name
)

// Kinds of events that no file names.
const (
	Message      = "message"       // a line of the mailbox; its name is the message's id
	StatusUpdate = "status_update" // the same, and for nobody
	Delivery     = "delivery"      // a line of mailbox.deliveries
	Entry        = "entry"         // an entry of the journal; its name is the day
	Screen       = "screen"        // what an agent's window showed at its end
	Removed      = "removed"       // how an agent was removed
	Incident     = "incident"
	Call         = "call"       // of a tool, in the audit log
	Order        = "order"      // in the audit log
	Unreadable   = "unreadable" // a line that is no JSON; its body is the text
)

// Position says how far somebody has read.
type Position struct {
	Epoch string `json:"epoch"`
	Seq   int64  `json:"seq"`
}

// Filter says which events are listed, in which order.
type Filter struct {
	Source  string // empty: all; one that ends in : or / is the beginning of all that are meant
	Kind    string // empty: all; several with commas
	Attempt int    // of a node or a life of an agent, with this number; 0: all
	Before  int64  // those older than this seq, the newest first; 0: from the newest on
	After   int64  // those newer than this seq, the oldest first; it rules over Before
	Limit   int    // 0: 100; at most 1,000
}

// List is a page of events.
type List struct {
	Events []Event `json:"events"`
	More   bool    `json:"more"`           // there are more behind the last
	Next   int64   `json:"next,omitempty"` // Before or After of the next page; 0: there is none
}
