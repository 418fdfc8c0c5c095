package worktree

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"cmux/worktree/git"
	"cmux/worktree/merge"
	"cmux/worktree/prepare"
	"cmux/worktree/submodule"
)

// Workplace is what a worktree shows to who wants to check something else out in
// it. What cmux put there and nobody has changed since is not in it.
type Workplace struct {
	Head       string
	Branch     string   // short; empty: detached
	Operation  string   // merge, rebase, ... in progress
	Tracked    []string // paths that differ from the commit
	Untracked  []string
	Submodules []string
	Locked     string // git's lock of the index; empty: there is none
}

// Left are all uncommitted paths, sorted.
func (w *Workplace) Left() []string {
	all := append(slices.Clone(w.Tracked), w.Untracked...)
	slices.Sort(all)
	return all
}

// Workplace looks at the worktree at path, of which it is the root, and changes
// nothing.
func (r *Repo) Workplace(ctx context.Context, path string) (*Workplace, error) {
	private, err := git.PrivateDir(ctx, path)
	if err != nil {
		return nil, err
	}
	w := &Workplace{Operation: git.Operation(private)}
	if lock := filepath.Join(private, "index.lock"); git.There(lock) {
		w.Locked = lock
	}
	out, err := git.Run(ctx, path, "--no-optional-locks", "status", "--porcelain=v2", "-z", "--branch", "--ignore-submodules=none", "--no-renames", "--untracked-files=all", "--ignored=no")
	if err != nil {
		return nil, err
	}
	lines := slices.DeleteFunc(git.Fields(out), func(l string) bool {
		if head, ok := strings.CutPrefix(l, "# branch.oid "); ok && head != "(initial)" {
			w.Head = head
		} else if on, ok := strings.CutPrefix(l, "# branch.head "); ok && on != "(detached)" {
			w.Branch = on
		}
		return strings.HasPrefix(l, "# ")
	})
	entries, err := git.ParseStatus(lines)
	if err != nil {
		return nil, err
	}
	p, err := prepare.ReadRecord(private)
	if err != nil {
		return nil, err
	}
	own, _, err := p.Own(ctx, path, entries)
	if err != nil {
		return nil, err
	}
	for _, e := range own {
		if e.Kind == '?' {
			w.Untracked = append(w.Untracked, e.Path)
		} else {
			w.Tracked = append(w.Tracked, e.Path)
		}
	}
	subs, err := submodule.Named(ctx, path)
	if err != nil {
		return nil, err
	}
	for _, s := range subs {
		w.Submodules = append(w.Submodules, s.Path)
	}
	slices.Sort(w.Submodules)
	return w, nil
}

// Edited lists those of the files, sorted, that the worktree holds uncommitted
// and that were written since a moment. Git is only asked about files whose time
// says so. A file that is gone is none of them.
func (r *Repo) Edited(ctx context.Context, tree string, files []string, since time.Time) ([]string, error) {
	args := []string{"status", "--porcelain=v2", "-z", "--no-renames", "--ignore-submodules=none", "--untracked-files=all", "--"}
	asked := len(args)
	for _, f := range files[:min(len(files), maxSuspected)] {
		info, err := os.Lstat(filepath.Join(tree, f))
		if err == nil && !info.IsDir() && !info.ModTime().Before(since) {
			args = append(args, f)
		}
	}
	if len(args) == asked {
		return nil, nil
	}
	out, err := git.Command{Dir: tree, Args: args, Env: []string{"GIT_LITERAL_PATHSPECS=1"}}.Run(ctx)
	if err != nil {
		return nil, err
	}
	entries, err := git.ParseStatus(git.Fields(out))
	if err != nil {
		return nil, err
	}
	p, err := prepare.RecordOf(ctx, tree)
	if err != nil {
		return nil, err
	}
	own, _, err := p.Own(ctx, tree, entries)
	if err != nil {
		return nil, err
	}
	var edited []string
	for _, e := range own {
		edited = append(edited, e.Path)
	}
	slices.Sort(edited)
	return merge.Both(edited, files), nil
}

// maxSuspected bounds how many files Edited asks a worktree about.
const maxSuspected = 1000
