package watchdog

import (
	"testing"
	"time"

	"cmux/agents/org/standing"
	"cmux/agents/runs/run"
	"cmux/dag"
	"cmux/server/watch"
)

// A program that was started again is watched although it has given no sign yet.
func TestStandOfWhatStartsAgain(t *testing.T) {
	began := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		name   string
		began  time.Time
		detail string
		work   *run.Work
		midway bool
		want   watch.Stand
	}{
		{"for the first time", began, "", nil, false, watch.Down},
		{"its wrapper is not there", time.Time{}, run.Revival + "its wrapper was killed", nil, true, watch.Down},
		{"at rest", began, run.Revival + "signal 9", nil, false, watch.Idle},
		{"in a turn", began, run.Revival + "signal 9", nil, true, watch.Busy},
		{"at work", began, run.Revival + "signal 9", new(run.Work), false, watch.Busy},
	} {
		a := standing.State{Born: began, Life: standing.Life{N: 2, Started: began, Began: c.began}, Activity: dag.SettingUp, Detail: c.detail, Work: c.work, Midway: c.midway}
		word, _ := a.Stands(began, false)
		if got := standOf(&a, word); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}
