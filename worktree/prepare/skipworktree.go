package prepare

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"cmux/worktree/git"
)

// hiddenPaths lists the tracked paths that git takes for unchanged without a
// look, because their index entry says assume-unchanged or skip-worktree. What a
// sparse checkout left out is not among them.
func hiddenPaths(ctx context.Context, treePath string) ([]string, error) {
	out, err := git.Run(ctx, treePath, "ls-files", "-v", "-z")
	if err != nil {
		return nil, err
	}
	var all, absent []string
	for _, l := range git.Fields(out) { // a letter, a blank, the path
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
	sparse, err := git.Run(ctx, treePath, "config", "--type=bool", "--get", "core.sparseCheckout")
	if err != nil && git.ExitCode(err) != 1 {
		return nil, err
	}
	if git.Line(sparse) != "true" {
		all = append(all, absent...)
	}
	return all, nil
}

// Reveal has git look again at what index entries hide from it, but for what was
// so when the worktree was prepared and is as it was. It returns those of which
// it cleared the mark.
func (r *Preparer) Reveal(ctx context.Context, treePath string) ([]string, error) {
	hidden, err := hiddenPaths(ctx, treePath)
	if err != nil || len(hidden) == 0 {
		return nil, err
	}
	p, err := RecordOf(ctx, treePath)
	if err != nil {
		return nil, err
	}
	hidden = slices.DeleteFunc(hidden, func(path string) bool { return p.untouched(treePath, path) })
	if len(hidden) == 0 {
		return nil, nil
	}
	// One mark a call is all that git takes.
	for _, mark := range []string{"--no-assume-unchanged", "--no-skip-worktree"} {
		c := git.Command{Dir: treePath, Args: []string{"update-index", mark, "-z", "--stdin"}, Stdin: []byte(strings.Join(hidden, "\x00") + "\x00")}
		if _, err := c.Run(ctx); err != nil {
			return nil, err
		}
	}
	return hidden, nil
}

// hiddenOf adds to what status shows what index entries hide from it, so that
// what setup hid is known.
func hiddenOf(ctx context.Context, treePath string, entries []git.StatusEntry) ([]git.StatusEntry, error) {
	hidden, err := hiddenPaths(ctx, treePath)
	for _, path := range hidden {
		if !slices.ContainsFunc(entries, func(e git.StatusEntry) bool { return e.Path == path }) {
			entries = append(entries, git.StatusEntry{Kind: '1', Index: '.', Tree: '.', Path: path})
		}
	}
	return entries, err
}
