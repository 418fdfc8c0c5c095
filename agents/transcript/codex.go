package transcript

import (
	"encoding/json"

	"cmux/dag"
)

// Codex is one line of `codex exec --json`.
type Codex struct {
	Type   string     // such as turn.completed
	Thread string     // thread.started: id of the conversation
	Events []Event    // of items
	Usage  *dag.Usage // turn.completed: of the conversation, as the program says
	Error  string     // error (it may go on) and turn.failed (it does not)
}

// Failed reports whether the line ends the turn as failed.
func (c *Codex) Failed() bool { return c.Type == "turn.failed" }

type codexItem struct {
	ID      string          `json:"id"`
	Type    string          `json:"type"`
	Text    string          `json:"text"`
	Message string          `json:"message"`
	Command string          `json:"command"`
	Output  string          `json:"aggregated_output"`
	Exit    *int            `json:"exit_code"`
	Status  string          `json:"status"`
	Changes json.RawMessage `json:"changes"`
	Server  string          `json:"server"`
	Tool    string          `json:"tool"`
	Args    json.RawMessage `json:"arguments"`
	Query   string          `json:"query"`
}

// ParseCodex reads one line of `codex exec --json`.
func ParseCodex(b []byte) (Codex, error) {
	var l struct {
		Type    string             `json:"type"`
		Thread  lenient[string]    `json:"thread_id"`
		Item    lenient[codexItem] `json:"item"`
		Message lenient[string]    `json:"message"`
		Error   lenient[struct {
			Message string `json:"message"`
		}] `json:"error"`
		Usage *lenient[struct {
			Input  int64 `json:"input_tokens"` // cached ones included
			Cached int64 `json:"cached_input_tokens"`
			Output int64 `json:"output_tokens"` // reasoning included
		}] `json:"usage"`
	}
	if err := json.Unmarshal(b, &l); err != nil {
		return Codex{}, err
	}
	c := Codex{Type: l.Type, Thread: l.Thread.v}
	switch l.Type {
	case "item.started":
		c.Events = l.Item.v.started()
	case "item.completed":
		c.Events = l.Item.v.completed()
	case "turn.completed":
		if l.Usage != nil {
			u := l.Usage.v
			cached := min(max(u.Cached, 0), max(u.Input, 0))
			c.Usage = &dag.Usage{Input: max(u.Input, 0) - cached, Output: max(u.Output, 0), CacheRead: cached}
		}
	case "turn.failed":
		c.Error = l.Error.v.Message
	case "error":
		c.Error = l.Message.v
	}
	return c, nil
}

// call is the item as a tool call; an empty name: it is none.
func (i *codexItem) call() (name string, input any) {
	switch i.Type {
	case "command_execution":
		return "shell", map[string]string{"command": i.Command}
	case "file_change":
		return "apply_patch", map[string]json.RawMessage{"changes": i.Changes}
	case "mcp_tool_call":
		return "mcp__" + i.Server + "__" + i.Tool, i.Args
	case "web_search":
		return "web_search", map[string]string{"query": i.Query}
	}
	return "", nil
}

func (i *codexItem) started() []Event {
	if e, ok := i.event(ToolUse); ok {
		return []Event{e}
	}
	return nil
}

func (i *codexItem) completed() []Event {
	switch {
	case i.Type == "agent_message" && i.Text != "":
		return []Event{{Kind: Text, Message: i.ID, Text: i.Text}}
	case i.Type == "reasoning" && i.Text != "":
		return []Event{{Kind: Thought, Message: i.ID, Text: i.Text}}
	}
	if e, ok := i.event(ToolResult); ok {
		e.Text = i.Output
		e.Failed = i.Status == "failed" || i.Status == "declined" || i.Exit != nil && *i.Exit != 0
		return []Event{e}
	}
	return nil // items of type error are warnings
}

// event is a tool call or its result; some items have no start of their own,
// so both carry the input.
func (i *codexItem) event(kind Kind) (e Event, ok bool) {
	name, input := i.call()
	if name == "" {
		return e, false
	}
	b, err := json.Marshal(input)
	if err != nil {
		b = nil // a damaged value inside; the call itself is known
	}
	return Event{Kind: kind, Tool: name, ToolID: i.ID, Input: b}, true
}
