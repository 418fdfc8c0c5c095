package agents

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"cmux/cmd/cmux/cli"
)

type stopOptions struct {
	*cli.IO
	Project cli.ProjectFunc
	Node    string // empty: the run
}

func newStopCmd(d *cli.Deps, runF func(context.Context, *stopOptions) error) *cobra.Command {
	o := &stopOptions{IO: &d.IO, Project: d.Project}
	return &cobra.Command{
		Use:   "stop [NAME]",
		Short: "Stop the run, or cancel one node",
		Long: `Without a name, end the agents and stop the run; cmux agents resume continues it.
With a name, cancel that node, which then counts as failed.`,
		Example:           "  cmux agents stop api",
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: d.CompleteNode,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				o.Node = args[0]
			}
			return cli.Either(runF, runStop)(cmd.Context(), o)
		},
	}
}

func runStop(ctx context.Context, o *stopOptions) error {
	p, err := o.Project(ctx)
	if err != nil {
		return err
	}
	if o.Node == "" {
		res, err := p.Commands().Stop(ctx)
		if err != nil {
			return err
		}
		if res.Stays != "" {
			_, err = fmt.Fprintf(o.Out, "Ended what was still open: %s. The run stays %s.\n", strings.Join(res.Ended, ", "), res.Stays)
			return err
		}
		said := fmt.Sprintf("Stopped run %s. To continue: %s\n", res.Run, res.Try)
		if len(res.Finally) > 0 {
			said += fmt.Sprintf("Not run (finally): %s. They start when the continued run ends. To skip the other nodes: cmux agents stop NODE, then %s\n", strings.Join(res.Finally, ", "), res.Try)
		}
		_, err = fmt.Fprint(o.Out, said)
		return err
	}
	c, err := p.Commands().Cancel(ctx, o.Node)
	if err != nil {
		return err
	}
	said := "cancelled"
	if c.Stays.State != "" {
		said = "its agent was ended; the node stays " + c.Stays.String()
	}
	return o.TellTaken(o.Node, said, c.Taken)
}
