package agents

import (
	"github.com/spf13/cobra"

	"cmux/agents/platform/settings"
	"cmux/cmd/cmux/cli"
	"cmux/dag"
)

func newSchemaCmd(s *cli.IO) *cobra.Command {
	user := false
	cmd := &cobra.Command{
		Use:     "schema",
		Short:   "Print the JSON Schema of .cmux-agents.yml",
		Long:    "Print the JSON Schema of .cmux-agents.yml, or with --user that of your own file,\n~/.config/cmux/config.yml.",
		Example: "  cmux agents schema > .cmux/schema.json",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			schema := dag.Schema()
			if user {
				schema = settings.Schema()
			}
			_, err := s.Out.Write(schema)
			return err
		},
	}
	cmd.Flags().BoolVar(&user, "user", false, "of your own file, which holds for all your runs")
	return cmd
}
