package tasks

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"cmux/agents/control/runs"
	"cmux/agents/control/tasks"
	"cmux/agents/org/task"
	"cmux/agents/platform/say"
	"cmux/cmd/cmux/cli"
)

type taskMergeOptions struct {
	*cli.IO
	Project cli.ProjectFunc
	tasks.MergeTasks
	JSON bool
}

func newTaskMergeCmd(d *cli.Deps, runF func(context.Context, *taskMergeOptions) error) *cobra.Command {
	o := &taskMergeOptions{IO: &d.IO, Project: d.Project}
	cmd := &cobra.Command{
		Use:   "merge [ID...]",
		Short: "Bring the work of finished tasks into the integration branch",
		Long: `Bring the work of finished tasks into the integration branch, in the order in which they
ended, but parents before their children. Each is merged in a separate worktree, and
then the checks run: its own, those of the tasks that this call merged before it, and
verify: of .cmux/config.yml. Then the branch moves, by fast-forward. Where it is checked
out with uncommitted changes in the way, merge stops and names them.

What conflicts or fails a check stays out, and merge continues with the next task. What
stays out becomes a task of the agent that did it, or an open task if that agent is gone.
If that task fails the same check, merge makes no further task and says how to continue.
merge takes the work as it was when cmux judged it; of a task that you called done, it takes
the branch as it is now. merge repeats a call that was cut off.

--dry-run says what would be merged or conflict, and changes nothing. merge ends with 3
when a task stays out. With --json the shape is
  {"target", "commit", "dry_run", "tasks": [{"id", "title", "branch", "outcome", "commit",
   "conflict", "notes", "check", "task", "assigned_to", "try"}]}
where outcome is merged, contained, conflict, check, waits, gone or nothing, and task is the one
that is to bring the work in.`,
		Example: "  cmux tasks merge --dry-run\n  cmux tasks merge t1 t2",
		ValidArgsFunction: completeTask(d, func(t *task.Task) bool {
			return t.Delivers() && !t.Merged.In()
		}),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.IDs = args
			return cli.Either(runF, runTaskMerge)(cmd.Context(), o)
		},
	}
	cmd.Flags().BoolVar(&o.DryRun, "dry-run", false, "say what would be merged, and change nothing")
	cli.JSONFlag(cmd, &o.JSON)
	return cmd
}

func runTaskMerge(ctx context.Context, o *taskMergeOptions) error {
	p, err := o.Project(ctx)
	if err != nil {
		return err
	}
	o.Output = o.Err
	if !o.JSON && !o.DryRun {
		o.Begun = func(line string) { fmt.Fprintf(o.Err, "── %s ──\n", line) }
	}
	res, stopped := p.Tasks().Merge(ctx, o.MergeTasks)
	if stopped != nil && (res == nil || len(res.Tasks) == 0) {
		return stopped
	}
	if o.JSON {
		err = cli.PrintJSON(o.Out, res)
	} else {
		err = tellMerged(o.IO, res)
	}
	if stopped != nil {
		return stopped
	}
	if err == nil && !res.DryRun && res.Left() > 0 {
		err = cli.Silent(runs.ErrUnfinished)
	}
	return err
}

// tellMerged prints the outcome of each task's merge.
func tellMerged(s *cli.IO, res *tasks.MergedTasks) error {
	if len(res.Tasks) == 0 {
		_, err := fmt.Fprintln(s.Out, "Nothing to merge.")
		return err
	}
	would := ""
	if res.DryRun {
		would = "would be "
	}
	for i := range res.Tasks {
		t := &res.Tasks[i]
		text := would + "merged"
		switch t.Outcome {
		case tasks.TaskContained:
			text = "already merged"
		case tasks.TaskConflict:
			text = "a conflict in " + say.List(t.Conflict, 5)
		case tasks.TaskCheck:
			text = "after it this fails: " + t.Check
		case tasks.TaskWaits:
			if text = "waits"; t.Task == "" {
				text += " for cmux workers merge-clone " + t.Agent
			}
		case tasks.TaskGone:
			text = "its branch " + t.Branch + " is gone"
		case tasks.TaskNothing:
			text = "done without commits, nothing to merge"
		}
		if t.Task != "" {
			text += ": " + t.Task + " is to bring it in"
		}
		if t.Try != "" {
			text += "; try: " + t.Try
		} else if t.Task != "" && t.Agent != "" {
			text += ", assigned to " + t.Agent
		}
		fmt.Fprintf(s.Out, "%s: %s  (%s)\n", t.ID, say.Line(text), say.Line(t.Title))
		switch {
		case t.Room != "":
			fmt.Fprintf(s.Out, "  agents talk about it: cmux rooms tail %s\n", t.Room)
		case t.Outcome == tasks.TaskConflict && !res.DryRun:
			fmt.Fprintf(s.Out, "  to have agents talk about it: cmux rooms start --about merge:%s\n", t.ID)
		}
		for _, n := range t.Notes {
			fmt.Fprintf(s.Out, "note: %s\n", say.Line(n))
		}
	}
	_, err := fmt.Fprintf(s.Out, "%s: %sat %.12s\n", res.Target, would, res.Commit)
	return err
}
