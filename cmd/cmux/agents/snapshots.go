package agents

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"cmux/agents/control"
	"cmux/agents/control/remains"
	"cmux/cmd/cmux/cli"
)

// NewSnapshotsCmd builds cmux snapshots and its commands.
func NewSnapshotsCmd(d *cli.Deps) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "snapshots",
		GroupID: "main",
		Short:   "Work that cmux saved before it removed or reset something",
		Example: "  cmux snapshots list",
	}
	cmd.AddCommand(newSnapshotsListCmd(d, nil), newSnapshotsRestoreCmd(d, nil))
	return cmd
}

type snapshotsListOptions struct {
	*cli.IO
	Project cli.ProjectFunc
	JSON    bool
}

func newSnapshotsListCmd(d *cli.Deps, runF func(context.Context, *snapshotsListOptions) error) *cobra.Command {
	o := &snapshotsListOptions{IO: &d.IO, Project: d.Project}
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List saved work, newest first",
		Long: `List saved work, newest first. With --json the shape is
  [{"id", "time", "reason", "branch", "path", "commit", "head", "operation", "omitted"}]
where operation is a merge or rebase that was in progress and omitted the paths
that were too large to save and are ignored by git.`,
		Example: "  cmux snapshots list --json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return cli.Either(runF, runSnapshotsList)(cmd.Context(), o)
		},
	}
	cli.JSONFlag(cmd, &o.JSON)
	return cmd
}

func runSnapshotsList(ctx context.Context, o *snapshotsListOptions) error {
	_, all, done, err := cli.Asked(ctx, o.IO, o.Project, o.JSON, func(p *control.Project) ([]remains.Snapshot, error) { return p.Remains().Snapshots(ctx) })
	if done {
		return err
	}
	if len(all) == 0 {
		_, err := fmt.Fprintln(o.Out, "No saved work.")
		return err
	}
	rows := make([][]string, len(all))
	for i, s := range all {
		rows[i] = []string{s.ID, s.Time.Local().Format("2006-01-02 15:04"), cli.OrDash(s.Branch), cli.OrDash(s.Reason)}
	}
	columns := []cli.Column{{Head: "SNAPSHOT"}, {Head: "TAKEN", Give: 2, Least: 16}, {Head: "BRANCH", Give: 1, Least: 8}, {Head: "WHY", Give: 3, Least: 10}}
	fmt.Fprint(o.Out, cli.Table(columns, rows, o.Width(), o.Color()))
	_, err = fmt.Fprintln(o.Err, "Bring one back with: cmux snapshots restore SNAPSHOT")
	return err
}

type snapshotsRestoreOptions struct {
	*cli.IO
	Project cli.ProjectFunc
	remains.Restore
}

func newSnapshotsRestoreCmd(d *cli.Deps, runF func(context.Context, *snapshotsRestoreOptions) error) *cobra.Command {
	o := &snapshotsRestoreOptions{IO: &d.IO, Project: d.Project}
	cmd := &cobra.Command{
		Use:   "restore SNAPSHOT",
		Short: "Restore saved work",
		Long: `Restore saved work byte for byte: commits, index, working files, untracked files,
and a merge or rebase that was in progress. SNAPSHOT is an id from the list, or a
name, which means the newest snapshot of that name. A node's name is enough if only
one session has it. restore moves no branch and overwrites no file; it names the
files that are in the way.`,
		Example: "  cmux snapshots restore api --to ../rescued --branch rescued",
		Args:    cobra.ExactArgs(1),
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			var ids []string
			if p, err := o.Project(cmd.Context()); err == nil && len(args) == 0 {
				all, _ := p.Remains().Snapshots(cmd.Context())
				for _, s := range all {
					ids = append(ids, s.ID)
				}
			}
			return ids, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Snapshot = args[0]
			return cli.Either(runF, runSnapshotsRestore)(cmd.Context(), o)
		},
	}
	cmd.Flags().StringVar(&o.To, "to", "", "worktree to restore into (default: where it was)")
	cmd.Flags().StringVar(&o.Branch, "branch", "", "branch to restore on (default: the one it was on)")
	return cmd
}

func runSnapshotsRestore(ctx context.Context, o *snapshotsRestoreOptions) error {
	p, err := o.Project(ctx)
	if err != nil {
		return err
	}
	res, err := p.Remains().Restore(ctx, o.Restore)
	if err != nil {
		return err
	}
	switch {
	case res.Path == "":
		_, err = fmt.Fprintf(o.Out, "Restored branch %s at %.12s.\n", res.Branch, res.Head)
	case res.Branch == "":
		_, err = fmt.Fprintf(o.Out, "Restored %s into %s (no branch).\n", res.Snapshot, res.Path)
	default:
		_, err = fmt.Fprintf(o.Out, "Restored %s into %s on branch %s.\n", res.Snapshot, res.Path, res.Branch)
	}
	for _, k := range res.Kept {
		_, err = fmt.Fprintf(o.Out, "It also kept %s, which only %s named: git show %[1]s\n", k.ID, k.From)
	}
	return err
}
