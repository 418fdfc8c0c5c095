package agents

import (
	"bytes"
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"cmux/agents/control/project"
	"cmux/cmd/cmux/cli"
	"cmux/dag"
)

type graphOptions struct {
	*cli.IO
	Project        cli.ProjectFunc
	Config, Format string
}

func newGraphCmd(d *cli.Deps, runF func(context.Context, *graphOptions) error) *cobra.Command {
	o := &graphOptions{IO: &d.IO, Project: d.Project}
	cmd := &cobra.Command{
		Use:   "graph",
		Short: "Draw the graph of .cmux-agents.yml",
		Long: `Draw the graph of the configuration: which agent depends on which. The graph
leaves out a dependency that follows from others.

In the text format, an agent is below the agent that it depends on. If it depends
on several, it is below the last of them and names the others.`,
		Example: "  cmux agents graph\n  cmux agents graph --format dot | dot -Tsvg > graph.svg",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cli.Either(runF, runGraph)(cmd.Context(), o) },
	}
	cmd.Flags().StringVar(&o.Config, "config", "", "configuration (default: .cmux-agents.yml at the project's root)")
	cmd.Flags().StringVar(&o.Format, "format", "text", "text, dot (Graphviz) or mermaid (Markdown)")
	cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(dag.Formats, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func runGraph(ctx context.Context, o *graphOptions) error {
	if !slices.Contains(dag.Formats, o.Format) {
		return project.Usage("--format "+strings.Join(dag.Formats, ", --format "), "unknown format %q", o.Format)
	}
	p, err := o.Project(ctx)
	if err != nil {
		return err
	}
	g, _, err := p.Configurations().ReadConfig(ctx, p.Configurations().Config(o.Config))
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if err := g.Draw(&b, o.Format); err != nil {
		return err
	}
	_, err = o.Out.Write(b.Bytes())
	return err
}
