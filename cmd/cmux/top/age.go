package top

import (
	"fmt"
	"time"

	"cmux/agents/control/runview"
	"cmux/agents/runs/run"
)

// age is a duration as coarse as a person needs it: a minute that passes is
// then the only thing that has an idle monitor draw anything.
func age(d time.Duration) string {
	switch d = max(0, d); {
	case d < time.Minute:
		return fmt.Sprintf("%ds", d/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%dm", d/time.Minute)
	case d < 100*time.Hour:
		return fmt.Sprintf("%dh%02dm", d/time.Hour, d%time.Hour/time.Minute)
	}
	return fmt.Sprintf("%dd", d/(24*time.Hour))
}

// differs is how long it takes until age(d) reads differently.
func differs(d time.Duration) time.Duration {
	return reads(d) - max(0, d)%reads(d)
}

// reads is the step in which age(d) reads.
func reads(d time.Duration) time.Duration {
	if d < time.Minute {
		return time.Second
	}
	return time.Minute
}

// took is how long a node was at it, or has been until now; ok is false for one
// that never began.
func took(n *run.NodeView, now time.Time) (d time.Duration, ok bool) {
	f := &n.Fact
	if f.StartedAt.IsZero() {
		return 0, false
	}
	if !f.EndedAt.IsZero() && !f.Live() {
		now = f.EndedAt
	}
	return now.Sub(f.StartedAt), true
}

// late is by how much an age of minutes may read too low: the ages of a hundred
// nodes, each with a second of its own at which it differs, are drawn together.
const late = 15 * time.Second

// due is how long it takes until something that is shown is to be drawn again
// because time passes; 0: nothing is. Ages of seconds are all drawn at the full
// second of the clock, so that each goes on by one.
func due(v *run.View, now time.Time) time.Duration {
	next := time.Duration(0)
	count := func(d time.Duration) {
		if reads(d) == time.Second {
			d = time.Second - time.Duration(now.Nanosecond())
		} else {
			d = max(late, differs(d))
		}
		if next == 0 || d < next {
			next = d
		}
	}
	for i := range v.Nodes {
		n := &v.Nodes[i]
		if d, ok := took(n, now); ok && n.Fact.Live() {
			count(d)
			count(now.Sub(n.Fact.At))
		}
	}
	if !v.StartedAt.IsZero() && v.EndedAt.IsZero() && !runview.Over(v) {
		count(now.Sub(v.StartedAt))
	}
	return next
}
