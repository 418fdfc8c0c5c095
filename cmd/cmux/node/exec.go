// Package node has the commands of an attempt: exec carries it out in its pane, and
// the others are what its agent and the agent's program call there.
package node

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"cmux/agents/control/commands"
	"cmux/agents/control/project"
	"cmux/agents/kinds/agent"
	"cmux/agents/runs/wrapper"
	"cmux/cmd/cmux/cli"
)

// NewExecCmd is the process of a node's pane (see package wrapper).
func NewExecCmd(all agent.Kinds) *cobra.Command {
	var o wrapper.Options
	cmd := &cobra.Command{
		Use:         "exec NAME | exec --spare",
		Hidden:      true,
		Short:       "Carry one attempt of a node out (for cmux itself)",
		Args:        cobra.MaximumNArgs(1),
		Annotations: map[string]string{cli.OwnSignals: "yes"},
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Kinds = all
			if o.Spare != (len(args) == 0) {
				return fmt.Errorf("%w: exec takes either a node or --spare", project.ErrUsage)
			}
			if !o.Spare {
				o.Node = args[0]
			}
			o.Orphaned = func(ctx context.Context) error { return commands.Revive(ctx, o.RunDir) }
			if code := wrapper.Main(cmd.Context(), o); code != 0 {
				return cli.Silent(cli.ExitStatus(code))
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&o.RunDir, "run", "", "folder of the run")
	cmd.Flags().IntVar(&o.Attempt, "attempt", 0, "number of the attempt")
	cmd.Flags().BoolVar(&o.Spare, "spare", false, "wait at the terminal to be told which")
	return cmd
}
