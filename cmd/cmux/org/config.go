package org

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"cmux/agents/control"
	"cmux/agents/platform/say"
	"cmux/cmd/cmux/cli"
)

type configOptions struct {
	*cli.IO
	Project   cli.ProjectFunc
	Yes, JSON bool
}

func newConfigCmd(d *cli.Deps) *cobra.Command {
	o := &configOptions{IO: &d.IO, Project: d.Project}
	cmd := &cobra.Command{
		Use:     "config",
		GroupID: "main",
		Short:   "Show the configuration of the organization, or take it into use",
		Long: `Show which configuration of the organization is in force, and what .cmux/config.yml
says instead. What an agent writes into the file changes nothing: after the first start
it counts once a person applies it. cmux help organization-config has every key.

With --json the shape is
  {"file", "there", "in_force": [{"key", "value"}],
   "changes": [{"key", "in_force", "file"}]}`,
		Example: "  cmux config\n  cmux config apply",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return runConfig(cmd.Context(), o) },
	}
	cli.JSONFlag(cmd, &o.JSON)
	cmd.AddCommand(newConfigApplyCmd(d, nil), newConfigSchemaCmd(&d.IO))
	return cmd
}

func runConfig(ctx context.Context, o *configOptions) error {
	_, c, done, err := cli.Asked(ctx, o.IO, o.Project, o.JSON, func(p *control.Project) (*control.OrgConfig, error) { return p.OrgConfig() })
	if done {
		return err
	}
	for _, s := range c.InForce {
		fmt.Fprintf(o.Out, "%s: %s\n", s.Key, s.Value)
	}
	if len(c.Changes) == 0 {
		return nil
	}
	fmt.Fprintf(o.Out, "\n%s says something else, which is not in force:\n", c.File)
	for _, change := range c.Changes {
		fmt.Fprintf(o.Out, "  %s\n", change)
	}
	fmt.Fprintln(o.Out, "To take it into use: cmux config apply")
	return nil
}

func newConfigApplyCmd(d *cli.Deps, runF func(context.Context, *configOptions) error) *cobra.Command {
	o := &configOptions{IO: &d.IO, Project: d.Project}
	cmd := &cobra.Command{
		Use:   "apply",
		Short: "Take .cmux/config.yml into use",
		Long: `Show how .cmux/config.yml differs from what is in force, ask, and take it into use. An
agent that runs acts as before until it is started again (cmux restart). The session and
the program of the supervisor count at the next start.`,
		Example: "  cmux config apply",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cli.Either(runF, runConfigApply)(cmd.Context(), o) },
	}
	cmd.Flags().BoolVarP(&o.Yes, "yes", "y", false, "do not ask")
	return cmd
}

func runConfigApply(ctx context.Context, o *configOptions) error {
	p, err := o.Project(ctx)
	if err != nil {
		return err
	}
	c, err := p.OrgConfig()
	if err != nil {
		return err
	}
	if len(c.Changes) == 0 {
		_, err := fmt.Fprintf(o.Out, "%s says nothing else than what is in force.\n", c.File)
		return err
	}
	for _, change := range c.Changes {
		fmt.Fprintf(o.Out, "%s\n", change)
	}
	if err := o.Confirm(ctx, o.Yes, "Take this into use?"); err != nil {
		return err
	}
	if err := c.Apply(ctx); err != nil {
		return err
	}
	_, err = fmt.Fprintf(o.Out, "In force: %s. Agents that run act as before until cmux restart.\n", say.Count(len(c.Changes), "change"))
	return err
}

func newConfigSchemaCmd(s *cli.IO) *cobra.Command {
	return &cobra.Command{
		Use:     "schema",
		Short:   "Print the JSON Schema of .cmux/config.yml",
		Long:    "Print the JSON Schema of .cmux/config.yml, for editors.",
		Example: "  cmux config schema > .cmux/config.schema.json",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := s.Out.Write(control.ConfigSchema())
			return err
		},
	}
}
