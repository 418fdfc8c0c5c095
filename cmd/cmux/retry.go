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
}

func newRetryCmd(d *Deps, runF func(context.Context, *retryOptions) error) *cobra.Command {
	o := &retryOptions{IO: &d.IO, Project: d.project}
	cmd := &cobra.Command{
		Use:   "retry NAME",
		Short: "Run a node again, and what it blocked",
		Long: `Run a node again that has ended or was lost, in the worktree as it left it, and
what it blocked after it. With --downstream also what succeeded after it; with
--fresh its work is saved and it starts from the base. Removing the marker of a
failed node does the same as retry. An agent whose program ended without a
report goes on in its conversation. A node that is over its budget, or an agent
of a run that is, can be run again once the budget was raised and taken in with
resume --update.`,
		Example:           "  cmux agents retry api --fresh",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: d.completeNode,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Node = args[0]
			return either(runF, runRetry)(cmd.Context(), o)
		},
	}
	cmd.Flags().BoolVar(&o.Downstream, "downstream", false, "also run again what succeeded after it")
	cmd.Flags().BoolVar(&o.Fresh, "fresh", false, "save its work and start from the base")
	return cmd
}

func runRetry(ctx context.Context, o *retryOptions) error {
	p, err := o.Project(ctx)
	if err != nil {
		return err
	}
	res, err := p.Retry(ctx, o.Retry)
	if err != nil {
		return err
	}
	o.note(res.Taken)
	var b strings.Builder
	for _, n := range res.GoesOn {
		fmt.Fprintf(&b, "%s: goes on in its conversation (was %s)\n", n.Node, n.Label)
	}
	for _, n := range res.Again {
		fmt.Fprintf(&b, "%s: runs again (was %s)\n", n.Node, n.Label)
	}
	for _, n := range res.Unblocked {
		fmt.Fprintf(&b, "%s: no longer blocked by it\n", n.Node)
	}
	for _, m := range res.Moved {
		fmt.Fprintf(&b, "%s: %s\n", m.Node, m.Detail)
	}
	_, err = fmt.Fprint(o.Out, &b)
	return err
}
