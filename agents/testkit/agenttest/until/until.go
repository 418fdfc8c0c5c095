// Package until waits in tests for what has no signal of its own. A look costs:
// a process that is started, a pane that is drawn, a file that is parsed with
// the race detector on. So the pauses between looks grow with the time that was
// waited already, from First to Last, and a pause is three times as long as the
// look before it: a wait takes at most a quarter of a core from what it waits for.
package until

import (
	"context"
	"time"
)

// First and Last are the shortest and the longest pause between two looks that
// cost nothing.
const (
	First = 10 * time.Millisecond
	Last  = 500 * time.Millisecond
)

// True reports whether fact became true before ctx ended. It looks at least
// once.
func True(ctx context.Context, fact func() bool) bool {
	began := time.Now()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		looked := time.Now()
		if fact() {
			return true
		}
		timer.Reset(Pause(time.Since(began), time.Since(looked)))
		select {
		case <-timer.C:
		case <-ctx.Done():
			return false
		}
	}
}

// Pause is how long to wait for the next look, after so much waiting and a last
// look that took so long.
func Pause(waited, look time.Duration) time.Duration {
	return max(min(waited/10, Last), 3*look, First)
}
