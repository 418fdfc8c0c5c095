package modeltest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// parseResponses reads a request of the OpenAI Responses API. Items of one
// answer of the model become one assistant message. Codex gives its system
// prompt as developer messages.
func parseResponses(body []byte, header http.Header) (Request, error) {
	var in struct {
		Model        string            `json:"model"`
		Instructions string            `json:"instructions"`
		Stream       bool              `json:"stream"`
		CacheKey     string            `json:"prompt_cache_key"`
		Input        []json.RawMessage `json:"input"`
		Tools        []struct {
			Name string `json:"name"`
			Type string `json:"type"`
		} `json:"tools"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return Request{}, err
	}
	r := Request{Protocol: Responses, Model: in.Model, System: in.Instructions, Stream: in.Stream,
		Session: or(header.Get("Session_id"), or(header.Get("Session-Id"), in.CacheKey))}
	answer := "" // id of the answer that the last assistant message is made of, as far as known
	for i, raw := range in.Input {
		role, b, err := responsesItem(raw)
		if err != nil {
			return Request{}, fmt.Errorf("input[%d]: %w", i, err)
		}
		n := len(r.Messages)
		if role == "developer" {
			r.System = strings.TrimPrefix(r.System+"\n"+joined(b), "\n")
		}
		if role != "assistant" {
			r.Messages = append(r.Messages, Message{Role: role, Blocks: b})
			continue
		}
		from := ""
		if id, ok := strings.CutPrefix(b[0].ID, "call_"); ok {
			from, _, _ = strings.Cut(id, "_")
		}
		last := n - 1
		for last >= 0 && from != "" && r.Messages[last].Role != "assistant" {
			last--
		}
		// The results of two calls of one answer may stand between them.
		if last >= 0 && r.Messages[last].Role == "assistant" && (last == n-1 && (from == "" || answer == "") || from != "" && from == answer) {
			r.Messages[last].Blocks = append(r.Messages[last].Blocks, b...)
			answer = or(from, answer)
			continue
		}
		r.Messages = append(r.Messages, Message{Role: role, Blocks: b})
		answer = from
	}
	for _, t := range in.Tools {
		r.Tools = append(r.Tools, or(t.Name, t.Type))
	}
	return r, nil
}

// responsesItem reads one input item; at least one block is returned.
func responsesItem(raw json.RawMessage) (role string, blocks []Block, err error) {
	var in struct {
		Type    string          `json:"type"`
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
		Summary []struct {
			Text string `json:"text"`
		} `json:"summary"`
		Name      string          `json:"name"`
		CallID    string          `json:"call_id"`
		Arguments string          `json:"arguments"`
		Input     string          `json:"input"`
		Output    json.RawMessage `json:"output"`
	}
	if err := json.Unmarshal(raw, &in); err != nil {
		return "", nil, err
	}
	switch in.Type {
	case "reasoning":
		b := Block{Type: "thinking"}
		for _, s := range in.Summary {
			b.Text += s.Text
		}
		return "assistant", []Block{b}, nil
	case "function_call", "custom_tool_call":
		return "assistant", []Block{{Type: "tool_use", ID: in.CallID, Name: in.Name, Input: in.Arguments + in.Input}}, nil
	case "function_call_output", "custom_tool_call_output":
		return "user", []Block{{Type: "tool_result", ID: in.CallID, Text: responsesText(in.Output)}}, nil
	case "message", "":
		// One block for each text, as Codex puts a list of instructions before the prompt.
		var parts []json.RawMessage
		if json.Unmarshal(in.Content, &parts) != nil {
			parts = []json.RawMessage{in.Content}
		}
		for _, p := range parts {
			blocks = append(blocks, Block{Type: "text", Text: responsesText(p)})
		}
		if len(blocks) == 0 {
			blocks = []Block{{Type: "text"}}
		}
		return in.Role, blocks, nil
	}
	return "assistant", []Block{{Type: in.Type}}, nil
}

// responsesText is the text of a string, of an object with a text, or of a list of them.
func responsesText(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	var part struct {
		Text    string          `json:"text"`
		Content json.RawMessage `json:"content"`
	}
	if json.Unmarshal(raw, &part) == nil {
		if part.Text == "" && len(part.Content) > 0 {
			return responsesText(part.Content)
		}
		return part.Text
	}
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil {
		return ""
	}
	var texts []string
	for _, l := range list {
		texts = append(texts, responsesText(l))
	}
	return strings.Join(texts, "\n")
}

// responsesReply streams an answer of the Responses API.
type responsesReply struct {
	*stream
	model string
	usage Usage
	items []object
	seq   int
}

func (r *responsesReply) emit(name string, fields object) error {
	fields["sequence_number"] = r.seq
	r.seq++
	return r.event(name, fields)
}

func (r *responsesReply) response(status string) object {
	return object{"id": "resp_" + r.id, "object": "response", "created_at": time.Now().Unix(), "model": r.model, "status": status, "output": r.items}
}

func (r *responsesReply) start() error {
	return r.open(func() error {
		r.items = []object{}
		return r.emit("response.created", object{"response": r.response("in_progress")})
	})
}

// item streams one output item: announced as begun, then its deltas, then whole.
func (r *responsesReply) item(begun, whole object, deltas func(index int) error) error {
	i := len(r.items)
	if err := r.emit("response.output_item.added", object{"output_index": i, "item": begun}); err != nil {
		return err
	}
	if err := deltas(i); err != nil {
		return err
	}
	r.items = append(r.items, whole)
	return r.emit("response.output_item.done", object{"output_index": i, "item": whole})
}

func (r *responsesReply) itemID(prefix string) string {
	return fmt.Sprintf("%s_%s_%d", prefix, r.id, len(r.items))
}

func (r *responsesReply) text(s string) error {
	if err := r.start(); err != nil {
		return err
	}
	id := r.itemID("msg")
	message := func(status string, content ...object) object {
		return object{"type": "message", "id": id, "role": "assistant", "status": status, "content": append([]object{}, content...)}
	}
	part := func(text string) object { return object{"type": "output_text", "text": text, "annotations": []any{}} }
	return r.item(message("in_progress"), message("completed", part(s)), func(i int) error {
		at := func(f object) object {
			f["item_id"], f["output_index"], f["content_index"] = id, i, 0
			return f
		}
		if err := r.emit("response.content_part.added", at(object{"part": part("")})); err != nil {
			return err
		}
		if err := r.piecewise(s, func(p string) error { return r.emit("response.output_text.delta", at(object{"delta": p})) }); err != nil {
			return err
		}
		if err := r.emit("response.output_text.done", at(object{"text": s})); err != nil {
			return err
		}
		return r.emit("response.content_part.done", at(object{"part": part(s)}))
	})
}

func (r *responsesReply) thinking(s string) error {
	if err := r.start(); err != nil {
		return err
	}
	id := r.itemID("rs")
	reasoning := func(summary ...object) object {
		return object{"type": "reasoning", "id": id, "summary": append([]object{}, summary...), "encrypted_content": "c2VhbGVk"}
	}
	part := func(text string) object { return object{"type": "summary_text", "text": text} }
	return r.item(reasoning(), reasoning(part(s)), func(i int) error {
		at := func(f object) object {
			f["item_id"], f["output_index"], f["summary_index"] = id, i, 0
			return f
		}
		if err := r.emit("response.reasoning_summary_part.added", at(object{"part": part("")})); err != nil {
			return err
		}
		for _, p := range pieces(s) {
			if err := r.emit("response.reasoning_summary_text.delta", at(object{"delta": p})); err != nil {
				return err
			}
		}
		if err := r.emit("response.reasoning_summary_text.done", at(object{"text": s})); err != nil {
			return err
		}
		return r.emit("response.reasoning_summary_part.done", at(object{"part": part(s)}))
	})
}

func (r *responsesReply) tool(name string, input []byte) error {
	if err := r.start(); err != nil {
		return err
	}
	id, call := r.itemID("fc"), r.itemID("call")
	made := func(status, arguments string) object {
		o := object{"type": "function_call", "id": id, "call_id": call, "name": name, "arguments": arguments, "status": status}
		// Tools of an MCP server stand in a namespace of its own.
		if i := strings.LastIndex(name, "__"); i > 0 && strings.HasPrefix(name, "mcp__") {
			o["namespace"], o["name"] = name[:i], name[i+2:]
		}
		return o
	}
	return r.item(made("in_progress", ""), made("completed", string(input)), func(i int) error {
		for _, p := range pieces(string(input)) {
			if err := r.emit("response.function_call_arguments.delta", object{"item_id": id, "output_index": i, "delta": p}); err != nil {
				return err
			}
		}
		return r.emit("response.function_call_arguments.done", object{"item_id": id, "output_index": i, "arguments": string(input)})
	})
}

func (r *responsesReply) shell(command string) error {
	input, err := json.Marshal(object{"cmd": command})
	if err != nil {
		return err
	}
	return r.tool("exec_command", input)
}

func (r *responsesReply) finish(stop string, _ bool) error {
	if err := r.start(); err != nil {
		return err
	}
	u := r.usage
	status := "completed"
	if stop != "" {
		status = "incomplete"
	}
	response := r.response(status)
	if stop != "" {
		response["incomplete_details"] = object{"reason": stop}
	}
	in := u.Input + u.CacheRead + u.CacheCreation
	response["usage"] = object{"input_tokens": in, "input_tokens_details": object{"cached_tokens": u.CacheRead},
		"output_tokens": u.Output, "output_tokens_details": object{"reasoning_tokens": 0}, "total_tokens": in + u.Output}
	return r.emit("response."+status, object{"response": response})
}

// responsesErrors are the type (which is the code as well) and text of the API's own answers.
var responsesErrors = map[int][2]string{
	400: {"invalid_request_error", "invalid request"},
	401: {"invalid_api_key", "Incorrect API key provided."},
	429: {"rate_limit_exceeded", "Rate limit reached for this model. Please try again later."},
	500: {"server_error", "The server had an error while processing your request."},
	503: {"server_is_overloaded", "Our servers are currently overloaded. Please try again later."},
}

func (r *responsesReply) fault(f Fault) error {
	kind, text := responsesErrors[f.Status][0], responsesErrors[f.Status][1]
	if kind == "" {
		kind, text = "server_error", http.StatusText(f.Status)
	}
	limit := object{}
	if f.Limit != "" {
		kind, text = "usage_limit_reached", "The usage limit has been reached"
		limit["plan_type"] = "plus"
		if f.Reset > 0 {
			limit["resets_at"] = time.Now().Add(f.Reset + time.Second - 1).Unix()
			limit["resets_in_seconds"] = int64((f.Reset + time.Second - 1) / time.Second)
		}
	}
	body := object{"type": or(f.Type, kind), "code": or(f.Type, kind), "message": or(f.Message, text)}
	for k, v := range limit {
		body[k] = v
	}
	if r.opened {
		failed := r.response("failed")
		failed["error"] = body
		return r.emit("response.failed", object{"response": failed})
	}
	return r.json(f.Status, f.headers(), object{"error": body})
}
