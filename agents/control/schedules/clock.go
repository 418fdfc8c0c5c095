package schedules

import (
	"context"
	"errors"
	"fmt"
	"time"

	"cmux/agents/org/schedule"
	"cmux/agents/records/ledger"
)

// Clock runs what is due in a project, for as long as somebody asks it to. It
// is for one goroutine.
type Clock struct {
	p     *Schedules
	book  *schedule.Book      // nil: to be opened
	told  map[ledger.Bad]bool // the lines that do not count, of which it was said
	whole rest                // of the file
	rests map[string]*rest    // of entries that could not be seen to, by id
}

// NewClock is a clock of the project.
func (p *Schedules) NewClock() *Clock { return &Clock{p: p, rests: make(map[string]*rest)} }

// What could not be done is left alone for clockRest, and each time for twice as long,
// until it is clockLongest.
const (
	clockRest    = 10 * time.Second
	clockLongest = 10 * time.Minute
)

// rest is how long to leave alone what could not be done.
type rest struct {
	last  time.Duration // 0: it was done
	until time.Time
	said  string
}

// over reports whether it may be tried again. A clock that was set back makes no rest
// longer.
func (r *rest) over(now time.Time) bool {
	if most := now.Add(r.last); r.until.After(most) {
		r.until = most
	}
	return !now.Before(r.until)
}

// after takes in a try that came to err. It returns the error where it is another one
// than at the try before: it is reported once.
func (r *rest) after(err error, now time.Time) error {
	if err == nil {
		*r = rest{}
		return nil
	}
	r.last = min(clockLongest, max(clockRest, 2*r.last))
	r.until = now.Add(r.last)
	if err.Error() == r.said {
		return nil
	}
	r.said = err.Error()
	return err
}

// RunDue runs what is due, and says when to call it again; zero: nothing is
// due any more. Called again at any moment, by whomever, it does nothing twice. What
// cannot be done is tried less and less often, is reported once, as err, and holds
// nothing else up.
func (c *Clock) RunDue(ctx context.Context) (next time.Time, err error) {
	now := c.p.Now()
	if !c.whole.over(now) {
		return c.whole.until, nil
	}
	l, err := c.list()
	if err = c.whole.after(err, now); l == nil {
		return c.whole.until, err
	}
	due, next := schedule.Due(l, now)
	rests := make(map[string]*rest, len(due))
	for _, f := range due {
		r := c.rests[f.Entry.ID]
		if r == nil {
			r = new(rest)
		}
		if r.over(now) {
			_, ferr := c.p.fire(ctx, c.book, f, false)
			if ctx.Err() != nil {
				return time.Time{}, nil // broken off: it says nothing about the entry
			}
			if told := r.after(ferr, now); told != nil {
				err = errors.Join(err, fmt.Errorf("%s: %w", f.Entry.ID, told))
			}
		}
		if r.last == 0 {
			continue
		}
		if rests[f.Entry.ID] = r; next.IsZero() || r.until.Before(next) {
			next = r.until
		}
	}
	c.rests = rests
	return next, err
}

// list is the schedule as it stands; nil: it could not be read.
func (c *Clock) list() (l *schedule.List, err error) {
	if c.book == nil {
		if c.book, err = schedule.OpenBook(c.p.Root, c.p.Now, true); err != nil {
			return nil, err
		}
	}
	if l, err = c.book.List(); err != nil {
		c.book = nil // its key may be put back
		return nil, err
	}
	was := c.told
	c.told = map[ledger.Bad]bool{}
	for _, b := range l.Bad {
		if c.told[b] = true; !was[b] {
			c.p.Skipped([]ledger.Bad{b})
		}
	}
	return l, nil
}
