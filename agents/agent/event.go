package agent

import (
	"cmp"
	"encoding/json"
	"fmt"
	"time"

	"cmux/agents/question"
	"cmux/dag"
)

// HookReply is the answer to a hook of an agent's program.
type HookReply struct {
	Stdout string `json:"stdout,omitempty"` // that the hook command is to print
	Exit   int    `json:"exit,omitempty"`   // and to end with
}

// What says what an Event means.
type What uint8

const (
	SomethingHappened What = iota // any sign of life
	TurnEnded                     // the agent stopped working and has not reported
	Prompted                      // it was given a prompt; Text is the prompt
	Asked                         // it waits for a person, to answer Asks
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
	Asks       question.Question // Asked
	Until      time.Time
	Used       dag.Usage
	Background int  // TurnEnded, Delegated: sub-agents still at work, which end in another turn
	Shells     int  // TurnEnded: background commands still at work, likewise
	Own        bool // Prompted: the kind knows that the prompt is cmux's
	Lasting    bool // Faltered: it will fail again, however long is waited
	Sure       bool // Lasting, and once more would be in vain
	Shown      bool // Asked: the kind has shown the question
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
	if what == Asked {
		e.Text, e.Asks = "", question.New(p.Text)
	}
	switch event {
	case "shell-began":
		e.ShellBegan = cmp.Or(p.Text, "shell")
	case "shell-ended":
		e.ShellEnded = cmp.Or(p.Text, "shell")
	}
	return e, nil
}
