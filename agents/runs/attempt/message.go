package attempt

import (
	"encoding/json"
	"strings"
	"time"

	"cmux/agents/kinds/agent"
	"cmux/agents/records/mail"
	"cmux/agents/runs/run"
	"cmux/dag"
	"cmux/signals/mailbox"
)

// Op is the type of a Message to an attempt.
type Op string

const (
	OpHook       Op = "hook"        // a hook of the agent reports an event
	OpDone       Op = "done"        // the agent reports: finished; Text is the summary
	OpBlocked    Op = "blocked"     // the agent reports: cannot continue; Text is the reason
	OpAsk        Op = "ask"         // the agent asks a person; Text is the question
	OpOutput     Op = "output"      // the agent publishes Text under Key
	OpSend       Op = "send"        // the agent writes Mail to the project's mailbox
	OpOrder      Op = "order"       // the agent, in a fence, gives the command of cmux in Words, with Text as its input
	OpTried      Op = "tried"       // the agent, in a fence, gave a command of cmux that is a person's, with these Words
	OpCancel     Op = "cancel"      // stop NAME: end it, marker 130
	OpStop       Op = "stop"        // stop: end it, no marker
	OpBreak      Op = "break"       // its runner was told to end it too: end it, no marker
	OpAnswer     Op = "answer"      // a person's answer for the agent; Key is the id of the command
	OpRelease    Op = "release"     // the takeover ends
	OpRetry      Op = "retry"       // continue the conversation of a program that ended without a report
	OpGranted    Op = "granted"     // the slot it asked for; Trial
	OpAwake      Op = "awake"       // the limit of its account may be over before its time
	OpOverridden Op = "overridden"  // a person has decided the node: continue without checks
	OpBudget     Op = "budget"      // the run is over its budget, as Text says: end it
	OpInterrupt  Op = "interrupt"   // ^C while no program has the pane: end the step that runs
	OpRanCommand Op = "ran-command" // did a command of the agent's shell run at the moment At?
	OpPing       Op = "ping"

	// Of standing agents.
	OpGive     Op = "give"     // a piece of work: Work; refused while it has one
	OpTell     Op = "tell"     // a message: Text, with the id Key; recorded as confirmed when the agent has read it
	OpTake     Op = "take"     // a person takes the conversation over, until OpRelease
	OpEndTurn  Op = "end-turn" // interrupt a turn that no person began, with the id Key, and with the message Text if it is not empty
	OpWithdraw Op = "withdraw" // take back the task Key; Text says why, for the agent
	OpCompact  Op = "compact"  // compact the conversation, by the command Key; refused unless the agent is idle
	OpStand    Op = "stand"    // return Reply.Standing; with the Key KeyDraft, also what its screen shows
)

// From is who may send an Op.
type From uint8

const (
	ByAnyone From = iota // it changes nothing
	ByAgent              // the attempt's own programs, which have its token
	ByCmux               // the runner and a person's commands, which have the person's key
)

// From returns who may send it; an unknown Op is reserved for a person.
func (op Op) From() From {
	switch op {
	case OpPing, OpRanCommand, OpStand:
		return ByAnyone
	case OpHook, OpDone, OpBlocked, OpAsk, OpOutput, OpSend, OpOrder, OpTried:
		return ByAgent
	}
	return ByCmux
}

// Message is a request to a running attempt.
type Message struct {
	Op      Op               `json:"op"`
	ID      string           `json:"id,omitempty"`    // of a command, to reject copies
	Token   string           `json:"token,omitempty"` // hook, done, blocked, ask, output, send: that of the attempt
	Text    string           `json:"text,omitempty"`
	Key     string           `json:"key,omitempty"`     // output
	ToOpen  bool             `json:"to_open,omitempty"` // answer: it is for the question that is open, and for nothing else
	Options []string         `json:"options,omitempty"` // ask: a number stands for the option in that place
	Wait    bool             `json:"wait,omitempty"`    // done, blocked, ask: reply with the verdict, or with what a person answers
	Mail    *mailbox.Message `json:"mail,omitempty"`    // send: to, subject, body, urgency and re of it count; tell: from, of one to the agent alone, and re
	Files   []mail.Enclosure `json:"files,omitempty"`   // send: they go along
	Words   []string         `json:"words,omitempty"`   // order: without cmux
	Kept    bool             `json:"kept,omitempty"`    // withdraw: the work is given again, and goes on as it was left
	Trial   bool             `json:"trial,omitempty"`   // granted: it finds out whether the limit of its account is over
	At      time.Time        `json:"at,omitzero"`       // ran-command
	Event   string           `json:"event,omitempty"`   // hook
	Payload json.RawMessage  `json:"payload,omitempty"` // hook
	Work    *run.Work        `json:"work,omitempty"`    // give
	Urgency mailbox.Urgency  `json:"urgency,omitempty"` // tell
	Alone   bool             `json:"alone,omitempty"`   // tell: it gets a turn of its own

	reply func(Reply) error
	gone  <-chan struct{} // closed when the caller no longer waits; nil: unknown
}

// Reply is the answer to a Message.
type Reply struct {
	agent.HookReply        // for a hook
	Error           string `json:"error,omitempty"`
	Text            string `json:"text,omitempty"`  // the id of a sent message, or the answer for a waiting caller
	Final           bool   `json:"final,omitempty"` // the report is accepted: nothing is left to do
	Yes             bool   `json:"yes,omitempty"`   // ran-command
	Fate            string `json:"fate,omitempty"`  // answer: a conversation.Fate; for a waiting answer, Text says why

	Standing *Standing `json:"standing,omitempty"` // stand

	// Inside: the agent carries the order out itself, in its fence. Else Stdout and Text are
	// what the command said, and Exit is its exit code.
	Inside bool `json:"inside,omitempty"`
}

// Outcome encodes the fate of an answer as one value for a record; "": unknown.
// ParseOutcome decodes it.
func (r *Reply) Outcome() string {
	if r.Fate == "" || r.Text == "" {
		return r.Fate
	}
	return r.Fate + ": " + r.Text
}

// ParseOutcome returns the fate of an answer, and what it waits for.
func ParseOutcome(s string) (fate, why string) {
	fate, why, _ = strings.Cut(s, ": ")
	return fate, why
}

// Standing is the status of a standing agent.
type Standing struct {
	Activity dag.Activity `json:"activity"`          // dag.Resting: at its prompt, without a turn
	Detail   string       `json:"detail,omitempty"`  // such as its question
	Until    time.Time    `json:"until,omitzero"`    // of a limit
	Work     string       `json:"work,omitempty"`    // id of its piece of work; empty: none
	Waiting  []string     `json:"waiting,omitempty"` // ids of messages not yet delivered
	// Waits are the messages that it may not have read, each with what it waits for.
	Waits   map[string]string `json:"waits,omitempty"`
	Hinders string            `json:"hinders,omitempty"` // what prevents typing the first of them: a draft, a dialog, copy mode
	Taken   bool              `json:"taken,omitempty"`
	Draft   bool              `json:"draft,omitempty"` // a person has typed something that they have not sent; with KeyDraft
}

// KeyDraft makes OpStand read the screen too, which takes a while.
const KeyDraft = "draft"

// WithReply returns m with a function that gets the answer, at most once. It must not block
// for long; its error means that nobody received the answer.
func (m Message) WithReply(f func(Reply) error) Message {
	m.reply = f
	return m
}

// WithGone returns m with a channel that is closed when the sender no longer waits.
func (m Message) WithGone(gone <-chan struct{}) Message {
	m.gone = gone
	return m
}

// detach takes the reply function out of m: the caller answers later.
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
