package agents

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"cmux/agents/control/merging"
	"cmux/agents/platform/say"
	"cmux/cmd/cmux/cli"
)

type mergeOptions struct {
	*cli.IO
	Project cli.ProjectFunc
	merging.Merge
}

func newMergeCmd(d *cli.Deps, runF func(context.Context, *mergeOptions) error) *cobra.Command {
	o := &mergeOptions{IO: &d.IO, Project: d.Project}
	cmd := &cobra.Command{
		Use:   "merge",
		Short: "Merge the branches of a run, in order, with checks after each",
		Long: `Merge the branches of the run's done nodes, in dependency order, in a
separate worktree. After each branch, merge runs the verify commands of the nodes
merged so far. It stops at the first branch that conflicts or fails a check, and
names it. The target branch moves only at the end, by fast-forward. After you fix
a problem, use --continue. --abort undoes the merge.

merge names and leaves out nodes that are not done or have no branch, and nodes
that you dropped in cmux agents review. With "review: required" in the
configuration, it also leaves out nodes that nobody has approved. Nodes that depend
on a node that is left out in review are left out too.

merge takes each branch as it was when its node was done. It names later commits
and leaves them out, except for a fix before --continue. --tips takes the branches
as they are now.`,
		Example: "  cmux agents merge --into main",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cli.Either(runF, runMerge)(cmd.Context(), o) },
	}
	cmd.Flags().StringVar(&o.Into, "into", "", "branch to merge into (default: the branch that the run started from)")
	cmd.Flags().BoolVar(&o.Continue, "continue", false, "continue a merge that stopped")
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
	res, err := p.Merging().Merge(ctx, o.Merge)
	if err != nil {
		return err
	}
	if res.Abandoned {
		_, err := fmt.Fprintf(o.Out, "Given up. %s is where it was.\n", res.Target)
		return err
	}
	for _, b := range res.Contained {
		fmt.Fprintf(o.Out, "%s: already merged\n", b)
	}
	_, err = fmt.Fprintf(o.Out, "%s: %s merged, now at %.12s\n", res.Target, say.Count(len(res.Merged), "branch"), res.Commit)
	return err
}
