package run_test

import (
	"testing"
	"time"

	"cmux/agents/runs/run"
	"cmux/dag"
)

func TestCollisions(t *testing.T) {
	g, _, err := dag.Parse("f.yaml", []byte(`
session: s
defaults: {agent: command}
agents:
  - {name: a, task: x}
  - {name: b, task: x}
  - {name: c, task: x}
  - {name: look, role: review, task: x}
`), dag.ParseOptions{})
	if err != nil {
		t.Fatal(err)
	}
	h := run.NewHistory(g)
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	apply := func(r run.Record) {
		now = now.Add(time.Second)
		r.At = now
		h.Apply(&r)
	}
	meet := func(a, b string, files ...string) {
		apply(run.Record{Type: run.Collided, Collision: &run.Collision{A: a, B: b, Files: files}})
	}
	stand := func(want string) {
		t.Helper()
		got := ""
		for _, c := range h.Standing() {
			got += c.A + c.B + " "
		}
		if got != want {
			t.Errorf("standing %q, want %q", got, want)
		}
	}
	started := func(n string, attempt int) { apply(run.Record{Type: run.Started, Node: n, Attempt: attempt}) }
	for _, n := range []string{"a", "b", "c"} {
		started(n, 1)
	}
	meet("b", "c", "f")
	meet("a", "c", "f")
	stand("ac bc ")
	first := h.Collision("b", "c").Since
	meet("b", "c", "f", "g")
	if c := h.Collision("b", "c"); !c.Since.Equal(first) || !c.At.Equal(now) || len(c.Files) != 2 {
		t.Errorf("%+v", c)
	}
	before := h.Collisions
	meet("a", "c")
	stand("bc ")
	if before[1].Over() {
		t.Error("what was looked at before has changed")
	}
	apply(run.Record{Type: run.AttemptEnd, Node: "b", Attempt: 1, End: &run.End{Outcome: dag.Done}})
	stand("bc ") // what is done is still to be merged
	apply(run.Record{Type: run.AttemptEnd, Node: "c", Attempt: 1, End: &run.End{Outcome: dag.Failed, Reason: dag.ReasonChecks}})
	stand("")
	apply(run.Record{Type: run.Reset, Node: "c"})
	stand("bc ")
	meet("a", "gone", "f") // which an update removed
	stand("bc ")
	if c := h.Collision("a", "b"); c != nil {
		t.Errorf("a and b never met: %+v", c)
	}
}

func TestCollisionInWords(t *testing.T) {
	for _, c := range []struct {
		c    run.Collision
		want string
	}{
		{run.Collision{Files: []string{"f"}}, "a and b both change f; a merge would not conflict"},
		{run.Collision{Files: []string{"f", "g"}, Conflicts: []string{"g"}}, "a and b both change f, g; a merge would conflict in g"},
		{run.Collision{Files: []string{"1", "2", "3", "4"}, More: 5, Conflicts: []string{"1", "2", "3", "4"}},
			"a and b both change 1, 2, 3 and 6 more; a merge would conflict in 1, 2, 3 and 1 more"},
		{run.Collision{Files: []string{"f"}, Uncommitted: []string{"f"}}, "a and b both change f; only one has committed f"},
		{run.Collision{Files: []string{"f", "g"}, Uncommitted: []string{"f"}}, "a and b both change f, g; a merge would not conflict; only one has committed f"},
		{run.Collision{Files: []string{"f"}, Unknown: "why"}, "a and b both change f; whether a merge would conflict is not known: why"},
	} {
		c.c.A, c.c.B = "a", "b"
		if got := c.c.String(); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
