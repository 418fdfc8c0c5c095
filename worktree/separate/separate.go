package separate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"cmux/worktree/git"
	"cmux/worktree/gitfile"
)

// Worktree is a linked worktree: its folder, its private git directory, and the git
// directory that it shares, each an absolute path without links.
type Worktree struct {
	Tree, Private, Common string

	// Others are branches of somebody else, such as refs/heads/x, also where they are not made
	// yet: whoever makes them continues from what is there.
	Others []string

	dir string // where what is in the separate directory is now; empty: in it
}

// Dir is the separate git directory, which need not be there.
func (w Worktree) Dir() string {
	if w.dir != "" {
		return w.dir
	}
	return filepath.Join(w.Private, gitfile.Separate)
}

// beside is a file or folder of cmux's beside the separate directory, out of its reach.
func (w Worktree) beside(ending string) string {
	return filepath.Join(w.Private, gitfile.Separate+ending)
}

// refsFile keeps the refs that a separate directory began with.
func (w Worktree) refsFile() string { return w.beside(".refs") }

// taken is w with what was in its separate directory, where nothing that works in the
// worktree can write any more.
func (w Worktree) taken() Worktree {
	w.dir = w.beside(".taken")
	return w
}

// Modules holds the git directories of the worktree's submodules. They stay there.
func (w Worktree) Modules() string { return filepath.Join(w.Private, "modules") }

// Begun reports whether the worktree has a separate git directory.
func (w Worktree) Begun() bool { return git.There(w.Dir()) || git.There(w.taken().dir) }

// Works reports whether the worktree works in a separate git directory now, or an End of it
// was interrupted.
func (w Worktree) Works() bool { return git.There(w.refsFile()) }

// files and folders are the state of a worktree in its git directory: what is staged, and
// what it is in the middle of. HEAD is read and written by git.
var (
	files = strings.Fields("index ORIG_HEAD MERGE_HEAD MERGE_MSG MERGE_MODE MERGE_RR MERGE_AUTOSTASH SQUASH_MSG AUTO_MERGE " +
		"CHERRY_PICK_HEAD REVERT_HEAD REBASE_HEAD BISECT_LOG BISECT_START BISECT_TERMS BISECT_NAMES BISECT_EXPECTED_REV BISECT_ANCESTORS_OK " +
		git.PreparedFile)
	folders = strings.Fields("rebase-merge rebase-apply sequencer refs/bisect refs/worktree refs/rewritten")
)

// Reserve makes the folder of the separate git directory, empty, and ends what an earlier
// process left there: a fence is built around a folder that is there. The folder stays the
// same one, whatever begins and pauses in it, until End.
func (w Worktree) Reserve(ctx context.Context) (left []Left, err error) {
	err = w.locked(ctx, func(ctx context.Context) error {
		if left, err = w.end(ctx, true); err != nil {
			return err
		}
		return errors.Join(w.Mark(), os.MkdirAll(w.Dir(), 0o777), os.MkdirAll(w.Modules(), 0o777))
	})
	return left, err
}

// Begin gives the worktree a separate git directory, with its state and the refs of now,
// and leads its .git there. One that an earlier process left is ended first.
//
// What works in the worktree may write in the folder meanwhile: the directory is made
// beside it and moved in, so that no link there leads cmux elsewhere.
func (w Worktree) Begin(ctx context.Context) error {
	return w.locked(ctx, func(ctx context.Context) error {
		if _, err := w.end(ctx, true); err != nil {
			return err
		}
		made := w
		made.dir = w.beside(".new")
		err := errors.Join(w.Mark(), os.RemoveAll(made.dir))
		if err == nil {
			err = made.build(ctx)
		}
		if err == nil {
			err = moveAll(made.dir, w.Dir())
		}
		if err != nil {
			return errors.Join(err, os.RemoveAll(made.dir), os.RemoveAll(w.refsFile()), empty(w.Dir()))
		}
		return errors.Join(os.RemoveAll(made.dir), w.Lead())
	})
}

// Mark notes for the life of the worktree that an agent may have set up repositories there.
func (w Worktree) Mark() error {
	return os.WriteFile(filepath.Join(w.Private, gitfile.Fenced), nil, 0o666)
}

// moveAll moves what is in one folder into another, which it makes, in the place of what is
// there.
func moveAll(from, to string) error {
	if err := os.MkdirAll(to, 0o777); err != nil {
		return err
	}
	entries, err := os.ReadDir(from)
	for _, e := range entries {
		name, target := filepath.Join(from, e.Name()), filepath.Join(to, e.Name())
		merr := os.Rename(name, target)
		if merr != nil && !errors.Is(merr, fs.ErrNotExist) {
			merr = errors.Join(os.RemoveAll(target), os.Rename(name, target))
		}
		if !errors.Is(merr, fs.ErrNotExist) {
			err = errors.Join(err, merr)
		}
	}
	return err
}

// empty removes what is in a folder. What is made there meanwhile may stay.
func empty(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		_ = os.RemoveAll(filepath.Join(dir, e.Name()))
	}
	return err
}

// Lead leads the worktree's .git to its separate directory, which must be there.
func (w Worktree) Lead() error {
	return git.WriteFile(filepath.Join(w.Tree, ".git"), []byte("gitdir: "+w.Dir()+"\n"))
}

// build makes the separate directory.
func (w Worktree) build(ctx context.Context) error {
	dir := w.Dir()
	for _, name := range []string{"objects/pack", "refs", "info", "logs/refs/heads"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o777); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(w.Modules(), 0o777); err != nil {
		return err
	}
	config, err := w.config(ctx)
	if err != nil {
		return err
	}
	refs, symbolic, err := w.refs(ctx)
	if err != nil {
		return err
	}
	head, err := git.Run(ctx, w.Tree, "rev-parse", "--symbolic-full-name", "HEAD")
	if err == nil && git.Line(head) == "HEAD" {
		head, err = git.Run(ctx, w.Tree, "rev-parse", "HEAD")
	} else {
		head = "ref: " + head
	}
	errs := []error{err,
		os.WriteFile(filepath.Join(dir, "HEAD"), []byte(head), 0o666),
		os.WriteFile(filepath.Join(dir, "config"), config, 0o666),
		os.WriteFile(filepath.Join(dir, gpgFile), []byte(gpgScript), 0o777),
		w.borrow(),
		os.WriteFile(filepath.Join(dir, "packed-refs"), refs, 0o666),
		git.WriteFile(w.refsFile(), refs),
		os.Symlink(w.Modules(), filepath.Join(dir, "modules")),
	}
	for _, name := range []string{"hooks", "info/exclude", "info/attributes"} {
		errs = append(errs, os.Symlink(filepath.Join(w.Common, name), filepath.Join(dir, name)))
	}
	for name, to := range symbolic {
		errs = append(errs, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o777),
			os.WriteFile(filepath.Join(dir, name), []byte("ref: "+to+"\n"), 0o666))
	}
	for _, name := range []string{"shallow", "info/grafts"} {
		errs = append(errs, copyFile(filepath.Join(w.Common, name), filepath.Join(dir, name)))
	}
	for _, name := range append([]string{"logs/HEAD", "info/sparse-checkout", "config.worktree", git.OwnerFile}, files...) {
		errs = append(errs, copyFile(filepath.Join(w.Private, name), filepath.Join(dir, name)))
	}
	if branch, on := strings.CutPrefix(git.Line(head), "ref: "); on {
		log := filepath.Join("logs", branch)
		errs = append(errs, copyFile(filepath.Join(w.Common, log), filepath.Join(dir, log)))
	}
	for _, name := range folders {
		errs = append(errs, copyFolder(filepath.Join(w.Private, name), filepath.Join(dir, name)))
	}
	return errors.Join(append(errs, copyMatching(w.Private, dir, "sharedindex.*"))...)
}

// borrow makes the objects of the shared directory readable in the separate one.
func (w Worktree) borrow() error {
	info := filepath.Join(w.objects(), "info")
	if err := os.MkdirAll(info, 0o777); err != nil {
		return err
	}
	path := filepath.Join(w.Common, "objects")
	if strings.Contains(path, "\n") { // other programs than git read no quotes
		path = quoted(path)
	}
	return os.WriteFile(filepath.Join(info, "alternates"), []byte(path+"\n"), 0o666)
}

// config returns the separate directory's settings. They include those of the shared one,
// except what describes a repository itself.
func (w Worktree) config(ctx context.Context) ([]byte, error) {
	var b bytes.Buffer
	version, err := git.Run(ctx, w.Tree, "config", "--file", filepath.Join(w.Common, "config"), "--default=0", "core.repositoryformatversion")
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(&b, "[include]\n\tpath = %s\n[core]\n\trepositoryformatversion = %s\tbare = false\n\tworktree = %s\n",
		quoted(filepath.Join(w.Common, "config")), version, quoted(w.Tree))
	extensions, err := git.Run(ctx, w.Tree, "config", "--file", filepath.Join(w.Common, "config"), "-z", "--get-regexp", `^extensions\.`)
	if err != nil && git.ExitCode(err) != 1 {
		return nil, err
	}
	for _, entry := range git.Fields(extensions) {
		key, value, _ := strings.Cut(entry, "\n")
		if name := strings.TrimPrefix(key, "extensions."); name != "refstorage" {
			fmt.Fprintf(&b, "[extensions]\n\t%s = %s\n", name, quoted(value))
		}
	}
	program, err := git.Run(ctx, w.Tree, "config", "--get-regexp", `^gpg\.(format|program|openpgp\.program)$`)
	if err != nil && git.ExitCode(err) != 1 {
		return nil, err
	}
	if program == "" {
		fmt.Fprintf(&b, "[gpg]\n\tprogram = %s\n", quoted(filepath.Join(w.Private, gitfile.Separate, gpgFile)))
	}
	return b.Bytes(), nil
}

// gpgFile runs gpg without the locks that it makes beside its keys, where a fence lets
// nothing be made: it signs by way of its agent.
const gpgFile, gpgScript = "cmux-gpg", "#!/bin/sh\nexec gpg --lock-never --no-auto-check-trustdb \"$@\"\n"

// refs returns the refs of the shared repository as packed-refs has them, and the symbolic
// ones. The stash is a person's, and cmux's own are nothing to work with.
func (w Worktree) refs(ctx context.Context) (packed []byte, symbolic map[string]string, err error) {
	out, err := git.Run(ctx, w.Tree, "for-each-ref", "--format=%(objectname) %(refname) %(symref)",
		"refs/heads", "refs/tags", "refs/remotes", "refs/notes", "refs/replace")
	var b bytes.Buffer
	symbolic = map[string]string{}
	for line := range strings.Lines(out) {
		switch parts := strings.Fields(line); {
		case len(parts) == 3:
			symbolic[parts[1]] = parts[2]
		case len(parts) == 2:
			fmt.Fprintf(&b, "%s %s\n", parts[0], parts[1])
		}
	}
	return b.Bytes(), symbolic, err
}

// patience is how long a call waits for another process that begins or ends a separate
// directory of the same worktree: what runs there can take the lock too, to hold it up.
const patience = time.Minute

// locked runs f while no other process begins or ends a separate directory of the worktree.
//
// In its context git reads what cmux registered, wherever the .git of the worktree leads.
func (w Worktree) locked(ctx context.Context, f func(context.Context) error) error {
	dir, err := os.Open(w.Private)
	if err != nil {
		return err
	}
	defer dir.Close()
	late := time.After(patience)
	for {
		if err := unix.Flock(int(dir.Fd()), unix.LOCK_EX|unix.LOCK_NB); err == nil {
			return f(git.WithTree(ctx, w.Tree, w.Private))
		} else if err != unix.EWOULDBLOCK && err != unix.EINTR {
			return fmt.Errorf("lock %s: %w", w.Private, err)
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-late:
			return fmt.Errorf("another process has held the lock of %s for %s", w.Private, patience)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// quoted returns a value as git's settings have it.
func quoted(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`).Replace(s) + `"`
}

// copyFile copies a regular file; one that is not there, or is something else, or larger
// than what git writes there, is taken from the other place too.
func copyFile(from, to string) error {
	b, err := read(from)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, errLarge) {
		return remove(to)
	}
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o777); err != nil {
		return err
	}
	return git.WriteFile(to, b)
}

// maxState bounds how many files of one kind are the state of a worktree, and maxFolder
// their bytes.
const (
	maxState  = 10_000
	maxFolder = 64 << 20
)

// copyFolder replaces a folder by a copy of the regular files and folders of another. One
// that is too large to be git's is taken from the other place too.
func copyFolder(from, to string) error {
	if err := remove(to); err != nil {
		return err
	}
	var names []string
	size := int64(0)
	err := filepath.WalkDir(from, func(name string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		if info, err := d.Info(); err == nil {
			size += info.Size()
		}
		if names = append(names, name); len(names) > maxState || size > maxFolder {
			return errLarge
		}
		return nil
	})
	if errors.Is(err, errLarge) {
		return nil
	}
	for _, name := range names {
		err = errors.Join(err, copyFile(name, filepath.Join(to, strings.TrimPrefix(name, from))))
	}
	return err
}

// maxMatching is more than git has of such files.
const maxMatching = 16

// copyMatching copies the files of a folder whose names match a pattern.
func copyMatching(from, to, pattern string) error {
	names, err := filepath.Glob(filepath.Join(git.EscapeGlob(from), pattern))
	for _, name := range names[:min(len(names), maxMatching)] {
		err = errors.Join(err, copyFile(name, filepath.Join(to, filepath.Base(name))))
	}
	return err
}

// maxFile is more than git writes into a file of its own that is read here; an index of a
// million files has a third of it. maxLog is more than it writes into a reflog between two
// cleanups.
const (
	maxFile = 1 << 28
	maxLog  = 1 << 24
)

var errLarge = errors.New("larger than what git writes there")

// read is readUpTo for maxFile bytes.
func read(name string) ([]byte, error) { return readUpTo(name, maxFile) }

// readUpTo returns the content of a regular file. What is none is as if it were not there: a
// link leads elsewhere, and a pipe never ends. One of more than limit bytes is an errLarge.
func readUpTo(name string, limit int64) ([]byte, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if errors.Is(err, unix.ELOOP) || errors.Is(err, unix.ENXIO) || errors.Is(err, unix.ENOTDIR) {
		return nil, fs.ErrNotExist
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fs.ErrNotExist
	}
	var b bytes.Buffer
	if info.Size() <= limit {
		b.Grow(int(info.Size()))
		_, err = b.ReadFrom(io.LimitReader(f, limit+1))
	}
	if info.Size() > limit || int64(b.Len()) > limit {
		return nil, fmt.Errorf("%s: %w", name, errLarge)
	}
	return b.Bytes(), err
}

func remove(name string) error {
	if err := os.RemoveAll(name); err != nil && !errors.Is(err, unix.ENOTDIR) {
		return err
	}
	return nil
}

// sorted returns the keys of m in order.
func sorted(m map[string]string) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
