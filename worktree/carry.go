package worktree

import (
	"context"
	"errors"
	"time"
)

// unfitError is a conflict with work that is not committed.
type unfitError struct{ *ConflictError }

func (e *unfitError) Unwrap() []error { return []error{e.ConflictError, ErrDirty} }

// carry moves a worktree with unfinished work on from the commit it is at to
// one that holds it, as lending it again wants, with the unfinished work on
// top. What is there is saved first. Where the two do not fit, nothing is
// changed: a *ConflictError, which is also ErrDirty, names the files. ErrUnsavable
// and ErrDirty alone say that the work cannot be moved.
func (r *Repo) carry(ctx context.Context, s LendSpec, private, from, to string) error {
	if op := operation(private); op != "" {
		return hint("end it (git -C "+shellWord(s.Path)+" "+op+" --continue) and commit", "%w: %s is in the middle of a %s", ErrDirty, s.Path, op)
	}
	saved, err := r.Snapshot(ctx, s.Path, SnapshotSpec{Name: snapshotName(s), Reason: "new work of dependencies comes under it"})
	if err != nil {
		return err
	}
	if saved != nil {
		// The working files as one commit on from: merged with to they say
		// whether, and where, the two do not fit.
		tree := saved.Commit + "^3^{tree}"
		m := merger{r: r, date: time.Now().Unix(), heads: []Tip{{Name: s.Branch + "'s unfinished work"}, {Commit: to}}}
		if m.heads[0].Commit, err = m.commit(ctx, tree, "Unfinished\n", []Tip{{Commit: from}}); err != nil {
			return err
		}
		_, files, err := r.mergeTree(ctx, to, m.heads[0].Commit)
		if err != nil {
			return err
		}
		if len(files) > 0 {
			e := &ConflictError{Files: files, Tips: []string{m.heads[0].Name}}
			for _, t := range s.Contributions {
				only := merger{r: r, heads: []Tip{t}}
				err := only.conflict(ctx, "", m.heads[0].Commit, 0, 1, 1, files)
				var one *ConflictError
				if !errors.As(err, &one) {
					return err
				}
				e.Tips = append(e.Tips, one.Tips...)
			}
			return &unfitError{e}
		}
	}
	if _, err := git(ctx, s.Path, "merge", "--autostash", "--ff-only", "--quiet", "--no-overwrite-ignore", "--end-of-options", to); err != nil {
		return errors.Join(ErrDirty, err)
	}
	return nil
}
