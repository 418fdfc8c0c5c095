package worktree

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// hiddenPaths lists the tracked paths that git takes for unchanged without a
// look, because their index entry says assume-unchanged or skip-worktree. What a
// sparse checkout left out is not among them.
func hiddenPaths(ctx context.Context, treePath string) ([]string, error) {
	out, err := git(ctx, treePath, "ls-files", "-v", "-z")
	if err != nil {
		return nil, err
	}
	var all, absent []string
	for _, l := range fields(out) { // a letter, a blank, the path
		if len(l) < 3 || l[0] != 'S' && (l[0] < 'a' || l[0] > 'z') {
			continue
		}
		_, err := os.Lstat(filepath.Join(treePath, l[2:]))
		if err != nil && (l[0] == 'S' || l[0] == 's') {
			absent = append(absent, l[2:])
			continue
		}
		all = append(all, l[2:])
	}
	if len(absent) == 0 {
		return all, nil
	}
	sparse, err := git(ctx, treePath, "config", "--type=bool", "--get", "core.sparseCheckout")
	if err != nil && exitCode(err) != 1 {
		return nil, err
	}
	if line(sparse) != "true" {
		all = append(all, absent...)
	}
	return all, nil
}

// Reveal has git look again at what index entries hide from it, but for what was
// so when the worktree was prepared and is as it was. It returns those of which
// it cleared the mark.
func (r *Repo) Reveal(ctx context.Context, treePath string) ([]string, error) {
	hidden, err := hiddenPaths(ctx, treePath)
	if err != nil || len(hidden) == 0 {
		return nil, err
	}
	p, err := preparedIn(ctx, treePath)
	if err != nil {
		return nil, err
	}
	hidden = slices.DeleteFunc(hidden, func(path string) bool { return p.untouched(treePath, path) })
	if len(hidden) == 0 {
		return nil, nil
	}
	// One mark a call is all that git takes.
	for _, mark := range []string{"--no-assume-unchanged", "--no-skip-worktree"} {
		c := command{dir: treePath, args: []string{"update-index", mark, "-z", "--stdin"}, stdin: []byte(strings.Join(hidden, "\x00") + "\x00")}
		if _, err := c.run(ctx); err != nil {
			return nil, err
		}
	}
	return hidden, nil
}

// hiddenOf adds to what status shows what index entries hide from it, so that
// what setup hid is known.
func hiddenOf(ctx context.Context, treePath string, entries []statusEntry) ([]statusEntry, error) {
	hidden, err := hiddenPaths(ctx, treePath)
	for _, path := range hidden {
		if !slices.ContainsFunc(entries, func(e statusEntry) bool { return e.path == path }) {
			entries = append(entries, statusEntry{kind: '1', index: '.', tree: '.', path: path})
		}
	}
	return entries, err
}
