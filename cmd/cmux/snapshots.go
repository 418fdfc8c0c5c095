package main

import (
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"cmux/worktree"
)

func newSnapshotsCmd(d *Deps) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "snapshots",
		GroupID: "main",
		Short:   "Work that cmux saved before it removed or reset something",
		Example: "  cmux snapshots list",
	}
	cmd.AddCommand(newSnapshotsListCmd(d), aPersons(newSnapshotsRestoreCmd(d)))
	return cmd
}

// snapshotReport is one entry of snapshots list --json.
type snapshotReport struct {
	ID        string    `json:"id"`
	Time      time.Time `json:"time"`
	Reason    string    `json:"reason"`
	Branch    string    `json:"branch"`
	Path      string    `json:"path"`
	Commit    string    `json:"commit"`
	Head      string    `json:"head"`
	Operation string    `json:"operation"`
	Omitted   []string  `json:"omitted"`
}

func newSnapshotsListCmd(d *Deps) *cobra.Command {
	var asJSON bool
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
			repo, err := d.repo(cmd)
			if err != nil {
				return err
			}
			all, err := repo.Snapshots(cmd.Context())
			if err != nil {
				return err
			}
			slices.Reverse(all)
			if asJSON {
				out := make([]snapshotReport, len(all))
				for i, s := range all {
					out[i] = snapshotReport{ID: s.ID, Time: s.Time, Reason: s.Reason, Branch: s.Branch, Path: s.Path,
						Commit: s.Commit, Head: s.Head, Operation: s.Operation, Omitted: append([]string{}, s.Omitted...)}
				}
				return printJSON(d.Out, out)
			}
			if len(all) == 0 {
				_, err := fmt.Fprintln(d.Out, "No saved work.")
				return err
			}
			rows := make([][]string, len(all))
			for i, s := range all {
				rows[i] = []string{s.ID, s.Time.Local().Format("2006-01-02 15:04"), orDash(s.Branch), orDash(s.Reason)}
			}
			columns := []column{{head: "SNAPSHOT"}, {head: "TAKEN", give: 2, least: 16}, {head: "BRANCH", give: 1, least: 8}, {head: "WHY", give: 3, least: 10}}
			fmt.Fprint(d.Out, table(columns, rows, d.width(), d.colour()))
			_, err = fmt.Fprintln(d.Err, "Bring one back with: cmux snapshots restore SNAPSHOT")
			return err
		},
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}

func newSnapshotsRestoreCmd(d *Deps) *cobra.Command {
	var to worktree.RestoreSpec
	cmd := &cobra.Command{
		Use:   "restore SNAPSHOT",
		Short: "Bring saved work back",
		Long: `Bring saved work back byte for byte: commits, index, working files, untracked
files, a merge or rebase that was in progress. SNAPSHOT is an id of the list, or
a name, which means the newest of that name; a node's own name does where one
session has it. No branch is moved and no file is
overwritten: what is in the way is named.`,
		Example: "  cmux snapshots restore api --to ../rescued --branch rescued",
		Args:    cobra.ExactArgs(1),
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			var ids []string
			if repo, err := d.repo(cmd); err == nil && len(args) == 0 {
				all, _ := repo.Snapshots(cmd.Context())
				for _, s := range slices.Backward(all) {
					ids = append(ids, s.ID)
				}
			}
			return ids, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			repo, err := d.repo(cmd)
			if err != nil {
				return err
			}
			s, err := repo.FindSnapshot(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if to.Path != "" {
				to.Path = d.caller().Abs(to.Path)
			}
			tree, err := repo.Restore(cmd.Context(), s, to)
			if err != nil {
				return err
			}
			switch {
			case tree.Path == "":
				_, err = fmt.Fprintf(d.Out, "Restored branch %s at %.12s.\n", tree.Branch, tree.Head)
			case tree.Branch == "":
				_, err = fmt.Fprintf(d.Out, "Restored %s into %s (no branch).\n", s.ID, tree.Path)
			default:
				_, err = fmt.Fprintf(d.Out, "Restored %s into %s on branch %s.\n", s.ID, tree.Path, tree.Branch)
			}
			for _, k := range s.Kept {
				_, err = fmt.Fprintf(d.Out, "It also kept %s, which only %s named: git show %[1]s\n", k.ID, k.From)
			}
			return err
		},
	}
	cmd.Flags().StringVar(&to.Path, "to", "", "worktree to restore into (default: where it was)")
	cmd.Flags().StringVar(&to.Branch, "branch", "", "branch to restore on (default: the one it was on)")
	return cmd
}

// repo is the project's repository.
func (d *Deps) repo(cmd *cobra.Command) (*worktree.Repo, error) {
	root, err := d.root(cmd.Context())
	if err != nil {
		return nil, err
	}
	return worktree.Open(cmd.Context(), root)
}
