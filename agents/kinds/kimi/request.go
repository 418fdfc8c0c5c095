package kimi

import (
	"context"
	"encoding/json"
	"strings"

	"cmux/agents/kinds/guard"
	"cmux/agents/kinds/stdio"
	"cmux/agents/records/event"
)

// request answers what the program asks. It needs the lock.
func (a *instance) request(m stdio.Message, w wire) {
	p := w.Payload
	switch w.Type {
	case "HookRequest":
		d := guard.Decide(a.policy, guard.Call{Tool: p.Hook.Tool, Input: p.Hook.Input, Dir: p.Hook.Dir})
		if d.Verdict == guard.Deny {
			a.Stage.Keep(event.Event{Kind: event.Denied, Tool: p.Hook.Tool, Input: p.Hook.Input, Text: d.Reason})
			a.Reply(m, object{"request_id": p.ID, "action": "block", "reason": d.Reason})
			return
		}
		a.Reply(m, object{"request_id": p.ID, "action": "allow", "reason": ""})
	case "ApprovalRequest":
		a.approve(m, p)
	case "QuestionRequest":
		a.question(m, p)
	case "ToolCallRequest":
		a.Reply(m, object{"tool_call_id": p.ID, "return_value": object{
			"is_error": true, "output": "", "message": "cmux offers no tool " + p.Name, "display": []any{}}})
	default:
		a.Unknown(m, stdio.InvalidRequest, w.Type)
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
	a.Permit(a.policy, stdio.Leave{
		ID: p.ID, Call: guard.Call{Tool: c.name, Input: raw(c.arguments), Dir: a.Stage.Dir}, What: strings.TrimSpace(p.Action + ": " + p.About),
		Allow: func(ctx context.Context) error {
			return a.Answer(ctx, m.ID, object{"request_id": p.ID, "response": "approve"})
		},
		Refuse: func(ctx context.Context, why string) error { return a.Answer(ctx, m.ID, reject(why)) },
	})
}

// seen returns the call for which permission is asked, from its description for the person.
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
	options := make([][]string, len(p.Questions))
	for i, q := range p.Questions {
		for _, o := range q.Options {
			options[i] = append(options[i], o.Label)
		}
	}
	reply := func(ctx context.Context, said []string) error {
		all := object{}
		for i := range said {
			all[p.Questions[i].Question] = said[i]
		}
		return a.Answer(ctx, m.ID, object{"request_id": p.ID, "answers": all})
	}
	a.Inquire(a.policy, stdio.Inquiry{
		ID: p.ID, Call: guard.Call{Tool: "AskUserQuestion", Input: raw(marshal(object{"questions": p.Questions}))}, Options: options, Reply: reply,
		Nobody: func(ctx context.Context, _ string) error { return reply(ctx, nil) },
	})
}
