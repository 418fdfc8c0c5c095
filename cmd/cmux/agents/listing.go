package agents

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"cmux/agents/platform/say"
	"cmux/cmd/cmux/cli"
)

type listOptions struct {
	*cli.IO
	Project cli.ProjectFunc
	JSON    bool
}

func newListCmd(d *cli.Deps, runF func(context.Context, *listOptions) error) *cobra.Command {
	o := &listOptions{IO: &d.IO, Project: d.Project}
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the project's runs, newest first",
		Long: `List the project's runs, newest first. To see one of them, use cmux agents status
RUN, logs RUN NAME or changelog RUN. With --json the shape is
  [{"id", "state", "session", "config", "base", "nodes", "done", "started_at", "ended_at"}]
where base is a commit, nodes and done are counts, and times are RFC 3339 or null.`,
		Example: "  cmux agents list --json",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cli.Either(runF, runList)(cmd.Context(), o) },
	}
	cli.JSONFlag(cmd, &o.JSON)
	return cmd
}

func runList(ctx context.Context, o *listOptions) error {
	p, err := o.Project(ctx)
	if err != nil {
		return err
	}
	runs, damaged, err := p.Runs().List(ctx)
	if err != nil {
		return err
	}
	for _, err := range damaged {
		fmt.Fprintf(o.Err, "cmux: %v\n", err)
	}
	if o.JSON {
		return cli.PrintJSON(o.Out, runs)
	}
	if len(runs) == 0 && len(damaged) > 0 {
		return nil // those that are there cannot be listed, as was said
	}
	if len(runs) == 0 {
		_, err := fmt.Fprintln(o.Out, "No run yet in this project: cmux agents start")
		return err
	}
	rows := make([][]string, len(runs))
	for i, r := range runs {
		started, took := "-", "-"
		if r.StartedAt != nil {
			end := p.Now()
			if r.EndedAt != nil {
				end = *r.EndedAt
			}
			started, took = r.StartedAt.Local().Format("2006-01-02 15:04"), say.Span(end.Sub(*r.StartedAt))
		}
		rows[i] = []string{r.ID, string(r.State), r.Session, fmt.Sprintf("%d/%d", r.Done, r.Nodes), started, took}
	}
	columns := []cli.Column{{Head: "RUN"}, {Head: "STATE", Style: func(row int) string { return stateStyle(runs[row].State) }},
		{Head: "SESSION", Give: 1, Least: 8}, {Head: "DONE"}, {Head: "STARTED", Give: 2, Least: 16}, {Head: "TOOK", Give: 3, Least: 6}}
	if _, err = fmt.Fprint(o.Out, cli.Table(columns, rows, o.Width(), o.Color())); err == nil && cli.IsTerminal(o.Out) {
		fmt.Fprintf(o.Err, "\nLook into one: cmux agents status %[1]s, cmux agents changelog %[1]s, cmux agents logs %[1]s NAME\n", runs[len(runs)-1].ID)
	}
	return err
}
