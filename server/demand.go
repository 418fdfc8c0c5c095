package server

import (
	"context"
	"net/http"
	"sync"
	"time"

	"cmux/server/login"
)

// demandEvery is how often a server on demand looks for a monitor that is there
// now: a page that was open waits so long at most for the server to be another.
const demandEvery = 250 * time.Millisecond

// visits are the requests of those who are logged in or have the token. A
// websocket is one for as long as it is open, so that a page is here while it shows.
type visits struct {
	now func() time.Time

	mu   sync.Mutex
	here int
	last time.Time // one ended, or the first could have come
}

func newVisits(now func() time.Time) *visits { return &visits{now: now, last: now()} }

// counted counts the requests that were let in.
func (v *visits) counted(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if login.How(r.Context()) == "" {
			next.ServeHTTP(w, r) // anybody may ask, and keeps nothing up
			return
		}
		v.add(1)
		defer v.add(-1)
		next.ServeHTTP(w, r)
	})
}

func (v *visits) add(n int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.here += n
	v.last = v.now()
}

// absent is for how long nobody was here.
func (v *visits) absent() time.Duration {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.here > 0 {
		return 0
	}
	return v.now().Sub(v.last)
}

// endUnused calls end when there was neither page nor run for a while, and when
// the organization's monitor is there, which has a server of its own.
// A page may come on the local network for as long as it is open there.
func (s *site) endUnused(ctx context.Context, v *visits, lan *network, end func()) {
	every := time.NewTicker(min(demandEvery, s.idle))
	defer every.Stop()
	for {
		select {
		case <-every.C:
		case <-ctx.Done():
			return
		}
		if s.project.OrgRuns() {
			s.log.Info("the organization runs: its own server takes over")
			end()
			return
		}
		if lan.isOpen() {
			v.add(0)
		}
		if v.absent() < s.idle {
			continue
		}
		busy, err := s.project.RunUnderWay()
		if err != nil {
			s.log.Warn("whether a run is under way cannot be told", "err", err)
		}
		if !busy {
			s.log.Info("no page and no run needs the server any more", "for", s.idle)
			end()
			return
		}
		v.add(0) // what counts is the last of both
	}
}
