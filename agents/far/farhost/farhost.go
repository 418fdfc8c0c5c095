package farhost

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"time"

	"cmux/agents/far"
	"cmux/agents/platform/proc"
	"cmux/agents/runs/host"
	"cmux/agents/runs/run"
	"cmux/dag"
)

// Config is what a Host is made of.
type Config struct {
	host.Config
	Home    host.Host // of the nodes that are not far
	Carrier far.Carrier
	URL     string // of the carrier, as in run.Place.Far
	Project string // as in far.Ref
	Cmux    string // version
}

// Host carries out far nodes on other machines.
type Host struct {
	host.Host
	c      Config
	ctx    context.Context // of the goroutines
	cancel context.CancelFunc
	tasks  sync.WaitGroup

	mu   sync.Mutex
	away map[host.Ref]*follower // far attempts; nil: not adopted yet
	git  sync.Mutex             // one transfer of commits at a time
}

// New returns a Host. Attempts that the run's records name as far and not over are adopted
// when they are looked for; what is over is given back to its machine.
func New(ctx context.Context, c Config) (*Host, error) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	h := &Host{Host: c.Home, c: c, ctx: ctx, cancel: cancel, away: make(map[host.Ref]*follower)}
	over := make(map[host.Ref]bool)
	err := c.Run.EachRecord(func(rec *run.Record) {
		ref := host.Ref{Node: rec.Node, N: rec.Attempt}
		switch rec.Type {
		case run.Started:
			if rec.Place != nil && rec.Place.Away() {
				over[ref] = false
			}
		case run.AttemptEnd, run.Vanished:
			if _, is := over[ref]; is {
				over[ref] = true
			}
		}
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		cancel()
		return nil, err
	}
	for ref, ended := range over {
		if !ended {
			h.away[ref] = nil
		} else if h.uncollected(ref) {
			h.collect(ref)
		}
	}
	h.tasks.Go(h.watch)
	return h, nil
}

// Far is the place that nodes of a kind are carried out at, as in run.Place.Far; empty: at
// home.
func (h *Host) Far(n *dag.Node) string {
	if n.Away() {
		return h.c.URL
	}
	return ""
}

// Bound reports that far attempts outlive this process.
func (h *Host) Bound(n *dag.Node) bool { return !n.Away() && h.Host.Bound(n) }

// Lends reports that far attempts have worktrees elsewhere.
func (h *Host) Lends(n *dag.Node) bool { return !n.Away() && h.Host.Lends(n) }

func (h *Host) ref(ref host.Ref) far.Ref {
	return far.Ref{Project: h.c.Project, Run: h.c.Run.Plan.ID, Node: ref.Node, N: ref.N}
}

// Start opens a far attempt. It returns before a machine has it.
func (h *Host) Start(ctx context.Context, s *run.Spec) (host.Link, error) {
	if !s.Place.Away() {
		return h.Host.Start(ctx, s)
	}
	s.Headless = true // nobody sits at the machine
	ref := host.Ref{Node: s.Node, N: s.Attempt}
	if err := h.c.Book.Patiently(ctx, func() error { return h.note(ref) }); err != nil {
		return nil, err
	}
	if err := h.c.Book.Patiently(ctx, func() error { return h.c.Run.WriteSpec(s) }); err != nil {
		return nil, err
	}
	f, err := h.adopt(ref, s, false)
	if err != nil {
		return nil, err
	}
	return link{f}, nil
}

// adopt begins to follow an attempt, unless that is done already.
func (h *Host) adopt(ref host.Ref, s *run.Spec, again bool) (*follower, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if f := h.away[ref]; f != nil {
		return f, nil
	}
	f, err := h.follower(ref, s, again)
	if err != nil {
		return nil, err
	}
	h.away[ref] = f
	h.tasks.Go(f.follow)
	return f, nil
}

func (h *Host) isAway(ref host.Ref) (f *follower, is bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	f, is = h.away[ref]
	return f, is
}

// Reach adopts a far attempt that is not followed yet.
func (h *Host) Reach(ctx context.Context, ref host.Ref) (host.Link, error) {
	f, is := h.isAway(ref)
	if !is {
		return h.Host.Reach(ctx, ref)
	}
	if f == nil { // an earlier process has opened it, or was about to
		s, err := h.c.Run.ReadSpec(ref.Node, ref.N)
		if err != nil {
			return nil, err
		}
		if f, err = h.adopt(ref, s, true); err != nil {
			return nil, err
		}
	}
	if f.over() {
		return nil, host.ErrGone
	}
	return link{f}, nil
}

// Probe finds no far attempt gone that was specified: its end is told, whatever it is.
func (h *Host) Probe(ref host.Ref, fresh time.Time) (host.Pulse, func() error, error) {
	f, is := h.isAway(ref)
	switch {
	case !is:
		return h.Host.Probe(ref, fresh)
	case f != nil && f.over():
		return host.Unknown, nil, nil
	case f != nil:
		return host.Lives, nil, nil
	}
	_, err := h.c.Run.ReadSpec(ref.Node, ref.N)
	switch {
	case errors.Is(err, run.ErrWithdrawn): // home was killed before anybody heard of it
		return host.Gone, func() error { return nil }, nil
	case err != nil:
		return host.Unknown, nil, err
	}
	return host.Lives, nil, nil
}

// Withdraw removes the spec: nobody opens the attempt again.
func (h *Host) Withdraw(ref host.Ref) error {
	if _, is := h.isAway(ref); is {
		return h.c.Run.DropSpec(ref.Node, ref.N)
	}
	return h.Host.Withdraw(ref)
}

// End gives far attempts up. Their machines end what they left running.
func (h *Host) End(ctx context.Context, ref host.Ref, by proc.Identity, patience time.Duration) ([]proc.Process, error) {
	for n := 1; n <= ref.N; n++ {
		if f, is := h.isAway(host.Ref{Node: ref.Node, N: n}); is && (f == nil || !f.over()) {
			h.release(host.Ref{Node: ref.Node, N: n}, far.GivenUp)
		}
	}
	if _, is := h.isAway(ref); is {
		return nil, nil
	}
	return h.Host.End(ctx, ref, by, patience)
}

// Collected takes in that the end of an attempt is recorded.
func (h *Host) Collected(ref host.Ref) {
	if _, is := h.isAway(ref); is {
		h.collect(ref)
	}
}

// collect tells the machine that home has everything of an attempt.
func (h *Host) collect(ref host.Ref) { h.release(ref, far.WasCollected) }

func (h *Host) release(ref host.Ref, why far.Why) {
	h.tasks.Go(func() {
		err := h.c.Carrier.Close(h.ctx, h.ref(ref), why)
		if err == nil || errors.Is(err, far.ErrUnknown) || errors.Is(err, far.ErrClosed) {
			err = h.forget(ref)
		}
		if err != nil && h.ctx.Err() == nil {
			h.c.Log.Warn("a machine was not told that an attempt is over", "node", ref.Node, "attempt", ref.N, "err", err)
		}
	})
}

// Close leaves far attempts to whoever comes next.
func (h *Host) Close() error {
	h.cancel()
	h.tasks.Wait()
	return h.Host.Close()
}

// silentAfter is how long a machine is silent before a person is told.
const silentAfter = 3 * far.Beat

// watch records what a person is to know of attempts whose machines say nothing: that they
// wait for one, and that it was not heard of for a while.
func (h *Host) watch() {
	tick := time.NewTicker(2 * time.Second)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-h.ctx.Done():
			return
		}
		h.mu.Lock()
		var all []*follower
		for _, f := range h.away {
			if f != nil && !f.over() {
				all = append(all, f)
			}
		}
		h.mu.Unlock()
		for _, f := range all {
			if err := f.look(h.ctx); err != nil && h.ctx.Err() == nil {
				h.c.Log.Warn("how a far attempt stands cannot be told", "node", f.ref.Node, "err", err)
			}
		}
	}
}

// since says how long ago something was, for people.
func since(d time.Duration) string {
	if d < time.Minute {
		return fmt.Sprintf("%ds", int(d.Seconds()))
	}
	return fmt.Sprintf("%dm", int(d.Minutes()))
}
