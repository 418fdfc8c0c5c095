// Package health has a project looked at for as long as its server runs: whether it
// is healthy, and what a recovery does next. What is looked at, when, and what is
// done about it is decided below, in agents/control and agents/org/recovery; this is the
// clock. One look is over before the next begins, and the end of the server breaks
// one off: the next server goes on with it.
package health

import (
	"context"
	"time"

	"github.com/charmbracelet/log"
)

// idle is how long it takes at most to notice that there is something to look at: a
// command, a merge, a clock that was set back, or that a look that could not be made
// can be made again.
const idle = 10 * time.Second

// Loop looks until ctx ends. look does what is due and says when it is to be called
// again; zero: there is nothing to look at. merged gets something when there may have
// been a merge, which is looked at at once; it may be nil.
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
