package attempt

import (
	"context"
	"io"
	"io/fs"
	"path/filepath"
	"time"

	"cmux/agents/run"
)

// tree is what an attempt asks of its worktree.
type tree interface {
	// prepare copies, links and runs the setup steps, showing their output.
	prepare(ctx context.Context, out io.Writer) error
	// merge brings a branch in and returns the new tip.
	merge(ctx context.Context, d run.Dependency) (string, error)
	// changed are the paths that differ from a commit, committed or not.
	changed(ctx context.Context, since string) ([]string, error)
	// dirty are the paths with uncommitted changes, untracked ones included.
	dirty(ctx context.Context) ([]string, error)
	// fingerprint is equal for equal content of the working tree.
	fingerprint(ctx context.Context) (string, error)
	// commitAll commits everything uncommitted; empty: there was nothing.
	commitAll(ctx context.Context, message string) (string, error)
	tip(ctx context.Context) (string, error)
	commits(ctx context.Context, since string) (int, error)
	diffStat(ctx context.Context, since string) (string, error)
	// snapshot saves uncommitted work; empty: there was none.
	snapshot(ctx context.Context, reason string) (string, error)
}

// newest looks for a file below dir that changed after the given time and
// returns when; git's own files do not count. It stops at the first.
func newest(ctx context.Context, dir string, after time.Time) time.Time {
	var found time.Time
	filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return fs.SkipAll
		}
		if err != nil {
			return nil // it may be gone by now
		}
		if d.Name() == ".git" {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if info, err := d.Info(); err == nil && info.ModTime().After(after) {
			found = info.ModTime()
			return fs.SkipAll
		}
		return nil
	})
	return found
}
