package verdict

import (
	"context"
	"fmt"
	"strings"

	"cmux/agents/platform/proc"
	"cmux/agents/runs/attempt/workspace"
)

// Findings says what is there of the work of an agent that has ended without a
// report, its checks included. Nothing is changed by it.
func (v *Verdict) Findings(exit proc.Exit) (string, error) {
	how := fmt.Sprintf("exit %d", exit.Code)
	if exit.Signal != 0 {
		how = exit.String()
	}
	var there []string
	add := func(format string, args ...any) { there = append(there, fmt.Sprintf(format, args...)) }
	f, err := v.verify("")
	if err != nil {
		return "", err
	}
	if v.tree != nil && v.node.HasBranch() {
		err := v.git(func(ctx context.Context) error { return v.work(ctx, add) })
		if _, ended := err.(*Final); ended {
			add("what git says of it is not known (%v)", err) // the person is asked all the same
		} else if err != nil {
			return "", err
		}
	}
	switch {
	case f != nil:
		add("its check failed (%s)", oneLine(f.Detail))
	case len(v.node.Verify) > 0:
		add("its checks pass")
	}
	detail := "ended without a report (" + how + ")"
	if len(there) > 0 {
		detail += ": " + strings.Join(there, ", ")
	}
	return detail, nil
}

// work tells what the branch and the worktree hold of the agent's.
func (v *Verdict) work(ctx context.Context, add func(string, ...any)) error {
	n, err := v.tree.Commits(ctx, v.start)
	if err != nil {
		return err
	}
	switch n {
	case 0:
		add("no commit")
	case 1:
		add("1 commit")
	default:
		add("%d commits", n)
	}
	dirt, err := v.tree.Repo.Uncommitted(ctx, v.tree.Lent.Path)
	if err != nil {
		return err
	}
	if !dirt.Clean() {
		add("not committed: %s (%s)", dirt, workspace.Shown(dirt.Paths))
	}
	f, err := v.scope(ctx)
	if err == nil && f != nil {
		add("%s", f.Detail)
	}
	return err
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
