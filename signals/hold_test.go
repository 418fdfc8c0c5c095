package signals

import (
	"context"
	"errors"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
)

// Only one holder at a time, in this process or another.
func TestHold(t *testing.T) {
	dir := t.TempDir()
	var inside, n atomic.Int32
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 50 {
				release, err := Hold(t.Context(), dir)
				if err != nil {
					t.Error(err)
					return
				}
				if inside.Add(1) != 1 {
					t.Error("two hold it")
				}
				n.Add(1)
				inside.Add(-1)
				release()
			}
		})
	}
	all.Wait()
	if n.Load() != 400 {
		t.Errorf("%d", n.Load())
	}
	release, err := Hold(t.Context(), dir)
	must(t, err)
	defer release()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Hold(ctx, dir); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if _, err := Hold(t.Context(), filepath.Join(dir, "none")); err == nil {
		t.Error("a folder that is not there was held")
	}
}
