package agents

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"cmux/agents/control/runs"
	"cmux/cmd/cmux/cli"
)

type waitOptions struct {
	*cli.IO
	Project cli.ProjectFunc
	runs.Wait
}

func newWaitCmd(d *cli.Deps, runF func(context.Context, *waitOptions) error) *cobra.Command {
	o := &waitOptions{IO: &d.IO, Project: d.Project}
	cmd := &cobra.Command{
		Use:   "wait [NAME]",
		Short: "Wait until the run, or one node of it, has ended",
		Long: `Wait until the run, or one node of it, has ended. The exit code is 0 if the
run or the node is done, 3 if it ended otherwise, and 1 if the time is up, the run
was stopped or it has no runner.

If only a person can continue it (a gate, a question, an agent that was taken over
or lost too often), wait says so once on stderr, with the command to use, and keeps
waiting. --timeout limits this.`,
		Example:           "  cmux agents wait api --timeout 10m && echo 'the API is ready'",
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: d.CompleteNode,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				o.Node = args[0]
			}
			return cli.Either(runF, runWait)(cmd.Context(), o)
		},
	}
	cmd.Flags().DurationVar(&o.Timeout, "timeout", 0, "wait no longer than this, such as 90s or 1h (default: no limit)")
	return cmd
}

func runWait(ctx context.Context, o *waitOptions) error {
	p, err := o.Project(ctx)
	if err != nil {
		return err
	}
	o.Person = func(node, why string) { fmt.Fprintf(o.Err, "waiting for a person: %s %s\n", node, why) }
	return p.Runs().Wait(ctx, o.Wait)
}
