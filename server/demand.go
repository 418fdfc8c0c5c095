package server

import (
	"context"
	"net/http"
	"sync"
	"time"

	"cmux/server/login"
)

// demandEvery is how often an on-demand server checks for a monitor: an open page waits at
// most that long for the new server.
const demandEvery = 250 * time.Millisecond

// visits counts the requests of authenticated clients. A websocket counts as long as it is
// open, so an open page counts.
type visits struct {
	now func() time.Time

	mu   sync.Mutex
	here int
	last time.Time // one ended, or the first could have come
}

func newVisits(now func() time.Time) *visits { return &visits{now: now, last: now()} }

// counted counts the authenticated requests.
func (v *visits) counted(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if login.How(r.Context()) == "" {
			next.ServeHTTP(w, r) // unauthenticated requests do not keep the server running
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

// absent returns how long there was no client.
func (v *visits) absent() time.Duration {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.here > 0 {
		return 0
	}
	return v.now().Sub(v.last)
}

// endUnused calls end if there was neither page nor run for a while, or if the
// organization's monitor runs, which has its own server. It does not end while the local
// network is open, because a page may still come.
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
		busy, err := s.project.Serving().RunUnderWay()
		if err != nil {
			s.log.Warn("whether a run is under way cannot be told", "err", err)
		}
		if !busy {
			s.log.Info("no page and no run needs the server any more", "for", s.idle)
			end()
			return
		}
		v.add(0) // the later of both counts
	}
}
