package codex

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"cmux/agents/kinds/agent"
	"cmux/agents/kinds/guard"
	"cmux/agents/kinds/news"
	"cmux/agents/kinds/stdio"
	"cmux/agents/records/event"
)

// hookTimeout bounds the hook, in seconds; it is answered at once.
const hookTimeout = 30

// hookCommand is what Codex runs in a shell before each tool call.
func hookCommand(binary string) string {
	return "'" + strings.ReplaceAll(binary, "'", `'\''`) + "' hook PreToolUse"
}

// hookFlag gives the hook to this process alone: the person's own configuration
// is not touched.
func hookFlag(command string) (string, error) {
	quoted, err := json.Marshal(command) // a string of JSON is one of TOML
	return fmt.Sprintf(`hooks.PreToolUse=[{hooks=[{type="command",command=%s,timeout=%d}]}]`, quoted, hookTimeout), err
}

// trustHook is the configuration that lets our hook run, and no other: Codex
// runs a hook only when its hash is known. Versions without hooks have none.
func (a *instance) trustHook(ctx context.Context) (object, error) {
	var listed struct {
		Data []struct {
			Hooks []struct {
				Key     string `json:"key"`
				Command string `json:"command"`
				Source  string `json:"source"`
				Hash    string `json:"currentHash"`
			} `json:"hooks"`
		} `json:"data"`
	}
	err := a.Call(ctx, "hooks/list", object{"cwds": []string{a.Stage.Dir}}, &listed)
	if err != nil && stdio.Refused(err) == nil {
		return nil, err
	}
	for _, d := range listed.Data {
		for _, h := range d.Hooks {
			if h.Source == "sessionFlags" && h.Command == a.hook && h.Hash != "" {
				return object{h.Key: object{"trusted_hash": h.Hash}}, nil
			}
		}
	}
	a.Note("this version of codex has no hooks: only what it asks permission for is checked beforehand")
	return nil, nil
}

// Hook implements agent.Hooked.
func (a *instance) Hook(name string, payload json.RawMessage) ([]news.Event, agent.HookReply, error) {
	if name != "PreToolUse" {
		events, err := agent.ParseEvent(name, payload)
		return events, agent.HookReply{}, err
	}
	var p struct {
		Tool   string          `json:"tool_name"`
		ToolID string          `json:"tool_use_id"`
		Input  json.RawMessage `json:"tool_input"`
		Dir    string          `json:"cwd"`
		Agent  string          `json:"agent_id"`
	}
	stdio.Lenient(payload, &p)
	d := guard.Decide(a.policy, guard.Call{Tool: p.Tool, Input: patch(p.Tool, p.Input), Dir: p.Dir, Sub: p.Agent != ""})
	if d.Verdict != guard.Deny {
		return nil, agent.HookReply{}, nil // the sandbox and its approvals come after
	}
	a.Stage.Keep(event.Event{Kind: event.Denied, Tool: p.Tool, ToolID: p.ToolID, Input: p.Input, Text: d.Reason})
	// Codex sends no event about a refused call.
	what := event.Printable(p.Tool + " " + event.About(p.Input))
	io.WriteString(a.Stage.Out, event.Indented("* ", "  ", what)+event.Indented("  ! ", "  | ", event.Printable(d.Reason)))
	b, err := json.Marshal(object{"hookSpecificOutput": object{
		"hookEventName": name, "permissionDecision": "deny", "permissionDecisionReason": d.Reason,
	}})
	return nil, agent.HookReply{Stdout: string(b) + "\n"}, err
}

// patch is the input of a call as package guard knows it: hooks are given a
// patch as the command of apply_patch.
func patch(tool string, input json.RawMessage) json.RawMessage {
	var in struct {
		Command string `json:"command"`
	}
	if tool != "apply_patch" || json.Unmarshal(input, &in) != nil || in.Command == "" {
		return input
	}
	b, err := json.Marshal(object{"patch": in.Command})
	if err != nil {
		return input // a string always marshals
	}
	return b
}
