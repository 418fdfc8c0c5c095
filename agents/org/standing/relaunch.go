package standing

import (
	"context"
	"time"

	"cmux/agents/org/watchconfig"
	"cmux/agents/runs/run"
)

// parts reports whether the agent's life is to end, by an order about it.
func (s *State) parts() bool {
	return s.Leaving != "" || s.Resetting != "" || s.Stopped || s.InRoom() && !s.Wanted || s.relaunch > 0 && s.relaunch == s.Life.N
}

// relaunch has the agent's program end and start again, in its conversation and
// with its unfinished work. It is over when the life has ended: the next one
// begins by itself.
func (k *Keeper) relaunch(ctx context.Context, q run.Request, a *Agent) (done, error) {
	switch {
	case a.Leaving != "":
		return refuse("%s is being removed", a.Name), nil
	case a.Stopped, k.org.Stopped:
		return refuse("%s was stopped, and stays so", a.Name), nil
	case a.Held != "":
		return refuse("%s waits for a person: %s", a.Name, a.Held), nil
	}
	if a.relaunchBy != q.ID {
		recs := []run.Record{{Type: run.Noted, Key: keyRelaunch, Request: q.ID, Attempt: a.Life.N}}
		if a.Crashing() {
			recs = append(recs, run.Record{Type: run.Resumed})
		}
		if err := k.org.RecordOf(ctx, a.Name, recs...); err != nil {
			return done{}, err
		}
		if err := k.org.lookAt(a); err != nil {
			return done{}, err
		}
	}
	return done{over: a.Life.N > a.relaunch || !a.Life.On()}, nil // else attend asks it to end
}

// resetPatience is how long the next task of a permanent worker waits for the
// watch to order the reset that is due.
const resetPatience = 30 * time.Second

// resetsFirst is until when the next task of an agent waits, because its reset is
// due, which the watch orders; zero: it need not.
func (o *Org) resetsFirst(a *Agent) time.Time {
	if a.Member.Role != PermanentWorker || a.Last == nil {
		return time.Time{}
	}
	now := a.Last.At
	if c := watchconfig.New(o.Settings.Watch); !c.ResetDue(a.Tasks, now.Sub(a.Conversed())) || c.Quiet.Has(now.Local()) {
		return time.Time{}
	}
	return now.Add(resetPatience)
}

// Conversed is when the agent's conversation began.
func (s *State) Conversed() time.Time {
	if s.ResetAt.After(s.Born) {
		return s.ResetAt
	}
	return s.Born
}
