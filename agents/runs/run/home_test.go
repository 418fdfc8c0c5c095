package run

import (
	"cmp"
	"fmt"
	"os"
	"reflect"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

func TestAtWork(t *testing.T) {
	r := newRun(t)
	since := time.Now()
	at := func(d time.Duration, typ Type, node string) Record {
		rec := Record{Type: typ, Node: node, Attempt: 1, At: since.Add(d)}
		if typ == AttemptEnd {
			rec.End = new(End)
		}
		return rec
	}
	enter(t, r,
		at(-9*time.Second, Started, "over"), at(-8*time.Second, AttemptEnd, "over"),
		at(-9*time.Second, Started, "a"), at(time.Second, AttemptEnd, "a"), // itself
		at(-9*time.Second, Started, "long"), at(time.Second, AttemptEnd, "long"),
		at(time.Second, Started, "brief"), at(2*time.Second, Vanished, "brief"),
		at(-9*time.Second, Started, "still"),
		at(time.Second, Noted, "noted"),
		Record{Type: Limited, Account: "x"},
	)
	got, err := r.AtWork("a", since)
	slices.Sort(got)
	if want := []string{"brief", "long", "still"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v; want %q", got, err, want)
	}
	if got, err := (&Run{Paths: Paths{Dir: t.TempDir()}}).AtWork("a", since); got != nil || err != nil {
		t.Errorf("without records: %q, %v", got, err)
	}
}

// A change that nobody explains is told once, whoever finds it first, and is
// shown as an incident where it can harm.
func TestTell(t *testing.T) {
	r := newRun(t)
	for _, c := range []struct {
		detail string
		grave  bool
		first  bool
	}{
		{"tag v1", false, true}, {"alias", true, true}, {"alias", true, false}, {"tag v1", false, false}, {"alias 2", true, true},
	} {
		if first, err := r.Tell(t.Context(), c.detail, c.grave); err != nil || first != c.first {
			t.Errorf("%s: %v, %v", c.detail, first, err)
		}
	}
	enter(t, r, Record{Type: Incident, How: IncidentShared, Detail: "alias"}) // of another at the same moment
	h := NewHistory(r.Plan.Graph)
	if _, err := r.Replay(h, 0, nil); err != nil {
		t.Fatal(err)
	}
	if len(h.Incidents) != 2 || h.Incidents[0].Detail != "alias" || h.Incidents[1].Detail != "alias 2" {
		t.Errorf("%+v", h.Incidents)
	}
}

// What an attempt learns of an account's limit is what the history of the run
// makes of it.
func TestLimitOfAnAccount(t *testing.T) {
	r := newRun(t)
	now := time.Now()
	met := func(after time.Duration, account string) Record {
		return Record{Type: Limited, Account: account, At: now.Add(after), Until: now.Add(after + time.Minute)}
	}
	enter(t, r,
		Record{Type: Started, Node: "a", Attempt: 1, Place: &Place{}},
		met(0, "mine"), met(time.Second, "freed"), met(2*time.Minute, "mine"),
		Record{Type: Freed, Account: "freed", At: now.Add(time.Hour)},
		Record{Type: AttemptEnd, Node: "a", Attempt: 1, End: new(End)},
	)
	h := NewHistory(r.Plan.Graph)
	if _, err := r.Replay(h, 0, nil); err != nil {
		t.Fatal(err)
	}
	for account, times := range map[string]int{"mine": 2, "freed": 0, "never": 0} {
		got, err := r.Limit(account)
		if err != nil || !reflect.DeepEqual(got, h.Limits[account]) || got.Times != times {
			t.Errorf("%s: %+v, %v; want %+v, met %d times", account, got, err, h.Limits[account], times)
		}
	}
}

func TestRunnerLives(t *testing.T) {
	r := newRun(t)
	if r.RunnerLives() {
		t.Error("nobody has taken the run")
	}
	lock, err := r.TryLock()
	if err != nil {
		t.Fatal(err)
	}
	if !r.RunnerLives() {
		t.Error("its lock is held")
	}
	if err := lock.Unlock(); err != nil {
		t.Fatal(err)
	}
	if r.RunnerLives() {
		t.Error("its lock was given back")
	}
}

func enter(t *testing.T, r *Run, recs ...Record) {
	t.Helper()
	book, err := r.OpenBook()
	if err != nil {
		t.Fatal(err)
	}
	defer book.Close()
	if err := book.Append(t.Context(), recs...); err != nil {
		t.Fatal(err)
	}
}

// A new runner waits for a while for whoever has its lock, and longer for several,
// one after the other: commands that look at the run, each for a moment.
func TestAwaitLock(t *testing.T) {
	for _, c := range []struct {
		name   string
		change time.Duration // between two holders; 0: there is one
		gone   time.Duration // since when there is none; 0: never
		want   time.Duration
		got    bool
	}{
		{"one that leaves", 0, 2 * time.Second, 2 * time.Second, true},
		{"one that stays", 0, 0, lockPatience, false},
		{"several, and then none", time.Second, 15 * time.Second, 15 * time.Second, true},
		{"others for ever", time.Second, 0, mostPatience, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRun(t)
				held, err := r.TryLock()
				if err != nil {
					t.Fatal(err)
				}
				began := time.Now()
				over := make(chan struct{})
				go func() {
					defer close(over)
					for c.gone == 0 || time.Since(began) < c.gone {
						step := cmp.Or(c.change, 100*time.Millisecond)
						if c.change > 0 {
							if err := os.WriteFile(r.LockPath(), fmt.Appendf(nil, `{"pid":1000,"since":%q}`, time.Now().Format(time.RFC3339Nano)), 0o600); err != nil {
								t.Error(err)
							}
						}
						if time.Since(began) > 2*mostPatience {
							break
						}
						time.Sleep(step)
					}
					held.Unlock()
				}()
				lock, err := r.AwaitLock(t.Context())
				took := time.Since(began)
				if (err == nil) != c.got || took < c.want || took > c.want+200*time.Millisecond {
					t.Errorf("after %v: %v", took, err)
				}
				if lock != nil {
					lock.Unlock()
				}
				<-over
			})
		})
	}
}
