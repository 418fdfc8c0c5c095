package control

import (
	"strings"
	"testing"
	"time"

	"cmux/agents/control/crew"
	"cmux/agents/org/standing"
	"cmux/agents/org/task"
	"cmux/agents/runs/run"
	"cmux/dag"
)

// A clone is merged when it rests, and with nothing on its branch that was
// rejected: what the messages name as the way out is one.
func TestMergeable(t *testing.T) {
	s := organized(t, standing.Settings{}, "api-clone-1")
	now := time.Now()
	clone := func(activity dag.Activity) *standing.Agent {
		a := &standing.Agent{Name: "api-clone-1"}
		for _, rec := range []run.Record{
			{Type: run.Joined, Member: &run.Member{Name: "api-clone-1", Branch: "scratch/api-clone-1", CloneOf: "api"}},
			{Type: run.Started, Attempt: 1}, {Type: run.Began, Attempt: 1}, {Type: run.Active, Attempt: 1, Activity: activity},
		} {
			rec.At = now
			a.Apply(&rec)
		}
		return a
	}
	says := func(a *standing.Agent, want string) {
		t.Helper()
		list, err := s.TaskList()
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if err := crew.Mergeable(list, a, now); err != nil {
			got = err.Error()
		}
		if want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%q; want %q", got, want)
		}
	}
	says(clone(dag.Working), "is in the middle of a turn")
	says(clone(dag.Resting), "") // the same when it is idle

	branch := "scratch/api-clone-1"
	bad, err := s.Tasks().Add(t.Context(), task.Fields{Title: titleOf("bad"), Branch: &branch})
	if err != nil {
		t.Fatal(err)
	}
	s.attempts("api-clone-1", bad.ID, run.End{Outcome: dag.Failed, Reason: dag.ReasonChecks, Commits: 1})
	good, err := s.Tasks().Add(t.Context(), task.Fields{Title: titleOf("good"), Branch: &branch})
	if err != nil {
		t.Fatal(err)
	}
	s.attempts("api-clone-1", good.ID, run.End{Outcome: dag.Done, Commits: 1})
	says(clone(dag.Resting), "the task t1 of api-clone-1 failed")
	s.attempts("api-clone-1", bad.ID, run.End{Outcome: dag.Done, Commits: 1}) // it was assigned again, and mended
	says(clone(dag.Resting), "")
}
