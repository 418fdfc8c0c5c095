package worktree

import (
	"context"
	"errors"
	"path/filepath"

	"cmux/worktree/git"
	"cmux/worktree/gitfile"
	"cmux/worktree/hint"
	"cmux/worktree/prepare"
	"cmux/worktree/submodule"
)

// adopt goes on in a worktree that is there. It returns neither tree nor error
// when it has taken the worktree away and it must be made again.
func (r *Repo) adopt(ctx context.Context, s LendSpec, e registration) (*Tree, error) {
	if e.locked && s.Fresh {
		return nil, hint.Errorf("git worktree unlock -- "+git.ShellWord(e.path), "%w: %s (reason of the lock: %q)", ErrLocked, e.path, e.reason)
	}
	if err := r.relink(ctx, s.Path); err != nil {
		return nil, err
	}
	private, err := gitfile.Private(s.Path)
	if err != nil {
		return nil, err
	}
	t := &Tree{Path: s.Path, Branch: s.Branch, GitDir: private, Head: e.head, Owner: s.Owner, Adopted: true}
	record, err := git.ReadOwner(private)
	if err != nil {
		return nil, err
	}
	ours := record.Owner != "" && record.Owner == s.Owner
	if s.Fresh || ours && s.Branch == "" && e.branch == "" && e.head != s.Start {
		_, err := r.remove(ctx, s.Path, RemoveSpec{Name: snapshotName(s), Reason: "fresh start of " + s.Owner})
		return nil, err
	}
	op := git.Operation(private)
	if e.branch != s.Branch && !(ours && op == "rebase" && e.branch == "") {
		return nil, elsewhere(ctx, r, s, e)
	}

	if !ours {
		d, err := dirt(ctx, s.Path)
		if err != nil {
			return nil, err
		}
		if !d.Clean() {
			why := "left by " + orUnknown(record.Owner)
			if s.NoFresh {
				return nil, hint.Errorf(commitAll(s.Path), "%w: %s (%s: %s; %s)", ErrDirty, s.Path, d, git.Shown(d.Paths), why)
			}
			return nil, r.dirty(s.Path, d, why)
		}
	}
	err = submodule.Follow(ctx, &r.Repo, s.Path, func() error {
		if s.Branch == "" {
			return r.detachAt(ctx, s, t)
		}
		return r.goOn(ctx, s, t)
	})
	if err != nil {
		return nil, err
	}
	if !ours {
		if err := git.WriteOwner(private, git.OwnerFile, git.OwnerRecord{Owner: s.Owner, Branch: s.Branch, Start: s.Start}); err != nil {
			return nil, err
		}
		// What another owner prepared is not what this one asked for.
		if err := prepare.Unprepare(private); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// elsewhere says that a worktree is on something else than it is asked for, and how to
// have it there with nothing lost.
func elsewhere(ctx context.Context, r *Repo, s LendSpec, e registration) error {
	d, err := dirt(ctx, s.Path)
	if err != nil {
		return err
	}
	at, on := "git -C "+git.ShellWord(s.Path), e.branch
	way := at + " switch " + git.ShellWord(s.Branch)
	if s.Branch == "" {
		way = at + " switch --detach"
	} else if _, err := r.Tip(ctx, s.Branch); errors.Is(err, git.ErrBadRef) {
		way = at + " switch -c " + git.ShellWord(s.Branch) + " " + s.Start
	} else if err != nil {
		return err
	}
	if !d.Clean() {
		way = commitAll(s.Path) + " && " + way
	}
	if on == "" {
		on = "a detached HEAD"
		held, err := r.held(ctx, e.head)
		if err != nil {
			return err
		}
		if !held || !d.Clean() {
			way = at + " switch -c NAME && " + way
		}
	}
	if d.Operation != "" {
		way = "end the " + d.Operation + " there, then " + way
	}
	if !s.NoFresh {
		way += ", or --fresh, which saves what is there first"
	}
	return hint.Errorf(way, "%w: the worktree %s is on %s", ErrOccupied, s.Path, on)
}

// commitAll is the command that commits what a worktree holds.
func commitAll(path string) string {
	at := "git -C " + git.ShellWord(path)
	return at + " add -A && " + at + " commit -m 'what was left'"
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
			if copied, err := r.forgetCopied(ctx, e.path); copied || err != nil {
				if err != nil {
					return err
				}
				continue
			}
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
		return hint.Errorf("git -C "+git.ShellWord(e.path)+" switch --detach, or give the node another branch",
			"%w: %s is checked out in %s", ErrBranchOut, s.Branch, e.path)
	}
	return nil
}

// detachAt brings an adopted worktree without a branch to its start.
func (r *Repo) detachAt(ctx context.Context, s LendSpec, t *Tree) error {
	if t.Head == s.Start {
		return nil
	}
	if err := r.reachable(ctx, s.Path, t.Head); err != nil {
		return err
	}
	if _, err := git.Run(ctx, s.Path, "checkout", "--quiet", "--detach", "--no-overwrite-ignore", s.Start, "--"); err != nil {
		return err
	}
	t.Head = s.Start
	return nil
}

// goOn brings what is to be in an adopted worktree into its branch.
func (r *Repo) goOn(ctx context.Context, s LendSpec, t *Tree) error {
	t.Continued = true
	head, err := r.mergeInto(ctx, s.Branch, t.Head, s.Contributions)
	if err != nil {
		return err
	}
	if head != t.Head {
		d, err := dirt(ctx, s.Path)
		if err != nil {
			return err
		}
		r.RecordOwnBranch(s.Path, head)
		if d.Clean() {
			err = fastForward(ctx, s.Path, head)
		} else {
			err = r.carry(ctx, s, t.GitDir, t.Head, head)
		}
		if err != nil {
			return err
		}
		t.Head = head
	}
	t.Ahead, err = r.count(ctx, s.Start, t.Head)
	return err
}

func (r *Repo) dirty(path string, d Dirt, why string) error {
	return hint.Errorf("commit it (git -C "+git.ShellWord(path)+" add -A && git -C "+git.ShellWord(path)+" commit), or remove the worktree with cmux agents cleanup, or --fresh; both save it first",
		"%w: %s (%s: %s; %s)", ErrDirty, path, d, git.Shown(d.Paths), why)
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
		err = hint.Errorf("git -C "+git.ShellWord(path)+" branch NAME, or --fresh, which saves it first", "%w: %s is on commit %.12s, which no branch holds", ErrDirty, path, commit)
	}
	return err
}

// held tells whether some ref holds the commit.
func (r *Repo) held(ctx context.Context, commit string) (bool, error) {
	out, err := git.Run(ctx, r.Root, "for-each-ref", "--count=1", "--format=x", "--contains", commit)
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
