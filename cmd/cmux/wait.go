package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"cmux/agents/run"
	"cmux/dag"
)

func newWaitCmd(d *Deps) *cobra.Command {
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "wait [NAME]",
		Short: "Wait until the run, or one node of it, has ended",
		Long: `Wait until the newest run has ended, or one node of it. The exit code is 0 when
what was waited for is done, 3 when it ended otherwise, and 1 when the time is
up, the run was stopped or nothing carries it on.

Where only a person can get it on (a gate, a question, an agent taken over or
lost too often), that is said once on stderr with the command for it, and waited
for as well: --timeout bounds it.`,
		Example:           "  cmux agents wait api --timeout 10m && echo 'the API is ready'",
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: d.completeNode,
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			r, err := d.latest(ctx)
			if err != nil {
				return err
			}
			node := -1
			needed := r.Plan.Graph.Order()
			if len(args) > 0 {
				if node, err = nodeIndex(r, args[0]); err != nil {
					return err
				}
				if needed, err = r.Plan.Graph.Upstream(node); err != nil {
					return err
				}
				needed = append(needed, node)
			}
			cause := fmt.Errorf("not ended after %s", timeout)
			if timeout > 0 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeoutCause(ctx, timeout, cause)
				defer cancel()
			}
			var outcome error
			orphaned := 0 // looks in a row that found no runner
			var told []string
			err = follow(ctx, r, d.Now, func(v *run.View) bool {
				if v.RunState == dag.RunNoRunner {
					orphaned++
				} else {
					orphaned = 0
				}
				var more bool
				if outcome, more = waited(v, node, orphaned > 2); !more {
					return false
				}
				wants := wanted(v, needed)
				for _, w := range wants {
					if !slices.Contains(told, w) {
						fmt.Fprintf(d.Err, "waiting for a person: %s\n", w)
					}
				}
				told = wants
				return true
			})
			if errors.Is(err, context.DeadlineExceeded) && context.Cause(ctx) == cause {
				return &Hint{Err: cause, Try: "cmux agents status"}
			}
			if err != nil {
				return err
			}
			return outcome
		},
	}
	cmd.Flags().DurationVar(&timeout, "timeout", 0, "wait no longer than this, such as 90s or 1h (default: for ever)")
	return cmd
}

// waited judges a view for `wait`: whether there is more to wait for, and how
// it came out. node is -1 for the whole run. orphaned says that the run has
// had no runner for longer than one needs to come back.
func waited(v *run.View, node int, orphaned bool) (outcome error, more bool) {
	if node >= 0 {
		n := &v.Nodes[node]
		if v.State.Settled(node) {
			if f := &n.Fact; f.Phase == dag.Ended && f.Outcome.Success() {
				return nil, false
			}
			return fmt.Errorf("%s: %s: %w", n.Spec.Name, n.Status.Label, errUnfinished), false
		}
		if n.Fact.Live() {
			return nil, true // it goes on without a runner
		}
	}
	switch {
	case over(v) && v.Holder != nil:
		// Its runner is about to leave: until then a start or a cleanup after
		// this wait would be refused.
		return nil, true
	case v.RunState == dag.RunDone:
		return nil, false
	case v.RunState == dag.RunFailed:
		return &Hint{Err: errUnfinished, Try: "cmux agents status"}, false
	case v.RunState == dag.RunStopped && v.Holder == nil:
		return &Hint{Err: errors.New("the run is stopped"), Try: "cmux agents resume"}, false
	case v.RunState == dag.RunNoRunner && orphaned:
		return &Hint{Err: errors.New("the run has no runner, so nothing new starts"), Try: "cmux agents resume"}, false
	}
	return nil, true
}

// wanted says, for each node of those needed, what only a person can do for it
// now.
func wanted(v *run.View, needed []int) []string {
	var all []string
	for _, i := range needed {
		n := &v.Nodes[i]
		state := n.Status.Label.State
		if state == dag.NodeNeedsInput || state == dag.NodeTakenOver || state == dag.NodeLost && n.Fact.Held {
			all = append(all, n.Spec.Name+" "+explained(v, i))
		}
	}
	return all
}

// over reports whether nothing more happens in a run by itself.
func over(v *run.View) bool { return v.RunState == dag.RunDone || v.RunState == dag.RunFailed }
