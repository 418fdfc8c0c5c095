package worktree

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"cmux/worktree/git"
	"cmux/worktree/hint"
	"cmux/worktree/submodule"
)

// FindSnapshot is the snapshot with this ID, or the latest with this name, or
// with a name that ends in /id, if that is one name only.
func (r *Repo) FindSnapshot(ctx context.Context, id string) (*Snapshot, error) {
	all, err := r.Snapshots(ctx)
	if err != nil {
		return nil, err
	}
	for _, s := range slices.Backward(all) {
		if s.ID == id || s.Name == id {
			return &s, nil
		}
	}
	var found *Snapshot
	for _, s := range slices.Backward(all) {
		switch {
		case !strings.HasSuffix(s.Name, "/"+id):
		case found == nil:
			found = &s
		case s.Name != found.Name:
			return nil, hint.Errorf("cmux snapshots list", "%q may be %s or %s: name it in full", id, found.Name, s.Name)
		}
	}
	if found != nil {
		return found, nil
	}
	return nil, hint.Errorf("cmux snapshots list", "no snapshot %q in %s", id, r.Root)
}

// RestoreSpec says where to. Zero values mean where the snapshot came from.
type RestoreSpec struct {
	Path   string // a worktree to be made, or a clean one on the snapshot's commit
	Branch string // made at the snapshot's commit, unless it is there already
}

// Restore brings a snapshot's content back byte for byte: commits, index,
// working files, untracked and ignored files, the unended merge or rebase. It
// makes the worktree, or fills one that is there, clean and on the snapshot's
// commit. It never moves a branch and never overwrites a file: ErrDirty,
// ErrOccupied and ErrBranchOut say what is in the way. A snapshot of a branch
// alone brings the branch back, and a worktree when Path is given.
//
// Files of a size or kind that the snapshot only lists stay away. An empty
// directory is not kept.
func (r *Repo) Restore(ctx context.Context, s *Snapshot, to RestoreSpec) (*Tree, error) {
	if err := r.unkeep(ctx, s); err != nil {
		return nil, err
	}
	if to.Branch == "" {
		to.Branch = s.Branch
	}
	if to.Path == "" && s.Bare && (to.Branch != "" || s.Path == "") {
		if to.Branch == "" {
			return nil, hint.Errorf("a branch name", "snapshot %s holds commits alone and no branch name", s.ID)
		}
		_, err := r.restoreBranch(ctx, s, to.Branch)
		return &Tree{Branch: to.Branch, Head: s.Head}, err
	}
	if to.Path == "" {
		to.Path = s.Path
	}
	path, err := git.RealPath(to.Path)
	if err != nil {
		return nil, err
	}
	to.Path = path
	release, err := r.claim(path)
	if err != nil {
		return nil, err
	}
	defer release()

	entry, err := r.clearPath(ctx, LendSpec{Path: path})
	if path == r.Root {
		all, rerr := r.registrations(ctx)
		if err = rerr; err == nil {
			entry = &all[0]
		}
	}
	if err != nil {
		return nil, err
	}
	if entry != nil {
		return r.restoreInto(ctx, s, to, *entry)
	}
	return r.restoreNew(ctx, s, to)
}

// restoreBranch makes the branch at the snapshot's commit and tells whether it
// was not there.
func (r *Repo) restoreBranch(ctx context.Context, s *Snapshot, branch string) (made bool, err error) {
	tip, err := r.Tip(ctx, branch)
	switch {
	case errors.Is(err, git.ErrBadRef):
		return true, r.UpdateRef(ctx, "refs/heads/"+branch, s.Head, "")
	case err != nil:
		return false, err
	case tip != s.Head:
		return false, hint.Errorf("--branch with another name", "%w: branch %s is at %.12s, the snapshot %s at %.12s", ErrOccupied, branch, tip, s.ID, s.Head)
	}
	return false, nil
}

func (r *Repo) restoreInto(ctx context.Context, s *Snapshot, to RestoreSpec, e registration) (*Tree, error) {
	other := "--to with another folder, and --branch with another name"
	if e.head != s.Head {
		return nil, hint.Errorf(other, "%w: %s is on commit %.12s, the snapshot on %.12s", ErrOccupied, e.path, e.head, s.Head)
	}
	if e.branch != to.Branch {
		return nil, hint.Errorf(other, "%w: %s is on branch %q, not on %q", ErrOccupied, e.path, e.branch, to.Branch)
	}
	d, err := dirt(ctx, e.path)
	if err != nil {
		return nil, err
	}
	if !d.Clean() {
		return nil, hint.Errorf("commit it, or "+other, "%w: %s (%s: %s)", ErrDirty, e.path, d, git.Shown(d.Paths))
	}
	private, err := git.PrivateDir(ctx, e.path)
	if err != nil {
		return nil, err
	}
	t := &Tree{Path: e.path, Branch: e.branch, GitDir: private, Head: e.head, Adopted: true}
	return t, r.apply(ctx, s, t)
}

func (r *Repo) restoreNew(ctx context.Context, s *Snapshot, to RestoreSpec) (t *Tree, err error) {
	t = &Tree{Path: to.Path, Branch: to.Branch, Head: s.Head, Owner: s.Owner}
	args := []string{"worktree", "add", "--no-checkout", "--no-guess-remote", "--quiet"}
	var made bool
	switch {
	case s.Head == "": // a branch without commits: any commit does until HEAD is set
		args = append(args, "--detach", "--", t.Path, "HEAD")
	case t.Branch == "":
		args = append(args, "--detach", "--", t.Path, s.Head)
	default:
		if err := r.freeBranch(ctx, LendSpec{Path: t.Path, Branch: t.Branch}); err != nil {
			return nil, err
		}
		if made, err = r.restoreBranch(ctx, s, t.Branch); err != nil {
			return nil, err
		}
		args = append(args, "--", t.Path, t.Branch)
	}
	unlock, err := r.lock(ctx)
	if err != nil {
		return nil, err
	}
	_, err = git.Run(ctx, r.Root, args...)
	unlock()
	registered := err == nil
	if err == nil {
		t.GitDir, err = git.PrivateDir(ctx, t.Path)
	}
	if err == nil && s.Head == "" {
		_, err = git.Run(ctx, t.Path, "symbolic-ref", "HEAD", "refs/heads/"+t.Branch)
	}
	if err == nil {
		// Until it is filled it is an interrupted Lend, which the next one takes away.
		err = git.WriteOwner(t.GitDir, git.LendingFile, git.OwnerRecord{Owner: s.Owner, Branch: t.Branch, Start: s.Head})
	}
	if err == nil {
		err = r.apply(ctx, s, t)
	}
	if err == nil {
		err = os.Rename(filepath.Join(t.GitDir, git.LendingFile), filepath.Join(t.GitDir, git.OwnerFile))
	}
	if err != nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
		defer cancel()
		if registered {
			err = errors.Join(err, r.deregister(ctx, t.Path))
		}
		if made {
			err = errors.Join(err, r.DeleteRef(ctx, "refs/heads/"+t.Branch, s.Head))
		}
		return nil, err
	}
	if err := submodule.Follow(ctx, &r.Repo, t.Path, func() error { return nil }); err != nil {
		return t, err
	}
	return t, r.repoint(ctx, s, t)
}

// repoint has submodules be at the commits at which the snapshot found them,
// where nobody had committed those in the superproject.
func (r *Repo) repoint(ctx context.Context, s *Snapshot, t *Tree) error {
	if s.Bare {
		return nil
	}
	out, err := git.Run(ctx, r.Root, "rev-parse", s.Commit+"^@")
	if err != nil {
		return err
	}
	parents := strings.Fields(out)
	if len(parents) < 2 {
		return nil
	}
	changes, err := diffTree(ctx, r.Root, parents[len(parents)-2], parents[len(parents)-1])
	if err != nil {
		return err
	}
	subs, err := submodule.Named(ctx, t.Path)
	if err != nil {
		return err
	}
	f := submodule.Follower{Repo: &r.Repo, Root: t.Path}
	for _, c := range changes {
		i := slices.IndexFunc(subs, func(s submodule.Submodule) bool { return s.Path == c.path })
		at := filepath.Join(t.Path, c.path)
		if c.mode != submodule.Gitlink || i < 0 || !submodule.IsRepository(at) {
			continue
		}
		subs[i].Commit = c.id
		if err := f.Fetch(ctx, at, f.Copies(c.path, filepath.Join("modules", subs[i].Name)), subs[i]); err != nil {
			return err
		}
		if _, err := git.Run(ctx, at, "checkout", "--quiet", "--detach", "--no-overwrite-ignore", c.id, "--"); err != nil {
			return err
		}
	}
	return nil
}

// change is one line of git diff-tree --raw.
type change struct {
	mode, id string // new; "000000" for a deletion
	path     string
}

func diffTree(ctx context.Context, dir, a, b string) ([]change, error) {
	out, err := git.Run(ctx, dir, "diff-tree", "-r", "-z", "--no-renames", "--raw", "--no-abbrev", a, b)
	if err != nil {
		return nil, err
	}
	f := git.Fields(out)
	var all []change
	for i := 0; i+1 < len(f); i += 2 { // :OLDMODE NEWMODE OLDID NEWID STATUS, PATH
		cols := strings.Fields(f[i])
		if len(cols) != 5 {
			return nil, fmt.Errorf("git diff-tree: unexpected line %q", f[i])
		}
		all = append(all, change{mode: cols[1], id: cols[3], path: f[i+1]})
	}
	return all, nil
}

// apply fills a worktree that holds nothing but the snapshot's HEAD.
func (r *Repo) apply(ctx context.Context, s *Snapshot, t *Tree) error {
	if s.Bare {
		_, err := git.Run(ctx, t.Path, "reset", "--hard", "--quiet", "--no-recurse-submodules")
		return err
	}
	out, err := git.Run(ctx, r.Root, "rev-parse", s.Commit+"^@")
	if err != nil {
		return err
	}
	parents := strings.Fields(out)
	if len(parents) < 2 {
		return fmt.Errorf("%s is no snapshot of cmux", s.Ref)
	}
	index, work := parents[len(parents)-2], parents[len(parents)-1]
	changes, err := diffTree(ctx, r.Root, index, work)
	if err != nil {
		return err
	}
	if t.Adopted {
		if err := r.unobstructed(ctx, s, t, index, work); err != nil {
			return err
		}
	}
	if _, err := git.Run(ctx, t.Path, "read-tree", "--reset", "-u", "--no-recurse-submodules", index); err != nil {
		return err
	}
	var writes []change
	for _, c := range changes {
		switch c.mode {
		case "000000":
			if err := removePruning(t.Path, c.path); err != nil {
				return err
			}
		case submodule.Gitlink:
		default:
			writes = append(writes, c)
		}
	}
	if err := r.writeFiles(ctx, t.Path, writes); err != nil {
		return err
	}
	meta, err := r.metadata(ctx, s)
	if err != nil {
		return err
	}
	if err := applyModes(t.Path, meta[snapModes]); err != nil {
		return err
	}
	if err := replaceIndex(ctx, t, meta); err != nil {
		return err
	}
	for name, b := range meta {
		rel, ok := strings.CutPrefix(name, snapState+"/")
		if !ok || !filepath.IsLocal(rel) {
			continue
		}
		full := filepath.Join(t.GitDir, rel)
		if err := os.MkdirAll(filepath.Dir(full), 0o777); err != nil {
			return err
		}
		if err := os.WriteFile(full, b, 0o666); err != nil {
			return err
		}
	}
	return nil
}

// unobstructed refuses to write over ignored files: all others would have made
// the tree dirty.
func (r *Repo) unobstructed(ctx context.Context, s *Snapshot, t *Tree, index, work string) error {
	tracked := map[string]bool{}
	out, err := git.Run(ctx, t.Path, "ls-files", "-z")
	if err != nil {
		return err
	}
	for _, name := range git.Fields(out) {
		tracked[name] = true
	}
	var blocked []string
	for _, to := range []string{index, work} {
		changes, err := diffTree(ctx, r.Root, s.Head, to)
		if err != nil {
			return err
		}
		for _, c := range changes {
			if c.mode == "000000" || c.mode == submodule.Gitlink || tracked[c.path] {
				continue
			}
			same, err := sameBlob(filepath.Join(t.Path, c.path), c.id)
			if err != nil {
				return err
			}
			if !same {
				blocked = append(blocked, c.path)
			}
		}
	}
	if len(blocked) > 0 {
		return hint.Errorf("move them away, or --to with another folder", "%w: %s holds other versions of %s", ErrDirty, t.Path, git.Shown(blocked))
	}
	return nil
}

// sameBlob tells whether a path is absent or holds the blob's bytes.
func sameBlob(name, id string) (bool, error) {
	info, err := os.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return true, nil
	} else if err != nil {
		return false, err
	}
	var b []byte
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		target, err := os.Readlink(name)
		if err != nil {
			return false, err
		}
		b = []byte(target)
	case info.Mode().IsRegular():
		if b, err = os.ReadFile(name); err != nil {
			return false, err
		}
	default:
		return false, nil
	}
	var h hash.Hash = sha1.New()
	if len(id) == 2*sha256.Size {
		h = sha256.New()
	}
	fmt.Fprintf(h, "blob %d\x00", len(b))
	h.Write(b)
	return hex.EncodeToString(h.Sum(nil)) == id, nil
}

// removePruning removes a file and the directories it leaves empty.
func removePruning(root, name string) error {
	full := filepath.Join(root, name)
	if err := os.Remove(full); err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
		return err
	}
	for dir := filepath.Dir(full); dir != root; dir = filepath.Dir(dir) {
		if os.Remove(dir) != nil {
			break
		}
	}
	return nil
}

// blobs reads objects in one process; each is called in order.
func (r *Repo) blobs(ctx context.Context, ids []string, each func(i int, size int64, content io.Reader) error) error {
	if len(ids) == 0 {
		return nil
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	pr, pw := io.Pipe()
	done := make(chan error, 1)
	go func() {
		_, err := git.Command{Dir: r.Root, Args: []string{"cat-file", "--batch"}, Stdin: []byte(strings.Join(ids, "\n") + "\n"), Stdout: pw}.Run(ctx)
		pw.CloseWithError(errors.Join(err, io.EOF))
		done <- err
	}()
	err := func() error {
		in := bufio.NewReaderSize(pr, 64<<10)
		for i, id := range ids {
			header, err := in.ReadString('\n')
			if err != nil {
				return err
			}
			f := strings.Fields(header)
			if len(f) != 3 {
				return fmt.Errorf("git cat-file: %s: %q", id, header)
			}
			size, err := strconv.ParseInt(f[2], 10, 64)
			if err != nil {
				return err
			}
			content := io.LimitReader(in, size)
			if err := each(i, size, content); err != nil {
				return err
			}
			if _, err := io.Copy(io.Discard, content); err != nil {
				return err
			}
			if _, err := in.Discard(1); err != nil {
				return err
			}
		}
		return nil
	}()
	if err != nil {
		cancel()
	}
	pr.CloseWithError(io.ErrClosedPipe)
	gitErr := <-done
	if err != nil {
		return err
	}
	return gitErr
}

// writeFiles writes blobs as they are, without any filter.
func (r *Repo) writeFiles(ctx context.Context, root string, writes []change) error {
	ids := make([]string, len(writes))
	for i, c := range writes {
		ids[i] = c.id
	}
	return r.blobs(ctx, ids, func(i int, _ int64, content io.Reader) error {
		c := writes[i]
		full := filepath.Join(root, c.path)
		if err := os.MkdirAll(filepath.Dir(full), 0o777); err != nil {
			return err
		}
		if err := os.Remove(full); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if c.mode == "120000" {
			target, err := io.ReadAll(content)
			if err != nil {
				return err
			}
			return os.Symlink(string(target), full)
		}
		perm := fs.FileMode(0o666)
		if c.mode == "100755" {
			perm = 0o777
		}
		f, err := os.OpenFile(full, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
		if err != nil {
			return err
		}
		_, err = io.Copy(f, content)
		return errors.Join(err, f.Close())
	})
}

// metadata is the tree of the snapshot commit, by path.
func (r *Repo) metadata(ctx context.Context, s *Snapshot) (map[string][]byte, error) {
	out, err := git.Run(ctx, r.Root, "ls-tree", "-r", "-z", "--full-tree", s.Commit)
	if err != nil {
		return nil, err
	}
	var names, ids []string
	for _, l := range git.Fields(out) { // MODE TYPE ID\tPATH
		meta, name, _ := strings.Cut(l, "\t")
		if f := strings.Fields(meta); len(f) == 3 && f[1] == "blob" && !strings.HasPrefix(name, snapStages+"/") {
			names, ids = append(names, name), append(ids, f[2])
		}
	}
	all := map[string][]byte{}
	err = r.blobs(ctx, ids, func(i int, _ int64, content io.Reader) error {
		var err error
		all[names[i]], err = io.ReadAll(content)
		return err
	})
	return all, err
}

func applyModes(root string, modes []byte) error {
	for _, l := range git.Fields(string(modes)) {
		octal, name, _ := strings.Cut(l, " ")
		perm, err := strconv.ParseUint(octal, 8, 32)
		if err != nil {
			return err
		}
		if err := os.Chmod(filepath.Join(root, name), fs.FileMode(perm).Perm()); err != nil {
			return err
		}
	}
	return nil
}

// replaceIndex puts the saved index in place, under git's own lock.
func replaceIndex(ctx context.Context, t *Tree, meta map[string][]byte) error {
	name := filepath.Join(t.GitDir, "index")
	raw, ok := meta[snapIndex]
	if !ok {
		return nil
	}
	f, err := os.OpenFile(name+".lock", os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, bytes.NewReader(raw))
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	// The saved stat data are those of other files. 1 only says that there are changes.
	if _, err := git.Run(ctx, t.Path, "update-index", "-q", "--refresh"); err != nil && git.ExitCode(err) != 1 {
		return err
	}
	return nil
}
