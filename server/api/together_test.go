package api

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// Nobody gets what was read before they asked, and those who wait at the same
// time share one answer.
func TestTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asks together[int64]
		var calls atomic.Int64
		goOn := make(chan struct{})
		f := func(context.Context) (int64, error) {
			n := calls.Add(1)
			<-goOn
			return n, nil
		}
		var all sync.WaitGroup
		ask := func(want int64) {
			all.Go(func() {
				if got, err := asks.ask(t.Context(), f); err != nil || got != want {
					t.Errorf("got answer %d, %v, want answer %d", got, err, want)
				}
			})
		}
		ask(1)
		synctest.Wait()
		for range 9 {
			ask(2)
		}
		synctest.Wait()
		goOn <- struct{}{}
		synctest.Wait()
		ask(3)
		synctest.Wait()
		close(goOn)
		all.Wait()
		var cost waited
		ctx := context.WithValue(t.Context(), waitedKey{}, &cost)
		slow := func(context.Context) (int64, error) { time.Sleep(time.Second); return 0, nil }
		all.Go(func() { _, _ = asks.ask(t.Context(), slow) })
		synctest.Wait()
		all.Go(func() { _, _ = asks.ask(ctx, slow) })
		all.Wait()
		if got := time.Duration(cost.Load()); got != time.Second {
			t.Errorf("one that worked 1 s after another's counts %s as waiting", got)
		}
		if calls.Load() != 3 {
			t.Errorf("%d answers were made, want 3", calls.Load())
		}
	})
}

// Who asks and gives up, or panics, leaves the others an answer of their own.
func TestTogetherGivesUp(t *testing.T) {
	for name, fail := range map[string]func(context.Context) (string, error){
		"gone":   func(ctx context.Context) (string, error) { <-ctx.Done(); return "", ctx.Err() },
		"panics": func(ctx context.Context) (string, error) { <-ctx.Done(); panic("test") },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var asks together[string]
				hold := make(chan struct{})
				var all sync.WaitGroup
				all.Go(func() {
					_, _ = asks.ask(t.Context(), func(context.Context) (string, error) { <-hold; return "", nil })
				})
				synctest.Wait()
				ctx, leave := context.WithCancel(t.Context())
				all.Go(func() {
					defer func() { _ = recover() }()
					if _, err := asks.ask(ctx, fail); !errors.Is(err, context.Canceled) {
						t.Errorf("the one that left got %v", err)
					}
				})
				synctest.Wait()
				all.Go(func() {
					if got, err := asks.ask(t.Context(), func(context.Context) (string, error) { return "its own", nil }); got != "its own" || err != nil {
						t.Errorf("got %q, %v", got, err)
					}
				})
				away, goAway := context.WithCancel(t.Context())
				all.Go(func() {
					if _, err := asks.ask(away, fail); !errors.Is(err, context.Canceled) {
						t.Errorf("one that waits and leaves got %v", err)
					}
				})
				synctest.Wait()
				goAway()
				synctest.Wait()
				leave()
				close(hold)
				all.Wait()
			})
		})
	}
}
