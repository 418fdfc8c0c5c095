package transcript

import (
	"encoding/json"
	"strings"
	"time"

	"cmux/agents/records/event"
	"cmux/dag"
)

// Stream is one line of `claude -p --output-format stream-json --verbose`. Of
// the pointers at most one is set; a line of a type that is not known has only
// its Type.
type Stream struct {
	Type     string
	Subtype  string
	Session  string        // id of the conversation; may be empty
	Parent   string        // id of the tool use whose sub-agent speaks; empty: the agent itself
	Replay   bool          // an echo of our own input
	Events   []event.Event // of type assistant and user, those of sub-agents included
	Message  string        // assistant: its id
	Used     dag.Usage     // assistant: of that message, so far
	Failure  string        // assistant: why the request failed, such as "rate_limit"
	Partial  *Partial
	Init     *Init
	Retry    *Retry
	Result   *Result
	Limit    *RateLimit
	Request  *ControlRequest
	Response *ControlResponse
}

// Partial is a piece of an answer that is not complete, of --include-partial-messages: an
// event of the API's.
type Partial struct {
	Type  string `json:"type"`
	Block struct {
		Type string `json:"type"` // such as text
	} `json:"content_block"`
	Delta struct {
		Text string `json:"text"` // of a text alone
	} `json:"delta"`
}

// Types of a Partial; there are others.
const (
	BlockBegins = "content_block_start"
	BlockGrows  = "content_block_delta"
	BlockEnds   = "content_block_stop"
)

// Init begins each turn.
type Init struct {
	Model          string   `json:"model"`
	PermissionMode string   `json:"permissionMode"`
	Dir            string   `json:"cwd"`
	Tools          []string `json:"tools"`
}

// Retry says that a request failed and is repeated by the program.
type Retry struct {
	Attempt    int     `json:"attempt"`
	MaxRetries int     `json:"max_retries"`
	DelayMS    float64 `json:"retry_delay_ms"`
	Status     int     `json:"error_status"`
	Error      string  `json:"error"`
}

// RateLimit is where the account stands with one of its limits.
type RateLimit struct {
	Status   string `json:"status"`   // such as rejected
	ResetsAt int64  `json:"resetsAt"` // seconds since 1970; 0: not stated
}

// Lifted is when a limit that has been met ends; zero: none is, or not stated.
func (l *RateLimit) Lifted() time.Time {
	if l.Status != "rejected" || l.ResetsAt <= 0 {
		return time.Time{}
	}
	return time.Unix(l.ResetsAt, 0)
}

// Result ends a turn. One run may give several; the last counts.
type Result struct {
	Subtype        string    `json:"subtype"`
	IsError        bool      `json:"is_error"`
	Text           string    `json:"result"`
	Turns          int       `json:"num_turns"`
	TerminalReason string    `json:"terminal_reason"`
	APIStatus      int       `json:"api_error_status"`
	CostUSD        float64   `json:"total_cost_usd"` // of the process so far
	Usage          dag.Usage `json:"-"`              // of the turn
	Denied         []struct {
		Tool string `json:"tool_name"`
	} `json:"permission_denials"`
}

// Aborted reports whether the turn was broken off.
func (r *Result) Aborted() bool { return strings.HasPrefix(r.TerminalReason, "aborted") }

// Completed reports whether the turn came to its own end. Neither an exit code
// of 0 nor a Subtype of success says so.
func (r *Result) Completed() bool {
	return r.Subtype == "success" && !r.IsError && r.TerminalReason == "completed"
}

// ControlRequest is a question of the program's, to be answered by its ID.
type ControlRequest struct {
	ID      string
	Subtype string          `json:"subtype"` // such as can_use_tool
	Tool    string          `json:"tool_name"`
	ToolID  string          `json:"tool_use_id"`
	Input   json.RawMessage `json:"input"`
}

// ControlResponse answers a control request of ours.
type ControlResponse struct {
	ID       string          `json:"request_id"`
	Subtype  string          `json:"subtype"` // success or error
	Error    string          `json:"error"`
	Response json.RawMessage `json:"response"`
}

// ParseStream reads one line of stream-json.
func ParseStream(b []byte) (Stream, error) {
	var l struct {
		Type      string                   `json:"type"`
		Subtype   lenient[string]          `json:"subtype"`
		Session   lenient[string]          `json:"session_id"`
		Parent    lenient[string]          `json:"parent_tool_use_id"`
		Replay    lenient[bool]            `json:"isReplay"`
		Error     lenient[string]          `json:"error"`
		Message   lenient[message]         `json:"message"`
		Usage     lenient[claudeUsage]     `json:"usage"`
		RequestID lenient[string]          `json:"request_id"`
		Limit     lenient[RateLimit]       `json:"rate_limit_info"`
		Request   lenient[ControlRequest]  `json:"request"`
		Response  lenient[ControlResponse] `json:"response"`
		Event     lenient[Partial]         `json:"event"`
	}
	if err := json.Unmarshal(b, &l); err != nil {
		return Stream{}, err
	}
	s := Stream{Type: l.Type, Subtype: l.Subtype.v, Session: l.Session.v, Parent: l.Parent.v, Replay: l.Replay.v}
	m := l.Message.v
	switch {
	case l.Type == "assistant" && (l.Error.v != "" || m.Model == synthetic):
		s.Failure = l.Error.v
		if text := m.Content.text(); text != "" && l.Error.v != "" {
			s.Events = []event.Event{{Kind: event.RequestFailed, Text: text}}
		}
	case l.Type == "assistant":
		s.Events = m.assistant()
		if m.Usage != nil {
			s.Message, s.Used = m.ID, m.Usage.usage()
		}
	case l.Type == "user":
		s.Events = m.user()
	case l.Type == "system" && s.Subtype == "init":
		s.Init = whole[Init](b)
	case l.Type == "system" && s.Subtype == "api_retry":
		s.Retry = whole[Retry](b)
	case l.Type == "system" && s.Subtype == "compact_boundary":
		s.Events = []event.Event{{Kind: event.Compacted}}
	case l.Type == "result":
		if s.Result = whole[Result](b); s.Result != nil {
			s.Result.Usage = l.Usage.v.usage()
		}
	case l.Type == "stream_event":
		s.Partial = &l.Event.v
	case l.Type == "rate_limit_event":
		s.Limit = &l.Limit.v
	case l.Type == "control_request":
		r := l.Request.v
		r.ID = l.RequestID.v
		s.Request = &r
	case l.Type == "control_response":
		r := l.Response.v
		s.Response = &r
	}
	return s, nil
}

// whole reads the line once more as a T. A field of another shape is left
// empty; the others still count.
func whole[T any](b []byte) *T {
	v := new(T)
	_ = json.Unmarshal(b, v)
	return v
}
