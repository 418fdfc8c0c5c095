package attempt_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"cmux/agents/runs/attempt"
	"cmux/agents/runs/run"
	"cmux/dag"
)

// A failure and the events within the doubt: a signal to cmux itself withdraws the verdict,
// a person's decision comes first, and without either the verdict stands.
func TestVerdictIsHeld(t *testing.T) {
	long := attempt.Doubt{Signal: time.Minute, Other: time.Minute, Ending: time.Minute}
	short := attempt.Doubt{Signal: time.Millisecond, Other: time.Millisecond, Ending: time.Millisecond}
	for name, node := range map[string]dag.Node{
		"program":     {Task: "touch failed; kill -TERM $$"},
		"exit":        {Task: "touch failed; exit 2"},
		"check":       {Task: "true", Role: dag.RoleGate, Verify: []string{"touch failed; kill -TERM $$"}},
		"on_complete": {Task: "true", OnComplete: []string{"dance"}},
	} {
		t.Run(name, func(t *testing.T) {
			ended := func(f *fixture) {
				eventually(t, "it failed", func() bool {
					if name == "on_complete" {
						return true
					}
					_, err := os.Stat(filepath.Join(f.root, "failed"))
					return err == nil
				})
			}
			f := newFixture(t, node)
			f.job.Limits.Doubt = long
			ctx, cancel := context.WithCancelCause(t.Context())
			wait := f.start(ctx)
			ended(f)
			cancel(attempt.ErrInterrupted)
			if end, err := wait(); !errors.Is(err, attempt.ErrInterrupted) {
				t.Errorf("a signal within the doubt: %+v, %v", end, err)
			}
			for op, want := range map[attempt.Op]error{attempt.OpStop: attempt.ErrStopped, attempt.OpCancel: nil} {
				f := newFixture(t, node)
				f.job.Limits.Doubt = long
				wait := f.start(t.Context())
				ended(f)
				f.say(attempt.Message{Op: op})
				if end, err := wait(); !errors.Is(err, want) || want == nil && end.Outcome != dag.Cancelled {
					t.Errorf("%s within the doubt: %+v, %v", op, end, err)
				}
			}
			f = newFixture(t, node)
			f.job.Limits.Doubt = short
			if end := f.run(); end.Outcome != dag.Failed {
				t.Errorf("without a signal: %+v", end)
			}
			f.leaveNothing()
		})
	}
}

// A timeout is not a signal, and a success need not wait.
func TestNoDoubt(t *testing.T) {
	for name, c := range map[string]struct {
		node dag.Node
		want run.End
	}{
		"done":    {dag.Node{Task: "true"}, run.End{Outcome: dag.Done}},
		"timeout": {dag.Node{Task: "sleep 1000", Timeout: dag.Duration(50 * time.Millisecond)}, run.End{Outcome: dag.Failed, Reason: dag.ReasonTimeout}},
	} {
		f := newFixture(t, c.node)
		f.job.Limits.Doubt = attempt.Doubt{Signal: time.Hour, Other: time.Hour, Ending: time.Hour}
		if end := f.run(); end.Outcome != c.want.Outcome || end.Reason != c.want.Reason {
			t.Errorf("%s: %+v", name, end)
		}
	}
}

// A signal that is there when a program ends well comes first: its exit code of
// 0 may be how it took the same signal.
func TestSuccessInAShutdown(t *testing.T) {
	f := newFixture(t, dag.Node{Task: "trap 'exit 0' TERM; touch up; while :; do sleep 0.1; done"})
	ctx, cancel := context.WithCancelCause(t.Context())
	wait := f.start(ctx)
	eventually(t, "it is up", func() bool { _, err := os.Stat(filepath.Join(f.root, "up")); return err == nil })
	cancel(attempt.ErrInterrupted)
	if end, err := wait(); !errors.Is(err, attempt.ErrInterrupted) {
		t.Errorf("%+v, %v", end, err)
	}
}
