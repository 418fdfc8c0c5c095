package modeltest

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// parseMessages reads a request of the Anthropic Messages API.
func parseMessages(body []byte, header http.Header) (Request, error) {
	var in struct {
		Model    string          `json:"model"`
		System   json.RawMessage `json:"system"`
		Stream   bool            `json:"stream"`
		Messages []struct {
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
		} `json:"messages"`
		Tools []struct {
			Name string `json:"name"`
		} `json:"tools"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return Request{}, err
	}
	r := Request{Protocol: Messages, Model: in.Model, Stream: in.Stream, Session: header.Get("X-Claude-Code-Session-Id")}
	system, err := messagesBlocks(in.System)
	if err != nil {
		return Request{}, fmt.Errorf("system: %w", err)
	}
	r.System = joined(system)
	for i, m := range in.Messages {
		blocks, err := messagesBlocks(m.Content)
		if err != nil {
			return Request{}, fmt.Errorf("messages[%d]: %w", i, err)
		}
		r.Messages = append(r.Messages, Message{Role: m.Role, Blocks: blocks})
	}
	for _, t := range in.Tools {
		r.Tools = append(r.Tools, t.Name)
	}
	return r, nil
}

// messagesBlocks reads content, which is a string or a list of blocks.
func messagesBlocks(raw json.RawMessage) ([]Block, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return []Block{{Type: "text", Text: text}}, nil
	}
	var list []struct {
		Type      string          `json:"type"`
		Text      string          `json:"text"`
		Thinking  string          `json:"thinking"`
		ID        string          `json:"id"`
		ToolUseID string          `json:"tool_use_id"`
		Name      string          `json:"name"`
		Input     json.RawMessage `json:"input"`
		Content   json.RawMessage `json:"content"`
		IsError   bool            `json:"is_error"`
	}
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, err
	}
	var blocks []Block
	for _, l := range list {
		b := Block{Type: l.Type, Text: l.Text + l.Thinking, ID: l.ID + l.ToolUseID, Name: l.Name, Input: string(l.Input), IsError: l.IsError}
		if l.Type == "tool_result" {
			content, err := messagesBlocks(l.Content)
			if err != nil {
				return nil, err
			}
			b.Text = joined(content)
		}
		blocks = append(blocks, b)
	}
	return blocks, nil
}

func joined(blocks []Block) string {
	var texts []string
	for _, b := range blocks {
		if b.Text != "" {
			texts = append(texts, b.Text)
		}
	}
	return strings.Join(texts, "\n")
}

// messagesReply writes an answer of the Messages API: streamed, or whole for a
// program that fell back to that after a broken stream.
type messagesReply struct {
	*stream
	model   string
	usage   Usage
	whole   bool
	judges  bool
	content []object
}

// judgement is the safeguard by which the API decides, for Claude Code's auto mode,
// whether the tool calls of an answer are dangerous.
const judgement = "dangerous_tool_use"

// asksToJudge reports whether a request wants the tool calls of its answer judged.
func asksToJudge(r Request) bool {
	type safeguard struct {
		Type string `json:"type"`
	}
	var in struct {
		Safeguards []safeguard `json:"safeguards"`
	}
	return json.Unmarshal(r.Body, &in) == nil && slices.ContainsFunc(in.Safeguards, func(s safeguard) bool { return s.Type == judgement })
}

// end is how an answer ended, and what was judged of its tool calls.
func (m *messagesReply) end(stop any) object {
	end := object{"stop_reason": stop, "stop_sequence": nil}
	if m.judges && stop != nil {
		calls := object{}
		for _, block := range m.content {
			if block["type"] == "tool_use" {
				calls[fmt.Sprint(block["id"])] = object{"type": "evaluated", "outcome": "not_flagged"}
			}
		}
		end["safeguard_results"] = []object{{"type": judgement, "status": object{"type": "available", "tool_uses": calls}}}
	}
	return end
}

func (m *messagesReply) message(stop any, output int) object {
	content := []object{}
	if m.whole {
		content = append(content, m.content...)
	}
	message := object{"id": "msg_" + m.id, "type": "message", "role": "assistant", "model": m.model, "content": content, "usage": m.use(output)}
	maps.Copy(message, m.end(stop))
	return message
}

func (m *messagesReply) use(output int) object {
	return object{"input_tokens": m.usage.Input, "output_tokens": output,
		"cache_read_input_tokens": m.usage.CacheRead, "cache_creation_input_tokens": m.usage.CacheCreation}
}

func (m *messagesReply) start() error {
	return m.open(func() error { return m.event("message_start", object{"message": m.message(nil, 1)}) })
}

// block streams one content block: as it begins, then its deltas.
func (m *messagesReply) block(begun, block object, deltas ...object) error {
	return m.blockOf(begun, block, func(send func(object) error) error {
		for _, d := range deltas {
			if err := send(d); err != nil {
				return err
			}
		}
		return nil
	})
}

func (m *messagesReply) blockOf(begun, block object, deltas func(send func(delta object) error) error) error {
	i := len(m.content)
	m.content = append(m.content, block)
	if m.whole {
		return nil
	}
	if err := m.start(); err != nil {
		return err
	}
	if err := m.event("content_block_start", object{"index": i, "content_block": begun}); err != nil {
		return err
	}
	if err := deltas(func(d object) error { return m.event("content_block_delta", object{"index": i, "delta": d}) }); err != nil {
		return err
	}
	return m.event("content_block_stop", object{"index": i})
}

func (m *messagesReply) text(s string) error {
	return m.blockOf(object{"type": "text", "text": ""}, object{"type": "text", "text": s}, func(send func(object) error) error {
		return m.piecewise(s, func(p string) error { return send(object{"type": "text_delta", "text": p}) })
	})
}

func (m *messagesReply) thinking(s string) error {
	const signature = "c2lnbmVk"
	var deltas []object
	for _, p := range pieces(s) {
		deltas = append(deltas, object{"type": "thinking_delta", "thinking": p})
	}
	deltas = append(deltas, object{"type": "signature_delta", "signature": signature})
	return m.block(object{"type": "thinking", "thinking": "", "signature": ""},
		object{"type": "thinking", "thinking": s, "signature": signature}, deltas...)
}

func (m *messagesReply) tool(name string, input []byte) error {
	var deltas []object
	for _, p := range pieces(string(input)) {
		deltas = append(deltas, object{"type": "input_json_delta", "partial_json": p})
	}
	use := func(input any) object {
		return object{"type": "tool_use", "id": fmt.Sprintf("toolu_%s_%d", m.id, len(m.content)), "name": name, "input": input}
	}
	return m.block(use(object{}), use(json.RawMessage(input)), deltas...)
}

func (m *messagesReply) shell(command string) error {
	input, err := json.Marshal(object{"command": command, "description": "run a command"})
	if err != nil {
		return err
	}
	return m.tool("Bash", input)
}

func (m *messagesReply) finish(stop string, usedTool bool) error {
	if stop == "" {
		stop = "end_turn"
		if usedTool {
			stop = "tool_use"
		}
	}
	if m.whole {
		return m.json(http.StatusOK, nil, m.message(stop, m.usage.Output))
	}
	if err := m.start(); err != nil {
		return err
	}
	if err := m.event("message_delta", object{"delta": m.end(stop), "usage": m.use(m.usage.Output)}); err != nil {
		return err
	}
	return m.event("message_stop", object{})
}

// messagesErrors are the type and text of the API's own answers.
var messagesErrors = map[int][2]string{
	400: {"invalid_request_error", "invalid request"},
	401: {"authentication_error", "invalid x-api-key"},
	403: {"permission_error", "Your account does not have access to this model."},
	404: {"not_found_error", "not found"},
	413: {"request_too_large", "Request exceeds the maximum allowed number of bytes"},
	429: {"rate_limit_error", "This request would exceed your account's rate limit. Please try again later."},
	500: {"api_error", "Internal server error"},
	529: {"overloaded_error", "Overloaded"},
}

func (m *messagesReply) fault(f Fault) error {
	kind, text := messagesErrors[f.Status][0], messagesErrors[f.Status][1]
	if kind == "" {
		kind, text = "api_error", http.StatusText(f.Status)
	}
	header := f.headers()
	if f.Limit != "" {
		text = "This request would exceed your account's usage limit."
		header.Set("Anthropic-Ratelimit-Unified-Status", "rejected")
		header.Set("Anthropic-Ratelimit-Unified-Representative-Claim", f.Limit)
		if f.Reset > 0 {
			header.Set("Anthropic-Ratelimit-Unified-Reset", strconv.FormatInt(time.Now().Add(f.Reset+time.Second-1).Unix(), 10))
		}
	}
	body := object{"type": "error", "error": object{"type": or(f.Type, kind), "message": or(f.Message, text)}, "request_id": "req_" + m.id}
	if m.opened {
		return m.event("error", body)
	}
	return m.json(f.Status, header, body)
}
