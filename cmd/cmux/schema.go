package main

import (
	"github.com/spf13/cobra"

	"cmux/dag"
)

func newSchemaCmd(s *IO) *cobra.Command {
	return &cobra.Command{
		Use:     "schema",
		Short:   "Print the JSON Schema of .cmux-agents.yml",
		Example: "  cmux agents schema > .cmux/schema.json",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := s.Out.Write(dag.Schema())
			return err
		},
	}
}
