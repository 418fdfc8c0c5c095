package attempt

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"cmux/agents/runs/run"
	"cmux/dag"
)

// Whose signal was it: how long a verdict is held, by what is known.
func TestDoubt(t *testing.T) {
	d := Doubt{}.withDefaults()
	for _, c := range []struct {
		outcome dag.Outcome
		reason  dag.Reason
		code    int
		ending  bool
		want    time.Duration
	}{
		{dag.Done, "", 0, false, 0},
		{dag.Done, "", 0, true, 0},
		{dag.Cancelled, "", 143, true, 0},
		{dag.Failed, dag.ReasonExit, 143, false, d.Signal},
		{dag.Failed, dag.ReasonExit, 130, false, d.Signal},
		{dag.Failed, dag.ReasonExit, 129, false, d.Signal},
		{dag.Failed, dag.ReasonExit, 131, false, d.Signal},
		{dag.Failed, dag.ReasonExit, 137, false, d.Signal},
		{dag.Failed, dag.ReasonExit, 141, false, d.Signal},
		{dag.Failed, dag.ReasonExit, 139, false, d.Other}, // it crashed by itself
		{dag.Failed, dag.ReasonExit, 2, false, d.Other},   // make
		{dag.Failed, dag.ReasonExit, 2, true, d.Ending},
		{dag.Failed, dag.ReasonExit, 128, false, d.Other},
		{dag.Failed, dag.ReasonExit, 255, false, d.Other},
		{dag.Failed, dag.ReasonChecks, 143, false, d.Signal},
		{dag.Failed, dag.ReasonChecks, -1, false, d.Signal}, // git, by a signal
		{dag.Failed, dag.ReasonChecks, 1, false, d.Other},
		{dag.Failed, dag.ReasonSetup, 143, false, d.Signal},
		{dag.Failed, dag.ReasonOnComplete, 128, false, d.Other},
		{dag.Failed, dag.ReasonReported, 0, false, d.Other},
		{dag.Failed, dag.ReasonTimeout, 143, true, 0},
		{dag.Failed, dag.ReasonIdle, 143, false, 0},
		{dag.Failed, dag.ReasonBudget, 143, false, 0},
		{dag.Failed, dag.ReasonConflict, 1, false, 0},
		{dag.Failed, dag.ReasonScope, 1, false, 0},
	} {
		if got := d.of(run.End{Outcome: c.outcome, Reason: c.reason}, c.code, c.ending); got != c.want {
			t.Errorf("%v %q, code %d, ending %v: %s, want %s", c.outcome, c.reason, c.code, c.ending, got, c.want)
		}
	}
	if d.Other >= d.Signal || d.Signal >= d.Ending {
		t.Errorf("more doubt does not wait longer: %+v", d)
	}
}

func TestShutsDown(t *testing.T) {
	for _, name := range []string{"run/nologin", "run/systemd/shutdown/scheduled"} {
		root := t.TempDir()
		if shutsDown(root) {
			t.Error("nothing says so")
		}
		file := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, nil, 0o644); err != nil {
			t.Fatal(err)
		}
		if !shutsDown(root) {
			t.Errorf("%s says so", name)
		}
	}
}
