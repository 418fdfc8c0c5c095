package attempt

import (
	"context"
	"fmt"
	"strings"

	"cmux/agents/runs/prompt"
	"cmux/dag"
	"cmux/worktree"
)

// state is what the node's own worktree holds; nil where nothing of it is
// judged.
func (a *attempt) state() (s *worktree.TreeState, err error) {
	if a.tree == nil || !a.node.HasBranch() {
		return nil, nil
	}
	err = a.git(func(ctx context.Context) (err error) {
		s, err = a.tree.repo.State(ctx, a.tree.lent.Path)
		return err
	})
	return s, err
}

// meddled finds out what a check has changed since before, and returns the state
// that it left. Untracked files that it made are its own: they are neither
// committed nor counted. rewrites says that it changed files and lost none.
func (a *attempt) meddled(before *worktree.TreeState, what, command string) (now *worktree.TreeState, f *fault, rewrites bool, err error) {
	if before == nil {
		return nil, nil, false, nil
	}
	var change worktree.TreeChange
	failure, err := a.during(func(ctx context.Context) error {
		ctx = worktree.WithConfig(ctx, a.shared.undone...)
		// Before git looks: without its .git it would find another repository.
		mended, err := a.tree.repo.Mend(a.tree.lent)
		if err != nil {
			return err
		}
		if mended {
			a.out.Say("put the worktree's .git back, which was gone or another after the check %s", command)
		}
		if now, err = a.tree.repo.State(ctx, a.tree.lent.Path); err != nil {
			return err
		}
		change = before.Changed(now)
		if len(change.New) > 0 {
			now.Forget(change.New)
			return a.tree.repo.Disown(ctx, a.tree.lent.Path, change.New)
		}
		return nil
	})
	if err != nil {
		return nil, nil, false, err
	}
	if failure != nil {
		return nil, nil, false, failed(dag.ReasonChecks, "%safter the check %s: %v", what, command, failure)
	}
	if len(change.New) > 0 {
		a.out.Say("made by the check, not the agent's work: %s", shown(change.New))
	}
	var did []string
	if change.Moved != "" {
		did = append(did, "moved "+change.Moved)
	}
	if len(change.Lost) > 0 {
		did = append(did, "deleted or emptied "+shown(change.Lost))
	}
	if len(change.Changed) > 0 {
		did = append(did, "changed "+shown(change.Changed))
	}
	if len(did) == 0 {
		return now, nil, false, nil
	}
	list := strings.Join(did, "; ")
	return now, &fault{
		reason: dag.ReasonChecks,
		detail: fmt.Sprintf("%sthe check %s changes what it checks: it %s", what, command, list),
		tell:   prompt.CheckChanged(command, list),
	}, change.Moved == "" && len(change.Lost) == 0, nil
}
