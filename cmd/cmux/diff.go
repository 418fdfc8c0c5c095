package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"cmux/agents/control"
	"cmux/agents/run"
	"cmux/worktree"
)

func newDiffCmd(d *Deps) *cobra.Command {
	var unchanged bool
	cmd := &cobra.Command{
		Use:   "diff NAME",
		Short: "Show what a node has changed since it started",
		Long: `Show what a node has changed since the commit that it started from: what it
committed, and what stands uncommitted and untracked in its worktree beside it.

Control characters in it are taken out or shown by their numbers. For a patch to
be applied elsewhere, --raw gives every byte as it is.`,
		Example:           "  cmux agents diff api --raw > api.patch",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: d.completeNode,
		RunE: func(cmd *cobra.Command, args []string) error {
			v, i, err := d.latestView(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			out := d.Out
			if unchanged {
				out = raw(out)
			}
			return d.diff(cmd.Context(), v, i, out)
		},
	}
	cmd.Flags().BoolVar(&unchanged, "raw", false, "print every byte as it is: a terminal obeys it")
	return cmd
}

func (d *Deps) diff(ctx context.Context, v *run.View, i int, out io.Writer) error {
	n, root := &v.Nodes[i], v.Run.Plan.Root
	if !n.Spec.HasBranch() {
		return fmt.Errorf("%s is a %s and has no branch to show", n.Spec.Name, n.Spec.Role)
	}
	a := n.Attempt()
	if a == nil && control.Succeeded(n) { // overridden before it began
		return fmt.Errorf("%s never ran, so it has no branch (%s)", n.Spec.Name, n.Status.Label)
	} else if a == nil {
		return fmt.Errorf("%s has not started yet (%s)", n.Spec.Name, n.Status.Label)
	}
	if repo, err := worktree.Open(ctx, root); err == nil {
		ctx = d.asRecorded(ctx, v.Run, repo)
	}
	tip, tipErr := d.caller().Git(ctx, root, "rev-parse", "--verify", "--quiet", "--end-of-options", "refs/heads/"+n.Spec.Branch)
	tip = strings.TrimSpace(tip)
	start := d.startCommit(ctx, root, n.Attempts, tip)
	if start == "" {
		return fmt.Errorf("%s: its start commit is not recorded", n.Spec.Name)
	}
	if info, err := os.Stat(a.Place.Tree); a.Place.Tree == "" || err != nil || !info.IsDir() {
		if tipErr != nil {
			return fmt.Errorf("%s: its worktree and its branch %s are gone: %w", n.Spec.Name, n.Spec.Branch, tipErr)
		}
		return d.show(ctx, out, root, nil, start, tip, "--")
	}
	tmp, err := os.MkdirTemp("", "cmux-diff-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	index, err := d.privateIndex(ctx, a.Place.Tree, tmp)
	if err != nil {
		return err
	}
	return d.show(ctx, out, a.Place.Tree, index, start, "--")
}

// startCommit is the commit that the node's work began at: the first attempt's,
// unless the branch was begun anew since.
func (d *Deps) startCommit(ctx context.Context, root string, attempts []run.Attempt, tip string) string {
	for i := range attempts {
		c := attempts[i].Place.Commit
		if c == "" {
			continue
		}
		if i == len(attempts)-1 || tip == "" {
			return c
		}
		if _, err := d.caller().Git(ctx, root, "merge-base", "--is-ancestor", c, tip); err == nil {
			return c
		}
	}
	return ""
}

// privateIndex copies the index of a worktree into tmp and adds untracked
// files to the copy, so that a diff shows them and the worktree is not touched.
// It returns the environment that selects the copy.
func (d *Deps) privateIndex(ctx context.Context, tree, tmp string) (env []string, err error) {
	path, err := d.caller().Git(ctx, tree, "rev-parse", "--path-format=absolute", "--git-path", "index")
	if err != nil {
		return nil, err
	}
	copied := filepath.Join(tmp, "index")
	if _, err := worktree.CopyIndex(strings.TrimSuffix(path, "\n"), copied); err != nil {
		return nil, err
	}
	env = []string{"GIT_INDEX_FILE=" + copied}
	cmd := worktree.Git(ctx, tree, d.Env, "add", "--intent-to-add", "--all", ".")
	cmd.Env = append(cmd.Env, env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("git add in a copy of the index: %s: %w", strings.TrimSpace(string(out)), err)
	}
	return env, nil
}

// show runs git diff with its output on out, without a pager and without
// programs of the repository's.
func (d *Deps) show(ctx context.Context, out io.Writer, dir string, env []string, args ...string) error {
	options := []string{"diff", "--no-ext-diff", "--no-textconv"}
	if d.colour() {
		options = append(options, "--color=always")
	}
	cmd := worktree.Git(ctx, dir, d.Env, append(options, args...)...)
	cmd.Env = append(cmd.Env, env...)
	cmd.Stdout, cmd.Stderr = out, d.Err
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("git diff in %s: %w", dir, err)
	}
	return nil
}
