package worktree

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
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
	f := follower{r: r, root: s.Path, force: !s.Stay}
	err = f.run(ctx, func() error {
		saved, err = r.switchTo(ctx, s)
		return err
	})
	return saved, err
}

func (r *Repo) switchTo(ctx context.Context, s SwitchSpec) (saved *Snapshot, err error) {
	private, err := privateDir(ctx, s.Path)
	if err != nil {
		return nil, err
	}
	if op := operation(private); op != "" {
		return nil, hint("end it in "+s.Path, "%w: a %s is in progress in %s", ErrDirty, op, s.Path)
	}
	on, err := git(ctx, s.Path, "symbolic-ref", "--quiet", "--short", "HEAD")
	if err != nil && exitCode(err) != 1 {
		return nil, err
	}
	leaves := line(on)
	if leaves == "" {
		leaves = "detached"
	}
	entries, err := dirty(ctx, s.Path)
	if err != nil {
		return nil, err
	}
	p, err := readPrepared(private)
	if err != nil {
		return nil, err
	}
	own, rest, err := p.own(ctx, s.Path, entries)
	if err != nil {
		return nil, err
	}
	alone := false // commits that nothing else names
	if leaves == "detached" {
		head, err := git(ctx, s.Path, "rev-parse", "HEAD")
		if err != nil {
			return nil, err
		}
		held, err := r.held(ctx, line(head))
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
		if _, err := git(ctx, s.Path, "reset", "--hard", "--quiet"); err != nil {
			return saved, err
		}
		for _, e := range own {
			if e.kind != '?' || saved == nil || slices.Contains(saved.Omitted, e.path) {
				continue
			}
			// What a snapshot does not take in stays.
			path := filepath.Join(s.Path, e.path)
			info, err := os.Lstat(path)
			if err != nil || info.IsDir() {
				continue
			}
			if err := os.Remove(path); err != nil {
				return saved, err
			}
		}
	}
	rest = slices.DeleteFunc(rest, func(e statusEntry) bool { return e.kind == '?' || p.brought[e.path] != nil })
	back, err := setAside(ctx, s.Path, rest)
	if err != nil {
		return saved, err
	}
	defer func() { err = errors.Join(err, back()) }()
	if s.Stay && len(s.Drop) > 0 && saved != nil {
		back := command{dir: s.Path, args: []string{"restore", "--quiet", "--source=HEAD", "--staged", "--worktree", "--pathspec-from-file=-", "--pathspec-file-nul"},
			env: []string{"GIT_LITERAL_PATHSPECS=1"}, stdin: []byte(strings.Join(s.Drop, "\x00"))}
		if _, err := back.run(ctx); err != nil {
			return saved, err
		}
	}
	if s.Branch == "" {
		_, err := git(ctx, s.Path, "checkout", "--quiet", "--no-overwrite-ignore", "--detach", s.Start, "--")
		return saved, err
	}
	if leaves == s.Branch {
		return saved, nil
	}
	args := []string{"checkout", "--quiet", "--no-overwrite-ignore"}
	if _, err := git(ctx, r.Root, "rev-parse", "--verify", "--quiet", "refs/heads/"+s.Branch); err != nil {
		if exitCode(err) != 1 {
			return saved, err
		}
		r.own(Own{Ref: "refs/heads/" + s.Branch, New: s.Start})
		args = append(args, "--no-track", "-b", s.Branch, s.Start)
	} else {
		args = append(args, s.Branch)
	}
	_, err = git(ctx, s.Path, append(args, "--")...)
	return saved, err
}
