package schedule

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"cmux/agents/platform/seal/sealtest"
	"cmux/agents/records/ledger"
)

func TestMain(m *testing.M) { os.Exit(sealtest.Main(m)) }

func at(t testing.TB, text string) time.Time {
	t.Helper()
	v, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func entry(t testing.TB, w When, added string) *List {
	t.Helper()
	if w.Cron != "" && w.Zone == "" {
		w.Zone = "UTC"
	}
	l := new(List)
	if err := l.step(&line{Add: &Entry{ID: "s1", By: "user", To: "user", Title: "x", When: w, Added: at(t, added)}}); err != nil {
		t.Fatal(err)
	}
	return l
}

// The due times of a When, in zones whose clocks change: New York's goes from 2:00
// to 3:00 on 2026-03-08 and from 2:00 back to 1:00 on 2026-11-01.
func TestDueTimes(t *testing.T) {
	const ny, berlin = "America/New_York", "Europe/Berlin"
	for _, c := range []struct {
		when  When
		added string
		want  string
	}{
		{When{Cron: "0 9 * * *"}, "2026-01-01T08:00:00Z", "2026-01-01T09:00:00Z 2026-01-02T09:00:00Z"},
		{When{Cron: "0 9 * * *"}, "2026-01-01T09:00:00Z", "2026-01-02T09:00:00Z 2026-01-03T09:00:00Z"},
		{When{Cron: "@daily", Zone: berlin}, "2026-07-01T08:00:00Z", "2026-07-01T22:00:00Z 2026-07-02T22:00:00Z"},
		{When{Cron: "30 2 * * *", Zone: ny}, "2026-03-07T12:00:00Z", "2026-03-08T07:00:00Z 2026-03-09T06:30:00Z"},                             // left out: at 3:00
		{When{Cron: "30 1 * * *", Zone: ny}, "2026-10-31T12:00:00Z", "2026-11-01T05:30:00Z 2026-11-02T06:30:00Z"},                             // comes twice: once
		{When{Cron: "0 * * * *", Zone: ny}, "2026-11-01T04:30:00Z", "2026-11-01T05:00:00Z 2026-11-01T06:00:00Z 2026-11-01T07:00:00Z"},         // hourly: each
		{When{Cron: "*/30 * * * *", Zone: ny}, "2026-03-08T06:40:00Z", "2026-03-08T07:00:00Z 2026-03-08T07:30:00Z"},                           // over the gap
		{When{Cron: "0 0 31 * *"}, "2026-01-31T12:00:00Z", "2026-03-31T00:00:00Z 2026-05-31T00:00:00Z"},                                       // no 31st
		{When{Cron: "0 0 29 2 *"}, "2026-01-31T12:00:00Z", "2028-02-29T00:00:00Z 2032-02-29T00:00:00Z"},                                       // a leap year
		{When{Cron: "0 12 * * 1-5", Zone: "Asia/Kolkata"}, "2026-01-02T12:00:00Z", "2026-01-05T06:30:00Z 2026-01-06T06:30:00Z"},               // a Friday
		{When{Every: "90m"}, "2026-01-01T08:00:00Z", "2026-01-01T09:30:00Z 2026-01-01T11:00:00Z"},                                             // from when it was added
		{When{At: at(t, "2026-01-01T10:00:00Z")}, "2026-01-01T08:00:00Z", "2026-01-01T10:00:00Z"},                                             // once
		{When{Cron: "0 0 * * *", Zone: "America/Sao_Paulo"}, "2018-11-03T12:00:00Z", "2018-11-04T03:00:00Z 2018-11-05T02:00:00Z"},             // midnight is left out
		{When{Cron: "15 0 * * *", Zone: "Atlantic/Azores"}, "2026-10-24T12:00:00Z", "2026-10-25T00:15:00Z 2026-10-26T01:15:00Z"},              // midnight comes twice
		{When{Cron: "0 3 * * *", Zone: "Australia/Lord_Howe"}, "2026-10-03T00:00:00Z", "2026-10-03T16:00:00Z 2026-10-04T16:00:00Z"},           // half an hour
		{When{Cron: "15 2 * * *", Zone: "Australia/Lord_Howe"}, "2026-10-03T00:00:00Z", "2026-10-03T15:30:00Z 2026-10-04T15:15:00Z"},          // left out: at 2:30
		{When{Cron: "59 23 30 12 *", Zone: "Pacific/Apia"}, "2011-12-01T00:00:00Z", "2011-12-30T10:00:00Z 2012-12-30T09:59:00Z"},              // a day that was left out
		{When{Cron: "5 4 * * sun", Zone: ny}, "2026-03-06T12:00:00Z", "2026-03-08T08:05:00Z 2026-03-15T08:05:00Z 2026-03-22T08:05:00Z"},       // over a change
		{When{Cron: "0 22 * * *", Zone: berlin}, "2026-10-24T19:00:00Z", "2026-10-24T20:00:00Z 2026-10-25T21:00:00Z 2026-10-26T21:00:00Z"},    // over a change
		{When{Cron: "0 6-8/2 * * *", Zone: berlin}, "2026-03-28T08:00:00Z", "2026-03-29T04:00:00Z 2026-03-29T06:00:00Z 2026-03-30T04:00:00Z"}, // over a change
	} {
		s := entry(t, c.when, c.added).Get("s1")
		var got []string
		for next := s.Added; len(got) < len(strings.Fields(c.want)); {
			if next = s.after(next); next.IsZero() {
				break
			}
			got = append(got, next.UTC().Format(time.RFC3339))
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%+v from %s:\n got %s\nwant %s", c.when, c.added, strings.Join(got, " "), c.want)
		}
	}
}

// A time that passes while its entry is being written is due at once, and once.
func TestPassedWhileWritten(t *testing.T) {
	l := entry(t, When{At: at(t, "2026-01-01T08:00:00Z")}, "2026-01-01T08:00:01Z")
	now := at(t, "2026-01-01T08:00:02Z")
	all, _ := Due(l, now)
	if len(all) != 1 || all[0].Missed != 0 {
		t.Fatalf("due: %v; want one", all)
	}
	if err := l.step(&line{Of: "s1", Fired: &Fired{Due: all[0].Due, At: now, Made: "m"}}); err != nil {
		t.Fatal(err)
	}
	if all, next := Due(l, now.Add(time.Hour)); all != nil || !next.IsZero() {
		t.Errorf("afterwards: due %v, next %s", all, next)
	}
}

func TestBadEntries(t *testing.T) {
	for want, e := range map[string]Entry{
		"say when":                 {},
		"at a time, every so":      {When: When{Every: "1h", Cron: "@daily"}},
		"want a time of 1m0s":      {When: When{Every: "10s"}},
		"no time zone":             {When: When{Cron: "@daily", Zone: "Mars/Olympus"}},
		"for cron alone":           {When: When{Every: "1h", Zone: "UTC"}},
		"beside the cron line":     {When: When{Cron: "TZ=UTC 0 1 * * *"}},
		"expected exactly 5":       {When: When{Cron: "0 1"}},
		"say every instead":        {When: When{Cron: "@every 1h"}},
		"never due":                {When: When{Cron: "0 0 31 2 *"}},
		"in one line":              {Title: "a\nb", When: When{Every: "1h"}},
		"is no priority":           {Task: true, Priority: "huge", When: When{Every: "1h"}},
		"needs somebody that it i": {Title: "no one", To: "-", When: When{Every: "1h"}},
	} {
		if e.Title == "" {
			e.Title = "x"
		}
		if e.To == "" {
			e.To = "user"
		} else if e.To == "-" {
			e.To = ""
		}
		if err := e.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", e.When, err, want)
		}
	}
}

// What was missed is seen to once, and counted.
func TestMissed(t *testing.T) {
	l := entry(t, When{Cron: "0 * * * *"}, "2026-01-01T08:30:00Z")
	all, next := Due(l, at(t, "2026-01-01T08:59:59Z"))
	if len(all) != 0 || !next.Equal(at(t, "2026-01-01T09:00:00Z")) {
		t.Fatal(all, next)
	}
	all, next = Due(l, at(t, "2026-01-01T12:10:00Z")) // asleep from 8:59 on
	if len(all) != 1 || all[0].Missed != 3 || !all[0].Due.Equal(at(t, "2026-01-01T12:00:00Z")) || !next.Equal(at(t, "2026-01-01T13:00:00Z")) {
		t.Fatal(all, next)
	}
	l.Get("s1").fired(&Fired{Due: all[0].Due, At: at(t, "2026-01-01T12:10:00Z")})
	if all, _ = Due(l, at(t, "2026-01-01T12:59:00Z")); len(all) != 0 {
		t.Fatal(all)
	}
	if all, _ = Due(l, at(t, "2031-01-01T00:10:00Z")); len(all) != 1 || all[0].Missed != maxMissed || !all[0].Due.Equal(at(t, "2031-01-01T00:00:00Z")) {
		t.Fatal(all) // years later it is as quick
	}
}

// A clock that is set, by a person or by the machine, fires nothing twice, and what
// was fired in a future that never came keeps nothing back.
func TestClockJumps(t *testing.T) {
	l := entry(t, When{Cron: "0 9 * * *"}, "2026-01-01T08:00:00Z")
	var fired []string
	play := func(now string) {
		all, _ := Due(l, at(t, now))
		for _, f := range all {
			fired = append(fired, fmt.Sprintf("%s: %s +%d", now[5:16], f.Due.UTC().Format("01-02"), f.Missed))
			l.Get("s1").fired(&Fired{Due: f.Due, At: at(t, now)})
		}
	}
	for _, now := range []string{
		"2026-01-01T09:00:01Z", "2026-01-01T08:50:00Z", "2026-01-01T09:00:00Z", // back by ten minutes
		"2026-01-10T12:00:00Z",                         // far ahead by mistake
		"2026-01-02T08:00:00Z", "2026-01-02T09:00:00Z", // and back
		"2026-01-03T09:30:00Z", "2026-01-10T09:00:00Z", "2026-01-11T09:00:00Z", // 01-10 was seen to, with what it stands for
	} {
		play(now)
	}
	want := "01-01T09:00: 01-01 +0|01-10T12:00: 01-10 +8|01-02T09:00: 01-02 +0|01-03T09:30: 01-03 +0|01-11T09:00: 01-11 +0"
	if got := strings.Join(fired, "|"); got != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
}

// Whenever it looks, and whatever the clock does in between: each due time is seen to
// at most once and none in the future, what is due next lies in the future, and while
// the clock goes forward every due time is seen to or counted as missed.
func TestDueProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := When{Cron: rapid.SampledFrom([]string{"*/5 * * * *", "30 1 * * *", "30 2 * * *", "0 */2 * * *", "0 0 1 * *", "15 3 * * sun"}).Draw(t, "cron"),
			Zone: rapid.SampledFrom([]string{"UTC", "America/New_York", "Europe/Berlin", "Australia/Lord_Howe"}).Draw(t, "zone")}
		if rapid.IntRange(0, 4).Draw(t, "kind") == 0 {
			w = When{Every: "37m"}
		}
		start := time.Date(2026, time.Month(rapid.IntRange(1, 12).Draw(t, "month")), rapid.IntRange(1, 28).Draw(t, "day"), 3, 17, 0, 0, time.UTC)
		l := new(List)
		if err := l.step(&line{Add: &Entry{ID: "s1", Title: "x", To: "user", When: w, Added: start}}); err != nil {
			t.Fatal(err)
		}
		s, now, forward := l.Get("s1"), start, true
		seen := map[int64]bool{}
		counted := 0
		for range rapid.IntRange(1, 30).Draw(t, "looks") {
			step := time.Duration(rapid.IntRange(1, 3000).Draw(t, "minutes")) * time.Minute
			if rapid.IntRange(0, 9).Draw(t, "back") == 0 {
				step, forward = -step, false
			}
			now = now.Add(step)
			all, next := Due(l, now)
			if len(all) > 1 || next.IsZero() || !next.After(now) {
				t.Fatalf("%v: %v, next %v", now, all, next)
			}
			for _, f := range all {
				if seen[f.Due.Unix()] || f.Due.After(now) {
					t.Fatalf("%v: %v again, or too early", now, f.Due)
				}
				seen[f.Due.Unix()] = true
				counted += 1 + f.Missed
				s.fired(&Fired{Due: f.Due, At: now, Missed: f.Missed})
			}
			if rapid.IntRange(0, 4).Draw(t, "shorten") == 0 {
				was := s
				l = reread(t, l)
				if s = l.Get("s1"); s.Count != was.Count || !slices.EqualFunc(s.dues, was.dues, time.Time.Equal) {
					t.Fatalf("shortened it says %+v, and not %+v", s, was)
				}
			}
			if again, _ := Due(l, now); len(again) != 0 {
				t.Fatalf("%v: %v again", now, again)
			}
		}
		if forward {
			n := 0
			for d := s.plan.next(start, start); !d.After(now); d = s.plan.next(d, start) {
				n++
			}
			if n != counted {
				t.Fatalf("%d due times, and %d were seen to or counted", n, counted)
			}
		}
	})
}

// reread is a schedule as a file has it that was shortened. It takes none of its lines
// twice, nor what is removed from it.
func reread(t *rapid.T, l *List) *List {
	lines, err := l.short()
	if err != nil {
		t.Fatal(err)
	}
	short := new(List)
	for _, text := range lines {
		if err := short.Take(text); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
	gone := short.Copy()
	for _, s := range l.All() {
		if err := gone.step(&line{Remove: s.ID}); err != nil {
			t.Fatal(err)
		}
	}
	for _, text := range lines {
		if err := errors.Join(short.Copy().Take(text), gone.Take(text)); !errors.Is(err, ledger.ErrCopy) {
			t.Fatalf("%s twice: %v", text, err)
		}
	}
	return short
}

// The file is read as it was written, whoever reads it; forged and copied lines count
// for nothing; and what was seen to is written down once.
func TestBook(t *testing.T) {
	root := t.TempDir()
	now := at(t, "2026-01-01T08:30:00Z")
	open := func() *Book {
		b, err := OpenBook(root, func() time.Time { return now }, true)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	one, two := open(), open()
	s, _, err := one.Add(t.Context(), Entry{By: "user", To: "user", Title: "look", When: When{Cron: "0 9 * * *"}})
	if err != nil || s.ID != "s1" {
		t.Fatal(s, err)
	}
	if s, _, err = two.Add(t.Context(), Entry{By: "user", Task: true, Title: "tidy", When: When{At: now.Add(time.Hour)}}); err != nil || s.ID != "s2" {
		t.Fatal(s, err)
	}
	for range 3 {
		if _, err := two.Record(t.Context(), "s2", Fired{Due: s.When.At, Made: "t1"}); err != nil {
			t.Fatal(err)
		}
	}
	f, err := os.OpenFile(filepath.Join(root, ".cmux", Name), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(f, `{"remove":"s1","by":"user"}`)
	f.Close()
	l, err := open().List()
	if err != nil || len(l.Bad) != 1 || len(l.All()) != 2 || l.Get("s2").Count != 1 || !l.Get("s2").Over {
		t.Fatalf("%+v %v", l, err)
	}
	aside, err := one.Remove(t.Context(), "s1", "user", func(*State) error { return nil })
	if err != nil || aside != Name+".damaged-1" {
		t.Fatal(aside, err)
	}
	if l, err = two.List(); err != nil || len(l.All()) != 1 || len(l.Bad) != 0 {
		t.Fatalf("%+v %v", l, err)
	}
	if s, _, err = two.Add(t.Context(), Entry{By: "user", To: "user", Title: "x", When: When{Every: "1h"}}); err != nil || s.ID != "s3" {
		t.Fatal(s, err) // no id is given again
	}
	if _, err = two.Remove(t.Context(), "s1", "user", nil); !errors.Is(err, ErrNone) {
		t.Fatal(err)
	}
	one.Long = 1000
	for n := range 30 {
		if _, err := one.Record(t.Context(), "s3", Fired{Due: now.Add(time.Duration(n) * time.Hour), Made: "m1"}); err != nil {
			t.Fatal(err)
		}
	}
	if l, err = two.List(); err != nil || len(l.Bad) != 0 || l.Get("s2").Count != 1 || l.Get("s3").Count != 30 {
		t.Fatalf("%+v %v", l, err)
	}
	if _, err := os.Stat(two.Path() + ".1"); err != nil {
		t.Error(err)
	}
}
