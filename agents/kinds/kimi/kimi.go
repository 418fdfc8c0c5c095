package kimi

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"cmux/agents/kinds/agent"
	"cmux/agents/kinds/guard"
	"cmux/agents/kinds/guard/places"
	"cmux/agents/kinds/news"
	"cmux/agents/kinds/stdio"
	"cmux/agents/records/event"
	"cmux/dag"
)

// Name of the kind, as in `agent:`.
const Name = "kimi"

// protocol is the version of the wire that is spoken.
const protocol = "1.9"

// Kind is Kimi Code CLI.
func Kind() agent.Kind {
	return agent.Kind{
		Name:      Name,
		Judge:     true,
		Home:      agent.HomeIn("KIMI_SHARE_DIR", ".kimi"),
		New:       func(s *agent.Stage) (agent.Agent, error) { return newAgent(s) },
		Preflight: Preflight, Reopen: Reopen,
		Can: agent.Capability{
			Program:    "kimi",
			Panes:      agent.Console,
			Headless:   "`kimi --wire`",
			Guard:      "every tool call, by its hooks; without hooks (older versions) what it asks permission for",
			ReadOnly:   "write tools, and shell commands that evidently write, are refused",
			Questions:  "in the pane, or with `answer`",
			TakeOver:   "by a line typed, `^C`",
			Urgent:     "given to the turn that runs",
			Interrupt:  "yes",
			Replies:    "when a turn ends",
			Reports:    "by command",
			Limits:     "yes",
			Resume:     "yes",
			Usage:      "yes",
			Model:      "yes",
			AutoAccept: "what the guard lets pass is allowed without asking",
			Tested:     "with a stand-in that speaks its documented protocol; not run against the real program",
		},
	}
}

type object = map[string]any

type instance struct {
	*stdio.Agent
	policy  places.Policy
	session string // id of the conversation
	greeted bool   // initialize was answered

	mu        sync.Mutex
	calls     map[string]call // by id, until their result
	streaming string          // id of the call whose arguments still come
	speech    stdio.Speech
	counted   map[string]dag.Usage // by message
	uncounted dag.Usage            // of steps without an id
	replaying bool
	answered  bool // what was replayed held an answer
}

// call is a tool call.
type call struct {
	name, arguments string
	shown           bool
}

func newAgent(s *agent.Stage) (*instance, error) {
	path, err := agent.LookPath("kimi", s.Env)
	if err != nil {
		return nil, fmt.Errorf("%w; install Kimi Code CLI (uv tool install kimi-cli) and see cmux doctor", err)
	}
	a := &instance{
		policy: s.Policy, session: s.Conversation,
		calls: map[string]call{}, counted: map[string]dag.Usage{},
	}
	if a.session == "" {
		a.session = uuid.NewString()
	}
	args := []string{"--wire", "--work-dir", s.Dir, "--session", a.session}
	if s.Model != "" {
		args = append(args, "--model", s.Model)
	}
	a.Agent = stdio.NewAgent(s, a, s.Prompt, stdio.Options{Path: path, Args: args, Version: "2.0"})
	return a, nil
}

// Enter implements stdio.Driver.
func (a *instance) Enter(ctx context.Context) (conversation string, resumed bool, err error) {
	if err := a.greet(ctx); err != nil {
		return "", false, err
	}
	resumed, err = a.resumed(ctx)
	return a.session, resumed, err
}

// greet is the handshake, which older versions do not know.
func (a *instance) greet(ctx context.Context) error {
	if a.greeted {
		return nil
	}
	var server struct {
		Hooks struct {
			Events []string `json:"supported_events"`
		} `json:"hooks"`
	}
	err := a.Call(ctx, "initialize", object{
		"protocol_version": protocol,
		"client":           object{"name": "cmux", "version": "1"},
		// Where nobody can answer the tool that asks is better not offered.
		"capabilities": object{"supports_question": a.Stage.Terminal != nil},
		"hooks":        []object{{"id": "cmux", "event": "PreToolUse", "matcher": "", "timeout": 30}},
	}, &server)
	if r := stdio.Refused(err); err != nil && (r == nil || r.Code != stdio.MethodNotFound) {
		return err
	}
	hooks := false
	for _, e := range server.Hooks.Events {
		hooks = hooks || e == "PreToolUse"
	}
	if !hooks {
		a.Note("this version of kimi has no hooks: only what it asks permission for is checked beforehand")
	}
	a.greeted = true
	return nil
}

// resumed reports whether the conversation holds an answer: an id that is not
// known makes a new one. A version that cannot tell has proven nothing.
func (a *instance) resumed(ctx context.Context) (bool, error) {
	if a.Stage.Conversation == "" {
		return false, nil
	}
	set := func(on bool) (answered bool) {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.replaying = on
		return a.answered
	}
	set(true)
	err := a.Call(ctx, "replay", object{}, nil)
	answered := set(false)
	if stdio.Refused(err) != nil {
		return false, nil
	}
	return answered && err == nil, err
}

// Steer implements stdio.Driver.
func (a *instance) Steer(ctx context.Context, text string) (taken bool, err error) {
	err = a.Call(ctx, "steer", object{"user_input": text}, nil)
	// The turn has ended meanwhile, or the version knows no steering.
	if r := stdio.Refused(err); r != nil && (r.Code == codeTurn || r.Code == stdio.MethodNotFound) {
		return false, nil
	}
	return err == nil, err
}

// Steers implements stdio.Driver.
func (a *instance) Steers() bool { return true }

// Prompt implements stdio.Driver.
func (a *instance) Prompt(ctx context.Context, text string) error {
	return a.RunTurn(ctx, "prompt", object{"user_input": text}, nil, a.turnOver)
}

// Cancel implements stdio.Driver.
func (a *instance) Cancel(ctx context.Context) error { return a.Call(ctx, "cancel", object{}, nil) }

// turnOver tells of the end of a turn.
func (a *instance) turnOver(result json.RawMessage, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.flush()
	if !a.TurnOver() {
		return
	}
	if a.TurnFailed(err, func(e *stdio.Error) news.Event { return failure(e, time.Now()) }) {
		return
	}
	var end struct {
		Status string `json:"status"`
	}
	stdio.Lenient(result, &end)
	switch end.Status {
	case "cancelled":
		a.Stage.Show(event.Event{Kind: event.Interrupted})
	case "max_steps_reached":
		a.Note("the turn ended at the greatest number of steps that kimi takes in one")
	}
	a.Tell(news.TurnEnded{Said: a.Stage.Events.Said(), InOrder: true})
}

// Handle takes an event or a request.
func (a *instance) Handle(m stdio.Message) {
	a.mu.Lock()
	defer a.mu.Unlock()
	w := parse(m.Params)
	if a.replaying { // what was before is neither shown again nor answered
		a.answered = a.answered || w.Type == "ContentPart" || w.Type == "ToolCall"
		return
	}
	switch {
	case m.Method == "event":
		a.event(w, false)
	case m.Method == "request" && m.IsRequest():
		a.flush()
		a.request(m, w)
	case m.IsRequest():
		a.Unknown(m, stdio.MethodNotFound, m.Method)
	}
}

// event takes an event in; sub says that it is a sub-agent's. It needs the lock.
func (a *instance) event(w wire, sub bool) {
	p := w.Payload
	switch w.Type {
	case "ContentPart":
		if !sub {
			a.part(p)
		}
		return
	case "ToolCallPart":
		if c, ok := a.calls[a.streaming]; ok && !sub {
			c.arguments += p.Part
			a.calls[a.streaming] = c
		}
		return
	}
	a.flush()
	switch w.Type {
	case "TurnBegin":
		if sub {
			return
		}
		a.Stage.Show(event.Event{Kind: event.Prompt, Text: words(p.Input)})
		a.TurnTaken()
	case "SteerInput":
		a.Stage.Show(event.Event{Kind: event.Prompt, Text: words(p.Input)})
	case "ToolCall":
		a.calls[p.ID] = call{name: p.Function.Name, arguments: p.Function.Arguments}
		a.streaming = p.ID
		if guard.IsShell(p.Function.Name) {
			a.Tell(news.ShellBegan{ID: p.ID})
		}
	case "ToolResult":
		c := a.calls[p.CallID]
		delete(a.calls, p.CallID)
		text := words(p.Return.Output)
		if strings.TrimSpace(text) == "" {
			text = p.Return.Message
		}
		a.Stage.Show(event.Event{Kind: event.ToolResult, Tool: c.name, ToolID: p.CallID, Text: text, Failed: p.Return.IsError})
		if guard.IsShell(c.name) {
			a.Tell(news.ShellEnded{ID: p.CallID})
		}
		a.Tell(news.Worked{})
	case "StatusUpdate":
		a.usage(p)
	case "CompactionBegin":
		a.Stage.Show(event.Event{Kind: event.Compacted})
	case "StepRetry":
		a.Stage.Show(event.Event{Kind: event.RequestFailed, Text: fmt.Sprintf("the call of the model failed (%d); try %d follows in %.0f s", p.Status, p.Next, p.Wait)})
	case "PlanDisplay":
		a.Stage.Show(event.Event{Kind: event.Text, Text: p.Content})
	case "SubagentEvent":
		a.event(parse(p.Event), true)
	}
}

// part takes a piece of what the agent says or thinks.
func (a *instance) part(p payload) {
	kind, text := event.Text, p.Text
	switch p.Type {
	case "think":
		kind, text = event.Thought, p.Think
	case "text":
	default:
		return
	}
	if a.streaming != "" {
		a.flush()
	}
	if a.speech.Add(a.Stage, kind, text) {
		a.Tell(news.Worked{})
	}
}

// flush shows what came in pieces. It needs the lock.
func (a *instance) flush() {
	if a.speech.Flush(a.Stage) {
		a.Tell(news.Worked{})
	}
	if c, ok := a.calls[a.streaming]; ok && !c.shown {
		c.shown = true
		a.calls[a.streaming] = c
		a.Stage.Show(event.Event{Kind: event.ToolUse, Tool: c.name, ToolID: a.streaming, Input: raw(c.arguments)})
	}
	a.streaming = ""
}

// raw is a tool's arguments as JSON; what is none is a text.
func raw(arguments string) json.RawMessage {
	if json.Valid([]byte(arguments)) {
		return json.RawMessage(arguments)
	}
	b, err := json.Marshal(arguments)
	if err != nil {
		return nil // a string always marshals
	}
	return b
}

// usage counts the tokens of a step, once. It needs the lock.
func (a *instance) usage(p payload) {
	if p.Usage == nil {
		return
	}
	if u := p.Usage.usage(); p.Message == "" {
		a.uncounted = a.uncounted.Plus(u)
	} else {
		a.counted[p.Message] = a.counted[p.Message].AtLeast(u)
	}
	a.Tell(news.Used{Usage: a.used()})
}

// used needs the lock.
func (a *instance) used() dag.Usage {
	sum := a.uncounted
	for _, u := range a.counted {
		sum = sum.Plus(u)
	}
	return sum
}

// Used implements agent.Meter.
func (a *instance) Used() dag.Usage {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.used()
}
