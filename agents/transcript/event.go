package transcript

import (
	"encoding/json"
	"time"
)

// Usage counts tokens. Input is without what came from or went to a cache.
type Usage struct {
	Input       int64 `json:"input,omitempty"`
	Output      int64 `json:"output,omitempty"`
	CacheRead   int64 `json:"cache_read,omitempty"`
	CacheCreate int64 `json:"cache_create,omitempty"`
}

// Total is all tokens, cached ones as well.
func (u Usage) Total() int64 { return u.Input + u.Output + u.CacheRead + u.CacheCreate }

// Plus is the sum of both.
func (u Usage) Plus(v Usage) Usage {
	return Usage{u.Input + v.Input, u.Output + v.Output, u.CacheRead + v.CacheRead, u.CacheCreate + v.CacheCreate}
}

// atLeast is the larger of both in every field. What a program writes while a
// message still grows never shrinks the count.
func (u Usage) atLeast(v Usage) Usage {
	return Usage{max(u.Input, v.Input), max(u.Output, v.Output), max(u.CacheRead, v.CacheRead), max(u.CacheCreate, v.CacheCreate)}
}

// claudeUsage is usage as the Messages API gives it.
type claudeUsage struct {
	Input       int64 `json:"input_tokens"`
	Output      int64 `json:"output_tokens"`
	CacheRead   int64 `json:"cache_read_input_tokens"`
	CacheCreate int64 `json:"cache_creation_input_tokens"`
}

func (u claudeUsage) usage() Usage {
	return Usage{max(u.Input, 0), max(u.Output, 0), max(u.CacheRead, 0), max(u.CacheCreate, 0)}
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
