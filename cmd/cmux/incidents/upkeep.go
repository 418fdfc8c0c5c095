package incidents

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"cmux/agents/org/upkeep"
	"cmux/agents/platform/say"
	"cmux/cmd/cmux/cli"
)

type upkeepOptions struct {
	*cli.IO
	Project           cli.ProjectFunc
	DryRun, Yes, JSON bool
}

func newUpkeepCmd(d *cli.Deps, runF func(context.Context, *upkeepOptions) error) *cobra.Command {
	o := &upkeepOptions{IO: &d.IO, Project: d.Project}
	cmd := &cobra.Command{
		Use:     "maintenance",
		GroupID: "main",
		Short:   "Remove what the organization no longer needs",
		Long: `Show what the organization no longer needs, why, and what would be done; ask; and do it:
workers that have had nothing to do for stale_after; windows of tmux, and with the
last of them their sessions, that cmux made for an agent or a run which is gone, and in
which nothing has changed for as long; worktrees older than an hour whose worker is gone;
branches of tasks and of removed workers whose work is all in the integration branch and
that nobody has checked out. What is not committed and what windows show is saved first.
Supervisors, permanent workers and clones stay, and old archives are only told of.

The server does so by itself, every 5 minutes, for what maintenance in .cmux/config.yml
names; by default that is nothing. With --dry-run --json the shape is
  {"items": [{"kind", "name", "why", "do", "at", "since"}], "allowed"}
else it is a list of items, each with "done", "restore" and "failed" beside it. A kind is
workers, windows, worktrees, branches or archives.`,
		Example: "  cmux maintenance --dry-run",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cli.Either(runF, runUpkeep)(cmd.Context(), o) },
	}
	cmd.Flags().BoolVar(&o.DryRun, "dry-run", false, "show what would be done and do nothing")
	cmd.Flags().BoolVarP(&o.Yes, "yes", "y", false, "do not ask")
	cli.JSONFlag(cmd, &o.JSON)
	return cmd
}

func runUpkeep(ctx context.Context, o *upkeepOptions) error {
	p, err := o.Project(ctx)
	if err != nil {
		return err
	}
	plan, err := p.PlanUpkeep(ctx)
	if err != nil {
		return err
	}
	if o.DryRun && o.JSON {
		return cli.PrintJSON(o.Out, plan)
	}
	removes := 0
	if !o.JSON {
		for _, i := range plan.Items {
			fmt.Fprintf(o.Out, "%s %s: %s\n  %s\n", i.Kind, say.Line(i.Name), say.Line(i.Why), i.Do)
		}
	}
	for _, i := range plan.Items {
		if i.Kind != upkeep.Archives {
			removes++
		}
	}
	if removes == 0 && !o.JSON {
		_, err := fmt.Fprintln(o.Out, "Nothing is to be removed.")
		return err
	}
	if o.DryRun {
		return nil
	}
	if err := o.Confirm(ctx, o.Yes, fmt.Sprintf("Remove %s?", say.Count(removes, "item"))); err != nil {
		return err
	}
	done, err := p.Maintain(ctx, plan, func(upkeep.Kind) bool { return true })
	if o.JSON && err == nil {
		return cli.PrintJSON(o.Out, done)
	}
	for _, u := range done {
		switch {
		case u.Failed != "":
			fmt.Fprintf(o.Err, "cmux: %s %s stays: %s\n", u.Kind, say.Line(u.Name), say.Line(u.Failed))
		case u.Left != "" && u.Kind != upkeep.Archives:
			fmt.Fprintf(o.Out, "%s: left as it is: %s\n", say.Line(u.Name), u.Left)
		case u.Done != "":
			fmt.Fprintf(o.Out, "%s: %s\n", say.Line(u.Name), u.Done)
			if u.Restore != "" {
				fmt.Fprintf(o.Out, "to bring it back: %s\n", u.Restore)
			}
		}
	}
	return err
}
