package attempt

import "time"

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

// alarm wakes at a moment of the wall clock, also when the clock is set or the
// machine sleeps meanwhile: a plain timer measures time awake.
type alarm struct {
	until time.Time
	timer *time.Timer
}

// maxNap bounds how late an alarm notices that the clock was set.
const maxNap = time.Minute

func newAlarm(until time.Time) *alarm {
	a := &alarm{until: until.Round(0)}
	a.timer = time.NewTimer(a.nap(time.Now()))
	return a
}

// nap is how long to sleep before the clock is looked at again.
func (a *alarm) nap(now time.Time) time.Duration {
	return min(max(a.until.Sub(now.Round(0)), 0), maxNap)
}

// due reports, after the timer fired, whether the moment has come; if not the
// timer is set again.
func (a *alarm) due() bool {
	d := a.nap(time.Now())
	if d <= 0 {
		return true
	}
	a.timer.Reset(d)
	return false
}

func (a *alarm) stop() { a.timer.Stop() }
