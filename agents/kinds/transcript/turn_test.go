package transcript

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestLastTurn(t *testing.T) {
	const (
		header   = `{"type":"mode","mode":"normal","sessionId":"S"}`
		prompt   = `{"type":"user","message":{"role":"user","content":"one"}}`
		fed      = `{"type":"user","isMeta":true,"message":{"role":"user","content":"Stop hook feedback: two"}}`
		queued   = `{"type":"attachment","attachment":{"type":"queued_command","prompt":"three"}}`
		thought  = `{"type":"assistant","message":{"id":"1","model":"m","content":[{"type":"thinking","thinking":"hm"}]}}`
		text     = `{"type":"assistant","message":{"id":"1","model":"m","content":[{"type":"text","text":"hello"}]}}`
		before   = `{"type":"assistant","message":{"id":"1","model":"m","stop_reason":"tool_use","content":[{"type":"text","text":"I look"}]}}`
		call     = `{"type":"assistant","message":{"id":"1","model":"m","content":[{"type":"tool_use","id":"t1","name":"Bash"}]}}`
		result   = `{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"ok"}]}}`
		sub      = `{"type":"assistant","isSidechain":true,"message":{"id":"2","model":"m","content":[{"type":"text","text":"a part"}]}}`
		broken   = `{"type":"user","message":{"role":"user","content":[{"type":"text","text":"[Request interrupted by user]"}]}}`
		failed   = `{"type":"assistant","isApiErrorMessage":true,"message":{"model":"<synthetic>","content":[{"type":"text","text":"API Error"}]}}`
		compact  = `{"type":"system","subtype":"compact_boundary","content":"Conversation compacted"}`
		summary  = `{"type":"user","isCompactSummary":true,"message":{"role":"user","content":"This session is continued"}}`
		began    = `{"type":"event_msg","payload":{"type":"task_started"}}`
		spoke    = `{"type":"response_item","payload":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"hello"}]}}`
		user     = `{"type":"event_msg","payload":{"type":"user_message","message":"one"}}`
		complete = `{"type":"event_msg","payload":{"type":"task_complete","last_agent_message":"hello"}}`
		silent   = `{"type":"event_msg","payload":{"type":"task_complete","last_agent_message":null}}`
		aborted  = `{"type":"event_msg","payload":{"type":"turn_aborted","reason":"interrupted"}}`
	)
	for _, c := range []struct {
		name  string
		last  func(string) ([]string, string, bool)
		lines []string
		said  string
		over  bool
		given string
	}{
		{"nothing", LastTurn, nil, "", true, ""},
		{"header lines", LastTurn, []string{header}, "", true, ""},
		{"a prompt", LastTurn, []string{prompt}, "", false, "one"},
		{"a thought", LastTurn, []string{prompt, thought}, "", false, "one"},
		{"an answer", LastTurn, []string{prompt, thought, text}, "hello", true, "one"},
		{"half an answer", LastTurn, []string{prompt, text[:len(text)-9]}, "", false, "one"},
		{"a call", LastTurn, []string{prompt, text, call}, "hello", false, "one"},
		{"before a call", LastTurn, []string{prompt, before}, "I look", false, "one"},
		{"a result", LastTurn, []string{prompt, before, call, result}, "I look", false, "one"},
		{"an answer after a call", LastTurn, []string{prompt, before, call, result, text}, "hello", true, "one"},
		{"the next prompt", LastTurn, []string{prompt, text, prompt}, "", false, "one"},
		{"the next prompt by a hook", LastTurn, []string{prompt, text, fed}, "", false, "Stop hook feedback: two"},
		{"a text taken in the turn", LastTurn, []string{prompt, call, result, queued}, "", false, "one, three"},
		{"a sub-agent's text", LastTurn, []string{prompt, call, sub}, "", false, "one"},
		{"broken off", LastTurn, []string{prompt, text, broken}, "", true, ""},
		{"a failed call of the model", LastTurn, []string{prompt, failed}, "", false, "one"},
		{"compacted at rest", LastTurn, []string{prompt, text, compact, summary}, "hello", true, "one"},
		{"compacted in the turn", LastTurn, []string{prompt, call, result, compact, summary}, "", false, "one"},
		{"codex: a thread", LastCodexTurn, []string{`{"type":"session_meta"}`}, "", true, ""},
		{"codex: in a turn", LastCodexTurn, []string{began, spoke}, "", false, ""},
		{"codex: over", LastCodexTurn, []string{began, user, spoke, complete}, "hello", true, "one"},
		{"codex: over without a text", LastCodexTurn, []string{began, spoke, complete, began, silent}, "", true, ""},
		{"codex: the next turn", LastCodexTurn, []string{began, user, spoke, complete, began}, "", false, ""},
		{"codex: broken off", LastCodexTurn, []string{began, spoke, aborted}, "", true, ""},
	} {
		path := filepath.Join(t.TempDir(), "t.jsonl")
		if err := os.WriteFile(path, []byte(strings.Join(c.lines, "\n")), 0o600); err != nil {
			t.Fatal(err)
		}
		given, said, over := c.last(path)
		if is := strings.Join(given, ", "); said != c.said || over != c.over || is != c.given {
			t.Errorf("%s: %q, %q, %v", c.name, is, said, over)
		}
	}
	if _, said, over := LastTurn(filepath.Join(t.TempDir(), "none")); said != "" || !over {
		t.Error("a missing file has a turn")
	}
}
