package api

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/danielgtaylor/huma/v2"
)

// timed adds to each answer how long the server worked, in the header Server-Timing. A page
// requests expensive routes less often, and cannot tell from its own wait whether the
// server or the page was busy.
func timed(ctx huma.Context, next func(huma.Context)) {
	w := &waited{}
	next(&timing{request: huma.WithValue(ctx, waitedKey{}, w), began: time.Now(), waited: w})
}

type waitedKey struct{}

// waited is how long a request waited for other requests.
type waited struct{ atomic.Int64 } // nanoseconds

// waitedSince adds the time since a moment, except own, as waiting.
func waitedSince(ctx context.Context, then time.Time, own time.Duration) {
	if w, ok := ctx.Value(waitedKey{}).(*waited); ok {
		w.Add(int64(time.Since(then) - own))
	}
}

type request = huma.Context // a name that no method of it has

// timing is the context of a timed request.
type timing struct {
	request
	began  time.Time
	waited *waited
}

// Unwrap returns the context below.
func (t *timing) Unwrap() huma.Context { return t.request }

func (t *timing) SetStatus(code int) {
	worked := max(0, time.Since(t.began)-time.Duration(t.waited.Load()))
	t.SetHeader("Server-Timing", fmt.Sprintf("app;dur=%.1f", float64(worked.Microseconds())/1000))
	t.request.SetStatus(code)
}
