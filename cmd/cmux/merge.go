package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"cmux/agents/control"
	"cmux/agents/control/say"
	"cmux/agents/run"
	"cmux/signals"
	"cmux/worktree"
)

func newMergeCmd(d *Deps) *cobra.Command {
	var (
		into          string
		goOn, abandon bool
		tips          bool
	)
	cmd := &cobra.Command{
		Use:   "merge",
		Short: "Merge the branches of a run, in order, with checks after each",
		Long: `Merge the branches of the newest run's done nodes in dependency order, in a
worktree beside yours. After each merge the verify commands of the nodes merged
so far are run. At the first branch that conflicts or breaks a check it stops
and names it; the target has then not moved. It moves at the very end, by
fast-forward. --continue goes on after a repair, --abort takes everything back.
Nodes that are not done, or have no branch, are named and left out.

Each branch is merged as its node left it when it was done; commits that came
later are named and left out, but for a repair before --continue. --tips takes
the branches as they are now.`,
		Example: "  cmux agents merge --into main",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			r, err := d.latest(cmd.Context())
			if err != nil {
				return err
			}
			return d.merge(cmd.Context(), r, mergeOptions{into: into, goOn: goOn, abandon: abandon, tips: tips})
		},
	}
	cmd.Flags().StringVar(&into, "into", "", "branch to merge into (default: the branch that the run started from)")
	cmd.Flags().BoolVar(&goOn, "continue", false, "go on with a merge that stopped")
	cmd.Flags().BoolVar(&abandon, "abort", false, "give up a merge that stopped")
	cmd.Flags().BoolVar(&tips, "tips", false, "merge the branches as they are now, not as their nodes left them")
	cmd.MarkFlagsMutuallyExclusive("continue", "abort")
	return cmd
}

type mergeOptions struct {
	into                string
	goOn, abandon, tips bool
}

func (d *Deps) merge(ctx context.Context, r *run.Run, o mergeOptions) error {
	into, goOn, abandon := o.into, o.goOn, o.abandon
	folder := run.Folder(r.Plan.Root)
	spec := worktree.MergeSpec{Path: filepath.Join(folder, "merge"), Target: into, StateFile: filepath.Join(folder, "merge.json")}
	if err := errors.Join(signals.Expect(spec.StateFile, 0), signals.Expect(spec.Path, fs.ModeDir)); err != nil {
		return err
	}
	state, err := worktree.ReadMergeState(spec.StateFile)
	begun := err == nil
	if err != nil && !errors.Is(err, worktree.ErrNoMerge) {
		return err
	}
	switch {
	case !begun && (goOn || abandon):
		return &Hint{Err: worktree.ErrNoMerge, Try: "cmux agents merge"}
	case begun && !goOn && !abandon:
		return &Hint{Err: fmt.Errorf("a merge into %s was begun and has not ended", state.Target), Try: "cmux agents merge --continue, or --abort"}
	case begun && into != "" && into != state.Target:
		return usage("cmux agents merge --abort", "the merge that was begun is into %s", state.Target)
	case begun:
		spec.Target = state.Target
	case spec.Target == "":
		if spec.Target = r.Plan.BaseBranch; spec.Target == "" {
			return usage("cmux agents merge --into BRANCH", "the run started from %s, which is no branch", r.Plan.BaseRef)
		}
	}
	repo, err := worktree.Open(ctx, r.Plan.Root)
	if err != nil {
		return err
	}
	if abandon {
		if err := repo.AbortMerge(ctx, spec); err != nil {
			return err
		}
		_, err := fmt.Fprintf(d.Out, "Given up. %s is where it was.\n", spec.Target)
		return err
	}
	if err := d.mergeTarget(ctx, repo, spec.Target, begun); err != nil {
		return err
	}
	v, err := r.View(ctx, d.Now())
	if err != nil {
		return err
	}
	if _, err := r.Undrifted(ctx, repo, "not merged", worktree.Change.Sensitive); err != nil {
		return err
	}
	if err := d.mergeBranches(ctx, repo, v, &spec); err != nil {
		return err
	}
	if err := d.mergeTips(ctx, repo, &spec, o); err != nil {
		return err
	}
	res, err := repo.MergeInto(ctx, spec)
	if err != nil {
		return mergeHint(ctx, err, repo, &spec)
	}
	for _, b := range res.Skipped {
		fmt.Fprintf(d.Out, "%s: contained already\n", b)
	}
	_, err = fmt.Fprintf(d.Out, "%s: %s merged, now at %.12s\n", spec.Target, count(len(res.Merged), "branch"), res.Commit)
	return err
}

// mergeTarget makes sure that the branch to merge into is there.
func (d *Deps) mergeTarget(ctx context.Context, repo *worktree.Repo, target string, begun bool) error {
	_, err := repo.Tip(ctx, target)
	if !errors.Is(err, worktree.ErrBadRef) {
		return err
	}
	text := fmt.Sprintf("there is no branch %q", target)
	if begun {
		return &Hint{Err: fmt.Errorf("%s any more, into which a merge was begun", text), Try: "git branch " + say.Word(target) + " COMMIT, then cmux agents merge --continue; or cmux agents merge --abort"}
	}
	if _, err := repo.Resolve(ctx, target); err == nil {
		text += ", only a commit of that name"
	}
	branches, err := repo.Branches(ctx)
	if err != nil {
		return err
	}
	if near := nearest(target, branches); near != "" {
		return usage("cmux agents merge --into "+say.Word(near), "%s (did you mean %q?)", text, near)
	}
	return usage("git branch, then cmux agents merge --into BRANCH", "%s; there are %s", text, shortList(branches, 5))
}

// mergeBranches fills in the branches of the done nodes, in graph order, and
// how each merge is judged.
func (d *Deps) mergeBranches(ctx context.Context, repo *worktree.Repo, v *run.View, spec *worktree.MergeSpec) error {
	var nodes []*run.NodeView // as spec.Branches
	for _, i := range v.Run.Plan.Graph.Order() {
		n := &v.Nodes[i]
		switch {
		case !n.Spec.HasBranch() || n.Spec.Branch == spec.Target:
		case !control.Succeeded(n):
			fmt.Fprintf(d.Err, "left out: %s (%s)\n", n.Spec.Name, n.Status.Label)
		default:
			if n.Tip == "" { // overridden before it began
				if _, err := repo.Tip(ctx, n.Spec.Branch); errors.Is(err, worktree.ErrBadRef) {
					fmt.Fprintf(d.Err, "left out: %s (%s, it has no branch)\n", n.Spec.Name, n.Status.Label)
					continue
				} else if err != nil {
					return err
				}
			}
			spec.Branches = append(spec.Branches, worktree.Tip{Name: n.Spec.Branch, Commit: n.Tip})
			nodes = append(nodes, n)
		}
	}
	if len(spec.Branches) == 0 {
		return &Hint{Err: errors.New("no node of the run is done and has a branch"), Try: "cmux agents status"}
	}
	spec.Verify = func(ctx context.Context, dir, branch string) error {
		fmt.Fprintf(d.Err, "── %s ──\n", branch)
		// Those before it are in, whether now or before --continue.
		merged := nodes
		if i := slices.IndexFunc(nodes, func(n *run.NodeView) bool { return n.Spec.Branch == branch }); i >= 0 {
			merged = nodes[:i+1]
		}
		ran := make(map[string]bool)
		for _, n := range merged {
			env := worktree.CleanEnv(d.Env)
			for _, k := range slices.Sorted(maps.Keys(n.Spec.Env)) {
				env = append(env, k+"="+n.Spec.Env[k])
			}
			for _, check := range n.Spec.Verify {
				if ran[check] {
					continue
				}
				ran[check] = true
				if err := d.check(ctx, dir, env, check, time.Duration(n.Spec.VerifyTimeout)); err != nil {
					return fmt.Errorf("%s (of %s): %w", check, n.Spec.Name, err)
				}
			}
		}
		return nil
	}
	return nil
}

// mergeTips decides about the branches that have moved since their nodes were
// done: they are merged as recorded, unless a person says otherwise or repaired
// one of them.
func (d *Deps) mergeTips(ctx context.Context, repo *worktree.Repo, spec *worktree.MergeSpec, o mergeOptions) error {
	head := "" // of the merge so far
	if o.goOn {
		out, err := d.caller().Git(ctx, spec.Path, "rev-parse", "--verify", "--quiet", "HEAD")
		if err == nil {
			head = strings.TrimSpace(out)
		}
	}
	for i := range spec.Branches {
		b := &spec.Branches[i]
		now, err := repo.Tip(ctx, b.Name)
		if errors.Is(err, worktree.ErrBadRef) && b.Commit != "" {
			fmt.Fprintf(d.Err, "%s is gone; what its node left is merged: %.12s\n", b.Name, b.Commit)
			continue
		} else if err != nil {
			return err
		}
		if b.Commit == "" || o.tips {
			b.Commit = now
		}
		if b.Commit == now {
			continue
		}
		in := false // merged already as its node left it, so its later commits are no repair
		if head != "" {
			if in, err = repo.Holds(ctx, head, b.Commit); err != nil {
				return err
			}
		}
		if o.goOn && !in {
			if holds, err := repo.Holds(ctx, now, b.Commit); err != nil {
				return err
			} else if holds {
				b.Commit = now
				continue
			}
		}
		fmt.Fprintf(d.Err, "%s has moved since its node was done: %.12s -> %.12s; the first is merged (--tips takes the second)\n", b.Name, b.Commit, now)
	}
	return nil
}

// mergeHint adds to what stopped a merge how to go on.
func mergeHint(ctx context.Context, err error, repo *worktree.Repo, spec *worktree.MergeSpec) error {
	const next = "then cmux agents merge --continue; or cmux agents merge --abort"
	var (
		conflict *worktree.ConflictError
		broken   *worktree.VerifyError
	)
	switch {
	case errors.As(err, &conflict):
		what := conflict.Tips[0] // the one that did not fit; the others are in
		for _, b := range spec.Branches {
			if now, terr := repo.Tip(ctx, what); b.Name == what && (terr != nil || now != b.Commit) {
				what = b.Commit
			}
		}
		return &Hint{Err: err, Try: fmt.Sprintf("git -C %s merge %s, resolve and commit there, %s", say.Word(spec.Path), say.Word(what), next)}
	case errors.As(err, &broken) && broken.Tree != "":
		return &Hint{Err: err, Try: fmt.Sprintf("repair it in %s and commit there, %s", broken.Tree, next)}
	case errors.As(err, &broken):
		return &Hint{Err: err, Try: fmt.Sprintf("repair it on %s, %s", broken.Branch, next)}
	case errors.Is(err, worktree.ErrDirty):
		return &Hint{Err: err, Try: "commit these changes there, or put them aside (git stash -u), " + next}
	}
	return err
}
