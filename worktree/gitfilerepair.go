package worktree

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"cmux/worktree/gitfile"
)

// relink gives a registered worktree its .git file back, where that is gone,
// empty or leads nowhere and cmux lent the tree. Its files are as they were, so
// they can be saved and gone on with. What leads to another repository is
// refused and named: it may be somebody's only copy.
func (r *Repo) relink(ctx context.Context, path string) error {
	private, err := r.findPrivate(path)
	if err != nil {
		return err
	}
	link := filepath.Join(path, ".git")
	info, err := os.Lstat(link)
	switch {
	case errors.Is(err, syscall.ENOTDIR):
		return hint("mv "+shellWord(path)+" "+shellWord(path+".found"), "%w: %s is no folder", ErrOccupied, path)
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	case info.IsDir():
		return hint("mv "+shellWord(link)+" "+shellWord(path+".git"), "%w: %s is a repository of its own in place of the worktree's .git file", ErrUnsavable, link)
	case !info.Mode().IsRegular():
		return hint("rm "+shellWord(link), "%w: %s is no file", ErrOccupied, link)
	default:
		to, err := gitfile.Private(path)
		if err == nil && to == private {
			return nil
		}
		if err == nil {
			if _, serr := os.Stat(to); serr == nil {
				return hint("git worktree list", "%w: %s belongs to another repository (%s)", ErrOccupied, path, to)
			}
		} else if info.Size() > maxGitFile {
			return hint("mv "+shellWord(link)+" "+shellWord(path+".git"), "%w: %s is no git file", ErrOccupied, link)
		}
	}
	record, err := readOwner(private)
	if err != nil {
		return err
	}
	if record.Owner == "" {
		return hint("git worktree repair -- "+shellWord(path)+", or git worktree prune", "%w: %s has lost its .git file", ErrOccupied, path)
	}
	if err := writeFile(link, []byte("gitdir: "+private+"\n")); err != nil {
		return err
	}
	Note(ctx, "gave %s its .git file back, which was gone", path)
	return nil
}

// maxGitFile is more than any git file holds.
const maxGitFile = 16 << 10
