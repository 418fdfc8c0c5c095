package run_test

import (
	"slices"
	"testing"

	"cmux/agents/runs/run"
	"cmux/agents/runs/run/runtest"
	"cmux/dag"
)

// Which conversation an attempt resumes, and which text of a person its agent
// gets.
func TestSentBack(t *testing.T) {
	start := func(n int, conversation string) []run.Record {
		return []run.Record{{Type: run.Started, Node: "a", Attempt: n}, {Type: run.Conversed, Node: "a", Attempt: n, Conversation: conversation}}
	}
	end := func(n int, o dag.Outcome, retry bool) run.Record {
		return run.Record{Type: run.AttemptEnd, Node: "a", Attempt: n, End: &run.End{Outcome: o, Retry: retry}}
	}
	back := run.Record{Type: run.Reset, Node: "a", Comment: "more"}
	one := func(recs ...run.Record) []run.Record { return recs }
	all := slices.Concat[[]run.Record]
	done := all(start(1, "one"), one(end(1, dag.Done, false)))
	twice := all(done, one(back), start(2, "one"), one(end(2, dag.Done, false)))
	for _, c := range []struct {
		name           string
		recs           []run.Record
		next           int // attempt
		goesOnIn, said string
	}{
		{"run again", all(done, one(run.Record{Type: run.Reset, Node: "a"})), 2, "", ""},
		{"sent back", all(done, one(back)), 2, "one", "more"},
		{"sent back, and lost", all(done, one(back), start(2, "one"), one(run.Record{Type: run.Vanished, Node: "a", Attempt: 2, How: run.HowLost})), 3, "one", "more"},
		{"sent back, and failed: a new conversation that gets the comment all the same", all(done, one(back), start(2, "one"), one(end(2, dag.Failed, true))), 3, "", "more"},
		{"sent back twice", all(twice, one(run.Record{Type: run.Reset, Node: "a", Comment: "still more"})), 3, "one", "still more"},
		{"sent back, then run again", all(twice, one(run.Record{Type: run.Reset, Node: "a"})), 3, "", ""},
		{"approved since", all(twice, one(run.Record{Type: run.Reviewed, Node: "a", How: "approved", Tip: "x"})), 3, "", ""},
		{"what failed is sent back", all(start(1, "one"), one(end(1, dag.Failed, false), back)), 2, "one", "more"},
	} {
		v := runtest.View(t, "session: s\nagents:\n  - {name: a, task: x}\n", c.recs...)
		n := v.Nodes[0]
		if got := n.Resumable(c.next); got != c.goesOnIn || n.Said() != c.said {
			t.Errorf("%s: in %q, told %q; want %q, %q", c.name, got, n.Said(), c.goesOnIn, c.said)
		}
	}
}
