package org

import (
	"context"
	"fmt"
	"strings"

	"cmux/agents/control/project"

	"github.com/spf13/cobra"

	"cmux/agents/control"
	"cmux/agents/control/crew"
	"cmux/agents/org/task"
	"cmux/agents/platform/say"
	"cmux/cmd/cmux/cli"
)

type workerAssignOptions struct {
	*cli.IO
	Project              cli.ProjectFunc
	Name, What, Priority string
	Verify               []string
	Answer, JSON         bool
}

func newWorkerAssignCmd(d *cli.Deps, runF func(context.Context, *workerAssignOptions) error) *cobra.Command {
	o := &workerAssignOptions{IO: &d.IO, Project: d.Project}
	cmd := &cobra.Command{
		Use:   "assign NAME TASK|TEXT",
		Short: "Give a worker a task",
		Long: `Give a worker a task: one that there is, by its ID, or a new one. The first line of TEXT
is its title. The worker begins it when it has nothing more urgent to do. With
"overflow: spawn" in .cmux/config.yml, a task for a permanent worker that is busy goes to
another one that is made for it, and removed after it.

With --json the shape is that of cmux tasks show.`,
		Example:           "  cmux workers assign api t3\n  cmux workers assign api \"add the endpoint /health\" --verify \"go test ./...\"",
		Args:              cobra.MinimumNArgs(2),
		ValidArgsFunction: d.CompleteAgent,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Name, o.What = args[0], strings.Join(args[1:], " ")
			return cli.Either(runF, runWorkerAssign)(cmd.Context(), o)
		},
	}
	cmd.Flags().StringVar(&o.Priority, "priority", "", "of a new task: critical, high, normal or low")
	cmd.Flags().StringArrayVar(&o.Verify, "verify", nil, "of a new task: a command that checks the work; may be given several times")
	cmd.Flags().BoolVar(&o.Answer, "answer", false, "a new task that asks for an answer: its agent reads, changes nothing and reports")
	cmd.RegisterFlagCompletionFunc("priority", cobra.FixedCompletions([]string{"critical", "high", "normal", "low"}, cobra.ShellCompDirectiveNoFileComp))
	cli.JSONFlag(cmd, &o.JSON)
	return cmd
}

func runWorkerAssign(ctx context.Context, o *workerAssignOptions) error {
	p, err := o.Project(ctx)
	if err != nil {
		return err
	}
	var f task.Fields
	if o.Priority != "" {
		priority := task.Priority(o.Priority)
		f.Priority = &priority
	}
	if o.Answer {
		kind := task.ForAnswer
		f.Kind = &kind
	}
	if o.Verify != nil {
		f.Verify = &o.Verify
	}
	t, err := p.Tasks().Give(ctx, o.Name, o.What, f)
	if err != nil {
		return err
	}
	if o.JSON {
		return cli.PrintJSON(o.Out, t)
	}
	_, err = fmt.Fprintf(o.Out, "%s: %s to %s%s  %s\n", t.ID, t.State, t.Agent, strings.TrimPrefix(t.Label, string(t.State)), say.Line(t.Title))
	return err
}

type workerSendOptions struct {
	*cli.IO
	Project    cli.ProjectFunc
	Name, Text string
}

func newWorkerSendCmd(d *cli.Deps, runF func(context.Context, *workerSendOptions) error) *cobra.Command {
	o := &workerSendOptions{IO: &d.IO, Project: d.Project}
	return &cobra.Command{
		Use:   "send NAME TEXT",
		Short: "Write a message to a worker",
		Long: `Write a message to a worker. The first line is its subject. It is the same as
cmux mailbox send, which can do more.`,
		Example:           "  cmux workers send api \"the port is 8080\"",
		Args:              cobra.MinimumNArgs(2),
		ValidArgsFunction: d.CompleteAgent,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Name, o.Text = args[0], strings.Join(args[1:], " ")
			return cli.Either(runF, runWorkerSend)(cmd.Context(), o)
		},
	}
}

func runWorkerSend(ctx context.Context, o *workerSendOptions) error {
	p, err := o.Project(ctx)
	if err != nil {
		return err
	}
	sent, err := p.Letters().SendTo(ctx, o.Name, o.Text)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(o.Out, "%s: sent to %s\n", sent.ID, sent.To)
	return err
}

type cloneOptions struct {
	*cli.IO
	Project cli.ProjectFunc
	Name    string
	JSON    bool
}

func newCloneCmd(d *cli.Deps, runF func(context.Context, *cloneOptions) error) *cobra.Command {
	o := &cloneOptions{IO: &d.IO, Project: d.Project}
	cmd := &cobra.Command{
		Use:   "clone NAME",
		Short: "Make a second worker like this one",
		Long: `Make a clone of a worker, NAME-clone-N: the same program, model and role, in a worktree of
its own, on a branch that begins where the worker's is: that of its task, or else its
own. All tasks of a clone are on that branch. cmux workers merge-clone takes what it did
back to where it came from, and removes it.

With --json the shape is {"name", "agent_id", "dir", "branch"}.`,
		Example:           "  cmux workers clone perm-backend",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: d.CompleteAgent,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Name = args[0]
			return cli.Either(runF, runClone)(cmd.Context(), o)
		},
	}
	cli.JSONFlag(cmd, &o.JSON)
	return cmd
}

func runClone(ctx context.Context, o *cloneOptions) error {
	p, err := o.Project(ctx)
	if err != nil {
		return err
	}
	made, err := p.Crew().Clone(ctx, o.Name)
	if err != nil {
		return err
	}
	if o.JSON {
		return cli.PrintJSON(o.Out, made)
	}
	_, err = fmt.Fprintf(o.Out, "%s (%s): made, in %s, on the branch %s\n", made.Name, made.ID, made.Dir, made.Branch)
	return err
}

func newMergeCloneCmd(d *cli.Deps, runF func(context.Context, *cloneOptions) error) *cobra.Command {
	o := &cloneOptions{IO: &d.IO, Project: d.Project}
	cmd := &cobra.Command{
		Use:   "merge-clone NAME",
		Short: "Take a clone's work back to where it came from, and remove the clone",
		Long: `Merge the branch of a clone, always by a merge commit, into the branch that it began at,
and remove the clone, its worktree and its branch. What it had not committed is saved
first. A clone that has a task is not merged. What conflicts is named, and nothing is
changed. Where the branch is checked out, the files there come along, but over nothing
that is not committed. A call that was cut off is repeated.

The clone's finished tasks come in with the task that the worker was at then:
cmux tasks merge.

With --json the shape is
  {"name", "archive", "restore", "tree", "why", "into", "commit", "moved"}
where restore is there when something was not committed, tree and why when the worktree
could not be removed, and moved says that there was something to merge.`,
		Example:           "  cmux workers merge-clone perm-backend-clone-1",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: d.CompleteAgent,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Name = args[0]
			return cli.Either(runF, runMergeClone)(cmd.Context(), o)
		},
	}
	cli.JSONFlag(cmd, &o.JSON)
	return cmd
}

func runMergeClone(ctx context.Context, o *cloneOptions) error {
	p, res, done, err := cli.Asked(ctx, o.IO, o.Project, o.JSON, func(p *control.Project) (*crew.MergedClone, error) { return p.Crew().MergeClone(ctx, o.Name) })
	if done {
		return err
	}
	if res.Moved {
		fmt.Fprintf(o.Out, "%s: merged into %s, now at %.12s\n", res.Name, res.Into, res.Commit)
	} else {
		fmt.Fprintf(o.Out, "%s: nothing to merge into %s\n", res.Name, res.Into)
	}
	return tellGone(o.IO, p, &res.Gone)
}

type demoteOptions struct {
	*cli.IO
	Project cli.ProjectFunc
	Name    string
	All     bool
}

func newDemoteCmd(d *cli.Deps, runF func(context.Context, *demoteOptions) error) *cobra.Command {
	o := &demoteOptions{IO: &d.IO, Project: d.Project}
	cmd := &cobra.Command{
		Use:   "demote NAME | --all",
		Short: "Make an ordinary worker of a permanent one",
		Long: `Make an ordinary worker of a permanent one, or of all of them with --all. It keeps its
name, its conversation and its work, and the supervisor may remove it from then on.`,
		Example:           "  cmux workers demote perm-backend\n  cmux workers demote --all",
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: d.CompleteAgent,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				o.Name = args[0]
			}
			if o.All == (o.Name != "") {
				return project.Usage("cmux workers demote --help", "name one worker, or say --all")
			}
			return cli.Either(runF, runDemote)(cmd.Context(), o)
		},
	}
	cmd.Flags().BoolVar(&o.All, "all", false, "demote all permanent workers")
	return cmd
}

func runDemote(ctx context.Context, o *demoteOptions) error {
	p, err := o.Project(ctx)
	if err != nil {
		return err
	}
	names, err := p.Crew().Demote(ctx, o.Name)
	if err != nil {
		return err
	}
	if len(names) == 0 {
		_, err = fmt.Fprintln(o.Out, "There is no permanent worker.")
		return err
	}
	for _, name := range names {
		fmt.Fprintf(o.Out, "%s: an ordinary worker now\n", name)
	}
	return nil
}
