package attempt

import (
	"testing"
	"time"

	"cmux/agents/runs/run"
)

func TestTryAgain(t *testing.T) {
	now := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	p := Limits{}.withDefaults()
	for _, c := range []struct {
		name  string
		known run.Limit
		want  time.Duration
	}{
		{"the first time", run.Limit{}, 30 * time.Second},
		{"another has met it", run.Limit{Until: now.Add(7 * time.Second), Times: 1}, 7 * time.Second},
		{"it was not over", run.Limit{Until: now.Add(-time.Second), Times: 1}, time.Minute},
		{"nor then", run.Limit{Until: now, Times: 3}, 4 * time.Minute},
		{"for a long time", run.Limit{Until: now, Times: 99}, 15 * time.Minute},
		{"without an end", run.Limit{Times: 1}, time.Minute},
	} {
		if got := p.tryAgain(c.known, now).Sub(now); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// A stated end is waited for to the moment, but a service that names one that is
// over at once again and again is not asked in a loop.
func TestStatedEnd(t *testing.T) {
	now := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	p := Limits{}.withDefaults()
	for _, c := range []struct {
		name         string
		stated, want time.Duration
		known        run.Limit
	}{
		{"the first time", time.Second, time.Second, run.Limit{}},
		{"wrong a few times", time.Second, time.Second, run.Limit{Until: now, Times: 3}},
		{"wrong again and again", time.Second, 8 * time.Minute, run.Limit{Until: now, Times: 4}},
		{"later than that", time.Hour, time.Hour, run.Limit{Until: now, Times: 4}},
	} {
		if got := p.lasts(now.Add(c.stated), c.known, now).Sub(now); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}
