package control

import (
	"bytes"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"cmux/agents/control/letters"
	"cmux/agents/control/project"
	"cmux/agents/control/tasks"
	"cmux/agents/org/schedule"
	"cmux/agents/org/task"
)

// What is due happens once, though whoever sees to it is killed before it is
// written down.
func TestScheduleMakesOnce(t *testing.T) {
	now := time.Date(2026, 1, 1, 8, 30, 0, 0, time.UTC)
	p := &Project{Project: project.Project{Caller: project.Caller{Now: func() time.Time { return now }, Person: true}, Root: t.TempDir()}}
	for _, e := range []schedule.Entry{
		{Title: "tidy", Task: true, To: "api", Priority: task.High, When: schedule.When{Cron: "0 9 * * *", Zone: "UTC"}},
		{Title: "look", When: schedule.When{At: now.Add(30 * time.Minute)}},
	} {
		if _, err := p.Schedules().Add(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	clock := p.Schedules().NewClock()
	next, err := clock.RunDue(t.Context())
	if err != nil || !next.Equal(now.Add(30*time.Minute)) {
		t.Fatal(next, err)
	}
	file := filepath.Join(p.Root, ".cmux", schedule.Name)
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	now = now.Add(40 * time.Minute)
	for range 3 {
		if next, err = clock.RunDue(t.Context()); err != nil || !next.Equal(time.Date(2026, 1, 2, 9, 0, 0, 0, time.UTC)) {
			t.Fatal(next, err)
		}
		after, err := os.ReadFile(file)
		if err != nil || bytes.Count(after, []byte("\n")) != 4 {
			t.Fatalf("%v\n%s", err, after)
		}
		if err := os.WriteFile(file, before, 0o600); err != nil { // killed before
			t.Fatal(err)
		}
	}
	if _, err = clock.RunDue(t.Context()); err != nil {
		t.Fatal(err)
	}
	tasks, err := p.Tasks().List(tasks.TaskQuery{All: true})
	if err != nil || len(tasks.Tasks) != 1 || tasks.Tasks[0].Agent != "api" || tasks.Tasks[0].Priority != task.High || tasks.Tasks[0].CreatedBy != "user" {
		t.Fatalf("%+v %v", tasks, err)
	}
	mails, err := p.Letters().List(t.Context(), letters.MailQuery{})
	if err != nil || len(mails.Messages) != 1 || mails.Messages[0].To != "user" || !mails.Messages[0].Verified {
		t.Fatalf("%+v %v", mails, err)
	}

	// While its task is not over there is no second one; after that there is.
	for i, want := range []string{"t1", "t2"} {
		now = now.Add(24 * time.Hour)
		if _, err := clock.RunDue(t.Context()); err != nil {
			t.Fatal(err)
		}
		s, err := p.Schedules().Entry("s1")
		if err != nil || s.Last.Made != want || (s.Last.Failed != "") != (i == 0) {
			t.Fatalf("%+v %v", s.Last, err)
		}
		if _, err := p.Tasks().Move(t.Context(), "t1", task.Cancelled, ""); i == 0 && err != nil {
			t.Fatal(err)
		}
	}

	// Out of turn likewise.
	if f, err := p.Schedules().Run(t.Context(), "s1"); err != nil || f.Made != "t2" || f.Failed == "" {
		t.Fatalf("%+v %v", f, err)
	}
}

// Many who run an entry at the same moment, beside what is due, make one task.
func TestScheduleMakesOneAtATime(t *testing.T) {
	now := time.Date(2026, 1, 1, 8, 30, 0, 0, time.UTC)
	var ticks atomic.Int64
	p := &Project{Project: project.Project{Caller: project.Caller{Now: func() time.Time { return now.Add(time.Duration(ticks.Add(1)) * time.Millisecond) }, Person: true}, Root: t.TempDir()}}
	if _, err := p.Schedules().Add(t.Context(), schedule.Entry{Title: "tidy", Task: true, When: schedule.When{Cron: "0 9 * * *", Zone: "UTC"}}); err != nil {
		t.Fatal(err)
	}
	now = now.Add(time.Hour)
	var wait sync.WaitGroup
	for i := range 4 {
		wait.Go(func() {
			run := func() (err error) { _, err = p.Schedules().Run(t.Context(), "s1"); return err }
			if i == 0 {
				run = func() (err error) { _, err = p.Schedules().NewClock().RunDue(t.Context()); return err }
			}
			if err := run(); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	tasks, err := p.Tasks().List(tasks.TaskQuery{All: true})
	if err != nil || len(tasks.Tasks) != 1 {
		t.Errorf("%+v %v", tasks, err)
	}
}

// Of a line that does not count the clock says once that it does not, and it goes on.
func TestClockSaysOnce(t *testing.T) {
	now := time.Date(2026, 1, 1, 8, 30, 0, 0, time.UTC)
	var notes []string
	p := &Project{Project: project.Project{Caller: project.Caller{Now: func() time.Time { return now }, Person: true, Note: func(text string) { notes = append(notes, text) }}, Root: t.TempDir()}}
	file := filepath.Join(p.Root, ".cmux", schedule.Name)
	if _, err := p.Schedules().Add(t.Context(), schedule.Entry{Title: "look", When: schedule.When{At: now.Add(time.Hour)}}); err != nil {
		t.Fatal(err)
	}
	garbage := func() {
		t.Helper()
		all, err := os.ReadFile(file)
		if err == nil {
			err = os.WriteFile(file, append(all, "garbage\n"...), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	clock := p.Schedules().NewClock()
	for want := range 3 {
		for range 3 {
			if next, err := clock.RunDue(t.Context()); err != nil || !next.Equal(now.Add(time.Hour)) || len(notes) != want {
				t.Fatal(next, err, notes)
			}
		}
		garbage()
	}
}
