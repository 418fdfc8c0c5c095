package runner

import (
	"context"
	"fmt"
	"slices"
	"time"

	"cmux/agents/runs/run"
	"cmux/signals"
)

// settle waits until the first of the unsettled markers may be judged.
func (r *Runner) settle(ctx context.Context) error {
	first := time.Now().Add(signals.Settle)
	for _, at := range r.unseen {
		if at.Before(first) {
			first = at
		}
	}
	t := time.NewTimer(time.Until(first))
	defer t.Stop()
	select {
	case <-t.C:
		return r.due(ctx)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// arm sets the timer to the next moment at which time alone changes something.
func (r *Runner) arm(t *time.Timer) {
	next := time.Now().Add(time.Hour)
	if at, ok := r.hist.State.NextWake(); ok && at.Before(next) {
		next = at
	}
	for _, later := range []map[int]time.Time{r.unseen, r.putOff} {
		for _, at := range later {
			if at.Before(next) {
				next = at
			}
		}
	}
	if r.leaving != "" && r.patient.Before(next) {
		next = r.patient
	}
	t.Reset(max(0, time.Until(next)))
}

// due is called when the timer of arm fires.
func (r *Runner) due(ctx context.Context) error {
	now := time.Now()
	var look []int
	for _, later := range []map[int]time.Time{r.unseen, r.putOff} {
		for i, at := range later {
			if !at.After(now) {
				look = append(look, i)
				delete(later, i)
			}
		}
	}
	slices.Sort(look)
	look = slices.Compact(look)
	if err := r.look(ctx, look...); err != nil {
		return err
	}
	return r.catchUp(ctx)
}

// rescan looks at everything, as if no notification ever came.
func (r *Runner) rescan(ctx context.Context) error {
	if err := r.lock.Check(); err != nil {
		if err := r.relock(); err != nil {
			return err
		}
	}
	if err := r.catchUp(ctx); err != nil {
		return err
	}
	if err := r.proveBin(ctx); err != nil {
		r.Log.Error("what nodes find first in their PATH is not what it was; nothing new is started", "err", err)
	}
	for i := range r.hist.Nodes {
		// A connection that stands says that its wrapper lives, and costs nothing.
		if r.hist.Nodes[i].Fact.Live() && !r.lives.Of(r.g.Nodes[i].Name).Stands() {
			if err := r.probe(ctx, i, false); err != nil {
				return err
			}
		}
	}
	r.screen.Refresh()
	if err := r.markers(ctx); run.NoFiles(err) {
		r.Log.Error("the markers cannot be looked at; cmux tries again", "err", err)
	} else if err != nil {
		return err
	}
	r.takeSeats()
	r.postman.kick()
	r.untold = false
	if err := r.takeLimits(ctx); err != nil {
		return err
	}
	return r.requests(ctx)
}

// relock takes the run's lock again after its file was removed.
func (r *Runner) relock() error {
	root := r.Run.Plan.Root
	if err := signals.Init(root); err != nil {
		return err
	}
	l, err := r.Run.TryLock()
	if err != nil {
		return fmt.Errorf("the run's lock was removed and cannot be taken again: %w", err)
	}
	old := r.lock
	r.lock = l
	return old.Unlock()
}

// notice looks where the watcher says that something changed.
func (r *Runner) notice(ctx context.Context, n signals.Notice) error {
	if n.Rescan {
		return r.rescan(ctx)
	}
	var (
		look     []int
		requests bool
		records  bool
		limits   bool
	)
	shared := r.shares.Dirs()
	for _, f := range n.Files {
		dir := dirOf(f)
		if slices.Contains(shared, dir) {
			limits = true
			continue
		}
		switch dir {
		case r.Run.Requests():
			requests = true
		case r.Run.Dir:
			records = true
		case dirOf(r.Run.Binary()):
			if time.Now().Before(r.binPutOff) {
				continue // what came and went was the last try
			}
			if err := r.proveBin(ctx); err != nil {
				r.binPutOff = time.Now().Add(rescan)
				r.Log.Error("what nodes find first in their PATH is not what it was; nothing new is started", "err", err)
			}
		default:
			if i := r.scanner.Node(baseOf(f)); i >= 0 {
				look = append(look, i)
			}
		}
	}
	if records || len(look) > 0 {
		// The record of a marker precedes it: knowing it first, a marker of
		// cmux's own is not taken for a person's.
		if err := r.catchUp(ctx); err != nil {
			return err
		}
	}
	if err := r.look(ctx, look...); err != nil {
		return err
	}
	if limits {
		if err := r.takeLimits(ctx); err != nil {
			return err
		}
	}
	if requests {
		return r.requests(ctx)
	}
	return nil
}
