package attempt

import (
	"errors"
	"io"
	"slices"
	"testing"

	"cmux/agents/kinds/agent"
	"cmux/agents/kinds/news"
	"cmux/agents/records/event"
	"cmux/agents/runs/attempt/output"
	"cmux/agents/runs/conversation"
	"cmux/agents/runs/owner"
	"cmux/agents/runs/run"
	"cmux/dag"
)

// What a turn said is recorded before the program hears anything: a wrapper that crashes
// at that record has told it nothing, and what waits for the agent still waits.
func TestTurnSaidIsRecordedFirst(t *testing.T) {
	crash := errors.New("crash")
	for _, at := range []run.Type{"", run.Replied} {
		var happened []string
		a := &attempt{
			loop: loop{ctx: t.Context()}, out: output.New(io.Discard), job: new(Job),
			assignment: assignment{kind: agent.Kind{Judge: true}, node: &dag.Node{Name: "api"}, stage: &agent.Stage{Out: io.Discard, Lines: new(event.Printer)},
				spec: &run.Spec{Node: "api", Terms: owner.Terms{Stays: true, Replies: true}}},
		}
		a.reporter = &reporter{out: a.out, events: a.stage, append: func(r run.Record) error {
			if r.Type == run.Replied {
				happened = append(happened, "recorded "+r.Key+" "+r.Detail)
			}
			if r.Type == at {
				return crash
			}
			return nil
		}}
		a.progress.reporter, a.staying.reporter, a.compaction.reporter = a.reporter, a.reporter, a.reporter
		a.progress.budget = newStopwatch(0)
		a.open()
		defer a.clocks.stop()
		for _, what := range []conversation.What{
			conversation.Begin{}, conversation.Started{Quiet: true}, conversation.Tell{ID: "m1", Text: "one"}, conversation.Delivered{},
		} {
			if err := a.feed(what); err != nil {
				t.Fatal(err)
			}
		}
		hook := Message{Op: OpHook}.WithReply(func(Reply) error { happened = append(happened, "told"); return nil })
		err := a.react(news.TurnEnded{Said: "hi", Hold: true}, a.callers.hold(&hook))
		want := []string{"recorded m1 hi", "told"}
		if at != "" {
			want = want[:1]
		}
		if errors.Is(err, crash) != (at != "") || !slices.Equal(happened, want) {
			t.Errorf("a crash at %q: %v, %q, not %q", at, err, happened, want)
		}
	}
}
