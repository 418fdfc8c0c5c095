package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"cmux/agents/proc"
	"cmux/agents/run"
	"cmux/agents/runner"
	"cmux/signals"
	"cmux/worktree"
)

// changelogName is the file in a run's folder that says what each node did.
const changelogName = "CHANGELOG.md"

func newCleanupCmd(d *Deps) *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use:   "cleanup",
		Short: "End the session and remove the worktrees of a run, saving first",
		Long: `End the tmux session of the newest run and remove its worktrees. What is not
committed in them is saved first (cmux snapshots list); branches stay. A
changelog of what each node did is written into the run's folder.`,
		Example: "  cmux agents cleanup --yes",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			r, err := d.latest(ctx)
			if err != nil {
				return err
			}
			// The runner of a run that has just ended may still be on its way out.
			if _, err := runner.Vacate(ctx, r); err != nil {
				return err
			}
			v, err := r.View(ctx, d.Now())
			if err != nil {
				return err
			}
			return d.cleanup(ctx, v, yes)
		},
	}
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	return cmd
}

func (d *Deps) cleanup(ctx context.Context, v *run.View, yes bool) error {
	r := v.Run
	if v.Holder != nil {
		return &Hint{Err: fmt.Errorf("run %s is under way, carried by %s", r.Plan.ID, v.Holder), Try: "cmux agents stop"}
	}
	for i := range v.Nodes {
		if n := &v.Nodes[i]; n.Fact.Live() && !over(v) {
			return &Hint{Err: fmt.Errorf("%s is still running", n.Spec.Name), Try: "cmux agents stop"}
		}
	}
	repo, err := worktree.Open(ctx, r.Plan.Root)
	if err != nil {
		return err
	}
	ctx = worktree.WithNotes(d.asRecorded(ctx, r, repo), func(s string) { fmt.Fprintf(d.Err, "cmux: %s\n", s) })
	_, session, err := runner.Session(ctx, r)
	if err != nil {
		return err
	}
	trees, broken := lentTrees(ctx, repo, r)
	if err := ctx.Err(); err != nil {
		return err
	}
	if session {
		fmt.Fprintf(d.Out, "session   %s\n", r.Plan.Graph.Session)
	}
	for _, t := range trees {
		fmt.Fprintf(d.Out, "worktree  %s (%s)\n", t.Path, orDash(t.Branch))
	}
	for _, err := range broken {
		fmt.Fprintf(d.Out, "left out  %v\n", err)
	}
	open := atWork(v)
	for _, name := range open {
		fmt.Fprintf(d.Out, "agent     %s (still open)\n", name)
	}
	if !session && len(trees)+len(open) == 0 {
		fmt.Fprintln(d.Out, "There is no session and no worktree to remove.")
	} else if err := d.confirm(ctx, yes, "Remove these? Branches stay, and uncommitted work is saved first."); err != nil {
		return err
	}
	if len(open) > 0 {
		if _, err := runner.Cancel(ctx, r, ""); err != nil {
			return err
		}
	}
	path := filepath.Join(r.Dir, changelogName)
	if err := signals.WriteFile(path, []byte(changelog(v)), 0o644); err != nil {
		return err
	}
	if err := runner.EndSession(ctx, r); err != nil {
		return err
	}
	left, err := runner.EndLeftovers(ctx, r)
	if len(left) > 0 {
		fmt.Fprintf(d.Out, "Ended what nodes left running: %s\n", proc.Names(left))
	}
	errs := broken
	if err != nil {
		errs = append(errs, err) // what it holds is named below, and the rest is removed
	}
	for _, t := range trees {
		s, err := removeTree(ctx, repo, t, r.Plan.ID)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		fmt.Fprintf(d.Out, "Removed %s.", t.Path)
		if s != nil {
			fmt.Fprintf(d.Out, " Its uncommitted work is saved: %s", s.RestoreCommand())
		}
		fmt.Fprintln(d.Out)
	}
	fmt.Fprintf(d.Out, "What each node did: %s\n", path)
	return errors.Join(errs...)
}

// lentTrees are the worktrees of a run's nodes that are registered, be their
// folder there or not; broken says why others cannot be dealt with.
func lentTrees(ctx context.Context, repo *worktree.Repo, r *run.Run) (trees []*worktree.Tree, broken []error) {
	for i := range r.Plan.Graph.Nodes {
		n := &r.Plan.Graph.Nodes[i]
		if !n.HasTree() {
			continue
		}
		path := r.Plan.Graph.TreePath(r.Plan.Root, n)
		var t *worktree.Tree
		_, err := os.Lstat(path)
		if err != nil && !repo.Registered(path) {
			err = worktree.ErrOccupied // without asking git for each node that never began
		} else {
			t, err = repo.Tree(ctx, path)
		}
		if errors.Is(err, worktree.ErrOccupied) {
			if err := repo.Lost(path); err != nil {
				broken = append(broken, err)
			}
			continue // not registered: not lent by cmux, or removed
		}
		switch {
		case err != nil:
			broken = append(broken, fmt.Errorf("worktree %s: %w", path, err))
		case t.Owner != "" || t.Unfinished || t.Torn: // else it was not lent by cmux
			trees = append(trees, t)
		}
	}
	return trees, broken
}

// removeTree removes a worktree. The processes of the session that just ended
// may take a moment to leave it. Saving takes as long as there is work to save:
// ^C ends it.
func removeTree(ctx context.Context, repo *worktree.Repo, t *worktree.Tree, id string) (*worktree.Snapshot, error) {
	leaving := time.NewTimer(5 * time.Second)
	defer leaving.Stop()
	again := time.NewTicker(50 * time.Millisecond)
	defer again.Stop()
	for {
		s, err := repo.Remove(ctx, t.Path, worktree.RemoveSpec{Reason: "cleanup of run " + id})
		if !errors.Is(err, worktree.ErrInUse) {
			return s, err
		}
		select {
		case <-again.C:
		case <-leaving.C:
			return s, err
		case <-ctx.Done():
			return s, ctx.Err()
		}
	}
}

// changelog says in Markdown what each node of a run did, in graph order.
func changelog(v *run.View) string {
	p := &v.Run.Plan
	var b strings.Builder
	fmt.Fprintf(&b, "# Run %s of %s: %s\n\n", p.ID, p.Graph.Session, v.RunState)
	fmt.Fprintf(&b, "Base: %s (%.12s)\n", p.BaseRef, p.Base)
	if !v.StartedAt.IsZero() {
		fmt.Fprintf(&b, "Started: %s\n", v.StartedAt.Format(time.RFC3339))
	}
	if !v.EndedAt.IsZero() {
		fmt.Fprintf(&b, "Ended: %s\n", v.EndedAt.Format(time.RFC3339))
	}
	for _, i := range p.Graph.Order() {
		n := &v.Nodes[i]
		fmt.Fprintf(&b, "\n## %s: %s\n\n", n.Spec.Name, n.Status.Label)
		if n.Spec.Branch != "" {
			fmt.Fprintf(&b, "- branch: `%s`", n.Spec.Branch)
			if n.Tip != "" {
				fmt.Fprintf(&b, " at %.12s", n.Tip)
			}
			b.WriteByte('\n')
		}
		if n.Fact.Attempts > 0 {
			fmt.Fprintf(&b, "- attempts: %d\n", n.Fact.Attempts)
		}
		if n.Status.Reason != "" {
			fmt.Fprintf(&b, "- reason: %s\n", oneLine(n.Status.Reason))
		}
		if end := n.LastEnd(); end != nil {
			if end.Commits > 0 {
				fmt.Fprintf(&b, "- commits: %d\n", end.Commits)
			}
			for _, c := range end.Checks {
				word := "passed"
				if c.Exit != 0 || c.TimedOut {
					word = "failed"
				}
				fmt.Fprintf(&b, "- check %s: `%s`\n", word, oneLine(c.Command))
			}
			if end.Snapshot != "" {
				fmt.Fprintf(&b, "- saved work: %s\n", end.Snapshot)
			}
			if s := strings.TrimSpace(end.Summary); s != "" {
				fmt.Fprintf(&b, "\n%s\n", s)
			}
			if s := strings.TrimRight(end.DiffStat, "\n"); s != "" {
				fmt.Fprintf(&b, "\n```\n%s\n```\n", s)
			}
		}
	}
	return b.String()
}
