package event

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"cmux/dag"
)

// Kind is the type of an Event.
type Kind string

// Events of the agent and its program. They are the same for all kinds of agents.
const (
	Session       Kind = "session"
	Prompt        Kind = "prompt"
	Thought       Kind = "thought"
	Text          Kind = "text"
	ToolUse       Kind = "tool_use"
	ToolResult    Kind = "tool_result"
	Denied        Kind = "denied"
	Subagent      Kind = "subagent"
	RequestFailed Kind = "request_failed"
	Interrupted   Kind = "interrupted"
	Compacted     Kind = "compacted"
)

// Events between the agent, cmux and a person.
const (
	Status   Kind = "status"
	Question Kind = "question"
	Answer   Kind = "answer"
	Report   Kind = "report"
	Check    Kind = "check"
	HandBack Kind = "hand_back"
	Limit    Kind = "limit"
	Usage    Kind = "usage"
	Fenced   Kind = "fenced"
	Note     Kind = "note"
	End      Kind = "end"
)

// States of a Session and a Subagent, and of a Report.
const (
	Began   = "began"
	Resumed = "resumed"
	Ended   = "ended"
	Done    = "done"
	Blocked = "blocked"
)

// Event is one event of an attempt. The first four fields are always set; the others depend
// on Kind: see Markdown.
type Event struct {
	At      time.Time `json:"at"`
	Node    string    `json:"node"`
	Attempt int       `json:"attempt"`
	Kind    Kind      `json:"kind"`

	Text     string          `json:"text,omitempty"`
	Message  string          `json:"message,omitempty"`
	Tool     string          `json:"tool,omitempty"`
	ToolID   string          `json:"tool_id,omitempty"`
	Input    json.RawMessage `json:"input,omitempty"`
	Failed   bool            `json:"failed,omitempty"`
	State    string          `json:"state,omitempty"`
	ID       string          `json:"id,omitempty"`
	Command  string          `json:"command,omitempty"`
	Exit     *int            `json:"exit,omitempty"`
	TimedOut bool            `json:"timed_out,omitempty"`
	Took     dag.Duration    `json:"took,omitempty"`
	Until    time.Time       `json:"until,omitzero"`
	Used     dag.Usage       `json:"used,omitzero"`
	Cut      int             `json:"cut,omitempty"`
}

// kinds describes the events of each kind, in the order of the docs.
var kinds = []struct {
	kind   Kind
	says   string
	fields string
}{
	{Session, "the program's conversation begins or resumes, or the program ends", "`state` (`began`, `resumed`, `ended`), `id` of the conversation, `exit` (where it ended by itself)"},
	{Prompt, "a message or prompt to the agent, from cmux or a person", "`text`"},
	{Thought, "the agent's reasoning", "`text`, `message`"},
	{Text, "the agent's text", "`text`, `message`"},
	{ToolUse, "the agent calls a tool", "`tool`, `tool_id`, `input`, `message`"},
	{ToolResult, "the result of the call", "`tool_id`, `text`, `failed`"},
	{Denied, "cmux refused a call before it happened", "`tool`, `tool_id`, `input`, `text` (why)"},
	{Subagent, "a sub-agent begins or ends", "`state` (`began`, `ended`), `id`, `text` (its type)"},
	{RequestFailed, "a call of the model failed", "`text`"},
	{Interrupted, "a person interrupted the turn", ""},
	{Compacted, "a summary replaced the conversation", ""},
	{Status, "the node's state changed", "`state` (`setting up`, `working`, `checking`, `needs input`, `taken over`, `limited`), `text` (why), `until`"},
	{Question, "the agent asks a person", "`text`"},
	{Answer, "a person's answer", "`text`"},
	{Report, "the agent reported with `cmux done` or `cmux blocked`", "`state` (`done`, `blocked`), `text`"},
	{Check, "a command of `verify` ended", "`command`, `exit`, `timed_out`, `took`, `failed`, `text` (the end of its output)"},
	{HandBack, "cmux sent the agent back to work: a failed check, a change out of scope, a missing report, the end of a limit", "`text`"},
	{Limit, "the account reached a usage or rate limit", "`text`, `until`"},
	{Usage, "the tokens that the attempt has used so far, from time to time", "`used` (`input`, `output`, `cache_read`, `cache_create`, in tokens)"},
	{Fenced, "the fence kept a program of the node from writing a file", "`text` (the path)"},
	{Note, "any other message of cmux", "`text`"},
	{End, "the attempt ended", "`state` (`done`, `failed (checks)`, …), `exit` (of the program), `failed`, `text` (the summary, or why), `used`"},
}

// Markdown returns the table of kinds for the docs.
func Markdown() string {
	var b strings.Builder
	b.WriteString("| `kind` | what happened | fields |\n|---|---|---|\n")
	for _, k := range kinds {
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", k.kind, k.says, k.fields)
	}
	return b.String()
}
