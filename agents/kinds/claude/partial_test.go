package claude

import (
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"cmux/agents/kinds/agent"
	"cmux/agents/records/event"
	"cmux/agents/records/unfinished"
	"cmux/dag"
	"cmux/signals"
)

// What the program prints of an answer in pieces is what the agent is writing, and nothing
// else: no event, no tokens, no line of the log.
func TestPartialMessages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		root := t.TempDir()
		if err := errors.Join(signals.Init(root), signals.MkdirAll(unfinished.Dir(root), 0o700)); err != nil {
			t.Fatal(err)
		}
		text := unfinished.New(root, "design.ada")
		defer text.Close()
		var log writes
		stage := &agent.Stage{Out: &log, Lines: new(event.Printer), Unfinished: text}
		a := &instance{stage: stage}
		a.follow = newFollower(a)
		s := &stream{agent: a}
		for _, step := range []struct {
			line string // of standard output; empty: the transcript has the text
			want string
		}{
			{`{"type":"stream_event","event":{"type":"message_start","message":{"id":"m","usage":{"input_tokens":100,"output_tokens":1}}},"parent_tool_use_id":null}`, ""},
			{`{"type":"stream_event","event":{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":""}}}`, ""},
			{`{"type":"stream_event","event":{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Hm."}}}`, ""},
			{`{"type":"stream_event","event":{"type":"content_block_stop","index":0}}`, ""},
			{`{"type":"stream_event","event":{"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}}`, ""},
			{`{"type":"stream_event","event":{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"Post"}}}`, "Post"},
			{`{"type":"stream_event","event":{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a sub-agent's"}},"parent_tool_use_id":"toolu_1"}`, "Post"},
			{`{"type":"stream_event","event":{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"gres."}}}`, "Postgres."},
			{`{"type":"stream_event","event":{"type":"content_block_stop","index":1}}`, "Postgres."},
			{`{"type":"stream_event","event":{"type":"content_block_start","index":2,"content_block":{"type":"tool_use","name":"Read"}}}`, "Postgres."},
			{`{"type":"stream_event","event":{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"{\"text\":"}}}`, "Postgres."},
			{`{"type":"stream_event","event":7}`, "Postgres."},
			{`{"type":"stream_event"}`, "Postgres."},
			{`{"type":"stream_event","event":{"type":"message_delta","usage":{"output_tokens":20}}}`, "Postgres."},
			{"", ""},
		} {
			if step.line == "" {
				stage.Keep(event.Event{Kind: event.Text, Text: "Postgres."})
			} else {
				fmt.Fprintln(s, step.line)
			}
			time.Sleep(unfinished.Every) // of the bubble's clock
			synctest.Wait()
			if p, err := unfinished.Read(filepath.Join(unfinished.Dir(root), "design.ada")); err != nil || p.Text != step.want {
				t.Errorf("%s: %q (%v), want %q", step.line, p.Text, err, step.want)
			}
		}
		if log != 0 || len(a.follow.early) != 0 || a.follow.used != (dag.Usage{}) {
			t.Errorf("%d lines in the log, used %v", log, a.follow.early)
		}
	})
}

type writes int

func (w *writes) Write(p []byte) (int, error) { *w++; return len(p), nil }
