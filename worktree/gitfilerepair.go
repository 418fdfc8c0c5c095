package worktree

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"

	"cmux/worktree/git"
	"cmux/worktree/gitfile"
	"cmux/worktree/hint"
)

// relink gives a registered worktree its .git file back, where that is gone,
// empty or leads nowhere and cmux lent the tree. Its files are as they were, so
// they can be saved and continued. What leads to another repository is
// refused and named: it may be somebody's only copy.
func (r *Repo) relink(ctx context.Context, path string) error {
	private, err := r.FindPrivate(path)
	if err != nil {
		return err
	}
	link := filepath.Join(path, ".git")
	info, err := os.Lstat(link)
	switch {
	case errors.Is(err, syscall.ENOTDIR):
		return hint.Errorf("mv "+git.ShellWord(path)+" "+git.ShellWord(path+".found"), "%w: %s is no folder", ErrOccupied, path)
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	case info.IsDir():
		return hint.Errorf("mv "+git.ShellWord(link)+" "+git.ShellWord(path+".git"), "%w: %s is a repository of its own in place of the worktree's .git file", ErrUnsavable, link)
	case !info.Mode().IsRegular():
		return hint.Errorf("rm "+git.ShellWord(link), "%w: %s is no file", ErrOccupied, link)
	default:
		to, err := gitfile.Private(path)
		if err == nil && to == private {
			return nil
		}
		if err == nil {
			if _, serr := os.Stat(to); serr == nil {
				return hint.Errorf("git worktree list", "%w: %s belongs to another repository (%s)", ErrOccupied, path, to)
			}
		} else if info.Size() > maxGitFile {
			return hint.Errorf("mv "+git.ShellWord(link)+" "+git.ShellWord(path+".git"), "%w: %s is no git file", ErrOccupied, link)
		}
	}
	record, err := git.ReadOwner(private)
	if err != nil {
		return err
	}
	if record.Owner == "" {
		return hint.Errorf("git worktree repair -- "+git.ShellWord(path)+", or git worktree prune", "%w: %s has lost its .git file", ErrOccupied, path)
	}
	if err := git.WriteFile(link, []byte("gitdir: "+private+"\n")); err != nil {
		return err
	}
	git.Note(ctx, "gave %s its .git file back, which was gone", path)
	return nil
}

// maxGitFile is more than any git file holds.
const maxGitFile = 16 << 10

// Mend puts the .git file of the worktree back where it is gone or another, and
// with it what says which repository it is of, and reports whether it had to. It fails where the worktree itself is gone.
func (r *Repo) Mend(t *Tree) (mended bool, err error) {
	mended, err = r.mendCommon(t)
	if err != nil {
		return false, err
	}
	name := filepath.Join(t.Path, ".git")
	private, err := gitfile.Private(t.Path)
	if err == nil && filepath.Clean(private) == filepath.Clean(t.GitDir) {
		return mended, nil
	}
	if errors.Is(err, unix.EMFILE) || errors.Is(err, unix.ENFILE) {
		return false, err // which says nothing about the file
	}
	if info, err := os.Lstat(t.Path); err != nil || !info.IsDir() {
		return false, hint.Errorf("cmux agents retry NAME", "%w: the worktree %s is gone", ErrUnsavable, t.Path)
	}
	if _, err := os.Lstat(filepath.Join(t.GitDir, "HEAD")); err != nil {
		return false, err
	}
	if info, err := os.Lstat(name); err == nil && !info.Mode().IsRegular() {
		return false, hint.Errorf("move it away", "%w: %s is no file of git's", ErrUnsavable, name)
	}
	return true, git.WriteFile(name, []byte("gitdir: "+t.GitDir+"\n"))
}

// mendCommon has the worktree's own part of the repository belong to this
// repository again.
func (r *Repo) mendCommon(t *Tree) (mended bool, err error) {
	name := filepath.Join(t.GitDir, "commondir")
	if t.GitDir == r.GitDir { // one of its own, which leads to no other
		err := os.Remove(name)
		if errors.Is(err, fs.ErrNotExist) {
			return false, nil
		}
		return true, err
	}
	if b, err := os.ReadFile(name); err == nil {
		common := git.Line(string(b))
		if !filepath.IsAbs(common) {
			common = filepath.Join(t.GitDir, common)
		}
		is, err := os.Stat(common)
		ours, err2 := os.Stat(r.GitDir)
		if err == nil && err2 == nil && os.SameFile(is, ours) {
			return false, nil
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	if _, err := os.Lstat(filepath.Join(t.GitDir, "HEAD")); err != nil {
		return false, err
	}
	return true, git.WriteFile(name, []byte(r.GitDir+"\n"))
}
