package prepare

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"cmux/worktree/git"
)

// convertingAttributes are the attributes that make a file's bytes differ from
// its blob's.
var convertingAttributes = []string{"text", "eol", "crlf", "filter", "ident", "working-tree-encoding"}

// converted lists those of the paths whose bytes git may fail to take back as
// the blob that it made them from. git guards text=auto against that itself.
func converted(ctx context.Context, treePath string, paths []string) ([]string, error) {
	if len(paths) == 0 {
		return nil, nil
	}
	out, err := git.Command{Dir: treePath, Stdin: []byte(strings.Join(paths, "\x00") + "\x00"),
		Args: append([]string{"check-attr", "-z", "--stdin"}, convertingAttributes...)}.Run(ctx)
	if err != nil {
		return nil, err
	}
	var all []string
	f := git.Fields(out) // PATH, ATTRIBUTE, VALUE
	for i := 0; i+2 < len(f); i += 3 {
		switch f[i+2] {
		case "unspecified", "unset", "auto":
			continue
		}
		if !slices.Contains(all[max(0, len(all)-1):], f[i]) {
			all = append(all, f[i])
		}
	}
	return all, nil
}

// asCheckedOut finds those of the paths whose file is, byte for byte, what a
// checkout of the commit writes. Where line endings, filters or keywords do not
// lead back to the blob, git shows such a file as modified though nobody wrote
// to it. A path that git cannot write is not among them.
func asCheckedOut(ctx context.Context, treePath, commit string, paths []string) (map[string]bool, error) {
	paths = slices.DeleteFunc(slices.Clone(paths), func(path string) bool {
		info, err := os.Lstat(filepath.Join(treePath, path))
		return err != nil || !info.Mode().IsRegular()
	})
	paths, err := converted(ctx, treePath, paths)
	if err != nil || len(paths) == 0 {
		return nil, err
	}
	tmp, err := git.TempDir(treePath, "cmux-checkout-", true)
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(tmp)
	env := []string{"GIT_INDEX_FILE=" + filepath.Join(tmp, "index")}
	if _, err := (git.Command{Dir: treePath, Env: env, Args: []string{"read-tree", commit}}).Run(ctx); err != nil {
		return nil, err
	}
	out := filepath.Join(tmp, "files") + string(filepath.Separator)
	_, err = git.Command{Dir: treePath, Env: env, Stdin: []byte(strings.Join(paths, "\x00") + "\x00"),
		Args: []string{"checkout-index", "--quiet", "--ignore-skip-worktree-bits", "--prefix=" + out, "-z", "--stdin"}}.Run(ctx)
	if err != nil && git.ExitCode(err) <= 0 {
		return nil, err
	}
	same := map[string]bool{}
	for _, path := range paths {
		equal, err := sameFile(filepath.Join(treePath, path), out+path)
		if err != nil {
			return nil, err
		}
		if equal {
			same[path] = true
		}
	}
	return same, nil
}

// differing lists those of the tracked paths in which the worktree differs from
// the commit.
func differing(ctx context.Context, treePath, commit string, paths []string) ([]string, error) {
	if len(paths) == 0 {
		return nil, nil
	}
	out, err := git.Run(ctx, treePath, append([]string{"--literal-pathspecs", "diff", "--name-only", "-z", "--no-renames", "--no-ext-diff",
		"--ignore-submodules=none", "--end-of-options", commit, "--"}, paths...)...)
	return git.Fields(out), err
}

// sameFile reports whether two regular files have the same bytes and are both
// executable, or both not. A file that is missing is the same as none.
func sameFile(a, b string) (bool, error) {
	var content [2][]byte
	var run [2]bool
	for i, name := range []string{a, b} {
		info, err := os.Lstat(name)
		if err != nil || !info.Mode().IsRegular() {
			return false, ignoreAbsent(err)
		}
		if content[i], err = os.ReadFile(name); err != nil {
			return false, ignoreAbsent(err)
		}
		run[i] = info.Mode().Perm()&0o100 != 0
	}
	return run[0] == run[1] && bytes.Equal(content[0], content[1]), nil
}

func ignoreAbsent(err error) error {
	if os.IsNotExist(err) || os.IsPermission(err) {
		return nil
	}
	return err
}

// Unwritten splits the entries of status: those that somebody has written, and
// those whose file is as the checkout of HEAD made it.
func Unwritten(ctx context.Context, treePath string, entries []git.StatusEntry) (written, rest []git.StatusEntry, err error) {
	var paths []string
	for _, e := range entries {
		if e.Kind == '1' && (e.Index == '.' || e.Index == 'M') && e.Tree != 'D' {
			paths = append(paths, e.Path)
		}
	}
	same, err := asCheckedOut(ctx, treePath, "HEAD", paths)
	if err != nil || len(same) == 0 {
		return entries, nil, err
	}
	for _, e := range entries {
		if same[e.Path] && e.Kind == '1' {
			rest = append(rest, e)
		} else {
			written = append(written, e)
		}
	}
	return written, rest, nil
}

// Baseline records what git shows as modified in a worktree right after its
// checkout, such as one of two files that a file system takes for one.
func Baseline(ctx context.Context, path, private string) error {
	entries, err := git.Status(ctx, path, "--untracked-files=no", "--ignored=no")
	if err != nil || len(entries) == 0 {
		return err
	}
	p, err := ReadRecord(private)
	if err != nil {
		return err
	}
	budget := int64(maxHashes)
	for _, e := range entries {
		c, err := look(filepath.Join(path, e.Path), &budget)
		if err != nil {
			return err
		}
		p.bring(e.Path, ByCheckout, c)
	}
	return git.WriteJSON(filepath.Join(private, git.PreparedFile), p)
}

// Unprepare forgets what was prepared in a worktree, except what its checkout
// made.
func Unprepare(private string) error {
	p, err := ReadRecord(private)
	if err != nil {
		return err
	}
	p.Done, p.Given = false, nil
	p.Brought = slices.DeleteFunc(p.Brought, func(b *BroughtPath) bool { return b.By != ByCheckout })
	if len(p.Brought) > 0 {
		return git.WriteJSON(filepath.Join(private, git.PreparedFile), p)
	}
	if err := os.Remove(filepath.Join(private, git.PreparedFile)); err != nil && !os.IsNotExist(err) {
		return err
	}
	return nil
}

// SetAside takes the files of rest, which unwritten found, out of the worktree, so
// that git may check out others. back has git write those that are still tracked.
func SetAside(ctx context.Context, treePath string, rest []git.StatusEntry) (back func() error, err error) {
	var paths, staged []string
	for _, e := range rest {
		paths = append(paths, e.Path)
		if e.Index != '.' {
			staged = append(staged, e.Path)
		}
	}
	if len(paths) == 0 {
		return func() error { return nil }, nil
	}
	literal := []string{"GIT_LITERAL_PATHSPECS=1"}
	if len(staged) > 0 {
		if _, err := (git.Command{Dir: treePath, Env: literal, Stdin: []byte(strings.Join(staged, "\x00")),
			Args: []string{"reset", "--quiet", "--pathspec-from-file=-", "--pathspec-file-nul"}}).Run(ctx); err != nil {
			return nil, err
		}
	}
	back = func() error {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
		defer cancel()
		out, err := git.Run(ctx, treePath, append([]string{"--literal-pathspecs", "ls-files", "-z", "--"}, paths...)...)
		if err != nil || out == "" {
			return err
		}
		_, err = git.Command{Dir: treePath, Stdin: []byte(out),
			Args: []string{"checkout-index", "--quiet", "--force", "--index", "-z", "--stdin"}}.Run(ctx)
		return err
	}
	root, err := os.OpenRoot(treePath) // and nothing outside, whatever link is there
	if err != nil {
		return nil, errors.Join(err, back())
	}
	defer root.Close()
	for _, path := range paths {
		if err := root.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, errors.Join(err, back())
		}
	}
	return back, nil
}
