package worktree

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
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
// hold (ErrUnsavable), changing nothing. After an interruption a second call
// ends the work; a tree that is gone already is no error.
func (r *Repo) Remove(ctx context.Context, path string, s RemoveSpec) (*Snapshot, error) {
	path, err := realPath(path)
	if err != nil {
		return nil, err
	}
	release, err := r.claim(path)
	if err != nil {
		return nil, err
	}
	defer release()
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
		return nil, hint("git worktree unlock -- "+shellWord(path), "%w: %s (reason of the lock: %q)", ErrLocked, path, e.reason)
	}
	if err := unmounted(path); err != nil {
		return nil, err
	}
	free, err := absentOrEmpty(path)
	if err != nil {
		return nil, err
	}
	if free {
		left, saved, err := r.revive(ctx, *e, s.Reason)
		if left == nil || err != nil {
			return saved, err
		}
	} else if r.unfinished(path) {
		return nil, r.deregister(ctx, path)
	} else if err := r.relink(ctx, path); err != nil {
		return nil, err
	}
	if !s.Force {
		users, err := processesIn(path)
		if err != nil {
			return nil, err
		}
		if len(users) > 0 {
			return nil, hint("end it (kill PID), or stop the node", "%w: %s: %s", ErrInUse, path, strings.Join(users, ", "))
		}
	}
	if s.Name == "" {
		if s.Name = e.branch; s.Name == "" {
			s.Name = filepath.Base(path)
		}
	}
	snap, err := r.Snapshot(ctx, path, SnapshotSpec{Name: s.Name, Reason: s.Reason, leaving: true})
	var ge *GitError
	if err != nil && errors.As(err, &ge) && ge.Code == 128 && !errors.Is(err, ErrUnsavable) {
		err = r.brokenError(ctx, path, err)
	}
	if err != nil {
		return nil, err
	}
	if err := r.readable(ctx, *e, snap); err != nil {
		return nil, err
	}
	return snap, r.deregister(ctx, path)
}

// readable verifies what holds the work of the tree once it is gone: the
// snapshot, or the commit it is on. A snapshot that cannot be read is none.
func (r *Repo) readable(ctx context.Context, e registration, snap *Snapshot) error {
	private, err := r.findPrivate(e.path)
	if err != nil {
		return err
	}
	owner, err := readOwner(private)
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
		_, derr := git(ctx, r.Root, "update-ref", "-d", snap.Ref, snap.Commit)
		err = errors.Join(err, derr)
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
		return hint("git worktree list", "%w: %s is no worktree of %s", ErrOccupied, path, r.Root)
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// Lost is ErrLost when the folder at path says that it is a worktree of the
// repository, which knows nothing of it.
func (r *Repo) Lost(path string) error {
	private, err := readGitFile(path)
	if err != nil || filepath.Dir(private) != filepath.Join(r.GitDir, "worktrees") {
		return nil
	}
	if _, err := os.Lstat(private); err == nil {
		return nil // moved, or copied
	}
	return hint("mv "+shellWord(path)+" "+shellWord(path+".found"),
		"%w: %s was a worktree of %s, which no longer knows it; its files are there, its commits on its branch", ErrLost, path, r.Root)
}
