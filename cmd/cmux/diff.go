package main

import (
	"context"

	"github.com/spf13/cobra"

	"cmux/agents/control"
)

type diffOptions struct {
	*IO
	Project projectFunc
	Node    string
	Raw     bool
}

func newDiffCmd(d *Deps, runF func(context.Context, *diffOptions) error) *cobra.Command {
	o := &diffOptions{IO: &d.IO, Project: d.project}
	cmd := &cobra.Command{
		Use:   "diff NAME",
		Short: "Show what a node has changed since it started",
		Long: `Show what a node has changed since the commit that it started from: what it
committed, and what stands uncommitted and untracked in its worktree beside it.

Control characters in it are taken out or shown by their numbers. For a patch to
be applied elsewhere, --raw gives every byte as it is.`,
		Example:           "  cmux agents diff api --raw > api.patch",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: d.completeNode,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Node = args[0]
			return either(runF, runDiff)(cmd.Context(), o)
		},
	}
	cmd.Flags().BoolVar(&o.Raw, "raw", false, "print every byte as it is: a terminal obeys it")
	return cmd
}

func runDiff(ctx context.Context, o *diffOptions) error {
	p, err := o.Project(ctx)
	if err != nil {
		return err
	}
	q := control.Diff{Node: o.Node, Colour: o.colour(), Output: o.Out, Errors: o.Err}
	if o.Raw {
		q.Output = raw(o.Out)
	}
	return p.Diff(ctx, q)
}
