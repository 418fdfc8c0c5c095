package rooms

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"cmux/agents/control/project"
	"cmux/agents/control/rooms"
	"cmux/cmd/cmux/cli"
)

func newInviteCmd(d *cli.Deps) *cobra.Command {
	guest, pane := "", false
	cmd := aboutRoom(d, &cobra.Command{
		Use:   "invite ROOM [KIND[=NAME][:ROLE]]",
		Short: "Have another member or a guest join a room",
		Long: `Have another member join a room, with the last messages to all; or with --guest an agent of
the organization. A guest gets what is said as mail and speaks with cmux rooms say. The room
never waits for it.`,
		Example: "  cmux rooms invite design codex:reviewer\n  cmux rooms invite design --guest supervisor",
		Args:    cobra.RangeArgs(1, 2),
	}, false, func(ctx context.Context, c *call) error {
		member := cli.First(c.args)
		if (member == "") == (guest == "") {
			return project.Usage("", "name either a member or --guest AGENT")
		}
		remarks, err := c.rooms.Invite(ctx, c.room, member+guest, guest != "", pane)
		if c.remark(remarks...); err != nil {
			return err
		}
		return c.say("%s joins %s.", member+guest, c.room)
	})
	cmd.Flags().StringVar(&guest, "guest", "", "the `AGENT` of the organization")
	cmd.Flags().BoolVar(&pane, "pane", false, "give the member a window of tmux")
	return cmd
}

func newDismissCmd(d *cli.Deps) *cobra.Command {
	return aboutRoom(d, &cobra.Command{
		Use:     "dismiss ROOM NAME",
		Short:   "Have a member or a guest leave a room",
		Example: "  cmux rooms dismiss design codex",
		Args:    cobra.ExactArgs(2),
	}, false, func(ctx context.Context, c *call) error {
		if err := c.rooms.Dismiss(ctx, c.room, c.args[0]); err != nil {
			return err
		}
		return c.say("%s leaves %s.", c.args[0], c.room)
	})
}

func newSetCmd(d *cli.Deps) *cobra.Command {
	return aboutRoom(d, &cobra.Command{
		Use:   "set ROOM KEY=VALUE...",
		Short: "Change the settings of a room",
		Long: "Change the settings of a room. The keys are " + strings.Join(rooms.Keys(), ", ") + `.
share is all, or tagged: what stands outside of <Share> is then for you alone. on-parse is
ask or stop. KEY= without a value gives the room what a new room has: the value of rooms: in
.cmux/config.yml, or the built-in one (cmux rooms show ROOM --settings). tokens=0 is no
bound. With --json the shape is that of cmux rooms show.`,
		Example: "  cmux rooms set design turns=2 tokens=200k\n  cmux rooms set design turns=",
		Args:    cobra.MinimumNArgs(2),
	}, true, func(ctx context.Context, c *call) error {
		v, err := c.rooms.Set(ctx, c.room, c.args)
		return answer(c, v, err, func(*rooms.View) error { return c.say("%s: set.", c.room) })
	})
}

func newRemoveCmd(d *cli.Deps) *cobra.Command {
	return aboutRoom(d, &cobra.Command{
		Use:     "remove ROOM",
		Short:   "Close a room and move it, with its members, to the archives",
		Example: "  cmux rooms remove design",
		Args:    cobra.ExactArgs(1),
	}, false, func(ctx context.Context, c *call) error {
		archive, err := c.rooms.Remove(ctx, c.room)
		if err != nil {
			return err
		}
		return c.say("%s is removed. What was said is in %s.", c.room, archive)
	})
}
