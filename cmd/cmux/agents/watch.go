package agents

import (
	"context"
	"errors"
	"fmt"
	"time"

	"cmux/agents/control/runs"
	"cmux/agents/control/runview"
	"cmux/agents/runs/run"
	"cmux/cmd/cmux/cli"
	"cmux/dag"
)

// redraw is the shortest time between two lines of a run that tells its story:
// faster than people read.
const redraw = 100 * time.Millisecond

// watching shows a run as it goes on, a line for each change.
type watching struct {
	*cli.IO
	now    func() time.Time
	leaves bool // a run that is stopped
}

// show shows r until it is over or ctx ends.
func (w *watching) show(ctx context.Context, r *run.Run) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	views := make(chan *run.View)
	followed := make(chan error, 1)
	go func() {
		defer close(views)
		followed <- runs.Follow(ctx, r, w.now, func(v *run.View) bool {
			select {
			case views <- v:
				return true
			case <-ctx.Done():
				return false
			}
		})
	}()
	err := w.changes(ctx, views)
	cancel()
	for range views { // nobody looks any more
	}
	if ferr := <-followed; err == nil && !errors.Is(ferr, context.Canceled) {
		err = ferr
	}
	return err
}

// changes writes a line for each node whose label changed, and for the
// run.
func (w *watching) changes(ctx context.Context, views <-chan *run.View) error {
	last := make(map[string]dag.Label) // by name: an update may move nodes
	state := ""
	for {
		select {
		case v, open := <-views:
			if !open {
				return nil
			}
			at := w.now().Format("15:04:05")
			for i := range v.Nodes {
				name, label := v.Nodes[i].Spec.Name, v.Nodes[i].Status.Label
				if !label.Same(last[name]) {
					last[name] = label
					if _, err := fmt.Fprintf(w.Out, "%s %s: %s\n", at, name, label); err != nil {
						return err
					}
				}
			}
			if s := string(v.RunState); s != state {
				state = s
				if _, err := fmt.Fprintf(w.Out, "%s run %s: %s\n", at, v.Run.Plan.ID, s); err != nil {
					return err
				}
			}
			if runview.Over(v) {
				return nil
			}
			if err := runs.Halted(v); w.leaves && err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
