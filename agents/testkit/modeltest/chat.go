package modeltest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// parseChat reads a request of OpenAI's chat completions. Results of tools are
// messages of their own there; they become one of the user's.
func parseChat(body []byte, header http.Header) (Request, error) {
	var in struct {
		Model    string `json:"model"`
		Stream   bool   `json:"stream"`
		Messages []struct {
			Role      string          `json:"role"`
			Content   json.RawMessage `json:"content"`
			CallID    string          `json:"tool_call_id"`
			Reasoning string          `json:"reasoning_content"`
			Calls     []struct {
				ID       string `json:"id"`
				Function struct {
					Name      string `json:"name"`
					Arguments string `json:"arguments"`
				} `json:"function"`
			} `json:"tool_calls"`
		} `json:"messages"`
		Tools []struct {
			Function struct {
				Name string `json:"name"`
			} `json:"function"`
		} `json:"tools"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return Request{}, err
	}
	r := Request{Protocol: Chat, Model: in.Model, Stream: in.Stream, Session: header.Get("X-Session-Id")}
	for _, m := range in.Messages {
		text := responsesText(m.Content)
		switch m.Role {
		case "system", "developer":
			r.System = strings.TrimPrefix(r.System+"\n"+text, "\n")
		case "tool":
			result := Block{Type: "tool_result", ID: m.CallID, Text: text}
			if n := len(r.Messages); n > 0 && r.Messages[n-1].Role == "user" && r.Messages[n-1].Blocks[0].Type == "tool_result" {
				r.Messages[n-1].Blocks = append(r.Messages[n-1].Blocks, result)
			} else {
				r.Messages = append(r.Messages, Message{Role: "user", Blocks: []Block{result}})
			}
		case "assistant":
			var blocks []Block
			if m.Reasoning != "" {
				blocks = append(blocks, Block{Type: "thinking", Text: m.Reasoning})
			}
			if text != "" || len(m.Calls) == 0 {
				blocks = append(blocks, Block{Type: "text", Text: text})
			}
			for _, c := range m.Calls {
				blocks = append(blocks, Block{Type: "tool_use", ID: c.ID, Name: c.Function.Name, Input: c.Function.Arguments})
			}
			r.Messages = append(r.Messages, Message{Role: "assistant", Blocks: blocks})
		default:
			r.Messages = append(r.Messages, Message{Role: m.Role, Blocks: []Block{{Type: "text", Text: text}}})
		}
	}
	for _, t := range in.Tools {
		r.Tools = append(r.Tools, t.Function.Name)
	}
	// Programs ask for titles and summaries of a conversation beside it.
	r.Aside = len(r.Tools) == 0
	return r, nil
}

// chatReply writes an answer of chat completions, streamed or whole.
type chatReply struct {
	*stream
	model   string
	usage   Usage
	whole   bool
	tools   []string
	content string
	calls   []object
}

func (c *chatReply) chunk(delta object, finish any) error {
	return c.send(object{"choices": []object{{"index": 0, "delta": delta, "finish_reason": finish}}})
}

func (c *chatReply) send(fields object) error {
	fields["id"], fields["object"], fields["created"], fields["model"] = "chatcmpl-"+c.id, "chat.completion.chunk", time.Now().Unix(), c.model
	return c.data(fields)
}

func (c *chatReply) start() error {
	return c.open(func() error { return c.chunk(object{"role": "assistant", "content": ""}, nil) })
}

func (c *chatReply) deltas(field, s string) error {
	if err := c.start(); err != nil {
		return err
	}
	return c.piecewise(s, func(p string) error { return c.chunk(object{field: p}, nil) })
}

func (c *chatReply) text(s string) error {
	c.content += s
	if c.whole {
		return nil
	}
	return c.deltas("content", s)
}

func (c *chatReply) thinking(s string) error {
	if c.whole {
		return nil
	}
	return c.deltas("reasoning_content", s)
}

func (c *chatReply) tool(name string, input []byte) error {
	i := len(c.calls)
	call := object{"index": i, "id": fmt.Sprintf("call_%s_%d", c.id, i), "type": "function", "function": object{"name": name, "arguments": string(input)}}
	c.calls = append(c.calls, call)
	if c.whole {
		return nil
	}
	if err := c.start(); err != nil {
		return err
	}
	return c.chunk(object{"tool_calls": []object{call}}, nil)
}

// shell uses the tool of Qwen Code, or that of OpenCode.
func (c *chatReply) shell(command string) error {
	name, in := "bash", object{"command": command, "description": "run a command"}
	if slices.Contains(c.tools, "run_shell_command") {
		name, in["is_background"] = "run_shell_command", false
	}
	input, err := json.Marshal(in)
	if err != nil {
		return err
	}
	return c.tool(name, input)
}

func (c *chatReply) finish(stop string, usedTool bool) error {
	if stop == "" {
		stop = "stop"
		if usedTool {
			stop = "tool_calls"
		}
	}
	u := c.usage
	in := u.Input + u.CacheRead + u.CacheCreation
	usage := object{"prompt_tokens": in, "completion_tokens": u.Output, "total_tokens": in + u.Output,
		"prompt_tokens_details": object{"cached_tokens": u.CacheRead}}
	if c.whole {
		message := object{"role": "assistant", "content": c.content}
		if len(c.calls) > 0 {
			message["tool_calls"] = c.calls
		}
		return c.json(http.StatusOK, nil, object{"id": "chatcmpl-" + c.id, "object": "chat.completion", "created": time.Now().Unix(), "model": c.model,
			"choices": []object{{"index": 0, "message": message, "finish_reason": stop}}, "usage": usage})
	}
	if err := c.start(); err != nil {
		return err
	}
	if err := c.chunk(object{}, stop); err != nil {
		return err
	}
	if err := c.send(object{"choices": []object{}, "usage": usage}); err != nil {
		return err
	}
	_, err := fmt.Fprint(c.w, "data: [DONE]\n\n")
	return err
}

func (c *chatReply) fault(f Fault) error {
	kind, text := responsesErrors[f.Status][0], responsesErrors[f.Status][1]
	if kind == "" {
		kind, text = "server_error", http.StatusText(f.Status)
	}
	if f.Limit != "" {
		kind, text = "usage_limit_reached", "The usage limit has been reached"
	}
	body := object{"error": object{"message": or(f.Message, text), "type": or(f.Type, kind), "code": or(f.Type, kind)}}
	if c.opened {
		return c.data(body)
	}
	return c.json(f.Status, f.headers(), body)
}
