// Package rooms has the commands of rooms, in which several agents and a person talk.
package rooms

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"cmux/agents/control"
	"cmux/agents/control/cards"
	"cmux/agents/control/memory"
	"cmux/agents/control/project"
	"cmux/agents/control/rooms"
	"cmux/agents/control/serving"
	"cmux/agents/org/memoryconfig"
	"cmux/agents/platform/say"
	"cmux/agents/room"
	"cmux/cmd/cmux/cli"
)

// NewCmd builds cmux rooms and its commands.
func NewCmd(d *cli.Deps) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "rooms",
		GroupID: "main",
		Short:   "Talk with several agents at once",
		Long: `A room is one conversation between you and several agents. They answer you, react to
what others say, and stop when nobody has anything to add. Members read the project and
write nothing. What was said is in .cmux/rooms/ROOM/room.jsonl.`,
		Example: "  cmux rooms start design --agents claude,codex:reviewer\n  cmux rooms say design 'Which database?' --wait",
	}
	cmd.AddCommand(newStartCmd(d), newListCmd(d), newShowCmd(d), newOpenCmd(d), newLogCmd(d), newTailCmd(d), newSayCmd(d), newAnswerCmd(d), newCostCmd(d), newWaitCmd(d),
		newPromptCmd(d), newParseCmd(d), newCheckCmd(d), newInviteCmd(d), newDismissCmd(d), newSetCmd(d), newUndoCmd(d), newRemoveCmd(d), newExportCmd(d), newDecideCmd(d), newDecisionsCmd(d), newPlanCmd(d), newRunCmd(d))
	for _, o := range orders() {
		cmd.AddCommand(newOrderCmd(d, o))
	}
	return cmd
}

// call is a command about a room, as it was given.
type call struct {
	*cli.IO
	rooms *rooms.Rooms
	cards *cards.Cards
	room  string
	args  []string // behind the room
	json  bool

	tailed string // begins the keys of what is typed in cmux rooms tail
	server func() *serving.ServerReport
}

// aboutRoom makes cmd a command about the room that its first argument names.
func aboutRoom(d *cli.Deps, cmd *cobra.Command, asJSON bool, run func(context.Context, *call) error) *cobra.Command {
	c := &call{IO: &d.IO}
	cmd.ValidArgsFunction = d.CompleteRoom
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		p, err := d.Project(cmd.Context())
		if err != nil {
			return err
		}
		c.rooms, c.cards, c.server, c.room, c.args = p.Rooms(), control.Cards(p), p.Serving().Server, args[0], args[1:]
		return run(cmd.Context(), c)
	}
	if asJSON {
		cli.JSONFlag(cmd, &c.json)
	}
	return cmd
}

// answer prints what an order or a question came to, as JSON or as text.
func answer[T any](c *call, v T, err error, text func(T) error) error {
	switch {
	case err != nil:
		return err
	case c.json:
		return cli.PrintJSON(c.Out, v)
	}
	return text(v)
}

// say prints a line.
func (c *call) say(format string, args ...any) error {
	_, err := fmt.Fprintf(c.Out, format+"\n", args...)
	return err
}

// remark prints what is worth knowing.
func (c *call) remark(all ...string) {
	for _, text := range all {
		fmt.Fprintf(c.Err, "cmux: %s\n", text)
	}
}

type order struct {
	do    room.Do
	use   string
	short string
	said  string // when it is done
	least int    // names that it needs
	most  int
}

// orders are the orders about a room. Those that name a member need one.
func orders() []order {
	return []order{
		{room.DoPause, "pause ROOM", "Let turns finish, and begin no other", "paused", 0, 0},
		{room.DoResume, "resume ROOM", "Let turns begin again after a pause", "resumed", 0, 0},
		{room.DoStop, "stop ROOM [NAME]", "Interrupt the turn of a member; without NAME all turns, and pause", "stopped", 0, 1},
		{room.DoCancel, "cancel ROOM", "Interrupt all turns and end the round", "cancelled", 0, 0},
		{room.DoContinue, "continue ROOM [N]", "Let a round go on whose turns or tokens were used up", "continued", 0, 1},
		{room.DoSkip, "skip ROOM NAME", "Continue the round without a member", "skipped", 1, 1},
		{room.DoWake, "wake ROOM NAME", "Try a member again that is down", "woken", 1, 1},
		{room.DoWait, "go-on ROOM NAME", "Let a turn go on that takes long", "left to go on", 1, 1},
		{room.DoClose, "close ROOM", "End the programs, and keep everything", "closed", 0, 0},
		{room.DoReopen, "reopen ROOM", "Open a closed room again, in the same conversations", "reopened", 0, 0},
	}
}

// given is the order with the words that follow the room.
func (o *order) given(args []string) (rooms.Order, error) {
	if o.do != room.DoContinue || len(args) == 0 {
		return rooms.Order{Do: o.do, Names: args}, nil
	}
	n := 0
	if _, err := fmt.Sscanf(args[0], "%d", &n); err != nil || n < 1 {
		return rooms.Order{}, project.Usage("", "%q is no number of turns", args[0])
	}
	return rooms.Order{Do: o.do, N: n}, nil
}

// word is the order's name.
func (o *order) word() string {
	word, _, _ := strings.Cut(o.use, " ")
	return word
}

func newOrderCmd(d *cli.Deps, o order) *cobra.Command {
	example := "  cmux rooms " + o.word() + " design"
	if o.least > 0 {
		example += " codex"
	}
	return aboutRoom(d, &cobra.Command{
		Use:     o.use,
		Short:   o.short,
		Long:    o.short + ". With --json the shape is that of cmux rooms show.",
		Example: example,
		Args:    cobra.RangeArgs(1+o.least, 1+o.most),
	}, true, func(ctx context.Context, c *call) error {
		do, err := o.given(c.args)
		if err != nil {
			return err
		}
		idle, err := c.rooms.Idle(c.room, do)
		if err != nil {
			return err
		}
		v, err := c.rooms.Order(ctx, c.room, do)
		return answer(c, v, err, func(*rooms.View) error {
			who := c.room
			if idle != "" {
				return c.say("%s: %s.", who, idle)
			}
			if len(do.Names) > 0 {
				who = strings.Join(do.Names, ", ") + " in " + c.room
			}
			if err := c.say("%s: %s.", who, o.said); err != nil || o.do != room.DoClose {
				return err
			}
			return c.learnable()
		})
	})
}

// learnable says how to learn from a room that was closed, where the person orders that.
func (c *call) learnable() error {
	m := &memory.Memory{Project: c.rooms.Project, Rooms: c.rooms}
	config, err := m.Config()
	if err != nil || config.Learn != memoryconfig.Ask {
		return nil // the room is closed all the same
	}
	due, err := m.Due(c.room)
	if err != nil || len(due) == 0 {
		return nil
	}
	costs := "no tokens"
	if due[0].Tokens > 0 {
		costs = "about " + say.Short(due[0].Tokens) + " tokens"
	}
	return c.say("Make notes of it (%s): cmux memory learn %s", costs, c.room)
}
