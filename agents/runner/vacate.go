package runner

import (
	"context"
	"os"
	"time"

	"cmux/agents/proc"
	"cmux/agents/run"
	"cmux/signals"
)

const (
	// killedMoment is how long a holder that looks as if it stayed is given: it
	// may have been killed this instant and not know it yet.
	killedMoment = 500 * time.Millisecond
	// leavePatience bounds the wait for one that is known to leave.
	leavePatience = StopPatience + 10*time.Second
)

// Vacate returns the runner of r's project that goes on, or nil when there is
// none. One that was killed holds its lock until the system has taken it apart,
// and one that was told to end until its nodes have ended: it waits for both.
func Vacate(ctx context.Context, r *run.Run) (*signals.Holder, error) {
	began := time.Now()
	var since time.Time // of the lock that was found first
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		h, held, err := signals.ReadHolder(run.LockPath(r.Plan.Root))
		if err != nil || !held {
			return nil, err
		}
		if since.IsZero() {
			since = h.Since
		}
		waited := time.Since(began)
		if !h.Since.Equal(since) || waited > leavePatience {
			return &h, nil // it has come meanwhile, or does not go
		}
		if waited > killedMoment {
			leaves, err := leaving(ctx, r, h)
			if err != nil || !leaves {
				return &h, err
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// leaving reports whether the holder of the run's lock is on its way out.
func leaving(ctx context.Context, r *run.Run, h signals.Holder) (bool, error) {
	if host, err := os.Hostname(); err == nil && h.Host == host && proc.Dying(h.PID) {
		return true, nil
	}
	hist := run.NewHistory(r.Plan.Graph)
	up := false
	if _, err := r.Replay(hist, 0, func(rec *run.Record) {
		switch rec.Type {
		case run.RunnerUp:
			up = true
		case run.RunnerDown:
			up = false
		}
	}); err != nil {
		return false, err
	}
	if hist.Stopped || hist.Final != "" || !up {
		return true, nil
	}
	if Server(r) == nil {
		return false, nil
	}
	_, there, err := Session(ctx, r) // without its session it has been told to end
	return !there, err
}
