package runner

import (
	"context"
	"os"
	"time"

	"cmux/agents/platform/proc"
	"cmux/agents/runs/run"
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
// none, or one that stays with a run that has ended (see Yield). One that was
// killed holds its lock until the system has taken it apart, and one that was
// told to end until its nodes have ended: it waits for both.
func Vacate(ctx context.Context, r *run.Run) (*signals.Holder, error) {
	return vacate(ctx, r, false)
}

// Yield is Vacate that has a runner leave which stays with a run that has ended:
// when it returns nil, nobody has the project.
func Yield(ctx context.Context, r *run.Run) (*signals.Holder, error) {
	return vacate(ctx, r, true)
}

func vacate(ctx context.Context, r *run.Run, yield bool) (*signals.Holder, error) {
	began := time.Now()
	var since time.Time // of the lock that was found first
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for asked := false; ; {
		h, held, err := signals.ReadHolder(r.LockPath())
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
		if !asked || waited > killedMoment {
			has, err := does(ctx, r, h)
			switch {
			case err != nil:
				return &h, err
			case has == stays && !yield:
				return nil, nil
			case has == stays && !asked:
				asked = true
				if _, err := r.Ask(run.Request{Op: run.OpLeave}); err != nil {
					return &h, err
				}
			case has == carries && waited > killedMoment:
				return &h, nil
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// doing is what the holder of the run's lock does.
type doing uint8

const (
	carries doing = iota // the run, as far as can be told
	stays                // with the run, which has ended
	leaves
)

// does says what the holder of the run's lock does.
func does(ctx context.Context, r *run.Run, h signals.Holder) (doing, error) {
	if host, err := os.Hostname(); err == nil && h.Host == host && proc.Dying(h.PID) {
		return leaves, nil
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
		return carries, err
	}
	if hist.Stopped || !up {
		return leaves, nil
	}
	if s := Server(r); s != nil {
		// Without its session it has been told to end.
		if _, there, err := Session(ctx, r); err != nil || !there {
			return leaves, err
		}
	}
	if hist.Final != "" {
		return stays, nil
	}
	return carries, nil
}
