package runner

import (
	"context"
	"fmt"
	"io"
	"os"

	"cmux/agents/records/event"
)

// liveFor is where the output of a node is shown while it runs; nil: nowhere.
func (r *Runner) liveFor(node string) io.Writer {
	if f, ok := r.Live.(interface{ For(node string) io.Writer }); ok {
		return f.For(node)
	}
	return r.Live
}

// showing is an attempt whose events are shown until stop is called.
type showing struct {
	attempt int
	stop    context.CancelFunc
}

// showEvents shows what the agent of attempt n of node i does, a short line for
// each event from now on, until shown is called. The agent itself writes to a
// file and is not held up by whoever watches.
func (r *Runner) showEvents(ctx context.Context, i, n int) {
	node := &r.g.Nodes[i]
	if r.Live == nil || r.showing[i].attempt == n || !r.Kinds[node.Agent].Judge {
		return
	}
	r.shown(i, 0)
	var from int64
	if info, err := os.Lstat(r.Run.Events(node.Name)); err == nil { // else there are none yet
		from = info.Size()
	}
	out := r.liveFor(node.Name)
	ctx, cancel := context.WithCancel(ctx)
	r.showing[i] = showing{n, cancel}
	r.tasks.Go(func() {
		defer cancel()
		_, err := event.Follow(ctx, r.Run.Events(node.Name), from, func(e event.Event, _ int64) error {
			if line := event.Brief(e); line != "" {
				_, err := fmt.Fprintln(out, line)
				return err
			}
			return nil
		})
		if err != nil {
			r.Log.Warn("the events of a node are shown no longer", "node", node.Name, "err", err)
		}
	})
}

// shown ends showing the events of node i, those that are there by now last,
// when attempt n, or any if that is 0, has ended.
func (r *Runner) shown(i, n int) {
	if s := r.showing[i]; s.stop != nil && (n == 0 || s.attempt == n) {
		s.stop()
	}
}
