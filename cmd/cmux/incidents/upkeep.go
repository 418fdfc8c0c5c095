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
		Long: `Show what the organization no longer needs, ask, and remove it:
- workers that had no task and no message for watch.stale_after
- windows of tmux, of an agent or a run that is gone, in which nothing changed for
  watch.stale_after; a tmux session ends with its last window
- worktrees older than an hour whose worker is gone
- branches of tasks and of removed workers, if all their work is in the integration
  branch and nobody has checked them out
- archives that are old: cmux lists them and does not remove them

cmux first saves uncommitted work and the text of the windows. It keeps supervisors,
permanent workers and clones.

The server does the same every 5 minutes, without asking, for the kinds that maintenance
in .cmux/config.yml lists; by default it lists none. With --dry-run --json the shape is
  {"items": [{"kind", "name", "why", "do", "at", "since"}], "allowed"}
Without --dry-run, --json prints the list of items alone, each with "done", "restore" and
"failed" too.`,
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
	plan, err := p.Health().PlanUpkeep(ctx)
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
	done, err := p.Health().Maintain(ctx, plan, func(upkeep.Kind) bool { return true })
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
