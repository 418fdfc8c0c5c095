package attempt

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"cmux/agents/kinds/agent"
	"cmux/agents/platform/harmless"
	"cmux/agents/platform/proc"
	"cmux/agents/runs/prompt"
	"cmux/dag"
	"cmux/worktree"
)

// prepare makes the worktree ready.
func (a *attempt) prepare() error {
	if a.shares() {
		a.scopes = scopesOf(a.node, a.spec.Place.Dir)
		return a.lookBefore()
	}
	if !a.node.HasTree() || a.stays() && a.spec.Place.Tree == "" {
		return nil
	}
	var (
		t     *tree
		watch shared
	)
	a.ownStart = a.spec.Place.Commit
	if err := a.become(dag.SettingUp, time.Time{}, ""); err != nil {
		return err
	}
	failure, err := a.roomily(func(ctx context.Context) (err error) {
		if t, err = openTree(ctx, a.job); err != nil {
			return err
		}
		a.persist(t) // the worktree, which was just made
		with := a.spec.Frame
		if err := t.repo.Prepare(ctx, t.lent, worktree.PrepareSpec{
			Copy: with.Copy, Link: with.Link, Setup: with.Setup, SetupTimeout: setupTimeout,
			Env: a.stage.Env, Output: a.out,
		}); err != nil {
			return err
		}
		a.takeTrace() // of the setup
		watch, err = t.watchShared(ctx)
		return err
	})
	a.shared = watch
	a.tree = t
	a.scopes = scopesOf(a.node, a.spec.Place.Tree)
	if failure != nil || err != nil {
		// What a broken-off step left running has no program to be found by.
		_, e := proc.End(context.WithoutCancel(a.ctx), a.limits.Grace, a.stage.Mark)
		failure = errors.Join(failure, e)
	}
	if err != nil {
		return err
	}
	if failure != nil {
		return failedBy(codeOf(failure), dag.ReasonSetup, "%v", failure)
	}
	return nil
}

// merge brings the branches in one after the other, the checks after each, and
// stops at the first that breaks; that merge is taken back. Checks that did not pass
// before the first merge are broken by none: they must pass after the last.
func (a *attempt) merge() error {
	spec := worktree.MergeSpec{Path: a.tree.lent.Path}
	for _, d := range a.spec.Branches {
		if d.Tip == "" {
			continue // it contributes nothing
		}
		name := d.Branch
		if name == "" {
			name = d.Name
		}
		spec.Branches = append(spec.Branches, worktree.Tip{Name: name, Commit: d.Tip})
	}
	spec.Verify = func(ctx context.Context, _, branch string) error {
		return a.call(ctx, func() error {
			what := "before the first merge: "
			if branch != "" {
				a.out.Say("merged %s", branch)
				what = "after merging " + branch + ": "
			}
			f, err := a.verify(what)
			if err == nil && f != nil {
				err = failed(f.reason, "%s", f.detail)
			}
			return err
		})
	}
	var res *worktree.MergeResult
	var notes []string
	failure, err := a.during(func(ctx context.Context) (err error) {
		res, err = a.tree.repo.MergeInto(worktree.WithNotes(ctx, func(s string) { notes = append(notes, s) }), spec)
		return err
	})
	for _, s := range notes {
		a.note("%s", s)
	}
	var (
		conflict *worktree.ConflictError
		refused  *worktree.VerifyError
	)
	switch {
	case err != nil:
		return err
	case errors.As(failure, &conflict):
		return failed(dag.ReasonConflict, "%v", failure)
	case errors.As(failure, &refused):
		return refused.Err
	case failure != nil:
		return failedBy(codeOf(failure), dag.ReasonSetup, "merging: %v", failure)
	}
	a.ownStart, a.judged = res.Commit, res.Commit
	return nil
}

// complete does the on_complete steps; each may be repeated without harm. The
// agent is ended first, with all that it left: git reads its settings while it
// pushes, and nobody may change them in between.
func (a *attempt) complete() error {
	if a.Overridden || len(a.node.OnComplete) == 0 {
		return nil
	}
	if err := a.endAgent(); err != nil {
		return err
	}
	if a.job.Socket != "" { // else the orphans of other attempts fall to this process too
		left, err := a.job.Spawner.EndOrphans(context.WithoutCancel(a.ctx), a.limits.Grace)
		if len(left) > 0 {
			a.note("ended what was left running in the background: %s", proc.Names(left))
		}
		if err != nil {
			return failed(dag.ReasonOnComplete, "processes of the attempt could not be ended: %v", err)
		}
	}
	pushed := false
	for _, step := range a.node.OnComplete {
		var err error
		switch step {
		case "push":
			err, pushed = a.push(), true
		case "pr":
			if !pushed {
				err = a.push()
			}
			if err == nil {
				err = a.pullRequest()
			}
		default:
			err = failed(dag.ReasonOnComplete, "unknown step %q", step)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// push brings what was judged to the remote that git named for the branch when
// the run began. It is not done where what decides about a push has changed.
func (a *attempt) push() error {
	branch, commit := a.spec.Place.Branch, a.judged
	var remote, hooks string
	recorded := func() error {
		return a.asked(func(ctx context.Context) error {
			base, err := a.job.Home.Pushable(ctx, a.tree.repo)
			if err != nil {
				return err
			}
			if base == nil { // a run of an earlier version
				if base, err = a.tree.repo.Shared(ctx, a.tree.lent.Path, false); err != nil {
					return err
				}
			}
			if remote, err = base.PushRemote(branch, a.spec.Frame.BaseBranch); err != nil {
				return err
			}
			hooks = base.HooksPath(a.tree.repo.GitDir)
			if commit == "" {
				commit, err = a.tree.repo.Tip(ctx, branch)
			}
			return err
		})
	}
	if err := recorded(); err != nil {
		return err
	}
	a.out.Say("on_complete: push %s (%.12s) to %s", branch, commit, remote)
	s, err := a.step("", a.limits.Step, []string{"git", "--no-replace-objects", "-c", "core.hooksPath=" + hooks, "push", "--", remote, commit + ":refs/heads/" + branch})
	if err := a.stepFailed("push", s, err); err != nil {
		return err
	}
	if err := recorded(); err != nil { // something reached in while it was pushed
		return err
	}
	return a.asked(func(ctx context.Context) error { return a.tree.repo.SetUpstream(ctx, branch, remote) })
}

// asked runs f for an on_complete step, while messages are served.
func (a *attempt) asked(f func(context.Context) error) error {
	failure, err := a.during(f)
	if err != nil {
		return err
	}
	if failure != nil {
		return failed(dag.ReasonOnComplete, "%v", failure)
	}
	return nil
}

// pullRequest opens one with gh, unless one is open already.
func (a *attempt) pullRequest() error {
	a.out.Say("on_complete: pr %s", a.spec.Place.Branch)
	if _, err := agent.LookPath("gh", a.stage.Env); err != nil {
		return failed(dag.ReasonOnComplete, "pr: gh is not in the PATH: install it, or take pr out of on_complete; %s is pushed", a.spec.Place.Branch)
	}
	s, err := a.step("", a.limits.Step, []string{"gh", "pr", "list", "--head", a.spec.Place.Branch, "--state", "open", "--json", "url", "--jq", ".[].url"})
	if err := a.stepFailed("pr", s, err); err != nil {
		return err
	}
	if strings.TrimSpace(s.output) != "" {
		return nil
	}
	title, body := a.node.Name, a.node.Name
	if a.end.Summary != "" {
		title, _, _ = strings.Cut(a.end.Summary, "\n")
		title, body = prompt.Cut(title, 200), prompt.Cut(a.end.Summary, 60_000) // GitHub takes 65,536
	}
	argv := []string{"gh", "pr", "create", "--head", a.spec.Place.Branch, "--title", harmless.Line(title), "--body-file", "-"}
	if b := a.spec.Frame.BaseBranch; b != "" {
		argv = append(argv, "--base", b)
	}
	s, err = a.step("", a.limits.Step, argv, harmless.Text(body))
	return a.stepFailed("pr", s, err)
}

func (a *attempt) stepFailed(name string, s *stepEnd, err error) error {
	if err != nil {
		return err
	}
	switch {
	case s.timedOut:
		return failed(dag.ReasonOnComplete, "%s did not end within %s", name, a.limits.Step)
	case s.exit != 0:
		return failedBy(s.exit, dag.ReasonOnComplete, "%s: exit %d%s", name, s.exit, whole(s.output))
	}
	return nil
}

// mostWords bounds what a detail holds of a step's output. The log has all of it.
const mostWords = 2000

// whole returns what a step printed on one line: a hook or a server says why in its
// own words, before the last line of git. Of a long output it keeps both ends.
func whole(output string) string {
	var lines []string
	for line := range strings.Lines(output) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	text := []rune(strings.Join(lines, "; "))
	if len(text) == 0 {
		return ""
	}
	if len(text) > mostWords {
		return ": " + string(text[:mostWords/2]) + " [...] " + string(text[len(text)-mostWords/2:])
	}
	return ": " + string(text)
}

// persist has what git wrote for the tree survive a power cut, beside what the
// attempt does meanwhile. What cannot be written is told at the end, when it
// matters.
func (a *attempt) persist(t *tree) { a.persisting.Go(func() { _ = t.repo.Sync() }) }

// survey fills in what git shows of the work, and saves what did not pass.
// What git cannot tell is noted; the verdict stands.
func (a *attempt) survey() {
	if a.tree == nil {
		a.surveyShared()
		return
	}
	from := a.spec.Place.Commit
	ctx := worktree.WithNotes(context.WithoutCancel(a.ctx), func(s string) { a.note("%s", s) })
	var errs []error
	note := func(err error) { errs = append(errs, err) }
	if a.end.Outcome != dag.Done && a.end.Reason != dag.ReasonScope || a.Overridden {
		// Nobody has looked yet. It does not change the verdict.
		f, err := a.sharedChanges(ctx)
		if note(err); f != nil {
			a.note("%s", f.detail)
		}
	}
	a.takeTrace()
	ctx = worktree.WithConfig(ctx, a.shared.undone...)
	var err error
	if a.end.Outcome != dag.Done && !a.end.Retry {
		a.end.Snapshot, err = a.tree.snapshot(ctx, fmt.Sprintf("attempt %d of %s did not pass", a.spec.Attempt, a.node.Name))
		note(err)
	}
	if a.node.HasBranch() {
		a.end.Tip, err = a.tree.repo.Tip(ctx, a.spec.Place.Branch)
		note(err)
		if a.end.Outcome == dag.Done && !a.Overridden && a.judged != "" && a.end.Tip != a.judged {
			a.note("%s has moved since it was judged: %.12s -> %.12s; dependents get what was judged", a.spec.Place.Branch, a.judged, a.end.Tip)
			a.end.Tip = a.judged
		}
		if from != "" && err == nil && a.end.Tip != from {
			a.end.Commits, err = a.tree.commits(ctx, from)
			note(err)
			a.end.DiffStat, err = a.tree.diffStat(ctx, from, a.end.Tip)
			note(err)
			// The record of the end must not outlive the commits that it names.
			a.persisting.Wait()
			note(a.tree.repo.Sync())
		}
	}
	if err := errors.Join(errs...); err != nil {
		a.note("%v", err)
	}
}
