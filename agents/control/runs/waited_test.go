package runs

import (
	"errors"
	"testing"

	"cmux/agents/runs/run"
	"cmux/agents/runs/run/runtest"
	"cmux/dag"
)

func TestWaited(t *testing.T) {
	v := runtest.Everything(t)
	done := runtest.View(t, "session: s\nagents: [{name: a, agent: command, task: 'true'}]",
		run.Record{Type: run.Overridden, Node: "a", How: run.HowTouched, At: runtest.Noon})
	failed := runtest.View(t, "session: s\nagents: [{name: a, agent: command, task: 'true'}]",
		run.Record{Type: run.Started, Node: "a", Attempt: 1, At: runtest.Noon},
		run.Record{Type: run.AttemptEnd, Node: "a", Attempt: 1, At: runtest.Noon, End: &run.End{Outcome: dag.Failed, Exit: 4}})
	alone := runtest.Everything(t)
	alone.Holder, alone.RunState = nil, dag.RunNoRunner
	leaving := *done
	leaving.Holder = v.Holder
	stopped := runtest.Everything(t)
	stopped.Holder, stopped.RunState = nil, dag.RunStopped
	for _, c := range []struct {
		what     string
		v        *run.View
		node     string
		orphaned bool
		more     bool
		code     int
	}{
		{"a done node", v, "schema", false, false, 0},
		{"an overridden node", v, "docs", false, false, 0},
		{"a failed node", v, "api", false, false, 3},
		{"a blocked node", v, "audit", false, false, 3},
		{"a running node", v, "flaky", false, true, 0},
		{"a running node without a runner", alone, "flaky", true, true, 0},
		{"a node that an update took out", v, "gone", false, false, 1},
		{"a run under way", v, "", false, true, 0},
		{"a run whose runner is being replaced", alone, "", false, true, 0},
		{"a run without a runner", alone, "", true, false, 1},
		{"a gate without a runner", alone, "release", true, false, 1},
		{"a stopped run", stopped, "", false, false, 1},
		{"a done run", done, "", false, false, 0},
		{"a done run whose runner stays", &leaving, "", false, false, 0},
		{"a failed run", failed, "", false, false, 3},
	} {
		err, more := Waited(c.v, c.node, c.orphaned)
		if more != c.more || !more && code(err) != c.code {
			t.Errorf("%s: %v, more %v; want exit code %d, more %v", c.what, err, more, c.code, c.more)
		}
	}
}

// code is the exit code that a wait's outcome stands for.
func code(err error) int {
	switch {
	case err == nil:
		return 0
	case errors.Is(err, ErrUnfinished):
		return 3
	}
	return 1
}
