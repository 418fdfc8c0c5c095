// Package gitfile reads the two files by which git leads from a working tree to
// its repository, without asking git: .git of a linked worktree or a submodule,
// and commondir of its private git directory. It imports nothing of cmux.
package gitfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// ErrNone says that a .git is there and is no git file: a folder, or something
// that is not git's.
var ErrNone = errors.New("no git file")

// Separate is the name of a git directory of its own that a worktree has for a while in
// its private one (see worktree/separate).
const Separate = "cmux-git"

// Fenced is the name of a file in the private git directory of a worktree that has had a
// git directory of its own. In the repositories inside, an agent's settings may hold since.
const Fenced = "cmux-fenced"

// Shared is the directory that the repository's worktrees share, as Common has it, also
// for a worktree that works in a separate git directory now.
func Shared(gitDir string) string {
	if private := filepath.Dir(gitDir); filepath.Base(gitDir) == Separate {
		if common := Common(private); common != private {
			return common
		}
	}
	return Common(gitDir)
}

// maxFile bounds what is read of one: a path, or a ref.
const maxFile = 1 << 16

// Read reads a file of at most so many bytes in a git directory or a working tree, where
// whoever works there can put something else: nobody is to wait for a named pipe, or to read
// a device that never ends. What is no regular file, or is larger, is an ErrNone.
func Read(name string, most int64) ([]byte, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > most {
		return nil, fmt.Errorf("%s is %w", name, ErrNone)
	}
	var w bytes.Buffer
	w.Grow(int(info.Size()) + bytes.MinRead)
	if _, err := w.ReadFrom(io.LimitReader(f, most+1)); err != nil {
		return nil, err
	}
	if int64(w.Len()) > most {
		return nil, fmt.Errorf("%s is %w", name, ErrNone)
	}
	return w.Bytes(), nil
}

// Private is the private git directory that the .git file in tree names.
func Private(tree string) (string, error) {
	name := filepath.Join(tree, ".git")
	b, err := Read(name, maxFile)
	if err != nil {
		return "", err
	}
	path, ok := strings.CutPrefix(strings.TrimRight(string(b), "\r\n"), "gitdir: ")
	if !ok || path == "" {
		return "", fmt.Errorf("%s is %w", name, ErrNone)
	}
	return from(tree, path), nil
}

// Common is the directory that the repository's worktrees share, objects, refs
// and configuration, as seen from one git directory of them: itself where it
// names no other.
func Common(gitDir string) string {
	b, err := Read(filepath.Join(gitDir, "commondir"), maxFile)
	if path := strings.TrimRight(string(b), "\r\n"); err == nil && path != "" {
		return from(gitDir, path)
	}
	return filepath.Clean(gitDir)
}

// Branch is the branch that is checked out in the worktree tree, or that no branch is;
// or other, where that cannot be read.
func Branch(tree, other string) string {
	dir, err := Private(tree)
	if err != nil {
		return other
	}
	b, err := Read(filepath.Join(dir, "HEAD"), maxFile)
	if err != nil {
		return other
	}
	if branch, on := strings.CutPrefix(strings.TrimSpace(string(b)), "ref: refs/heads/"); on {
		return branch
	}
	return "(no branch)"
}

// from is a path as it is meant in dir.
func from(dir, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, path)
}
