package server

import (
	"context"
	"path/filepath"
	"slices"
	"time"

	"cmux/agents/control"
	"cmux/agents/schedule"
	"cmux/signals"
)

const (
	// clockCheck is how often the clock on the wall is looked at: it may be set, and
	// the machine may have slept, of which a timer does not know.
	clockCheck = 30 * time.Second
	// What could not be done is left alone for clockRest, and each time for twice as
	// long, until it is clockLongest.
	clockRest    = 10 * time.Second
	clockLongest = 10 * time.Minute
)

// rest is how long to leave alone what could not be done.
type rest struct {
	last time.Duration // 0: it was done
	said string
}

// after is how long to wait after a try that came to err, at the most; 0: it was done.
// tell: the error is another one than at the try before.
func (r *rest) after(err error) (wait time.Duration, tell bool) {
	if err == nil {
		*r = rest{}
		return 0, false
	}
	tell = err.Error() != r.said
	r.said = err.Error()
	r.last = min(clockLongest, max(clockRest, 2*r.last))
	return r.last, tell
}

// keepTime has come about what the project's schedule says, when it is due.
func (s *site) keepTime(ctx context.Context) {
	folder := filepath.Join(s.project.Root, signals.Folder)
	file := filepath.Join(folder, schedule.Name)
	w := signals.Watch(ctx, folder)
	defer w.Close()
	p := *s.project
	p.Caller.Note = func(text string) { s.log.Warn(text) }
	clock, failed := p.NewClock(), new(rest)
	for ctx.Err() == nil {
		wake := time.NewTimer(s.untilDue(ctx, clock, failed))
		for again := false; !again; {
			select {
			case n := <-w.C:
				again = n.Rescan || slices.Contains(n.Files, file)
			case <-wake.C:
				again = true
			case <-ctx.Done():
				again = true
			}
		}
		wake.Stop()
	}
}

// untilDue has come about what is due and says how long to wait at the most.
func (s *site) untilDue(ctx context.Context, clock *control.Clock, failed *rest) time.Duration {
	next, err := clock.RunDue(ctx)
	if ctx.Err() != nil {
		return 0
	}
	longest, tell := failed.after(err)
	if tell {
		s.log.Error("the schedule could not be carried out; trying again, and less and less often", "err", err)
	}
	if err == nil {
		longest = clockCheck
	}
	if next.IsZero() {
		return longest
	}
	return min(longest, max(0, next.Sub(s.project.Now())))
}

// tidyEvery is how often the server removes what the configuration lets it remove.
const tidyEvery = 5 * time.Minute

// keepTidy removes what the organisation no longer needs, as far as it may.
func (s *site) keepTidy(ctx context.Context) {
	every := time.NewTicker(tidyEvery)
	defer every.Stop()
	for {
		select {
		case <-every.C:
		case <-ctx.Done():
			return
		}
		done, err := s.project.MaintainAllowed(ctx)
		if err != nil && ctx.Err() == nil {
			s.log.Error("maintenance could not be done; trying again later", "err", err)
		}
		for _, u := range done {
			if u.Done != "" || u.Failed != "" {
				s.log.Info("maintenance", "kind", u.Kind, "name", u.Name, "why", u.Why, "done", u.Done, "restore", u.Restore, "failed", u.Failed)
			}
		}
	}
}
