package control

import (
	"testing"

	"cmux/agents/runs/run"
	"cmux/dag"
)

// What was started again since is said, with how it had ended; what somebody ordered is
// not.
func TestReportSaysWhatWasLost(t *testing.T) {
	r := Away{Agents: []ReportedAgent{{Name: "api"}, {Name: "web"}}}
	for _, rec := range []run.Record{
		{Type: run.Vanished, How: run.HowStopped},
		{Type: run.Active, Activity: dag.SettingUp, How: run.HowRevived, Detail: run.Revival + "killed by signal 9"},
		{Type: run.Active, Activity: dag.SettingUp, Detail: "its program has not shown its prompt yet"},
		{Type: run.Vanished, How: run.HowInterrupted},
	} {
		r.Agents[0].take(&rec)
		if a := r.Agents[0]; a.Restarts == 1 && a.Lost != "killed by signal 9" {
			t.Errorf("lost as %q", a.Lost)
		}
	}
	if got, want := r.Restarted("- "), "\n- api was started again 2 times: interrupted\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := new(Away).Restarted(""); got != "" {
		t.Errorf("nothing was lost: %q", got)
	}
}

func TestUsedSaysWhatWouldBeBetter(t *testing.T) {
	for _, c := range []struct {
		tasks    int
		busy     float64
		use, try string
	}{
		{0, 0, "not used: it had no task", "cmux workers demote p"},
		{1, 0.05, "little used: at work for 5% of the time, 900 tokens for each task", "cmux workers demote p"},
		{2, 0.5, "well used: at work for 50% of the time, 450 tokens for each task", ""},
		{3, 0.9, "fully used: at work for 90% of the time, 300 tokens for each task", "cmux workers clone p"},
		{0, 0.9, "fully used: at work for 90% of the time", "cmux workers clone p"},
	} {
		a := ReportedAgent{Name: "p", Permanent: true, Tasks: c.tasks, Busy: c.busy, Tokens: 900}
		if use, try := a.used(); use != c.use || try != c.try {
			t.Errorf("%d tasks, %v busy: %q, %q; want %q, %q", c.tasks, c.busy, use, try, c.use, c.try)
		}
	}
}
