package codex

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"cmux/agents/kinds/agent"
	"cmux/agents/kinds/guard/places"
	"cmux/agents/kinds/handover"
	"cmux/agents/kinds/news"
	"cmux/agents/kinds/stdio"
	"cmux/agents/kinds/transcript"
	"cmux/agents/platform/fence"
	"cmux/agents/platform/proc"
	"cmux/agents/records/event"
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
		Preflight: Preflight, Reopen: Reopen, LastTurn: lastTurn,
		Can: agent.Capability{
			Program:    "codex",
			Panes:      agent.Console,
			Headless:   "`codex app-server`",
			Guard:      "every command and patch, by a hook; without hooks (older versions) what it asks permission for",
			ReadOnly:   "its read-only sandbox, and as with `claude`",
			Questions:  "in the pane, or with `answer`",
			TakeOver:   "by a line typed, `^C`",
			Urgent:     "given to the turn while a tool runs",
			Interrupt:  "yes",
			Replies:    "when a turn ends; after a loss from its file of the conversation",
			Reports:    "by tool or command",
			Limits:     "yes",
			Resume:     "yes",
			Usage:      "yes",
			Context:    "yes, and how large the window is",
			Compacts:   "by `thread/compact/start`",
			Model:      "yes",
			AutoAccept: "no sandbox (a review keeps it), nothing is asked",
			Automatic:  "stays in its sandbox and asks nothing (approval policy `never`)",
			Tested:     "with the real program",
		},
	}
}

type object = map[string]any

type instance struct {
	*stdio.Agent
	policy  places.Policy
	sandbox sandbox
	hook    string // command that judges each tool call
	greeted bool
	temp    []string // folders for temporary files that its sandbox guards

	mu       sync.Mutex
	thread   string               // of the conversation; empty: it has not begun
	turn     string               // that runs; empty: none
	passed   string               // a turn that another one took the place of, before its end was told; empty: none
	starting bool                 // a turn was asked for that has not been told of yet
	over     chan struct{}        // closed when no turn runs; nil: nobody waits for that
	commands map[string]bool      // that run, by item
	tools    map[string]bool      // calls of tools that run, by item: commands and all others
	gap      chan struct{}        // closed when a tool runs, or no turn does; nil: nobody waits for that
	patches  map[string][]change  // by item
	others   map[string]bool      // threads of sub-agents with a turn that runs
	total    map[string]dag.Usage // by thread, since it began
	before   map[string]dag.Usage // of it, counted before this attempt
	lifted   time.Time
}

func newAgent(s *agent.Stage) (*instance, error) {
	path, err := agent.LookPath("codex", s.Env)
	if err != nil {
		return nil, fmt.Errorf("%w; install Codex (npm install -g @openai/codex) and see cmux doctor", err)
	}
	a := &instance{
		policy: s.Policy, sandbox: sandboxOf(s),
		commands: map[string]bool{}, tools: map[string]bool{}, patches: map[string][]change{}, others: map[string]bool{},
		total: map[string]dag.Usage{}, before: map[string]dag.Usage{},
	}
	if a.sandbox.mode == "workspace-write" {
		a.temp = tempFolders(s.Env)
	}
	a.hook = hookCommand(s.Binary)
	flag, err := hookFlag(a.hook)
	if err != nil {
		return nil, err
	}
	text := s.Prompt
	if len(text) > maxInput {
		text = handover.ByFile(s.PromptFile)
	}
	args := []string{"app-server", "-c", flag}
	if s.Confine != nil {
		data := filepath.Join(agent.HomeIn("CODEX_HOME", ".codex")(func(name string) string { return proc.Getenv(s.Env, name) }), fence.CodexData)
		args = append(args, "-c", "sqlite_home="+strconv.Quote(data))
	}
	a.Agent = stdio.NewAgent(s, a, text, stdio.Options{Path: path, Args: args})
	return a, nil
}

// greet is the handshake.
func (a *instance) greet(ctx context.Context) error {
	if a.greeted {
		return nil
	}
	if err := a.Call(ctx, "initialize", object{"clientInfo": object{"name": "cmux", "title": "cmux", "version": "1"}}, nil); err != nil {
		return err
	}
	if err := a.Notify(ctx, "initialized", nil); err != nil {
		return err
	}
	a.greeted = true
	return nil
}

// Enter starts the thread, or resumes that of the previous attempt. A thread lost before
// its first prompt is started again.
func (a *instance) Enter(ctx context.Context) (conversation string, resumed bool, err error) {
	if err := a.greet(ctx); err != nil {
		return "", false, err
	}
	s := a.Stage
	// A login shell would put its own PATH before that of the run.
	config := object{"allow_login_shell": false, "mcp_servers.cmux": reportServer(s.Binary)}
	trusted, err := a.trustHook(ctx)
	if err != nil {
		return "", false, err
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
			// Without an answer on disk the agent is told its whole task.
			resumed = answer.Thread.Preview != "" && transcript.HoldsCodexAnswer(rollout(home(s.Env), id))
		case stdio.Refused(err) == nil:
			return "", false, err
		default:
			a.Note("conversation %s cannot be resumed (%v): the agent begins a new one", id, err)
		}
	}
	if answer.Thread.ID == "" {
		if err := a.Call(ctx, "thread/start", params, &answer); err != nil {
			return "", false, err
		}
	}
	if answer.Thread.ID == "" {
		return "", false, errors.New("thread/start gave no thread")
	}
	a.mu.Lock()
	a.thread = answer.Thread.ID
	a.mu.Unlock()
	return answer.Thread.ID, resumed, nil
}

func input(text string) []object { return []object{{"type": "text", "text": text}} }

// Steer implements stdio.Driver.
func (a *instance) Steer(ctx context.Context, text string) (taken bool, err error) {
	a.mu.Lock()
	thread, turn := a.thread, a.turn
	a.mu.Unlock()
	if turn == "" {
		return false, nil
	}
	err = a.call(ctx, "turn/steer", object{"threadId": thread, "expectedTurnId": turn, "input": input(text)})
	if stdio.Refused(err) != nil {
		// It has ended meanwhile, of which Codex may tell later than it refuses, or
		// is of a kind that takes nothing. The end of it is not that of the next.
		a.awaitEnd(ctx, turn)
		return false, ctx.Err()
	}
	return err == nil, err
}

const (
	// toldWithin bounds the wait for the end of a turn that takes nothing any more.
	toldWithin = 3 * time.Second
	// answeredWithin bounds the wait for an answer when nobody waits for what it is
	// about any more: what was given is not to be given again.
	answeredWithin = 2 * time.Second
)

// awaitEnd waits until a turn has ended, for a while.
func (a *instance) awaitEnd(ctx context.Context, turn string) {
	a.mu.Lock()
	if a.turn != turn {
		a.mu.Unlock()
		return
	}
	if a.over == nil {
		a.over = make(chan struct{})
	}
	over := a.over
	a.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, toldWithin)
	defer cancel()
	select {
	case <-over:
	case <-a.Ended():
	case <-ctx.Done():
	}
}

// call is Call for what gives the agent a text, which waits for the answer a
// little longer than ctx lasts.
func (a *instance) call(ctx context.Context, method string, params any) error {
	p, err := a.Conn.Ask(ctx, method, params)
	if err != nil {
		return err
	}
	answer := make(chan error, 1)
	a.Go(func(ctx context.Context) { answer <- p.Wait(ctx, nil) })
	select {
	case err := <-answer:
		return err
	case <-ctx.Done():
	}
	late := time.NewTimer(answeredWithin)
	defer late.Stop()
	select {
	case err := <-answer:
		return err
	case <-late.C:
		return ctx.Err()
	}
}

// Steers implements stdio.Driver.
func (a *instance) Steers() bool { return true }

// callsTool are the items that are calls of tools.
var callsTool = map[string]bool{"commandExecution": true, "fileChange": true, "mcpToolCall": true, "dynamicToolCall": true, "webSearch": true}

// Deliver implements agent.Agent. What is said to a turn while the model speaks
// cuts its answer off, which is then lost: a tool that runs is waited for, or the
// end of the turn.
func (a *instance) Deliver(ctx context.Context, text string) error {
	if gap := a.awaits(); gap != nil && !a.Asking() {
		select {
		case <-gap:
		case <-a.Ended():
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return a.Agent.Deliver(ctx, text)
}

// awaits is closed when something may be said to the turn that runs; nil: now.
func (a *instance) awaits() <-chan struct{} {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.turn == "" || len(a.tools) > 0 {
		return nil
	}
	if a.gap == nil {
		a.gap = make(chan struct{})
	}
	return a.gap
}

// opens needs the lock.
func (a *instance) opens() {
	if a.gap != nil {
		close(a.gap)
		a.gap = nil
	}
}

// Prompt implements stdio.Driver.
func (a *instance) Prompt(ctx context.Context, text string) error {
	a.mu.Lock()
	thread := a.thread
	a.starting = true
	a.mu.Unlock()
	// Codex says that the turn has begun after it has answered, and the end of the
	// turn before, told under the lock, would pass for the end of this one.
	a.Tell(news.WentOn{})
	err := a.call(ctx, "turn/start", object{"threadId": thread, "input": input(text), "sandboxPolicy": a.sandbox.policy})
	if err != nil {
		a.mu.Lock()
		a.starting = false
		a.mu.Unlock()
	}
	return err
}

// Cancel implements stdio.Driver.
func (a *instance) Cancel(ctx context.Context) error {
	a.mu.Lock()
	thread, turn := a.thread, a.turn
	a.mu.Unlock()
	return a.Call(ctx, "turn/interrupt", object{"threadId": thread, "turnId": turn}, nil)
}

// Handle takes a notification or a request.
func (a *instance) Handle(m stdio.Message) {
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
	case "item/agentMessage/delta":
		if own {
			a.Stage.Unfinished.Say(n.Delta)
		}
	case "thread/tokenUsage/updated":
		a.usage(n)
		if own {
			a.fills(n.Usage)
		}
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
		a.Tell(news.Delegated{Subagents: len(a.others)})
		return
	}
	if a.turn != "" && a.turn != n.Turn.ID {
		a.passed = a.turn
	}
	a.turn, a.starting = n.Turn.ID, false
	a.TurnBegan()
}

func (a *instance) turnCompleted(n notice, own bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !own {
		delete(a.others, n.Thread)
		a.Tell(news.Delegated{Subagents: len(a.others)})
		a.rest()
		return
	}
	if n.Turn.ID != "" && n.Turn.ID == a.passed && n.Turn.ID != a.turn {
		a.passed = ""
		return
	}
	a.turn = ""
	if a.over != nil { // who waits for it goes on when it is told
		defer close(a.over)
		a.over = nil
	}
	clear(a.tools)
	a.opens()
	if !a.TurnOver() {
		return
	}
	switch n.Turn.Status {
	case "failed":
		e := failure(n.Turn.Error, a.lifted, time.Now())
		a.TellFailure(e)
		return
	case "interrupted":
		a.Stage.Show(event.Event{Kind: event.Interrupted})
	}
	a.Tell(a.ended())
}

// ended needs the lock.
func (a *instance) ended() news.Event {
	return news.TurnEnded{Said: a.Stage.Events.Said(), Background: len(a.others), Shells: len(a.commands), InOrder: true}
}

// rest tells again of a turn that has ended when what it left at work has ended
// too. It needs the lock.
func (a *instance) rest() {
	if !a.starting && a.Resting() && len(a.others)+len(a.commands) == 0 {
		a.Tell(a.ended())
	}
}

func (a *instance) item(n notice, own, complete bool) {
	for _, e := range n.Item.events(complete) {
		if own || e.Kind != event.Prompt {
			a.Stage.Show(e)
		}
	}
	if own && n.Item.Type == "contextCompaction" {
		a.compacts(complete)
	}
	switch command := n.Item.Type == "commandExecution"; {
	case complete && command:
		a.Tell(news.ShellEnded{ID: n.Item.ID}, news.Worked{})
	case complete && n.Item.Type != "userMessage":
		a.Tell(news.Worked{})
	case command:
		a.Tell(news.ShellBegan{ID: n.Item.ID})
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if own && callsTool[n.Item.Type] {
		if complete {
			delete(a.tools, n.Item.ID)
		} else {
			a.tools[n.Item.ID] = true
			a.opens()
		}
	}
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
	a.Tell(news.Used{Usage: a.used()})
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

// Interrupt implements agent.Agent. Codex's sandbox keeps .git and such from being made
// among the temporary files by empty folders of that name, which stay when it is killed:
// below a .git, go takes everything for a broken repository.
func (a *instance) Interrupt(ctx context.Context, grace time.Duration) ([]proc.Process, error) {
	ended, err := a.Agent.Interrupt(ctx, grace)
	clearTemp(a.temp)
	return ended, err
}

// Used implements agent.Meter.
func (a *instance) Used() dag.Usage {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.used()
}
