package control

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"cmux/signals"
	"cmux/worktree"
)

// branchCheck is how often the configuration is asked for the integration branch.
const branchCheck = time.Minute

// Merges calls moved whenever the integration branch may have moved, until ctx ends. It
// is an aid to speed, which may call it too often.
func (p *Project) Merges(ctx context.Context, moved func()) error {
	repo, err := worktree.Open(ctx, p.Root)
	if err != nil {
		return err
	}
	for ctx.Err() == nil {
		org, err := p.Org()
		if err != nil {
			select { // its configuration is being written, or mended
			case <-ctx.Done():
			case <-time.After(branchCheck):
			}
			continue
		}
		p.mergesInto(ctx, repo.GitDir, org.Settings.Integration, moved)
	}
	return nil
}

// mergesInto is Merges for one branch. It returns when what is to be watched may be
// something else.
func (p *Project) mergesInto(ctx context.Context, gitDir, branch string, moved func()) {
	ref := filepath.Join(gitDir, "refs", "heads", filepath.FromSlash(branch))
	dirs := refDirs(gitDir, ref)
	w := signals.Watch(ctx, dirs...)
	defer w.Close()
	again := time.NewTicker(branchCheck)
	defer again.Stop()
	for {
		select {
		case n, ok := <-w.C:
			if !ok {
				return
			}
			if n.Rescan || slices.ContainsFunc(n.Files, func(file string) bool { return refChanged(gitDir, ref, file) }) {
				moved()
			}
			if len(n.Dirs) > 0 || !slices.Equal(refDirs(gitDir, ref), dirs) {
				return
			}
		case <-again.C:
			if org, err := p.Org(); err != nil || org.Settings.Integration != branch {
				return
			}
		}
	}
}

// refDirs are the folders in which git writes when a branch moves: of its file, or the
// nearest that is there when it is packed away; that of the packed ones; and that of a
// repository which keeps its references in tables.
func refDirs(gitDir, ref string) []string {
	dir := filepath.Dir(ref)
	for dir != gitDir && len(dir) > len(gitDir) {
		if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
			break
		}
		dir = filepath.Dir(dir)
	}
	dirs := []string{dir, gitDir}
	if tables := filepath.Join(gitDir, "reftable"); isDir(tables) {
		dirs = append(dirs, tables)
	}
	return slices.Compact(dirs)
}

// refChanged reports whether a branch may be another where a file changed.
func refChanged(gitDir, ref, file string) bool {
	return file == ref || strings.HasPrefix(ref, file+"/") || file == filepath.Join(gitDir, "packed-refs") || filepath.Dir(file) == filepath.Join(gitDir, "reftable")
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
