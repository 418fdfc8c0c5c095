package worktree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"cmux/worktree/git"
	"cmux/worktree/gitfile"
	"cmux/worktree/hint"
	"cmux/worktree/separate"
)

// RemoveSpec names the snapshot.
type RemoveSpec struct {
	Name   string // of the snapshot; by default the branch
	Reason string
	Force  bool // also when processes work in the tree; the snapshot is taken all the same
}

// Remove saves what the worktree holds and removes it; its branch stays. The
// snapshot is nil when there was nothing to save. It refuses the tree of a live
// process (ErrInUse), a locked one (ErrLocked) and one that no snapshot can
// hold (ErrUnsavable), changing nothing. A removal that fails half-way returns
// the snapshot beside the error, which names it. After an interruption a second
// call ends the work and returns the snapshot of the first; a tree that is gone
// already is no error.
func (r *Repo) Remove(ctx context.Context, path string, s RemoveSpec) (*Snapshot, error) {
	path, err := git.RealPath(path)
	if err != nil {
		return nil, err
	}
	release, err := r.claim(path)
	if err != nil {
		return nil, err
	}
	defer release()
	if err := separate.Rejoin(ctx, r.GitDir, path); err != nil {
		return nil, err
	}
	return r.remove(ctx, path, s)
}

func (r *Repo) remove(ctx context.Context, path string, s RemoveSpec) (*Snapshot, error) {
	all, err := r.registrations(ctx)
	if err != nil {
		return nil, err
	}
	var e *registration
	for i := range all {
		if all[i].path == path {
			e = &all[i]
		}
	}
	switch {
	case path == r.Root:
		return nil, fmt.Errorf("%w: %s is the repository's main worktree, which is never removed", ErrOccupied, path)
	case e == nil:
		return nil, r.removeRest(path)
	case e.locked && e.reason != initializing:
		return nil, hint.Errorf("git worktree unlock -- "+git.ShellWord(path), "%w: %s (reason of the lock: %q)", ErrLocked, path, e.reason)
	}
	if err := unmounted(path); err != nil {
		return nil, err
	}
	free, err := absentOrEmpty(path)
	if err != nil {
		return nil, err
	}
	if private, perr := r.FindPrivate(path); free && perr == nil && isRemoving(private) {
		return r.finish(ctx, path)
	}
	if free {
		left, saved, err := r.revive(ctx, *e, s.Reason)
		if left == nil || err != nil {
			return saved, err
		}
	} else if r.unfinished(path) && !r.changedSince(path) {
		return r.finish(ctx, path)
	} else if err := r.relink(ctx, path); err != nil {
		return nil, err
	}
	if first, err := r.savedBy(ctx, path); err != nil {
		return nil, err
	} else if first != nil {
		git.Note(ctx, "%s has changed since its removal failed; what was in it then is saved: %s", path, first.RestoreCommand())
	}
	if !s.Force {
		users, err := git.ProcessesIn(path)
		if err != nil {
			return nil, err
		}
		if len(users) > 0 {
			return nil, hint.Errorf("end it (kill PID), or stop the node", "%w: %s: %s", ErrInUse, path, strings.Join(users, ", "))
		}
	}
	if s.Name == "" {
		if s.Name = e.branch; s.Name == "" {
			s.Name = filepath.Base(path)
		}
	}
	snap, err := r.Snapshot(ctx, path, SnapshotSpec{Name: s.Name, Reason: s.Reason, leaving: true})
	var ge *git.Error
	if err != nil && errors.As(err, &ge) && ge.Code == 128 && !errors.Is(err, ErrUnsavable) {
		err = r.brokenError(ctx, path, err)
	}
	if err != nil {
		return nil, err
	}
	if err := r.readable(ctx, *e, snap); err != nil {
		return nil, err
	}
	return snap, r.removeSaved(ctx, path, snap)
}

// removeSaved removes a worktree whose work is in the snapshot, which may be
// nil. One that fails half-way says how that comes back, and the next removal
// learns of it.
func (r *Repo) removeSaved(ctx context.Context, path string, snap *Snapshot) error {
	if snap == nil {
		return r.deregister(ctx, path)
	}
	private, err := r.FindPrivate(path)
	if err == nil {
		err = unmounted(path, private)
	}
	if err == nil {
		err = git.WriteFile(filepath.Join(private, git.RemovingFile), []byte(snap.ID+"\n"))
	}
	if err == nil {
		err = r.deregister(ctx, path)
	}
	if err == nil {
		return nil
	}
	return halfRemoved(path, snap, err)
}

func halfRemoved(path string, snap *Snapshot, err error) error {
	try := "fix that, then run the same command again"
	var h *hint.Error
	if errors.As(err, &h) {
		try = h.Try
	}
	return hint.Errorf(try, "%s could not be removed whole; its work is saved: %s: %w", path, snap.RestoreCommand(), err)
}

// finish ends a removal that was interrupted, and returns the snapshot that it
// had taken.
func (r *Repo) finish(ctx context.Context, path string) (*Snapshot, error) {
	snap, err := r.savedBy(ctx, path)
	if err != nil {
		return nil, err
	}
	if err := r.deregister(ctx, path); err != nil {
		if snap != nil {
			err = halfRemoved(path, snap, err)
		}
		return snap, err
	}
	return snap, nil
}

// savedBy is the snapshot that an interrupted removal of the worktree took; nil
// when it took none.
func (r *Repo) savedBy(ctx context.Context, path string) (*Snapshot, error) {
	private, err := r.FindPrivate(path)
	if err != nil {
		return nil, err
	}
	b, err := os.ReadFile(filepath.Join(private, git.RemovingFile))
	if id := git.Line(string(b)); err == nil && id != "" {
		all, err := r.Snapshots(ctx)
		if err != nil {
			return nil, err
		}
		for i := range all {
			if all[i].ID == id {
				return &all[i], nil
			}
		}
	} else if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	return nil, nil
}

func isRemoving(private string) bool {
	_, err := os.Lstat(filepath.Join(private, git.RemovingFile))
	return err == nil
}

// changedSince reports whether somebody wrote into what an interrupted removal
// left: that is in no snapshot.
func (r *Repo) changedSince(path string) bool {
	private, err := r.FindPrivate(path)
	if err != nil {
		return false
	}
	began, err := os.Lstat(filepath.Join(private, git.RemovingFile))
	if err != nil {
		return false
	}
	changed := false
	filepath.WalkDir(path, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() { // a folder's time is that of the removal
			return nil
		}
		if info, err := d.Info(); err == nil && info.ModTime().After(began.ModTime()) {
			changed = true
			return fs.SkipAll
		}
		return nil
	})
	return changed
}

// readable verifies what holds the work of the tree once it is gone: the
// snapshot, or the commit it is on. A snapshot that cannot be read is none.
func (r *Repo) readable(ctx context.Context, e registration, snap *Snapshot) error {
	private, err := r.FindPrivate(e.path)
	if err != nil {
		return err
	}
	owner, err := git.ReadOwner(private)
	if err != nil {
		return err
	}
	commit := e.head
	if snap != nil {
		commit = snap.Commit
	}
	if strings.Trim(commit, "0") == "" {
		return nil // a branch without commits, and nothing to save
	}
	err = r.verify(ctx, e.path, commit, owner.Start)
	if err == nil && snap != nil && snap.Head != "" {
		err = r.verify(ctx, e.path, snap.Head, snap.Head) // what is loose of its tree
	}
	if err != nil && snap != nil && ctx.Err() == nil {
		err = errors.Join(err, r.DeleteRef(ctx, snap.Ref, snap.Commit))
	}
	return err
}

// removeRest ends a removal that was interrupted between git's two steps: the
// registration goes last, so a directory without one is nobody's business, and
// only an empty one is removed.
func (r *Repo) removeRest(path string) error {
	free, err := absentOrEmpty(path)
	if err != nil {
		return err
	}
	if err := r.Lost(path); err != nil {
		return err
	}
	if !free {
		return hint.Errorf("git worktree list", "%w: %s is no worktree of %s", ErrOccupied, path, r.Root)
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// Lost is ErrLost when the folder at path says that it is a worktree of the
// repository, which knows nothing of it, or of another folder in its place.
func (r *Repo) Lost(path string) error {
	if err := r.moved(path); err != nil {
		return err
	}
	path, err := git.RealPath(path) // as git records it
	if err != nil {
		return nil
	}
	private, err := gitfile.Private(path)
	if err != nil || filepath.Dir(private) != filepath.Join(r.GitDir, "worktrees") {
		return nil
	}
	if _, err := os.Lstat(private); err != nil {
		return hint.Errorf("mv "+git.ShellWord(path)+" "+git.ShellWord(path+".found"), "%w: %s was a worktree of %s, which no longer knows it; its files are there, its commits on its branch", ErrLost, path, r.Root)
	}
	b, err := os.ReadFile(filepath.Join(private, "gitdir"))
	if at := strings.TrimSuffix(git.Line(string(b)), "/.git"); err == nil && filepath.IsAbs(at) {
		if at == path {
			return nil
		}
		if _, err := os.Lstat(filepath.Join(at, ".git")); err == nil {
			return hint.Errorf("mv "+git.ShellWord(path)+" "+git.ShellWord(path+".found"), "%w: %s is a copy of the worktree %s", ErrLost, path, at)
		}
	}
	return hint.Errorf("git -C "+git.ShellWord(r.Root)+" worktree repair -- "+git.ShellWord(path), "%w: %s is a worktree of %s, whose note of where it is (%s) is damaged", ErrLost, path, r.Root, filepath.Join(private, "gitdir"))
}

// moved is ErrLost when cmux lent a worktree at path that has been moved since.
func (r *Repo) moved(path string) error {
	base := filepath.Join(r.GitDir, "worktrees")
	entries, err := os.ReadDir(base)
	if err != nil {
		return nil
	}
	if _, err := os.Lstat(path); err == nil {
		return nil
	}
	for _, e := range entries {
		private := filepath.Join(base, e.Name())
		b, err := os.ReadFile(filepath.Join(private, "gitdir"))
		at := strings.TrimSuffix(git.Line(string(b)), "/.git")
		// git names the registration after the folder that it was made for.
		if err != nil || e.Name() != filepath.Base(path) || at == path || !filepath.IsAbs(at) {
			continue
		}
		if owner, err := git.ReadOwner(private); err != nil || owner.Owner == "" {
			continue
		}
		if _, err := os.Lstat(at); err == nil {
			return hint.Errorf("git -C "+git.ShellWord(r.Root)+" worktree move "+git.ShellWord(at)+" "+git.ShellWord(path), "%w: the worktree %s was moved to %s", ErrLost, path, at)
		}
	}
	return nil
}
