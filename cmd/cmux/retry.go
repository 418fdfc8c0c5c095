package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"cmux/agents/control"
)

type retryOptions struct {
	*IO
	Project projectFunc
	control.Retry
	launch  launchFunc
	NoStart bool
	Failed  bool // all that have failed
}

func newRetryCmd(d *Deps, runF func(context.Context, *retryOptions) error) *cobra.Command {
	o := &retryOptions{IO: &d.IO, Project: d.project, launch: d.launch}
	cmd := &cobra.Command{
		Use:   "retry NAME | --failed",
		Short: "Run a node again, and what it blocked",
		Long: `Run a node again that has ended or was lost, in the worktree as it left it, and
what it blocked after it. With --downstream also what succeeded after it; with
--fresh its work is saved and it starts from the base. Removing the marker of a
failed node does the same as retry. An agent whose program ended without a
report goes on in its conversation.

The node runs as the configuration says now: its task, scope, context, checks,
times, budget, model and environment are taken from it, and what differs is
said. What ties it into the graph (depends_on, when, role, branch, agent) needs
cmux agents update. With --frozen nothing is taken.

It acts at once. A run without a runner gets one, in its tmux session, or in
this command when the run is headless.`,
		Example:           "  cmux agents retry api --fresh",
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: d.completeNode,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) == 0 && !o.Failed:
				return control.Usage("cmux agents retry NAME, or --failed for all that have failed", "retry needs the name of a node")
			case len(args) > 0 && o.Failed:
				return control.Usage("cmux agents retry "+args[0]+", or cmux agents retry --failed", "a name and --failed do not go together")
			case len(args) > 0:
				o.Node = args[0]
			}
			return either(runF, runRetry)(cmd.Context(), o)
		},
	}
	cmd.Flags().BoolVar(&o.Downstream, "downstream", false, "also run again what succeeded after it")
	cmd.Flags().BoolVar(&o.Fresh, "fresh", false, "save its work and start from the base")
	cmd.Flags().BoolVar(&o.Failed, "failed", false, "run all nodes again that have failed")
	cmd.Flags().BoolVar(&o.Frozen, "frozen", false, "take nothing from the edited configuration")
	noStart(cmd, &o.NoStart)
	return cmd
}

func runRetry(ctx context.Context, o *retryOptions) error {
	p, err := o.Project(ctx)
	if err != nil {
		return err
	}
	p.Start = !o.NoStart
	if o.Failed {
		all, err := p.RetryFailed(ctx, o.Retry)
		var last control.Taken
		for _, res := range all {
			last = res.Taken
			if terr := o.tell(res); terr != nil {
				return terr
			}
		}
		if err != nil {
			return err
		}
		return o.launch.goOn(ctx, last)
	}
	res, err := p.Retry(ctx, o.Retry)
	if err != nil {
		return err
	}
	if err := o.tell(res); err != nil {
		return err
	}
	return o.launch.goOn(ctx, res.Taken)
}

// tell says what a retry came to.
func (o *retryOptions) tell(res *control.Retried) error {
	o.note(res.Taken)
	var b strings.Builder
	for _, n := range res.GoesOn {
		fmt.Fprintf(&b, "%s: goes on in its conversation (was %s)\n", n.Node, n.Label)
	}
	for k, n := range res.Again {
		fmt.Fprintf(&b, "%s: runs again (was %s)\n", n.Node, n.Label)
		if k > 0 {
			continue
		}
		if res.Takes != "" {
			fmt.Fprintf(&b, "%s: takes from the edited configuration: %s\n", n.Node, res.Takes)
		}
		if res.Differs != "" {
			fmt.Fprintf(&b, "%s: the edited configuration also changes %s; to take that in: cmux agents update\n", n.Node, res.Differs)
		}
	}
	for _, n := range res.Unblocked {
		fmt.Fprintf(&b, "%s: no longer blocked by it\n", n.Node)
	}
	for _, m := range res.Moved {
		fmt.Fprintf(&b, "%s: %s\n", m.Node, m.Detail)
	}
	_, err := fmt.Fprint(o.Out, &b)
	return err
}
