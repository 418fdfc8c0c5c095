package agents

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"cmux/agents/control/logs"
	"cmux/agents/control/project"
	"cmux/cmd/cmux/cli"
)

type logsOptions struct {
	*cli.IO
	Project cli.ProjectFunc
	logs.Log
	Raw bool
}

func newLogsCmd(d *cli.Deps, runF func(context.Context, *logsOptions) error) *cobra.Command {
	o := &logsOptions{IO: &d.IO, Project: d.Project}
	cmd := &cobra.Command{
		Use:   "logs [RUN] NAME",
		Short: "Print what a node has written",
		Long: `Print the output of a node, all attempts, the newest last. The log of an agent
shows what it was told (>), thought (~), said and did (*), the results (|), and
what cmux did. It leaves out the prompt of each attempt unless you give --prompt.
With -f, logs prints new output until the node ends. With --tail, it begins with
the last lines.

RUN is the id of a run from cmux agents list, or any unique part of it. The
default is the newest run.

With --json, logs prints the events of an agent, one line of JSON each (see cmux
help events). A command has none.

logs removes what a terminal would obey: escape sequences except colors on a
terminal, other control characters, and characters that reorder text. With --raw
it prints everything as the node wrote it.`,
		Example:           "  cmux agents logs api -f\n  cmux agents logs 20261122-101500.123-f00f4a api --tail 20",
		Args:              cobra.RangeArgs(1, 2),
		ValidArgsFunction: d.CompleteRunNode,
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.Node = args[len(args)-1]; len(args) > 1 {
				o.Run = args[0]
			}
			if cmd.Flags().Changed("tail") && o.Tail < 1 {
				return project.Usage(cmd.CommandPath()+" --help", "--tail must be 1 or more")
			}
			return cli.Either(runF, runLogs)(cmd.Context(), o)
		},
	}
	cmd.Flags().BoolVarP(&o.Follow, "follow", "f", false, "print new output until the node ends")
	cmd.Flags().IntVarP(&o.Tail, "tail", "n", 0, "begin with the last `N` lines")
	cmd.Flags().BoolVar(&o.Prompt, "prompt", false, "print an agent's prompts as well")
	cmd.Flags().BoolVar(&o.Events, "json", false, "print the events of an agent")
	cmd.Flags().BoolVar(&o.Raw, "raw", false, "print what was written as it is: a terminal obeys it")
	return cmd
}

func runLogs(ctx context.Context, o *logsOptions) error {
	p, err := o.Project(ctx)
	if err != nil {
		return err
	}
	return p.Logs().Node(ctx, o.Log, func(agent bool) io.Writer {
		out := o.Out
		if o.Raw {
			out = cli.Raw(out)
		}
		if agent && !o.Events && o.Color() {
			out = cli.NewDimmer(out)
		}
		return out
	})
}
