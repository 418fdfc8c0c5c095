package worktree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"cmux/worktree/git"
	"cmux/worktree/hint"
	"cmux/worktree/merge"
	"cmux/worktree/prepare"
	"cmux/worktree/separate"
	"cmux/worktree/submodule"
)

// LendSpec says which worktree is wanted.
type LendSpec struct {
	Path   string // of the worktree; made absolute
	Branch string // short name; empty: a detached HEAD at Start
	Start  string // commit at which a new branch, a fresh one and a detached HEAD begin
	// Contributions must be in the branch. Start holds them already; those
	// that a continued branch lacks are merged into it.
	Contributions []merge.Tip
	Fresh         bool   // snapshot what is there and begin again at Start
	NoFresh       bool   // who asks has no --fresh: no message names it
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
	path, err := git.RealPath(s.Path)
	if err != nil {
		return nil, err
	}
	s.Path = path
	release, err := r.claim(path)
	if err != nil {
		return nil, err
	}
	defer release()
	if err := separate.Rejoin(ctx, r.GitDir, s.Path); err != nil {
		return nil, err
	}
	return r.lend(ctx, s)
}

func (r *Repo) lend(ctx context.Context, s LendSpec) (*Tree, error) {
	// Nearly always nothing is there: try, and look closer only when it fails.
	if free, err := absentOrEmpty(s.Path); err != nil {
		return nil, err
	} else if free && !s.Fresh {
		if t, err := r.create(ctx, s, ""); err == nil || ctx.Err() != nil || errors.Is(err, submodule.ErrCheckout) || errors.Is(err, errCheckout) {
			return t, err
		}
	}

	if s.Branch != "" {
		if _, err := git.Run(ctx, r.Root, "check-ref-format", "refs/heads/"+s.Branch); err != nil {
			if git.ExitCode(err) > 0 {
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
	if errors.Is(err, git.ErrBadRef) {
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
	t, undo, err := branch(ctx, r, s, old)
	if err != nil {
		return nil, err
	}
	if err := r.add(ctx, s, t); err != nil {
		// The caller may have been cancelled; what was begun is taken back all the same.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
		defer cancel()
		return nil, errors.Join(err, undo(ctx))
	}
	return t, nil
}

// branch makes or continues the branch of a worktree. old is its tip; empty: there is
// none. undo takes that back.
func branch(ctx context.Context, r *Repo, s LendSpec, old string) (t *Tree, undo func(context.Context) error, err error) {
	t = &Tree{Path: s.Path, Branch: s.Branch, Head: s.Start, Owner: s.Owner}
	if old != "" && !s.Fresh {
		t.Continued = true
		if t.Head, err = r.mergeInto(ctx, s.Branch, old, s.Contributions); err != nil {
			return nil, nil, err
		}
		if t.Ahead, err = r.count(ctx, s.Start, t.Head); err != nil {
			return nil, nil, err
		}
	} else if old != "" {
		if err := r.saveTip(ctx, s, old); err != nil {
			return nil, nil, err
		}
	}
	undo = func(context.Context) error { return nil }
	if s.Branch != "" && t.Head != old {
		ref := "refs/heads/" + s.Branch
		if err := r.UpdateRef(ctx, ref, t.Head, old); err != nil {
			return nil, nil, err
		}
		undo = func(ctx context.Context) error {
			if old == "" {
				return r.DeleteRef(ctx, ref, t.Head)
			}
			return r.UpdateRef(ctx, ref, old, t.Head)
		}
	}
	return t, undo, nil
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
	_, err = git.Run(ctx, r.Root, append(args, "--", t.Path, commitish)...)
	unlock()
	if err != nil {
		return err
	}
	if t.GitDir, err = git.PrivateDir(ctx, t.Path); err == nil {
		err = git.WriteOwner(t.GitDir, git.LendingFile, git.OwnerRecord{Owner: s.Owner, Branch: s.Branch, Start: s.Start})
	}
	if err == nil {
		err = submodule.Follow(ctx, &r.Repo, t.Path, func() error {
			if _, err := git.Run(ctx, t.Path, "reset", "--hard", "--quiet", "--no-recurse-submodules"); err != nil {
				return err
			}
			return prepare.Baseline(ctx, t.Path, t.GitDir)
		})
	}
	if err == nil {
		err = os.Rename(filepath.Join(t.GitDir, git.LendingFile), filepath.Join(t.GitDir, git.OwnerFile))
	}
	if err != nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
		defer cancel()
		return errors.Join(fmt.Errorf("%w: %s: %w", errCheckout, t.Path, err), r.deregister(ctx, t.Path))
	}
	return nil
}

// mergeInto is the commit a branch with this tip goes on from.
func (r *Repo) mergeInto(ctx context.Context, branch, tip string, tips []merge.Tip) (string, error) {
	if len(tips) == 0 {
		return tip, nil
	}
	head, err := r.Merge(ctx, tip, tips)
	var conflict *merge.ConflictError
	if errors.As(err, &conflict) {
		conflict.Into = branch
		conflict.CallBase(branch)
	}
	return head, err
}

func (r *Repo) count(ctx context.Context, from, to string) (int, error) {
	if from == to {
		return 0, nil
	}
	out, err := git.Run(ctx, r.Root, "rev-list", "--count", "--end-of-options", from+".."+to)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(git.Line(out))
}

// Tree is the worktree at path, as Lend left it and with its present commit. A
// link in its place is ErrLinked: what it leads to is another's.
func (r *Repo) Tree(ctx context.Context, path string) (*Tree, error) {
	if info, err := os.Lstat(path); err == nil && info.Mode()&fs.ModeSymlink != 0 {
		return nil, hint.Errorf("rm "+git.ShellWord(path), "%w: %s", ErrLinked, path)
	}
	path, err := git.RealPath(path)
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
		private := r.PrivateOf(path)
		if path != r.Root {
			// By the registration: the tree may have lost its .git file.
			if private, err = r.FindPrivate(path); err != nil {
				return nil, err
			}
		}
		rec, err := git.ReadOwner(private)
		return &Tree{
			Path: path, Branch: e.branch, GitDir: private, Head: e.head, Owner: rec.Owner, Adopted: true,
			Unfinished: path != r.Root && r.unfinished(path), Torn: git.Torn(private),
		}, err
	}
	return nil, hint.Errorf("git worktree list", "%w: %s is no worktree of %s", ErrOccupied, path, r.Root)
}
