package runs

import (
	"slices"
	"strings"
	"testing"

	"cmux/agents/runs/run"
	"cmux/agents/runs/run/runtest"
	"cmux/agents/testkit/agenttest/golden"
	"cmux/dag"
	"cmux/signals"
)

func TestNotices(t *testing.T) {
	v := runtest.Everything(t)
	v.Incidents = make([]run.Record, shownIncidents+2)
	for i := range v.Incidents {
		v.Incidents[i] = run.Record{Node: "web", Detail: "tried cmux agents approve release"}
	}
	for _, other := range []string{"b", "c", "d", "e"} {
		v.Collisions = append(v.Collisions, run.Collision{A: "a", B: other, Files: []string{"f"}})
	}
	v.Collisions[3].Conflicts = []string{"f"}
	v.Strays = []string{"relase.done", "wbe.done", "docs", "x", "y"}
	v.Holder, v.RunState = nil, dag.RunNoRunner
	v.Pending = make([]run.Request, 2)
	v.Full, v.ConfigChanged = "/disk", true
	var b strings.Builder
	for _, n := range Notices(v) {
		b.WriteString(n.Text + "\n")
	}
	golden.Equal(t, "notices.txt", b.String())
	v.Holder, v.Halted = &signals.Holder{PID: 42}, true
	if !slices.ContainsFunc(Notices(v), func(n Notice) bool {
		return n.Text == "a signal has stopped the runner, so nothing here changes: kill -CONT 42"
	}) {
		t.Errorf("of a runner that stands still: %v", Notices(v))
	}
	v.RunState = dag.RunFailed
	if !slices.ContainsFunc(Notices(v), func(n Notice) bool { return strings.HasPrefix(n.Text, "the disk is full: /disk (free some space: ") }) {
		t.Errorf("of a run that has ended: %v", Notices(v))
	}
}

func TestReport(t *testing.T) {
	r := NewReport(runtest.Everything(t))
	code := func(c *int) int {
		if c == nil {
			return -1
		}
		return *c
	}
	got := map[string]int{}
	for _, n := range r.Nodes {
		got[n.Name] = code(n.ExitCode)
	}
	for node, want := range map[string]int{"schema": 0, "api": 1, "docs": 0, "web": -1, "audit": 99, "tests": -1, "release": -1} {
		if got[node] != want {
			t.Errorf("the marker of %s holds %d, want %d", node, got[node], want)
		}
	}
	if c := Count(runtest.Everything(t)); c != (Tally{Done: 2, Failed: 1, Blocked: 1}) {
		t.Errorf("%+v", c)
	}
}
