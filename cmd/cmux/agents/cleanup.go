package agents

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"cmux/agents/control/project"
	"cmux/agents/control/remains"
	"cmux/agents/platform/say"
	"cmux/cmd/cmux/cli"
)

type cleanupOptions struct {
	*cli.IO
	Project cli.ProjectFunc
	Yes     bool
	Runs    bool // past runs, not the newest one's session and worktrees
	Keep    int
}

func newCleanupCmd(d *cli.Deps, runF func(context.Context, *cleanupOptions) error) *cobra.Command {
	o := &cleanupOptions{IO: &d.IO, Project: d.Project}
	cmd := &cobra.Command{
		Use:   "cleanup",
		Short: "Save work, end the session and remove the worktrees of a run",
		Long: `End the tmux session of the run and remove its worktrees. cleanup first
saves uncommitted work (cmux snapshots list). Branches stay. It writes a changelog
of what each node did into the run's folder.

With --runs, remove the records, logs and prompts of past runs instead. cleanup
keeps the newest runs (--keep), the newest run of each session, and runs that have
not ended. It keeps the changelog of each removed run in .cmux/changelogs; cmux
agents changelog RUN prints it. Branches, worktrees and saved work stay.`,
		Example: "  cmux agents cleanup --yes\n  cmux agents cleanup --runs --keep 20",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch f := cmd.Flags(); {
			case f.Changed("keep") && !o.Runs:
				return project.Usage("cmux agents cleanup --runs --keep N", "--keep says how many past runs stay, which only --runs removes")
			case o.Keep < 0:
				return project.Usage(cmd.CommandPath()+" --help", "--keep %d: want how many past runs stay", o.Keep)
			case o.Runs:
				return cli.Either(runF, runPrune)(cmd.Context(), o)
			}
			return cli.Either(runF, runCleanup)(cmd.Context(), o)
		},
	}
	cmd.Flags().BoolVarP(&o.Yes, "yes", "y", false, "do not ask")
	cmd.Flags().BoolVar(&o.Runs, "runs", false, "remove past runs instead")
	cmd.Flags().IntVar(&o.Keep, "keep", 5, "with --runs: how many of the newest runs to keep, `N`")
	return cmd
}

func runCleanup(ctx context.Context, o *cleanupOptions) error {
	p, err := o.Project(ctx)
	if err != nil {
		return err
	}
	c, err := p.Remains().PlanCleanup(ctx)
	if err != nil {
		return err
	}
	if c.Session != "" {
		fmt.Fprintf(o.Out, "session   %s\n", c.Session)
	}
	for _, t := range c.Trees {
		fmt.Fprintf(o.Out, "worktree  %s (%s)\n", t.Path, cli.OrDash(t.Branch))
	}
	for _, why := range c.LeftOut {
		fmt.Fprintf(o.Out, "left out  %s\n", why)
	}
	for _, name := range c.Open {
		fmt.Fprintf(o.Out, "agent     %s (still open)\n", name)
	}
	if len(c.Finally) > 0 {
		fmt.Fprintf(o.Out, "not run   %s (finally); to run them first: %s\n", strings.Join(c.Finally, ", "), c.Try)
	}
	if c.Empty() {
		fmt.Fprintln(o.Out, "There is no session and no worktree to remove.")
	} else if err := o.Confirm(ctx, o.Yes, "Remove these? Branches stay, and uncommitted work is saved first."); err != nil {
		return err
	}
	path, err := p.Remains().Cleanup(ctx, c, func(r remains.Removal) {
		if r.Left != "" {
			fmt.Fprintf(o.Out, "Ended what nodes left running: %s\n", r.Left)
			return
		}
		fmt.Fprintf(o.Out, "Removed %s.", r.Path)
		if r.Saved != "" {
			fmt.Fprintf(o.Out, " Its uncommitted work is saved: %s", r.Saved)
		}
		fmt.Fprintln(o.Out)
	})
	if path != "" {
		fmt.Fprintf(o.Out, "What each node did: %s\n", path)
	}
	return err
}

func runPrune(ctx context.Context, o *cleanupOptions) error {
	p, err := o.Project(ctx)
	if err != nil {
		return err
	}
	plan, err := p.Remains().PlanPruning(ctx, o.Keep)
	if err != nil {
		return err
	}
	for _, r := range plan.Kept {
		fmt.Fprintf(o.Out, "keep    %s  %s: %s\n", r.ID, r.State, r.Why)
	}
	if len(plan.Gone) == 0 {
		_, err := fmt.Fprintln(o.Out, "There is no past run to remove.")
		return err
	}
	for _, r := range plan.Gone {
		fmt.Fprintf(o.Out, "remove  %s  %s, session %s, %d of %d done, %s\n", r.ID, r.State, r.Session, r.Done, r.Nodes, say.Short(r.Size)+"B")
	}
	question := fmt.Sprintf("Remove the records, logs and prompts of %s (%s)? Branches, worktrees and saved work stay, and so does what each node did.", say.Count(len(plan.Gone), "run"), say.Short(plan.Size)+"B")
	if err := o.Confirm(ctx, o.Yes, question); err != nil {
		return err
	}
	return p.Remains().Prune(ctx, plan, func(id, changelog string) {
		fmt.Fprintf(o.Out, "Removed %s. What its nodes did: %s\n", id, p.Short(changelog))
	})
}
