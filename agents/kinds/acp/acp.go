package acp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	sdk "github.com/coder/acp-go-sdk"

	"cmux/agents/kinds/agent"
	"cmux/agents/kinds/guard/places"
	"cmux/agents/kinds/news"
	"cmux/agents/kinds/stdio"
	"cmux/agents/kinds/transcript"
	"cmux/agents/records/event"
	"cmux/dag"
)

// asking is the mode of a session in which a program asks leave, where it has
// modes.
const asking = "default"

type instance struct {
	*stdio.Agent
	program program
	policy  places.Policy
	can     sdk.AgentCapabilities
	greeted bool

	mu        sync.Mutex
	session   sdk.SessionId
	replaying bool                 // what was before is told again
	prompted  bool                 // it was, and a prompt was among it
	history   bool                 // it was, and an answer was among it
	again     chan struct{}        // has one when more of it was told
	calls     map[string]call      // by id, until their result
	unsure    map[string][]request // by id of a call: requests for leave that wait until all of its input was told
	speech    stdio.Speech
	counted   dag.Usage // of the answers that told what they used
	told      bool      // they do
	whole     dag.Usage // of the turns whose answers did not
	refusals  reasons
}

func newAgent(p program, s *agent.Stage) (*instance, error) {
	command := p.command
	if command == nil {
		command = s.Command
	}
	if len(command) == 0 {
		return nil, errors.New("a node of `agent: acp` needs the program's command line: command: [qwen, --acp]")
	}
	path, err := agent.LookPath(command[0], s.Env)
	if err != nil {
		if p.install != "" {
			return nil, fmt.Errorf("%w; install %s (%s) and see cmux doctor", err, p.title, p.install)
		}
		return nil, err
	}
	a := &instance{program: p, policy: s.Policy, again: make(chan struct{}, 1), calls: map[string]call{}, unsure: map[string][]request{}}
	a.Agent = stdio.NewAgent(s, a, s.Prompt, stdio.Options{Path: path, Args: command[1:], Env: p.env, Version: "2.0"})
	return a, nil
}

// Enter implements stdio.Driver.
func (a *instance) Enter(ctx context.Context) (conversation string, resumed bool, err error) {
	if err := a.greet(ctx); err != nil {
		return "", false, err
	}
	var answer sdk.NewSessionResponse // those that load or resume answer the same
	if a.Stage.Conversation != "" {
		resumed, err = a.load(ctx, &answer)
		if err != nil {
			return "", false, err
		}
	}
	a.mu.Lock()
	known := a.session != ""
	a.mu.Unlock()
	if !known {
		if err := a.Call(ctx, sdk.AgentMethodSessionNew, sdk.NewSessionRequest{Cwd: a.Stage.Dir, McpServers: []sdk.McpServer{}}, &answer); err != nil {
			return "", false, err
		}
		if answer.SessionId == "" {
			return "", false, errors.New("session/new gave no session")
		}
		a.enter(answer.SessionId)
	}
	if err := a.setUp(ctx, &answer); err != nil {
		return "", false, err
	}
	return string(a.session), resumed, nil
}

func (a *instance) enter(id sdk.SessionId) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.session = id
}

// greet is the handshake.
func (a *instance) greet(ctx context.Context) error {
	if a.greeted {
		return nil
	}
	var answer sdk.InitializeResponse
	err := a.Call(ctx, sdk.AgentMethodInitialize, sdk.InitializeRequest{
		ProtocolVersion: sdk.ProtocolVersionNumber,
		ClientInfo:      &sdk.Implementation{Name: "cmux", Version: "1"},
	}, &answer)
	if err != nil {
		return err
	}
	if answer.ProtocolVersion != sdk.ProtocolVersionNumber {
		return fmt.Errorf("it speaks version %d of the protocol, and cmux version %d", answer.ProtocolVersion, sdk.ProtocolVersionNumber)
	}
	a.can, a.greeted = answer.AgentCapabilities, true
	return nil
}

// load resumes the conversation of the previous attempt. It reports resumed only if the
// program replays an answer of that conversation; otherwise the agent gets its whole task.
func (a *instance) load(ctx context.Context, answer *sdk.NewSessionResponse) (resumed bool, err error) {
	id := sdk.SessionId(a.Stage.Conversation)
	switch {
	case a.can.LoadSession:
		a.replay(true)
		err = a.Call(ctx, sdk.AgentMethodSessionLoad, sdk.LoadSessionRequest{SessionId: id, Cwd: a.Stage.Dir, McpServers: []sdk.McpServer{}}, answer)
		a.awaitReplay(ctx)
		resumed = a.replay(false)
	case a.can.SessionCapabilities.Resume != nil:
		// It tells nothing again, so nothing proves that there was an answer.
		err = a.Call(ctx, sdk.AgentMethodSessionResume, sdk.ResumeSessionRequest{SessionId: id, Cwd: a.Stage.Dir}, answer)
	default:
		a.Note("%s cannot resume conversations: the agent begins a new one", a.program.title)
		return false, nil
	}
	if stdio.Refused(err) != nil {
		a.Note("conversation %s cannot be resumed (%v): the agent begins a new one", id, err)
		return false, nil
	}
	if err == nil {
		a.enter(id)
	}
	return resumed && err == nil, err
}

// toldLate bounds the wait for the first answer that the program tells again after it has
// answered the request, as Gemini CLI does. All was told when nothing came for toldAll: what
// comes later is taken for the next turn's.
const (
	toldLate = 3 * time.Second
	toldAll  = 500 * time.Millisecond
)

// awaitReplay waits until the program has told again what was before.
func (a *instance) awaitReplay(ctx context.Context) {
	a.mu.Lock()
	rest := toldAll
	switch {
	case a.prompted && !a.history:
		rest = toldLate
	case !a.program.late:
		rest = 0
	}
	a.mu.Unlock()
	if rest == 0 {
		return
	}
	timer := time.NewTimer(rest)
	defer timer.Stop()
	for {
		select {
		case <-a.again:
			a.mu.Lock()
			if a.history {
				timer.Reset(toldAll)
			}
			a.mu.Unlock()
		case <-timer.C:
			return
		case <-a.Ended():
			return
		case <-ctx.Done():
			return
		}
	}
}

// replay begins or ends the telling of what was before, and reports whether an
// answer was among it.
func (a *instance) replay(on bool) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.replaying = on
	return a.history
}

// setUp has the program ask leave, and chooses the model.
func (a *instance) setUp(ctx context.Context, answer *sdk.NewSessionResponse) error {
	if m := answer.Modes; m != nil && m.CurrentModeId != asking && slices.ContainsFunc(m.AvailableModes, func(m sdk.SessionMode) bool { return m.Id == asking }) {
		if err := a.Call(ctx, sdk.AgentMethodSessionSetMode, sdk.SetSessionModeRequest{SessionId: a.session, ModeId: asking}, nil); err != nil {
			return fmt.Errorf("it does not take the mode in which it asks leave: %w", err)
		}
	}
	model := a.Stage.Model
	if model == "" {
		return nil
	}
	var err error
	if answer.Models != nil {
		for _, m := range answer.Models.AvailableModels {
			if m.Name == model {
				model = string(m.ModelId)
				break
			}
		}
		err = a.Call(ctx, sdk.AgentMethodSessionSetModel, object{"sessionId": a.session, "modelId": model}, nil)
	} else {
		err = a.Call(ctx, sdk.AgentMethodSessionSetConfigOption, object{"sessionId": a.session, "configId": "model", "value": model}, nil)
	}
	if err != nil {
		return fmt.Errorf("it does not take the model %s: %w", a.Stage.Model, err)
	}
	return nil
}

type object = map[string]any

// Steer implements stdio.Driver. It never takes a text: the protocol cannot add one to a
// turn that runs.
func (a *instance) Steer(context.Context, string) (taken bool, err error) { return false, nil }

// Steers implements stdio.Driver. It is false, since Steer never takes a text.
func (a *instance) Steers() bool { return false }

// Prompt implements stdio.Driver.
func (a *instance) Prompt(ctx context.Context, text string) error {
	request := sdk.PromptRequest{SessionId: a.session, Prompt: []sdk.ContentBlock{sdk.TextBlock(text)}}
	return a.RunTurn(ctx, sdk.AgentMethodSessionPrompt, request, func() {
		a.Stage.Show(event.Event{Kind: event.Prompt, Text: text})
		a.TurnTaken() // only its effects show that it was accepted
	}, a.turnOver)
}

// Cancel implements stdio.Driver.
func (a *instance) Cancel(ctx context.Context) error {
	return a.Notify(ctx, sdk.AgentMethodSessionCancel, sdk.CancelNotification{SessionId: a.session})
}

// turnOver tells of the end of a turn.
func (a *instance) turnOver(result json.RawMessage, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.flush()
	var end sdk.PromptResponse
	if err == nil {
		stdio.Lenient(result, &end)
		if u := end.Usage; u != nil && !a.told {
			a.whole = a.whole.Plus(usage(*u))
			a.Tell(news.Used{Usage: a.used()})
		}
	}
	a.drop()
	why := a.refusals.take()
	if !a.TurnOver() {
		return
	}
	if a.TurnFailed(err, func(e *stdio.Error) news.Event { return failure(e, time.Now()) }) {
		return
	}
	switch end.StopReason {
	case sdk.StopReasonCancelled:
		a.Stage.Show(event.Event{Kind: event.Interrupted})
	case sdk.StopReasonRefusal:
		a.Note("the model refused to go on")
	case sdk.StopReasonMaxTokens, sdk.StopReasonMaxTurnRequests:
		a.Note("the turn ended at the greatest number of tokens or requests of one (%s)", end.StopReason)
	}
	if why != "" {
		// The protocol has no place for them beside the refusal.
		a.Go(func(ctx context.Context) {
			if err := a.Prompt(ctx, why); err != nil && ctx.Err() == nil {
				a.Note("the reason of a refusal did not arrive: %v", err)
			}
		})
		return
	}
	a.Tell(news.TurnEnded{Said: a.Stage.Events.Said(), InOrder: true})
}

// failure is what a refused prompt means.
func failure(e *stdio.Error, now time.Time) news.Event {
	text := e.Message
	var api struct { // Gemini CLI hands on what the API answered
		Error struct {
			Code    int    `json:"code"`
			Status  string `json:"status"`
			Message string `json:"message"`
		} `json:"error"`
	}
	if stdio.Lenient([]byte(text), &api); api.Error.Message != "" {
		text = fmt.Sprintf("API error %d: ", api.Error.Code) + strings.TrimSpace(api.Error.Status+" "+api.Error.Message)
	}
	var data struct {
		Details string `json:"details"`
		Message string `json:"message"`
	}
	stdio.Lenient(e.Data, &data)
	for _, more := range []string{data.Details, data.Message} {
		if more != "" && !strings.Contains(text, more) {
			text += ": " + more
		}
	}
	return stdio.Failed(text, transcript.Classify(text, now), "log in with its terminal program, then answer go on")
}

// usage are the tokens of an answer. Some programs count what was read from a
// cache as input, too, and some count thoughts outside their output: the total tells.
func usage(u sdk.Usage) dag.Usage {
	at := func(n *int) int64 {
		if n == nil {
			return 0
		}
		return int64(max(*n, 0))
	}
	read, write := at(u.CachedReadTokens), at(u.CachedWriteTokens)
	in, out := int64(max(u.InputTokens, 0)), int64(max(u.OutputTokens, 0))
	thought, total := at(u.ThoughtTokens), int64(u.TotalTokens)
	within := total == in+out || total == in+out+read+write
	if !within && (total >= in+out+read+write+thought || total == in+out+thought) {
		out += thought
	}
	if total < in+out+read+write {
		in = max(in-read-write, 0)
	}
	return dag.Usage{Input: in, Output: out, CacheRead: read, CacheCreate: write}
}

// used needs the lock.
func (a *instance) used() dag.Usage { return a.counted.Plus(a.whole) }

// Used implements agent.Meter.
func (a *instance) Used() dag.Usage {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.used()
}
