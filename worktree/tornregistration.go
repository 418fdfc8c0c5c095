package worktree

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"cmux/worktree/git"
)

// initializing is git's own note in a worktree that it has begun to make.
const initializing = "initializing"

// dropHalfMade removes the registrations that a git left which was killed before
// it had written them whole: some of them keep every git from listing worktrees.
// There is no work in one. A registration that is younger than this process may
// be in the making. It reports whether there was one.
func (r *Repo) dropHalfMade(ctx context.Context) bool {
	unlock, err := r.lock(ctx) // no worktree of ours is in the making
	if err != nil {
		return false
	}
	defer unlock()
	base := filepath.Join(r.GitDir, "worktrees")
	entries, err := os.ReadDir(base)
	if err != nil {
		return false
	}
	dropped := false
	for _, e := range entries {
		private := filepath.Join(base, e.Name())
		if info, err := e.Info(); err != nil || !info.ModTime().Before(git.Started) || !halfMade(private) {
			continue
		}
		at, _ := os.ReadFile(filepath.Join(private, "gitdir"))
		if removeAll(private) != nil {
			continue
		}
		dropped = true
		git.Note(ctx, "removed %s, which a git that was killed had begun to make", private)
		if path, ok := strings.CutSuffix(git.Line(string(at)), "/.git"); ok && filepath.IsAbs(path) {
			if content, err := os.ReadDir(path); err == nil && (len(content) == 0 || len(content) == 1 && content[0].Name() == ".git" && content[0].Type().IsRegular()) {
				removeAll(path)
			}
		}
	}
	return dropped
}

// halfMade reports whether git was ended before the registration had all that
// makes it one.
func halfMade(private string) bool {
	reason, err := os.ReadFile(filepath.Join(private, "locked"))
	if err != nil || git.Line(string(reason)) != initializing {
		return false
	}
	if _, err := os.Lstat(filepath.Join(private, "index")); !errors.Is(err, fs.ErrNotExist) {
		return false
	}
	for _, name := range []string{"gitdir", "commondir", "HEAD"} {
		if info, err := os.Lstat(filepath.Join(private, name)); errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() == 0 {
			return true
		}
	}
	return false
}
