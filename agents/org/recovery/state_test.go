package recovery

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// line is a history, oldest first, and which of its commits are healthy.
func history(n int, broken func(int) bool) (commits []string, healthy map[string]bool) {
	healthy = map[string]bool{}
	for i := range n {
		c := fmt.Sprintf("c%03d", i)
		commits, healthy[c] = append(commits, c), !broken(i)
	}
	return commits, healthy
}

// A simulated project, with commits of every sort: a recovery ends, tries few
// commits, rests on a healthy one where there is one that it may try, and names the
// first broken one where the history breaks once. It is the same whether the state is
// written down and read after each step, and whatever cannot be carried out now and
// then.
func TestSimulated(t *testing.T) {
	for seed := range uint64(2000) {
		rnd := rand.New(rand.NewPCG(seed, 7))
		n := 1 + rnd.IntN(60)
		breaks := rnd.IntN(n + 1) // the first broken commit
		known := rnd.IntN(n)      // the last one that was looked at and healthy
		clean := rnd.IntN(4) > 0  // the history breaks once
		commits, healthy := history(n, func(i int) bool { return i >= breaks && (clean || rnd.IntN(3) > 0) })
		if rnd.IntN(5) == 0 { // what it needs besides is gone
			for c := range healthy {
				healthy[c] = false
			}
		}
		c := Config{Every: 30 * time.Second, Restart: rnd.IntN(2) == 0, Rollback: rnd.IntN(8) > 0, Own: true}
		s := &State{Healthy: commits[known], HealthyAt: time.Unix(1, 0).UTC()}
		now, head, branch := time.Unix(1000, 0).UTC(), commits[n-1], ""
		faults, tries, errs := rnd.IntN(3), 0, 0
		var begun *Run
		for steps := 0; steps < 200; steps++ {
			a := s.Next(c)
			if a.At.After(now) {
				now = a.At
			}
			now = now.Add(time.Second)
			f := Fact{At: now, OK: true, Head: head, Branch: branch, Clean: true, Tip: commits[n-1]}
			switch a.Do {
			case DoCheck:
				f.OK = healthy[head]
			case DoSurvey:
				f.OK = false
				i := slices.Index(commits, s.Healthy)
				for k := i; k >= 0; k-- {
					f.Older = append(f.Older, commits[k])
				}
				f.Range = slices.Clone(commits[i+1:])
			case DoTry:
				if !strings.HasPrefix(a.Branch, "cmux/rollback-") {
					t.Fatalf("seed %d: tries %s on %q", seed, a.Commit, a.Branch)
				}
				tries++
				head, branch = a.Commit, a.Branch
				f.OK = healthy[a.Commit]
			case DoSwitch:
				head, branch = a.Commit, a.Branch
			}
			if faults > 0 && !s.Run.Over() && rnd.IntN(5) == 0 {
				faults--
				errs++
				f = Fact{At: now, Err: errors.New("the disk is full")}
			}
			s.After(c, a, f)
			b, err := json.Marshal(s)
			if err != nil {
				t.Fatal(err)
			}
			again := new(State)
			if err := json.Unmarshal(b, again); err != nil || !reflect.DeepEqual(s.Next(c), again.Next(c)) {
				t.Fatalf("seed %d: %v, %+v is not %+v", seed, err, again.Next(c), s.Next(c))
			}
			s = again
			if begun = s.Run; begun != nil && begun.Over() {
				break
			}
		}
		if begun == nil {
			if !healthy[commits[n-1]] && (c.Restart || c.Rollback) {
				t.Fatalf("seed %d: nothing was done about %+v", seed, s)
			}
			continue
		}
		if !begun.Over() || tries > MaxOlder+1+8 {
			t.Fatalf("seed %d: %d tries, %+v", seed, tries, begun)
		}
		could := false
		for k := max(0, known-MaxOlder); k <= known; k++ {
			could = could || healthy[commits[k]]
		}
		switch {
		case !c.Rollback:
			if tries > 0 || begun.End != Failed {
				t.Fatalf("seed %d: %+v", seed, begun)
			}
		case could:
			if begun.End != RolledBack || !healthy[head] || begun.Best != head || branch != begun.On {
				t.Fatalf("seed %d: could be mended, and is %+v, at %s", seed, begun, head)
			}
			if clean && healthy[commits[known]] && (begun.Blamed != commits[breaks] || head != commits[breaks-1]) {
				t.Fatalf("seed %d: blamed %s at %s, want %s", seed, begun.Blamed, head, commits[breaks])
			}
		default:
			if begun.End != Failed || head != commits[n-1] || branch != "" {
				t.Fatalf("seed %d: cannot be mended, and is %+v at %s %s", seed, begun, head, branch)
			}
		}
	}
}

// Two failures begin no recovery. Failures that come and go are reported, not recovered.
func TestFlaps(t *testing.T) {
	c := Config{Every: time.Second, Restart: true, Rollback: true}
	s := new(State)
	now := time.Unix(1000, 0).UTC()
	for n := range 50 {
		now = s.Next(c).At
		s.After(c, s.Next(c), Fact{At: now, OK: n%3 == 2, Head: "a", Clean: true})
		if s.Run != nil {
			t.Fatalf("after %d: %+v", n, s.Run)
		}
	}
	if !s.Flaps() || len(s.Marks) != marks {
		t.Errorf("%q", s.Marks)
	}
	for range marks {
		s.After(c, s.Next(c), Fact{At: now, OK: true, Head: "a", Clean: true})
	}
	if s.Flaps() {
		t.Errorf("%q", s.Marks)
	}
	// A check of something else than the commit says nothing of the commit.
	s.After(c, s.Next(c), Fact{At: now, OK: true, Head: "b"})
	if s.Healthy != "a" {
		t.Error(s.Healthy)
	}
	// Restarts that help for a moment are left out after some.
	for n := range restarts + 1 {
		for range Misses {
			s.After(c, s.Next(c), Fact{At: now, Head: "b"})
		}
		if got := s.Run.Step; (got == StepRestart) != (n < restarts) {
			t.Fatalf("%d: %s", n, got)
		}
		if n < restarts {
			s.After(c, s.Next(c), Fact{At: now, OK: true})
			s.After(c, s.Next(c), Fact{At: now, OK: true, Head: "b"})
		}
	}
}

// What a clock wrote down that was ahead holds nothing up.
func TestClockWasAhead(t *testing.T) {
	c := Config{Every: time.Second, Restart: true, Rollback: true}
	now := time.Unix(1000, 0).UTC()
	ahead := now.AddDate(5, 0, 0)
	s := &State{CheckedAt: ahead, Again: ahead, Starts: []time.Time{ahead, now}}
	s.clock(now)
	if at := s.Next(c).At; at.After(now.Add(c.Every)) {
		t.Errorf("the next check is at %s", at)
	}
	if s.Again.After(now.Add(refusedPause)) || len(s.Starts) != 1 {
		t.Errorf("%+v", s)
	}
	s.Run = &Run{Step: StepRecheck, At: ahead}
	s.clock(now)
	if at := s.Next(c).At; at.After(now.Add(recheckPause)) {
		t.Errorf("the next step is at %s", at)
	}
}
