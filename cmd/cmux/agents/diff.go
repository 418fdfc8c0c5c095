package agents

import (
	"context"

	"github.com/spf13/cobra"

	"cmux/agents/control/runs"
	"cmux/cmd/cmux/cli"
)

type diffOptions struct {
	*cli.IO
	Project cli.ProjectFunc
	Node    string
	Raw     bool
}

func newDiffCmd(d *cli.Deps, runF func(context.Context, *diffOptions) error) *cobra.Command {
	o := &diffOptions{IO: &d.IO, Project: d.Project}
	cmd := &cobra.Command{
		Use:   "diff NAME",
		Short: "Show what a node has changed since it started",
		Long: `Show what a node has changed since the commit that it started from: its commits,
and the uncommitted and untracked files in its worktree.

diff removes control characters or shows them as numbers. To get a patch that you
can apply elsewhere, use --raw.`,
		Example:           "  cmux agents diff api --raw > api.patch",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: d.CompleteNode,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Node = args[0]
			return cli.Either(runF, runDiff)(cmd.Context(), o)
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
	q := runs.Diff{Node: o.Node, Colour: o.Color(), Output: o.Out, Errors: o.Err}
	if o.Raw {
		q.Output = cli.Raw(o.Out)
	}
	return p.Runs().Diff(ctx, q)
}
