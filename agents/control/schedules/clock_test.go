package schedules

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cmux/agents/control/letters"
	"cmux/agents/control/project"
	"cmux/agents/control/tasks"
	"cmux/agents/org/schedule"
	"cmux/agents/org/task"
)

// What cannot be done is tried less and less often, and is reported once.
func TestRest(t *testing.T) {
	r := new(rest)
	full, gone := errors.New("the disk is full"), errors.New("nobody is there")
	now := time.Date(2026, 1, 1, 8, 30, 0, 0, time.UTC)
	for i, step := range []struct {
		err  error
		wait time.Duration
		tell bool
	}{
		{nil, 0, false},
		{full, 10 * time.Second, true},
		{full, 20 * time.Second, false},
		{full, 40 * time.Second, false},
		{gone, 80 * time.Second, true},
		{gone, 160 * time.Second, false},
		{gone, 320 * time.Second, false},
		{gone, 10 * time.Minute, false},
		{gone, 10 * time.Minute, false},
		{nil, 0, false},
		{gone, 10 * time.Second, true},
	} {
		told := r.after(step.err, now)
		if r.last != step.wait || (told != nil) != step.tell {
			t.Errorf("%d: %s %v", i, r.last, told)
		}
		if step.wait > 0 && (r.over(now.Add(step.wait-1)) || !r.over(now.Add(step.wait))) {
			t.Errorf("%d: it rests until %s", i, r.until)
		}
	}
	if back := now.Add(-time.Hour); r.over(back) || !r.over(back.Add(10*time.Second)) {
		t.Errorf("the clock was set back, and it rests until %s", r.until)
	}
}

// An entry that cannot be seen to holds up no other: each is seen to when it is due, and
// the one that fails when its own rest is over.
func TestClockOneEntryFails(t *testing.T) {
	now := time.Date(2026, 1, 1, 9, 0, 0, 0, time.UTC)
	in := &project.Project{Caller: project.Caller{Now: func() time.Time { return now }, Person: true}, Root: t.TempDir()}
	p := &Schedules{Project: in, Letters: &letters.Letters{Project: in}, Tasks: &tasks.Tasks{Project: in}}
	for _, e := range []schedule.Entry{
		{Title: "tidy", Task: true, When: schedule.When{At: now.Add(time.Minute)}},
		{Title: "look", When: schedule.When{Cron: "* * * * *", Zone: "UTC"}},
	} {
		if _, err := p.Add(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(p.Root, ".cmux", task.Name)
	if err := os.Mkdir(file, 0o700); err != nil { // no task can be written
		t.Fatal(err)
	}
	clock, told, tries := p.NewClock(), 0, 0
	for end := now.Add(30 * time.Minute); now.Before(end); {
		next, err := clock.RunDue(t.Context())
		if err != nil {
			if told++; !strings.HasPrefix(err.Error(), "s1: ") {
				t.Error(err)
			}
		}
		if r := clock.rests["s1"]; r != nil && r.until.Equal(now.Add(r.last)) {
			tries++
		}
		if !next.After(now) {
			t.Fatalf("at %s again at %s", now, next)
		}
		now = next
	}
	if s, err := p.Entry("s2"); err != nil || s.Count != 29 {
		t.Errorf("%d %v", s.Count, err)
	}
	if told != 1 || tries < 6 || tries > 10 {
		t.Errorf("told %d times of %d tries", told, tries)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	now = now.Add(clockLongest)
	if _, err := clock.RunDue(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s, err := p.Entry("s1"); err != nil || s.Last == nil || s.Last.Made != "t1" {
		t.Errorf("%+v %v", s.Last, err)
	}
}
