package kimi

import (
	"encoding/json"
	"strings"
	"time"

	"cmux/agents/kinds/news"
	"cmux/agents/kinds/question"
	"cmux/agents/kinds/stdio"
	"cmux/agents/kinds/transcript"
	"cmux/dag"
)

// Codes that requests are refused with.
const (
	codeTurn        = -32000 // a turn is in progress, or none is
	codeNoModel     = -32001
	codeUnsupported = -32002
	codeService     = -32003
)

// wire is one message of the wire: the parameters of an event or a request.
type wire struct {
	Type    string
	Payload payload
}

// payload has the fields of all payloads that matter here; those that a type
// does not have are empty.
type payload struct {
	ID        string          `json:"id"`
	Type      string          `json:"type"` // ContentPart: text or think
	Text      string          `json:"text"`
	Think     string          `json:"think"`
	Input     json.RawMessage `json:"user_input"`
	Usage     *tokens         `json:"token_usage"`
	Message   string          `json:"message_id"`
	Function  function        `json:"function"`
	Part      string          `json:"arguments_part"`
	CallID    string          `json:"tool_call_id"`
	Return    returned        `json:"return_value"`
	Event     json.RawMessage `json:"event"` // SubagentEvent: a message of the wire; HookRequest: a name
	Content   string          `json:"content"`
	Next      int             `json:"next_attempt"`
	Wait      float64         `json:"wait_s"`
	Status    int             `json:"status_code"`
	Sender    string          `json:"sender"`
	Action    string          `json:"action"`
	About     string          `json:"description"`
	Display   []display       `json:"display"`
	Questions []inquired      `json:"questions"`
	Hook      hookInput       `json:"input_data"`
	Name      string          `json:"name"`
}

type tokens struct {
	Input       int64 `json:"input_other"`
	Output      int64 `json:"output"`
	CacheRead   int64 `json:"input_cache_read"`
	CacheCreate int64 `json:"input_cache_creation"`
}

func (t tokens) usage() dag.Usage {
	return dag.Usage{Input: max(t.Input, 0), Output: max(t.Output, 0), CacheRead: max(t.CacheRead, 0), CacheCreate: max(t.CacheCreate, 0)}
}

type function struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

type returned struct {
	IsError bool            `json:"is_error"`
	Output  json.RawMessage `json:"output"` // a text, or parts
	Message string          `json:"message"`
}

type display struct {
	Type    string `json:"type"`
	Path    string `json:"path"`    // diff
	Command string `json:"command"` // shell
}

type inquired struct {
	Question string `json:"question"`
	Options  []struct {
		Label string `json:"label"`
	} `json:"options"`
}

type hookInput struct {
	Tool  string          `json:"tool_name"`
	Input json.RawMessage `json:"tool_input"`
	Dir   string          `json:"cwd"`
}

// parse reads the parameters of an event or a request. A field that is not
// understood is left empty: versions of the program differ.
func parse(params json.RawMessage) wire {
	var raw struct {
		Type    string          `json:"type"`
		Payload json.RawMessage `json:"payload"`
	}
	if json.Unmarshal(params, &raw) != nil {
		return wire{}
	}
	w := wire{Type: raw.Type}
	stdio.Lenient(raw.Payload, &w.Payload)
	return w
}

// words are the text of a prompt or an output: a text, or parts of which some
// are texts.
func words(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	var parts []json.RawMessage
	if json.Unmarshal(raw, &parts) != nil {
		return ""
	}
	var all []string
	for _, p := range parts {
		var part struct {
			Text string `json:"text"`
		}
		if json.Unmarshal(p, &part) == nil && part.Text != "" {
			all = append(all, part.Text)
		}
	}
	return strings.Join(all, "\n")
}

// failure is what a refused prompt means.
func failure(e *stdio.Error, now time.Time) news.Event {
	text := e.Message
	if data := words(e.Data); data != "" {
		text += ": " + data
	}
	switch e.Code {
	case codeNoModel, codeUnsupported:
		return news.Asked{Question: question.New("kimi has no model to work with: " + text + " (set it up with kimi, then answer go on)")}
	}
	return stdio.Failed(text, transcript.Classify(text, now), "log in with kimi, then answer go on")
}
