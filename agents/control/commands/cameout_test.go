package commands

import (
	"errors"
	"strings"
	"testing"

	"cmux/agents/control/runs"
	"cmux/agents/runs/run/runtest"
	"cmux/dag"
	"cmux/worktree/hint"
)

func TestCameOut(t *testing.T) {
	v := runtest.Everything(t)
	for _, c := range []struct {
		state     dag.RunState
		brokenOff bool
		text, try string
	}{
		{dag.RunDone, true, "", ""},
		{dag.RunFailed, false, runs.ErrUnfinished.Error(), ""},
		{dag.RunStopped, false, "the run is stopped", "cmux agents resume"},
		{dag.RunStopped, true, "web, slow, flaky did not end within 30s of being told to", "cmux agents stop"},
	} {
		err := cameOut(v, c.state, c.brokenOff)
		if text, try := hint.Explain(err); text != c.text || try != c.try {
			t.Errorf("%q, try %q; want %q, try %q", text, try, c.text, c.try)
		}
		if c.brokenOff && err != nil && !errors.Is(err, ErrInterrupted) {
			t.Errorf("%v is no interrupt", err)
		}
	}
	over := runtest.View(t, "session: s\nagents: [{name: a, agent: command, task: 'true'}]")
	if err := cameOut(over, dag.RunStopped, true); !errors.Is(err, ErrInterrupted) || !strings.Contains(err.Error(), "interrupted") {
		t.Error(err)
	}
}
