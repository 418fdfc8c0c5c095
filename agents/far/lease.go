package far

import "time"

// Grace is how much longer than a machine's lease home waits at least before it gives an
// attempt up: the machine needs it to end the program.
const Grace = time.Minute

// drift is the part of a lease that home waits longer, as the machine's clock may run
// slower than home's: each may be 1 % off.
const drift = 40

// Beat is how often a machine sends a heartbeat.
const Beat = 15 * time.Second

// Lease is a machine's right to run the program of an attempt. Times are of one clock that
// does not jump. The zero value is no right yet.
type Lease struct {
	For  time.Duration // how long it holds
	Asks bool          // it never ends: no other attempt follows by itself
	sent time.Time     // the last heartbeat that home is known to have accepted
	over bool
}

// Renewed takes in that home accepted a heartbeat that was sent at a time. A lease that is
// over stays so.
func (l *Lease) Renewed(sent time.Time, now time.Time) {
	if l.Over(now) {
		return
	}
	if sent.After(l.sent) {
		l.sent = sent
	}
}

// Begun reports whether home has accepted a heartbeat: before, no program may start.
func (l *Lease) Begun() bool { return !l.sent.IsZero() }

// Over reports whether the program has to be ended.
func (l *Lease) Over(now time.Time) bool {
	if l.Begun() && !l.Asks && now.Sub(l.sent) >= l.For {
		l.over = true
	}
	return l.over
}

// Left is how long the lease holds if it is not renewed; 0: it is over or has not begun.
func (l *Lease) Left(now time.Time) time.Duration {
	if l.over || !l.Begun() {
		return 0
	}
	return max(0, l.For-now.Sub(l.sent))
}

// Watch is home's view of a lease. Times are of one clock that does not jump.
type Watch struct {
	For      time.Duration // of the lease
	Asks     bool
	accepted time.Time // the last heartbeat that home accepted, or may have
	lost     bool
}

// Adopt takes in that an earlier process of home may have accepted heartbeats until now.
func (w *Watch) Adopt(now time.Time) { w.accepted = now }

// Accept takes in a heartbeat, and reports whether home accepts it. It never does again
// once the attempt was given up.
func (w *Watch) Accept(now time.Time) bool {
	if w.Lost(now) {
		return false
	}
	w.accepted = now
	return true
}

// Lost reports whether home may redo the attempt: no program of it runs, and none will.
// Once true it stays true.
func (w *Watch) Lost(now time.Time) bool {
	if !w.Asks && !w.accepted.IsZero() && now.Sub(w.accepted) >= w.After() {
		w.lost = true
	}
	return w.lost
}

// After is how long after the last heartbeat the attempt is lost.
func (w *Watch) After() time.Duration { return w.For + w.For/drift + Grace }

// GiveUp has the attempt lost if no heartbeat was accepted at all, and reports whether it
// is: its machine then never had the right to start a program.
func (w *Watch) GiveUp() bool {
	if w.accepted.IsZero() {
		w.lost = true
	}
	return w.lost
}

// Silent is how long ago home accepted a heartbeat; 0: never.
func (w *Watch) Silent(now time.Time) time.Duration {
	if w.accepted.IsZero() {
		return 0
	}
	return now.Sub(w.accepted)
}
