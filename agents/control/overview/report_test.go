package overview

import "testing"

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
