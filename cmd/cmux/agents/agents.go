// Package agents has the commands of runs: they start, show, steer and stop the
// graph of agents, and merge and clean up what its nodes did.
package agents

import (
	"github.com/spf13/cobra"

	"cmux/cmd/cmux/cli"
)

// NewCmd builds cmux agents with these commands in it.
func NewCmd(d *cli.Deps, cmds ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "agents",
		GroupID: "main",
		Short:   "Start, watch and steer the graph of agents",
		Example: "  cmux agents start",
	}
	cmd.AddCommand(cmds...)
	d.SessionFlags(cmd)
	return cmd
}

// Cmds are the commands of this package that stand in cmux agents.
func Cmds(d *cli.Deps) []*cobra.Command {
	return []*cobra.Command{newStartCmd(d, nil), newStatusCmd(d, nil), newTopCmd(d, nil), newCollisionsCmd(d, nil), newWaitCmd(d, nil), newLogsCmd(d, nil), newAttachCmd(d, nil),
		newDiffCmd(d, nil), newAnswerCmd(d, nil), newApproveCmd(d, nil), newOverrideCmd(d, nil), newReleaseCmd(d, nil), newVerifyCmd(d, nil), newRetryCmd(d, nil), newStopCmd(d, nil),
		newResumeCmd(d, nil), newUpdateCmd(d, nil), newReviewCmd(d, nil), newMergeCmd(d, nil), newSharedCmd(d, nil), newFenceCmd(d, nil), newCleanupCmd(d, nil), newSchemaCmd(&d.IO), newGraphCmd(d, nil),
		newListCmd(d, nil), newChangelogCmd(d, nil), newRunCmd(d)}
}
