package worktree

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	"cmux/worktree/git"
	"cmux/worktree/hint"
	"cmux/worktree/merge"
)

// unfitError is a conflict with work that is not committed.
type unfitError struct{ *merge.ConflictError }

func (e *unfitError) Unwrap() []error { return []error{e.ConflictError, ErrDirty} }

// whole is the tree of a snapshot's working files, with those that a sparse
// checkout leaves out: nobody has removed them.
func whole(ctx context.Context, treePath string, saved *Snapshot) (string, error) {
	work := saved.Commit + "^3^{tree}"
	out, err := git.Run(ctx, treePath, "ls-files", "-t", "-s", "-z")
	if err != nil {
		return "", err
	}
	var absent strings.Builder
	for _, l := range git.Fields(out) { // LETTER MODE ID STAGE\tPATH
		meta, name, _ := strings.Cut(l, "\t")
		if _, err := os.Lstat(filepath.Join(treePath, name)); err != nil && strings.HasPrefix(meta, "S ") {
			absent.WriteString(meta[2:] + "\t" + name + "\x00")
		}
	}
	if absent.Len() == 0 {
		return work, nil
	}
	tmp, err := git.TempDir(treePath, "cmux-carry-", true)
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(tmp)
	c := git.Command{Dir: treePath, Env: []string{"GIT_INDEX_FILE=" + filepath.Join(tmp, "index")}, Args: []string{"read-tree", work}}
	if _, err := c.Run(ctx); err != nil {
		return "", err
	}
	c.Args, c.Stdin = []string{"update-index", "-z", "--index-info"}, []byte(absent.String())
	if _, err := c.Run(ctx); err != nil {
		return "", err
	}
	c.Args, c.Stdin = []string{"write-tree"}, nil
	out, err = c.Run(ctx)
	return git.Line(out), err
}

// carry moves a worktree with unfinished work on from the commit it is at to
// one that holds it, as lending it again wants, with the unfinished work on
// top. What is there is saved first. Where the two do not fit, nothing is
// changed: a *ConflictError, which is also ErrDirty, names the files. ErrUnsavable
// and ErrDirty alone say that the work cannot be moved.
func (r *Repo) carry(ctx context.Context, s LendSpec, private, from, to string) error {
	if op := git.Operation(private); op != "" {
		return hint.Errorf("end it (git -C "+git.ShellWord(s.Path)+" "+op+" --continue) and commit", "%w: %s is in the middle of a %s", ErrDirty, s.Path, op)
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
		name := s.Branch + "'s unfinished work"
		work, err := r.CommitTree(ctx, tree, "Unfinished\n", []merge.Tip{{Commit: from}}, time.Now().Unix())
		if err != nil {
			return err
		}
		_, files, err := r.MergeTree(ctx, to, work, "the new work", name)
		if err != nil {
			return err
		}
		if len(files) > 0 {
			touching, err := r.Touching(ctx, s.Contributions, work, files)
			if err != nil {
				return err
			}
			e := &merge.ConflictError{Files: files, Tips: append([]string{name}, touching...)}
			return &unfitError{e}
		}
	}
	if err := fastForward(ctx, s.Path, to, "--autostash"); err != nil {
		return errors.Join(ErrDirty, err)
	}
	return nil
}
