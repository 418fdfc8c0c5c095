package claude_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cmux/agents/runs/run"
	mt "cmux/agents/testkit/modeltest"
	"cmux/dag"
)

// Claude Code refuses a conversation of which it has no more than header lines, and
// one whose answer belongs to nothing. The agent begins a new conversation, is told
// its whole task, and the records say so.
func TestRefusedConversation(t *testing.T) {
	t.Parallel()
	const (
		conversation = "15e7c685-ff2f-4cc5-aeee-39ef8d0177c9"
		header       = `{"type":"mode","mode":"normal","sessionId":"` + conversation + `"}` + "\n" +
			`{"type":"permission-mode","permissionMode":"auto","sessionId":"` + conversation + `"}` + "\n"
		stray = `{"type":"assistant","message":{"id":"m","model":"m","role":"assistant","content":[]}}` + "\n"
	)
	for _, c := range []struct{ name, transcript, note string }{
		{"header lines", header, "cannot be resumed"},
		{"no conversation", header + stray, "No conversation found"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, node("work", func(n *dag.Node) { n.Role = dag.RoleReview }),
				mt.Script{Name: "work", Turns: []mt.Turn{{mt.Report("read")}, {mt.Text("end")}}})
			dir := filepath.Join(f.home.Claude, "projects", "-x")
			if err := os.MkdirAll(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, conversation+".jsonl"), []byte(c.transcript), 0o600); err != nil {
				t.Fatal(err)
			}
			f.Again(conversation)
			f.start()()
			end := f.Ended()
			if end.Outcome != dag.Done || end.Summary != "read" || end.Conversation == "" || end.Conversation == conversation {
				t.Errorf("it ended as %+v", *end)
			}
			told := ""
			for _, r := range f.Records() {
				if r.Type == run.Noted {
					told += r.Detail + "\n"
				}
			}
			if !strings.Contains(told, conversation) || !strings.Contains(told, c.note) {
				t.Errorf("recorded: %q", told)
			}
		})
	}
}
