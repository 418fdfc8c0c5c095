package card

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"cmux/agents/org/task"
	"cmux/agents/runs/run"
	"cmux/dag"
)

const node = "20260101-000000.000-abcdef/t1-a"

// stands are the stands of a node that a task may follow.
func stands() []Stand {
	done, failed := &run.End{Outcome: dag.Done, Tip: "c1", Commits: 1}, &run.End{Outcome: dag.Failed, Reason: dag.ReasonChecks, Detail: "make test"}
	return []Stand{
		{State: task.Assigned}, {State: task.Working}, {State: task.Checking}, {State: task.NeedsInput, Reason: "which?"}, {State: task.NeedsInput, Reason: "and now?"},
		{State: task.Limited, Until: time.Unix(9, 0).UTC()}, {State: task.Paused, Reason: "lost"}, {State: task.Blocked, Reason: "t0 failed"},
		{State: task.Failed, End: failed}, {State: task.Failed, End: &run.End{Outcome: dag.Failed, Reason: dag.ReasonExit, Exit: 2}},
		{State: task.Blocked, End: &run.End{Outcome: dag.Failed, Reason: dag.ReasonReported, Detail: "no key"}}, {State: task.Done, End: done}, {State: task.Done, Override: true, Reason: "by hand"},
	}
}

// A task gets where its node stands from wherever it is, by legal changes, and then stands
// there: a second look changes nothing. Taken from it, it is in the backlog.
func TestToward(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l, title, backlog := new(task.List), "a", true
		step := func(all []task.Change) {
			for _, c := range all {
				if err := l.Step(c); err != nil {
					t.Fatalf("%+v: %v", c, err)
				}
			}
		}
		step([]task.Change{{Task: "t1", Op: task.OpAdd, Fields: task.Fields{Title: &title, Backlog: &backlog, Card: &task.Card{Room: "r"}}}})
		for range rapid.IntRange(1, 8).Draw(t, "looks") {
			if rapid.IntRange(0, 5).Draw(t, "back") == 0 {
				step(Back(l.Get("t1")))
				if now := l.Get("t1"); now.State != task.Done && (now.State != task.Open || !now.Backlog || now.Agent != "") {
					t.Fatalf("it went back and is %+v", now)
				}
				continue
			}
			s := rapid.SampledFrom(stands()).Draw(t, "stand")
			was := l.Get("t1")
			step(Toward(was, node, s))
			now := l.Get("t1")
			if more := Toward(now, node, s); len(more) > 0 {
				t.Fatalf("a second look at %+v changes %+v", s, more)
			}
			if was.State == task.Done {
				continue
			}
			if now.State != s.State || s.End == nil && !s.Override && (now.Agent != node || !now.Until.Equal(s.Until)) {
				t.Fatalf("at %+v it is %+v", s, now)
			}
			if s.End != nil && !SameEnd(now.Result(), s.End) {
				t.Fatalf("its verdict is %+v, not %+v", now.Result(), s.End)
			}
		}
	})
}

// Each try of a node that is judged is a try at the task; what one needed is not lost.
func TestTries(t *testing.T) {
	l, title := new(task.List), "a"
	all := stands()
	look := func(s Stand) {
		for _, c := range Toward(l.Get("t1"), node, s) {
			if err := l.Step(c); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := l.Step(task.Change{Task: "t1", Op: task.OpAdd, Fields: task.Fields{Title: &title}}); err != nil {
		t.Fatal(err)
	}
	for _, i := range []int{0, 1, 3, 1, 2, 8, 8, 0, 1, 2, 11, 11} {
		look(all[i])
	}
	got := l.Get("t1")
	if len(got.Attempts) != 2 || got.Attempts[0].End.Detail != "make test" || got.Attempts[1].End.Tip != "c1" || got.State != task.Done || got.Tip() != "c1" {
		t.Errorf("%+v", got)
	}
}

// How a card stands says its node's stand, and who does something about it.
func TestNodeLabel(t *testing.T) {
	c := Joins(task.Card{Room: "r", Implementer: "ada", Reviewer: "bob", Waits: "no worker"}, node)
	tk := &task.Task{ID: "t1", Card: &c, State: task.Open}
	if tk.Column(tk) != task.InImplementing || c.Waits != "" {
		t.Errorf("%s, %+v", tk.Column(tk), c)
	}
	c.Stands, c.Way, c.Stuck, tk.State = "t1-a needs input: which?", "cmux agents answer t1-a TEXT", "t1-a", task.NeedsInput
	if want := "t1-a needs input: which? (cmux agents answer t1-a TEXT)"; tk.CardLabel(tk) != want || tk.NeedsPerson(tk) != want {
		t.Errorf("%q, %q", tk.CardLabel(tk), tk.NeedsPerson(tk))
	}
	for name, from := range map[string]struct {
		card task.Card
		want task.Column
	}{
		"from the backlog": {task.Card{Implementer: "ada"}, task.InBacklog},
		"with its plan":    {task.Card{Implementer: "ada", Planner: "bob", Plan: 7, Phase: task.Implementing, Hold: true}, task.InBacklog},
	} {
		before := &task.Task{ID: "t1", Card: &from.card, State: task.Open, Backlog: true}
		after := Leaves(Joins(from.card, node))
		back := &task.Task{ID: "t1", Card: &after, State: task.Open, Backlog: true}
		if why, _ := Decided(back, back); back.Column(back) != from.want || why != "" || after != from.card {
			t.Errorf("%s: %s, %q, %+v; it was %s", name, back.Column(back), why, after, before.CardLabel(before))
		}
	}
	if NodeName(node) != "t1-a" || !strings.Contains(node, "/") {
		t.Error(NodeName(node))
	}
}
