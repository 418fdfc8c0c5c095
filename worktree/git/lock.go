package git

import (
	"cmux/worktree/hint"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// abandonedAfter is the pause after which cmux examines a lock in the way. A git at work
// releases most locks sooner.
const abandonedAfter = 40 * time.Millisecond

// Started is when this process began, or a moment later.
var Started = time.Now()

type notesKey struct{}

// WithNotes returns a context in which what was done beside what was asked for
// is told to note, one line each, in the goroutine of the call.
func WithNotes(ctx context.Context, note func(string)) context.Context {
	return context.WithValue(ctx, notesKey{}, note)
}

// Note tells whoever gave ctx its notes; nobody where nobody did.
func Note(ctx context.Context, format string, a ...any) {
	if note, ok := ctx.Value(notesKey{}).(func(string)); ok {
		note(fmt.Sprintf(format, a...))
	}
}

// lockPath is the lock file that git complains of; empty when it cannot be told.
func lockPath(stderr, dir string) string {
	name := ""
	if _, rest, ok := strings.Cut(stderr, "Unable to create '"); ok {
		name, _, _ = strings.Cut(rest, "': File exists")
	} else if _, rest, ok := strings.Cut(stderr, "could not lock config file "); ok {
		if name, _, ok = strings.Cut(rest, ": File exists"); ok {
			name += ".lock"
		}
	}
	if !strings.HasSuffix(name, ".lock") || strings.Contains(name, "\n") {
		return ""
	}
	if !filepath.IsAbs(name) {
		name = filepath.Join(dir, name)
	}
	return name
}

// breakLock removes a lock that a killed git left: no living process has it
// open, and no git that could hold it is at work. In the private folder of a
// worktree that was lent it must be older than the call; elsewhere, where a git
// that cannot be seen from here may be at work, older than this process; the
// lock on the main worktree's index is its person's. It reports who may hold it
// otherwise.
func breakLock(ctx context.Context, lock string, began time.Time) (removed bool, held []string) {
	info, err := os.Lstat(lock)
	if lock == "" || err != nil {
		return err != nil, nil // gone by now
	}
	private := filepath.Dir(lock)
	_, ownErr := os.Lstat(filepath.Join(private, OwnerFile))
	_, lendErr := os.Lstat(filepath.Join(private, LendingFile))
	var trees []string // where a git that holds it would work
	if ownErr == nil || lendErr == nil {
		b, err := os.ReadFile(filepath.Join(private, "gitdir"))
		if err != nil {
			return false, nil
		}
		trees = []string{strings.TrimSuffix(Line(string(b)), "/.git")}
	} else {
		began = Started
		common := gitDirOf(lock)
		if trees = workingTrees(common); common == "" || filepath.Base(lock) == "index.lock" || filepath.Base(lock) == "HEAD.lock" {
			return false, nil
		}
	}
	if held, err = lockHolders(lock, trees); err != nil || len(held) > 0 || !info.ModTime().Before(began) {
		return false, held
	}
	// The same file as was looked at.
	if again, err := os.Lstat(lock); err != nil || !os.SameFile(info, again) || !again.ModTime().Equal(info.ModTime()) {
		return err != nil, nil
	}
	if err := os.Remove(lock); err != nil && !errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	Note(ctx, "removed %s, which a git that was killed left %s ago", lock, time.Since(info.ModTime()).Round(time.Second))
	return true, nil
}

// gitDirOf is the git directory that a file lies in.
func gitDirOf(name string) string {
	for dir := filepath.Dir(name); dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if _, err := os.Lstat(filepath.Join(dir, "objects")); err == nil {
			if _, err := os.Lstat(filepath.Join(dir, "HEAD")); err == nil {
				return dir
			}
		}
	}
	return ""
}

// workingTrees are the folders in which gits of a repository work.
func workingTrees(gitDir string) []string {
	trees := []string{gitDir, filepath.Dir(gitDir)}
	links, _ := filepath.Glob(filepath.Join(EscapeGlob(gitDir), "worktrees", "*", "gitdir"))
	for _, name := range links {
		if b, err := os.ReadFile(name); err == nil {
			trees = append(trees, strings.TrimSuffix(Line(string(b)), "/.git"))
		}
	}
	return trees
}

func explainLock(err error, lock string, held []string) error {
	if lock == "" {
		return err
	}
	if len(held) > 0 {
		return hint.New(fmt.Errorf("%s is held by %s: %w", lock, strings.Join(held, ", "), err), "again, when that has ended")
	}
	return hint.New(fmt.Errorf("%s is in the way and nobody is seen to hold it: %w", lock, err),
		"rm "+ShellWord(lock)+", if no git is at work there")
}
