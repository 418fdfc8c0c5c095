package verdict

import (
	"context"
	"fmt"
	"strings"

	"cmux/agents/runs/attempt/workspace"
	"cmux/agents/runs/conversation"
	"cmux/agents/runs/prompt"
	"cmux/dag"
	"cmux/worktree"
)

// state is what the node's own worktree holds; nil where nothing of it is
// judged.
func (v *Verdict) state() (s *worktree.TreeState, err error) {
	if v.tree == nil || !v.node.HasBranch() {
		return nil, nil
	}
	err = v.git(func(ctx context.Context) (err error) {
		s, err = v.tree.Repo.State(ctx, v.tree.Lent.Path)
		return err
	})
	return s, err
}

// meddled finds out what a check has changed since before, and returns the state
// that it left. Untracked files that it made are its own: they are neither
// committed nor counted. rewrites says that it changed files and lost none.
func (v *Verdict) meddled(before *worktree.TreeState, what, command string) (now *worktree.TreeState, f *conversation.Fault, rewrites bool, err error) {
	if before == nil {
		return nil, nil, false, nil
	}
	var change worktree.TreeChange
	failure, err := v.During(func(ctx context.Context) error {
		ctx = v.tree.Config(ctx)
		// Before git looks: without its .git it would find another repository.
		mended, err := v.tree.Repo.Mend(v.tree.Lent)
		if err != nil {
			return err
		}
		if mended {
			v.Out.Say("put the worktree's .git back, which was gone or another after the check %s", command)
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
		Detail: fmt.Sprintf("%sthe check %s changes what it checks: it %s", what, command, list),
		Tell:   prompt.CheckChanged(command, list),
	}, change.Moved == "" && len(change.Lost) == 0, nil
}
