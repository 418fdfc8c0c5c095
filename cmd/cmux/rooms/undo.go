package rooms

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"cmux/agents/control/rooms"
	"cmux/agents/platform/say"
	"cmux/cmd/cmux/cli"
)

func newUndoCmd(d *cli.Deps) *cobra.Command {
	return aboutRoom(d, &cobra.Command{
		Use:   "undo ROOM [CHANGE]",
		Short: "Take back what was changed while members were in a turn",
		Long: `Take back what was changed in your checkout while members of a room were in a turn: the
CHANGE that an incident names, or the newest. cmux saves what is there as a snapshot first.
It refuses if the same files, or what is checked out, have changed since. With --json the
shape is {"room", "incident", "root", "snapshot", "what": {"paths", "head", "kept"}} where
kept is the ref of the commit that was checked out.`,
		Example: "  cmux rooms undo design",
		Args:    cobra.RangeArgs(1, 2),
	}, true, func(ctx context.Context, c *call) error {
		u, err := c.rooms.Undo(ctx, c.room, cli.First(c.args))
		return answer(c, u, err, c.printUndone)
	})
}

func (c *call) printUndone(u *rooms.Undone) error {
	what := say.Count(len(u.What.Paths), "file")
	if u.What.Head {
		what = "what is checked out, and " + what
	}
	fmt.Fprintf(c.Out, "Undone in %s: %s.\n", u.Root, what)
	if u.Snapshot != "" {
		fmt.Fprintf(c.Out, "What was there is saved as the snapshot %s.\n", u.Snapshot)
	}
	if u.What.Kept != "" {
		fmt.Fprintf(c.Out, "The commit that was checked out is kept as %s.\n", u.What.Kept)
	}
	return nil
}
