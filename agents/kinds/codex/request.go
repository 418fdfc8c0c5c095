package codex

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"cmux/agents/kinds/guard"
	"cmux/agents/kinds/stdio"
)

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
			a.Reply(m, object{"action": "accept", "content": object{}, "_meta": nil})
			return
		}
		a.Note("declined what the MCP server %s asks: %s", n.Server, n.Message)
		a.Reply(m, object{"action": "decline", "content": nil, "_meta": nil})
	case "item/permissions/requestApproval":
		a.Note("granted no further permissions: %s", n.Reason)
		a.Reply(m, object{"permissions": object{}, "scope": "turn"})
	default:
		a.Unknown(m, stdio.MethodNotFound, m.Method)
	}
}

// asksNothing reports whether a form has no fields.
func asksNothing(schema json.RawMessage) bool {
	var form struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	return json.Unmarshal(schema, &form) == nil && len(form.Properties) == 0
}

// approve answers a request for leave.
func (a *instance) approve(m stdio.Message, n notice, call guard.Call, what string) {
	if n.Reason != "" {
		what += "\n" + n.Reason
	}
	a.Permit(a.policy, stdio.Leave{
		ID: string(m.ID), Call: call, What: what,
		Allow:  func(ctx context.Context) error { return a.Answer(ctx, m.ID, object{"decision": "accept"}) },
		Refuse: func(ctx context.Context, why string) error { return a.decline(ctx, m, n, why) },
	})
}

// decline refuses and says why: the refusal has no place for a reason, so that
// goes ahead of it into the same turn.
func (a *instance) decline(ctx context.Context, m stdio.Message, n notice, why string) error {
	if why != "" {
		if p, err := a.Conn.Ask(ctx, "turn/steer", object{"threadId": n.Thread, "expectedTurnId": n.TurnID, "input": input(why)}); err == nil {
			a.Go(func(ctx context.Context) {
				if err := p.Wait(ctx, nil); err != nil && ctx.Err() == nil {
					a.Note("the reason of a refusal did not arrive: %v", err)
				}
			})
		}
	}
	return a.Answer(ctx, m.ID, object{"decision": "decline"})
}

// input has a person answer the agent, or tells it that nobody does.
func (a *instance) input(m stdio.Message, n notice) {
	options := make([][]string, len(n.Ask))
	for i, asked := range n.Ask {
		for _, o := range asked.Options {
			options[i] = append(options[i], o.Label)
		}
	}
	reply := func(ctx context.Context, said []string) error {
		return a.Answer(ctx, m.ID, object{"answers": answers(n.Ask, said)})
	}
	a.Inquire(a.policy, stdio.Inquiry{
		ID: string(m.ID), Call: guard.Call{Tool: "request_user_input", Input: m.Params}, Options: options, Reply: reply,
		Nobody: func(ctx context.Context, why string) error {
			return reply(ctx, slices.Repeat([]string{why}, len(n.Ask)))
		},
	})
}

// answers are the answers to questions by their ids.
func answers(asked []requestedAnswer, said []string) object {
	all := object{}
	for i, q := range asked {
		all[q.ID] = object{"answers": []string{said[i]}}
	}
	return all
}
