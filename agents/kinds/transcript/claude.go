package transcript

import (
	"encoding/json"
	"strings"
	"time"

	"cmux/agents/records/event"
	"cmux/dag"
)

// block is one content block of a message.
type block struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	Thinking  string          `json:"thinking"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	ToolUseID string          `json:"tool_use_id"`
	Content   content         `json:"content"`
	IsError   bool            `json:"is_error"`
}

// content is a text or a list of blocks; anything else counts as empty.
type content []block

func (c *content) UnmarshalJSON(b []byte) error {
	*c = nil
	if b[0] == '"' {
		var s string
		if json.Unmarshal(b, &s) == nil && s != "" {
			*c = content{{Type: "text", Text: s}}
		}
		return nil
	}
	// One block of an unknown shape does not hide the others.
	var raw []json.RawMessage
	if json.Unmarshal(b, &raw) != nil {
		return nil
	}
	*c = make(content, 0, len(raw))
	for _, r := range raw {
		var one block
		if json.Unmarshal(r, &one) == nil {
			*c = append(*c, one)
		}
	}
	return nil
}

func (c content) text() string {
	var parts []string
	for _, b := range c {
		if b.Text != "" {
			parts = append(parts, b.Text)
		}
	}
	return strings.Join(parts, "\n")
}

type message struct {
	ID      string       `json:"id"`
	Model   string       `json:"model"`
	Stop    string       `json:"stop_reason"`
	Content content      `json:"content"`
	Usage   *claudeUsage `json:"usage"`
}

// synthetic is the model of messages that the client made itself.
const synthetic = "<synthetic>"

// Line is one line of a Claude Code transcript.
type Line struct {
	Message string        // id of the assistant's message it belongs to; may be empty
	Usage   dag.Usage     // of that message: the same on each of its lines
	Context *Context      // what the conversation holds after the line; nil: as before
	Events  []event.Event // none for sub-agents' and the client's own lines
	Signs   []Sign
}

// Context is what of its context window a conversation takes up.
type Context struct {
	Tokens int64  // 0: not known, until the next answer
	Model  string // that answered last; empty: as before
}

// line is a line of a transcript as it is written.
type line struct {
	Type      string           `json:"type"`
	Subtype   string           `json:"subtype"`
	Timestamp anyTime          `json:"timestamp"`
	Sidechain bool             `json:"isSidechain"`
	Meta      bool             `json:"isMeta"`
	Summary   bool             `json:"isCompactSummary"`
	APIError  bool             `json:"isApiErrorMessage"`
	Message   lenient[message] `json:"message"`

	Compaction lenient[struct {
		PostTokens int64 `json:"postTokens"`
	}] `json:"compactMetadata"`

	Text       lenient[string] `json:"content"`   // of type system and queue-operation
	Operation  lenient[string] `json:"operation"` // of type queue-operation
	Ending     json.RawMessage `json:"promptSubmitEnding"`
	Attachment lenient[struct {
		Type    string            `json:"type"`
		Prompt  content           `json:"prompt"`
		Content lenient[[]string] `json:"content"`
	}] `json:"attachment"`
}

// ParseLine reads one line of a transcript. A line of a type that is not known
// is empty; one that is no JSON object is an error.
func ParseLine(b []byte) (Line, error) {
	var l line
	if err := json.Unmarshal(b, &l); err != nil {
		return Line{}, err
	}
	read := Line{Signs: l.signs(), Events: l.events()}
	if m := l.Message.v; l.Type == "assistant" && !l.failed() {
		read.Message = m.ID
		if m.Usage != nil {
			read.Usage = m.Usage.usage()
			if !l.Sidechain {
				read.Context = &Context{read.Usage.Counted() + read.Usage.CacheRead, m.Model}
			}
		}
	}
	if l.compacted() {
		read.Context = &Context{Tokens: max(0, l.Compaction.v.PostTokens)}
	}
	for i := range read.Signs {
		read.Signs[i].At = l.Timestamp.Time
	}
	for i := range read.Events {
		read.Events[i].At = l.Timestamp.Time
	}
	return read, nil
}

// compacted reports whether a summary stands for all before the line.
func (l *line) compacted() bool {
	return l.Type == "system" && l.Subtype == "compact_boundary" && !l.Sidechain
}

// failed reports whether it is no answer of the model's.
func (l *line) failed() bool { return l.APIError || l.Message.v.Model == synthetic }

// signs are what the line tells of what the program does.
func (l *line) signs() []Sign {
	m := l.Message.v
	switch l.Type {
	case "assistant":
		if !l.failed() {
			return m.called()
		}
	case "user":
		signs := m.ran()
		if text := m.Content.text(); text != "" && !l.Sidechain && !l.Summary {
			signs = append(signs, Sign{What: Read, Text: text})
		}
		return signs
	case "attachment":
		if a := l.Attachment.v; a.Type == "queued_command" && !l.Sidechain {
			return []Sign{{What: Read, Text: a.Prompt.text()}}
		} else if a.Type == "hook_additional_context" && !l.Sidechain && len(a.Content.v) > 0 {
			return []Sign{{What: Carried, Text: strings.Join(a.Content.v, "\n")}}
		}
	case "queue-operation":
		switch l.Operation.v {
		case "enqueue":
			return []Sign{{What: Queued, Text: l.Text.v}}
		case "dequeue", "remove":
			return []Sign{{What: Unqueued, Text: l.Text.v}}
		}
	case "system":
		if !l.Sidechain {
			return system(l.Subtype, l.Text.v, len(l.Ending) > 0)
		}
	}
	return nil
}

// events are what happened in the agent, as the line tells it.
func (l *line) events() []event.Event {
	m := l.Message.v
	switch {
	case l.Sidechain:
	case l.Type == "assistant" && l.APIError:
		return []event.Event{{Kind: event.RequestFailed, Text: m.Content.text()}}
	case l.Type == "assistant" && !l.failed() && !l.Meta: // else such as "No response requested."
		return m.assistant()
	case l.Type == "user" && !l.Meta && !l.Summary:
		return m.user()
	case l.compacted():
		return []event.Event{{Kind: event.Compacted}}
	}
	return nil
}

func (m *message) assistant() []event.Event {
	var events []event.Event
	for _, b := range m.Content {
		e := event.Event{Message: m.ID}
		switch {
		case b.Type == "thinking" && b.Thinking != "":
			e.Kind, e.Text = event.Thought, b.Thinking
		case b.Type == "text" && b.Text != "":
			e.Kind, e.Text = event.Text, b.Text
		case b.Type == "tool_use" || b.Type == "server_tool_use":
			e.Kind, e.Tool, e.ToolID, e.Input = event.ToolUse, b.Name, b.ID, b.Input
		default:
			continue
		}
		events = append(events, e)
	}
	return events
}

const interruption = "[Request interrupted by user"

func (m *message) user() []event.Event {
	var events []event.Event
	for _, b := range m.Content {
		switch {
		case b.Type == "tool_result":
			events = append(events, event.Event{Kind: event.ToolResult, ToolID: b.ToolUseID, Text: b.Content.text(), Failed: b.IsError})
		case b.Type == "text" && strings.HasPrefix(b.Text, interruption):
			events = append(events, event.Event{Kind: event.Interrupted})
		case b.Type == "text" && b.Text != "":
			events = append(events, event.Event{Kind: event.Prompt, Text: b.Text})
		}
	}
	return events
}

// lenient is a value that counts as empty when it has another shape.
type lenient[T any] struct{ v T }

func (l *lenient[T]) UnmarshalJSON(b []byte) error {
	var v T
	if json.Unmarshal(b, &v) == nil {
		l.v = v
	}
	return nil
}

// anyTime is a moment in RFC 3339, or zero.
type anyTime struct{ time.Time }

func (t *anyTime) UnmarshalJSON(b []byte) error {
	var v time.Time
	if json.Unmarshal(b, &v) == nil {
		t.Time = v
	}
	return nil
}
