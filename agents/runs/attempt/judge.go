package attempt

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"cmux/agents/records/event"
	"cmux/agents/runs/conversation"
	"cmux/agents/runs/prompt"
	"cmux/agents/runs/run"
	"cmux/dag"
	"cmux/worktree"
)

// fault is what stands between a report and done. A judging kind is told and
// goes on; for a program that has ended it is the end.
type fault struct {
	reason dag.Reason
	detail string // for the record
	tell   string // for the agent
	// settle does for the agent what it was told to do and did not; nil: the
	// attempt fails.
	settle func() error
}

// judge looks for the first fault: a failing check, a change out of scope,
// work not committed. The first two are found before a commit is made, so that
// nothing unproven is ever committed for an agent.
//
// An agent that is still there, or what it left running, may go on meanwhile:
// what is found good must be what was looked at.
func (a *attempt) judge() (f *fault, err error) {
	for range maxLooks {
		still := true
		if f, err = a.look(); f == nil && err == nil {
			still, err = a.stands()
		}
		if f != nil || err != nil || still {
			return f, err
		}
		a.out.Say("it changed while it was judged, and is judged anew")
	}
	a.judged = ""
	return &fault{
		reason: dag.ReasonChecks,
		detail: "its files or its branch went on changing while they were judged",
		tell:   prompt.GoesOn(),
	}, nil
}

// maxLooks bounds how often work is judged that goes on changing.
const maxLooks = 3

// stands reports whether what was found good is still there and is what was
// looked at: the commit that counts, with nothing beside it, and the content
// that passed the checks.
func (a *attempt) stands() (still bool, err error) {
	if !a.kind.Judge || a.agent == nil || a.tree == nil || !a.node.HasBranch() {
		return true, nil
	}
	err = a.git(func(ctx context.Context) error {
		dirt, err := a.tree.repo.Uncommitted(ctx, a.tree.lent.Path)
		if err != nil || !dirt.Clean() {
			return err
		}
		if len(a.node.Verify) > 0 {
			print, err := a.tree.fingerprint(ctx)
			if err != nil || print != a.passed {
				return err
			}
		}
		outside, err := a.outside(ctx)
		if err != nil || len(outside) > 0 {
			return err
		}
		tip, err := a.tree.repo.Tip(ctx, a.spec.Place.Branch)
		still = tip == a.judged
		return err
	})
	return still, err
}

// look is judge, once.
func (a *attempt) look() (*fault, error) {
	if f, err := a.reaches(); f != nil || err != nil {
		return f, err
	}
	if f, err := a.verify(""); f != nil || err != nil {
		return f, err
	}
	if f, err := a.unpublished(); f != nil || err != nil {
		return f, err
	}
	if a.shares() {
		return a.sharedScope()
	}
	if a.tree == nil || !a.node.HasBranch() {
		return nil, nil
	}
	var (
		f *fault
		w inspection
	)
	err := a.git(func(ctx context.Context) (err error) {
		if len(a.node.Verify) > 0 { // checks run what the agent wrote
			if f, err = a.sharedChanges(ctx); f != nil || err != nil {
				return err
			}
		}
		if f, err = a.ancestry(ctx); f != nil || err != nil {
			return err
		}
		if err := a.reveal(ctx); err != nil {
			return err
		}
		if f, err = a.scope(ctx); f != nil || err != nil {
			return err
		}
		w, err = a.inspect(ctx)
		return err
	})
	if f != nil || err != nil {
		return f, err
	}
	// Decided only now: what the agent is about may have changed meanwhile.
	if f = a.unfinished(w); f == nil {
		a.judged = w.tip
	}
	return f, nil
}

// reaches looks for changes of what all worktrees share.
func (a *attempt) reaches() (f *fault, err error) {
	if a.tree == nil {
		return nil, nil
	}
	err = a.git(func(ctx context.Context) (err error) {
		// Before git looks: it would find another repository.
		if f, err = a.mend(); f != nil || err != nil {
			return err
		}
		f, err = a.sharedChanges(ctx)
		return err
	})
	return f, err
}

// mend puts back what says which repository the worktree is of. Where that
// cannot be, it is a fault, unless this process lacks what it needs to look.
func (a *attempt) mend() (*fault, error) {
	mended, err := a.tree.repo.Mend(a.tree.lent)
	if run.NoFiles(err) || run.NoSpace(err) {
		return nil, err
	}
	if err != nil {
		return &fault{
			reason: dag.ReasonScope,
			detail: fmt.Sprintf("the .git of its worktree is another: %v", err),
			tell:   prompt.OtherRepository(a.tree.lent.Path, a.tree.lent.GitDir),
		}, nil
	}
	if mended {
		a.out.Say("put the worktree's .git back, which was gone or another")
	}
	return nil, nil
}

// reveal has git see what the agent hid from it in the index: what is not in
// the commit is not the work that was checked.
func (a *attempt) reveal(ctx context.Context) error {
	paths, err := a.tree.repo.Reveal(ctx, a.tree.lent.Path)
	if err == nil && len(paths) > 0 {
		a.out.Say("git was told not to look at these; it looks again: %s", shown(paths))
	}
	return err
}

// git runs f, which asks git, while messages are served. What git cannot do is
// no fault of the agent's but still ends the attempt.
func (a *attempt) git(f func(context.Context) error) error {
	var notes []string
	failure, err := a.roomily(func(ctx context.Context) error {
		ctx = worktree.WithNotes(ctx, func(s string) { notes = append(notes, s) })
		return f(worktree.WithConfig(ctx, a.shared.undone...))
	})
	for _, s := range notes {
		a.note("%s", s)
	}
	if err != nil {
		return err
	}
	if failure != nil {
		reason := dag.ReasonSetup // git itself, or its settings
		if errors.Is(failure, worktree.ErrUnsavable) || errors.Is(failure, worktree.ErrDirty) {
			reason = dag.ReasonChecks
		}
		return failedBy(codeOf(failure), reason, "git: %v", failure)
	}
	return nil
}

// examineReport judges a report.
func (a *attempt) examineReport() error {
	f, err := a.faultOf()
	if err != nil {
		return err
	}
	if err := a.noticeEnd(); err != nil {
		return err
	}
	return a.feed(conversation.Judged{Fault: f})
}

// faultOf is the first fault that stands between a report and done, once what
// can be settled without the agent is; nil: there is none.
func (a *attempt) faultOf() (*conversation.Fault, error) {
	for {
		f, err := a.judge()
		if err != nil || f == nil || a.Overridden {
			return nil, err
		}
		if f.settle != nil {
			if err := f.settle(); err != nil {
				return nil, err
			}
			continue
		}
		told := &conversation.Fault{Reason: f.reason, Detail: f.detail, Tell: f.tell}
		if a.hasEnded() {
			return told, nil
		}
		switch f.reason {
		case dag.ReasonChecks:
			a.checksFailed++
			told.Final = a.checksFailed >= a.tries()
		case dag.ReasonScope:
			a.scopeFailed++
			told.Final = a.scopeFailed >= a.tries()
		default:
			a.askedCommit = true
		}
		return told, nil
	}
}

// tries is how often a report may fail its checks, or leave its scope.
func (a *attempt) tries() int { return max(a.node.VerifyAttempts, 1) }

// judgeOnce is judge for a program that has ended: nothing is handed back.
func (a *attempt) judgeOnce() error {
	if a.Overridden {
		return nil
	}
	for {
		f, err := a.judge()
		switch {
		case err != nil:
			return err
		case f == nil || a.Overridden:
			return nil
		case f.settle == nil:
			return failed(f.reason, "%s", f.detail)
		}
		if err := f.settle(); err != nil {
			return err
		}
	}
}

// verify runs the node's checks, unless the tree is as it was when they last
// passed. what names the occasion in a fault. A check must not change what is
// judged; where nobody is there to be told, what it only rewrote counts once it
// leaves it alone.
func (a *attempt) verify(what string) (*fault, error) {
	for again := false; ; again = true {
		f, rewrote, err := a.runChecks(what)
		if f == nil || err != nil || !rewrote || again || a.tellable() {
			return f, err
		}
		a.out.Say("%s; they run once more on what it left", f.detail)
	}
}

// tellable reports whether there is an agent that a fault can be handed back to.
func (a *attempt) tellable() bool {
	return a.kind.Judge && a.agent != nil && !a.hasEnded()
}

// runChecks is verify, once. rewrote says that the fault is a check that changed
// files and lost none.
func (a *attempt) runChecks(what string) (_ *fault, rewrote bool, _ error) {
	if len(a.node.Verify) == 0 {
		return nil, false, nil
	}
	print, err := a.fingerprint()
	if err != nil {
		return nil, false, err
	}
	if print != "" && print == a.passed {
		return nil, false, nil
	}
	before := a.activity
	if err := a.become(dag.Checking, time.Time{}, ""); err != nil {
		return nil, false, err
	}
	a.end.Checks = nil
	state, err := a.state()
	if err != nil {
		return nil, false, err
	}
	for _, command := range a.node.Verify {
		a.out.Say("check: %s", command)
		check, err := a.check(command)
		if err != nil {
			return nil, false, err
		}
		now, meddled, rewrites, err := a.meddled(state, what, command)
		if err != nil {
			return nil, false, err
		}
		state = now
		a.end.Checks = append(a.end.Checks, *check)
		a.stage.Keep(event.Event{
			Kind: event.Check, Command: command, Exit: &check.Exit, TimedOut: check.TimedOut, Took: check.Took,
			Failed: check.Exit != 0, Text: check.Output,
		})
		if check.Exit != 0 {
			how := "exit " + strconv.Itoa(check.Exit)
			if check.TimedOut {
				how = "no end within " + time.Duration(a.node.VerifyTimeout).String()
			}
			a.out.Say("check failed (%s): %s", how, command)
			f := &fault{
				reason: dag.ReasonChecks,
				detail: fmt.Sprintf("%s%s: %s%s", what, command, how, endOf(check.Output)),
				tell:   prompt.CheckFailed(command, how, a.checksFailed+1, a.tries(), check.Output),
			}
			if meddled != nil {
				f.detail, f.tell = f.detail+"; "+meddled.detail, f.tell+"\n\n"+meddled.tell
			}
			return f, false, a.become(before, time.Time{}, "")
		}
		if meddled != nil {
			a.out.Say("%s", meddled.detail)
			return meddled, rewrites, a.become(before, time.Time{}, "")
		}
	}
	// Checks may write files; what passed is the tree they left.
	if a.passed, err = a.fingerprint(); err != nil {
		return nil, false, err
	}
	return nil, false, a.become(before, time.Time{}, "")
}

func (a *attempt) fingerprint() (print string, err error) {
	if a.tree == nil {
		return "", nil
	}
	err = a.git(func(ctx context.Context) (err error) {
		print, err = a.tree.fingerprint(ctx)
		return err
	})
	return print, err
}

// endOf is the last line of an output that says something, for one-line details.
func endOf(output string) string {
	lines := strings.Split(strings.TrimSpace(output), "\n")
	if last := strings.TrimSpace(lines[len(lines)-1]); last != "" {
		return ": " + last
	}
	return ""
}

// scope finds the changes that lie outside what the node may write. A path
// that context names is read-only unless scope names it too.
func (a *attempt) scope(ctx context.Context) (*fault, error) {
	taken, err := a.tree.repo.TakenIn(ctx, a.tree.lent.Path, a.ownStart)
	if err != nil {
		return nil, err
	}
	if len(taken) > 0 {
		return &fault{
			reason: dag.ReasonScope,
			detail: "committed what copy or link put into the worktree: " + shown(taken),
			tell:   prompt.TakenIn(shown(taken)),
		}, nil
	}
	inside, err := a.tree.repo.Repositories(ctx, a.tree.lent.Path, a.ownStart)
	if err != nil {
		return nil, err
	}
	if len(inside) > 0 {
		return &fault{
			reason: dag.ReasonScope,
			detail: "made a repository inside the worktree, whose content no commit takes in: " + shown(inside),
			tell:   prompt.Nested(shown(inside), inside[0]),
		}, nil
	}
	outside, err := a.outside(ctx)
	if err != nil || len(outside) == 0 {
		return nil, err
	}
	files := shown(outside)
	return &fault{
		reason: dag.ReasonScope,
		detail: "changed outside its scope: " + files,
		tell:   prompt.OutOfScope(files+a.fromRoot(), a.node.Scope, a.node.Context, a.ownStart, a.scopeFailed+1, a.tries()),
	}, nil
}

// fromRoot says where the paths in a fault begin, for an agent that starts below.
func (a *attempt) fromRoot() string {
	if a.node.Dir == "" {
		return ""
	}
	return " (paths from the root of the worktree, " + a.tree.lent.Path + ")"
}

// outside are the changed paths that the node may not write.
func (a *attempt) outside(ctx context.Context) ([]string, error) {
	if len(a.node.Scope) == 0 && len(a.node.Context) == 0 {
		return nil, nil
	}
	paths, err := a.tree.repo.ChangedFiles(ctx, a.tree.lent.Path, a.ownStart)
	return slices.DeleteFunc(paths, a.mayChange), err
}

// mayChange reports whether the node may write a path. One that context names is
// read-only unless scope names it too.
func (a *attempt) mayChange(path string) bool {
	if len(a.scopes.write) > 0 {
		return dag.InScope(a.scopes.write, path)
	}
	return !dag.InScope(a.scopes.read, path)
}

// shown lists the first few paths and the number of the others.
func shown(paths []string) string {
	const most = 20
	names := make([]string, 0, most)
	for _, p := range paths[:min(len(paths), most)] {
		names = append(names, name(p))
	}
	for i, n := range names {
		names[i] = prompt.Cut(n, 200)
	}
	if len(paths) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names, ", "), len(paths)-most)
}

// name is a path as it is shown: quoted when a terminal would obey it, or a
// reader mistake where it ends.
func name(path string) string {
	if strings.ContainsFunc(path, func(r rune) bool { return !unicode.IsPrint(r) || r == utf8.RuneError }) ||
		strings.ContainsAny(path, "\"',") || strings.TrimSpace(path) != path {
		return strconv.Quote(path)
	}
	return path
}

// nothingNeeded is how a summary says that no commit was called for.
const nothingNeeded = "nothing"

// inspection is what git shows of a node's worktree and branch.
type inspection struct {
	branch  string // that is checked out; empty: none
	dirt    worktree.Dirt
	commits int // of the node's own; counted for those that are to make some
	tip     string
}

// inspect asks git.
func (a *attempt) inspect(ctx context.Context) (w inspection, err error) {
	if w.branch, err = a.tree.branch(); err != nil || w.branch != a.spec.Place.Branch {
		return w, err
	}
	if w.dirt, err = a.tree.repo.Uncommitted(ctx, a.tree.lent.Path); err != nil || !w.dirt.Clean() {
		return w, err
	}
	if a.kind.Judge && a.node.Role == dag.RoleBuild {
		if w.commits, err = a.tree.commits(ctx, a.ownStart); err != nil {
			return w, err
		}
	}
	w.tip, err = a.tree.repo.Tip(ctx, a.spec.Place.Branch)
	return w, err
}

// unfinished finds work that is not committed, and a build that made none.
//
// A judging kind is asked once to commit, and then it is done for it. One that
// reports done without any change is asked once too; a second report, or a
// first whose summary begins with "nothing", is taken as its word that nothing
// was needed. A command's changes are committed for it at once, and no changes
// are its word.
func (a *attempt) unfinished(w inspection) *fault {
	if want := a.spec.Place.Branch; w.branch != want {
		is := "branch " + w.branch
		if w.branch == "" {
			is = "a detached HEAD"
		}
		return &fault{
			reason: dag.ReasonChecks,
			detail: fmt.Sprintf("the worktree was left on %s, not on %s", is, want),
			tell:   prompt.WrongBranch(is, want),
		}
	}
	if !w.dirt.Clean() {
		what := w.dirt.String()
		if len(w.dirt.Paths) > 0 {
			what += " (" + shown(w.dirt.Paths) + ", …)"
		}
		f := &fault{
			detail: "uncommitted: " + what,
			tell:   prompt.Uncommitted(what),
		}
		if !a.tellable() || a.askedCommit {
			f.settle = a.commit
		}
		return f
	}
	if !a.kind.Judge || a.askedCommit || a.node.Role != dag.RoleBuild || w.commits > 0 ||
		a.Report != nil && (!a.tellable() || strings.HasPrefix(strings.ToLower(strings.TrimSpace(a.Report.Text)), nothingNeeded)) {
		return nil
	}
	if a.Report == nil {
		return &fault{reason: dag.ReasonReported, detail: "ended without a report and without a commit"}
	}
	return &fault{
		detail: "reported done without a commit",
		tell:   prompt.NoCommit(a.spec.Place.Branch),
	}
}

// commit makes the commit that the agent did not make.
func (a *attempt) commit() error {
	message := a.node.Name
	if a.Report != nil && a.Report.Text != "" {
		message += ": " + prompt.Cut(a.Report.Text, maxReason)
	}
	err := a.git(func(ctx context.Context) error {
		commit, err := a.tree.repo.CommitAll(ctx, a.tree.lent.Path, message)
		if err == nil {
			a.out.Say("committed what was left uncommitted: %.12s", commit)
		}
		return err
	})
	return err
}
