package kimi

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"cmux/agents/kinds/guard"
	"cmux/agents/kinds/guard/places"
	"cmux/agents/kinds/stdio"
	"cmux/agents/testkit/agenttest/fuzzing"
	"cmux/dag"
)

// lines are as in the documentation of the protocol.
var lines = []string{
	`{"type":"TurnBegin","payload":{"user_input":[{"type":"text","text":"Hello"}]}}`,
	`{"type":"ContentPart","payload":{"type":"text","text":"Hello"}}`,
	`{"type":"ContentPart","payload":{"type":"think","think":"hm","encrypted":null}}`,
	`{"type":"StatusUpdate","payload":{"context_usage":0.2,"token_usage":{"input_other":1,"output":2,"input_cache_read":3,"input_cache_creation":4},"message_id":"m"}}`,
	`{"type":"ToolCall","payload":{"type":"function","id":"tc-1","function":{"name":"Shell","arguments":"{\"command\":\"ls\"}"}}}`,
	`{"type":"ToolCallPart","payload":{"arguments_part":null}}`,
	`{"type":"ToolResult","payload":{"tool_call_id":"tc-1","return_value":{"is_error":false,"output":[{"type":"text","text":"a"}],"message":"","display":[]}}}`,
	`{"type":"SubagentEvent","payload":{"agent_id":"a","event":{"type":"StatusUpdate","payload":{"token_usage":{"output":5}}}}}`,
	`{"type":"StepRetry","payload":{"n":1,"next_attempt":2,"wait_s":1.5,"status_code":429}}`,
	`{"type":"ApprovalRequest","payload":{"id":"approval-1","tool_call_id":"tc-1","sender":"Shell","action":"run shell command","description":"Run command ` + "`ls`" + `","display":[{"type":"shell","language":"sh","command":"ls"}]}}`,
	`{"type":"QuestionRequest","payload":{"id":"q-1","tool_call_id":"tc-1","questions":[{"question":"Which?","header":"Lang","options":[{"label":"Python","description":"x"}],"multi_select":false}]}}`,
	`{"type":"HookRequest","payload":{"id":"h","subscription_id":"cmux","event":"PreToolUse","target":"Shell","input_data":{"tool_name":"Shell","tool_input":{"command":"ls"},"cwd":"/w"}}}`,
}

func TestParse(t *testing.T) {
	all := map[string]payload{}
	for _, l := range lines {
		w := parse(json.RawMessage(l))
		all[w.Type] = w.Payload
	}
	hook := all["HookRequest"].Hook
	switch {
	case words(all["TurnBegin"].Input) != "Hello",
		all["ContentPart"].Think != "hm",
		all["StatusUpdate"].Usage == nil || all["StatusUpdate"].Usage.usage() != (dag.Usage{Input: 1, Output: 2, CacheRead: 3, CacheCreate: 4}),
		all["ToolCall"].Function.Arguments != `{"command":"ls"}`,
		words(all["ToolResult"].Return.Output) != "a",
		parse(all["SubagentEvent"].Event).Payload.Usage.Output != 5,
		all["StepRetry"].Status != 429,
		seen(all["ApprovalRequest"]).arguments != `{"command":"ls"}`,
		all["QuestionRequest"].Questions[0].Options[0].Label != "Python",
		hook.Tool != "Shell" || string(hook.Input) != `{"command":"ls"}` || hook.Dir != "/w":
		t.Errorf("%+v", all)
	}
	// A field of another type leaves the others as they are.
	if w := parse(json.RawMessage(`{"type":"ToolCall","payload":{"id":"x","function":"what?","display":5}}`)); w.Payload.ID != "x" {
		t.Errorf("%+v", w)
	}
}

func TestFuzzing(t *testing.T) { fuzzing.Run(t) }

func FuzzParse(f *testing.F) {
	for _, l := range lines {
		f.Add([]byte(l))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		w := parse(line)
		p := w.Payload
		if !json.Valid(raw(p.Function.Arguments)) || !json.Valid(raw(seen(p).arguments)) {
			t.Error("arguments that are no JSON")
		}
		words(p.Input)
		words(p.Return.Output)
		if p.Usage != nil && p.Usage.usage().Input < 0 {
			t.Error("fewer than no tokens")
		}
		guard.Decide(places.Policy{Root: "/p", Tree: "/w"}, guard.Call{Tool: p.Hook.Tool, Input: p.Hook.Input, Dir: p.Hook.Dir})
	})
}

func TestFailure(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		code int
		text string
		kind string
	}{
		{codeService, "Error code: 429 - rate limit reached", "news.LimitMet"},
		{codeService, "Error code: 401 - invalid api key", "news.Asked"},
		{codeService, "Error code: 500", "news.Faltered"},
		{codeNoModel, "LLM is not set", "news.Asked"},
		{codeUnsupported, "LLM is not supported", "news.Asked"},
		{-32603, "internal error", "news.Faltered"},
	} {
		got := failure(&stdio.Error{Code: c.code, Message: c.text}, now)
		if kind := fmt.Sprintf("%T", got); kind != c.kind || !strings.Contains(fmt.Sprint(got), c.text) {
			t.Errorf("%d %s: %s %+v, want %s", c.code, c.text, kind, got, c.kind)
		}
	}
}
