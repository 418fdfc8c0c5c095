package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"cmux/agents/control"
	"cmux/agents/platform/say"
	"cmux/dag"
)

// completeNode completes the name of a node of the run that is meant.
func (d *Deps) completeNode(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	return d.completeNodes(cmd, args, func(*dag.Node) bool { return true })
}

// completeRun completes the id of a run.
func (d *Deps) completeRun(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	return d.complete(func(p *control.Project) ([]string, error) { return p.Runs().RunIDs() })(cmd, args, "")
}

// completeRunNode completes the name of a node, of the run that is meant or of the one
// before it.
func (d *Deps) completeRunNode(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 1 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return d.complete(func(p *control.Project) ([]string, error) {
		names, err := p.Runs().Nodes(cmd.Context(), first(args), func(*dag.Node) bool { return true })
		if len(args) == 0 {
			ids, _ := p.Runs().RunIDs()
			names = append(names, ids...)
		}
		return names, err
	})(cmd, nil, "")
}

// first is the first argument, empty without one.
func first(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return args[0]
}

// completeGate completes the name of a gate of the run that is meant.
func (d *Deps) completeGate(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	return d.completeNodes(cmd, args, func(n *dag.Node) bool { return n.Role == dag.RoleGate })
}

func (d *Deps) completeNodes(cmd *cobra.Command, args []string, fits func(*dag.Node) bool) ([]string, cobra.ShellCompDirective) {
	return d.complete(func(p *control.Project) ([]string, error) { return p.Runs().Nodes(cmd.Context(), "", fits) })(cmd, args, "")
}

// complete completes the first argument by what of gives.
func (d *Deps) complete(of func(*control.Project) ([]string, error)) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) (names []string, _ cobra.ShellCompDirective) {
		if len(args) == 0 {
			if p, err := d.project(cmd.Context()); err == nil {
				names, _ = of(p) // where there is no run there are none
			}
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}

type listOptions struct {
	*IO
	Project projectFunc
	JSON    bool
}

func newListCmd(d *Deps, runF func(context.Context, *listOptions) error) *cobra.Command {
	o := &listOptions{IO: &d.IO, Project: d.project}
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the project's runs, newest first",
		Long: `List the project's runs, newest first. To see one of them, use cmux agents status
RUN, logs RUN NAME or changelog RUN. With --json the shape is
  [{"id", "state", "session", "config", "base", "nodes", "done", "started_at", "ended_at"}]
where base is a commit, nodes and done are counts, and times are RFC 3339 or null.`,
		Example: "  cmux agents list --json",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return either(runF, runList)(cmd.Context(), o) },
	}
	jsonFlag(cmd, &o.JSON)
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
		return printJSON(o.Out, runs)
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
	columns := []column{{head: "RUN"}, {head: "STATE", style: func(row int) string { return stateStyle(runs[row].State) }},
		{head: "SESSION", give: 1, least: 8}, {head: "DONE"}, {head: "STARTED", give: 2, least: 16}, {head: "TOOK", give: 3, least: 6}}
	if _, err = fmt.Fprint(o.Out, table(columns, rows, o.width(), o.color())); err == nil && isTerminal(o.Out) {
		fmt.Fprintf(o.Err, "\nLook into one: cmux agents status %[1]s, cmux agents changelog %[1]s, cmux agents logs %[1]s NAME\n", runs[len(runs)-1].ID)
	}
	return err
}
