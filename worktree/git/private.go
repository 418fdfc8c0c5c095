package git

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"cmux/worktree/gitfile"
)

// names of cmux's own files in a worktree's private git directory.
const (
	LendingFile  = "cmux-lending"  // an owner record whose checkout has not ended
	OwnerFile    = "cmux-owner"    // an owner record
	PreparedFile = "cmux-prepared" // see Prepare
	RemovingFile = "cmux-removing" // the snapshot is taken, the rest may go
)

// FindPrivate finds the private git directory registered for a path.
func (r *Repo) FindPrivate(path string) (string, error) {
	base := filepath.Join(r.GitDir, "worktrees")
	entries, err := os.ReadDir(base)
	if err != nil {
		return "", err
	}
	for _, e := range entries {
		private := filepath.Join(base, e.Name())
		b, err := os.ReadFile(filepath.Join(private, "gitdir"))
		if err == nil && strings.TrimSuffix(Line(string(b)), "/.git") == path {
			return private, nil
		}
	}
	return "", fmt.Errorf("no registration for the worktree %s in %s", path, base)
}

// PrivateDir is the private git directory of the worktree whose root is dir.
func PrivateDir(ctx context.Context, dir string) (string, error) {
	if private := pinnedAt(ctx, dir); private != "" {
		return private, nil
	}
	if private, err := gitfile.Private(dir); err == nil {
		return private, nil
	}
	if OwnGitDir(dir) {
		return filepath.EvalSymlinks(filepath.Join(dir, ".git"))
	}
	out, err := Run(ctx, dir, "rev-parse", "--path-format=absolute", "--git-dir")
	return Line(out), err
}

// PrivateOf returns the private git directory of a worktree of r.
func (r *Repo) PrivateOf(path string) string {
	if private, err := gitfile.Private(path); err == nil {
		return private
	}
	return r.GitDir
}
