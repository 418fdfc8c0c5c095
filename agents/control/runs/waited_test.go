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
	name := func(n string) int { return v.Run.Plan.Graph.Index(n) }
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
		node     int
		orphaned bool
		more     bool
		code     int
	}{
		{"a done node", v, name("schema"), false, false, 0},
		{"an overridden node", v, name("docs"), false, false, 0},
		{"a failed node", v, name("api"), false, false, 3},
		{"a blocked node", v, name("audit"), false, false, 3},
		{"a running node", v, name("flaky"), false, true, 0},
		{"a running node without a runner", alone, name("flaky"), true, true, 0},
		{"a run under way", v, -1, false, true, 0},
		{"a run whose runner is being replaced", alone, -1, false, true, 0},
		{"a run without a runner", alone, -1, true, false, 1},
		{"a gate without a runner", alone, name("release"), true, false, 1},
		{"a stopped run", stopped, -1, false, false, 1},
		{"a done run", done, -1, false, false, 0},
		{"a done run whose runner stays", &leaving, -1, false, false, 0},
		{"a failed run", failed, -1, false, false, 3},
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
