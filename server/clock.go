package server

import (
	"context"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"cmux/agents/org/schedule"
	"cmux/server/health"
	"cmux/signals"
)

// clockCheck is the interval of checks of the wall clock: it may be set, or the machine may
// have slept, and timers do not notice.
const clockCheck = 30 * time.Second

// keepTime carries out the project's schedule.
func (s *site) keepTime(ctx context.Context) {
	folder := filepath.Join(s.project.Root, signals.Folder)
	file := filepath.Join(folder, schedule.Name)
	w := signals.Watch(ctx, folder)
	defer w.Close()
	p := *s.project
	p.Caller.Note = func(text string) { s.log.Warn(text) }
	clock := p.Schedules().NewClock()
	for ctx.Err() == nil {
		next, err := clock.RunDue(ctx)
		if err != nil && ctx.Err() == nil { // the end of the server is no fault
			s.log.Error("the schedule could not be carried out; trying again, and less and less often", "err", err)
		}
		wait := clockCheck
		if !next.IsZero() {
			wait = min(wait, max(0, next.Sub(s.project.Now())))
		}
		wake := time.NewTimer(wait)
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

// keepHealthy checks the project's health, at once if the integration branch may have
// moved.
func (s *site) keepHealthy(ctx context.Context) {
	merged := make(chan struct{}, 1)
	var heard sync.WaitGroup
	defer heard.Wait()
	ctx, end := context.WithCancel(ctx)
	defer end()
	heard.Go(func() {
		err := s.project.Merges(ctx, func() {
			select {
			case merged <- struct{}{}:
			default: // a check is pending
			}
		})
		if err != nil { // the loop also checks from time to time
			s.log.Warn("a merge is noticed late", "err", err)
		}
	})
	health.Loop(ctx, s.project.Health().LookAtHealth, merged, s.project.Now, s.log)
}

// tidyEvery is the interval of automatic removals that the configuration allows.
const tidyEvery = 5 * time.Minute

// keepTidy removes what the organization no longer needs, as far as the configuration
// allows.
func (s *site) keepTidy(ctx context.Context) {
	every := time.NewTicker(tidyEvery)
	defer every.Stop()
	for {
		select {
		case <-every.C:
		case <-ctx.Done():
			return
		}
		done, err := s.project.Health().MaintainAllowed(ctx)
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
