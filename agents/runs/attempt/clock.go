package attempt

import (
	"slices"
	"time"

	"cmux/agents/runs/conversation"
)

// stopwatch is a bound on time spent in some states and not in others.
type stopwatch struct {
	left  time.Duration // 0 at make: no bound
	since time.Time     // when it was last started; zero: it stands
	timer *time.Timer
	C     <-chan time.Time
}

func newStopwatch(bound time.Duration) *stopwatch { return &stopwatch{left: bound} }

// run starts or stops the watch; doing either twice changes nothing.
func (w *stopwatch) run(on bool) {
	switch {
	case w.left <= 0 && w.C == nil: // no bound
	case on && w.since.IsZero():
		w.since = time.Now()
		w.timer = time.NewTimer(w.left)
		w.C = w.timer.C
	case !on && !w.since.IsZero():
		w.timer.Stop()
		// What is left stays above zero: an elapsed bound fires at the next start.
		w.left = max(w.left-time.Since(w.since), 1)
		w.since = time.Time{}
		w.C = never
	}
}

// never is a channel on which nothing comes; unlike nil it says that there is
// a bound.
var never = make(<-chan time.Time)

// clocks are those of a conversation. One for a moment of the wall clock rings
// also when the clock is set or the machine sleeps meanwhile: a plain timer
// measures time awake.
type clocks struct {
	at    map[conversation.Clock]time.Time
	timer *time.Timer
}

// maxNap bounds how late it is noticed that the clock was set.
const maxNap = time.Minute

func (c *clocks) arm(e conversation.Arm, now time.Time) {
	if c.at == nil {
		c.at = make(map[conversation.Clock]time.Time)
	}
	if e.Until.IsZero() {
		c.at[e.Clock] = now.Add(e.For)
	} else {
		c.at[e.Clock] = e.Until.Round(0)
	}
	c.set(now)
}

func (c *clocks) disarm(k conversation.Clock) {
	delete(c.at, k)
	if len(c.at) == 0 {
		c.stop()
	}
}

func (c *clocks) stop() {
	if c.timer != nil {
		c.timer.Stop()
	}
	c.timer = nil
}

// set has the timer ring at the first of the moments.
func (c *clocks) set(now time.Time) {
	c.stop()
	nap := time.Duration(-1)
	for _, at := range c.at {
		if d := left(at, now); nap < 0 || d < nap {
			nap = d
		}
	}
	if nap >= 0 {
		c.timer = time.NewTimer(min(nap, maxNap))
	}
}

// left is how long it is until a moment; one without a monotonic reading is of
// the wall clock.
func left(at, now time.Time) time.Duration {
	if at == at.Round(0) {
		now = now.Round(0)
	}
	return max(at.Sub(now), 0)
}

// C rings when it may be time.
func (c *clocks) C() <-chan time.Time {
	if c.timer == nil {
		return nil
	}
	return c.timer.C
}

// due are the clocks that ring now, in their order. They are armed no longer.
func (c *clocks) due(now time.Time) (rang []conversation.Clock) {
	for k, at := range c.at {
		if left(at, now) == 0 {
			rang = append(rang, k)
			delete(c.at, k)
		}
	}
	c.set(now)
	slices.Sort(rang)
	return rang
}
