package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"cmux/agents/control"
	"cmux/agents/control/say"
)

type mergeOptions struct {
	*IO
	Project projectFunc
	control.Merge
}

func newMergeCmd(d *Deps, runF func(context.Context, *mergeOptions) error) *cobra.Command {
	o := &mergeOptions{IO: &d.IO, Project: d.project}
	cmd := &cobra.Command{
		Use:   "merge",
		Short: "Merge the branches of a run, in order, with checks after each",
		Long: `Merge the branches of the newest run's done nodes in dependency order, in a
worktree beside yours. After each merge the verify commands of the nodes merged
so far are run. At the first branch that conflicts or breaks a check it stops
and names it; the target has then not moved. It moves at the very end, by
fast-forward. --continue goes on after a repair, --abort takes everything back.
Nodes that are not done, or have no branch, are named and left out. So is what a
person dropped in cmux agents review and, with "review: required" in the
configuration, what nobody has approved there, with all that is built on it.

Each branch is merged as its node left it when it was done; commits that came
later are named and left out, but for a repair before --continue. --tips takes
the branches as they are now.`,
		Example: "  cmux agents merge --into main",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return either(runF, runMerge)(cmd.Context(), o) },
	}
	cmd.Flags().StringVar(&o.Into, "into", "", "branch to merge into (default: the branch that the run started from)")
	cmd.Flags().BoolVar(&o.Continue, "continue", false, "go on with a merge that stopped")
	cmd.Flags().BoolVar(&o.Abort, "abort", false, "give up a merge that stopped")
	cmd.Flags().BoolVar(&o.Tips, "tips", false, "merge the branches as they are now, not as their nodes left them")
	cmd.MarkFlagsMutuallyExclusive("continue", "abort")
	return cmd
}

func runMerge(ctx context.Context, o *mergeOptions) error {
	p, err := o.Project(ctx)
	if err != nil {
		return err
	}
	o.Output = o.Err
	o.Begun = func(branch string) { fmt.Fprintf(o.Err, "── %s ──\n", branch) }
	o.Tell = func(line string) { fmt.Fprintln(o.Err, line) }
	res, err := p.Merge(ctx, o.Merge)
	if err != nil {
		return err
	}
	if res.Abandoned {
		_, err := fmt.Fprintf(o.Out, "Given up. %s is where it was.\n", res.Target)
		return err
	}
	for _, b := range res.Contained {
		fmt.Fprintf(o.Out, "%s: contained already\n", b)
	}
	_, err = fmt.Fprintf(o.Out, "%s: %s merged, now at %.12s\n", res.Target, say.Count(len(res.Merged), "branch"), res.Commit)
	return err
}
