package health

import (
	"context"
	"io"
	"slices"
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
		}, nil, time.Now, log.New(io.Discard))
		if looks != 7 {
			t.Errorf("%d looks", looks)
		}
	})
}

// A merge is looked at at once; one during a look is looked at after it.
func TestMergeWakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, end := context.WithTimeout(t.Context(), 9*time.Second)
		defer end()
		merged := make(chan struct{}, 1)
		began := time.Now()
		var at []time.Duration
		go func() {
			for _, after := range []time.Duration{2 * time.Second, 500 * time.Millisecond} {
				time.Sleep(after)
				merged <- struct{}{}
			}
		}()
		Loop(ctx, func(context.Context) (time.Time, error) {
			at = append(at, time.Since(began))
			time.Sleep(time.Second)
			return time.Now().Add(time.Hour), nil
		}, merged, time.Now, log.New(io.Discard))
		if want := []time.Duration{0, 2 * time.Second, 3 * time.Second}; !slices.Equal(at, want) {
			t.Errorf("looked at %v, want %v", at, want)
		}
	})
}
