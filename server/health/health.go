// Package health runs the checks of a project's health and the steps of a recovery as long
// as its server runs. agents/control and agents/org/recovery decide what to check and do;
// this package only calls them. Checks do not overlap. The end of the server interrupts a
// check, and the next server continues.
package health

import (
	"context"
	"time"

	"github.com/charmbracelet/log"
)

// idle is the longest time until a change is noticed: a command, a merge, a clock that was
// set back, or a check that has become possible.
const idle = 10 * time.Second

// Loop runs until ctx ends. look does what is due and returns when to call it again; zero:
// there is nothing to check. merged receives when there may have been a merge, which is
// checked at once; it may be nil.
func Loop(ctx context.Context, look func(context.Context) (time.Time, error), merged <-chan struct{}, now func() time.Time, logger *log.Logger) {
	said := ""
	for ctx.Err() == nil {
		wait := idle
		next, err := look(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			if text := err.Error(); text != said { // once, and not every ten seconds
				said = text
				logger.Error("the health of the project could not be looked at", "err", err)
			}
		case !next.IsZero():
			said = ""
			wait = min(max(0, next.Sub(now())), idle)
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-merged:
		case <-ctx.Done():
		}
		timer.Stop()
	}
}
