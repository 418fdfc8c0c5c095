package attempt

import (
	"cmp"
	"encoding/json"
	"fmt"
	"time"

	"cmux/dag"
)

// Op is what a Message asks of an attempt.
type Op string

const (
	OpHook       Op = "hook"        // a hook of the agent's reports an event
	OpDone       Op = "done"        // the agent reports: finished; Text is the summary
	OpBlocked    Op = "blocked"     // the agent reports: cannot go on; Text is the reason
	OpAsk        Op = "ask"         // the agent asks a person; Text is the question
	OpOutput     Op = "output"      // the agent publishes Text under Key
	OpCancel     Op = "cancel"      // stop NAME: end it, marker 130
	OpStop       Op = "stop"        // stop: end it, no marker
	OpBreak      Op = "break"       // its runner was told to leave and takes it along: end it, no marker
	OpAnswer     Op = "answer"      // a person's answer for the agent
	OpRelease    Op = "release"     // taken over no longer
	OpRetry      Op = "retry"       // go on in the conversation of a program that has ended without a report
	OpGranted    Op = "granted"     // the slot it asked for; Trial
	OpOverridden Op = "overridden"  // a person has decided the node: go on unchecked
	OpBudget     Op = "budget"      // the run is over its budget, as Text says: end it
	OpInterrupt  Op = "interrupt"   // ^C while no program has the pane: end the step that runs
	OpRanCommand Op = "ran-command" // did a command of the agent's shell run at the moment At?
	OpPing       Op = "ping"
)

// From says who may give an Op.
type From uint8

const (
	ByAnyone From = iota // it changes nothing
	ByAgent              // the attempt's own programs, which have its token
	ByCmux               // the runner and a person's commands, which have the person's key
)

// From is who may give it; what is not known is a person's.
func (op Op) From() From {
	switch op {
	case OpPing, OpRanCommand:
		return ByAnyone
	case OpHook, OpDone, OpBlocked, OpAsk, OpOutput:
		return ByAgent
	}
	return ByCmux
}

// Message is one thing said to a running attempt.
type Message struct {
	Op      Op              `json:"op"`
	ID      string          `json:"id,omitempty"`    // of an order, so that a copy of it is none
	Token   string          `json:"token,omitempty"` // hook, done, blocked, ask, output: that of the attempt
	Text    string          `json:"text,omitempty"`
	Key     string          `json:"key,omitempty"`     // output
	Options []string        `json:"options,omitempty"` // ask: a number stands for the option in that place
	Wait    bool            `json:"wait,omitempty"`    // done, blocked, ask: reply with the verdict, or with what a person answers
	Trial   bool            `json:"trial,omitempty"`   // granted: it finds out whether the limit of its account is over
	At      time.Time       `json:"at,omitzero"`       // ran-command
	Event   string          `json:"event,omitempty"`   // hook
	Payload json.RawMessage `json:"payload,omitempty"` // hook

	reply func(Reply) error
	gone  <-chan struct{} // closed when nobody waits for the reply any more; nil: never known
}

// Reply is the answer to a Message. For a hook, Stdout and Exit are what the
// hook command is to print and return.
type Reply struct {
	Error  string `json:"error,omitempty"`
	Text   string `json:"text,omitempty"`  // what the one that waits is told
	Final  bool   `json:"final,omitempty"` // the report is accepted: there is nothing left to do
	Yes    bool   `json:"yes,omitempty"`   // ran-command
	Stdout string `json:"stdout,omitempty"`
	Exit   int    `json:"exit,omitempty"`
}

// WithReply returns m with a function that gets the answer, once, if the
// attempt lives to give one. It must not block for long, and its error says that
// nobody was there to take the answer.
func (m Message) WithReply(f func(Reply) error) Message {
	m.reply = f
	return m
}

// WithGone returns m with a channel that is closed when whoever sent it waits
// no longer.
func (m Message) WithGone(gone <-chan struct{}) Message {
	m.gone = gone
	return m
}

// detach takes the reply out of m: whoever holds the result answers later.
func (m *Message) detach() Message {
	held := *m
	m.reply = nil
	return held
}

func (m *Message) answer(r Reply) error {
	if m.reply == nil {
		return nil
	}
	f := m.reply
	m.reply = nil
	return f(r)
}

// What says what an Event means.
type What uint8

const (
	SomethingHappened What = iota // any sign of life
	TurnEnded                     // the agent stopped working and has not reported
	Prompted                      // it was given a prompt; Text is the prompt
	Asked                         // it waits for a person; Text is the question
	Limited                       // its account met a limit, until Until if stated
	WentOn                        // it works again, without a prompt
	Used                          // what the attempt has used so far is Used
	Faltered                      // a call of the model failed and ended its turn; it may work later; Text says how
	TookOver                      // a person is at work in it, by a prompt, which is Text, or by a key
	Worked                        // it got something done since its last limit or failed call
	Delegated                     // Background sub-agents are at work now
	Hindered                      // what is to be delivered waits for a person to clear the way; Text says what is in it
	Stuck                         // it must not go on as it is, as Text says; Own: because of a prompt of cmux's
	Converses                     // its conversation, which can be resumed, is Text
	Concluded                     // it has taken in that its report was accepted, and asks the model nothing more
)

// Event is what a hook of an agent means to its attempt.
type Event struct {
	What       What
	Text       string
	Until      time.Time
	Used       dag.Usage
	Background int  // TurnEnded, Delegated: sub-agents still at work, which end in another turn
	Shells     int  // TurnEnded: background commands still at work, likewise
	Own        bool // Prompted: the kind knows that the prompt is cmux's
	Lasting    bool // Faltered: it will fail again, however long is waited
	Sure       bool // Lasting, and once more would be in vain
	Shown      bool // Asked: the kind has shown the question
	InPane     bool // Asked: only keys pressed in its pane can answer
	// A command of the agent's shell began or ended, by the id of its call; empty:
	// none did.
	ShellBegan, ShellEnded string
	// Hold keeps the hook waiting for its answer. TurnEnded: the turn is over
	// only then, with the verdict. Asked: the answer to the question goes there.
	Hold bool
}

// eventNames are the events that every kind may send with `cmux hook`.
var eventNames = map[string]What{
	"activity": SomethingHappened, "turn-ended": TurnEnded, "prompt": Prompted,
	"question": Asked, "limited": Limited, "resumed": WentOn, "usage": Used,
	"shell-began": SomethingHappened, "shell-ended": SomethingHappened,
}

// ParseEvent reads one of cmux's own events: activity, turn-ended, prompt,
// question, limited, resumed, usage, shell-began and shell-ended, with an optional JSON payload
// {"text", "until", "used", "background"}; used is a dag.Usage.
func ParseEvent(event string, payload json.RawMessage) (Event, error) {
	what, ok := eventNames[event]
	if !ok {
		return Event{}, fmt.Errorf("unknown event %q", event)
	}
	var p struct {
		Text       string    `json:"text"`
		Until      time.Time `json:"until"`
		Used       dag.Usage `json:"used"`
		Background int       `json:"background"`
	}
	if len(payload) > 0 {
		if err := json.Unmarshal(payload, &p); err != nil {
			return Event{}, fmt.Errorf("event %s: %w", event, err)
		}
	}
	e := Event{What: what, Text: p.Text, Until: p.Until, Used: p.Used, Background: p.Background}
	switch event {
	case "shell-began":
		e.ShellBegan = cmp.Or(p.Text, "shell")
	case "shell-ended":
		e.ShellEnded = cmp.Or(p.Text, "shell")
	}
	return e, nil
}
