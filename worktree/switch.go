package worktree

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"

	"cmux/worktree/git"
	"cmux/worktree/hint"
	"cmux/worktree/prepare"
	"cmux/worktree/submodule"
)

// SwitchSpec says what is to be checked out in a worktree that goes from one
// piece of work to the next.
type SwitchSpec struct {
	Path   string // of the worktree
	Branch string // short name; it is made at Start where it is not there; empty: Start itself, detached
	Start  string // commit
	Reason string // why what is not committed leaves, for its snapshot

	// Stay says that what is not committed stays where it is: nothing is reset, and
	// git refuses the switch when a change is in its way. It is in the snapshot all
	// the same.
	Stay bool

	// Drop are tracked paths of which, with Stay, nothing is to stay but the snapshot:
	// they go back to what is committed.
	Drop []string
}

// Switch checks a branch out in a worktree that stays where it is. What is not
// committed there is saved first, and then leaves it; what copy, link and setup
// brought stays. The snapshot is nil where there was nothing to save.
// The submodules follow.
func (r *Repo) Switch(ctx context.Context, s SwitchSpec) (saved *Snapshot, err error) {
	f := submodule.Follower{Repo: &r.Repo, Root: s.Path, Force: !s.Stay}
	err = f.Run(ctx, func() error {
		saved, err = r.switchTo(ctx, s)
		return err
	})
	return saved, err
}

func (r *Repo) switchTo(ctx context.Context, s SwitchSpec) (saved *Snapshot, err error) {
	private, err := git.PrivateDir(ctx, s.Path)
	if err != nil {
		return nil, err
	}
	if op := git.Operation(private); op != "" {
		return nil, hint.Errorf("end it in "+s.Path, "%w: a %s is in progress in %s", ErrDirty, op, s.Path)
	}
	on, err := git.Run(ctx, s.Path, "symbolic-ref", "--quiet", "--short", "HEAD")
	if err != nil && git.ExitCode(err) != 1 {
		return nil, err
	}
	leaves := git.Line(on)
	if leaves == "" {
		leaves = "detached"
	}
	entries, err := prepare.Dirty(ctx, s.Path)
	if err != nil {
		return nil, err
	}
	p, err := prepare.ReadRecord(private)
	if err != nil {
		return nil, err
	}
	own, rest, err := p.Own(ctx, s.Path, entries)
	if err != nil {
		return nil, err
	}
	alone := false // commits that nothing else names
	if leaves == "detached" {
		head, err := git.Run(ctx, s.Path, "rev-parse", "HEAD")
		if err != nil {
			return nil, err
		}
		held, err := r.held(ctx, git.Line(head))
		if err != nil {
			return nil, err
		}
		alone = !held
	}
	if len(own) > 0 || alone {
		if saved, err = r.Snapshot(ctx, s.Path, SnapshotSpec{Name: leaves, Reason: s.Reason}); err != nil {
			return nil, err
		}
	}
	if len(own) > 0 && !s.Stay {
		if _, err := git.Run(ctx, s.Path, "reset", "--hard", "--quiet"); err != nil {
			return saved, err
		}
		// Who works there may put a link in the place of a folder: nothing outside is removed.
		root, err := os.OpenRoot(s.Path)
		if err != nil {
			return saved, err
		}
		defer root.Close()
		for _, e := range own {
			if e.Kind != '?' || saved == nil || slices.Contains(saved.Omitted, e.Path) {
				continue
			}
			// What a snapshot does not take in stays.
			info, err := root.Lstat(e.Path)
			if err != nil || info.IsDir() {
				continue
			}
			if err := root.Remove(e.Path); err != nil {
				return saved, err
			}
		}
	}
	rest = slices.DeleteFunc(rest, func(e git.StatusEntry) bool { return e.Kind == '?' || p.At(e.Path) != nil })
	back, err := prepare.SetAside(ctx, s.Path, rest)
	if err != nil {
		return saved, err
	}
	defer func() { err = errors.Join(err, back()) }()
	if s.Stay && len(s.Drop) > 0 && saved != nil {
		back := git.Command{Dir: s.Path, Args: []string{"restore", "--quiet", "--source=HEAD", "--staged", "--worktree", "--pathspec-from-file=-", "--pathspec-file-nul"},
			Env: []string{"GIT_LITERAL_PATHSPECS=1"}, Stdin: []byte(strings.Join(s.Drop, "\x00"))}
		if _, err := back.Run(ctx); err != nil {
			return saved, err
		}
	}
	if s.Branch == "" {
		_, err := git.Run(ctx, s.Path, "checkout", "--quiet", "--no-overwrite-ignore", "--detach", s.Start, "--")
		return saved, err
	}
	if leaves == s.Branch {
		return saved, nil
	}
	args := []string{"checkout", "--quiet", "--no-overwrite-ignore"}
	if _, err := git.Run(ctx, r.Root, "rev-parse", "--verify", "--quiet", "refs/heads/"+s.Branch); err != nil {
		if git.ExitCode(err) != 1 {
			return saved, err
		}
		r.RecordOwn(git.Own{Ref: "refs/heads/" + s.Branch, New: s.Start})
		args = append(args, "--no-track", "-b", s.Branch, s.Start)
	} else {
		args = append(args, s.Branch)
	}
	_, err = git.Run(ctx, s.Path, append(args, "--")...)
	return saved, err
}
