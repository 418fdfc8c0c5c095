package org

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"cmux/agents/control"
	"cmux/agents/control/teams"
	"cmux/agents/org/team"
	"cmux/agents/platform/say"
	"cmux/cmd/cmux/cli"
)

func newTeamsCmd(d *cli.Deps) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "teams",
		GroupID: "main",
		Short:   "Several workers for one piece of work",
		Long: `Make several workers at once, with a lead that the others report to or as peers, and with
role files that say what the project is made with. Six kinds come with cmux; teams in
.cmux/config.yml adds your own.`,
		Example: "  cmux teams list",
	}
	cmd.AddCommand(newTeamsListCmd(d, nil), newTeamShowCmd(d, nil), newTeamSetupCmd(d, false, nil), newTeamSetupCmd(d, true, nil), newTeamDownCmd(d, nil), newTeamStatusCmd(d, nil))
	return cmd
}

type teamOptions struct {
	*cli.IO
	Project cli.ProjectFunc
	teams.TeamOrder
	Yes, Force, JSON bool
}

func newTeamsListCmd(d *cli.Deps, runF func(context.Context, *teamOptions) error) *cobra.Command {
	o := &teamOptions{IO: &d.IO, Project: d.Project}
	cmd := &cobra.Command{
		Use: "list", Short: "List the kinds of teams",
		Long: `List the kinds of teams. With --json it is a list of
  {"name", "about", "members": [{"role", "about", "lead", "agent", "model"}], "debate"}`,
		Example: "  cmux teams list", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cli.Either(runF, runTeamsList)(cmd.Context(), o) },
	}
	cli.JSONFlag(cmd, &o.JSON)
	return cmd
}

func runTeamsList(ctx context.Context, o *teamOptions) error {
	_, all, done, err := cli.Asked(ctx, o.IO, o.Project, o.JSON, func(p *control.Project) ([]team.Template, error) { return p.Teams().Templates() })
	if done {
		return err
	}
	rows := make([][]string, len(all))
	for i, t := range all {
		rows[i] = []string{t.Name, roster(&t), say.Line(t.About)}
	}
	_, err = fmt.Fprint(o.Out, cli.Table([]cli.Column{{Head: "TEAM"}, {Head: "MEMBERS", Give: 2, Least: 12}, {Head: "FOR", Give: 1, Least: 12}}, rows, o.Width(), o.Color()))
	return err
}

// roster names the members of a kind of team, the lead by a star.
func roster(t *team.Template) string {
	names := make([]string, len(t.Members))
	for i, m := range t.Members {
		if names[i] = m.Role; m.Lead {
			names[i] += "*"
		}
	}
	return strings.Join(names, ", ")
}

func newTeamShowCmd(d *cli.Deps, runF func(context.Context, *teamOptions) error) *cobra.Command {
	o := &teamOptions{IO: &d.IO, Project: d.Project}
	cmd := &cobra.Command{
		Use: "show KIND", Short: "Show a kind of team", Long: "Show a kind of team. With --json the shape is that of cmux teams list.", Example: "  cmux teams show squad",
		Args: cobra.ExactArgs(1), ValidArgsFunction: completeTemplate(d),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Template = args[0]
			return cli.Either(runF, runTeamShow)(cmd.Context(), o)
		},
	}
	cli.JSONFlag(cmd, &o.JSON)
	return cmd
}

// completeTemplate completes the name of a kind of team.
func completeTemplate(d *cli.Deps) cobra.CompletionFunc {
	return d.Completing(func(_ context.Context, p *control.Project) (names []string, err error) {
		all, err := p.Teams().Templates()
		for _, t := range all {
			names = append(names, t.Name+"\t"+t.About)
		}
		return names, err
	})
}

func runTeamShow(ctx context.Context, o *teamOptions) error {
	_, t, done, err := cli.Asked(ctx, o.IO, o.Project, o.JSON, func(p *control.Project) (*team.Template, error) { return p.Teams().Template(o.Template) })
	if done {
		return err
	}
	fmt.Fprintf(o.Out, "%s: %s\n", t.Name, say.Line(t.About))
	for _, m := range t.Members {
		what := "reports to the lead"
		switch {
		case m.Lead && t.Debate:
			what = "decides when the others have written their proposals"
		case m.Lead:
			what = "leads"
		case t.Lead() == nil:
			what = "reports to the supervisor"
		}
		fmt.Fprintf(o.Out, "  %-14s %s\n", m.Role, what)
	}
	return nil
}

func newTeamSetupCmd(d *cli.Deps, permanent bool, runF func(context.Context, *teamOptions) error) *cobra.Command {
	o := &teamOptions{IO: &d.IO, Project: d.Project, TeamOrder: teams.TeamOrder{Permanent: permanent}}
	cmd := &cobra.Command{
		Use: "setup KIND TASK", Short: "Make a team for a task",
		Long: `Make a team for a task: scan the project, show the members and their role files, ask,
write the role files to .cmux/roles, and make the workers, named TEAM-ROLE. The lead
gets the task and the others report to it; without a lead all get it. In a debate each
writes a proposal, and the judge's task begins when all are written. A role file that is
there stays as it is. Called again it says what is there, and goes on where it was cut
off. With --json the shape is {"name", "agents"}, with agents as in cmux status --json.`,
		Example: "  cmux teams setup feature 'Add a login' --name login",
		Args:    cobra.ExactArgs(2), ValidArgsFunction: completeTemplate(d),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Template, o.Task = team.Core().Name, ""
			if len(args) > 0 {
				o.Template = args[0]
			}
			if len(args) > 1 {
				o.Task = args[1]
			}
			return cli.Either(runF, runTeamSetup)(cmd.Context(), o)
		},
	}
	if permanent {
		cmd.Use, cmd.Short, cmd.Args = "setup-permanent [KIND]", "Make a team of permanent workers", cobra.MaximumNArgs(1)
		cmd.Long = `Make a team of permanent workers, perm-ROLE or with --name perm-NAME-ROLE: by default
frontend, backend and infra. As cmux teams setup it shows the role files first, which say
what a scan of the project found.`
		cmd.Example = "  cmux teams setup-permanent\n  cmux teams setup-permanent platform --name ops"
	}
	f := cmd.Flags()
	f.StringVar(&o.Name, "name", "", "name of the team (default: from the task)")
	f.StringVar(&o.Dir, "dir", "", "the members work in this folder, beside whoever else does (default: each in a worktree of its own)")
	f.BoolVarP(&o.Yes, "yes", "y", false, "do not ask")
	cli.JSONFlag(cmd, &o.JSON)
	return cmd
}

func runTeamSetup(ctx context.Context, o *teamOptions) error {
	p, err := o.Project(ctx)
	if err != nil {
		return err
	}
	plan, err := p.Teams().PlanTeam(ctx, o.TeamOrder)
	if err != nil {
		return err
	}
	for _, m := range plan.Members {
		there, file := "", "is written"
		if !o.Yes {
			file = "as below"
		}
		if m.There {
			there = ", is there"
		}
		if m.Kept {
			file = "is there and stays"
		}
		fmt.Fprintf(o.Err, "%s: %s, reports to %s%s; role file %s: %s\n", m.Name, m.Role, m.Supervisor, there, p.Short(m.RoleFile), file)
	}
	if !o.Yes {
		for _, m := range plan.Members {
			if !m.Kept {
				fmt.Fprintf(o.Err, "\n--- %s\n%s", p.Short(m.RoleFile), say.Lines(m.Text))
			}
		}
	}
	if err := o.Confirm(ctx, o.Yes, "Make this team?"); err != nil {
		return err
	}
	t, err := p.Teams().SetUpTeam(ctx, plan)
	if err != nil {
		return err
	}
	if o.JSON {
		return cli.PrintJSON(o.Out, t)
	}
	_, err = fmt.Fprintf(o.Out, "%s: %s\n", t.Name, say.Count(len(t.Agents), "member"))
	return err
}

func newTeamDownCmd(d *cli.Deps, runF func(context.Context, *teamOptions) error) *cobra.Command {
	o := &teamOptions{IO: &d.IO, Project: d.Project}
	cmd := &cobra.Command{
		Use: "down TEAM", Short: "Remove the members of a team",
		Long: `Cancel what a team has not finished and remove its members, each as cmux workers kill
does: its branch and log stay, and what was not committed is saved. The role files stay.`,
		Example: "  cmux teams down login", Args: cobra.ExactArgs(1), ValidArgsFunction: completeTeam(d),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Name = args[0]
			return cli.Either(runF, runTeamDown)(cmd.Context(), o)
		},
	}
	cmd.Flags().BoolVar(&o.Force, "force", false, "remove permanent workers too")
	return cmd
}

func runTeamDown(ctx context.Context, o *teamOptions) error {
	p, err := o.Project(ctx)
	if err != nil {
		return err
	}
	gone, err := p.Teams().TakeTeamDown(ctx, o.Name, o.Force)
	for i := range gone {
		if err := tellGone(o.IO, p, &gone[i]); err != nil {
			return err
		}
	}
	return err
}

// completeTeam completes the name of a team.
func completeTeam(d *cli.Deps) cobra.CompletionFunc {
	return d.Completing(func(ctx context.Context, p *control.Project) (names []string, err error) {
		all, err := p.Teams().List(ctx)
		for _, t := range all {
			names = append(names, t.Name)
		}
		return names, err
	})
}

func newTeamStatusCmd(d *cli.Deps, runF func(context.Context, *teamOptions) error) *cobra.Command {
	o := &teamOptions{IO: &d.IO, Project: d.Project}
	cmd := &cobra.Command{
		Use: "status [TEAM]", Short: "Show how the teams stand", Long: "Show how the teams stand, or one. With --json it is a list of\n" + `  {"name", "agents"}, with agents as in cmux status --json`, Example: "  cmux teams status",
		Args: cobra.MaximumNArgs(1), ValidArgsFunction: completeTeam(d),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Name = cli.First(args)
			return cli.Either(runF, runTeamStatus)(cmd.Context(), o)
		},
	}
	cli.JSONFlag(cmd, &o.JSON)
	return cmd
}

func runTeamStatus(ctx context.Context, o *teamOptions) error {
	p, err := o.Project(ctx)
	if err != nil {
		return err
	}
	all, err := p.Teams().List(ctx)
	if err == nil && o.Name != "" {
		var one *teams.TeamReport
		if one, err = p.Teams().Show(ctx, o.Name); err == nil {
			all = []teams.TeamReport{*one}
		}
	}
	if err != nil {
		return err
	}
	if o.JSON {
		return cli.PrintJSON(o.Out, all)
	}
	if len(all) == 0 {
		_, err := fmt.Fprintln(o.Out, "There is no team.")
		return err
	}
	for _, t := range all {
		if _, err := fmt.Fprintf(o.Out, "team %s\n%s", t.Name, renderAgents(t.Agents, p.Now(), o.Look())); err != nil {
			return err
		}
	}
	return nil
}
