package verdict

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"cmux/agents/records/event"
	"cmux/agents/runs/attempt/workspace"
	"cmux/agents/runs/conversation"
	"cmux/agents/runs/prompt"
	"cmux/agents/runs/run"
	"cmux/dag"
	"cmux/worktree"
	"cmux/worktree/git"
	"cmux/worktree/prepare"
)

// judge finds the first fault: a failing check, a change out of scope, uncommitted work.
// The first two come before a commit is made, so that cmux never commits anything unproven
// for an agent.
//
// The agent, or processes that it left, may still change files: judge makes sure that the
// accepted commit is the one that was checked.
//
// settle does for the agent what it should have done itself; nil: the agent is told, or the
// attempt fails.
func (v *Verdict) judge() (f *conversation.Fault, settle func() error, err error) {
	for range maxLooks {
		still := true
		if f, settle, err = v.look(); f == nil && err == nil {
			still, err = v.stands()
		}
		if f != nil || err != nil || still {
			return f, settle, err
		}
		v.Out.Say("the work changed during the checks: cmux checks it again")
	}
	v.judged = ""
	return &conversation.Fault{
		Reason: dag.ReasonChecks,
		Detail: "its files or its branch kept changing while they were judged",
		Tell:   prompt.GoesOn(),
	}, nil, nil
}

// maxLooks bounds how often cmux judges work that keeps changing.
const maxLooks = 3

// stands reports whether the accepted work is still what was checked: the commit, no other
// changes, and the content that passed the checks.
func (v *Verdict) stands() (still bool, err error) {
	if !v.Judging || !v.Now().Agent || v.tree == nil || !v.node.HasBranch() {
		return true, nil
	}
	err = v.git(func(ctx context.Context) error {
		dirt, err := v.tree.Repo.Uncommitted(ctx, v.tree.Lent.Path)
		if err != nil || !dirt.Clean() {
			return err
		}
		if len(v.node.Verify) > 0 {
			print, err := v.tree.Fingerprint(ctx)
			if err != nil || print != v.passed {
				return err
			}
		}
		outside, err := v.outside(ctx)
		if err != nil || len(outside) > 0 {
			return err
		}
		tip, err := v.tree.Repo.Tip(ctx, v.Spec.Place.Branch)
		still = tip == v.judged
		return err
	})
	return still, err
}

// look judges once.
func (v *Verdict) look() (f *conversation.Fault, settle func() error, err error) {
	if f, err := v.reaches(); f != nil || err != nil {
		return f, nil, err
	}
	if f, err := v.verify(""); f != nil || err != nil {
		return f, nil, err
	}
	if f, err := v.unpublished(); f != nil || err != nil {
		return f, nil, err
	}
	if v.Shares {
		f, err = v.sharedScope()
		return f, nil, err
	}
	if v.tree == nil || !v.node.HasBranch() {
		return nil, nil, nil
	}
	var w inspection
	err = v.git(func(ctx context.Context) (err error) {
		if len(v.node.Verify) > 0 { // checks run the agent's code
			if f, err = v.tree.Shared.Changes(ctx); f != nil || err != nil {
				return err
			}
		}
		if f, err = v.tree.Ancestry(ctx); f != nil || err != nil {
			return err
		}
		if err := v.reveal(ctx); err != nil {
			return err
		}
		if f, err = v.scope(ctx); f != nil || err != nil {
			return err
		}
		w, err = v.inspect(ctx)
		return err
	})
	if f != nil || err != nil {
		return f, nil, err
	}
	// Read only now: the agent's state may have changed meanwhile.
	if f, settle = v.unfinished(w); f == nil {
		v.judged = w.tip
	}
	return f, settle, nil
}

// reaches finds changes of what all worktrees share.
func (v *Verdict) reaches() (f *conversation.Fault, err error) {
	if v.tree == nil {
		return nil, nil
	}
	err = v.git(func(ctx context.Context) (err error) {
		// Before git looks: it would find another repository.
		if f, err = v.mend(); f != nil || err != nil {
			return err
		}
		f, err = v.tree.Shared.Changes(ctx)
		return err
	})
	return f, err
}

// mend restores the worktree's .git file. If that is impossible, it is a fault, unless this
// process lacks the means to look.
func (v *Verdict) mend() (*conversation.Fault, error) {
	mended, err := v.tree.Repo.Mend(v.tree.Lent)
	if run.NoFiles(err) || run.NoSpace(err) {
		return nil, err
	}
	if err != nil {
		return &conversation.Fault{
			Reason: dag.ReasonScope,
			Detail: fmt.Sprintf("the .git of its worktree was replaced: %v", err),
			Tell:   prompt.OtherRepository(v.tree.Lent.Path, v.tree.Lent.GitDir),
		}, nil
	}
	if mended {
		v.Out.Say("restored the worktree's .git, which was missing or replaced")
	}
	return nil, nil
}

// reveal makes git show what the agent hid in the index: work that is not in the commit was
// not checked.
func (v *Verdict) reveal(ctx context.Context) error {
	paths, err := v.tree.Repo.Reveal(ctx, v.tree.Lent.Path)
	if err == nil && len(paths) > 0 {
		v.Out.Say("git was set to ignore changes of these files; cmux undid that: %s", workspace.Shown(paths))
	}
	return err
}

// git runs f, which calls git, and answers messages meanwhile. A failure of git is not the
// agent's fault but still ends the attempt.
func (v *Verdict) git(f func(context.Context) error) error {
	var notes []string
	failure, err := v.Roomily(func(ctx context.Context) error {
		ctx = git.WithNotes(ctx, func(s string) { notes = append(notes, s) })
		return f(v.tree.Config(ctx))
	})
	for _, s := range notes {
		v.Note("%s", s)
	}
	if err != nil {
		return err
	}
	if failure != nil {
		reason := dag.ReasonSetup // git itself, or its settings
		if errors.Is(failure, worktree.ErrUnsavable) || errors.Is(failure, worktree.ErrDirty) {
			reason = dag.ReasonChecks
		}
		return FailedBy(CodeOf(failure), reason, "git: %v", failure)
	}
	return nil
}

// Fault returns the first fault between a report and done, after what can be settled
// without the agent; nil: none.
func (v *Verdict) Fault() (*conversation.Fault, error) {
	for {
		f, settle, err := v.judge()
		if err != nil || f == nil || v.Now().Overridden {
			return nil, err
		}
		if settle != nil {
			if err := settle(); err != nil {
				return nil, err
			}
			continue
		}
		if v.Now().Ended {
			return f, nil
		}
		switch f.Reason {
		case dag.ReasonChecks:
			v.checksFailed++
			f.Final = v.checksFailed >= v.tries()
		case dag.ReasonScope:
			v.scopeFailed++
			f.Final = v.scopeFailed >= v.tries()
		default:
			v.askedCommit = true
		}
		return f, nil
	}
}

// tries is how many reports may fail the checks, or leave the scope.
func (v *Verdict) tries() int { return max(v.node.VerifyAttempts, 1) }

// Once is Fault for a program that has ended: nothing is handed back, and a fault ends the
// attempt.
func (v *Verdict) Once() error {
	if v.Now().Overridden {
		return nil
	}
	for {
		f, settle, err := v.judge()
		switch {
		case err != nil:
			return err
		case f == nil || v.Now().Overridden:
			return nil
		case settle == nil:
			return Failed(f.Reason, "%s", f.Detail)
		}
		if err := settle(); err != nil {
			return err
		}
	}
}

// verify runs the node's checks, unless the tree is unchanged since they last passed. what
// names the occasion in a fault. A check must not change the work. If there is no agent to
// tell, and the check only rewrote files, verify runs the checks again: they pass if
// nothing changes then.
func (v *Verdict) verify(what string) (*conversation.Fault, error) {
	for again := false; ; again = true {
		f, rewrote, err := v.runChecks(what)
		if f == nil || err != nil || !rewrote || again || v.tellable() {
			return f, err
		}
		v.Out.Say("%s; they run once more on what it left", f.Detail)
	}
}

// tellable reports whether there is an agent to which a fault can be handed back.
func (v *Verdict) tellable() bool {
	now := v.Now()
	return v.Judging && now.Agent && !now.Ended
}

// runChecks runs the checks once. rewrote: the fault is a check that changed files and lost
// none.
func (v *Verdict) runChecks(what string) (_ *conversation.Fault, rewrote bool, _ error) {
	if len(v.node.Verify) == 0 {
		return nil, false, nil
	}
	print, err := v.fingerprint()
	if err != nil {
		return nil, false, err
	}
	if print != "" && print == v.passed {
		return nil, false, nil
	}
	before, err := v.Become(dag.Checking)
	if err != nil {
		return nil, false, err
	}
	v.checks = nil
	state, err := v.state()
	if err != nil {
		return nil, false, err
	}
	for _, command := range v.node.Verify {
		v.Out.Say("check: %s", command)
		check, err := v.check(command)
		if err != nil {
			return nil, false, err
		}
		now, meddled, rewrites, err := v.meddled(state, what, command)
		if err != nil {
			return nil, false, err
		}
		state = now
		v.checks = append(v.checks, *check)
		v.Stage.Keep(event.Event{
			Kind: event.Check, Command: command, Exit: &check.Exit, TimedOut: check.TimedOut, Took: check.Took,
			Failed: check.Exit != 0, Text: check.Output,
		})
		if check.Exit != 0 {
			how := "exit " + strconv.Itoa(check.Exit)
			if check.TimedOut {
				how = "no end within " + time.Duration(v.node.VerifyTimeout).String()
			}
			v.Out.Say("check failed (%s): %s", how, command)
			f := &conversation.Fault{
				Reason: dag.ReasonChecks,
				Detail: fmt.Sprintf("%s%s: %s%s", what, command, how, endOf(check.Output)),
				Tell:   prompt.CheckFailed(command, how, v.checksFailed+1, v.tries(), check.Output),
			}
			if meddled != nil {
				f.Detail, f.Tell = f.Detail+"; "+meddled.Detail, f.Tell+"\n\n"+meddled.Tell
			}
			return f, false, v.restore(before)
		}
		if meddled != nil {
			v.Out.Say("%s", meddled.Detail)
			return meddled, rewrites, v.restore(before)
		}
	}
	// Checks may write files; the tree that they left is the one that passed.
	if v.passed, err = v.fingerprint(); err != nil {
		return nil, false, err
	}
	return nil, false, v.restore(before)
}

// restore repeats the preparation that the attempt does before its checks.
func (v *Verdict) restore(was dag.Activity) error {
	_, err := v.Become(was)
	return err
}

func (v *Verdict) fingerprint() (print string, err error) {
	if v.tree == nil {
		return "", nil
	}
	err = v.git(func(ctx context.Context) (err error) {
		print, err = v.tree.Fingerprint(ctx)
		return err
	})
	return print, err
}

// endOf returns the last non-empty line of an output, for one-line details.
func endOf(output string) string {
	lines := strings.Split(strings.TrimSpace(output), "\n")
	if last := strings.TrimSpace(lines[len(lines)-1]); last != "" {
		return ": " + last
	}
	return ""
}

// scope finds changes outside the paths that the node may write. A path of context is
// read-only unless scope names it too.
func (v *Verdict) scope(ctx context.Context) (*conversation.Fault, error) {
	taken, err := v.tree.Repo.TakenIn(ctx, v.tree.Lent.Path, v.start)
	if err != nil {
		return nil, err
	}
	if len(taken) > 0 {
		return &conversation.Fault{
			Reason: dag.ReasonScope,
			Detail: "committed what copy or link put into the worktree: " + workspace.Shown(taken),
			Tell:   prompt.TakenIn(workspace.Shown(taken)),
		}, nil
	}
	inside, err := v.tree.Repo.Repositories(ctx, v.tree.Lent.Path, v.start)
	if err != nil {
		return nil, err
	}
	if len(inside) > 0 {
		return &conversation.Fault{
			Reason: dag.ReasonScope,
			Detail: "made a repository inside the worktree, whose content git cannot commit: " + workspace.Shown(inside),
			Tell:   prompt.Nested(workspace.Shown(inside), inside[0]),
		}, nil
	}
	outside, err := v.outside(ctx)
	if err != nil || len(outside) == 0 {
		return nil, err
	}
	files := workspace.Shown(outside)
	return &conversation.Fault{
		Reason: dag.ReasonScope,
		Detail: "changed outside its scope: " + files,
		Tell:   prompt.OutOfScope(files+v.fromRoot(), v.node.Scope, v.node.Context, v.start, v.scopeFailed+1, v.tries()),
	}, nil
}

// fromRoot says that the paths in a fault begin at the root, for an agent that starts in a
// folder below it.
func (v *Verdict) fromRoot() string {
	if v.node.Dir == "" {
		return ""
	}
	return " (paths from the root of the worktree, " + v.tree.Lent.Path + ")"
}

// outside returns the changed paths that the node may not write.
func (v *Verdict) outside(ctx context.Context) ([]string, error) {
	if len(v.node.Scope) == 0 && len(v.node.Context) == 0 {
		return nil, nil
	}
	paths, err := v.tree.Repo.ChangedFiles(ctx, v.tree.Lent.Path, v.start)
	return slices.DeleteFunc(paths, v.scopes.MayChange), err
}

// nothingNeeded is the begin of a summary that says that no commit was needed.
const nothingNeeded = "nothing"

// inspection is the state of a node's worktree and branch in git.
type inspection struct {
	branch  string // checked out; empty: none
	dirt    worktree.Dirt
	commits int // of the node's own; counted only for nodes that must commit
	tip     string
}

// inspect asks git.
func (v *Verdict) inspect(ctx context.Context) (w inspection, err error) {
	if w.branch, err = v.tree.Branch(); err != nil || w.branch != v.Spec.Place.Branch {
		return w, err
	}
	if w.dirt, err = v.tree.Repo.Uncommitted(ctx, v.tree.Lent.Path); err != nil || !w.dirt.Clean() {
		return w, err
	}
	if v.Judging && v.node.Role == dag.RoleBuild {
		if w.commits, err = v.tree.Commits(ctx, v.start); err != nil {
			return w, err
		}
	}
	w.tip, err = v.tree.Repo.Tip(ctx, v.Spec.Place.Branch)
	return w, err
}

// unfinished finds uncommitted work, and a build without a commit.
//
// An agent is asked once to commit, then cmux commits for it. If it reports done without
// any change, it is asked once too; a second report, or a first whose summary begins with
// "nothing", counts as its word that nothing was needed. A command's changes are committed
// at once, and a command without changes needed none.
func (v *Verdict) unfinished(w inspection) (f *conversation.Fault, settle func() error) {
	if want := v.Spec.Place.Branch; w.branch != want {
		is := "branch " + w.branch
		if w.branch == "" {
			is = "a detached HEAD"
		}
		return &conversation.Fault{
			Reason: dag.ReasonChecks,
			Detail: fmt.Sprintf("the worktree was left on %s, not on %s", is, want),
			Tell:   prompt.WrongBranch(is, want),
		}, nil
	}
	if !w.dirt.Clean() {
		what := w.dirt.String()
		if len(w.dirt.Paths) > 0 {
			what += " (" + workspace.Shown(w.dirt.Paths) + ", …)"
		}
		f = &conversation.Fault{
			Detail: "uncommitted: " + what,
			Tell:   prompt.Uncommitted(what),
		}
		if !v.tellable() || v.askedCommit {
			settle = v.commit
		}
		return f, settle
	}
	report := v.Now().Report
	if !v.Judging || v.askedCommit || v.node.Role != dag.RoleBuild || w.commits > 0 ||
		report != nil && (!v.tellable() || strings.HasPrefix(strings.ToLower(strings.TrimSpace(report.Text)), nothingNeeded)) {
		return nil, nil
	}
	if report == nil {
		return &conversation.Fault{Reason: dag.ReasonReported, Detail: "ended without a report and without a commit"}, nil
	}
	return &conversation.Fault{
		Detail: "reported done without a commit",
		Tell:   prompt.NoCommit(v.Spec.Place.Branch),
	}, nil
}

// commit makes the commit that the agent did not make.
func (v *Verdict) commit() error {
	message := v.node.Name
	if r := v.Now().Report; r != nil && r.Text != "" {
		message += ": " + prompt.Cut(r.Text, MaxReason)
	}
	err := v.git(func(ctx context.Context) error {
		commit, err := v.tree.Repo.CommitAll(ctx, v.tree.Lent.Path, message)
		if err == nil {
			v.Out.Say("committed what was left uncommitted: %.12s", commit)
		}
		return err
	})
	return err
}

// state returns the content of the node's own worktree; nil: nothing of it is judged.
func (v *Verdict) state() (s *prepare.TreeState, err error) {
	if v.tree == nil || !v.node.HasBranch() {
		return nil, nil
	}
	err = v.git(func(ctx context.Context) (err error) {
		s, err = v.tree.Repo.State(ctx, v.tree.Lent.Path)
		return err
	})
	return s, err
}

// meddled finds what a check has changed since before, and returns the new state. Untracked
// files of the check are not the agent's: they are neither committed nor counted. rewrites:
// it changed files and lost none.
func (v *Verdict) meddled(before *prepare.TreeState, what, command string) (now *prepare.TreeState, f *conversation.Fault, rewrites bool, err error) {
	if before == nil {
		return nil, nil, false, nil
	}
	var change prepare.TreeChange
	failure, err := v.During(func(ctx context.Context) error {
		ctx = v.tree.Config(ctx)
		// Before git looks: without its .git it would find another repository.
		mended, err := v.tree.Repo.Mend(v.tree.Lent)
		if err != nil {
			return err
		}
		if mended {
			v.Out.Say("restored the worktree's .git, which was missing or replaced after the check %s", command)
		}
		if now, err = v.tree.Repo.State(ctx, v.tree.Lent.Path); err != nil {
			return err
		}
		change = before.Changed(now)
		if len(change.New) > 0 {
			now.Forget(change.New)
			return v.tree.Repo.Disown(ctx, v.tree.Lent.Path, change.New)
		}
		return nil
	})
	if err != nil {
		return nil, nil, false, err
	}
	if failure != nil {
		return nil, nil, false, Failed(dag.ReasonChecks, "%safter the check %s: %v", what, command, failure)
	}
	if len(change.New) > 0 {
		v.Out.Say("made by the check, not the agent's work: %s", workspace.Shown(change.New))
	}
	var did []string
	if change.Moved != "" {
		did = append(did, "moved "+change.Moved)
	}
	if len(change.Lost) > 0 {
		did = append(did, "deleted or emptied "+workspace.Shown(change.Lost))
	}
	if len(change.Changed) > 0 {
		did = append(did, "changed "+workspace.Shown(change.Changed))
	}
	if len(did) == 0 {
		return now, nil, false, nil
	}
	list := strings.Join(did, "; ")
	return now, &conversation.Fault{
		Reason: dag.ReasonChecks,
		Detail: fmt.Sprintf("%sthe check %s changes the work that it checks: it %s", what, command, list),
		Tell:   prompt.CheckChanged(command, list),
	}, change.Moved == "" && len(change.Lost) == 0, nil
}
