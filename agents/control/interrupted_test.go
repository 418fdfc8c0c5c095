package control

import (
	"errors"
	"strings"
	"testing"

	"cmux/agents/control/runs"
	"cmux/agents/runs/run/runtest"
	"cmux/dag"
)

func TestUndo(t *testing.T) {
	s := begun(t, chain)
	never := func(line string) { t.Errorf("told %q", line) }
	err := s.Undo(t.Context(), Launch{Run: s.run, Resumed: true}, never)
	refused(t, err, "interrupted: nothing was started", "cmux agents resume")
	if !errors.Is(err, ErrInterrupted) {
		t.Errorf("%v is no interrupt", err)
	}
	err = s.Undo(t.Context(), Launch{Run: s.run}, never)
	refused(t, err, "interrupted: run "+s.run.Plan.ID+" was made and is stopped", "cmux agents resume, or cmux agents start --new")
	if v, err := s.Runs().View(t.Context()); err != nil || v.RunState != dag.RunStopped {
		t.Errorf("%+v, %v", v, err)
	}
	err = StillRunning(s.run, errors.New("it does not end"))
	refused(t, err, "interrupted: run "+s.run.Plan.ID+" is running: it does not end", "cmux agents stop, which ends it, or cmux agents attach")
}

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
		refused(t, err, c.text, c.try)
		if c.brokenOff && err != nil && !errors.Is(err, ErrInterrupted) {
			t.Errorf("%v is no interrupt", err)
		}
	}
	over := runtest.View(t, "session: s\nagents: [{name: a, agent: command, task: 'true'}]")
	if err := cameOut(over, dag.RunStopped, true); !errors.Is(err, ErrInterrupted) || !strings.Contains(err.Error(), "interrupted") {
		t.Error(err)
	}
}
