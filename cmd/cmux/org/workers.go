package org

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"cmux/agents/control"
	"cmux/agents/control/commands"
	"cmux/agents/control/crew"
	"cmux/cmd/cmux/cli"
)

func newWorkersCmd(d *cli.Deps) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "workers",
		GroupID: "main",
		Short:   "Make, watch and steer the standing agents of the project",
		Example: "  cmux workers list",
	}
	logs := newOrgLogsCmd(d, nil)
	logs.Example = "  cmux workers logs api -f"
	attach := newOrgAttachCmd(d, nil)
	attach.GroupID, attach.Use, attach.Args = "", "attach NAME", cobra.ExactArgs(1)
	attach.Short, attach.Example = "Look at a worker in its window", "  cmux workers attach api"
	cmd.AddCommand(newSpawnCmd(d, nil), newWorkersListCmd(d, nil), newWorkersStatusCmd(d, nil), newKillCmd(d, nil),
		newWorkerCmd(d, "reset NAME", "Begin a new conversation of a worker", `End the conversation of a worker and begin a new one. The new conversation gets the
worker's role and its unfinished task. cmux keeps what the window showed in .cmux/archives.`, "reset", (*crew.Crew).Reset),
		newWorkerCmd(d, "wake NAME", "Start a worker again that ended too often", `Start a worker again that ended several times in a row and is not started any more by
itself. The worker goes on in its conversation. If its program cannot resume that, the
worker begins a new conversation with its whole task. If the program fails again, cmux
tries a few times more, then the worker needs input again.`, "started again", (*crew.Crew).Wake),
		newWorkerCmd(d, "take NAME", "Take a worker's conversation over", `Take the conversation of a worker over: cmux types nothing, and messages wait, until
cmux workers release.`, "taken over; to give it back: cmux workers release", (*crew.Crew).Take),
		newWorkerCmd(d, "release NAME", "Give a worker back that was taken over", `Give a worker back that was taken over. What waits for it is handed over.`,
			"released", (*crew.Crew).Release),
		newWorkerAnswerCmd(d, nil), logs, attach, newWorkerAssignCmd(d, nil), newWorkerSendCmd(d, nil), newCloneCmd(d, nil), newMergeCloneCmd(d, nil), newDemoteCmd(d, nil))
	return cmd
}

type spawnOptions struct {
	*cli.IO
	Project cli.ProjectFunc
	crew.Spawn
	Worktree bool
	JSON     bool
}

func newSpawnCmd(d *cli.Deps, runF func(context.Context, *spawnOptions) error) *cobra.Command {
	o := &spawnOptions{IO: &d.IO, Project: d.Project}
	cmd := &cobra.Command{
		Use:   "spawn NAME [TASK]",
		Short: "Make a worker",
		Long: `Make a worker and start it. It gets a worktree of its own, {worktree_base}/SESSION-NAME,
on the branch SESSION/NAME, which begins at the integration branch. With --dir it works
in a folder that exists and shares it with whoever else does: what one of them changes
the others see at once, and nothing keeps their commits apart.

TASK is what it is told to begin with; --task names a task that there is. With --once it
is removed when its work is done. --role-template names one of the roles in
.cmux/roles, or a file. --permanent does so for a worker that stays after its work and
that only a person can remove.

With --json the shape is {"name", "agent_id", "dir", "branch", "task"}.`,
		Example: "  cmux workers spawn api \"add the endpoint /health\" --role-template backend\n  cmux workers spawn perm-backend --permanent backend",
		Args:    cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.Name = args[0]; len(args) > 1 {
				o.Task = args[1]
			}
			return cli.Either(runF, runSpawn)(cmd.Context(), o)
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&o.Dir, "dir", "", "work in this folder, beside whoever else does")
	fl.BoolVar(&o.Worktree, "worktree", false, "work in a worktree of its own (the default)")
	fl.StringVar(&o.Branch, "branch", "", "branch of its worktree (default: SESSION/NAME)")
	fl.StringVar(&o.Spawn.Project, "project", "", "id of the project that it belongs to")
	fl.StringVar(&o.TaskID, "task", "", "`ID` of the task to begin with")
	fl.BoolVar(&o.Once, "once", false, "remove it when its work is done")
	fl.StringVar(&o.Permanent, "permanent", "", "it stays, with this `ROLE`")
	fl.StringVar(&o.Role, "role-template", "", "its `ROLE`, of .cmux/roles or a file (default: worker)")
	fl.StringVar(&o.Kind, "agent", "", "its kind, such as claude (default: the configuration's)")
	fl.StringVar(&o.Model, "model", "", "its model")
	fl.StringVar(&o.Display, "display-name", "", "another name that people know it by")
	cli.JSONFlag(cmd, &o.JSON)
	cmd.MarkFlagsMutuallyExclusive("dir", "worktree")
	return cmd
}

func runSpawn(ctx context.Context, o *spawnOptions) error {
	_, made, done, err := cli.Asked(ctx, o.IO, o.Project, o.JSON, func(p *control.Project) (*crew.Spawned, error) { return p.Crew().Spawn(ctx, o.Spawn) })
	if done {
		return err
	}
	where := "in " + made.Dir
	if made.Branch != "" {
		where += ", on the branch " + made.Branch
	}
	if made.Task != "" {
		where += ", with the task " + made.Task
	}
	_, err = fmt.Fprintf(o.Out, "%s (%s): made, %s\n", made.Name, made.ID, where)
	return err
}

type killOptions struct {
	*cli.IO
	Project cli.ProjectFunc
	Name    string
	Force   bool
}

func newKillCmd(d *cli.Deps, runF func(context.Context, *killOptions) error) *cobra.Command {
	o := &killOptions{IO: &d.IO, Project: d.Project}
	cmd := &cobra.Command{
		Use:   "kill NAME",
		Short: "Remove a worker",
		Long: `End a worker and remove it. Its branch stays. What it had not committed is saved first,
and kill prints the command that brings it back. Its log, events and last screen move to
.cmux/archives/NAME, with who removed it. A permanent worker takes --force, which only a
person can give.`,
		Example:           "  cmux workers kill api",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: d.CompleteAgent,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Name = args[0]
			return cli.Either(runF, runKill)(cmd.Context(), o)
		},
	}
	cmd.Flags().BoolVar(&o.Force, "force", false, "remove it even if it is permanent")
	return cmd
}

func runKill(ctx context.Context, o *killOptions) error {
	p, err := o.Project(ctx)
	if err != nil {
		return err
	}
	gone, err := p.Crew().Kill(ctx, o.Name, o.Force)
	if err != nil {
		return err
	}
	return tellGone(o.IO, p, gone)
}

// tellGone says what a worker that was removed has left.
func tellGone(s *cli.IO, p *control.Project, gone *crew.Gone) error {
	fmt.Fprintf(s.Out, "%s: removed; what it left is in %s\n", gone.Name, p.Short(gone.Archive))
	if gone.Branch != "" {
		fmt.Fprintf(s.Out, "its branch stays: %s\n", gone.Branch)
	}
	if gone.Restore != "" {
		fmt.Fprintf(s.Out, "what it had not committed is saved: %s\n", gone.Restore)
	}
	if gone.Tree != "" {
		fmt.Fprintf(s.Err, "cmux: its worktree %s stays: %s\n", gone.Tree, gone.Why)
	}
	return nil
}

// newWorkerCmd is a command that gives one worker an order without more to it.
func newWorkerCmd(d *cli.Deps, use, short, long, said string, order func(*crew.Crew, context.Context, string) error) *cobra.Command {
	verb, _, _ := strings.Cut(use, " ")
	return &cobra.Command{
		Use: use, Short: short, Long: long,
		Example:           "  cmux workers " + verb + " api",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: d.CompleteAgent,
		RunE: func(cmd *cobra.Command, args []string) error {
			p, err := d.Project(cmd.Context())
			if err != nil {
				return err
			}
			if err := order(p.Crew(), cmd.Context(), args[0]); err != nil {
				return err
			}
			_, err = fmt.Fprintf(d.Out, "%s: %s\n", args[0], said)
			return err
		},
	}
}

type workerAnswerOptions struct {
	*cli.IO
	Project    cli.ProjectFunc
	Name, Text string
}

func newWorkerAnswerCmd(d *cli.Deps, runF func(context.Context, *workerAnswerOptions) error) *cobra.Command {
	o := &workerAnswerOptions{IO: &d.IO, Project: d.Project}
	return &cobra.Command{
		Use:   "answer NAME TEXT",
		Short: "Answer a worker's question",
		Long: `Answer a worker's question, or tell the worker something. To answer several questions,
give one line for each. The command prints the result: answered, told, or not
read yet and what the answer waits for.`,
		Example:           "  cmux workers answer api \"the second one\"",
		Args:              cobra.MinimumNArgs(2),
		ValidArgsFunction: d.CompleteAgent,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Name, o.Text = args[0], strings.Join(args[1:], " ")
			return cli.Either(runF, runWorkerAnswer)(cmd.Context(), o)
		},
	}
}

func runWorkerAnswer(ctx context.Context, o *workerAnswerOptions) error {
	p, err := o.Project(ctx)
	if err != nil {
		return err
	}
	res, err := p.Crew().Answer(ctx, commands.Answer{Node: o.Name, Text: o.Text})
	if err != nil {
		return err
	}
	return o.TellTaken(o.Name, res.Word(), res.Taken)
}
