package live

import (
	"encoding/json"
	"strings"
	"time"

	"cmux/agents/control/letters"
	"cmux/agents/records/event"
	"cmux/agents/room"
	"cmux/server/store"
)

// Frame is an event in the format for clients.
type Frame struct {
	Event  string          `json:"event"`         // see name
	Seq    int64           `json:"seq,omitempty"` // 0: it is not in the log
	At     time.Time       `json:"at"`
	Source string          `json:"source,omitempty"`
	Kind   string          `json:"kind,omitempty"`
	Name   string          `json:"name,omitempty"`
	Data   json.RawMessage `json:"data"`          // null if it was left out
	Cut    bool            `json:"cut,omitempty"` // Data was left out: GET /api/agent-events/SEQ returns it
}

// Path is where clients ask for a websocket.
const Path = "/api/ws"

// MaxMessage bounds a message in both directions, in bytes.
const MaxMessage = 1 << 20

// message is sent to a client.
type message struct {
	text   []byte
	events int
	last   int64 // seq of its last event; 0: none is in the log
}

// notice is a message that holds no events.
type notice struct {
	Type     string `json:"type"`            // hello, live, reload, behind, error
	Epoch    string `json:"epoch,omitempty"` // of the log
	Seq      int64  `json:"seq"`             // hello, live, reload: of its newest event; behind: of the last that was sent
	Instance string `json:"instance,omitempty"`
	Detail   string `json:"detail,omitempty"`
}

func noticeOf(n notice) message {
	b, _ := json.Marshal(n) // of texts and numbers alone
	return message{text: b}
}

// frameOf is an event of the log.
func frameOf(e *store.Event) Frame {
	f := Frame{Event: name(e), Seq: e.Seq, At: e.At, Source: e.Source, Kind: e.Kind, Name: e.Name, Data: e.Body}
	if len(e.Body) > MaxMessage-4096 {
		f.Data, f.Cut = nil, true
	}
	return f
}

// messages packs events into as few messages as their size allows.
func messages(events []store.Event) (all []message) {
	const head, tail = `{"type":"events","events":[`, `]}`
	var m message
	end := func() {
		if m.events > 0 {
			m.text = append(m.text, tail...)
			all = append(all, m)
		}
		m = message{}
	}
	for i := range events {
		f := frameOf(&events[i])
		b, err := json.Marshal(f)
		if err != nil || len(b) > MaxMessage-1024 { // a body that is no JSON, or all escapes
			f.Data, f.Cut = nil, true
			b, _ = json.Marshal(f)
		}
		if len(m.text)+len(b) > MaxMessage-1024 {
			end()
		}
		if m.events == 0 {
			m.text = append(m.text, head...)
		} else {
			m.text = append(m.text, ',')
		}
		m.text = append(m.text, b...)
		m.events++
		m.last = f.Seq
	}
	end()
	return all
}

// heartbeat returns the organization's status as a message.
func heartbeat(status json.RawMessage, at time.Time) message {
	return unlogged(Frame{Event: "heartbeat_update", At: at, Data: status})
}

// unlogged returns a message with an event that is not in the log.
func unlogged(f Frame) message {
	b, _ := json.Marshal(struct {
		Type   string  `json:"type"`
		Events []Frame `json:"events"`
	}{"events", []Frame{f}})
	return message{text: b, events: 1}
}

// changedRoutes returns a message with the routes whose answers have changed.
func changedRoutes(routes []string, at time.Time) message {
	type data struct {
		Routes []string `json:"routes"`
	}
	b, _ := json.Marshal(data{routes}) // of texts alone
	return unlogged(Frame{Event: "changed", At: at.UTC(), Data: b})
}

// name returns the name of an event for clients.
func name(e *store.Event) string {
	source, _, _ := strings.Cut(e.Source, ":")
	switch source {
	case "run":
		return "run_event"
	case "agent":
		return agentName(e)
	case store.Mailbox:
		return mailName(e)
	case store.Tasks:
		return "task_event"
	case store.Journal:
		return "journal_entry"
	case store.Incidents:
		return "incident"
	case strings.TrimSuffix(store.Room, ":"):
		return roomName(e)
	}
	return "audit_event"
}

// roomName returns the name of a line of a room. One that does not count has a name of its
// own: nobody takes it for a fact.
func roomName(e *store.Event) string {
	if e.Unverified {
		return "room_unverified"
	}
	switch room.Kind(e.Kind) {
	case room.KindSaid, room.KindDropped:
		return "room_message"
	case room.KindTurn, room.KindTook, room.KindOver:
		return "room_turn"
	case room.KindRound, room.KindBlind:
		return "room_round"
	case room.KindOrder:
		return "room_order"
	case room.KindOpened, room.KindSet, room.KindJoined, room.KindLeft:
		return "room_member"
	case room.KindProposed, room.KindDecided:
		return "room_decision"
	}
	return "room_unverified"
}

func agentName(e *store.Event) string {
	switch e.Kind {
	case string(event.Thought):
		return "agent_thought"
	case store.Removed:
		return "agent_archived"
	case string(event.Session):
		var s struct{ State string }
		_ = json.Unmarshal(e.Body, &s)
		if s.State == event.Ended {
			return "session_terminated"
		}
		return "session_created"
	}
	return "agent_event"
}

func mailName(e *store.Event) string {
	if e.Kind != store.Message {
		return "message_update"
	}
	var m struct{ From string }
	_ = json.Unmarshal(e.Body, &m)
	switch {
	case m.From == "user":
		return "user_message"
	case strings.HasPrefix(m.From, letters.WebhookSession+":"):
		return "webhook_received"
	}
	return "new_message"
}
