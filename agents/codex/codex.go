package codex

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"cmux/agents/agent"
	"cmux/agents/event"
	"cmux/agents/guard"
	"cmux/agents/proc"
	"cmux/agents/prompt"
	"cmux/agents/stdio"
	"cmux/dag"
)

// Name of the kind, as in `agent:`.
const Name = "codex"

// maxInput is how long a prompt may be, in bytes; Codex takes 2^20 characters.
const maxInput = 1 << 20

// Kind is Codex.
func Kind() agent.Kind {
	return agent.Kind{
		Name:      Name,
		Judge:     true,
		Tool:      "mcp__cmux.done",
		Home:      agent.HomeIn("CODEX_HOME", ".codex"),
		New:       func(s *agent.Stage) (agent.Agent, error) { return newAgent(s) },
		Preflight: Preflight, Reopen: Reopen,
		Can: agent.Capability{
			Program:    "codex",
			Panes:      "lines of text; a line typed is a prompt",
			Headless:   "`codex app-server`",
			Guard:      "every command and patch, by a hook; without hooks (older versions) what it asks leave for",
			ReadOnly:   "its read-only sandbox, and as with `claude`",
			Questions:  "in the pane, or with `answer`",
			TakeOver:   "by a line typed, `^C`",
			Reports:    "by tool or command",
			Limits:     "yes",
			Resume:     "yes",
			Usage:      "yes",
			Model:      "yes",
			AutoAccept: "no sandbox (a review keeps it), nothing is asked",
			Tested:     "with the real program",
		},
	}
}

type object = map[string]any

type instance struct {
	*stdio.Session
	policy  guard.Policy
	sandbox sandbox
	prompt  string
	file    string // that holds the prompt
	hook    string // command that judges each tool call

	opening sync.Mutex // held while the conversation is begun

	mu       sync.Mutex
	thread   string               // of the conversation; empty: it has not begun
	turn     string               // that runs; empty: none
	over     chan struct{}        // closed when the turn that runs ends
	begun    bool                 // the first prompt was taken
	commands map[string]bool      // that run, by item
	patches  map[string][]change  // by item
	others   map[string]bool      // threads of sub-agents with a turn that runs
	total    map[string]dag.Usage // by thread, since it began
	before   map[string]dag.Usage // of it, counted before this attempt
	lifted   time.Time
	stopping bool
}

func newAgent(s *agent.Stage) (*instance, error) {
	path, err := agent.LookPath("codex", s.Env)
	if err != nil {
		return nil, fmt.Errorf("%w; install Codex (npm install -g @openai/codex) and see cmux doctor", err)
	}
	a := &instance{
		policy: s.Policy, sandbox: sandboxOf(s),
		commands: map[string]bool{}, patches: map[string][]change{}, others: map[string]bool{},
		total: map[string]dag.Usage{}, before: map[string]dag.Usage{},
	}
	a.hook = hookCommand(s.Binary)
	flag, err := hookFlag(a.hook)
	if err != nil {
		return nil, err
	}
	a.Session = stdio.New(s, stdio.Options{
		Path: path, Args: []string{"app-server", "-c", flag},
		Handle: a.handle, Typed: a.typed, Break: a.broke,
	})
	a.prompt, a.file = s.Prompt, s.PromptFile
	return a, nil
}

// Start starts the program. The conversation begins beside it, so that the
// attempt can be stopped meanwhile.
func (a *instance) Start(context.Context) error {
	if err := a.Session.Start(); err != nil {
		return err
	}
	a.Go(func(ctx context.Context) {
		err := a.open(ctx, true)
		if err == nil || ctx.Err() != nil || errors.Is(err, stdio.ErrEnded) {
			return
		}
		a.Note("the conversation did not begin: %v", err)
		a.Tell(agent.Event{What: agent.Asked, Text: fmt.Sprintf("codex did not begin: %v (an answer makes it try again)", err)})
	})
	return nil
}

// open begins the conversation, or goes on with it, and gives it its prompt.
func (a *instance) open(ctx context.Context, first bool) error {
	a.opening.Lock()
	defer a.opening.Unlock()
	if first {
		if err := a.Call(ctx, "initialize", object{"clientInfo": object{"name": "cmux", "title": "cmux", "version": "1"}}, nil); err != nil {
			return err
		}
		if err := a.Notify(ctx, "initialized", nil); err != nil {
			return err
		}
	}
	text := a.prompt
	if len(text) > maxInput {
		text = prompt.ByFile(a.file)
	}
	a.mu.Lock()
	begun := a.thread != ""
	a.mu.Unlock()
	if !begun {
		resumed, err := a.enter(ctx)
		if err != nil {
			return err
		}
		if resumed {
			text = a.Stage.Resumption
		}
	}
	if err := a.say(ctx, text); err != nil {
		return err
	}
	a.mu.Lock()
	a.begun = true
	a.mu.Unlock()
	return nil
}

// enter starts the thread, or resumes that of the attempt before. One that was
// lost before its first prompt is begun anew.
func (a *instance) enter(ctx context.Context) (resumed bool, err error) {
	s := a.Stage
	// A login shell would put its own PATH before that of the run.
	config := object{"allow_login_shell": false, "mcp_servers.cmux": reportServer(s.Binary)}
	trusted, err := a.trustHook(ctx)
	if err != nil {
		return false, err
	}
	if trusted != nil {
		config["hooks.state"] = trusted
	}
	params := object{
		"cwd": s.Dir, "approvalPolicy": a.sandbox.approval, "sandbox": a.sandbox.mode,
		"config": config,
	}
	if s.Model != "" {
		params["model"] = s.Model
	}
	var answer struct {
		Thread struct {
			ID      string `json:"id"`
			Preview string `json:"preview"`
		} `json:"thread"`
	}
	if id := s.Conversation; id != "" {
		params["threadId"] = id
		err := a.Call(ctx, "thread/resume", params, &answer)
		delete(params, "threadId")
		switch {
		case err == nil:
			resumed = answer.Thread.Preview != ""
		case !refused(err):
			return false, err
		default:
			a.Note("conversation %s cannot be resumed (%v): it begins anew", id, err)
		}
	}
	if answer.Thread.ID == "" {
		if err := a.Call(ctx, "thread/start", params, &answer); err != nil {
			return false, err
		}
	}
	if answer.Thread.ID == "" {
		return false, errors.New("thread/start gave no thread")
	}
	a.mu.Lock()
	a.thread = answer.Thread.ID
	a.mu.Unlock()
	a.Tell(agent.Event{What: agent.Converses, Text: answer.Thread.ID})
	return resumed, nil
}

// refused reports whether the program answered with an error.
func refused(err error) bool {
	var e *stdio.Error
	return errors.As(err, &e)
}

func input(text string) []object { return []object{{"type": "text", "text": text}} }

// say gives the agent a prompt: to the turn that runs, else in a turn of its own.
func (a *instance) say(ctx context.Context, text string) error {
	a.mu.Lock()
	thread, turn := a.thread, a.turn
	a.mu.Unlock()
	if turn != "" {
		err := a.Call(ctx, "turn/steer", object{"threadId": thread, "expectedTurnId": turn, "input": input(text)}, nil)
		if !refused(err) {
			return err
		}
		// It has ended meanwhile, or is of a kind that takes nothing.
	}
	return a.Call(ctx, "turn/start", object{"threadId": thread, "input": input(text), "sandboxPolicy": a.sandbox.policy}, nil)
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
		return a.open(ctx, false)
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
	thread, turn, over := a.thread, a.turn, a.over
	a.mu.Unlock()
	if turn == "" || a.Call(ctx, "turn/interrupt", object{"threadId": thread, "turnId": turn}, nil) != nil {
		return
	}
	select {
	case <-over:
	case <-a.Ended():
	case <-ctx.Done():
	}
}

// typed takes a person's prompt.
func (a *instance) typed(ctx context.Context, line string) {
	a.Tell(agent.Event{What: agent.TookOver})
	a.mu.Lock()
	thread := a.thread
	a.mu.Unlock()
	err := errors.New("the conversation has not begun")
	if thread != "" {
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

// handle takes a notification or a request.
func (a *instance) handle(m stdio.Message) {
	n := parse(m)
	if m.IsRequest() {
		a.request(m, n)
		return
	}
	a.mu.Lock()
	own := n.Thread == "" || a.owns(n.Thread)
	a.mu.Unlock()
	switch m.Method {
	case "turn/started":
		a.turnStarted(n, own)
	case "turn/completed":
		a.turnCompleted(n, own)
	case "item/started", "item/completed":
		a.item(n, own, m.Method == "item/completed")
	case "thread/tokenUsage/updated":
		a.usage(n)
	case "account/rateLimits/updated":
		a.mu.Lock()
		if at := n.Limits.lifted(); !at.IsZero() {
			a.lifted = at
		}
		a.mu.Unlock()
	case "error":
		if n.Retries {
			a.Stage.Show(event.Event{Kind: event.RequestFailed, Text: n.Error.text() + " (it tries again)"})
		}
	case "serverRequest/resolved":
		a.Withdraw(string(n.Request))
	case "warning", "configWarning", "deprecationNotice":
		a.Note("%s", strings.TrimSpace(n.Message+" "+n.Summary))
	}
}

// owns reports whether a thread is that of the conversation. Of one that is
// resumed the program may tell before its answer has been read. It needs the lock.
func (a *instance) owns(thread string) bool {
	if a.thread == "" {
		return thread == a.Stage.Conversation
	}
	return thread == a.thread
}

func (a *instance) turnStarted(n notice, own bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !own {
		a.others[n.Thread] = true
		a.Tell(agent.Event{What: agent.Delegated, Background: len(a.others)})
		return
	}
	if a.turn == "" {
		a.over = make(chan struct{})
	}
	a.turn = n.Turn.ID
	a.Tell(agent.Event{What: agent.WentOn})
}

func (a *instance) turnCompleted(n notice, own bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !own {
		delete(a.others, n.Thread)
		a.Tell(agent.Event{What: agent.Delegated, Background: len(a.others)})
		a.rest()
		return
	}
	if a.turn == "" {
		return
	}
	a.turn = ""
	close(a.over)
	a.Withdraw("")
	if a.stopping {
		return
	}
	switch n.Turn.Status {
	case "failed":
		e := failure(n.Turn.Error, a.lifted, time.Now())
		a.Stage.Show(event.Event{Kind: event.RequestFailed, Text: e.Text})
		a.Tell(e)
		return
	case "interrupted":
		a.Stage.Show(event.Event{Kind: event.Interrupted})
	}
	a.Tell(a.ended())
}

// ended needs the lock.
func (a *instance) ended() agent.Event {
	return agent.Event{What: agent.TurnEnded, Background: len(a.others), Shells: len(a.commands)}
}

// rest tells again of a turn that has ended when what it left at work has ended
// too. It needs the lock.
func (a *instance) rest() {
	if a.begun && a.turn == "" && !a.stopping && len(a.others)+len(a.commands) == 0 {
		a.Tell(a.ended())
	}
}

func (a *instance) item(n notice, own, complete bool) {
	for _, e := range n.Item.events(complete) {
		if own || e.Kind != event.Prompt {
			a.Stage.Show(e)
		}
	}
	switch command := n.Item.Type == "commandExecution"; {
	case complete && command:
		a.Tell(agent.Event{What: agent.Worked, ShellEnded: n.Item.ID})
	case complete && n.Item.Type != "userMessage":
		a.Tell(agent.Event{What: agent.Worked})
	case command:
		a.Tell(agent.Event{ShellBegan: n.Item.ID})
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	switch n.Item.Type {
	case "commandExecution":
		if !complete {
			a.commands[n.Item.ID] = true
		} else if a.commands[n.Item.ID] {
			delete(a.commands, n.Item.ID)
			a.rest()
		}
	case "fileChange":
		if a.patches[n.Item.ID] = n.Item.Changes; complete {
			delete(a.patches, n.Item.ID)
		}
	}
}

// usage counts what the conversation and its sub-agents use.
func (a *instance) usage(n notice) {
	a.mu.Lock()
	defer a.mu.Unlock()
	total := n.Usage.Total.usage()
	if _, known := a.total[n.Thread]; !known {
		a.before[n.Thread] = a.counted(n)
	}
	a.total[n.Thread] = a.total[n.Thread].AtLeast(total)
	a.Tell(agent.Event{What: agent.Used, Used: a.used()})
}

// counted is what a thread had used before this attempt, as far as an earlier
// one counted it: what came in after the last record of one that was killed
// counts now. It needs the lock.
func (a *instance) counted(n notice) dag.Usage {
	before := n.Usage.Total.usage()
	if !a.owns(n.Thread) || a.turn != "" { // else it says where the conversation stood
		before = before.Beyond(n.Usage.Last.usage())
	}
	if !a.owns(n.Thread) {
		return before
	}
	return before.AtMost(a.Stage.Counted)
}

// used needs the lock.
func (a *instance) used() (sum dag.Usage) {
	for thread, total := range a.total {
		sum = sum.Plus(total.Beyond(a.before[thread]))
	}
	return sum
}

// Used implements agent.Meter.
func (a *instance) Used() dag.Usage {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.used()
}

// request answers what the program asks.
func (a *instance) request(m stdio.Message, n notice) {
	switch m.Method {
	case "item/commandExecution/requestApproval":
		in, err := json.Marshal(object{"command": stdio.Inner(n.Command)})
		if err != nil {
			in = nil // the text of a command always marshals
		}
		a.approve(m, n, guard.Call{Tool: "shell", Input: in, Dir: n.Dir}, "run: "+stdio.Inner(n.Command))
	case "item/fileChange/requestApproval":
		a.mu.Lock()
		changes := a.patches[n.ItemID]
		a.mu.Unlock()
		asked := object{"changes": changes}
		if n.Root != "" {
			asked["grantRoot"] = n.Root
		}
		in, err := json.Marshal(asked)
		if err != nil {
			in = nil
		}
		var paths []string
		for _, c := range changes {
			paths = append(paths, c.Path)
		}
		what := "write: " + strings.Join(paths, ", ")
		if n.Root != "" {
			what = "write anything below " + n.Root
		}
		a.approve(m, n, guard.Call{Tool: "apply_patch", Input: in, Dir: a.Stage.Dir}, what)
	case "item/tool/requestUserInput":
		a.input(m, n)
	case "mcpServer/elicitation/request":
		// Leave for a tool call asks for no content.
		if a.Stage.AutoAccept && n.Elicited != "url" && asksNothing(n.Schema) {
			a.answer(m, object{"action": "accept", "content": object{}, "_meta": nil})
			return
		}
		a.Note("declined what the MCP server %s asks: %s", n.Server, n.Message)
		a.answer(m, object{"action": "decline", "content": nil, "_meta": nil})
	case "item/permissions/requestApproval":
		a.Note("granted no further permissions: %s", n.Reason)
		a.answer(m, object{"permissions": object{}, "scope": "turn"})
	default:
		if err := a.Refuse(a.Ctx, m.ID, stdio.MethodNotFound, "cmux does not answer "+m.Method); err != nil {
			a.Note("%v", err)
		}
	}
}

// asksNothing reports whether a form has no fields.
func asksNothing(schema json.RawMessage) bool {
	var form struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	return json.Unmarshal(schema, &form) == nil && len(form.Properties) == 0
}

func (a *instance) answer(m stdio.Message, result any) {
	if err := a.Answer(a.Ctx, m.ID, result); err != nil && a.Ctx.Err() == nil {
		a.Note("an answer did not arrive: %v", err)
	}
}

// approve answers a request for leave.
func (a *instance) approve(m stdio.Message, n notice, call guard.Call, what string) {
	d := a.Judge(a.policy, call)
	switch d.Verdict {
	case guard.Allow:
		a.answer(m, object{"decision": "accept"})
	case guard.Deny:
		a.decline(a.Ctx, m, n, d.Reason)
	case guard.Ask:
		if n.Reason != "" {
			what += "\n" + n.Reason
		}
		a.Ask(stdio.Question{ID: string(m.ID), Text: "may it " + what + "\n(yes, or no and why)", Answer: func(ctx context.Context, text string) error {
			yes, why := agent.Yes(text)
			if yes {
				return a.Session.Answer(ctx, m.ID, object{"decision": "accept"})
			}
			a.decline(ctx, m, n, why)
			return nil
		}})
	}
}

// decline refuses and says why: the refusal has no place for a reason, so that
// goes ahead of it into the same turn.
func (a *instance) decline(ctx context.Context, m stdio.Message, n notice, why string) {
	if why != "" {
		if p, err := a.Session.Conn.Ask(ctx, "turn/steer", object{"threadId": n.Thread, "expectedTurnId": n.TurnID, "input": input(why)}); err == nil {
			a.Go(func(ctx context.Context) {
				if err := p.Wait(ctx, nil); err != nil && ctx.Err() == nil {
					a.Note("the reason of a refusal did not arrive: %v", err)
				}
			})
		}
	}
	a.answer(m, object{"decision": "decline"})
}

// input answers a question of the agent's, or has a person answer it.
func (a *instance) input(m stdio.Message, n notice) {
	in := json.RawMessage(m.Params)
	d := guard.Decide(a.policy, guard.Call{Tool: "request_user_input", Input: in})
	reply := func(text string) object { return object{"answers": answers(n.Ask, text)} }
	if d.Verdict != guard.Ask {
		a.answer(m, reply(d.Reason))
		return
	}
	a.Ask(stdio.Question{ID: string(m.ID), Text: d.Reason, Answer: func(ctx context.Context, text string) error {
		return a.Session.Answer(ctx, m.ID, reply(text))
	}})
}

// answers are the answers to questions by their ids.
func answers(asked []requestedAnswer, text string) object {
	all := object{}
	for i, said := range agent.Spread(text, len(asked)) {
		var labels []string
		for _, o := range asked[i].Options {
			labels = append(labels, o.Label)
		}
		all[asked[i].ID] = object{"answers": []string{agent.Option(said, labels)}}
	}
	return all
}

// sandbox is what Codex is told of what the node may do.
type sandbox struct {
	approval string
	mode     string
	policy   object
}

func sandboxOf(s *agent.Stage) sandbox {
	switch {
	case s.Review && s.AutoAccept:
		// Nothing is asked, and nothing can be written.
		return sandbox{"never", "read-only", object{"type": "readOnly", "networkAccess": true}}
	case s.Review:
		return sandbox{"on-request", "read-only", object{"type": "readOnly", "networkAccess": true}}
	case s.AutoAccept:
		return sandbox{"untrusted", "danger-full-access", object{"type": "dangerFullAccess"}}
	}
	return sandbox{"on-request", "workspace-write", object{
		"type": "workspaceWrite", "writableRoots": committing(or(s.Tree, s.Dir)), "networkAccess": true,
		"excludeTmpdirEnvVar": false, "excludeSlashTmp": false,
	}}
}
