package kimi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"cmux/agents/agent"
	"cmux/agents/event"
	"cmux/agents/guard"
	"cmux/agents/proc"
	"cmux/agents/stdio"
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
			Panes:      "lines of text; a line typed is a prompt",
			Headless:   "`kimi --wire`",
			Guard:      "every tool call, by its hooks; without hooks (older versions) what it asks leave for",
			ReadOnly:   "write tools are refused, and shell commands that are seen to write",
			Questions:  "in the pane, or with `answer`",
			TakeOver:   "by a line typed, `^C`",
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
	*stdio.Session
	policy  guard.Policy
	prompt  string
	session string // id of the conversation

	opening sync.Mutex // held while the conversation is begun

	mu        sync.Mutex
	turn      *turn                // that runs; nil: none
	begun     bool                 // the first prompt was taken
	greeted   bool                 // initialize was answered
	calls     map[string]call      // by id, until their result
	streaming string               // id of the call whose arguments still come
	piece     event.Kind           // of said
	said      strings.Builder      // of a text or thought that still comes
	counted   map[string]dag.Usage // by message
	uncounted dag.Usage            // of steps without an id
	replaying bool
	stopping  bool
}

// turn is a prompt that is being worked on.
type turn struct {
	begun chan struct{} // closed when the program has taken it up
	over  chan struct{} // closed when it has ended
	err   error         // how, once over
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
	a.Session = stdio.New(s, stdio.Options{
		Path: path, Args: args, Version: "2.0",
		Handle: a.handle, Typed: a.typed, Break: a.broke,
	})
	a.prompt = s.Prompt
	return a, nil
}

// Start starts the program. The conversation begins beside it, so that the
// attempt can be stopped meanwhile.
func (a *instance) Start(context.Context) error {
	if err := a.Session.Start(); err != nil {
		return err
	}
	a.Go(func(ctx context.Context) {
		err := a.open(ctx)
		if err == nil || ctx.Err() != nil || errors.Is(err, stdio.ErrEnded) {
			return
		}
		a.Note("the conversation did not begin: %v", err)
		a.Tell(agent.Event{What: agent.Asked, Text: fmt.Sprintf("kimi did not begin: %v (an answer makes it try again)", err)})
	})
	return nil
}

// open greets the program and gives it the first prompt.
func (a *instance) open(ctx context.Context) error {
	a.opening.Lock()
	defer a.opening.Unlock()
	if err := a.greet(ctx); err != nil {
		return err
	}
	text := a.prompt
	resumed, err := a.resumed(ctx)
	if err != nil {
		return err
	}
	if resumed {
		text = a.Stage.Resumption
	}
	a.Tell(agent.Event{What: agent.Converses, Text: a.session})
	if err := a.say(ctx, text); err != nil {
		return err
	}
	a.mu.Lock()
	a.begun = true
	a.mu.Unlock()
	return nil
}

// greet is the handshake, which older versions do not know.
func (a *instance) greet(ctx context.Context) error {
	a.mu.Lock()
	greeted := a.greeted
	a.mu.Unlock()
	if greeted {
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
	var refused *stdio.Error
	if err != nil && !(errors.As(err, &refused) && refused.Code == stdio.MethodNotFound) {
		return err
	}
	hooks := false
	for _, e := range server.Hooks.Events {
		hooks = hooks || e == "PreToolUse"
	}
	if !hooks {
		a.Note("this version of kimi has no hooks: only what it asks leave for is judged beforehand")
	}
	a.mu.Lock()
	a.greeted = true
	a.mu.Unlock()
	return nil
}

// resumed reports whether the conversation is one that has begun already: an
// id that is not known makes a new one.
func (a *instance) resumed(ctx context.Context) (bool, error) {
	if a.Stage.Conversation == "" {
		return false, nil
	}
	set := func(on bool) {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.replaying = on
	}
	set(true)
	defer set(false)
	var history struct {
		Events int `json:"events"`
	}
	err := a.Call(ctx, "replay", object{}, &history)
	var refused *stdio.Error
	if errors.As(err, &refused) {
		return true, nil // it cannot tell
	}
	return history.Events > 0, err
}

// say gives the agent a prompt: to the turn that runs, else in a turn of its own.
func (a *instance) say(ctx context.Context, text string) error {
	a.mu.Lock()
	running := a.turn != nil
	a.mu.Unlock()
	if running {
		err := a.Call(ctx, "steer", object{"user_input": text}, nil)
		var refused *stdio.Error
		if !errors.As(err, &refused) {
			return err
		}
		// The turn has ended meanwhile, or the version knows no steering.
		if refused.Code != codeTurn && refused.Code != stdio.MethodNotFound {
			return err
		}
	}
	t := &turn{begun: make(chan struct{}), over: make(chan struct{})}
	for {
		a.mu.Lock()
		before := a.turn
		if before == nil {
			a.turn = t
		}
		a.mu.Unlock()
		if before == nil {
			break
		}
		select {
		case <-before.over:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	p, err := a.Session.Conn.Ask(ctx, "prompt", object{"user_input": text})
	if err != nil {
		a.mu.Lock()
		a.turn = nil
		a.mu.Unlock()
		close(t.over)
		return err
	}
	a.Go(func(ctx context.Context) {
		var result struct {
			Status string `json:"status"`
		}
		t.err = p.Wait(ctx, &result)
		a.turnOver(t, result.Status)
	})
	select {
	case <-t.begun:
		return nil
	case <-t.over:
		var refused *stdio.Error
		if errors.As(t.err, &refused) {
			return nil // the attempt is told what that means
		}
		return t.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// turnOver tells of the end of a turn.
func (a *instance) turnOver(t *turn, status string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.flush()
	a.turn = nil
	close(t.over)
	a.Withdraw("")
	var refused *stdio.Error
	switch {
	case a.stopping:
		return
	case errors.As(t.err, &refused):
		e := failure(refused, time.Now())
		a.Stage.Show(event.Event{Kind: event.RequestFailed, Text: e.Text})
		a.Tell(e)
		return
	case t.err != nil:
		return // it has ended, or is being ended
	case status == "cancelled":
		a.Stage.Show(event.Event{Kind: event.Interrupted})
	case status == "max_steps_reached":
		a.Note("the turn ended at the greatest number of steps that kimi takes in one")
	}
	a.Tell(agent.Event{What: agent.TurnEnded})
}

// Deliver hands a message over: as the answer to the question that is open,
// else as a prompt.
func (a *instance) Deliver(ctx context.Context, text string) error {
	if a.Left(ctx) {
		return stdio.ErrEnded
	}
	if was, err := a.Resolve(ctx, text); was {
		return err
	}
	a.mu.Lock()
	begun := a.begun
	a.mu.Unlock()
	if !begun {
		return a.open(ctx)
	}
	return a.say(ctx, text)
}

func (a *instance) Interrupt(ctx context.Context, grace time.Duration) ([]proc.Process, error) {
	a.mu.Lock()
	a.stopping = true
	a.mu.Unlock()
	short, cancel := context.WithTimeout(ctx, grace/2)
	a.interrupt(short)
	cancel()
	return a.Finish(ctx, grace)
}

// interrupt breaks the turn off that runs and waits for its end, so that the
// program has written down what it did.
func (a *instance) interrupt(ctx context.Context) {
	a.mu.Lock()
	t := a.turn
	a.mu.Unlock()
	if t == nil || a.Call(ctx, "cancel", object{}, nil) != nil {
		return
	}
	select {
	case <-t.over:
	case <-a.Ended():
	case <-ctx.Done():
	}
}

// typed takes a person's prompt.
func (a *instance) typed(ctx context.Context, line string) {
	a.Tell(agent.Event{What: agent.TookOver})
	a.mu.Lock()
	begun := a.begun
	a.mu.Unlock()
	err := errors.New("the conversation has not begun")
	if begun {
		err = a.say(ctx, line)
	}
	if err != nil {
		a.Note("the line did not arrive: %v", err)
	}
}

// broke is a person's ^C.
func (a *instance) broke(ctx context.Context) {
	a.Tell(agent.Event{What: agent.TookOver})
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	a.interrupt(ctx)
}

// handle takes an event or a request.
func (a *instance) handle(m stdio.Message) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.replaying {
		return // what was before is neither shown again nor answered
	}
	w := parse(m.Params)
	switch {
	case m.Method == "event":
		a.event(w, false)
	case m.Method == "request" && m.IsRequest():
		a.flush()
		a.request(m, w)
	case m.IsRequest():
		if err := a.Refuse(a.Ctx, m.ID, stdio.MethodNotFound, "cmux does not answer "+m.Method); err != nil {
			a.Note("%v", err)
		}
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
		if a.turn != nil {
			select {
			case <-a.turn.begun:
			default:
				close(a.turn.begun)
			}
		}
		a.Tell(agent.Event{What: agent.WentOn})
	case "SteerInput":
		a.Stage.Show(event.Event{Kind: event.Prompt, Text: words(p.Input)})
	case "ToolCall":
		a.calls[p.ID] = call{name: p.Function.Name, arguments: p.Function.Arguments}
		a.streaming = p.ID
		if guard.IsShell(p.Function.Name) {
			a.Tell(agent.Event{ShellBegan: p.ID})
		}
	case "ToolResult":
		c := a.calls[p.CallID]
		delete(a.calls, p.CallID)
		text := words(p.Return.Output)
		if strings.TrimSpace(text) == "" {
			text = p.Return.Message
		}
		a.Stage.Show(event.Event{Kind: event.ToolResult, Tool: c.name, ToolID: p.CallID, Text: text, Failed: p.Return.IsError})
		e := agent.Event{What: agent.Worked}
		if guard.IsShell(c.name) {
			e.ShellEnded = p.CallID
		}
		a.Tell(e)
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
	if kind != a.piece || a.streaming != "" {
		a.flush()
	}
	a.piece = kind
	a.said.WriteString(text)
}

// flush shows what came in pieces. It needs the lock.
func (a *instance) flush() {
	if text := a.said.String(); strings.TrimSpace(text) != "" {
		a.Stage.Show(event.Event{Kind: a.piece, Text: text})
		a.Tell(agent.Event{What: agent.Worked})
	}
	a.said.Reset()
	a.piece = ""
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
	a.Tell(agent.Event{What: agent.Used, Used: a.used()})
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

// request answers what the program asks. It needs the lock.
func (a *instance) request(m stdio.Message, w wire) {
	p := w.Payload
	switch w.Type {
	case "HookRequest":
		d := guard.Decide(a.policy, guard.Call{Tool: p.Hook.Tool, Input: p.Hook.Input, Dir: p.Hook.Dir})
		if d.Verdict == guard.Deny {
			a.Stage.Keep(event.Event{Kind: event.Denied, Tool: p.Hook.Tool, Input: p.Hook.Input, Text: d.Reason})
			a.answer(m, object{"request_id": p.ID, "action": "block", "reason": d.Reason})
			return
		}
		a.answer(m, object{"request_id": p.ID, "action": "allow", "reason": ""})
	case "ApprovalRequest":
		a.approve(m, p)
	case "QuestionRequest":
		a.question(m, p)
	case "ToolCallRequest":
		a.answer(m, object{"tool_call_id": p.ID, "return_value": object{
			"is_error": true, "output": "", "message": "cmux offers no tool " + p.Name, "display": []any{}}})
	default:
		if err := a.Refuse(a.Ctx, m.ID, stdio.InvalidRequest, "cmux does not answer "+w.Type); err != nil {
			a.Note("%v", err)
		}
	}
}

func (a *instance) answer(m stdio.Message, result any) {
	if err := a.Answer(a.Ctx, m.ID, result); err != nil && a.Ctx.Err() == nil {
		a.Note("an answer did not arrive: %v", err)
	}
}

// approve answers a request for leave.
func (a *instance) approve(m stdio.Message, p payload) {
	c, known := a.calls[p.CallID]
	if !known {
		c = seen(p)
	}
	reject := func(why string) object {
		o := object{"request_id": p.ID, "response": "reject"}
		if why != "" {
			o["feedback"] = why
		}
		return o
	}
	allowed := object{"request_id": p.ID, "response": "approve"}
	d := a.Judge(a.policy, guard.Call{Tool: c.name, Input: raw(c.arguments), Dir: a.Stage.Dir})
	switch d.Verdict {
	case guard.Allow:
		a.answer(m, allowed)
	case guard.Deny:
		a.answer(m, reject(d.Reason))
	case guard.Ask:
		what := strings.TrimSpace(p.Action + ": " + p.About)
		a.Ask(stdio.Question{ID: p.ID, Text: "may it " + what + "\n(yes, or no and why)", Answer: func(ctx context.Context, text string) error {
			yes, why := agent.Yes(text)
			if yes {
				return a.Session.Answer(ctx, m.ID, allowed)
			}
			return a.Session.Answer(ctx, m.ID, reject(why))
		}})
	}
}

// seen is the call that leave is asked for, from what is to be shown of it.
func seen(p payload) call {
	c := call{name: p.Sender}
	for _, d := range p.Display {
		switch {
		case d.Type == "shell" && d.Command != "":
			c.arguments = marshal(object{"command": d.Command})
		case d.Type == "diff" && d.Path != "":
			c.arguments = marshal(object{"path": d.Path})
		}
	}
	return c
}

func marshal(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return "" // texts alone, which always marshal
	}
	return string(b)
}

// question has a person answer the agent, or dismisses the question.
func (a *instance) question(m stdio.Message, p payload) {
	in := raw(marshal(object{"questions": p.Questions}))
	d := guard.Decide(a.policy, guard.Call{Tool: "AskUserQuestion", Input: in})
	if d.Verdict != guard.Ask {
		a.answer(m, object{"request_id": p.ID, "answers": object{}})
		return
	}
	a.Ask(stdio.Question{ID: p.ID, Text: d.Reason, Answer: func(ctx context.Context, text string) error {
		all := object{}
		for i, said := range agent.Spread(text, len(p.Questions)) {
			var labels []string
			for _, o := range p.Questions[i].Options {
				labels = append(labels, o.Label)
			}
			all[p.Questions[i].Question] = agent.Option(said, labels)
		}
		return a.Session.Answer(ctx, m.ID, object{"request_id": p.ID, "answers": all})
	}})
}
