package conversation

import (
	"testing"
	"time"

	"cmux/agents/kinds/news"
	"cmux/agents/runs/owner"
)

// died plays one life of a program that stays: what it did, how long it lived and
// whether it was started again after that.
func died(s *State, at *time.Time, lived time.Duration, did ...What) (again bool) {
	feed := func(what What) { *s, _ = Step(*s, Event{At: *at, What: what}) }
	feed(Started{Quiet: true})
	for _, what := range did {
		feed(what)
	}
	*at = at.Add(lived)
	feed(Ended{})
	feed(LeftBehind{Exit: 1, Detail: "exit 1"})
	if s.Phase != Reviving {
		return false
	}
	feed(Rang{ReviveClock})
	return true
}

// However long a start takes to fail, a loop of them ends. What does its work is
// started again for ever.
func TestStartsThatFailAreBounded(t *testing.T) {
	came, turn := Did{Event: news.Converses{ID: "c"}}, Did{Event: news.TurnEnded{}}
	for _, c := range []struct {
		name   string
		did    []What
		lived  time.Duration
		starts int // 0: without end
	}{
		{"at once", nil, 0, 5},
		{"each 22 s", nil, 22 * time.Second, 5},
		{"each minute", nil, time.Minute, 5},
		{"each 4 min, without a sign", nil, 4 * time.Minute, 4},
		{"each 20 min, without a sign", nil, 20 * time.Minute, 2},
		{"each 3 h, without a sign", nil, 3 * time.Hour, 2},
		{"each 22 s, after a sign", []What{came}, 22 * time.Second, 5},
		{"each 20 min, after a sign", []What{came}, 20 * time.Minute, 5},
		{"each 59 min, after a sign", []What{came}, 59 * time.Minute, 5},
		{"each 2 h, at its prompt", []What{came}, 2 * time.Hour, 0},
		{"each 22 s, after a turn", []What{came, turn}, 22 * time.Second, 5},
		{"each 5 min, after a turn", []What{came, turn}, 5 * time.Minute, 0},
	} {
		s := New(Config{Terms: owner.Terms{Stays: true}, Name: "api", Reports: true})
		at := time.Unix(1e9, 0)
		s, _ = Step(s, Event{At: at, What: Begin{}})
		n := 1
		for died(&s, &at, c.lived, c.did...) && n < 100 {
			n++
		}
		if n != c.starts && (c.starts > 0 || n < 100) {
			t.Errorf("%s: %d starts, want %d", c.name, n, c.starts)
		}
		if c.starts == 0 {
			continue
		}
		// A person's retry: a bounded number again.
		for _, what := range []What{Retry{}, Granted{}} {
			s, _ = Step(s, Event{At: at, What: what})
		}
		if s.Phase != Preparing {
			t.Fatalf("%s: after a retry it is %s", c.name, s.Phase)
		}
		if n = 1; !died(&s, &at, 0) {
			t.Errorf("%s: a retry is one start", c.name)
		}
		for died(&s, &at, 0) && n < 100 {
			n++
		}
		if n > 6 {
			t.Errorf("%s: %d starts after a retry", c.name, n)
		}
	}
}
