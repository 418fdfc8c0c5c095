package api

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/danielgtaylor/huma/v2"
)

// timed has each answer say how long the server worked at it, in the header
// Server-Timing. A page asks less often for what is costly, and cannot tell from
// its own wait whether the server or the page itself was busy.
func timed(ctx huma.Context, next func(huma.Context)) {
	w := &waited{}
	next(&timing{request: huma.WithValue(ctx, waitedKey{}, w), began: time.Now(), waited: w})
}

type waitedKey struct{}

// waited is how long a request waited for the work of others.
type waited struct{ atomic.Int64 } // nanoseconds

// waitedSince says that a request worked at nothing since then, but for own.
func waitedSince(ctx context.Context, then time.Time, own time.Duration) {
	if w, ok := ctx.Value(waitedKey{}).(*waited); ok {
		w.Add(int64(time.Since(then) - own))
	}
}

type request = huma.Context // under a name that no method of it has

// timing is the context of a request that is timed.
type timing struct {
	request
	began  time.Time
	waited *waited
}

// Unwrap is for what needs the context below.
func (t *timing) Unwrap() huma.Context { return t.request }

func (t *timing) SetStatus(code int) {
	worked := max(0, time.Since(t.began)-time.Duration(t.waited.Load()))
	t.SetHeader("Server-Timing", fmt.Sprintf("app;dur=%.1f", float64(worked.Microseconds())/1000))
	t.request.SetStatus(code)
}
