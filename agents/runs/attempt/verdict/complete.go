package verdict

import (
	"context"
	"errors"
	"strings"

	"cmux/agents/kinds/agent"
	"cmux/agents/platform/harmless"
	"cmux/agents/runs/prompt"
	"cmux/dag"
	"cmux/worktree"
	"cmux/worktree/git"
	"cmux/worktree/merge"
)

// OnComplete runs the on_complete steps; repeating a step is harmless. summary is the
// agent's report.
func (v *Verdict) OnComplete(summary string) error {
	pushed := false
	for _, step := range v.node.OnComplete {
		var err error
		switch step {
		case "push":
			err, pushed = v.push(), true
		case "pr":
			if !pushed {
				err = v.push()
			}
			if err == nil {
				err = v.pullRequest(summary)
			}
		default:
			err = Failed(dag.ReasonOnComplete, "unknown step %q", step)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// push pushes the judged commit to the remote that git named for the branch when the run
// began. It refuses if settings that affect a push have changed.
func (v *Verdict) push() error {
	branch, commit := v.Spec.Place.Branch, v.judged
	var remote, hooks string
	recorded := func() error {
		return v.asked(func(ctx context.Context) error {
			base, err := v.Home.Pushable(ctx, v.tree.Repo)
			if err != nil {
				return err
			}
			if base == nil { // a run of an earlier version
				if base, err = v.tree.Repo.Shared.Read(ctx, v.tree.Lent.Path, false); err != nil {
					return err
				}
			}
			if remote, err = base.PushRemote(branch, v.Spec.Frame.BaseBranch); err != nil {
				return err
			}
			hooks = base.HooksPath(v.tree.Repo.GitDir)
			if commit == "" {
				commit, err = v.tree.Repo.Tip(ctx, branch)
			}
			return err
		})
	}
	if err := recorded(); err != nil {
		return err
	}
	v.Out.Say("on_complete: push %s (%.12s) to %s", branch, commit, remote)
	s, err := v.step("", v.StepTime, []string{"git", "--no-replace-objects", "-c", "core.hooksPath=" + hooks, "push", "--", remote, commit + ":refs/heads/" + branch})
	if err := v.stepFailed("push", s, err); err != nil {
		return err
	}
	if err := recorded(); err != nil { // something changed it during the push
		return err
	}
	return v.asked(func(ctx context.Context) error { return v.tree.Repo.Shared.Pushed(ctx, branch, remote, commit) })
}

// asked runs f for an on_complete step, while messages are served.
func (v *Verdict) asked(f func(context.Context) error) error {
	failure, err := v.During(f)
	if err != nil {
		return err
	}
	if failure != nil {
		return Failed(dag.ReasonOnComplete, "%v", failure)
	}
	return nil
}

// pullRequest opens a pull request with gh, unless one is open.
func (v *Verdict) pullRequest(summary string) error {
	v.Out.Say("on_complete: pr %s", v.Spec.Place.Branch)
	if _, err := agent.LookPath("gh", v.Stage.Env); err != nil {
		return Failed(dag.ReasonOnComplete, "pr: gh is not in the PATH: install it, or take pr out of on_complete; %s is pushed", v.Spec.Place.Branch)
	}
	s, err := v.step("", v.StepTime, []string{"gh", "pr", "list", "--head", v.Spec.Place.Branch, "--state", "open", "--json", "url", "--jq", ".[].url"})
	if err := v.stepFailed("pr", s, err); err != nil {
		return err
	}
	if strings.TrimSpace(s.output) != "" {
		return nil
	}
	title, body := v.node.Name, v.node.Name
	if summary != "" {
		title, _, _ = strings.Cut(summary, "\n")
		title, body = prompt.Cut(title, 200), prompt.Cut(summary, 60_000) // GitHub takes 65,536
	}
	argv := []string{"gh", "pr", "create", "--head", v.Spec.Place.Branch, "--title", harmless.Line(title), "--body-file", "-"}
	if b := v.Spec.Frame.BaseBranch; b != "" {
		argv = append(argv, "--base", b)
	}
	s, err = v.step("", v.StepTime, argv, harmless.Text(body))
	return v.stepFailed("pr", s, err)
}

func (v *Verdict) stepFailed(name string, s *stepEnd, err error) error {
	if err != nil {
		return err
	}
	switch {
	case s.timedOut:
		return Failed(dag.ReasonOnComplete, "%s did not end within %s", name, v.StepTime)
	case s.exit != 0:
		return FailedBy(s.exit, dag.ReasonOnComplete, "%s: exit %d%s", name, s.exit, whole(s.output))
	}
	return nil
}

// mostWords bounds how much of a step's output a detail contains. The log has all of it.
const mostWords = 2000

// whole returns a step's output on one line: a hook or a server explains itself before
// git's last line. Of a long output it keeps both ends.
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

// Merge merges the branches one after the other, with the checks after each. It stops at
// the first whose checks fail and undoes that merge. Checks that failed before the first
// merge need to pass only after the last.
func (v *Verdict) Merge() error {
	spec := worktree.MergeSpec{Path: v.tree.Lent.Path}
	for _, d := range v.Spec.Branches {
		if d.Tip == "" {
			continue // it contributes nothing
		}
		name := d.Branch
		if name == "" {
			name = d.Name
		}
		spec.Branches = append(spec.Branches, merge.Tip{Name: name, Commit: d.Tip})
	}
	spec.Verify = func(ctx context.Context, _, branch string) error {
		return v.Call(ctx, func() error {
			what := "before the first merge: "
			if branch != "" {
				v.Out.Say("merged %s", branch)
				what = "after merging " + branch + ": "
			}
			f, err := v.verify(what)
			if err == nil && f != nil {
				err = Failed(f.Reason, "%s", f.Detail)
			}
			return err
		})
	}
	var res *worktree.MergeResult
	var notes []string
	failure, err := v.During(func(ctx context.Context) (err error) {
		res, err = v.tree.Repo.MergeInto(git.WithNotes(ctx, func(s string) { notes = append(notes, s) }), spec)
		return err
	})
	for _, s := range notes {
		v.Note("%s", s)
	}
	var (
		conflict *merge.ConflictError
		refused  *worktree.VerifyError
	)
	switch {
	case err != nil:
		return err
	case errors.As(failure, &conflict):
		return Failed(dag.ReasonConflict, "%v", failure)
	case errors.As(failure, &refused):
		return refused.Err
	case failure != nil:
		return FailedBy(CodeOf(failure), dag.ReasonSetup, "merging: %v", failure)
	}
	v.start, v.judged = res.Commit, res.Commit
	return nil
}
