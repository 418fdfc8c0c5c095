package watchdog

import (
	"context"
	"fmt"
	"time"

	"github.com/charmbracelet/log"

	"cmux/server/watch"
)

// World is what the watch looks at and acts on.
type World interface {
	// Facts are what is to be had at a glance. observed says which agents' files
	// and processes are looked at too.
	Facts(ctx context.Context, observed func(agent string) bool) (watch.Facts, error)
	// Person looks whether a person is at work in an agent, which takes longer. It
	// sets what the agent's facts say of that.
	Person(ctx context.Context, a *watch.Agent)
	// Took reports whether anything of an action took place.
	Took(ctx context.Context, a *watch.Action) (bool, error)
	// Do takes an action. What took place of it already is not done again.
	Do(ctx context.Context, a *watch.Action) error
	// Recovered is told of an agent that stood still and gets on again.
	Recovered(ctx context.Context, agent string) error
	// Changed is sent something when it is worth a look.
	Changed() <-chan struct{}
}

// Options is what a watch is made of.
type Options struct {
	Root  string
	World World
	Log   *log.Logger
	Now   func() time.Time
	// Every is the time between two looks when nothing changes; 0: as the
	// thresholds need it, from a quarter of a second to 15 s.
	Every time.Duration
}

const (
	mostEvery  = 15 * time.Second
	leastEvery = 250 * time.Millisecond
)

// Run watches until ctx ends.
func Run(ctx context.Context, o Options) error {
	d, err := open(ctx, o)
	if err != nil {
		return err
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-timer.C:
		case <-o.World.Changed():
			// What comes together is looked at together.
			select {
			case <-time.After(min(d.every, time.Second)):
			case <-ctx.Done():
				return nil
			}
		}
		if err := d.look(ctx); err != nil && ctx.Err() == nil {
			o.Log.Error("the watch cannot look; trying again", "err", err)
		}
		timer.Reset(d.every)
	}
}

// dog is the watch at work.
type dog struct {
	Options
	book  *book
	state watch.State
	every time.Duration
	ready bool // what an earlier one left is settled
}

func open(_ context.Context, o Options) (*dog, error) {
	b, err := openBook(o.Root)
	if err != nil {
		return nil, err
	}
	return &dog{Options: o, book: b, every: leastEvery}, nil
}

// settle finishes what an earlier watch had begun: what took place in part is
// done whole, and of what did not, nothing is left.
func (d *dog) settle(ctx context.Context) error {
	l, err := d.book.List()
	if err != nil {
		return err
	}
	for _, line := range byClock(l.pending) {
		took, err := d.World.Took(ctx, line.Act)
		if err != nil {
			return err
		}
		end := Line{ID: line.ID, Phase: Dropped, At: d.Now(), Why: "the watch was killed before it"}
		if took {
			end = d.do(ctx, line.Act)
		}
		if err := d.book.write(ctx, end); err != nil {
			return err
		}
	}
	if l, err = d.book.List(); err != nil {
		return err
	}
	d.state, d.ready = l.state(), true
	return nil
}

// look is one look, with what comes of it.
func (d *dog) look(ctx context.Context) error {
	if !d.ready {
		if err := d.settle(ctx); err != nil {
			return err
		}
	}
	was := d.state
	f, err := d.World.Facts(ctx, func(agent string) bool { return was.Agents[agent].Observed })
	if err != nil {
		return err
	}
	d.every = d.Every
	if d.every == 0 {
		c := &f.Config
		d.every = min(max(min(c.IdleAfter, c.NudgeEvery, c.FrozenAfter, c.SentryWithin)/4, leastEvery), mostEvery)
	}
	now := d.Now()
	next, acts := watch.Step(was, f, now)
	if d.intrudes(ctx, &f, acts) {
		next, acts = watch.Step(was, f, now)
	}
	for _, a := range acts {
		if err := d.take(ctx, &next, &a); err != nil {
			d.ready = false // the log says what took place
			return err
		}
	}
	d.state = next
	for name, seen := range next.Agents {
		if was.Agents[name].Rung > 0 && seen.Rung == 0 {
			if err := d.World.Recovered(ctx, name); err != nil {
				d.Log.Error("an incident could not be closed", "agent", name, "err", err)
			}
		}
	}
	return nil
}

// intrudes looks whether a person is where an action would meet them, and reports
// whether that was to be found out at all.
func (d *dog) intrudes(ctx context.Context, f *watch.Facts, acts []watch.Action) (looked bool) {
	for i := range f.Agents {
		for _, a := range acts {
			if a.Agent == f.Agents[i].Name && a.Kind != watch.Tell && a.Kind != watch.Observe {
				d.World.Person(ctx, &f.Agents[i])
				looked = true
			}
		}
	}
	return looked
}

// take takes one action, between its two lines. Where the first cannot be
// written, nothing happens, and it is decided anew at the next look.
func (d *dog) take(ctx context.Context, next *watch.State, a *watch.Action) error {
	seen := next.Agents[a.Agent]
	err := d.book.write(ctx, Line{ID: a.ID, Phase: Intent, At: d.Now(), Clock: next.Clock, Act: a, Seen: &seen})
	if err != nil {
		return fmt.Errorf("an action could not be written down, and is not taken: %s: %w", a.Reason, err)
	}
	end := d.do(ctx, a)
	if ctx.Err() != nil {
		return ctx.Err() // the next one finds out what took place
	}
	return d.book.write(ctx, end)
}

// do takes an action, and says what came of it.
func (d *dog) do(ctx context.Context, a *watch.Action) Line {
	d.Log.Info("the watch acts", "rule", a.Rule, "agent", a.Agent, "why", a.Reason)
	end := Line{ID: a.ID, Phase: Done}
	if err := d.World.Do(ctx, a); err != nil {
		d.Log.Error("an action of the watch failed", "rule", a.Rule, "agent", a.Agent, "err", err)
		end.Phase, end.Why = Failed, err.Error()
	}
	end.At = d.Now()
	return end
}
