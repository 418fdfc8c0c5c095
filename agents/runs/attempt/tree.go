package attempt

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
	"strings"
	"time"

	"cmux/worktree"
	"cmux/worktree/gitfile"
)

// setupTimeout bounds each setup step.
const setupTimeout = 30 * time.Minute

// tree is the worktree that the runner lent to the node.
type tree struct {
	repo *worktree.Repo
	lent *worktree.Tree
	name string // of the node, for snapshots
	from string // commit at which the worktree began
}

// openTree takes up the attempt's worktree. The registry of worktrees, which
// grows with the graph, is not asked: the runner has just lent it.
func openTree(ctx context.Context, j *Job) (*tree, error) {
	repo := j.Repo
	if repo == nil {
		var err error
		if repo, err = worktree.Open(ctx, j.Spec.Frame.Root); err != nil {
			return nil, err
		}
	}
	p := j.Spec.Place
	private, err := gitfile.Private(p.Tree)
	if err != nil {
		return nil, fmt.Errorf("worktree %s: %w", p.Tree, err)
	}
	lent := &worktree.Tree{Path: p.Tree, Branch: p.Branch, GitDir: private}
	return &tree{repo: repo, lent: lent, name: j.Spec.Def.Name, from: p.Commit}, nil
}

// branch is what is checked out; empty when HEAD is detached.
func (t *tree) branch() (string, error) {
	b, err := os.ReadFile(filepath.Join(t.lent.GitDir, "HEAD"))
	if err != nil {
		return "", err
	}
	name, _ := strings.CutPrefix(strings.TrimSuffix(string(b), "\n"), "ref: refs/heads/")
	if name == strings.TrimSuffix(string(b), "\n") {
		return "", nil
	}
	return name, nil
}

// commits counts the commits since from.
func (t *tree) commits(ctx context.Context, from string) (int, error) {
	if from == "" {
		return 0, nil
	}
	all, err := t.repo.Commits(ctx, from, "refs/heads/"+t.lent.Branch)
	return len(all), err
}

// diffStat is the work since from in a line, such as "3 files, +10 -2".
func (t *tree) diffStat(ctx context.Context, from, to string) (string, error) {
	d, err := t.repo.DiffStat(ctx, from, to)
	if err != nil {
		return "", err
	}
	return statLine(d), nil
}

// statLine is a DiffStat in a line.
func statLine(d worktree.DiffStat) string {
	files := "files"
	if d.Files == 1 {
		files = "file"
	}
	return fmt.Sprintf("%d %s, +%d -%d", d.Files, files, d.Added, d.Deleted)
}

// snapshot saves uncommitted work and returns its id; empty: there was none.
func (t *tree) snapshot(ctx context.Context, reason string) (string, error) {
	name := t.lent.Branch
	if name == "" {
		name = t.name
	}
	s, err := t.repo.Snapshot(ctx, t.lent.Path, worktree.SnapshotSpec{Name: name, Reason: reason})
	if err != nil || s == nil {
		return "", err
	}
	return s.ID, nil
}

// maxHashed is the size up to which a changed file's content is compared; of a
// larger one size and modification time are.
const maxHashed = 16 << 20

// fingerprint is equal for equal content of the working tree, whatever of it is
// committed. Ignored files do not count.
func (t *tree) fingerprint(ctx context.Context) (string, error) {
	if t.from == "" {
		return "", nil
	}
	changed, err := t.repo.ChangedFiles(ctx, t.lent.Path, t.from)
	if err != nil {
		return "", err
	}
	h := sha256.New()
	for _, name := range changed {
		path := filepath.Join(t.lent.Path, name)
		info, err := os.Lstat(path)
		if errors.Is(err, fs.ErrNotExist) {
			fmt.Fprintf(h, "%q gone\n", name)
			continue
		}
		if err != nil {
			return "", err
		}
		fmt.Fprintf(h, "%q %v %d\n", name, info.Mode(), info.Size())
		switch {
		case info.Mode()&fs.ModeSymlink != 0:
			target, err := os.Readlink(path)
			if err != nil {
				return "", err
			}
			fmt.Fprintf(h, "%q\n", target)
		case info.Mode().IsRegular() && info.Size() <= maxHashed:
			f, err := os.Open(path)
			if err != nil {
				return "", err
			}
			_, err = io.Copy(h, f)
			if err = errors.Join(err, f.Close()); err != nil {
				return "", err
			}
		default:
			fmt.Fprintln(h, info.ModTime().UnixNano())
		}
	}
	return hex.EncodeToString(h.Sum(nil)), nil
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
