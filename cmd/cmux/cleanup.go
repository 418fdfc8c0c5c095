package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"cmux/agents/control"
)

type cleanupOptions struct {
	*IO
	Project projectFunc
	Yes     bool
}

func newCleanupCmd(d *Deps, runF func(context.Context, *cleanupOptions) error) *cobra.Command {
	o := &cleanupOptions{IO: &d.IO, Project: d.project}
	cmd := &cobra.Command{
		Use:   "cleanup",
		Short: "End the session and remove the worktrees of a run, saving first",
		Long: `End the tmux session of the newest run and remove its worktrees. What is not
committed in them is saved first (cmux snapshots list); branches stay. A
changelog of what each node did is written into the run's folder.`,
		Example: "  cmux agents cleanup --yes",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return either(runF, runCleanup)(cmd.Context(), o) },
	}
	cmd.Flags().BoolVarP(&o.Yes, "yes", "y", false, "do not ask")
	return cmd
}

func runCleanup(ctx context.Context, o *cleanupOptions) error {
	p, err := o.Project(ctx)
	if err != nil {
		return err
	}
	c, err := p.PlanCleanup(ctx)
	if err != nil {
		return err
	}
	if c.Session != "" {
		fmt.Fprintf(o.Out, "session   %s\n", c.Session)
	}
	for _, t := range c.Trees {
		fmt.Fprintf(o.Out, "worktree  %s (%s)\n", t.Path, orDash(t.Branch))
	}
	for _, why := range c.LeftOut {
		fmt.Fprintf(o.Out, "left out  %s\n", why)
	}
	for _, name := range c.Open {
		fmt.Fprintf(o.Out, "agent     %s (still open)\n", name)
	}
	if c.Empty() {
		fmt.Fprintln(o.Out, "There is no session and no worktree to remove.")
	} else if err := o.confirm(ctx, o.Yes, "Remove these? Branches stay, and uncommitted work is saved first."); err != nil {
		return err
	}
	path, err := p.Cleanup(ctx, c, func(r control.Removal) {
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
