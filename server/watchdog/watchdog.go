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
	// Recovered is called for an agent that was frozen and works again, with the reason.
	Recovered(ctx context.Context, agent, why string) error
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

	failedEvery = time.Minute // at most, where it cannot look
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
		err := d.look(ctx)
		if ctx.Err() != nil {
			return nil
		}
		timer.Reset(d.pause(err))
	}
}

// dog is the watch at work.
type dog struct {
	Options
	book  *book
	state watch.State
	every time.Duration
	ready bool // what an earlier one left is settled

	failing string            // why the last look failed; empty: it did not
	wait    time.Duration     // before the next look, when it did
	closing map[string]string // agents that stand still no more, which nobody was told yet, and why
}

// pause is how long to wait after a look, and says it when something changed: looks
// that fail come less and less often, and the same error is said once.
func (d *dog) pause(err error) time.Duration {
	if err == nil {
		if d.failing != "" {
			d.Log.Info("the watch looks again")
		}
		d.failing, d.wait = "", 0
		return d.every
	}
	if why := err.Error(); why != d.failing {
		d.failing = why
		d.Log.Error("the watch cannot look; trying again", "err", err)
	}
	d.wait = min(max(2*d.wait, d.every, leastEvery), failedEvery)
	return d.wait
}

func open(_ context.Context, o Options) (*dog, error) {
	b, err := openBook(o.Root)
	if err != nil {
		return nil, err
	}
	return &dog{Options: o, book: b, every: leastEvery, closing: make(map[string]string)}, nil
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

// look observes once and carries out the decisions.
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
	now := d.Now().Local() // quiet hours are a person's
	next, acts := watch.Step(was, f, now)
	// Who is barred by a person makes room for another one, who may be too.
	for looked := make(map[string]bool, len(f.Agents)); d.intrudes(ctx, &f, acts, looked); {
		next, acts = watch.Step(was, f, now)
	}
	for _, a := range acts {
		if err := d.take(ctx, &next, &a); err != nil {
			d.ready = false // the log says what took place
			return err
		}
	}
	d.state = next
	d.recovered(ctx, was)
	return nil
}

// recovered tells of the agents that stand still no more, until it was heard.
func (d *dog) recovered(ctx context.Context, was watch.State) {
	for name, seen := range was.Agents {
		now, there := d.state.Agents[name]
		switch {
		case seen.Open > 0 && !there:
			d.closing[name] = "it was removed"
		case seen.Open > 0 && now.Open == 0:
			d.closing[name] = "it gets on again"
		}
	}
	for name, why := range d.closing {
		if d.state.Agents[name].Open == 0 {
			if err := d.World.Recovered(ctx, name, why); err != nil {
				d.Log.Error("an incident could not be closed", "agent", name, "err", err)
				continue
			}
		}
		delete(d.closing, name)
	}
}

// intrudes looks whether a person is where an action would meet them, at each agent
// once, and reports whether that was to be found out at all.
func (d *dog) intrudes(ctx context.Context, f *watch.Facts, acts []watch.Action, looked map[string]bool) (found bool) {
	for i := range f.Agents {
		for _, a := range acts {
			if a.Agent == f.Agents[i].Name && a.Kind != watch.Tell && a.Kind != watch.Observe && !looked[a.Agent] {
				d.World.Person(ctx, &f.Agents[i])
				looked[a.Agent], found = true, true
			}
		}
	}
	return found
}

// take takes one action, between its two lines. If the first line cannot be written,
// nothing happens, and the next look decides again.
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
	if end.Phase == Failed {
		// What is not known to have come to nothing counts, or it might be done twice.
		if took, err := d.World.Took(ctx, a); err == nil && !took {
			*next = next.Failed(a)
			seen = next.Agents[a.Agent]
			end.Seen = &seen
		}
	}
	return d.book.write(ctx, end)
}

// do carries out an action and returns its result.
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
