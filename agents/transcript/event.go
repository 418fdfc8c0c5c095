package transcript

import (
	"encoding/json"
	"time"

	"cmux/dag"
)

// claudeUsage is usage as the Messages API gives it.
type claudeUsage struct {
	Input       int64 `json:"input_tokens"`
	Output      int64 `json:"output_tokens"`
	CacheRead   int64 `json:"cache_read_input_tokens"`
	CacheCreate int64 `json:"cache_creation_input_tokens"`
}

func (u claudeUsage) usage() dag.Usage {
	return dag.Usage{Input: u.Input, Output: u.Output, CacheRead: u.CacheRead, CacheCreate: u.CacheCreate}.AtLeast(dag.Usage{})
}

// Kind says what an Event is.
type Kind string

const (
	Prompt        Kind = "prompt"         // what the agent was told; Text
	Thought       Kind = "thought"        // Text, never empty
	Text          Kind = "text"           // what the agent says; Text
	ToolUse       Kind = "tool_use"       // Tool, ToolID, Input
	ToolResult    Kind = "tool_result"    // ToolID, Text, Failed
	RequestFailed Kind = "request_failed" // the service failed a request; Text, for Classify
	Interrupted   Kind = "interrupted"    // a person broke the turn off
	Compacted     Kind = "compacted"      // the conversation was replaced by a summary
)

// Event is one thing that an agent did or that happened to it.
type Event struct {
	Kind    Kind            `json:"kind"`
	At      time.Time       `json:"at,omitzero"`       // zero: not stated
	Message string          `json:"message,omitempty"` // id of the message it is part of
	Text    string          `json:"text,omitempty"`
	Tool    string          `json:"tool,omitempty"`
	ToolID  string          `json:"tool_id,omitempty"`
	Input   json.RawMessage `json:"input,omitempty"`
	Failed  bool            `json:"failed,omitempty"` // of a ToolResult
}
