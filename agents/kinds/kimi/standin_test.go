package kimi_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// script is what the stand-in's model does.
type script struct {
	// Turns are lists of steps; the n-th prompt of a conversation gets the n-th.
	Turns [][]step `json:"turns,omitempty"`
	// Parts are what it does to a prompt, or what it is steered with, by what that
	// holds. They are looked through in order.
	Parts []part `json:"parts,omitempty"`
}

type part struct {
	On    string `json:"on"`
	Steps []step `json:"steps"`
}

// on is what it does to a text, and whether the script says so.
func (s script) on(text string) (steps []step, ok bool) {
	for _, p := range s.Parts {
		if strings.Contains(text, p.On) {
			return p.Steps, true
		}
	}
	return nil, false
}

// step is what the stand-in's model does next.
type step struct {
	Think    string `json:"think,omitempty"`
	Say      string `json:"say,omitempty"`
	Shell    string `json:"shell,omitempty"`
	Write    string `json:"write,omitempty"` // a path, which gets the content "made"
	Ask      string `json:"ask,omitempty"`   // with the options left and right
	Fail     int    `json:"fail,omitempty"`  // code
	Message  string `json:"message,omitempty"`
	MaxSteps bool   `json:"max_steps,omitempty"`
	Steered  bool   `json:"steered,omitempty"` // waits for steering
	Forever  bool   `json:"forever,omitempty"` // waits for the turn to be cancelled
	Hold     string `json:"hold,omitempty"`    // a path: it makes PATH.held and waits for PATH
	Tokens   m      `json:"tokens,omitempty"`  // of the step; default some
}

type m = map[string]any

// standin is a program that speaks the wire protocol as its documentation says.
type standin struct {
	dir    string // of the session
	script script
	old    bool // a version without initialize, steer and replay

	out      sync.Mutex
	mu       sync.Mutex
	n        int
	waiting  map[string]chan json.RawMessage
	hooked   bool
	cancel   context.CancelFunc
	steered  chan string
	stepping int
}

// playKimi is main of the stand-in.
func playKimi(args []string) int {
	s := &standin{waiting: map[string]chan json.RawMessage{}, steered: make(chan string, 16), old: os.Getenv("STANDIN_OLD") != ""}
	for i := 0; i+1 < len(args); i++ {
		if args[i] == "--session" {
			s.dir = filepath.Join(os.Getenv("KIMI_SHARE_DIR"), args[i+1])
		}
	}
	if err := json.Unmarshal([]byte(os.Getenv("STANDIN_SCRIPT")), &s.script); err != nil || s.dir == "" || len(args) == 0 || args[0] != "--wire" {
		fmt.Fprintln(os.Stderr, "usage: kimi --wire --session ID:", err)
		return 1
	}
	if err := os.MkdirAll(s.dir, 0o755); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	var turns sync.WaitGroup
	in := bufio.NewReader(os.Stdin)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			break
		}
		s.file("received", line)
		var msg struct {
			JSONRPC string          `json:"jsonrpc"`
			ID      string          `json:"id"`
			Method  string          `json:"method"`
			Params  json.RawMessage `json:"params"`
			Result  json.RawMessage `json:"result"`
		}
		if json.Unmarshal(line, &msg) != nil || msg.JSONRPC != "2.0" || msg.ID == "" {
			s.send(m{"id": nil, "error": m{"code": -32600, "message": "invalid request"}})
			continue
		}
		var p struct {
			Input string `json:"user_input"`
			Hooks []m    `json:"hooks"`
		}
		json.Unmarshal(msg.Params, &p)
		refuse := func(code int, why string) { s.send(m{"id": msg.ID, "error": m{"code": code, "message": why}}) }
		s.mu.Lock()
		running := s.cancel != nil
		switch {
		case msg.Method == "":
			if ch := s.waiting[msg.ID]; ch != nil {
				ch <- msg.Result
			}
		case s.old && msg.Method != "prompt" && msg.Method != "cancel":
			refuse(-32601, "method not found")
		case msg.Method == "initialize":
			s.hooked = len(p.Hooks) > 0
			s.send(m{"id": msg.ID, "result": m{"protocol_version": "1.9", "server": m{"name": "stand-in", "version": "1"},
				"hooks": m{"supported_events": []string{"PreToolUse", "Stop"}, "configured": m{}}}})
		case msg.Method == "replay":
			history, _ := os.ReadFile(filepath.Join(s.dir, "wire.jsonl"))
			for l := range bytes.Lines(history) {
				s.write(l)
			}
			s.send(m{"id": msg.ID, "result": m{"status": "finished", "events": bytes.Count(history, []byte("\n")), "requests": 0}})
		case msg.Method == "prompt" && running:
			refuse(-32000, "An agent turn is already in progress")
		case msg.Method == "prompt":
			ctx, cancel := context.WithCancel(context.Background())
			s.cancel = cancel
			turns.Go(func() {
				status, fail := s.turn(ctx, p.Input)
				s.mu.Lock()
				s.cancel = nil
				s.mu.Unlock()
				if fail != nil {
					refuse(fail.Fail, fail.Message)
				} else {
					s.send(m{"id": msg.ID, "result": m{"status": status}})
				}
			})
		case !running:
			refuse(-32000, "No agent turn is in progress")
		case msg.Method == "steer":
			s.steered <- p.Input
			s.send(m{"id": msg.ID, "result": m{"status": "steered"}})
		case msg.Method == "cancel":
			s.cancel()
			s.send(m{"id": msg.ID, "result": m{}})
		default:
			refuse(-32601, "method not found")
		}
		s.mu.Unlock()
	}
	s.mu.Lock()
	if s.cancel != nil {
		s.cancel()
	}
	s.mu.Unlock()
	turns.Wait()
	return 0
}

func (s *standin) file(name string, line []byte) {
	f, err := os.OpenFile(filepath.Join(s.dir, name+".jsonl"), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		panic(err)
	}
	defer f.Close()
	f.Write(line)
}

func (s *standin) write(line []byte) {
	s.out.Lock()
	defer s.out.Unlock()
	os.Stdout.Write(line)
}

func (s *standin) send(msg m) {
	msg["jsonrpc"] = "2.0"
	line, err := json.Marshal(msg)
	if err != nil {
		panic(err)
	}
	s.write(append(line, '\n'))
}

func (s *standin) event(kind string, payload any) {
	line, err := json.Marshal(m{"jsonrpc": "2.0", "method": "event", "params": m{"type": kind, "payload": payload}})
	if err != nil {
		panic(err)
	}
	s.file("wire", append(line, '\n'))
	s.write(append(line, '\n'))
}

// request asks the client and returns its result; nil when the turn is over.
func (s *standin) request(ctx context.Context, kind string, payload m) (result struct {
	Response, Feedback, Action, Reason string
	Answers                            map[string]string
}) {
	s.mu.Lock()
	s.n++
	id := fmt.Sprintf("req-%d", s.n)
	ch := make(chan json.RawMessage, 1)
	s.waiting[id] = ch
	s.mu.Unlock()
	payload["id"] = "p-" + id
	s.send(m{"id": id, "method": "request", "params": m{"type": kind, "payload": payload}})
	select {
	case raw := <-ch:
		json.Unmarshal(raw, &result)
	case <-ctx.Done():
	}
	return result
}

// turn plays the turn that the conversation has come to.
func (s *standin) turn(ctx context.Context, input string) (status string, fail *step) {
	history, _ := os.ReadFile(filepath.Join(s.dir, "wire.jsonl"))
	at := bytes.Count(history, []byte(`"TurnBegin"`))
	s.event("TurnBegin", m{"user_input": []m{{"type": "text", "text": input}}})
	steps, _ := s.script.on(input)
	if at < len(s.script.Turns) {
		steps = s.script.Turns[at]
	}
	for i := 0; ; i++ {
		if i >= len(steps) || !steps[i].Steered {
			select {
			case text := <-s.steered:
				s.event("SteerInput", m{"user_input": text})
				if on, ok := s.script.on(text); ok {
					steps, i = append(slices.Clone(on), steps[min(i, len(steps)):]...), 0 // and then what it was at
				}
			default:
			}
		}
		if i >= len(steps) {
			s.mu.Lock() // what it was steered with is taken in, or refused
			over := len(s.steered) == 0
			if over {
				s.cancel = nil
			}
			s.mu.Unlock()
			if over {
				break
			}
			i--
			continue
		}
		st := steps[i]
		s.mu.Lock()
		s.stepping++
		n := s.stepping
		s.mu.Unlock()
		s.event("StepBegin", m{"n": n})
		switch {
		case st.Fail != 0:
			s.event("StepInterrupted", m{})
			return "", &st
		case st.MaxSteps:
			return "max_steps_reached", nil
		case st.Forever:
			<-ctx.Done()
		case st.Hold != "":
			os.WriteFile(st.Hold+".held", nil, 0o644)
			for _, err := os.Stat(st.Hold); err != nil && ctx.Err() == nil; _, err = os.Stat(st.Hold) {
				time.Sleep(10 * time.Millisecond)
			}
		case st.Steered:
			select {
			case text := <-s.steered:
				s.event("SteerInput", m{"user_input": text})
			case <-ctx.Done():
			}
		}
		for _, part := range [][2]string{{"think", st.Think}, {"text", st.Say}} {
			for _, r := range part[1] { // in the smallest of pieces
				s.event("ContentPart", m{"type": part[0], part[0]: string(r)})
			}
		}
		id := fmt.Sprintf("call-%d", n)
		switch {
		case st.Shell != "":
			s.tool(ctx, id, "Shell", m{"command": st.Shell}, func() (string, bool) {
				cmd := exec.CommandContext(ctx, "/bin/sh", "-c", st.Shell)
				out, err := cmd.CombinedOutput()
				return string(out), err != nil
			})
		case st.Write != "":
			s.tool(ctx, id, "WriteFile", m{"path": st.Write, "content": "made\n"}, func() (string, bool) {
				err := os.WriteFile(st.Write, []byte("made\n"), 0o644)
				return fmt.Sprint(err), err != nil
			})
		case st.Ask != "":
			r := s.request(ctx, "QuestionRequest", m{"tool_call_id": id, "questions": []m{{"question": st.Ask,
				"options": []m{{"label": "left", "description": "a"}, {"label": "right"}}}}})
			b, _ := json.Marshal(r.Answers)
			s.event("ToolResult", m{"tool_call_id": id, "return_value": m{"is_error": false, "output": "answered " + string(b), "message": "", "display": []m{}}})
		}
		tokens := st.Tokens
		if tokens == nil {
			tokens = m{"input_other": 100, "output": 20, "input_cache_read": 5, "input_cache_creation": 0}
		}
		s.event("StatusUpdate", m{"context_usage": 0.1, "message_id": id, "token_usage": tokens})
		s.event("StatusUpdate", m{"context_usage": nil, "token_usage": nil})
		if ctx.Err() != nil {
			s.event("StepInterrupted", m{})
			return "cancelled", nil
		}
	}
	s.event("TurnEnd", m{})
	return "finished", nil
}

// tool is a tool call with its hook and its leave.
func (s *standin) tool(ctx context.Context, id, name string, input m, run func() (string, bool)) {
	b, err := json.Marshal(input)
	if err != nil {
		panic(err)
	}
	half := len(b) / 2
	s.event("ToolCall", m{"type": "function", "id": id, "function": m{"name": name, "arguments": string(b[:half])}, "extras": nil})
	s.event("ToolCallPart", m{"arguments_part": string(b[half:])})
	result := func(isError bool, output, message string) {
		s.event("ToolResult", m{"tool_call_id": id, "return_value": m{"is_error": isError, "output": output, "message": message, "display": []m{}}})
	}
	s.mu.Lock()
	hooked := s.hooked
	s.mu.Unlock()
	if hooked {
		dir, _ := os.Getwd()
		r := s.request(ctx, "HookRequest", m{"subscription_id": "cmux", "event": "PreToolUse", "target": name,
			"input_data": m{"hook_event_name": "PreToolUse", "cwd": dir, "tool_name": name, "tool_input": input, "tool_call_id": id}})
		if r.Action == "block" {
			result(true, "", "Blocked: "+r.Reason)
			return
		}
	}
	r := s.request(ctx, "ApprovalRequest", m{"tool_call_id": id, "sender": name, "action": "use " + name, "description": "Use `" + name + "`", "display": []m{}})
	if r.Response != "approve" {
		result(true, "", "Rejected. "+r.Feedback)
		return
	}
	out, failed := run()
	result(failed, out, "")
}
