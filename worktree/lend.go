package worktree

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// LendSpec says which worktree is wanted.
type LendSpec struct {
	Path   string // of the worktree; made absolute
	Branch string // short name; empty: a detached HEAD at Start
	Start  string // commit at which a new branch, a fresh one and a detached HEAD begin
	// Contributions must be in the branch. Start holds them already; those
	// that a continued branch lacks are merged into it.
	Contributions []Tip
	Fresh         bool   // snapshot what is there and begin again at Start
	Owner         string // session/run/node: who may go on in a dirty tree
}

// Tree is a lent worktree.
type Tree struct {
	Path   string // absolute, links resolved
	Branch string // short name; empty: detached
	GitDir string // the worktree's private git directory
	Head   string // commit at the time of Lend
	Owner  string

	Continued bool // the branch was there before
	Ahead     int  // commits of a continued branch that Start does not hold
	Adopted   bool // the directory was there before

	Torn       bool // of Tree: cmux lent it, and the file that says to whom is damaged
	Unfinished bool // of Tree: an interrupted Lend left it, or an interrupted Remove; nobody works in it
}

// names of cmux's own files in a worktree's private git directory.
const (
	lendingFile  = "cmux-lending"  // an owner record whose checkout has not ended
	ownerFile    = "cmux-owner"    // an owner record
	preparedFile = "cmux-prepared" // see Prepare
	removingFile = "cmux-removing" // the snapshot is taken, the rest may go
)

type ownerRecord struct {
	Owner  string `json:"owner"`
	Branch string `json:"branch,omitempty"`
	Start  string `json:"start"`
}

// Lend makes the worktree, or takes over what is already there:
//
//   - a branch that exists is continued at its tip, with those of the
//     Contributions it lacks merged in (a *ConflictError when they conflict);
//   - a tree that an earlier attempt of the same Owner left goes on as it is,
//     dirty or not; a contribution that is missing comes under its unfinished
//     work, which is saved first (a *ConflictError when the two do not fit);
//   - a clean tree on the branch is adopted; a detached one is moved to Start;
//   - a directory removed by hand is made again, with what was staged in it.
//
// A dirty tree of another owner (ErrDirty), a path that holds anything else
// (ErrOccupied), a branch checked out elsewhere (ErrBranchOut) and a worktree
// somebody locked (ErrLocked) are refused, changing nothing. A Lend that was
// interrupted is completed by the next. Submodules that the main worktree has
// are checked out from its objects.
func (r *Repo) Lend(ctx context.Context, s LendSpec) (*Tree, error) {
	path, err := realPath(s.Path)
	if err != nil {
		return nil, err
	}
	s.Path = path
	release, err := r.claim(path)
	if err != nil {
		return nil, err
	}
	defer release()
	return r.lend(ctx, s)
}

// realPath is path made absolute with the links of its existing parents
// resolved, as git records it.
func realPath(path string) (string, error) {
	if path == "" {
		return "", errors.New("a worktree needs a path")
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	real, err := filepath.EvalSymlinks(path)
	if err == nil || !errors.Is(err, fs.ErrNotExist) {
		return real, err
	}
	parent, err := realPath(filepath.Dir(path))
	if err != nil {
		return "", err
	}
	return filepath.Join(parent, filepath.Base(path)), nil
}

func (r *Repo) lend(ctx context.Context, s LendSpec) (*Tree, error) {
	// Nearly always nothing is there: try, and look closer only when it fails.
	if free, err := absentOrEmpty(s.Path); err != nil {
		return nil, err
	} else if free && !s.Fresh {
		if t, err := r.create(ctx, s, ""); err == nil || ctx.Err() != nil || errors.Is(err, ErrSubmodule) || errors.Is(err, errCheckout) {
			return t, err
		}
	}

	if s.Branch != "" {
		if _, err := git(ctx, r.Root, "check-ref-format", "refs/heads/"+s.Branch); err != nil {
			if exitCode(err) > 0 {
				err = fmt.Errorf("git does not allow the branch name %q", s.Branch)
			}
			return nil, err
		}
	}
	entry, err := r.clearPath(ctx, s)
	if err != nil {
		return nil, err
	}
	if entry != nil {
		t, err := r.adopt(ctx, s, *entry)
		if t != nil || err != nil {
			return t, err
		}
	}
	if s.Branch == "" {
		return r.create(ctx, s, "")
	}
	if err := r.freeBranch(ctx, s); err != nil {
		return nil, err
	}
	old, err := r.Tip(ctx, s.Branch)
	if errors.Is(err, ErrBadRef) {
		return r.create(ctx, s, "")
	} else if err != nil {
		return nil, err
	}
	return r.create(ctx, s, old)
}

var errCheckout = errors.New("checkout failed")

// create adds the worktree. old is the tip of a branch that exists; without it
// the branch is made at Start. When it fails, everything is as it was.
func (r *Repo) create(ctx context.Context, s LendSpec, old string) (*Tree, error) {
	t := &Tree{Path: s.Path, Branch: s.Branch, Head: s.Start, Owner: s.Owner}
	if old != "" && !s.Fresh {
		var err error
		t.Continued = true
		if t.Head, err = r.mergeInto(ctx, s.Branch, old, s.Contributions); err != nil {
			return nil, err
		}
		if t.Ahead, err = r.count(ctx, s.Start, t.Head); err != nil {
			return nil, err
		}
	} else if old != "" {
		if err := r.saveTip(ctx, s, old); err != nil {
			return nil, err
		}
	}
	undo := func(context.Context) error { return nil }
	if s.Branch != "" && t.Head != old {
		ref := "refs/heads/" + s.Branch
		if err := r.UpdateRef(ctx, ref, t.Head, old); err != nil {
			return nil, err
		}
		undo = func(ctx context.Context) error {
			if old == "" {
				_, err := git(ctx, r.Root, "update-ref", "-d", ref, t.Head)
				return err
			}
			return r.UpdateRef(ctx, ref, old, t.Head)
		}
	}
	err := r.add(ctx, s, t)
	if err != nil {
		// The caller may have been cancelled; what was begun is taken back all the same.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
		defer cancel()
		return nil, errors.Join(err, undo(ctx))
	}
	return t, r.lendSubmodules(ctx, t)
}

// add registers the worktree and checks its files out. Only the registration
// is serialised: a checkout is most of the time.
func (r *Repo) add(ctx context.Context, s LendSpec, t *Tree) error {
	args := []string{"worktree", "add", "--no-checkout", "--no-guess-remote", "--quiet"}
	commitish := s.Branch
	if s.Branch == "" {
		args, commitish = append(args, "--detach"), t.Head
	}
	unlock, err := r.lock(ctx)
	if err != nil {
		return err
	}
	_, err = git(ctx, r.Root, append(args, "--", t.Path, commitish)...)
	unlock()
	if err != nil {
		return err
	}
	if t.GitDir, err = privateDir(ctx, t.Path); err == nil {
		err = writeOwner(t.GitDir, lendingFile, ownerRecord{s.Owner, s.Branch, s.Start})
	}
	if err == nil {
		_, err = git(ctx, t.Path, "reset", "--hard", "--quiet", "--no-recurse-submodules")
	}
	if err == nil {
		err = os.Rename(filepath.Join(t.GitDir, lendingFile), filepath.Join(t.GitDir, ownerFile))
	}
	if err != nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
		defer cancel()
		return errors.Join(fmt.Errorf("%w: %s: %w", errCheckout, t.Path, err), r.deregister(ctx, t.Path))
	}
	return nil
}

// deregister removes a worktree together with its directory, whatever it
// holds. It works on one that an interruption has left without its .git file.
func (r *Repo) deregister(ctx context.Context, path string) error {
	private, err := r.findPrivate(path)
	if err == nil {
		err = unmounted(path, private)
	}
	if err == nil && !isRemoving(private) {
		err = writeFile(filepath.Join(private, removingFile), nil)
	}
	if err != nil {
		return err
	}
	if err := removeAll(path); err != nil { // outside the lock: it may take long
		return err
	}
	unlock, err := r.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	_, err = git(ctx, r.Root, "worktree", "remove", "--force", "--force", "--", path)
	return err
}

// removeAll is os.RemoveAll that also empties directories without write
// permission, as some package managers leave them.
func removeAll(path string) error {
	err := os.RemoveAll(path)
	if !errors.Is(err, fs.ErrPermission) {
		return err
	}
	walkErr := filepath.WalkDir(path, func(name string, d fs.DirEntry, err error) error {
		if d == nil || !d.IsDir() {
			return err
		}
		return os.Chmod(name, 0o700) // before its entries are read
	})
	return errors.Join(walkErr, os.RemoveAll(path))
}

// mergeInto is the commit a branch with this tip goes on from.
func (r *Repo) mergeInto(ctx context.Context, branch, tip string, tips []Tip) (string, error) {
	if len(tips) == 0 {
		return tip, nil
	}
	head, err := r.Merge(ctx, tip, tips)
	var conflict *ConflictError
	if errors.As(err, &conflict) {
		conflict.Into = branch
	}
	return head, err
}

func (r *Repo) count(ctx context.Context, from, to string) (int, error) {
	if from == to {
		return 0, nil
	}
	out, err := git(ctx, r.Root, "rev-list", "--count", "--end-of-options", from+".."+to)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(line(out))
}

// registration is one entry of git worktree list.
type registration struct {
	path, branch string // branch: short, empty when detached
	head         string
	locked       bool
	reason       string // of the lock
}

// registrations lists the linked and the main worktree (the first).
func (r *Repo) registrations(ctx context.Context) ([]registration, error) {
	list := func() (string, error) { return git(ctx, r.Root, "worktree", "list", "--porcelain", "-z") }
	out, err := list()
	if err != nil && r.dropHalfMade(ctx) {
		out, err = list()
	}
	if err != nil {
		return nil, err
	}
	var all []registration
	for _, l := range strings.Split(out, "\x00") {
		key, value, _ := strings.Cut(l, " ")
		if key == "worktree" {
			all = append(all, registration{path: value})
			continue
		}
		if len(all) == 0 {
			continue
		}
		e := &all[len(all)-1]
		switch key {
		case "HEAD":
			e.head = value
		case "branch":
			e.branch = strings.TrimPrefix(value, "refs/heads/")
		case "locked":
			e.locked, e.reason = true, value
		}
	}
	if len(all) > 0 {
		all[0].path = r.Root // git guesses it wrong beside a separate git directory
	}
	return all, nil
}

// clearPath returns the registration of a live worktree at the path, or nil
// when the path can be used. It takes away what an interrupted Lend left and
// the registration of a directory that is gone.
func (r *Repo) clearPath(ctx context.Context, s LendSpec) (*registration, error) {
	all, err := r.registrations(ctx)
	if err != nil {
		return nil, err
	}
	if s.Path == r.Root {
		return nil, hint("set worktree_base to another folder", "%w: %s is the repository's main worktree", ErrOccupied, s.Path)
	}
	for _, e := range all {
		if e.path != s.Path {
			continue
		}
		free, err := absentOrEmpty(s.Path)
		if err != nil {
			return nil, err
		}
		if free {
			left, _, err := r.revive(ctx, e, "the folder was gone")
			return left, err
		}
		if r.unfinished(s.Path) {
			_, err := r.remove(ctx, s.Path, RemoveSpec{Name: snapshotName(s), Reason: "its removal was interrupted"})
			return nil, err
		}
		return &e, nil
	}
	free, err := absentOrEmpty(s.Path)
	if free || err != nil {
		return nil, err
	}
	if _, err := os.Lstat(filepath.Join(s.Path, ".git")); err != nil {
		return nil, hint("move it away, or set worktree_base to another folder", "%w: %s exists and is no worktree", ErrOccupied, s.Path)
	}
	common, err := git(ctx, s.Path, "rev-parse", "--path-format=absolute", "--git-common-dir")
	switch {
	case err != nil:
		return nil, hint("move it away, or git worktree repair -- "+s.Path, "%w: %s was a worktree whose registration is gone", ErrOccupied, s.Path)
	case line(common) == r.GitDir:
		return nil, hint("git worktree repair -- "+shellWord(s.Path), "%w: %s is a worktree of this repository that was moved or copied", ErrOccupied, s.Path)
	}
	return nil, hint("set another session name or worktree_base", "%w: %s belongs to another repository (%s)", ErrOccupied, s.Path, line(common))
}

// unfinished tells the worktree of an interrupted Lend, which nobody was given,
// or of an interrupted Remove, whose content is saved.
func (r *Repo) unfinished(path string) bool {
	private, err := r.findPrivate(path)
	if err != nil {
		return false
	}
	for _, name := range []string{lendingFile, removingFile} {
		if _, err := os.Lstat(filepath.Join(private, name)); err == nil {
			return true
		}
	}
	if _, err := os.Lstat(filepath.Join(private, "index")); err == nil {
		return false
	}
	entries, err := os.ReadDir(path)
	return err == nil && len(entries) == 1 && entries[0].Name() == ".git"
}

// revive deals with a registration whose directory is gone: one with staged
// work is made again from its index and returned; any other is dropped, once
// what it alone holds is saved.
func (r *Repo) revive(ctx context.Context, e registration, why string) (*registration, *Snapshot, error) {
	if e.locked && e.reason != initializing {
		return nil, nil, hint("git worktree unlock -- "+shellWord(e.path), "%w: %s is missing (reason of the lock: %q)", ErrLocked, e.path, e.reason)
	}
	private, err := r.findPrivate(e.path)
	if err != nil {
		return nil, nil, err
	}
	if _, err := os.Lstat(filepath.Join(private, "index")); err == nil {
		at := command{dir: r.Root, args: []string{"diff-index", "--cached", "--quiet", "HEAD", "--"}, env: []string{"GIT_DIR=" + private}}
		_, err := at.run(ctx)
		if exitCode(err) > 1 { // a branch without commits, or one whose ref is gone
			if _, verr := git(ctx, r.Root, "--git-dir="+private, "rev-parse", "--verify", "--quiet", "HEAD^{commit}"); exitCode(verr) != 1 {
				return nil, nil, err
			}
		}
		if exitCode(err) >= 1 || operation(private) != "" {
			if err := os.MkdirAll(e.path, 0o777); err != nil {
				return nil, nil, err
			}
			if err := os.WriteFile(filepath.Join(e.path, ".git"), []byte("gitdir: "+private+"\n"), 0o666); err != nil {
				return nil, nil, err
			}
			_, err := git(ctx, e.path, "checkout-index", "--all", "--quiet")
			return &e, nil, err
		} else if err != nil {
			return nil, nil, err
		}
	}
	saved, err := r.saveGone(ctx, private, e.path, why)
	if err != nil {
		return nil, nil, err
	}
	return nil, saved, r.deregister(ctx, e.path)
}

// Registered tells whether the repository knows a worktree at path, be its
// folder there or not.
func (r *Repo) Registered(path string) bool {
	path, err := realPath(path)
	if err != nil {
		return false
	}
	_, err = r.findPrivate(path)
	return err == nil
}

// findPrivate finds the private git directory registered for a path.
func (r *Repo) findPrivate(path string) (string, error) {
	base := filepath.Join(r.GitDir, "worktrees")
	entries, err := os.ReadDir(base)
	if err != nil {
		return "", err
	}
	for _, e := range entries {
		private := filepath.Join(base, e.Name())
		b, err := os.ReadFile(filepath.Join(private, "gitdir"))
		if err == nil && strings.TrimSuffix(line(string(b)), "/.git") == path {
			return private, nil
		}
	}
	return "", fmt.Errorf("no registration for the worktree %s in %s", path, base)
}

// freeBranch makes sure that no other worktree has the branch.
func (r *Repo) freeBranch(ctx context.Context, s LendSpec) error {
	all, err := r.registrations(ctx)
	if err != nil {
		return err
	}
	for i, e := range all {
		if e.branch != s.Branch || e.path == s.Path {
			continue
		}
		if i > 0 {
			free, err := absentOrEmpty(e.path)
			if err != nil {
				return err
			}
			if free {
				left, _, err := r.revive(ctx, e, "the folder was gone")
				if err != nil {
					return err
				}
				if left == nil {
					continue
				}
			}
		}
		return hint("git -C "+shellWord(e.path)+" switch --detach, or give the node another branch",
			"%w: %s is checked out in %s", ErrBranchOut, s.Branch, e.path)
	}
	return nil
}

// adopt goes on in a worktree that is there. It returns neither tree nor error
// when it has taken the worktree away and it must be made again.
func (r *Repo) adopt(ctx context.Context, s LendSpec, e registration) (*Tree, error) {
	if e.locked && s.Fresh {
		return nil, hint("git worktree unlock -- "+shellWord(e.path), "%w: %s (reason of the lock: %q)", ErrLocked, e.path, e.reason)
	}
	if err := r.relink(ctx, s.Path); err != nil {
		return nil, err
	}
	private, err := readGitFile(s.Path)
	if err != nil {
		return nil, err
	}
	t := &Tree{Path: s.Path, Branch: s.Branch, GitDir: private, Head: e.head, Owner: s.Owner, Adopted: true}
	record, err := readOwner(private)
	if err != nil {
		return nil, err
	}
	ours := record.Owner != "" && record.Owner == s.Owner
	if s.Fresh || ours && s.Branch == "" && e.branch == "" && e.head != s.Start {
		_, err := r.remove(ctx, s.Path, RemoveSpec{Name: snapshotName(s), Reason: "fresh start of " + s.Owner})
		return nil, err
	}
	op := operation(private)
	if e.branch != s.Branch && !(ours && op == "rebase" && e.branch == "") {
		on := e.branch
		if on == "" {
			on = "a detached HEAD"
		}
		way := "git -C " + shellWord(s.Path) + " switch " + shellWord(s.Branch)
		if s.Branch == "" {
			way = "git -C " + shellWord(s.Path) + " switch --detach"
		}
		return nil, hint(way+", or --fresh, which saves what is there first", "%w: the worktree %s is on %s", ErrOccupied, s.Path, on)
	}

	var d Dirt
	if !ours {
		if d, err = dirt(ctx, s.Path); err != nil {
			return nil, err
		}
		if !d.Clean() {
			return nil, r.dirty(s.Path, d, fmt.Sprintf("left by %s", orUnknown(record.Owner)))
		}
	}
	if s.Branch == "" {
		if e.head != s.Start {
			if err := r.reachable(ctx, s.Path, e.head); err != nil {
				return nil, err
			}
			if _, err := git(ctx, s.Path, "checkout", "--quiet", "--detach", "--no-overwrite-ignore", s.Start, "--"); err != nil {
				return nil, err
			}
			t.Head = s.Start
		}
	} else {
		t.Continued = true
		head, err := r.mergeInto(ctx, s.Branch, e.head, s.Contributions)
		if err != nil {
			return nil, err
		}
		if head != e.head {
			if ours {
				if d, err = dirt(ctx, s.Path); err != nil {
					return nil, err
				}
			}
			if !d.Clean() {
				err = r.carry(ctx, s, private, e.head, head)
			} else {
				_, err = git(ctx, s.Path, "merge", "--ff-only", "--quiet", "--no-overwrite-ignore", "--end-of-options", head)
			}
			if err != nil {
				return nil, err
			}
			t.Head = head
		}
		if t.Ahead, err = r.count(ctx, s.Start, t.Head); err != nil {
			return nil, err
		}
	}
	if !ours {
		if err := writeOwner(private, ownerFile, ownerRecord{s.Owner, s.Branch, s.Start}); err != nil {
			return nil, err
		}
		// What another owner prepared is not what this one asked for.
		if err := os.Remove(filepath.Join(private, preparedFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	return t, r.lendSubmodules(ctx, t)
}

func (r *Repo) dirty(path string, d Dirt, why string) error {
	return hint("commit it (git -C "+shellWord(path)+" add -A && git -C "+shellWord(path)+" commit), or remove the worktree with cmux agents cleanup, or --fresh; both save it first",
		"%w: %s (%s: %s; %s)", ErrDirty, path, d, shown(d.Paths), why)
}

func orUnknown(owner string) string {
	if owner == "" {
		return "something else than cmux"
	}
	return owner
}

// reachable refuses to leave a commit that no ref would hold.
func (r *Repo) reachable(ctx context.Context, path, commit string) error {
	held, err := r.held(ctx, commit)
	if err == nil && !held {
		err = hint("git -C "+shellWord(path)+" branch NAME, or --fresh, which saves it first", "%w: %s is on commit %.12s, which no branch holds", ErrDirty, path, commit)
	}
	return err
}

// held tells whether some ref holds the commit.
func (r *Repo) held(ctx context.Context, commit string) (bool, error) {
	out, err := git(ctx, r.Root, "for-each-ref", "--count=1", "--format=x", "--contains", commit)
	return out != "", err
}

// saveTip snapshots a branch without worktree that is about to be reset.
func (r *Repo) saveTip(ctx context.Context, s LendSpec, tip string) error {
	n, err := r.count(ctx, s.Start, tip)
	if err != nil || n == 0 {
		return err
	}
	_, err = r.snapshotCommit(ctx, tip, s.Branch, SnapshotSpec{Name: snapshotName(s), Reason: "fresh start of " + s.Branch})
	return err
}

func snapshotName(s LendSpec) string {
	if s.Branch != "" {
		return s.Branch
	}
	return filepath.Base(s.Path)
}

// Tree is the worktree at path, as Lend left it and with its present commit. A
// link in its place is ErrLinked: what it leads to is another's.
func (r *Repo) Tree(ctx context.Context, path string) (*Tree, error) {
	if info, err := os.Lstat(path); err == nil && info.Mode()&fs.ModeSymlink != 0 {
		return nil, hint("rm "+shellWord(path), "%w: %s", ErrLinked, path)
	}
	path, err := realPath(path)
	if err != nil {
		return nil, err
	}
	all, err := r.registrations(ctx)
	if err != nil {
		return nil, err
	}
	for _, e := range all {
		if e.path != path {
			continue
		}
		private := r.GitDir
		if path != r.Root {
			// By the registration: the tree may have lost its .git file.
			if private, err = r.findPrivate(path); err != nil {
				return nil, err
			}
		}
		rec, err := readOwner(private)
		return &Tree{
			Path: path, Branch: e.branch, GitDir: private, Head: e.head, Owner: rec.Owner, Adopted: true,
			Unfinished: path != r.Root && r.unfinished(path), Torn: torn(private),
		}, err
	}
	return nil, hint("git worktree list", "%w: %s is no worktree of %s", ErrOccupied, path, r.Root)
}

// privateDir is the private git directory of the worktree whose root is dir.
func privateDir(ctx context.Context, dir string) (string, error) {
	if private, err := readGitFile(dir); err == nil {
		return private, nil
	}
	out, err := git(ctx, dir, "rev-parse", "--path-format=absolute", "--git-dir")
	return line(out), err
}

// readGitFile follows the .git file of a linked worktree.
func readGitFile(path string) (string, error) {
	name := filepath.Join(path, ".git")
	b, err := os.ReadFile(name)
	if err != nil {
		return "", err
	}
	private, ok := strings.CutPrefix(line(string(b)), "gitdir: ")
	if !ok {
		return "", fmt.Errorf("%s is no git file", name)
	}
	if !filepath.IsAbs(private) {
		private = filepath.Join(path, private)
	}
	return filepath.Clean(private), nil
}

func readOwner(private string) (ownerRecord, error) {
	var rec ownerRecord
	b, err := os.ReadFile(filepath.Join(private, ownerFile))
	if errors.Is(err, fs.ErrNotExist) {
		return rec, nil
	} else if err != nil {
		return rec, err
	}
	if err := json.Unmarshal(b, &rec); err != nil {
		return ownerRecord{}, nil // torn by a crash: nobody's, so a dirty tree is refused
	}
	return rec, nil
}

// torn tells an owner's file that cmux made and that is none any more.
func torn(private string) bool {
	info, err := os.Lstat(filepath.Join(private, ownerFile))
	if err != nil {
		return false
	}
	b, err := os.ReadFile(filepath.Join(private, ownerFile))
	return !info.Mode().IsRegular() || err == nil && !json.Valid(b)
}

func writeOwner(private, name string, rec ownerRecord) error {
	return writeJSON(filepath.Join(private, name), rec)
}

// writeJSON replaces a file whole.
func writeJSON(name string, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return writeFile(name, append(b, '\n'))
}

func writeFile(name string, b []byte) error {
	f, err := os.CreateTemp(filepath.Dir(name), filepath.Base(name)+".tmp*")
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

// absentOrEmpty tells whether git would make a worktree at path.
func absentOrEmpty(path string) (bool, error) {
	entries, err := os.ReadDir(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return true, nil
	case errors.Is(err, syscall.ENOTDIR):
		return false, nil
	case err != nil:
		return false, err
	}
	return len(entries) == 0, nil
}
