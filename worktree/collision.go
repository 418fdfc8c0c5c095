package worktree

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Clash is what two branches did to the same files since their histories parted.
type Clash struct {
	Files     []string // that both changed, sorted
	Conflicts []string // in which their merge would conflict; empty: it would not
	LeftOut   []LeftOut
}

// Touched lists, sorted, the files in which two commits differ; of a rename both
// names.
func (r *Repo) Touched(ctx context.Context, from, to string) ([]string, error) {
	out, err := git(ctx, r.Root, "diff-tree", "-r", "-z", "--no-renames", "--name-only", "--end-of-options", from, to)
	if err != nil {
		return nil, err
	}
	all := fields(out)
	slices.Sort(all)
	return all, nil
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
func (r *Repo) Clash(ctx context.Context, a, b Known, merge bool) (Clash, error) {
	base, err := r.Common(ctx, a.Commit, b.Commit)
	if err != nil || base == "" || base == a.Commit || base == b.Commit {
		return Clash{}, err
	}
	for _, k := range []*Known{&a, &b} {
		if k.From == base {
			continue
		}
		if k.Files, err = r.Touched(ctx, base, k.Commit); err != nil {
			return Clash{}, err
		}
	}
	c := Clash{Files: Both(a.Files, b.Files)}
	if len(c.Files) == 0 || !merge {
		return c, nil
	}
	// What a merge writes is nobody's: it goes where it is removed again.
	tmp, err := os.MkdirTemp("", "cmux-clash-")
	if err != nil {
		return Clash{}, err
	}
	defer os.RemoveAll(tmp)
	_, c.Conflicts, c.LeftOut, err = mergeTree(ctx, command{dir: r.Root, env: []string{
		"GIT_OBJECT_DIRECTORY=" + tmp, "GIT_ALTERNATE_OBJECT_DIRECTORIES=" + quotedList(filepath.Join(r.GitDir, "objects")),
	}}, a.Commit, b.Commit)
	return c, err
}

// Drops says what a merge of the two loses without a conflict; empty: nothing.
func (c *Clash) Drops() string {
	var all []string
	for _, l := range c.LeftOut {
		all = append(all, l.String())
	}
	return shown(all)
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

// maxSuspected bounds how many files Edited asks a worktree about.
const maxSuspected = 1000

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
	out, err := command{dir: tree, args: args, env: []string{"GIT_LITERAL_PATHSPECS=1"}}.run(ctx)
	if err != nil {
		return nil, err
	}
	entries, err := parseStatus(fields(out))
	if err != nil {
		return nil, err
	}
	p, err := preparedIn(ctx, tree)
	if err != nil {
		return nil, err
	}
	own, _, err := p.own(ctx, tree, entries)
	if err != nil {
		return nil, err
	}
	var edited []string
	for _, e := range own {
		edited = append(edited, e.path)
	}
	slices.Sort(edited)
	return Both(edited, files), nil
}

var isID = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^([0-9a-f]{40}|[0-9a-f]{64})\n$`) })

// TipNow is Tip, without a process where the branch has a file of its own.
func (r *Repo) TipNow(ctx context.Context, branch string) (string, error) {
	f, err := os.OpenFile(filepath.Join(r.GitDir, "refs", "heads", branch), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return r.Tip(ctx, branch)
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return r.Tip(ctx, branch)
	}
	b, err := io.ReadAll(io.LimitReader(f, 100))
	if err != nil && !errors.Is(err, io.EOF) || !isID().Match(b) {
		return r.Tip(ctx, branch)
	}
	return line(string(b)), nil
}
