package worktree

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"cmux/worktree/git"
	"cmux/worktree/gitfile"
	"cmux/worktree/hint"
	"cmux/worktree/merge"
	"cmux/worktree/prepare"
	"cmux/worktree/submodule"
)

// MergeSpec says what is brought together and where.
type MergeSpec struct {
	// Path is the worktree in which branches are merged and verified. With a
	// Target it is a scratch tree that is made when it is not there and removed
	// at the end; without one it is a lent tree, whose own branch is moved.
	Path   string
	Target string // branch to move, at the very end and only by fast-forward; it may be checked out anywhere
	// Branches are merged in this order. One without a Commit means the local
	// branch of that name, at its tip of that moment.
	Branches []merge.Tip
	// Verify judges the tree after each merge; nil: every merge is good. A check
	// that never passed was not broken by a merge: where it fails after the first
	// merge, the tree before it is judged, with no branch. If that fails too, merging
	// goes on until the check passes once, and after the last merge it must.
	Verify func(ctx context.Context, treePath, branch string) error
	// StateFile keeps what a later process needs to continue or abort, as JSON;
	// by default in the private git directory of the lent tree. A Target needs one.
	StateFile string
	// Saved learns what somebody did in a scratch tree that goes. May be nil.
	Saved func(*Snapshot)
}

// MergeResult is where the branches came together.
type MergeResult struct {
	Start, Commit   string   // before and after
	Merged, Skipped []string // names; skipped ones were contained already
}

// VerifyError is a merge that was made and then taken back, because Verify
// refused it.
type VerifyError struct {
	Branch string
	Err    error
	// Tree is set when the merge is a person's and was not taken back: it
	// stands there.
	Tree string
}

func (e *VerifyError) Error() string {
	return fmt.Sprintf("verify failed after merging %s: %v", e.Branch, e.Err)
}
func (e *VerifyError) Unwrap() error { return e.Err }

// MergeState is a merge that was begun and has not ended.
type MergeState struct {
	Path   string   `json:"path"`
	Target string   `json:"target,omitempty"`
	Start  string   `json:"start"`            // where Abort goes back to
	Good   string   `json:"good"`             // last verified commit
	Branch string   `json:"branch,omitempty"` // being tried, or the one that broke
	Trial  string   `json:"trial,omitempty"`  // merged and not verified yet
	Merged []string `json:"merged,omitempty"`
	// Unproven is set as long as Verify has not passed: what was merged last, and
	// the commit before it.
	Unproven *Unproven `json:"unproven,omitempty"`
}

// Unproven is a merge that Verify refused as it had refused what was there before.
type Unproven struct {
	Branch string `json:"branch"`
	Before string `json:"before"`
}

// ErrNoMerge means that there is nothing to continue or abort.
var ErrNoMerge = errors.New("no merge in progress")

// ReadMergeState reads a state file; ErrNoMerge when there is none.
func ReadMergeState(file string) (*MergeState, error) {
	b, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNoMerge
	} else if err != nil {
		return nil, err
	}
	st := new(MergeState)
	if err := json.Unmarshal(b, st); err != nil {
		return nil, hint.Errorf("remove it", "%s is damaged: %w", file, err)
	}
	return st, nil
}

// MergeInto merges the branches one after another, with Verify after each, and
// stops at the first that breaks: a *ConflictError, before anything is
// touched, or a *VerifyError, with the tree put back. The tree is then clean at
// the last good commit, and the same call continues there: what is contained
// already is skipped, a merge whose verification was interrupted is made
// again, and one that a person has made in the tree is verified and kept.
// AbortMerge goes back to where it started.
//
// A tree with uncommitted work is refused (ErrDirty). What Verify leaves in
// the tree without git ignoring it goes to a snapshot when its merge is taken
// back. When the Target has moved meanwhile, its new commits are merged and
// verified like a branch; it is refused (ErrDirty) when uncommitted changes
// beside it would be overwritten, and can then be continued.
func (r *Repo) MergeInto(ctx context.Context, s MergeSpec) (*MergeResult, error) {
	q, err := r.openQueue(ctx, &s)
	if err != nil {
		return nil, err
	}
	defer q.release()
	if ctx, err = q.pin(ctx); err != nil {
		return nil, err
	}
	if err := q.settle(ctx); err != nil {
		return nil, err
	}
	res := &MergeResult{Start: q.state.Start, Merged: q.state.Merged}
	// Saved before the first merge: a conflict there can be aborted, too.
	if err := q.save(); err != nil {
		return nil, err
	}
	for _, b := range s.Branches {
		if b.Commit == "" {
			if b.Commit, err = r.Tip(ctx, b.Name); err != nil {
				return nil, err
			}
		}
		merged, err := q.bring(ctx, b)
		if err != nil {
			return nil, err
		}
		if !merged {
			res.Skipped = append(res.Skipped, b.Name)
		}
	}
	if err := q.prove(ctx); err != nil {
		return nil, err
	}
	if s.Target != "" {
		if err := q.deliver(ctx); err != nil {
			return nil, err
		}
	}
	res.Merged, res.Commit = q.state.Merged, q.state.Good
	if err := os.Remove(s.StateFile); err != nil {
		return nil, err
	}
	if s.Target != "" {
		return res, q.dropScratch(ctx)
	}
	return res, nil
}

// AbortMerge takes a merge that stopped back: a lent tree goes to the commit it
// started from, a scratch tree is removed, and a target has not moved anyway.
func (r *Repo) AbortMerge(ctx context.Context, s MergeSpec) error {
	q, err := r.openQueue(ctx, &s)
	if err != nil {
		return err
	}
	defer q.release()
	if !q.found {
		return ErrNoMerge
	}
	if ctx, err = q.pin(ctx); err != nil {
		return err
	}
	if s.Target != "" {
		if err := q.dropScratch(ctx); err != nil {
			return err
		}
	} else if err := q.rewind(ctx); err != nil {
		return err
	}
	return os.Remove(s.StateFile)
}

type queue struct {
	r       *Repo
	s       *MergeSpec
	state   MergeState
	found   bool  // the state was there
	refused error // what Verify said of the unproven merge; nil: not asked by this process
	release func()
}

// openQueue reads or begins the state and makes sure that the tree is there.
func (r *Repo) openQueue(ctx context.Context, s *MergeSpec) (_ *queue, err error) {
	if s.Path, err = git.RealPath(s.Path); err != nil {
		return nil, err
	}
	if s.StateFile == "" {
		if s.Target != "" {
			return nil, errors.New("a merge into a branch needs a state file")
		}
		private, err := git.PrivateDir(ctx, s.Path)
		if err != nil {
			return nil, err
		}
		s.StateFile = filepath.Join(private, "cmux-merge.json")
	}
	q := &queue{r: r, s: s}
	if q.release, err = r.claim(s.Path); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			q.release()
		}
	}()
	st, err := ReadMergeState(s.StateFile)
	switch {
	case err == nil && (st.Path != s.Path || st.Target != s.Target):
		return nil, hint.Errorf("continue or abort that one first", "%w: a merge into %s in %s has not ended", ErrOccupied, orTree(st.Target), st.Path)
	case err == nil:
		q.state, q.found = *st, true
	case errors.Is(err, ErrNoMerge):
		start := ""
		if s.Target != "" {
			start, err = r.Tip(ctx, s.Target)
		} else {
			start, err = q.head(ctx)
		}
		if err != nil {
			return nil, err
		}
		q.state = MergeState{Path: s.Path, Target: s.Target, Start: start, Good: start}
	default:
		return nil, err
	}
	if s.Target != "" {
		if q.found && git.There(s.Path) {
			if private, err := r.FindPrivate(s.Path); err == nil {
				if err := leadBack(s.Path, private); err != nil {
					return nil, err
				}
			}
		}
		_, err := os.Lstat(filepath.Join(s.Path, ".git"))
		if !q.found || err != nil {
			_, err := r.lend(ctx, LendSpec{Path: s.Path, Start: q.state.Good, Owner: "merge into " + s.Target})
			if err != nil {
				return nil, err
			}
		}
	}
	return q, nil
}

// pin returns ctx for git in a scratch tree: what Verify runs there may have led its .git to
// another repository, whose settings name programs.
func (q *queue) pin(ctx context.Context) (context.Context, error) {
	if q.s.Target == "" {
		return ctx, nil
	}
	private, err := q.r.FindPrivate(q.s.Path)
	if err != nil {
		return ctx, err
	}
	if verify := q.s.Verify; verify != nil {
		q.s.Verify = func(ctx context.Context, treePath, branch string) error {
			return errors.Join(verify(ctx, treePath, branch), leadBack(q.s.Path, private))
		}
	}
	return git.WithTree(ctx, q.s.Path, private), nil
}

// leadBack leads the .git of a worktree to its private git directory again.
func leadBack(tree, private string) error {
	if to, err := gitfile.Private(tree); err == nil && to == private {
		return nil
	}
	name := filepath.Join(tree, ".git")
	return errors.Join(removeAll(name), git.WriteFile(name, []byte("gitdir: "+private+"\n")))
}

func orTree(target string) string {
	if target == "" {
		return "the tree's branch"
	}
	return target
}

func (q *queue) save() error { return git.WriteJSON(q.s.StateFile, q.state) }

func (q *queue) head(ctx context.Context) (string, error) {
	out, err := git.Run(ctx, q.s.Path, "rev-parse", "--verify", "HEAD^{commit}")
	return git.Line(out), err
}

// settle brings the tree to the last good commit.
func (q *queue) settle(ctx context.Context) error {
	head, err := q.head(ctx)
	if err != nil {
		return err
	}
	if q.state.Trial != "" && (head == q.state.Trial || head == q.state.Good) {
		// The process ended between merge and verdict; a half-done checkout is clean afterwards, too.
		if err := q.reset(ctx, q.state.Good, "interrupted merge of "+q.state.Branch); err != nil {
			return err
		}
		q.state.Trial = ""
		return nil
	}
	d, err := dirt(ctx, q.s.Path)
	if err != nil {
		return err
	}
	switch {
	case d.Clean():
	case q.s.Target != "":
		return fmt.Errorf("%w: %s (%s: %s; merging needs a clean tree)", ErrDirty, q.s.Path, d, git.Shown(d.Paths))
	default:
		return q.r.dirty(q.s.Path, d, "merging needs a clean tree")
	}
	if head != q.state.Good {
		// A person mended something here.
		if n, err := q.r.count(ctx, head, q.state.Good); err != nil {
			return err
		} else if n > 0 {
			return hint.Errorf("abort the merge, or git -C "+git.ShellWord(q.s.Path)+" merge "+q.state.Good, "%w: %s has left the merge: it is at %.12s", ErrOccupied, q.s.Path, head)
		}
		if err := q.mended(ctx, head); err != nil {
			return err
		}
		q.state.Good, q.state.Trial = head, ""
	}
	return nil
}

// mended judges the commit at which a person has left the tree, if it brings
// in the branch that broke: nothing is left of that branch to merge and judge.
// What does not pass stays, as it is that person's, to be repaired there.
func (q *queue) mended(ctx context.Context, head string) error {
	name, commit := q.state.Branch, ""
	for _, b := range q.s.Branches {
		if b.Name == name {
			commit = b.Commit
		}
	}
	if name == "" {
		return nil
	}
	if commit == "" {
		var err error
		if commit, err = q.r.Tip(ctx, name); errors.Is(err, git.ErrBadRef) {
			return nil
		} else if err != nil {
			return err
		}
	}
	if holds, err := q.r.Holds(ctx, head, commit); err != nil || !holds {
		return err
	}
	if q.s.Verify != nil {
		if err := q.s.Verify(ctx, q.s.Path, name); ctx.Err() != nil {
			return ctx.Err()
		} else if err != nil {
			return errors.Join(&VerifyError{Branch: name, Err: err, Tree: q.s.Path}, q.reset(ctx, head, "left by verify of "+name))
		}
		if err := q.reset(ctx, head, "left by verify of "+name); err != nil {
			return err
		}
	}
	q.state.Branch, q.state.Unproven = "", nil
	q.state.Merged = append(q.state.Merged, name)
	return nil
}

// bring merges one branch and has it verified; false when it was contained.
func (q *queue) bring(ctx context.Context, b merge.Tip) (bool, error) {
	into := q.s.Target
	if into == "" {
		into = "the branch of " + q.s.Path
	}
	q.state.Branch = b.Name
	commit, err := q.r.Merge(ctx, q.state.Good, []merge.Tip{b})
	var conflict *merge.ConflictError
	if errors.As(err, &conflict) {
		conflict.Into = into
		if err := q.blame(ctx, b, conflict); err != nil {
			return false, err
		}
		if err := q.fetchSubmodules(ctx, b.Commit, conflict); err != nil {
			return false, err
		}
		return false, errors.Join(conflict, q.save())
	} else if err != nil {
		return false, err
	}
	if commit == q.state.Good {
		return false, nil
	}
	if q.s.Target != "" { // before the checks, which may take long
		if err := InTheWay(ctx, q.r, q.s.Target, commit); err != nil {
			return false, err
		}
	}
	q.state.Trial = commit
	if err := q.save(); err != nil {
		return false, err
	}
	q.r.RecordOwnBranch(q.s.Path, commit)
	if err := submodule.Follow(ctx, &q.r.Repo, q.s.Path, func() error { return fastForward(ctx, q.s.Path, commit) }); err != nil {
		return false, err
	}
	if q.s.Verify != nil {
		if err := q.s.Verify(ctx, q.s.Path, b.Name); err != nil {
			if ctx.Err() != nil {
				return false, ctx.Err() // no verdict: the trial is settled by the next call
			}
			broke, err := q.broke(ctx, b.Name, err)
			if err != nil {
				return false, err
			}
			if broke {
				q.state.Trial = ""
				return false, errors.Join(&VerifyError{Branch: b.Name, Err: q.refused}, q.save())
			}
			q.state.Unproven = &Unproven{Branch: b.Name, Before: q.state.Good}
		} else {
			q.state.Unproven = nil
		}
		if err := q.reset(ctx, commit, "left by verify of "+b.Name); err != nil {
			return false, err
		}
	}
	q.state.Good, q.state.Trial, q.state.Branch = commit, "", ""
	q.state.Merged = append(q.state.Merged, b.Name)
	return true, q.save()
}

// broke reports whether a merge that Verify refused broke what was good before. The
// tree is then back there.
func (q *queue) broke(ctx context.Context, name string, refused error) (bool, error) {
	q.refused = refused
	if q.state.Unproven != nil {
		return false, nil // it was refused before this merge
	}
	if err := q.reset(ctx, q.state.Good, "verify of "+name); err != nil {
		return false, errors.Join(&VerifyError{Branch: name, Err: refused}, err)
	}
	if n := len(q.s.Branches); q.state.Good != q.state.Start || q.s.Branches[n-1].Name == name {
		return true, nil // it passed after the merge before, or nothing comes that could mend it
	}
	before := q.s.Verify(ctx, q.s.Path, "")
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	return before == nil, q.reset(ctx, q.state.Good, "left by verify before "+name)
}

// prove takes the last merge back when Verify has refused every one.
func (q *queue) prove(ctx context.Context) error {
	last := q.state.Unproven
	if last == nil || q.s.Verify == nil {
		return nil
	}
	if q.refused == nil { // an earlier process was told
		if q.refused = q.s.Verify(ctx, q.s.Path, last.Branch); ctx.Err() != nil {
			return ctx.Err()
		}
		if err := q.reset(ctx, q.state.Good, "left by verify of "+last.Branch); err != nil {
			return err
		}
	}
	if q.refused == nil {
		q.state.Unproven = nil
		return q.save()
	}
	failed := &VerifyError{Branch: last.Branch, Err: q.refused}
	if err := q.reset(ctx, last.Before, "verify of "+last.Branch); err != nil {
		return errors.Join(failed, err)
	}
	q.state.Good, q.state.Branch = last.Before, last.Branch
	if n := len(q.state.Merged); n > 0 {
		q.state.Merged = q.state.Merged[:n-1]
	}
	return errors.Join(failed, q.save())
}

// blame names, beside the branch, those merged before that touch the files.
func (q *queue) blame(ctx context.Context, b merge.Tip, e *merge.ConflictError) error {
	e.Tips = []string{b.Name}
	if e.Unrelated {
		e.Tips = append(e.Tips, e.Into)
		return nil
	}
	for _, other := range q.s.Branches {
		if other.Name == b.Name {
			break
		}
		if other.Commit == "" {
			var err error
			if other.Commit, err = q.r.Tip(ctx, other.Name); err != nil {
				return err
			}
		}
		base, err := git.Run(ctx, q.r.Root, "merge-base", other.Commit, b.Commit)
		if git.ExitCode(err) == 1 {
			continue
		} else if err != nil {
			return err
		}
		args := append([]string{"--literal-pathspecs", "diff-tree", "-r", "--quiet", git.Line(base), other.Commit, "--"}, e.Files...)
		if _, err := git.Run(ctx, q.r.Root, args...); git.ExitCode(err) == 1 {
			e.Tips = append(e.Tips, other.Name)
		} else if err != nil {
			return err
		}
	}
	return nil
}

// fetchSubmodules has the submodules of the merge's tree that conflict hold the
// commits that the other side has of them, so that they can be merged there.
func (q *queue) fetchSubmodules(ctx context.Context, commit string, conflict *merge.ConflictError) error {
	subs, err := submodule.Named(ctx, q.s.Path)
	if err != nil {
		return err
	}
	f := submodule.Follower{Repo: &q.r.Repo, Root: q.s.Path}
	for _, s := range subs {
		at := filepath.Join(q.s.Path, s.Path)
		if !slices.Contains(conflict.Files, s.Path) || !submodule.IsRepository(at) {
			continue
		}
		out, err := git.Run(ctx, q.s.Path, "--literal-pathspecs", "ls-tree", "--full-tree", commit, "--", s.Path)
		if err != nil {
			return err
		}
		meta, _, _ := strings.Cut(out, "\t")
		part := strings.Fields(meta) // MODE TYPE ID
		if len(part) != 3 || part[0] != submodule.Gitlink {
			continue
		}
		s.Commit = part[2]
		if err := f.Fetch(ctx, at, f.Copies(s.Path, filepath.Join("modules", s.Name)), s); ctx.Err() != nil {
			return ctx.Err()
		} else if err != nil {
			git.Note(ctx, "the submodule %s cannot be merged there: %v", at, err)
			continue
		}
		conflict.Submodules = append(conflict.Submodules, merge.SubmoduleConflict{Path: s.Path, Commit: s.Commit})
	}
	return nil
}

// fastForward moves the checkout in dir to a commit that holds its own. The
// options outrank what branch.NAME.mergeOptions says.
func fastForward(ctx context.Context, dir, commit string, options ...string) error {
	args := []string{"merge", "--ff-only", "--quiet", "--no-autostash", "--no-squash", "--no-verify-signatures", "--no-overwrite-ignore"}
	args = append(append(args, options...), "--end-of-options", commit)
	_, err := git.Run(ctx, dir, args...)
	var ge *git.Error
	if err == nil || !errors.As(err, &ge) || !strings.Contains(ge.Stderr, "overwritten") {
		return err
	}
	free, serr := submodule.UnmakeFor(ctx, dir, commit, ge.Stderr)
	if serr != nil {
		return errors.Join(err, serr)
	}
	if free {
		_, err = git.Run(ctx, dir, args...)
		return err
	}
	entries, serr := git.Status(ctx, dir, "--untracked-files=no", "--ignored=no")
	if serr != nil {
		return errors.Join(err, serr)
	}
	_, rest, serr := prepare.Unwritten(ctx, dir, entries)
	if serr != nil || len(rest) == 0 {
		return errors.Join(err, serr)
	}
	back, serr := prepare.SetAside(ctx, dir, rest)
	if serr != nil {
		return errors.Join(err, serr)
	}
	_, err = git.Run(ctx, dir, args...)
	return errors.Join(err, back())
}

// reset puts the tree to commit, clean; whatever else lay there is saved.
func (q *queue) reset(ctx context.Context, commit, why string) error {
	// Also when the caller gave up: a tree half-way is worse than a late answer.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	d, err := dirt(ctx, q.s.Path)
	if err != nil {
		return err
	}
	if !d.Clean() {
		name := q.s.Target
		if name == "" {
			name = filepath.Base(q.s.Path)
		}
		if _, err := q.r.Snapshot(ctx, q.s.Path, SnapshotSpec{Name: name, Reason: why}); err != nil {
			return err
		}
	}
	q.r.RecordOwnBranch(q.s.Path, commit)
	f := submodule.Follower{Repo: &q.r.Repo, Root: q.s.Path, Force: true}
	return f.Run(ctx, func() error {
		if _, err := git.Run(ctx, q.s.Path, "reset", "--hard", "--quiet", "--no-recurse-submodules", commit, "--"); err != nil {
			return err
		}
		_, err := git.Run(ctx, q.s.Path, "clean", "-d", "--force", "--quiet")
		return err
	})
}

// rewind takes a lent tree back to its start, saving the commits of its branch.
func (q *queue) rewind(ctx context.Context) error {
	head, err := q.head(ctx)
	if err != nil {
		return err
	}
	if n, err := q.r.count(ctx, q.state.Start, head); err != nil {
		return err
	} else if n > 0 {
		t, err := q.r.Tree(ctx, q.s.Path)
		if err != nil {
			return err
		}
		spec := SnapshotSpec{Name: filepath.Base(q.s.Path), Reason: "aborted merge"}
		if _, err := q.r.snapshotCommit(ctx, head, t.Branch, spec); err != nil {
			return err
		}
	}
	return q.reset(ctx, q.state.Start, "aborted merge")
}

// deliver moves the target to the last good commit.
func (q *queue) deliver(ctx context.Context) error {
	for {
		tip, err := q.r.Tip(ctx, q.s.Target)
		if err != nil {
			return err
		}
		if tip == q.state.Good {
			return nil
		}
		// The target may have got commits of its own since.
		merged, err := q.bring(ctx, merge.Tip{Name: q.s.Target, Commit: tip})
		if err != nil {
			return err
		}
		if merged {
			continue
		}
		if again, err := q.r.advance(ctx, q.s.Target, tip, q.state.Good); err != nil || !again {
			return err
		}
	}
}

// dropScratch removes the scratch tree, saving what a person did in it.
func (q *queue) dropScratch(ctx context.Context) error {
	d, err := dirt(ctx, q.s.Path)
	if err != nil {
		return err
	}
	if !d.Clean() {
		saved, err := q.r.remove(ctx, q.s.Path, RemoveSpec{Name: q.s.Target, Reason: "merge tree of " + q.s.Target})
		if saved != nil && q.s.Saved != nil {
			q.s.Saved(saved)
		}
		return err
	}
	private, err := q.r.FindPrivate(q.s.Path)
	if err != nil {
		return err
	}
	// Trial merges that were taken back are made again by the next merge; what
	// a person committed there is not.
	o, err := q.r.only(ctx, private)
	if err != nil {
		return err
	}
	if !o.ours {
		_, err := q.r.remove(ctx, q.s.Path, RemoveSpec{Name: q.s.Target, Reason: "merge tree of " + q.s.Target})
		return err
	}
	return q.r.deregister(ctx, q.s.Path)
}
