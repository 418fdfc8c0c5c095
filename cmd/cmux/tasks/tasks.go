// Package tasks has the commands of tasks and of the backlog: to add, list, assign,
// change and merge them.
package tasks

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"cmux/agents/control"
	"cmux/agents/control/tasks"
	"cmux/agents/org/task"
	"cmux/agents/platform/say"
	"cmux/agents/runs/run"
	"cmux/cmd/cmux/cli"
)

const taskShape = `  {"id", "title", "body", "priority", "kind", "scope", "verify", "branch", "project",
   "parent", "part_of", "backlog", "after", "start": {"commit", "tasks"}, "state", "reason",
   "until", "override", "assigned_to", "attempts": [{"n",
   "agent", "began_at", "ended_at", "end"}], "merged": {"commit", "conflict", "check", "task",
   "nothing"},
   "created_by", "created_at", "changed_by", "changed_at", "version", "label", "work_branch",
   "result": {"summary", "commits", "tip", "diffstat", "checks", "tokens", "snapshot"},
   "judged": {"given", "now"}}
where kind is change or answer, start, merged, result and judged may be null, and until is
there at a limit alone. start is the work of other tasks that the branch began at. judged is
the checks of a task that an agent works on: those that it was given, and those of now.`

// NewCmd builds cmux tasks and its commands.
func NewCmd(d *cli.Deps) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "tasks",
		GroupID: "main",
		Short:   "What there is to do, and who does it",
		Example: "  cmux tasks list",
	}
	cmd.AddCommand(newTaskAddCmd(d, false, nil), newTaskListCmd(d, false, nil), newTaskShowCmd(d, nil), newTaskLogCmd(d, nil), newTaskMergeCmd(d, nil))
	cmd.AddCommand(
		newTaskOrderCmd(d, "assign ID AGENT", "Give a task to an agent",
			"Give a task to an agent, which begins it when it has nothing more urgent to do.", "cmux tasks assign t1 perm-backend",
			func(t *task.Task) bool { return task.May(t.State, task.Assigned) && !t.Backlog },
			func(ctx context.Context, p *control.Project, o *taskOrderOptions) (tasks.TaskView, error) {
				return p.Tasks().Assign(ctx, o.ID, o.Words[0])
			}),
		newTaskOrderCmd(d, "cancel ID [REASON]", "Cancel a task", "Cancel a task. An agent that works on it is told to stop.", "cmux tasks cancel t1 'not needed any more'",
			func(t *task.Task) bool { return task.May(t.State, task.Cancelled) },
			func(ctx context.Context, p *control.Project, o *taskOrderOptions) (tasks.TaskView, error) {
				return p.Tasks().Move(ctx, o.ID, task.Cancelled, strings.Join(o.Words, " "))
			}),
		newTaskOrderCmd(d, "pause ID [REASON]", "Put a task back", "Put a task back. What it came to is kept, and assign has it go on.", "cmux tasks pause t1 'wait for the design'",
			func(t *task.Task) bool { return task.May(t.State, task.Paused) },
			func(ctx context.Context, p *control.Project, o *taskOrderOptions) (tasks.TaskView, error) {
				return p.Tasks().Move(ctx, o.ID, task.Paused, strings.Join(o.Words, " "))
			}),
		newTaskOrderCmd(d, "priority ID PRIORITY", "Change the priority of a task",
			"Change the priority of a task: critical, high, normal or low. Its place in the queue\nchanges with it.", "cmux tasks priority t1 high",
			func(t *task.Task) bool { return !t.State.Over() },
			func(ctx context.Context, p *control.Project, o *taskOrderOptions) (tasks.TaskView, error) {
				return p.Tasks().Prioritize(ctx, o.ID, task.Priority(o.Words[0]))
			}),
		newTaskOrderCmd(d, "done ID [REASON]", "Call a task done, whatever its own result is",
			"Call a task done, whatever its own result is. This is recorded as your override. An\nagent reports with cmux done, and its work is checked.", "cmux tasks done t1 'I did it myself'",
			func(t *task.Task) bool { return t.State != task.Done },
			func(ctx context.Context, p *control.Project, o *taskOrderOptions) (tasks.TaskView, error) {
				return p.Tasks().Override(ctx, o.ID, strings.Join(o.Words, " "))
			}))
	return cmd
}

// NewBacklogCmd builds cmux backlog and its commands.
func NewBacklogCmd(d *cli.Deps) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "backlog",
		GroupID: "main",
		Short:   "Tasks for later",
		Example: "  cmux backlog list",
	}
	cmd.AddCommand(newTaskAddCmd(d, true, nil), newTaskListCmd(d, true, nil),
		newTaskOrderCmd(d, "take ID", "Take a task out of the backlog", "Take a task out of the backlog, so that it can be assigned.", "cmux backlog take t1",
			func(t *task.Task) bool { return t.Backlog },
			func(ctx context.Context, p *control.Project, o *taskOrderOptions) (tasks.TaskView, error) {
				return p.Tasks().Take(ctx, o.ID)
			}))
	return cmd
}

type taskAddOptions struct {
	*cli.IO
	Project                                         cli.ProjectFunc
	Title, Body, Priority, Branch, Of, ProjectField string
	Scope, Verify, After                            []string
	Backlog, Answer, JSON                           bool
}

func newTaskAddCmd(d *cli.Deps, backlog bool, runF func(context.Context, *taskAddOptions) error) *cobra.Command {
	o := &taskAddOptions{IO: &d.IO, Project: d.Project, Backlog: backlog}
	cmd := &cobra.Command{
		Use:     "add TITLE [BODY]",
		Short:   "Add a task",
		Long:    "Add a task. With - the body is read from standard input. With --json the shape is\n" + taskShape,
		Example: "  cmux tasks add 'Fix the login' 'It fails with an empty password.' --verify 'go test ./auth'",
		Args:    cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Title, o.Body = args[0], strings.Join(args[1:], "")
			return cli.Either(runF, runTaskAdd)(cmd.Context(), o)
		},
	}
	if backlog {
		cmd.Short, cmd.Example = "Add a task for later", "  cmux backlog add 'Rename the tables' --priority low"
	}
	f := cmd.Flags()
	f.StringVar(&o.Priority, "priority", string(task.Normal), "critical, high, normal or low")
	f.StringSliceVar(&o.Scope, "scope", nil, "files that the work may change (globs)")
	f.StringArrayVar(&o.Verify, "verify", nil, "a command that checks the work; may be given several times")
	f.StringVar(&o.Branch, "branch", "", "branch of the work")
	f.BoolVar(&o.Answer, "answer", false, "the task asks for an answer: its agent reads, changes nothing and reports")
	f.StringVar(&o.ProjectField, "project", "", "project that it belongs to")
	f.StringSliceVar(&o.After, "after", nil, "`ID` of a task that must be done first, and whose work the branch of this one starts from; may be given several times")
	f.StringVar(&o.Of, "parent", "", "`ID` of the task that it is a part of")
	cli.JSONFlag(cmd, &o.JSON)
	cmd.RegisterFlagCompletionFunc("priority", cobra.FixedCompletions([]string{"critical", "high", "normal", "low"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func runTaskAdd(ctx context.Context, o *taskAddOptions) error {
	p, err := o.Project(ctx)
	if err != nil {
		return err
	}
	if o.Body == "-" {
		b, err := io.ReadAll(io.LimitReader(o.In, 2<<20)) // more than a task may have
		if err != nil {
			return err
		}
		o.Body = string(b)
	}
	priority := task.Priority(o.Priority)
	f := task.Fields{Title: &o.Title, Body: &o.Body, Priority: &priority, Branch: &o.Branch, Project: &o.ProjectField, Parent: &o.Of, Backlog: &o.Backlog}
	if o.Answer {
		kind := task.ForAnswer
		f.Kind = &kind
	}
	if o.Scope != nil {
		f.Scope = &o.Scope
	}
	if o.Verify != nil {
		f.Verify = &o.Verify
	}
	if o.After != nil {
		f.After = &o.After
	}
	t, err := p.Tasks().Add(ctx, f)
	if err != nil {
		return err
	}
	return tellTask(o.IO, t, o.JSON)
}

// tellTask says how a task stands.
func tellTask(s *cli.IO, t tasks.TaskView, asJSON bool) error {
	if asJSON {
		return cli.PrintJSON(s.Out, t)
	}
	_, err := fmt.Fprintf(s.Out, "%s: %s  %s\n", t.ID, t.Label, say.Line(t.Title))
	return err
}

type taskListOptions struct {
	*cli.IO
	Project cli.ProjectFunc
	tasks.TaskQuery
	JSON bool
}

func newTaskListCmd(d *cli.Deps, backlog bool, runF func(context.Context, *taskListOptions) error) *cobra.Command {
	o := &taskListOptions{IO: &d.IO, Project: d.Project, TaskQuery: tasks.TaskQuery{Backlog: backlog}}
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List tasks, the most urgent first",
		Long: "List tasks, the most urgent first, and of those the oldest. With --json the shape is\n" +
			`  {"tasks", "over", "skipped": [{"at", "why", "text"}], "gaps"}` + "\nwhere over counts ended tasks that are not listed, skipped are lines of the file that do\nnot count, gaps are tasks of which a change is missing, and a task is\n" + taskShape,
		Example: "  cmux tasks list --json",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cli.Either(runF, runTaskList)(cmd.Context(), o) },
	}
	if backlog {
		cmd.Short, cmd.Example = "List the tasks for later, the most urgent first", "  cmux backlog list"
	} else {
		cmd.Flags().BoolVar(&o.All, "all", false, "list those that are over too")
		cmd.Flags().StringVar(&o.Agent, "agent", "", "only those of this agent, by `NAME`")
	}
	cli.JSONFlag(cmd, &o.JSON)
	return cmd
}

func runTaskList(ctx context.Context, o *taskListOptions) error {
	p, err := o.Project(ctx)
	if err != nil {
		return err
	}
	all, err := p.Tasks().List(o.TaskQuery)
	if err != nil {
		return err
	}
	for i := range all.Skipped {
		fmt.Fprintf(o.Err, "cmux: skipped a line of %s\n", all.Skipped[i].String())
	}
	for _, id := range all.Gaps {
		fmt.Fprintf(o.Err, "cmux: a change of %s is missing in tasks.jsonl\n", id)
	}
	if o.JSON {
		return cli.PrintJSON(o.Out, all)
	}
	if len(all.Tasks) == 0 {
		none := "No tasks."
		switch {
		case o.Backlog:
			none = "The backlog is empty."
		case all.Over > 0:
			none = fmt.Sprintf("No open tasks; %d ended: --all lists them.", all.Over)
		}
		_, err := fmt.Fprintln(o.Out, none)
		return err
	}
	rows := make([][]string, len(all.Tasks))
	for i, t := range all.Tasks {
		rows[i] = []string{t.ID, string(t.Priority), say.Line(t.Label), cli.OrDash(t.Agent), say.Span(p.Now().Sub(t.ChangedAt)), say.Line(t.Title)}
	}
	columns := []cli.Column{{Head: "TASK"}, {Head: "PRIORITY", Give: 3, Least: 8}, {Head: "STATE", Give: 1, Least: 10}, {Head: "AGENT", Give: 2, Least: 8}, {Head: "SINCE", Give: 4, Least: 6}, {Head: "TITLE", Give: 1, Least: 12}}
	_, err = fmt.Fprint(o.Out, cli.Table(columns, rows, o.Width(), o.Color()))
	return err
}

type taskOrderOptions struct {
	*cli.IO
	Project cli.ProjectFunc
	ID      string
	Words   []string
	JSON    bool

	order func(context.Context, *control.Project, *taskOrderOptions) (tasks.TaskView, error)
}

// newTaskOrderCmd is a command that changes one task.
func newTaskOrderCmd(d *cli.Deps, use, short, long, example string, fits func(*task.Task) bool,
	order func(context.Context, *control.Project, *taskOrderOptions) (tasks.TaskView, error)) *cobra.Command {
	o := &taskOrderOptions{IO: &d.IO, Project: d.Project, order: order}
	least := strings.Count(use, " ") - strings.Count(use, "[")
	args := cobra.MinimumNArgs(least)
	if !strings.Contains(use, "[") {
		args = cobra.ExactArgs(least)
	}
	cmd := &cobra.Command{
		Use: use, Short: short, Long: long + " The --json shape is that of cmux tasks show.", Example: "  " + example, Args: args, ValidArgsFunction: completeTask(d, fits),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.ID, o.Words = args[0], args[1:]
			return runTaskOrder(cmd.Context(), o)
		},
	}
	cli.JSONFlag(cmd, &o.JSON)
	return cmd
}

// completeTask completes the id of a task that fits.
func completeTask(d *cli.Deps, fits func(*task.Task) bool) cobra.CompletionFunc {
	return d.Completing(func(_ context.Context, p *control.Project) ([]string, error) { return p.Tasks().IDs(fits) })
}

func runTaskOrder(ctx context.Context, o *taskOrderOptions) error {
	p, err := o.Project(ctx)
	if err != nil {
		return err
	}
	t, err := o.order(ctx, p, o)
	if err != nil {
		return err
	}
	if err := tellTask(o.IO, t, o.JSON); err != nil || t.Dirty == "" {
		return err
	}
	_, err = fmt.Fprintf(o.Err, "cmux: %s: when the agent stops, cmux saves them as a snapshot and sends you its name: cmux mailbox inbox\n", say.Line(t.Dirty))
	return err
}

func newTaskShowCmd(d *cli.Deps, runF func(context.Context, *taskOrderOptions) error) *cobra.Command {
	o := &taskOrderOptions{IO: &d.IO, Project: d.Project}
	cmd := &cobra.Command{
		Use: "show ID", Short: "Show a task and its result", Long: "Show a task and its result. With --json the shape is\n" + taskShape, Example: "  cmux tasks show t1",
		Args: cobra.ExactArgs(1), ValidArgsFunction: completeTask(d, func(*task.Task) bool { return true }),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.ID = args[0]
			return cli.Either(runF, runTaskShow)(cmd.Context(), o)
		},
	}
	cli.JSONFlag(cmd, &o.JSON)
	return cmd
}

func runTaskShow(ctx context.Context, o *taskOrderOptions) error {
	_, t, done, err := cli.Asked(ctx, o.IO, o.Project, o.JSON, func(p *control.Project) (tasks.TaskView, error) { return p.Tasks().Task(o.ID) })
	if done {
		return err
	}
	line := func(name, value string) {
		if value != "" {
			fmt.Fprintf(o.Out, "%-10s %s\n", name, say.Line(value))
		}
	}
	line("Task", t.ID+"  "+t.Title)
	line("State", t.Label)
	if !strings.Contains(t.Label, t.Reason) {
		line("Reason", t.Reason)
	}
	line("Next", t.Next())
	line("Priority", string(t.Priority))
	line("Kind", map[task.Kind]string{task.ForAnswer: "answer: it ends with a report, and nothing is changed"}[t.Kind])
	line("Agent", t.Agent)
	line("Branch", t.OnBranch)
	if t.Start != nil {
		line("Start", fmt.Sprintf("with the work of %s, at %.12s", strings.Join(t.Start.Tasks, ", "), t.Start.Commit))
	} else if len(t.After) > 0 && len(t.Attempts) == 0 {
		line("Start", "with the work of "+strings.Join(t.After, ", "))
	}
	line("Project", t.Project)
	line("Part of", t.Parent)
	line("Scope", strings.Join(t.Scope, ", "))
	line("Verify", strings.Join(t.Verify, "; "))
	line("Created", fmt.Sprintf("%s by %s", t.CreatedAt.Local().Format("2006-01-02 15:04"), t.CreatedBy))
	if r := t.Result; r != nil {
		line("Attempts", fmt.Sprint(len(t.Attempts)))
		line("Result", r.Summary)
		line("Failed", run.FailedCheck(r.Checks))
		line("Commits", fmt.Sprint(r.Commits))
		line("Changed", r.DiffStat)
		if r.Snapshot != "" {
			line("Saved", "what was not committed: cmux snapshots restore "+r.Snapshot)
		}
	}
	line("Merged", strings.TrimPrefix(t.Merged.String(), "merged at "))
	if t.Body != "" {
		_, err = fmt.Fprintf(o.Out, "\n%s\n", strings.TrimRight(t.Body, "\n"))
	}
	return err
}

func newTaskLogCmd(d *cli.Deps, runF func(context.Context, *taskOrderOptions) error) *cobra.Command {
	o := &taskOrderOptions{IO: &d.IO, Project: d.Project}
	cmd := &cobra.Command{
		Use: "log ID", Short: "Show what happened to a task",
		Long:    "Show what happened to a task, oldest first; with --json as in .cmux/tasks.jsonl.",
		Example: "  cmux tasks log t1", Args: cobra.ExactArgs(1), ValidArgsFunction: completeTask(d, func(*task.Task) bool { return true }),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.ID = args[0]
			return cli.Either(runF, runTaskLog)(cmd.Context(), o)
		},
	}
	cli.JSONFlag(cmd, &o.JSON)
	return cmd
}

func runTaskLog(ctx context.Context, o *taskOrderOptions) error {
	_, all, done, err := cli.Asked(ctx, o.IO, o.Project, o.JSON, func(p *control.Project) ([]task.Change, error) { return p.Tasks().Log(o.ID) })
	if done {
		return err
	}
	for i := range all {
		if _, err := fmt.Fprintf(o.Out, "%s  %-12s %s\n", all[i].At.Local().Format("2006-01-02 15:04:05"), say.Line(all[i].By), say.Line(all[i].String())); err != nil {
			return err
		}
	}
	return nil
}
