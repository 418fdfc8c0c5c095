package verdict

import (
	"context"
	"errors"

	"cmux/dag"
	"cmux/worktree"
)

// Merge brings the branches in one after the other, the checks after each, and
// stops at the first that breaks; that merge is taken back. Checks that did not pass
// before the first merge are broken by none: they must pass after the last.
func (v *Verdict) Merge() error {
	spec := worktree.MergeSpec{Path: v.tree.Lent.Path}
	for _, d := range v.Spec.Branches {
		if d.Tip == "" {
			continue // it contributes nothing
		}
		name := d.Branch
		if name == "" {
			name = d.Name
		}
		spec.Branches = append(spec.Branches, worktree.Tip{Name: name, Commit: d.Tip})
	}
	spec.Verify = func(ctx context.Context, _, branch string) error {
		return v.Call(ctx, func() error {
			what := "before the first merge: "
			if branch != "" {
				v.Out.Say("merged %s", branch)
				what = "after merging " + branch + ": "
			}
			f, err := v.verify(what)
			if err == nil && f != nil {
				err = Failed(f.Reason, "%s", f.Detail)
			}
			return err
		})
	}
	var res *worktree.MergeResult
	var notes []string
	failure, err := v.During(func(ctx context.Context) (err error) {
		res, err = v.tree.Repo.MergeInto(worktree.WithNotes(ctx, func(s string) { notes = append(notes, s) }), spec)
		return err
	})
	for _, s := range notes {
		v.Note("%s", s)
	}
	var (
		conflict *worktree.ConflictError
		refused  *worktree.VerifyError
	)
	switch {
	case err != nil:
		return err
	case errors.As(failure, &conflict):
		return Failed(dag.ReasonConflict, "%v", failure)
	case errors.As(failure, &refused):
		return refused.Err
	case failure != nil:
		return FailedBy(CodeOf(failure), dag.ReasonSetup, "merging: %v", failure)
	}
	v.start, v.judged = res.Commit, res.Commit
	return nil
}
