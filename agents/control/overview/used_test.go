package overview

import (
	"testing"
	"time"

	"cmux/agents/runs/run"
	"cmux/dag"
)

// TestUsedSince sums up what lives used since a moment. Each life counts from nothing.
func TestUsedSince(t *testing.T) {
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	u := used{since: noon}
	for _, r := range []struct {
		life   int
		at     time.Duration
		tokens int64
	}{
		{1, -2 * time.Hour, 100}, {1, -time.Hour, 300}, // before
		{1, time.Minute, 450}, // 150
		{1, 2 * time.Minute, 450},
		{2, time.Hour, 70},      // 70
		{2, 2 * time.Hour, 100}, // 30
	} {
		u.take(&run.Record{Type: run.Used, Attempt: r.life, At: noon.Add(r.at), Used: dag.Usage{Output: r.tokens}})
		u.take(&run.Record{Type: run.Active, Attempt: r.life, At: noon.Add(r.at)})
	}
	if u.tokens != 250 {
		t.Errorf("%d tokens, want 250", u.tokens)
	}
}

// TestBusy: the time with a task ends with the piece of work, however that ends, and
// with the life; a task that goes on in the next life counts again.
func TestBusy(t *testing.T) {
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	ended := func(o dag.Outcome) run.Record {
		return run.Record{Type: run.WorkEnded, Key: "t1", End: &run.End{Outcome: o}}
	}
	var (
		made   = run.Record{Type: run.Joined, Member: &run.Member{Name: "api"}}
		begins = run.Record{Type: run.Began, Attempt: 1}
		given  = run.Record{Type: run.Given, Attempt: 1, Work: &run.Work{ID: "t1"}}
	)
	type at struct {
		hour int
		rec  run.Record
	}
	for name, c := range map[string]struct {
		recs []at
		want float64
	}{
		"no task":                    {[]at{{-5, made}, {-5, begins}}, 0},
		"at work":                    {[]at{{-5, made}, {-5, begins}, {1, given}}, 0.75},
		"since before":               {[]at{{-5, made}, {-5, begins}, {-2, given}}, 1},
		"done":                       {[]at{{-5, made}, {-5, begins}, {-2, given}, {1, ended(dag.Done)}}, 0.25},
		"failed":                     {[]at{{-5, made}, {-5, begins}, {1, given}, {2, ended(dag.Failed)}}, 0.25},
		"done by a person, or back":  {[]at{{-5, made}, {-5, begins}, {0, given}, {1, ended(dag.Cancelled)}}, 0.25},
		"over before":                {[]at{{-5, made}, {-5, begins}, {-4, given}, {-1, ended(dag.Done)}}, 0},
		"stopped at work":            {[]at{{-5, made}, {-5, begins}, {0, given}, {1, run.Record{Type: run.Vanished, Attempt: 1, How: run.HowStopped}}}, 0.25},
		"its program lost, and back": {[]at{{-5, made}, {-5, begins}, {0, given}, {1, run.Record{Type: run.Vanished, Attempt: 1}}, {3, run.Record{Type: run.Began, Attempt: 2}}}, 0.5},
		"made since":                 {[]at{{2, made}, {2, begins}, {3, given}}, 0.5},
	} {
		u := used{since: noon}
		for _, r := range c.recs {
			r.rec.At = noon.Add(time.Duration(r.hour) * time.Hour)
			u.take(&r.rec)
		}
		if got := u.share(noon.Add(4 * time.Hour)); got != c.want {
			t.Errorf("%s: %v busy, want %v", name, got, c.want)
		}
	}
}
