package modeltest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// gemini serves the calls of a model in Google's Gemini API: MODEL:METHOD.
func (s *Server) gemini(w http.ResponseWriter, r *http.Request) {
	model, method, _ := strings.Cut(r.PathValue("call"), ":")
	switch method {
	case "streamGenerateContent", "generateContent":
		s.handle(func(body []byte, _ http.Header) (Request, error) {
			return parseGemini(body, model, method == "streamGenerateContent")
		})(w, r)
	case "countTokens":
		s.countTokens(w, r)
	default:
		s.stray(w, r)
	}
}

// parseGemini reads a request of the Gemini API. Its conversations have no name.
func parseGemini(body []byte, model string, stream bool) (Request, error) {
	type content struct {
		Role  string       `json:"role"`
		Parts []geminiPart `json:"parts"`
	}
	var in struct {
		System   content   `json:"systemInstruction"`
		Contents []content `json:"contents"`
		Tools    []struct {
			Functions []struct {
				Name string `json:"name"`
			} `json:"functionDeclarations"`
		} `json:"tools"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return Request{}, err
	}
	r := Request{Protocol: Gemini, Model: model, Stream: stream}
	var system []Block
	for _, p := range in.System.Parts {
		system = append(system, p.block())
	}
	r.System = joined(system)
	for _, c := range in.Contents {
		m := Message{Role: c.Role}
		if m.Role == "model" {
			m.Role = "assistant"
		}
		for _, p := range c.Parts {
			m.Blocks = append(m.Blocks, p.block())
		}
		r.Messages = append(r.Messages, m)
	}
	for _, t := range in.Tools {
		for _, f := range t.Functions {
			r.Tools = append(r.Tools, f.Name)
		}
	}
	// What is asked about a conversation, beside it, offers no tools.
	r.Aside = len(r.Tools) == 0
	return r, nil
}

// geminiPart is a part of an entry of a conversation.
type geminiPart struct {
	Text    string `json:"text"`
	Thought bool   `json:"thought"`
	Call    *struct {
		ID   string          `json:"id"`
		Name string          `json:"name"`
		Args json.RawMessage `json:"args"`
	} `json:"functionCall"`
	Result *struct {
		ID       string `json:"id"`
		Response struct {
			Output string `json:"output"`
			Error  string `json:"error"`
		} `json:"response"`
	} `json:"functionResponse"`
}

func (p geminiPart) block() Block {
	switch {
	case p.Call != nil:
		return Block{Type: "tool_use", ID: p.Call.ID, Name: p.Call.Name, Input: string(p.Call.Args)}
	case p.Result != nil:
		said := p.Result.Response
		return Block{Type: "tool_result", ID: p.Result.ID, Text: or(said.Output, said.Error), IsError: said.Error != ""}
	case p.Thought:
		return Block{Type: "thinking", Text: p.Text}
	}
	return Block{Type: "text", Text: p.Text}
}

// geminiReply writes an answer of the Gemini API, streamed or whole.
type geminiReply struct {
	*stream
	model string
	usage Usage
	whole bool
	parts []object // so far, where whole
	calls int
}

// say sends parts, or keeps them for a whole answer.
func (g *geminiReply) say(parts ...object) error {
	if g.whole {
		g.parts = append(g.parts, parts...)
		return nil
	}
	if err := g.open(func() error { return nil }); err != nil {
		return err
	}
	for _, p := range parts {
		if err := g.data(g.answer([]object{p}, "")); err != nil {
			return err
		}
	}
	return nil
}

// answer is a piece of an answer, and its last when it stops.
func (g *geminiReply) answer(parts []object, stop string) object {
	candidate := object{"index": 0, "content": object{"role": "model", "parts": parts}}
	o := object{"candidates": []object{candidate}, "modelVersion": g.model, "responseId": g.id}
	if stop != "" {
		candidate["finishReason"] = stop
		in := g.usage.Input + g.usage.CacheRead + g.usage.CacheCreation
		o["usageMetadata"] = object{"promptTokenCount": in, "cachedContentTokenCount": g.usage.CacheRead,
			"candidatesTokenCount": g.usage.Output, "totalTokenCount": in + g.usage.Output}
	}
	return o
}

func (g *geminiReply) text(s string) error {
	if g.whole {
		return g.say(object{"text": s})
	}
	return g.piecewise(s, func(p string) error { return g.say(object{"text": p}) })
}

func (g *geminiReply) thinking(s string) error { return g.say(object{"text": s, "thought": true}) }

func (g *geminiReply) tool(name string, input []byte) error {
	g.calls++
	return g.say(object{"functionCall": object{"id": fmt.Sprintf("call_%s_%d", g.id, g.calls), "name": name, "args": json.RawMessage(input)}})
}

func (g *geminiReply) shell(command string) error {
	input, err := json.Marshal(object{"command": command, "description": "run a command"})
	if err != nil {
		return err
	}
	return g.tool("run_shell_command", input)
}

func (g *geminiReply) finish(stop string, _ bool) error {
	stop = or(stop, "STOP") // after a call of a tool, too
	if g.whole {
		return g.json(http.StatusOK, nil, g.answer(g.parts, stop))
	}
	if err := g.open(func() error { return nil }); err != nil {
		return err
	}
	return g.data(g.answer([]object{{"text": ""}}, stop))
}

// geminiErrors are the names of statuses.
var geminiErrors = map[int]string{400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED",
	404: "NOT_FOUND", 429: "RESOURCE_EXHAUSTED", 500: "INTERNAL", 503: "UNAVAILABLE"}

func (g *geminiReply) fault(f Fault) error {
	text := http.StatusText(f.Status)
	if f.Status == http.StatusTooManyRequests {
		text = "Resource has been exhausted (e.g. check quota)."
	}
	e := object{"code": f.Status, "message": or(f.Message, text), "status": or(f.Type, or(geminiErrors[f.Status], "UNKNOWN"))}
	if f.Limit != "" {
		// The one limit that Gemini CLI does not try to get past for minutes.
		e["details"] = []object{{"@type": "type.googleapis.com/google.rpc.QuotaFailure",
			"violations": []object{{"quotaId": "GenerateRequestsPerDayPerProjectPerModel"}}}}
	}
	body := object{"error": e}
	if g.opened {
		return g.data(body)
	}
	return g.json(f.Status, f.headers(), body)
}
