package org

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"cmux/agents/control"
	"cmux/agents/control/crew"
	"cmux/agents/platform/say"
	"cmux/cmd/cmux/cli"
)

func newProjectsCmd(d *cli.Deps) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "projects",
		GroupID: "main",
		Short:   "Other projects that the organization looks after",
		Example: "  cmux projects list",
	}
	cmd.AddCommand(newProjectAddCmd(d, nil), newProjectListCmd(d, nil),
		newProjectOrderCmd(d, "activate NAME", "Start the supervisor of a project", `Start the supervisor of a project, sup-NAME, now and at each cmux start.`,
			func(ctx context.Context, o *projectOptions, p *control.Project) error {
				if err := p.Crew().ActivateProject(ctx, o.Name); err != nil {
					return err
				}
				_, err := fmt.Fprintf(o.Out, "%s: active, with the supervisor sup-%[1]s\n", o.Name)
				return err
			}),
		newProjectOrderCmd(d, "remove NAME", "Look after a project no longer", `Look after a project no longer. Its supervisor is ended and removed; what it leaves is
kept in .cmux/archives. Nothing in the project's folder changes.`,
			func(ctx context.Context, o *projectOptions, p *control.Project) error {
				gone, err := p.Crew().RemoveProject(ctx, o.Name)
				if err != nil {
					return err
				}
				fmt.Fprintf(o.Out, "%s: not looked after any more\n", o.Name)
				if gone == nil {
					return nil
				}
				return tellGone(o.IO, p, gone)
			}))
	return cmd
}

type projectOptions struct {
	*cli.IO
	Project   cli.ProjectFunc
	Name, Dir string
	JSON      bool
}

func newProjectAddCmd(d *cli.Deps, runF func(context.Context, *projectOptions) error) *cobra.Command {
	o := &projectOptions{IO: &d.IO, Project: d.Project}
	cmd := &cobra.Command{
		Use:   "add DIR",
		Short: "Have the organization look after another project",
		Long: `Have the organization look after the project in another folder. A supervisor of its own,
sup-NAME, leads the work there; cmux projects activate starts it. A project that has an
organization of its own is refused: two would lead the same work.

With --json the shape is {"name", "dir", "active", "supervisor", "state"}.`,
		Example: "  cmux projects add ../website --name website",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Dir = args[0]
			return cli.Either(runF, runProjectAdd)(cmd.Context(), o)
		},
	}
	cmd.Flags().StringVar(&o.Name, "name", "", "its name (default: that of the folder)")
	cli.JSONFlag(cmd, &o.JSON)
	return cmd
}

func runProjectAdd(ctx context.Context, o *projectOptions) error {
	_, added, done, err := cli.Asked(ctx, o.IO, o.Project, o.JSON, func(p *control.Project) (*crew.OtherProject, error) { return p.Crew().AddProject(ctx, o.Dir, o.Name) })
	if done {
		return err
	}
	_, err = fmt.Fprintf(o.Out, "%s: added, in %s; to start its supervisor: cmux projects activate %[1]s\n", added.Name, added.Dir)
	return err
}

func newProjectListCmd(d *cli.Deps, runF func(context.Context, *projectOptions) error) *cobra.Command {
	o := &projectOptions{IO: &d.IO, Project: d.Project}
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the projects that the organization looks after",
		Long: `List the projects that the organization looks after, and how their supervisors stand.
With --json the shape is [{"name", "dir", "active", "supervisor", "state"}].`,
		Example: "  cmux projects list --json",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cli.Either(runF, runProjectList)(cmd.Context(), o) },
	}
	cli.JSONFlag(cmd, &o.JSON)
	return cmd
}

func runProjectList(ctx context.Context, o *projectOptions) error {
	p, all, done, err := cli.Asked(ctx, o.IO, o.Project, o.JSON, func(p *control.Project) ([]crew.OtherProject, error) { return p.Crew().Projects() })
	if done {
		return err
	}
	if len(all) == 0 {
		_, err := fmt.Fprintln(o.Out, "No projects.")
		return err
	}
	rows := make([][]string, len(all))
	for i, q := range all {
		active := "no"
		if q.Active {
			active = "yes"
		}
		rows[i] = []string{q.Name, active, q.Supervisor, cli.OrDash(q.State), say.Line(p.Short(q.Dir))}
	}
	columns := []cli.Column{{Head: "PROJECT"}, {Head: "ACTIVE"}, {Head: "SUPERVISOR", Give: 2, Least: 10}, {Head: "STATE", Give: 1, Least: 8}, {Head: "FOLDER", Give: 1, Least: 12}}
	_, err = fmt.Fprint(o.Out, cli.Table(columns, rows, o.Width(), o.Color()))
	return err
}

// newProjectOrderCmd is a command about one project.
func newProjectOrderCmd(d *cli.Deps, use, short, long string, order func(context.Context, *projectOptions, *control.Project) error) *cobra.Command {
	o := &projectOptions{IO: &d.IO, Project: d.Project}
	verb := use[:len(use)-len(" NAME")]
	return &cobra.Command{
		Use: use, Short: short, Long: long, Example: "  cmux projects " + verb + " website", Args: cobra.ExactArgs(1),
		ValidArgsFunction: d.Completing(func(_ context.Context, p *control.Project) ([]string, error) { return p.Crew().ProjectNames() }),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Name = args[0]
			p, err := o.Project(cmd.Context())
			if err != nil {
				return err
			}
			return order(cmd.Context(), o, p)
		},
	}
}
