package transcript

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Only an answer of the model proves that a conversation can be resumed.
func TestHoldsAnswer(t *testing.T) {
	const (
		header  = `{"type":"mode","mode":"normal","sessionId":"S"}` + "\n" + `{"type":"file-history-snapshot","messageId":"m","snapshot":{}}`
		said    = `{"parentUuid":null,"isSidechain":false,"type":"user","message":{"role":"user","content":"the word \"assistant\" and {\"type\":\"assistant\"}"}}`
		answer  = `{"isSidechain":false,"type":"assistant","message":{"id":"msg_1","model":"m","role":"assistant","content":[{"type":"text","text":"hello"}]}}`
		sub     = `{"isSidechain":true,"type":"assistant","message":{"id":"msg_1","model":"m","role":"assistant","content":[{"type":"text","text":"hello"}]}}`
		failed  = `{"isApiErrorMessage":true,"type":"assistant","message":{"model":"<synthetic>","role":"assistant","content":[{"type":"text","text":"API Error"}]}}`
		session = `{"type":"session_meta","payload":{"id":"S"}}`
		prompt  = `{"type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"assistant"}]}}`
		spoke   = `{"type":"response_item","payload":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"hello"}]}}`
		called  = `{"type":"response_item","payload":{"type":"function_call","name":"exec_command"}}`
		output  = `{"type":"response_item","payload":{"type":"function_call_output"}}`
		turn    = `{"type":"event_msg","payload":{"type":"task_started"}}`
	)
	long := strings.Replace(said, "the word", strings.Repeat("x", 1<<20), 1)
	for _, c := range []struct {
		name  string
		holds func(string) bool
		lines []string
		want  bool
	}{
		{"nothing", HoldsAnswer, nil, false},
		{"header lines", HoldsAnswer, []string{header}, false},
		{"a prompt", HoldsAnswer, []string{header, said, header}, false},
		{"an answer", HoldsAnswer, []string{header, said, answer}, true},
		{"an answer after a long line", HoldsAnswer, []string{header, long, answer}, true},
		{"half an answer", HoldsAnswer, []string{header, said, answer[:len(answer)/2]}, false},
		{"a sub-agent's answer", HoldsAnswer, []string{header, said, sub}, false},
		{"a failed call", HoldsAnswer, []string{header, said, failed}, false},
		{"an answer after a failed call", HoldsAnswer, []string{header, said, failed, said, answer}, true},
		{"no transcript", HoldsAnswer, []string{"assistant", `{"type":1}`, ""}, false},
		{"codex: a thread", HoldsCodexAnswer, []string{session, turn}, false},
		{"codex: a prompt", HoldsCodexAnswer, []string{session, turn, prompt}, false},
		{"codex: an answer", HoldsCodexAnswer, []string{session, prompt, spoke}, true},
		{"codex: a call", HoldsCodexAnswer, []string{session, prompt, called, output}, true},
		{"codex: half a call", HoldsCodexAnswer, []string{session, prompt, called[:len(called)-5]}, false},
	} {
		path := filepath.Join(t.TempDir(), "t.jsonl")
		if err := os.WriteFile(path, []byte(strings.Join(c.lines, "\n")), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := c.holds(path); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
	if missing := filepath.Join(t.TempDir(), "none"); HoldsAnswer(missing) || HoldsCodexAnswer(missing) {
		t.Error("a missing file holds an answer")
	}
}
