package org

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"cmux/agents/control"
	"cmux/agents/control/crew"
	"cmux/cmd/cmux/cli"
)

func newSessionsCmd(d *cli.Deps) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "sessions",
		GroupID: "main",
		Short:   "Sessions with a supervisor of their own, for work that needs leading",
		Example: "  cmux sessions list",
	}
	cmd.AddCommand(newSessionSpawnCmd(d, nil), newSessionListCmd(d, nil), newSessionEndCmd(d, nil))
	return cmd
}

type sessionSpawnOptions struct {
	*cli.IO
	Project cli.ProjectFunc
	crew.SpawnSession
	JSON bool
}

func newSessionSpawnCmd(d *cli.Deps, runF func(context.Context, *sessionSpawnOptions) error) *cobra.Command {
	o := &sessionSpawnOptions{IO: &d.IO, Project: d.Project}
	cmd := &cobra.Command{
		Use:   "spawn NAME [TASK]",
		Short: "Make a session with a supervisor of its own",
		Long: `Make a tmux session, SESSION-NAME, with a supervisor of its own, sup-NAME: for work that
takes several agents and somebody who leads them. TASK is what the supervisor is to bring
about. The workers that it makes are in that session too, and report to it. For work that
one agent can do alone, make a worker.

With --json the shape is {"name", "session", "supervisor", "task"}.`,
		Example: "  cmux sessions spawn auth \"sign-in with passkeys: API, pages and tests\"",
		Args:    cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Name, o.Task = args[0], strings.Join(args[1:], "")
			return cli.Either(runF, runSessionSpawn)(cmd.Context(), o)
		},
	}
	cmd.Flags().StringVar(&o.Kind, "agent", "", "kind of its supervisor, such as claude (default: that of workers)")
	cmd.Flags().StringVar(&o.Model, "model", "", "model of its supervisor")
	cli.JSONFlag(cmd, &o.JSON)
	return cmd
}

func runSessionSpawn(ctx context.Context, o *sessionSpawnOptions) error {
	_, made, done, err := cli.Asked(ctx, o.IO, o.Project, o.JSON, func(p *control.Project) (*crew.SpawnedSession, error) {
		return p.Crew().SpawnSession(ctx, o.SpawnSession)
	})
	if done {
		return err
	}
	with := ""
	if made.Task != "" {
		with = ", with the task " + made.Task
	}
	_, err = fmt.Fprintf(o.Out, "%s: made, in the tmux session %s, led by %s%s\n", made.Name, made.Session, made.Supervisor, with)
	return err
}

type sessionOptions struct {
	*cli.IO
	Project cli.ProjectFunc
	Name    string
	Force   bool
	JSON    bool
}

func newSessionListCmd(d *cli.Deps, runF func(context.Context, *sessionOptions) error) *cobra.Command {
	o := &sessionOptions{IO: &d.IO, Project: d.Project}
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the sessions with supervisors of their own",
		Long: `List the sessions with supervisors of their own. With --json the shape is
  [{"name", "session", "supervisor", "state", "agents"}]
where agents are those besides the supervisor.`,
		Example: "  cmux sessions list --json",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cli.Either(runF, runSessionList)(cmd.Context(), o) },
	}
	cli.JSONFlag(cmd, &o.JSON)
	return cmd
}

func runSessionList(ctx context.Context, o *sessionOptions) error {
	_, all, done, err := cli.Asked(ctx, o.IO, o.Project, o.JSON, func(p *control.Project) ([]crew.OrgSession, error) { return p.Crew().Sessions() })
	if done {
		return err
	}
	if len(all) == 0 {
		_, err := fmt.Fprintln(o.Out, "No sessions.")
		return err
	}
	rows := make([][]string, len(all))
	for i, s := range all {
		rows[i] = []string{s.Name, s.Session, s.Supervisor, cli.OrDash(s.State), cli.OrDash(strings.Join(s.Agents, ", "))}
	}
	columns := []cli.Column{{Head: "SESSION"}, {Head: "TMUX", Give: 3, Least: 8}, {Head: "SUPERVISOR", Give: 2, Least: 10}, {Head: "STATE", Give: 1, Least: 8}, {Head: "WORKERS", Give: 1, Least: 12}}
	_, err = fmt.Fprint(o.Out, cli.Table(columns, rows, o.Width(), o.Color()))
	return err
}

func newSessionEndCmd(d *cli.Deps, runF func(context.Context, *sessionOptions) error) *cobra.Command {
	o := &sessionOptions{IO: &d.IO, Project: d.Project}
	cmd := &cobra.Command{
		Use:   "end NAME",
		Short: "End a session and remove its agents",
		Long: `End a session: its supervisor is removed, then its workers, as cmux workers kill removes
them. Their branches stay, and what they had not committed is saved. Agents with unfinished
tasks, and permanent workers, take --force, which only a person can give.`,
		Example:           "  cmux sessions end auth",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: d.Completing(func(_ context.Context, p *control.Project) ([]string, error) { return p.Crew().SessionNames() }),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Name = args[0]
			return cli.Either(runF, runSessionEnd)(cmd.Context(), o)
		},
	}
	cmd.Flags().BoolVar(&o.Force, "force", false, "end it even if its agents have work, or are permanent")
	return cmd
}

func runSessionEnd(ctx context.Context, o *sessionOptions) error {
	p, err := o.Project(ctx)
	if err != nil {
		return err
	}
	gone, err := p.Crew().EndSession(ctx, o.Name, o.Force)
	for i := range gone {
		if err := tellGone(o.IO, p, &gone[i]); err != nil {
			return err
		}
	}
	return err
}
