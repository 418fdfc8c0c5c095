package attempt

import (
	"slices"
	"time"

	"cmux/agents/runs/conversation"
)

// stopwatch is a limit on the time spent in some states.
type stopwatch struct {
	left  time.Duration // 0 when created: no limit
	since time.Time     // when it was last started; zero: stopped
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
		// Keep left above zero: if the time is up, the timer fires at the next start.
		w.left = max(w.left-time.Since(w.since), 1)
		w.since = time.Time{}
		w.C = never
	}
}

// never is a channel that never receives; unlike nil it means that there is a limit.
var never = make(<-chan time.Time)

// clocks are the timers of a conversation. One for a wall-clock time also fires when the
// clock is set or after the machine slept: a plain timer measures the time awake.
type clocks struct {
	at    map[conversation.Clock]time.Time
	timer *time.Timer
}

// maxNap bounds how late clocks notice that the wall clock was set.
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

// set makes the timer fire at the first of the times.
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

// left returns the time until a moment; a moment without a monotonic reading is in
// wall-clock time.
func left(at, now time.Time) time.Duration {
	if at == at.Round(0) {
		now = now.Round(0)
	}
	return max(at.Sub(now), 0)
}

// C receives when it may be time.
func (c *clocks) C() <-chan time.Time {
	if c.timer == nil {
		return nil
	}
	return c.timer.C
}

// due returns the clocks that fire now, in order, and disarms them.
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
