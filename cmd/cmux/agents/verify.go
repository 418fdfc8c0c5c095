package agents

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"cmux/agents/control/merging"
	"cmux/agents/platform/say"
	"cmux/cmd/cmux/cli"
)

type verifyOptions struct {
	*cli.IO
	Project cli.ProjectFunc
	Node    string
}

func newVerifyCmd(d *cli.Deps, runF func(context.Context, *verifyOptions) error) *cobra.Command {
	o := &verifyOptions{IO: &d.IO, Project: d.Project}
	return &cobra.Command{
		Use:   "verify NAME",
		Short: "Run a node's checks now, in its worktree",
		Long: `Run the verify commands of a node now, in its worktree, and say which pass. This
does not change the node's status. The exit code is 1 if one fails.`,
		Example:           "  cmux agents verify api",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: d.CompleteNode,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Node = args[0]
			return cli.Either(runF, runVerify)(cmd.Context(), o)
		},
	}
}

func runVerify(ctx context.Context, o *verifyOptions) error {
	p, err := o.Project(ctx)
	if err != nil {
		return err
	}
	failed := 0
	all, err := p.Merging().Verify(ctx, merging.Verify{
		Node:   o.Node,
		Output: o.Err,
		Begun:  func(check string) { fmt.Fprintf(o.Err, "── %s ──\n", check) },
		Ended: func(c *merging.Checked) {
			word := "passed"
			if c.Failed != "" {
				failed++
				word = "failed: " + c.Failed
			}
			fmt.Fprintf(o.Out, "%s: %s (%s)\n", c.Command, word, say.Span(c.Took))
		},
	})
	if err != nil {
		return err
	}
	if failed > 0 {
		return cli.Silent(fmt.Errorf("%d of %d checks failed", failed, len(all)))
	}
	return nil
}
