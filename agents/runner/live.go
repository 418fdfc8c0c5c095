package runner

import (
	"context"
	"fmt"
	"io"
	"os"

	"cmux/agents/event"
)

// liveFor is where the output of a node is shown while it runs; nil: nowhere.
func (r *Runner) liveFor(node string) io.Writer {
	if f, ok := r.Live.(interface{ For(node string) io.Writer }); ok {
		return f.For(node)
	}
	return r.Live
}

// eventsEnd is where the events of a node's next attempt will begin.
func (r *Runner) eventsEnd(node string) int64 {
	info, err := os.Lstat(r.Run.Events(node))
	if err != nil {
		return 0 // there are none yet
	}
	return info.Size()
}

// showEvents shows what the agent of attempt n of node i does, a short line for
// each event from offset from on, until gone is closed. The agent itself writes
// to a file and is not held up by whoever watches.
func (r *Runner) showEvents(ctx context.Context, i, n int, from int64, gone <-chan struct{}) {
	node := &r.g.Nodes[i]
	if r.Live == nil || r.showing[i] == n || !r.Kinds[node.Agent].Judge {
		return
	}
	r.showing[i] = n
	out := r.liveFor(node.Name)
	ctx, cancel := context.WithCancel(ctx)
	r.tasks.Go(func() {
		defer cancel()
		select {
		case <-gone:
		case <-ctx.Done():
		}
	})
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
