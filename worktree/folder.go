package worktree

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"cmux/worktree/git"
)

// A Folder is a folder of a working tree in which several work at once: what
// changes there is told apart by what was there before.
type Folder struct {
	Dir    string // absolute
	Branch string // checked out; empty: none, or HEAD is detached
	Commit string // checked out; empty: none yet
}

// OpenFolder returns the folder dir. It returns nil if dir is in no repository.
func OpenFolder(ctx context.Context, dir string) (*Folder, error) {
	if _, err := Open(ctx, dir); errors.Is(err, ErrNotRepository) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	f := &Folder{Dir: dir}
	out, err := git.Run(ctx, dir, "symbolic-ref", "--quiet", "--short", "HEAD")
	if err != nil && git.ExitCode(err) != 1 {
		return nil, err
	}
	f.Branch = git.Line(out)
	out, err = git.Run(ctx, dir, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")
	if err != nil && git.ExitCode(err) != 1 {
		return nil, err
	}
	f.Commit = git.Line(out)
	return f, nil
}

// Prints returns a print of the content of each file below the folder that is
// not as in the commit since: changed, committed, deleted or untracked. Paths
// are relative to the folder. Ignored files are left out.
func (f *Folder) Prints(ctx context.Context, since string) (map[string]string, error) {
	prints := make(map[string]string)
	var paths []string
	if since != "" {
		out, err := git.Run(ctx, f.Dir, "diff", "--name-only", "--relative", "-z", "--no-renames", "--no-ext-diff", "--end-of-options", since, "--")
		if err != nil {
			return nil, err
		}
		paths = git.Fields(out)
	}
	out, err := git.Run(ctx, f.Dir, "ls-files", "--others", "--exclude-standard", "-z")
	if err != nil {
		return nil, err
	}
	for _, path := range append(paths, git.Fields(out)...) {
		if prints[path], err = printOf(filepath.Join(f.Dir, path)); err != nil {
			return nil, err
		}
	}
	return prints, nil
}

// Changed returns the paths, sorted, whose content is not as before: before is
// what Prints returned for the same commit.
func (f *Folder) Changed(ctx context.Context, since string, before map[string]string) ([]string, error) {
	now, err := f.Prints(ctx, since)
	if err != nil {
		return nil, err
	}
	var changed []string
	for path, is := range now {
		if was, there := before[path]; !there || was != is {
			changed = append(changed, path)
		}
	}
	for path := range before {
		if _, there := now[path]; !there {
			changed = append(changed, path)
		}
	}
	slices.Sort(changed)
	return changed, nil
}

// Since returns how many commits are checked out that the commit since does not
// hold, and what they change.
func (f *Folder) Since(ctx context.Context, since string) (commits int, stat git.DiffStat, err error) {
	out, err := git.Run(ctx, f.Dir, "rev-list", "--count", "--end-of-options", since+"..HEAD")
	if err != nil {
		return 0, stat, err
	}
	if commits, err = strconv.Atoi(git.Line(out)); err != nil {
		return 0, stat, err
	}
	stat, err = (&git.Repo{Root: f.Dir}).DiffStat(ctx, since, f.Commit)
	return commits, stat, err
}

// maxPrinted is the size up to which a file's content is compared, in bytes. Of a
// larger one Prints compares size and modification time.
const maxPrinted = 16 << 20

// printOf returns a print of what is at path, which may be nothing.
func printOf(path string) (string, error) {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "gone", nil
	}
	if err != nil {
		return "", err
	}
	h := sha256.New()
	fmt.Fprintf(h, "%v %d\n", info.Mode(), info.Size())
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		target, err := os.Readlink(path)
		if err != nil {
			return "", err
		}
		io.WriteString(h, target)
	case info.Mode().IsRegular() && info.Size() <= maxPrinted:
		file, err := os.Open(path)
		if err != nil {
			return "", err
		}
		_, err = io.Copy(h, file)
		if err = errors.Join(err, file.Close()); err != nil {
			return "", err
		}
	default:
		fmt.Fprintln(h, info.ModTime().UnixNano())
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
