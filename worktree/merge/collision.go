package merge

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"cmux/worktree/git"
)

// Clash is what two branches did to the same files since their histories parted.
type Clash struct {
	Files     []string // that both changed, sorted
	Conflicts []string // in which their merge would conflict; empty: it would not
	LeftOut   []LeftOut
}

// Known is what is known of a commit: the files in which it differs from another.
type Known struct {
	Commit string
	From   string
	Files  []string // sorted
}

// Clash compares two commits. Where one holds the other there is none. Whether
// their merge would conflict is found out where merge says so. Nothing is left
// behind in the repository.
func (r Merger) Clash(ctx context.Context, a, b Known, merge bool) (Clash, error) {
	base, err := r.repo.Common(ctx, a.Commit, b.Commit)
	if err != nil || base == "" || base == a.Commit || base == b.Commit {
		return Clash{}, err
	}
	for _, k := range []*Known{&a, &b} {
		if k.From == base {
			continue
		}
		if k.Files, err = r.repo.Touched(ctx, base, k.Commit); err != nil {
			return Clash{}, err
		}
	}
	c := Clash{Files: Both(a.Files, b.Files)}
	if len(c.Files) == 0 || !merge {
		return c, nil
	}
	// What a merge writes is nobody's: it goes where it is removed again.
	tmp, err := git.TempDir(r.repo.Root, "cmux-clash-", false)
	if err != nil {
		return Clash{}, err
	}
	defer os.RemoveAll(tmp)
	_, c.Conflicts, c.LeftOut, err = mergeTree(ctx, git.Command{Dir: r.repo.Root, Env: []string{
		"GIT_OBJECT_DIRECTORY=" + tmp, "GIT_ALTERNATE_OBJECT_DIRECTORIES=" + quotedList(filepath.Join(r.repo.GitDir, "objects")),
	}}, a.Commit, b.Commit)
	return c, err
}

// Drops says what a merge of the two loses without a conflict; empty: nothing.
func (c *Clash) Drops() string {
	var all []string
	for _, l := range c.LeftOut {
		all = append(all, l.String())
	}
	return git.Shown(all)
}

// quotedList is a path as git takes it in a list of paths.
func quotedList(path string) string {
	if !strings.ContainsAny(path, `:"\`) {
		return path
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(path) + `"`
}

// Both lists what is in two sorted lists.
func Both(a, b []string) (both []string) {
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch c := strings.Compare(a[i], b[j]); {
		case c < 0:
			i++
		case c > 0:
			j++
		default:
			both = append(both, a[i])
			i, j = i+1, j+1
		}
	}
	return both
}
