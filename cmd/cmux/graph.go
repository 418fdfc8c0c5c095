package main

import (
	"bytes"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"cmux/dag"
)

func newGraphCmd(d *Deps) *cobra.Command {
	var config, format string
	cmd := &cobra.Command{
		Use:   "graph",
		Short: "Draw the graph of .cmux-agents.yml",
		Long: `Draw the graph of the configuration: which agent waits for which. A dependency
that follows from others is left out.

As text, an agent stands below the one that it waits for. One that waits for
several stands below the last of them and names the others.`,
		Example: "  cmux agents graph\n  cmux agents graph --format dot | dot -Tsvg > graph.svg",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !slices.Contains(dag.Formats, format) {
				return usage("--format "+strings.Join(dag.Formats, ", --format "), "unknown format %q", format)
			}
			p, err := d.project(cmd.Context())
			if err != nil {
				return err
			}
			g, _, err := p.ReadConfig(cmd.Context(), p.Config(config))
			if err != nil {
				return err
			}
			var b bytes.Buffer
			if err := g.Draw(&b, format); err != nil {
				return err
			}
			_, err = d.Out.Write(b.Bytes())
			return err
		},
	}
	cmd.Flags().StringVar(&config, "config", "", "configuration (default: .cmux-agents.yml at the project's root)")
	cmd.Flags().StringVar(&format, "format", "text", "text, dot (Graphviz) or mermaid (Markdown)")
	cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(dag.Formats, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}
