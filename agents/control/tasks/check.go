package tasks

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"cmux/agents/org/task"
	"cmux/agents/platform/proc"
	"cmux/agents/runs/attempt"
	"cmux/agents/runs/run"
	"cmux/dag"
	"cmux/worktree/git"
	"cmux/worktree/hint"
)

// taskCheck is a command that must pass after a merge, and whose it is.
type taskCheck struct{ command, of string }

// brokenCheck is a check that failed after a merge.
type brokenCheck struct {
	run.Check
	of string // task, or what stands in the configuration
}

func (e *brokenCheck) Error() string {
	return fmt.Sprintf("%s (of %s): exit status %d", e.Command, e.of, e.Exit)
}

// configured is whose the checks of the configuration are.
const configured = "config.yml"

// checksOf are the checks of a task itself.
func (m *taskMerger) checksOf(t *task.Task) (all []taskCheck) {
	for _, command := range t.Verify {
		all = append(all, taskCheck{command, t.ID})
	}
	return all
}

// verify judges the integration branch with the work of t in it: by the checks of
// t, of those merged before it, and of the configuration.
func (m *taskMerger) verify(ctx context.Context, t *task.Task, dir string) error {
	all := append(m.checksOf(t), m.checks...)
	for _, command := range m.org.Settings.Verify {
		all = append(all, taskCheck{command, configured})
	}
	ran := make(map[string]bool)
	all = slices.DeleteFunc(all, func(c taskCheck) bool {
		was := ran[c.command]
		ran[c.command] = true
		return was
	})
	return m.check(ctx, dir, all)
}

// blames reports what fails without the work of t as well: no task is to
// mend who worked on t.
func (m *taskMerger) blames(ctx context.Context, t *task.Task, c *brokenCheck) error {
	if slices.Contains(t.Verify, c.Command) {
		return nil // it may be about what t alone brings
	}
	err := m.check(ctx, m.spec.Path, []taskCheck{{c.Command, c.of}})
	if err == nil || ctx.Err() != nil {
		return ctx.Err()
	}
	return hint.New(fmt.Errorf("on %s as it is, without task %s, this fails already: %w", m.target, t.ID, err), "mend it there, then cmux tasks merge")
}

// MergeTimeout bounds a check after a merge.
const MergeTimeout = 10 * time.Minute

// mergeName names what runs checks after merges, where an agent's name stands.
const mergeName = "merge-tasks"

// check runs commands in dir in the organization's environment. The first that
// fails is a *brokenCheck.
func (m *taskMerger) check(ctx context.Context, dir string, all []taskCheck) error {
	if len(all) == 0 {
		return nil
	}
	spawner, err := proc.NewSpawner()
	if err != nil {
		return err
	}
	defer spawner.Close()
	env, err := m.org.Run.Env()
	if err != nil { // it is not started any more; the person's own serves
		env = m.p.Env
	}
	node := &dag.Node{Name: mergeName, Role: dag.RoleBuild, VerifyTimeout: dag.Duration(MergeTimeout), Fence: m.org.Fence()} // it runs what agents wrote
	for _, c := range all {
		node.Verify = append(node.Verify, c.command)
	}
	spec := &run.Spec{Node: node.Name, Frame: m.org.Run.Frame(), Def: node, Place: run.Place{Dir: dir}}
	job := attempt.Job{Spec: spec, Paths: m.org.Run.Paths, Env: git.CleanEnv(env), Spawner: spawner}
	out := m.o.Output
	if out == nil {
		out = io.Discard
	}
	n := 0
	return attempt.Verify(ctx, job, out, func(string) {}, func(c run.Check) error {
		of := all[n].of
		if n++; c.Exit != 0 || c.TimedOut {
			return &brokenCheck{c, of}
		}
		return nil
	})
}
