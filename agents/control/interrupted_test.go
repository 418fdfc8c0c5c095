package control

import (
	"errors"
	"testing"

	"cmux/agents/control/commands"
	"cmux/dag"
)

func TestUndo(t *testing.T) {
	s := begun(t, chain)
	never := func(line string) { t.Errorf("told %q", line) }
	err := s.Commands().Undo(t.Context(), commands.Launch{Run: s.run, Resumed: true}, never)
	refused(t, err, "interrupted: nothing was started", "cmux agents resume")
	if !errors.Is(err, commands.ErrInterrupted) {
		t.Errorf("%v is no interrupt", err)
	}
	err = s.Commands().Undo(t.Context(), commands.Launch{Run: s.run}, never)
	refused(t, err, "interrupted: run "+s.run.Plan.ID+" was made and is stopped", "cmux agents resume, or cmux agents start --new")
	if v, err := s.Runs().View(t.Context()); err != nil || v.RunState != dag.RunStopped {
		t.Errorf("%+v, %v", v, err)
	}
	err = commands.StillRunning(s.run, errors.New("it does not end"))
	refused(t, err, "interrupted: run "+s.run.Plan.ID+" is running: it does not end", "cmux agents stop, which ends it, or cmux agents attach")
}
