package agents

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"cmux/agents/control/runs"
	"cmux/agents/platform/say"
	"cmux/cmd/cmux/cli"
)

type collisionsOptions struct {
	*cli.IO
	Project cli.ProjectFunc
	JSON    bool
}

func newCollisionsCmd(d *cli.Deps, runF func(context.Context, *collisionsOptions) error) *cobra.Command {
	o := &collisionsOptions{IO: &d.IO, Project: d.Project}
	cmd := &cobra.Command{
		Use:   "collisions",
		Short: "List the files that two branches both change",
		Long: `List the files that the branches of two nodes of the run both change, and
say whether a merge of the two would conflict. The runner compares branches
whenever a commit appears on one of them. A file also counts if one of the two has
committed it and the other has changed it but not committed it. Failed nodes do
not count. A node does not collide with the nodes that it depends on.

Branches of other unfinished runs, and of the tasks of an organization that are
not merged, are compared when you call this command. Nodes of other runs are
listed as SESSION:NAME, tasks by their ids.

With --json the shape is
  [{"a", "b", "files", "more", "uncommitted", "conflicts", "unknown", "since", "at"}]
where files are the first 100 that both change and more counts the others,
uncommitted are those of them that only one has committed, conflicts are the
files in which a merge would conflict, and unknown says why that is not known
and is left out where it is. The two first met at since; at is when the commit
appeared that this is known from.`,
		Example: "  cmux agents collisions",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return cli.Either(runF, runCollisions)(cmd.Context(), o)
		},
	}
	cli.JSONFlag(cmd, &o.JSON)
	return cmd
}

func runCollisions(ctx context.Context, o *collisionsOptions) error {
	p, err := o.Project(ctx)
	if err != nil {
		return err
	}
	id, all, err := p.Runs().Collisions(ctx)
	if err != nil {
		return err
	}
	if o.JSON {
		return cli.PrintJSON(o.Out, all)
	}
	if len(all) == 0 && id == "" {
		_, err := fmt.Fprintln(o.Out, "No two branches that are at work change the same file.")
		return err
	}
	if len(all) == 0 {
		_, err := fmt.Fprintf(o.Out, "No two branches of run %s change the same file.\n", id)
		return err
	}
	_, err = fmt.Fprint(o.Out, collisionTable(all, o.Look()))
	return err
}

// collisionTable has a line for each file of each pair.
func collisionTable(all []runs.Collision, as cli.Look) string {
	var rows [][]string
	var styles []string
	add := func(c *runs.Collision, file, merge, style string) {
		rows, styles = append(rows, []string{c.A, c.B, say.Line(file), merge}), append(styles, style)
	}
	for i := range all {
		c := &all[i]
		files := append(slices.Clone(c.Files), c.Conflicts...)
		slices.Sort(files)
		for _, f := range slices.Compact(files) {
			switch {
			case slices.Contains(c.Conflicts, f):
				add(c, f, "conflicts", "31")
			case slices.Contains(c.Uncommitted, f):
				add(c, f, "committed by one only", "")
			case c.Unknown != "":
				add(c, f, "not known: "+say.Line(c.Unknown), "")
			default:
				add(c, f, "fits", "")
			}
		}
		if c.More > 0 {
			add(c, fmt.Sprintf("and %d more", c.More), "", "")
		}
	}
	columns := []cli.Column{{Head: "NODE", Give: 2, Least: 6}, {Head: "AND", Give: 2, Least: 6}, {Head: "FILE", Give: 1, Least: 10},
		{Head: "MERGE", Style: func(row int) string { return styles[row] }}}
	return cli.Table(columns, rows, as.Width, as.Color)
}
