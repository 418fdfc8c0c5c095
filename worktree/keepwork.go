package worktree

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// unfitError is a conflict with work that is not committed.
type unfitError struct{ *ConflictError }

func (e *unfitError) Unwrap() []error { return []error{e.ConflictError, ErrDirty} }

// whole is the tree of a snapshot's working files, with those that a sparse
// checkout leaves out: nobody has removed them.
func whole(ctx context.Context, treePath string, saved *Snapshot) (string, error) {
	work := saved.Commit + "^3^{tree}"
	out, err := git(ctx, treePath, "ls-files", "-t", "-s", "-z")
	if err != nil {
		return "", err
	}
	var absent strings.Builder
	for _, l := range fields(out) { // LETTER MODE ID STAGE\tPATH
		meta, name, _ := strings.Cut(l, "\t")
		if _, err := os.Lstat(filepath.Join(treePath, name)); err != nil && strings.HasPrefix(meta, "S ") {
			absent.WriteString(meta[2:] + "\t" + name + "\x00")
		}
	}
	if absent.Len() == 0 {
		return work, nil
	}
	tmp, err := os.MkdirTemp("", "cmux-carry-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(tmp)
	c := command{dir: treePath, env: []string{"GIT_INDEX_FILE=" + filepath.Join(tmp, "index")}, args: []string{"read-tree", work}}
	if _, err := c.run(ctx); err != nil {
		return "", err
	}
	c.args, c.stdin = []string{"update-index", "-z", "--index-info"}, []byte(absent.String())
	if _, err := c.run(ctx); err != nil {
		return "", err
	}
	c.args, c.stdin = []string{"write-tree"}, nil
	out, err = c.run(ctx)
	return line(out), err
}

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
		tree, err := whole(ctx, s.Path, saved)
		if err != nil {
			return err
		}
		m := merger{r: r, date: time.Now().Unix(), heads: []Tip{{Name: s.Branch + "'s unfinished work"}, {Commit: to}}}
		if m.heads[0].Commit, err = m.commit(ctx, tree, "Unfinished\n", []Tip{{Commit: from}}); err != nil {
			return err
		}
		_, files, err := r.mergeTree(ctx, to, m.heads[0].Commit, "the new work", m.heads[0].Name)
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
	if err := fastForward(ctx, s.Path, to, "--autostash"); err != nil {
		return errors.Join(ErrDirty, err)
	}
	return nil
}
