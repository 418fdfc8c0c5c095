package schedule

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
)

// When says at which times an entry is due: once, or again and again. One of At,
// Every and Cron is set.
type When struct {
	At    time.Time `json:"at,omitzero"`
	Every string    `json:"every,omitempty"` // a duration, counted from when the entry was added
	Cron  string    `json:"cron,omitempty"`  // minute, hour, day of month, month, day of week; or @daily and the like
	Zone  string    `json:"zone,omitempty"`  // that Cron's hours are meant in; empty: the machine's
}

// MinEvery is how short the time between two due times may be.
const MinEvery = time.Minute

// never is further away than anything that is due.
const never = 5 * 366 * 24 * time.Hour

// plan is a When that can be asked.
type plan struct {
	at    time.Time
	every time.Duration
	cron  *cron.SpecSchedule
	zone  *time.Location
}

// wild reports whether the hours are all hours, as * says: such a schedule goes by
// the time that passes, and any other by what a clock on the wall shows.
func (p *plan) wild() bool { return p.cron.Hour&(1<<63) != 0 }

func (w *When) plan() (*plan, error) {
	set := 0
	for _, has := range []bool{!w.At.IsZero(), w.Every != "", w.Cron != ""} {
		if has {
			set++
		}
	}
	if set != 1 {
		return nil, errors.New("say when: at a time, every so often, or by cron")
	}
	p := &plan{at: w.At, zone: time.Local}
	var err error
	if w.Zone != "" {
		if w.Cron == "" {
			return nil, errors.New("a time zone is for cron alone")
		}
		if p.zone, err = time.LoadLocation(w.Zone); err != nil {
			return nil, fmt.Errorf("%q is no time zone that this machine knows, such as Europe/Berlin", w.Zone)
		}
	}
	switch {
	case w.Every != "":
		if p.every, err = time.ParseDuration(w.Every); err != nil || p.every < MinEvery || p.every > never {
			return nil, fmt.Errorf("every %q: want a time of %s or more, such as 30m or 24h", w.Every, MinEvery)
		}
	case w.Cron != "":
		return p, p.parse(w.Cron)
	}
	return p, nil
}

func (p *plan) parse(text string) error {
	if strings.Contains(text, "TZ=") {
		return errors.New("name the time zone beside the cron line, not in it")
	}
	s, err := cron.ParseStandard(text)
	if err != nil {
		return fmt.Errorf("cron %q: %s", text, strings.TrimPrefix(err.Error(), "failed to parse "))
	}
	spec, ok := s.(*cron.SpecSchedule)
	if !ok {
		return fmt.Errorf("cron %q: for times apart, say every instead", text)
	}
	spec.Location = time.UTC // see next: the wall's clock is written as if it were UTC
	if p.cron = spec; p.cron.Next(time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)).IsZero() {
		return fmt.Errorf("cron %q is never due", text)
	}
	return nil
}

// next is the first due time after a moment; zero: there is none. born is when the
// entry was added.
func (p *plan) next(after, born time.Time) time.Time {
	switch {
	case !p.at.IsZero():
		if p.at.After(after) {
			return p.at
		}
		return time.Time{}
	case p.every > 0:
		n, rest := after.Sub(born)/p.every, after.Sub(born)%p.every
		if rest < 0 { // the clock was ahead when it was added
			n--
		}
		return born.Add((n + 1) * p.every)
	case p.wild():
		spec := *p.cron
		spec.Location = p.zone
		return spec.Next(after.In(p.zone))
	}
	// Every hour that a clock on the wall shows comes once: in an hour that is left
	// out in spring what is due in it is due when the clock has jumped, and in the one
	// that comes twice in autumn, the first time.
	wall := onWall(after.In(p.zone))
	for range 10000 { // more than one step is needed only around a change of the clock
		if wall = p.cron.Next(wall); wall.IsZero() {
			return time.Time{}
		}
		if t := fromWall(wall, p.zone); t.After(after) {
			return t
		}
	}
	return time.Time{}
}

// onWall is what a clock on the wall shows at a moment, as if it were UTC. Of an hour
// that comes twice it goes by the first time.
func onWall(t time.Time) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), time.UTC)
}

// fromWall is the first moment at which the clock on a wall of a zone shows a time,
// or one that it leaves out has passed.
func fromWall(wall time.Time, zone *time.Location) time.Time {
	_, before := wall.Add(-24 * time.Hour).In(zone).Zone()
	_, after := wall.Add(24 * time.Hour).In(zone).Zone()
	early := wall.Add(-time.Duration(before) * time.Second).In(zone)
	late := wall.Add(-time.Duration(after) * time.Second).In(zone)
	if late.Before(early) {
		early, late = late, early
	}
	for _, t := range []time.Time{early, late} {
		if onWall(t).Equal(wall) {
			return t
		}
	}
	// It is left out: the clock has jumped over it somewhere between the two.
	for lo, hi := early.Unix(), late.Unix(); ; {
		if lo >= hi {
			return time.Unix(lo, 0).In(zone)
		}
		if mid := lo + (hi-lo)/2; onWall(time.Unix(mid, 0).In(zone)).Before(wall) {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
}
