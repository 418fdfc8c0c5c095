package health

import (
	"context"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/charmbracelet/log"
)

// However far away the next look is said to be, it is asked for again soon: there
// may have been a merge, and clocks are set back.
func TestAsksAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, end := context.WithTimeout(t.Context(), 65*time.Second)
		defer end()
		looks := 0
		Loop(ctx, func(context.Context) (time.Time, error) {
			looks++
			return time.Now().AddDate(5, 0, 0), nil
		}, time.Now, log.New(io.Discard))
		if looks != 7 {
			t.Errorf("%d looks", looks)
		}
	})
}
