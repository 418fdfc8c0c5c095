package api

import (
	"fmt"
	"time"

	"github.com/danielgtaylor/huma/v2"
)

// timed has each answer say how long the server worked at it, in the header
// Server-Timing. A page asks less often for what is costly, and cannot tell from
// its own wait whether the server or the page itself was busy.
func timed(ctx huma.Context, next func(huma.Context)) {
	next(&timing{request: ctx, began: time.Now()})
}

type request = huma.Context // under a name that no method of it has

// timing is the context of a request that is timed.
type timing struct {
	request
	began time.Time
}

func (t *timing) SetStatus(code int) {
	t.SetHeader("Server-Timing", fmt.Sprintf("app;dur=%.1f", float64(time.Since(t.began).Microseconds())/1000))
	t.request.SetStatus(code)
}
