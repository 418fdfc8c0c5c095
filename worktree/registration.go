package worktree

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"cmux/worktree/git"
	"cmux/worktree/gitfile"
	"cmux/worktree/hint"
)

// registration is one entry of git worktree list.
type registration struct {
	path, branch string // branch: short, empty when detached
	head         string
	locked       bool
	reason       string // of the lock
}

// registrations lists the linked and the main worktree (the first).
func (r *Repo) registrations(ctx context.Context) ([]registration, error) {
	list := func() (string, error) { return git.Run(ctx, r.Root, "worktree", "list", "--porcelain", "-z") }
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
		return nil, hint.Errorf("set worktree_base to another folder", "%w: %s is the repository's main worktree", ErrOccupied, s.Path)
	}
	for _, e := range all {
		if e.path != s.Path {
			continue
		}
		if copied, err := r.forgetCopied(ctx, e.path); copied || err != nil {
			if err != nil {
				return nil, err
			}
			break // it is there, and another's
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
		return nil, hint.Errorf("move it away, or set worktree_base to another folder", "%w: %s exists and is no worktree", ErrOccupied, s.Path)
	}
	common, err := git.Run(ctx, s.Path, "rev-parse", "--path-format=absolute", "--git-common-dir")
	switch {
	case err != nil:
		return nil, hint.Errorf("move it away, or git worktree repair -- "+s.Path, "%w: %s was a worktree whose registration is gone", ErrOccupied, s.Path)
	case git.Line(common) == r.GitDir:
		return nil, hint.Errorf("git worktree repair -- "+git.ShellWord(s.Path), "%w: %s is a worktree of this repository that was moved or copied", ErrOccupied, s.Path)
	}
	return nil, hint.Errorf("set another session name or worktree_base", "%w: %s belongs to another repository (%s)", ErrOccupied, s.Path, git.Line(common))
}

// unfinished tells the worktree of an interrupted Lend, which nobody was given,
// or of an interrupted Remove, whose content is saved.
func (r *Repo) unfinished(path string) bool {
	private, err := r.FindPrivate(path)
	if err != nil {
		return false
	}
	for _, name := range []string{git.LendingFile, git.RemovingFile} {
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
		return nil, nil, hint.Errorf("git worktree unlock -- "+git.ShellWord(e.path), "%w: %s is missing (reason of the lock: %q)", ErrLocked, e.path, e.reason)
	}
	private, err := r.FindPrivate(e.path)
	if err != nil {
		return nil, nil, err
	}
	if _, err := os.Lstat(filepath.Join(private, "index")); err == nil {
		at := git.Command{Dir: r.Root, Args: []string{"diff-index", "--cached", "--quiet", "HEAD", "--"}, Env: []string{"GIT_DIR=" + private}}
		_, err := at.Run(ctx)
		if git.ExitCode(err) > 1 { // a branch without commits, or one whose ref is gone
			if _, verr := git.Run(ctx, r.Root, "--git-dir="+private, "rev-parse", "--verify", "--quiet", "HEAD^{commit}"); git.ExitCode(verr) != 1 {
				return nil, nil, err
			}
		}
		if git.ExitCode(err) >= 1 || git.Operation(private) != "" {
			if err := os.MkdirAll(e.path, 0o777); err != nil {
				return nil, nil, err
			}
			if err := os.WriteFile(filepath.Join(e.path, ".git"), []byte("gitdir: "+private+"\n"), 0o666); err != nil {
				return nil, nil, err
			}
			_, err := git.Run(ctx, e.path, "checkout-index", "--all", "--quiet")
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
	path, err := git.RealPath(path)
	if err != nil {
		return false
	}
	_, err = r.FindPrivate(path)
	return err == nil
}

// forgetCopied drops the registration of a worktree that belongs to another
// repository, and reports whether it is one: this repository is a copy of that
// one, with its registrations. The worktree itself is not touched.
func (r *Repo) forgetCopied(ctx context.Context, path string) (bool, error) {
	theirs, err := gitfile.Private(path)
	if err != nil || !git.There(theirs) || !r.Foreign(path) {
		return false, nil
	}
	private, err := r.FindPrivate(path)
	if err != nil {
		return false, err
	}
	if _, err := r.saveGone(ctx, private, path, "the worktree belongs to another repository"); err != nil {
		return false, err
	}
	unlock, err := r.lock(ctx)
	if err != nil {
		return false, err
	}
	defer unlock()
	if err := os.RemoveAll(private); err != nil {
		return false, err
	}
	git.Note(ctx, "forgot %s, a worktree of %s: this repository is a copy of it", path, gitfile.Common(theirs))
	return true, nil
}

// deregister removes a worktree together with its directory, whatever it
// holds. It works on one that an interruption has left without its .git file.
func (r *Repo) deregister(ctx context.Context, path string) error {
	private, err := r.FindPrivate(path)
	if err == nil {
		err = unmounted(path, private)
	}
	if err == nil && !isRemoving(private) {
		err = git.WriteFile(filepath.Join(private, git.RemovingFile), nil)
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
	_, err = git.Run(ctx, r.Root, "worktree", "remove", "--force", "--force", "--", path)
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

// Foreign reports whether path is a worktree of another repository.
func (r *Repo) Foreign(path string) bool {
	private, err := gitfile.Private(path)
	if errors.Is(err, gitfile.ErrNone) { // a folder: a repository of its own
		return git.There(filepath.Join(path, ".git", "HEAD"))
	}
	if err != nil {
		return false
	}
	common := gitfile.Common(private)
	if real, err := filepath.EvalSymlinks(common); err == nil {
		common = real
	}
	rel, err := filepath.Rel(r.GitDir, common)
	return err != nil || !filepath.IsLocal(rel) // a lost registration of ours lies below
}
