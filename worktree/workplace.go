package worktree

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
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
	private, err := privateDir(ctx, path)
	if err != nil {
		return nil, err
	}
	w := &Workplace{Operation: operation(private)}
	if lock := filepath.Join(private, "index.lock"); exists(lock) {
		w.Locked = lock
	}
	out, err := git(ctx, path, "--no-optional-locks", "status", "--porcelain=v2", "-z", "--branch", "--ignore-submodules=none", "--no-renames", "--untracked-files=all", "--ignored=no")
	if err != nil {
		return nil, err
	}
	lines := slices.DeleteFunc(fields(out), func(l string) bool {
		if head, ok := strings.CutPrefix(l, "# branch.oid "); ok && head != "(initial)" {
			w.Head = head
		} else if on, ok := strings.CutPrefix(l, "# branch.head "); ok && on != "(detached)" {
			w.Branch = on
		}
		return strings.HasPrefix(l, "# ")
	})
	entries, err := parseStatus(lines)
	if err != nil {
		return nil, err
	}
	p, err := readPrepared(private)
	if err != nil {
		return nil, err
	}
	own, _, err := p.own(ctx, path, entries)
	if err != nil {
		return nil, err
	}
	for _, e := range own {
		if e.kind == '?' {
			w.Untracked = append(w.Untracked, e.path)
		} else {
			w.Tracked = append(w.Tracked, e.path)
		}
	}
	subs, err := submodulesNamed(ctx, path)
	if err != nil {
		return nil, err
	}
	for _, s := range subs {
		w.Submodules = append(w.Submodules, s.path)
	}
	slices.Sort(w.Submodules)
	return w, nil
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return !errors.Is(err, os.ErrNotExist)
}

// Line lists at most so many commits of a history, newest first, and of merges what
// was merged into alone: what tip holds beyond since, or all of it where that is
// empty.
func (r *Repo) Line(ctx context.Context, since, tip string, most int) ([]Commit, error) {
	what := tip
	if since != "" {
		what = since + ".." + tip
	}
	return r.log(ctx, "--first-parent", "--max-count="+strconv.Itoa(most), what)
}

// Patch is what a commit changed, counted and as a patch, each of at most so many
// bytes; of a merge what it brought.
func (r *Repo) Patch(ctx context.Context, commit string, most int) (stat, patch string, err error) {
	show := func(how string) (string, error) {
		out, err := git(ctx, r.Root, "show", "--format=", "--no-ext-diff", "--no-textconv", "--no-color", "--diff-merges=first-parent", how, "--end-of-options", commit, "--")
		if len(out) > most {
			out = strings.ToValidUTF8(out[:most], "") + "\n[...]\n"
		}
		return out, err
	}
	if stat, err = show("--stat"); err == nil {
		patch, err = show("--patch")
	}
	return stat, patch, err
}
