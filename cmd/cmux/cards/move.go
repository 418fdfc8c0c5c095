package cards

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"cmux/agents/org/task"
	"cmux/cmd/cmux/cli"
)

func newDelegateCmd(d *cli.Deps) *cobra.Command {
	pick := ""
	cmd := about(d, &cobra.Command{
		Use:   "delegate CARD",
		Short: "Ask who does what about a card",
		Long: `Ask who plans, implements and reviews a card: its coordinator, or all members of its room, who
do not see each other's answers. cmux takes what they say if it names all three, each once, and
all are members. Otherwise you pick: cmux cards show lists the answers.`,
		Example: "  cmux cards delegate t1\n  cmux cards delegate t1 --pick claude",
		Args:    cobra.ExactArgs(1),
	}, func(ctx context.Context, c *call) error {
		if c.Given("pick") {
			return c.shown(c.Part.Pick(ctx, c.Args[0], 0, pick))
		}
		return c.shown(c.Part.Delegate(ctx, c.Args[0], 0))
	})
	cmd.Flags().StringVar(&pick, "pick", "", "`MEMBER` whose answer is taken")
	return cmd
}

func newMoveCmd(d *cli.Deps) *cobra.Command {
	why, yes := "", false
	cmd := about(d, &cobra.Command{
		Use:   "move CARD COLUMN",
		Short: "Move a card to another column, where that is possible",
		Long: `Move a card to the column backlog, planning, reviewing, implementing or done, by whatever takes
it there: it is started, approved, sent back (with --why), put back, or called done, about
which you are asked. cmux cards show --json lists the moves that a card allows.`,
		Example: "  cmux cards move t1 planning\n  cmux cards move t1 implementing --why 'Keep the old flag.'",
		Args:    cobra.ExactArgs(2),
	}, func(ctx context.Context, c *call) error {
		sure := func() error { return c.Confirm(ctx, yes, asks(c.Args[0])) }
		return c.shown(c.Part.Move(ctx, c.Args[0], 0, task.Column(c.Args[1]), why, sure))
	})
	cmd.Flags().StringVar(&why, "why", "", "`TEXT` that says why it is sent back, or called done")
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	return cmd
}

func asks(id string) string {
	return fmt.Sprintf("Call card %s done, whatever its checks and its reviewer say?", id)
}

func newDoneCmd(d *cli.Deps) *cobra.Command {
	yes := false
	cmd := about(d, &cobra.Command{
		Use:   "done CARD [REASON]",
		Short: "Call a card done, whatever its own result is",
		Long: `Call a card done, whatever its checks and its reviewer say. This is recorded as your override.
To be content with work that is done, approve it: cmux cards approve.`,
		Example: "  cmux cards done t1 'I did it myself'",
		Args:    cobra.RangeArgs(1, 2),
	}, func(ctx context.Context, c *call) error {
		if _, err := c.Part.Card(c.Args[0]); err != nil {
			return err
		}
		if err := c.Confirm(ctx, yes, asks(c.Args[0])); err != nil {
			return err
		}
		return c.shown(c.Part.Done(ctx, c.Args[0], 0, cli.First(c.Args[1:])))
	})
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	return cmd
}

func newCancelCmd(d *cli.Deps) *cobra.Command {
	return about(d, &cobra.Command{
		Use:     "cancel CARD [REASON]",
		Short:   "Cancel a card with its work",
		Example: "  cmux cards cancel t1 'not needed'",
		Args:    cobra.RangeArgs(1, 2),
	}, func(ctx context.Context, c *call) error {
		return c.shown(c.Part.Cancel(ctx, c.Args[0], 0, cli.First(c.Args[1:])))
	})
}
