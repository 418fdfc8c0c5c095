package footprint

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"cmux/worktree/git"
)

// ErrSince means that what is to be taken back has changed since: nothing was touched.
var ErrSince = errors.New("it has changed since")

// ErrLost means that a content is not kept: nothing was touched.
var ErrLost = errors.New("what was there before is not kept")

// ErrInTheWay means that a folder stands where a file was, and holds what no print has: nothing
// was touched.
var ErrInTheWay = errors.New("a folder is in the way")

// Undone is what Undo took back.
type Undone struct {
	Paths []string `json:"paths"`
	Head  bool     `json:"head"`
	Kept  string   `json:"kept,omitempty"` // the ref that holds the commit that was checked out
}

// Undo takes the checkout of r at root back to before, as far as it differs from after: what
// is checked out, what is staged, and contents. What else has changed there since stays. save
// is called when nothing is in the way and nothing was touched yet.
func Undo(ctx context.Context, r *git.Repo, root string, before, after *Print, save func() error) (*Undone, error) {
	u := &undo{r: r, root: root, before: before, after: after}
	if err := u.look(ctx); err != nil {
		return nil, err
	}
	if err := save(); err != nil {
		return nil, err
	}
	done := &Undone{Paths: u.paths}
	if before.Branch != after.Branch || before.Commit != after.Commit {
		done.Head = true
		var err error
		if done.Kept, err = u.head(ctx); err != nil {
			return nil, err
		}
	}
	if err := u.index(ctx); err != nil {
		return nil, err
	}
	if err := u.files(ctx); err != nil {
		return nil, err
	}
	_, _ = git.Run(ctx, root, "update-index", "-q", "--refresh") // it says that files differ from the index, as they may
	return done, nil
}

type undo struct {
	r             *git.Repo
	root          string
	before, after *Print
	paths         []string
	tree          map[string]State // of the commit before
}

// look finds what is in the way.
func (u *undo) look(ctx context.Context) error {
	c := u.before.Compare(u.after)
	committed, err := Committed(ctx, u.root, u.before, u.after)
	if err != nil {
		return err
	}
	all := map[string]bool{}
	for _, name := range slices.Concat(c.Index, c.Files, committed) {
		if !filepath.IsLocal(name) || slices.Contains(strings.Split(strings.ToLower(name), "/"), ".git") {
			return fmt.Errorf("%q is no file of the checkout", name)
		}
		all[name] = true
	}
	u.paths = slices.Sorted(maps.Keys(all))
	now, err := Take(ctx, u.root, u.after)
	if err != nil {
		return err
	}
	if now.Branch != u.after.Branch || now.Commit != u.after.Commit {
		return fmt.Errorf("%w: %s is checked out, at %.12s", ErrSince, orHead(now.Branch), now.Commit)
	}
	var since []string
	for _, name := range u.paths {
		if !now.Paths[name].same(u.after.Paths[name]) {
			since = append(since, name)
		}
		if now.Paths[name].Open || u.before.Paths[name].Open {
			return fmt.Errorf("%w: a merge of %s has not ended", ErrSince, name)
		}
	}
	if len(since) > 0 {
		return fmt.Errorf("%w: %s", ErrSince, git.Shown(since))
	}
	if err := u.committedBefore(ctx); err != nil {
		return err
	}
	if err := u.free(); err != nil {
		return err
	}
	return u.kept(ctx)
}

// stays reports whether the file of a path is left as it is.
func (u *undo) stays(name string) bool {
	s := u.was(name)
	return s.Mode == submodule || s.Work != "" && s.Work == u.after.Paths[name].Work
}

// free checks that where a file is to be, or nothing, no folder stays.
func (u *undo) free() error {
	at, err := os.OpenRoot(u.root)
	if err != nil {
		return err
	}
	defer at.Close()
	for _, name := range u.paths {
		if info, err := at.Lstat(name); err != nil || !info.IsDir() || u.stays(name) {
			continue
		}
		err := fs.WalkDir(at.FS(), name, func(in string, e fs.DirEntry, err error) error {
			if _, goes := slices.BinarySearch(u.paths, in); err != nil || e.IsDir() || goes && !u.stays(in) {
				return err
			}
			return fmt.Errorf("%w: %s holds %s. Move it out of the checkout", ErrInTheWay, git.Shown([]string{name}), git.Shown([]string{in}))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// committedBefore reads how the paths were in the commit.
func (u *undo) committedBefore(ctx context.Context) error {
	u.tree = map[string]State{}
	if u.before.Commit == "" || len(u.paths) == 0 {
		return nil
	}
	out, err := git.Run(ctx, u.root, "ls-tree", "-r", "-z", "--full-tree", u.before.Commit)
	if err != nil {
		return err
	}
	for _, l := range git.Fields(out) {
		about, name, _ := strings.Cut(l, "\t")
		f := strings.Fields(about)
		if _, ours := slices.BinarySearch(u.paths, name); ours && len(f) == 3 {
			u.tree[name] = State{Mode: f[0], ID: f[2]}
		}
	}
	return nil
}

// was is how a path was before: staged, and in the file.
func (u *undo) was(name string) State {
	if s, differs := u.before.Paths[name]; differs {
		return s
	}
	return u.tree[name]
}

// kept says which contents are not there any more.
func (u *undo) kept(ctx context.Context) error {
	var ids, lost []string
	of := map[string]string{}
	for _, name := range u.paths {
		s := u.was(name)
		if s.Mode == submodule || s.Work == u.after.Paths[name].Work {
			continue
		}
		if mode, id, ok := strings.Cut(s.Work, " "); ok && (mode == symlink || strings.HasPrefix(mode, "100")) {
			ids, of[id] = append(ids, id), name
		} else if s.Work != "" && s.Work != gone {
			lost = append(lost, name)
		}
	}
	if len(ids) > 0 {
		out, err := git.Command{Dir: u.root, Args: []string{"cat-file", "--batch-check"}, Stdin: []byte(strings.Join(ids, "\n") + "\n")}.Run(ctx)
		if err != nil {
			return err
		}
		for l := range strings.Lines(out) {
			if id, missing := strings.CutSuffix(git.Line(l), " missing"); missing {
				lost = append(lost, of[id])
			}
		}
	}
	if len(lost) > 0 {
		slices.Sort(lost)
		return fmt.Errorf("%w: %s", ErrLost, git.Shown(lost))
	}
	return nil
}

// head checks out what was checked out, without its files. What is checked out now is kept.
func (u *undo) head(ctx context.Context) (kept string, err error) {
	keep := func(name, commit string) error {
		ref := fmt.Sprintf("refs/cmux/undone/%.12s/%s", commit, strings.TrimPrefix(name, "refs/"))
		kept = ref
		_, err := git.Run(ctx, u.root, "update-ref", "--", ref, commit)
		return err
	}
	if u.after.Commit != "" && u.after.Commit != u.before.Commit {
		if err := keep(orHead(u.after.Branch), u.after.Commit); err != nil {
			return "", err
		}
	}
	if u.before.Branch == "" {
		_, err := git.Run(ctx, u.root, "update-ref", "-m", "cmux: undo", "--no-deref", "--", "HEAD", u.before.Commit)
		return kept, err
	}
	tip, err := git.Run(ctx, u.root, "rev-parse", "--verify", "--quiet", u.before.Branch+"^{commit}")
	if err != nil && git.ExitCode(err) != 1 {
		return "", err
	}
	switch tip = git.Line(tip); {
	case tip == u.before.Commit:
	case u.before.Commit == "":
		if err := u.r.DeleteRef(ctx, u.before.Branch, tip); err != nil {
			return "", err
		}
	default:
		if tip != "" && tip != u.after.Commit {
			if err := keep(u.before.Branch, tip); err != nil {
				return "", err
			}
		}
		if err := u.r.UpdateRef(ctx, u.before.Branch, u.before.Commit, tip); err != nil {
			return "", err
		}
	}
	if u.before.Branch != u.after.Branch {
		_, err = git.Run(ctx, u.root, "symbolic-ref", "-m", "cmux: undo", "HEAD", u.before.Branch)
	}
	return kept, err
}

// index stages what was staged.
func (u *undo) index(ctx context.Context) error {
	if len(u.paths) == 0 {
		return nil
	}
	var in strings.Builder
	for _, name := range u.paths {
		if s := u.was(name); s.Mode != "" {
			fmt.Fprintf(&in, "%s %s 0\t%s\x00", s.Mode, s.ID, name)
		} else {
			fmt.Fprintf(&in, "0 %s\t%s\x00", strings.Repeat("0", max(40, len(u.before.Commit))), name)
		}
	}
	_, err := git.Command{Dir: u.root, Args: []string{"update-index", "-z", "--index-info"}, Stdin: []byte(in.String())}.Run(ctx)
	return err
}

// files brings contents back. No link leads out of the checkout.
func (u *undo) files(ctx context.Context) error {
	at, err := os.OpenRoot(u.root)
	if err != nil {
		return err
	}
	defer at.Close()
	for _, name := range slices.Backward(u.paths) { // a file may have been where a folder is now, and the other way round
		s := u.was(name)
		info, err := at.Lstat(name)
		if err != nil || u.stays(name) || s.Work != gone && (s.Work != "" || s.Mode != "") && !info.IsDir() {
			continue
		}
		if err := remove(at, name); err != nil {
			return err
		}
	}
	var staged strings.Builder
	for _, name := range u.paths {
		s := u.was(name)
		switch mode, id, _ := strings.Cut(s.Work, " "); {
		case u.stays(name), s.Work == gone, s.Work == "" && s.Mode == "":
		case s.Work == "":
			if err := at.Remove(name); err != nil && !errors.Is(err, os.ErrNotExist) {
				return err
			}
			staged.WriteString(name + "\x00")
		default:
			text, err := git.Run(ctx, u.root, "cat-file", "blob", id)
			if err == nil {
				err = put(at, name, mode, text)
			}
			if err != nil {
				return err
			}
		}
	}
	if staged.Len() == 0 {
		return nil
	}
	_, err = git.Command{Dir: u.root, Args: []string{"checkout-index", "--force", "-u", "-z", "--stdin"}, Stdin: []byte(staged.String())}.Run(ctx)
	return err
}

// remove removes a file, or a folder without files, and folders that are empty then.
func remove(at *os.Root, name string) error {
	var folders []string
	err := fs.WalkDir(at.FS(), name, func(in string, e fs.DirEntry, err error) error {
		if err == nil && e.IsDir() {
			folders = append(folders, in)
		}
		return err
	})
	for _, in := range slices.Backward(folders) {
		err = errors.Join(err, at.Remove(in))
	}
	if len(folders) == 0 {
		err = at.Remove(name)
	}
	if err != nil {
		return err
	}
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if at.Remove(dir) != nil {
			break
		}
	}
	return nil
}

func put(at *os.Root, name, mode, text string) error {
	if err := at.MkdirAll(path.Dir(name), 0o777); err != nil {
		return err
	}
	if err := at.Remove(name); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if mode == symlink {
		return at.Symlink(text, name)
	}
	perm := os.FileMode(0o666)
	if mode == "100755" {
		perm = 0o777
	}
	f, err := at.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

func orHead(branch string) string {
	if branch == "" {
		return "HEAD"
	}
	return branch
}
