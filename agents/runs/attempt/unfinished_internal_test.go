package attempt

import (
	"errors"
	"io"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"cmux/agents/kinds/agent"
	"cmux/agents/records/event"
	"cmux/agents/records/unfinished"
	"cmux/agents/runs/attempt/output"
	"cmux/agents/runs/run"
	"cmux/dag"
	"cmux/signals"
)

// Whatever ends a turn, nothing that was being written in it is left.
func TestUnfinishedEndsWithTheTurn(t *testing.T) {
	for act, want := range map[dag.Activity]string{dag.Working: "half", dag.Resting: "", dag.AtLimit: "", dag.NeedsInput: "", dag.TakenOver: ""} {
		synctest.Test(t, func(t *testing.T) {
			root := t.TempDir()
			if err := errors.Join(signals.Init(root), signals.MkdirAll(unfinished.Dir(root), 0o700)); err != nil {
				t.Fatal(err)
			}
			stage := &agent.Stage{Unfinished: unfinished.New(root, "design.ada"), Out: io.Discard, Lines: new(event.Printer)}
			defer stage.Unfinished.Close()
			p := progress{reporter: &reporter{out: output.New(io.Discard), events: stage, append: func(run.Record) error { return nil }}, budget: newStopwatch(0)}
			stage.Unfinished.Say("half")
			if err := p.become(act, time.Time{}, ""); err != nil {
				t.Fatal(err)
			}
			time.Sleep(unfinished.Every) // of the bubble's clock
			synctest.Wait()
			if piece, err := unfinished.Read(filepath.Join(unfinished.Dir(root), "design.ada")); err != nil || piece.Text != want {
				t.Errorf("%v: %q (%v), want %q", act, piece.Text, err, want)
			}
		})
	}
}
