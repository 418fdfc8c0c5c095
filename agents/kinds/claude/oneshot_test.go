package claude_test

import (
	"context"
	"errors"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"cmux/agents/kinds"
	"cmux/agents/kinds/agent"
	mt "cmux/agents/testkit/modeltest"
)

const greeting = `{"type":"object","properties":{"hello":{"type":"string"}},"required":["hello"],"additionalProperties":false}`

// The real program answers a single question in the form of the schema; an answer in another
// form, or none in time, is an error, and nothing of it stays behind.
func TestAsk(t *testing.T) {
	if testing.Short() {
		t.Skip("make test-all runs it")
	}
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	server := mt.New(t,
		mt.Script{Name: "good", Match: "question one", Turns: []mt.Turn{{mt.ToolUse{Name: "StructuredOutput", Input: map[string]string{"hello": "world"}}}}},
		mt.Script{Name: "bad", Match: "question two", Turns: []mt.Turn{{mt.Text(`{"hello": 1}`)}, {mt.Text("no")}, {mt.Text("no")}, {mt.Text("no")}}},
		mt.Script{Name: "late", Match: "question three", Turns: []mt.Turn{{mt.Hold("never"), mt.Text("x")}}},
	)
	home := mt.Env(t, server)
	ask := func(ctx context.Context, text string) (*agent.Answer, error) {
		return kinds.Ask(ctx, "claude", agent.Question{Rules: "Answer.", Text: text, Schema: []byte(greeting), Model: "haiku", Env: home.Env})
	}
	a, err := ask(t.Context(), "question one")
	if err != nil || string(a.JSON) != `{"hello":"world"}` || a.Tokens < 1 {
		t.Errorf("%+v, %v", a, err)
	}
	for _, r := range server.Requests() {
		for _, tool := range r.Tools {
			if tool != "StructuredOutput" && tool != "DeferredToolPlaceholder" { // the second does nothing
				t.Errorf("it has the tool %s", tool)
			}
		}
	}
	if _, err := ask(t.Context(), "question two"); !errors.Is(err, agent.ErrForm) {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		server.WaitHeld(t, "never", 1)
		cancel()
	}()
	began := time.Now()
	if _, err := ask(ctx, "question three"); !errors.Is(err, context.Canceled) || time.Since(began) > 20*time.Second {
		t.Errorf("%v after %s", err, time.Since(began))
	}
	if left, err := filepath.Glob(filepath.Join(temporary, "cmux-ask-*")); err != nil || len(left) > 0 {
		t.Errorf("%q, %v", left, err)
	}
	if _, err := kinds.Ask(t.Context(), "claude", agent.Question{Env: []string{"PATH=" + t.TempDir()}}); !errors.Is(err, exec.ErrNotFound) {
		t.Error(err)
	}
	if _, err := kinds.Ask(t.Context(), "codex", agent.Question{}); !errors.Is(err, kinds.ErrNoAsk) {
		t.Error(err)
	}
}
