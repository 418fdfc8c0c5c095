package claude

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"cmux/agents/kinds/agent"
	"cmux/agents/kinds/guard"
	"cmux/agents/kinds/guard/places"
	"cmux/agents/kinds/handover"
	"cmux/agents/kinds/news"
	"cmux/agents/kinds/question"
	"cmux/agents/kinds/transcript"
	"cmux/agents/records/event"
)

// payload is what the hooks of the program say. Which fields are there depends
// on the event.
type payload struct {
	Session    string          `json:"session_id"`
	Source     string          `json:"source"`
	Transcript string          `json:"transcript_path"`
	Dir        string          `json:"cwd"`
	Mode       string          `json:"permission_mode"`
	Prompt     string          `json:"prompt"`
	Tool       string          `json:"tool_name"`
	ToolID     string          `json:"tool_use_id"`
	Input      json.RawMessage `json:"tool_input"`
	Response   json.RawMessage `json:"tool_response"`
	Error      string          `json:"error"`
	Said       string          `json:"last_assistant_message"`
	Background []struct {
		Type   string `json:"type"`
		Status string `json:"status"`
	} `json:"background_tasks"`
	Notice    string `json:"notification_type"`
	Message   string `json:"message"`
	AgentID   string `json:"agent_id"`
	AgentType string `json:"agent_type"`
	Trigger   string `json:"trigger"`
}

// listener is what hooks are understood with. It belongs to the attempt's
// goroutine.
type listener struct {
	policy    places.Policy
	own       func(prompt string) bool // the prompt is cmux's; it has arrived
	now       func() time.Time
	busy      bool            // a turn is under way
	unjudged  bool            // cmux left the last call of a tool to the program, which may ask a person
	ended     bool            // a hook told the end of the turn whose result line is to come
	asking    string          // tool that waits for a person's yes or answer
	dialogs   int             // how many tools have waited so
	askingSub string          // the sub-agent that uses it; empty: the agent itself, or not known
	askingID  string          // the call of it; empty: not known
	calls     []payload       // of tools in this turn, whose end no hook has told of
	subagents map[string]bool // at work, by id
	held      string          // event of the hook that waits for its answer
	question  json.RawMessage // tool input of a held PermissionRequest
	facts     []event.Event   // that the transcript does not tell
	over      chan struct{}   // closed at the end of the turn; nil: nobody waits for it
}

// rests takes in that no turn is under way.
func (l *listener) rests() {
	l.busy, l.ended = false, true
	if l.over != nil {
		close(l.over)
		l.over = nil
	}
}

// result takes in a result line, and reports whether it alone tells the end of
// its turn. The line may be read late, when the next turn is already under way:
// then it is of the turn whose end a hook has told. Of one that failed no hook
// tells.
func (l *listener) result(failed bool) (alone bool) {
	alone = l.busy && (failed || !l.ended)
	l.ended = false
	if alone {
		l.busy = false
	}
	return alone
}

// hear says what a hook means and what to answer it.
func (l *listener) hear(hook string, raw json.RawMessage) ([]news.Event, agent.HookReply, error) {
	var p payload
	if len(raw) > 0 {
		if err := json.Unmarshal(raw, &p); err != nil {
			return nil, agent.HookReply{}, fmt.Errorf("hook %s: %w", hook, err)
		}
	}
	one := func(e ...news.Event) ([]news.Event, agent.HookReply, error) {
		return e, agent.HookReply{}, nil
	}
	switch p.event(hook) {
	case "SessionStart":
		if p.Session == "" {
			break
		}
		if p.Source == "compact" || p.Source == "clear" {
			return one(news.Converses{ID: p.Session}, news.Forgot{})
		}
		return one(news.Converses{ID: p.Session})
	case "UserPromptSubmit":
		l.busy, l.calls = true, nil
		if l.policy.Headless || injected(p.Prompt) || l.own(p.Prompt) {
			return one(news.Prompted{Text: p.Prompt, Own: true})
		}
		return one(news.TookOver{Text: p.Prompt})
	case "PreToolUse":
		return l.before(&p)
	case "PermissionRequest":
		if l.policy.Headless {
			l.refused(p, guard.NobodyToAsk)
			return nil, permission(object{"behavior": "deny", "message": guard.NobodyToAsk}), nil
		}
		l.asking, l.askingSub, l.askingID, l.held, l.question = p.Tool, p.AgentID, l.callOf(&p), hook, p.Input
		l.dialogs++
		return one(news.Asked{Question: l.asked(p), Hold: true, Own: p.Tool == "AskUserQuestion"})
	case "PreCompact":
		return one(news.Compacts{Trigger: p.Trigger})
	case "PostCompact":
		if p.Trigger != "auto" {
			l.rests() // one that was asked for is no turn, and has no other end
		}
		return one(news.Compacted{Trigger: p.Trigger})
	case "PostToolUse", "PostToolUseFailure":
		if hook == "PostToolUse" && p.Tool == toolPrefix+"done" && p.AgentID == "" && strings.Contains(string(p.Response), handover.Accepted) {
			// The model would be called once more, only to say that it is done.
			l.busy, l.ended = false, true
			return []news.Event{news.Concluded{}, news.TurnEnded{}}, printed(object{"continue": false, "stopReason": "cmux: the report is accepted"}), nil
		}
		l.calls = slices.DeleteFunc(l.calls, func(c payload) bool { return c.ToolID == p.ToolID })
		if l.asking != "" && l.asking == p.Tool && (l.askingSub == "" || l.askingSub == p.AgentID) && (l.askingID == "" || l.askingID == p.ToolID) {
			l.asking = ""
			return one(append(p.shellEnded(), news.WentOn{})...)
		}
		return one(append(p.shellEnded(), news.Worked{Carries: p.AgentID == "", Printed: p.printed()})...)
	case "SubagentStart":
		l.subagents[p.AgentID] = true
		l.facts = append(l.facts, event.Event{Kind: event.Subagent, State: event.Began, ID: p.AgentID, Text: p.AgentType})
		return one(news.Delegated{Subagents: len(l.subagents)})
	case "SubagentStop":
		if l.subagents[p.AgentID] { // the client's own helpers stop without having started
			delete(l.subagents, p.AgentID)
			l.facts = append(l.facts, event.Event{Kind: event.Subagent, State: event.Ended, ID: p.AgentID, Text: p.AgentType})
		}
		return one(news.Delegated{Subagents: len(l.subagents)})
	case "Stop":
		return one(l.stops(&p))
	case "StopFailure":
		if l.policy.Headless {
			break // its result line says so too, with the status
		}
		l.busy, l.asking = false, ""
		return one(failure(p.Error, p.Said, l.now()))
	case "Notification":
		if p.Notice == "idle_prompt" && l.busy {
			// It waits for a prompt, and no other hook has said so.
			l.busy = false
			return one(news.TurnEnded{})
		}
	}
	return nil, agent.HookReply{}, nil
}

// printed returns the texts in a tool's response, or why it failed.
func (p *payload) printed() string {
	var b strings.Builder
	var take func(v any)
	take = func(v any) {
		switch v := v.(type) {
		case string:
			b.WriteString(v + "\n")
		case []any:
			for _, e := range v {
				take(e)
			}
		case map[string]any:
			for _, k := range slices.Sorted(maps.Keys(v)) {
				take(v[k])
			}
		}
	}
	var response any
	if json.Unmarshal(p.Response, &response) == nil {
		take(response)
	}
	return b.String() + p.Error
}

// event is the hook's name, as it counts for the agent: a failed call of a sub-agent's
// model ends the sub-agent, and no SubagentStop follows.
func (p *payload) event(hook string) string {
	if hook == "StopFailure" && p.AgentID != "" {
		return "SubagentStop"
	}
	return hook
}

// before judges a call of a tool before it happens.
func (l *listener) before(p *payload) ([]news.Event, agent.HookReply, error) {
	if p.AgentID == "" { // a sub-agent in the background works on between turns
		if !l.busy { // somebody else's hook blocked the end of the turn, which goes on
			l.ended = false
		}
		l.busy = true
	}
	d := guard.Decide(l.policy, guard.Call{Tool: p.Tool, Input: p.Input, Dir: p.Dir, Sub: p.AgentID != ""})
	l.unjudged = false
	switch {
	case d.Verdict == guard.Deny:
		l.refused(*p, d.Reason)
		return nil, decided("deny", d.Reason), nil
	case d.Verdict == guard.Grant && p.Mode != "plan": // which a person may have turned on
		return p.shellBegan(), decided("allow", ""), nil
	}
	l.unjudged = true
	if p.ToolID != "" {
		l.calls = append(l.calls, *p)
	}
	if d.Tell != "" {
		return p.shellBegan(), beside("PreToolUse", d.Tell), nil
	}
	return p.shellBegan(), agent.HookReply{}, nil
}

// callOf is the call that a dialog asks about, which does not name it: others of the
// tool may be under way beside it. Empty: it is not known.
func (l *listener) callOf(p *payload) string {
	i := slices.IndexFunc(l.calls, func(c payload) bool {
		return c.Tool == p.Tool && c.AgentID == p.AgentID && bytes.Equal(c.Input, p.Input)
	})
	if i < 0 {
		return ""
	}
	return l.calls[i].ToolID
}

// stops is the end of a turn, which is held.
func (l *listener) stops(p *payload) news.Event {
	l.rests()
	e := news.TurnEnded{Said: p.Said, Hold: true}
	for _, b := range p.Background {
		if b.Type == "subagent" {
			e.Background++
		} else {
			e.Shells++
		}
	}
	if e.Background == 0 {
		clear(l.subagents)
	}
	if e.Background == 0 || l.asking == "" { // else the question of a sub-agent stands
		l.asking, l.held = "", "Stop"
	}
	return e
}

// shellID names the call of a tool that runs commands; empty: it is another.
func (p *payload) shellID() string {
	if !guard.IsShell(p.Tool) {
		return ""
	}
	return cmp.Or(p.ToolID, p.Tool)
}

// shellBegan tells that the tool began, where it runs commands.
func (p *payload) shellBegan() []news.Event {
	if id := p.shellID(); id != "" {
		return []news.Event{news.ShellBegan{ID: id}}
	}
	return nil
}

// shellEnded tells that the tool has ended, where it runs commands.
func (p *payload) shellEnded() []news.Event {
	if id := p.shellID(); id != "" {
		return []news.Event{news.ShellEnded{ID: id}}
	}
	return nil
}

// refused notes that a call was.
func (l *listener) refused(p payload, reason string) {
	l.facts = append(l.facts, event.Event{Kind: event.Denied, Tool: p.Tool, ToolID: p.ToolID, Input: p.Input, Text: reason})
}

// interrupted takes in that a person broke the turn off.
func (l *listener) interrupted() []news.Event {
	l.busy, l.asking = false, ""
	return []news.Event{news.TookOver{}, news.TurnEnded{}}
}

// injected reports whether the program itself made the prompt, for a command or
// a sub-agent in the background that has ended.
func injected(prompt string) bool {
	prompt = strings.TrimSpace(prompt)
	return strings.HasPrefix(prompt, "<task-notification") || strings.HasPrefix(prompt, "<system-reminder")
}

// asked is the question that a permission dialog or the AskUserQuestion tool
// puts to a person.
func (l *listener) asked(p payload) question.Question {
	call := guard.Call{Tool: p.Tool, Input: p.Input, Dir: p.Dir}
	if d := guard.Decide(l.policy, call); d.Verdict == guard.Ask {
		return d.Question(call)
	}
	hint := ""
	if p.AgentID != "" {
		hint = "a sub-agent asks, which its pane does not show yet"
	}
	return question.Permit("use "+p.Tool+"? "+event.About(p.Input), hint, question.Permission{Tool: p.Tool, Command: event.Whole(p.Input)})
}

// failure is what a failed call of the model means.
func failure(kind, text string, now time.Time) news.Event {
	f := transcript.Classify(text, now)
	if f.Cause == transcript.Other && kind != "" {
		f = transcript.Classify(kind+": "+text, now)
	}
	if text == "" {
		text = kind
	}
	switch f.Cause {
	case transcript.Limit:
		return news.LimitMet{Text: text, Until: f.Until}
	case transcript.Auth:
		return news.Asked{Question: question.New("the model service refuses it: " + text + " (log in, in its pane or with claude /login, and answer `go on`)")}
	}
	return news.Faltered{Text: text, Lasting: f.Cause == transcript.Refused, Sure: f.Sure}
}

// object is JSON to be.
type object map[string]any

func printed(v any) agent.HookReply {
	b, err := json.Marshal(v)
	if err != nil {
		return agent.HookReply{Exit: 2} // what cannot be said is refused
	}
	return agent.HookReply{Stdout: string(b) + "\n"}
}

// decided answers a PreToolUse hook. Rules of the person's that ask or deny stand
// above an "allow".
func decided(decision, reason string) agent.HookReply {
	answer := object{"hookEventName": "PreToolUse", "permissionDecision": decision}
	if reason != "" {
		answer["permissionDecisionReason"] = reason
	}
	return printed(object{"hookSpecificOutput": answer})
}

// beside answers a hook with something that the model is to know beside.
func beside(hook, text string) agent.HookReply {
	return printed(object{"hookSpecificOutput": object{"hookEventName": hook, "additionalContext": text}})
}

// permission answers a PermissionRequest hook.
func permission(decision object) agent.HookReply {
	return printed(object{"hookSpecificOutput": object{"hookEventName": "PermissionRequest", "decision": decision}})
}

// handBack answers the hook that is held.
func (l *listener) handBack(text string) agent.HookReply {
	if l.held == "PermissionRequest" {
		tool := l.asking
		l.asking = ""
		return permission(answer(tool, l.question, text))
	}
	l.busy, l.ended = true, false
	return printed(object{"decision": "block", "reason": text})
}

// answer is what a person's words mean to the dialog of a tool.
func answer(tool string, input json.RawMessage, text string) object {
	if tool == "AskUserQuestion" {
		if updated := answered(input, text); updated != nil {
			return object{"behavior": "allow", "updatedInput": updated}
		}
	}
	yes, more := question.Yes(text)
	switch {
	case yes && tool == "ExitPlanMode" && json.Valid(input):
		// A tool that is a dialog takes its input as a sign that one was held.
		return object{"behavior": "allow", "updatedInput": input}
	case yes:
		return object{"behavior": "allow"}
	case more == "":
		return object{"behavior": "deny", "message": "A person said no. Do without it. If that cannot be done, report `blocked` and say why."}
	}
	return object{"behavior": "deny", "message": "A person answered: " + more}
}

// answered is the input of AskUserQuestion with its answers: the text for each
// question, or its lines when there are as many as questions. A number stands
// for the option in that place.
func answered(input json.RawMessage, text string) object {
	var in object
	var asked struct {
		Questions []struct {
			Question string `json:"question"`
			Options  []struct {
				Label string `json:"label"`
			} `json:"options"`
		} `json:"questions"`
	}
	if json.Unmarshal(input, &in) != nil || json.Unmarshal(input, &asked) != nil || len(asked.Questions) == 0 {
		return nil
	}
	answers := object{}
	for i, said := range question.Spread(text, len(asked.Questions)) {
		q := asked.Questions[i]
		var labels []string
		for _, o := range q.Options {
			labels = append(labels, o.Label)
		}
		answers[q.Question] = question.Option(said, labels)
	}
	in["answers"] = answers
	return in
}

// plain normalizes text for a comparison: a terminal program wraps pasted text in tags and
// changes its line breaks.
func plain(text string) string {
	for {
		open := strings.Index(text, "<pasted_content id=")
		if open < 0 {
			break
		}
		end := strings.IndexByte(text[open:], '>')
		if end < 0 {
			break
		}
		text = text[:open] + text[open+end+1:]
	}
	for {
		open := strings.Index(text, "</pasted_content")
		if open < 0 {
			break
		}
		end := strings.IndexByte(text[open:], '>')
		if end < 0 {
			break
		}
		text = text[:open] + text[open+end+1:]
	}
	return strings.Join(strings.Fields(text), " ")
}

// sameText reports whether a prompt that arrived is the text that was handed
// over. A short one must be all of it: a person may use the same words.
func sameText(prompt, text string) bool {
	prompt, text = plain(prompt), plain(text)
	if text == "" {
		return false
	}
	if len(text) < 40 {
		return prompt == text
	}
	return strings.Contains(prompt, text)
}
