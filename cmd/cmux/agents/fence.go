package agents

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"cmux/agents/control/runs"
	"cmux/agents/platform/say"
	"cmux/cmd/cmux/cli"
	"cmux/dag"
)

type fenceOptions struct {
	*cli.IO
	Project cli.ProjectFunc
	Node    string
	JSON    bool
}

func newFenceCmd(d *cli.Deps, runF func(context.Context, *fenceOptions) error) *cobra.Command {
	o := &fenceOptions{IO: &d.IO, Project: d.Project}
	cmd := &cobra.Command{
		Use:   "fence NAME",
		Short: "Show what a node may write, and what the fence refused",
		Long: `Show what the programs of a node may write, which writes the fence refused, and the
line of the configuration that would allow each. A refusal is known if the
program printed it with the path, as most do.

With --json the shape is
  {"node", "fence", "system", "missing", "machine", "attempt", "write", "refused": [{"attempt", "path", "allow"}]}
where system is what keeps the fence up here, and missing says why there can be none;
one of the two is left out. If another machine carries out the node, machine is its name,
both are left out, and what the node may write there is not known here. Write are the files and folders that the newest attempt with a
fence may write, and attempt is its number, 0 before the first. Allow is left out where no
configuration allows it.`,
		Example:           "  cmux agents fence api",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: d.CompleteNode,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Node = args[0]
			return cli.Either(runF, runFence)(cmd.Context(), o)
		},
	}
	cli.JSONFlag(cmd, &o.JSON)
	return cmd
}

func runFence(ctx context.Context, o *fenceOptions) error {
	p, err := o.Project(ctx)
	if err != nil {
		return err
	}
	f, err := p.Runs().Fence(ctx, o.Node)
	if err != nil {
		return err
	}
	if o.JSON {
		return cli.PrintJSON(o.Out, f)
	}
	_, err = fmt.Fprint(o.Out, fenceText(f, o.Look()))
	return err
}

func fenceText(f *runs.Fence, as cli.Look) string {
	var b strings.Builder
	switch {
	case f.Mode == dag.FenceOff:
		fmt.Fprintf(&b, "%s has no fence. To give it one: fence: auto\n", f.Node)
	case f.Machine != "":
		fmt.Fprintf(&b, "%s has fence: %s, which %s puts up.\n", f.Node, f.Mode, f.Machine)
	case f.Attempt == 0 && f.Missing != "":
		fmt.Fprintf(&b, "%s has fence: %s, but %s\n", f.Node, f.Mode, f.Missing)
	case f.Attempt == 0:
		fmt.Fprintf(&b, "%s has fence: %s (%s), and has not started yet.\n", f.Node, f.Mode, f.System)
	default:
		fmt.Fprintf(&b, "Attempt %d of %s may write:\n", f.Attempt, f.Node)
		for _, place := range f.Write {
			fmt.Fprintf(&b, "  %s\n", say.Line(place))
		}
	}
	if f.Attempt == 0 && len(f.Refused) == 0 {
		return b.String()
	}
	b.WriteString("\n")
	if len(f.Refused) == 0 {
		b.WriteString("The fence is not known to have refused anything.\n")
		return b.String()
	}
	var rows [][]string
	for _, r := range f.Refused {
		allow := say.Line(r.Allow)
		if allow == "" {
			allow = "nothing does"
		}
		rows = append(rows, []string{fmt.Sprint(r.Attempt), say.Line(r.Path), allow})
	}
	columns := []cli.Column{{Head: "ATTEMPT"}, {Head: "REFUSED"}, {Head: "WHAT ALLOWS IT"}} // whole: both are copied
	b.WriteString(cli.Table(columns, rows, as.Width, as.Color))
	return b.String()
}
