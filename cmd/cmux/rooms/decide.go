package rooms

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"cmux/agents/control/project"
	"cmux/agents/control/rooms"
	"cmux/agents/platform/say"
	"cmux/agents/room"
	"cmux/agents/room/marks"
	"cmux/cmd/cmux/cli"
)

func newDecideCmd(d *cli.Deps) *cobra.Command {
	var accept, reject, wait, yes bool
	text, timeout := "", time.Duration(0)
	cmd := aboutRoom(d, &cobra.Command{
		Use:   "decide ROOM [D1]",
		Short: "Ask the members about a proposal, or decide on it",
		Long: `Ask each member, but for its author, whether it agrees with a proposal or dissents and why.
All are asked at once, and nobody reads another's answer. D1 may be missing where one
proposal alone is open. With --accept, --reject or --text decide on it: the decision, who is
for and against it, each dissent and what was not examined become an entry of the journal,
and the members are told with their next turn. --text decides on your own text, also where
nothing is proposed. A message proposes with [DECISION] and a text. With --json the shape is
that of one of cmux rooms decisions.`,
		Example: "  cmux rooms decide design D1 --wait\n  cmux rooms decide design D1 --accept",
		Args:    cobra.RangeArgs(1, 2),
	}, true, func(ctx context.Context, c *call) error {
		o := rooms.Decide{ID: cli.First(c.args), Text: text}
		switch {
		case accept:
			o.Verdict = room.Accepted
		case reject:
			o.Verdict = room.Rejected
		case text != "":
			o.Verdict = room.Changed
		}
		if o.Verdict != "" && wait {
			return project.Usage("", "--wait is for asking the members, and not for a decision")
		}
		if o.Verdict == "" {
			if err := c.confirmAsking(ctx, o.ID, yes); err != nil {
				return err
			}
		}
		v, err := c.rooms.Decide(ctx, c.room, o)
		if err == nil && wait {
			v, err = c.awaitAnswers(ctx, v.ID, timeout)
		}
		return answer(c, v, err, func(v *rooms.Decision) error {
			switch {
			case v.Decided != nil:
				return c.say("%s: %s. Its record is in %s.", v.ID, v.Decided.Verdict, v.Decided.Journal)
			case wait:
				return c.printDecisions([]rooms.Decision{*v})
			}
			return c.say("%s is put to %s. Their answers: cmux rooms decisions %s", v.ID, strings.Join(v.Asked, ", "), c.room)
		})
	})
	f := cmd.Flags()
	f.BoolVar(&accept, "accept", false, "decide for it")
	f.BoolVar(&reject, "reject", false, "decide against it")
	f.StringVar(&text, "text", "", "decide on `TEXT` instead")
	f.BoolVar(&wait, "wait", false, "wait until all have answered, and print what they say")
	f.DurationVar(&timeout, "timeout", 0, "with --wait: give up after this long, `DURATION` (0: never)")
	f.BoolVar(&yes, "yes", false, "do not ask where it uses many tokens")
	cmd.MarkFlagsMutuallyExclusive("accept", "reject", "text")
	return cmd
}

// confirmAsking asks the person where asking the members uses many tokens.
func (c *call) confirmAsking(ctx context.Context, id string, yes bool) error {
	all, err := c.rooms.Decisions(c.room)
	if err != nil {
		return err
	}
	for _, d := range all {
		if (id == "" || strings.EqualFold(d.ID, id)) && d.State == rooms.IsProposed {
			return c.confirmCost(ctx, d.Cost, yes, "Ask them?")
		}
	}
	return nil
}

// awaitAnswers waits until nobody may still answer about a proposal.
func (c *call) awaitAnswers(ctx context.Context, id string, timeout time.Duration) (*rooms.Decision, error) {
	if timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, timeout)
		defer cancel()
	}
	v, err := c.rooms.AwaitAnswers(ctx, c.room, id)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		c.remark(fmt.Sprintf("%s: no answer within %v", strings.Join(v.Pending, ", "), timeout))
		return nil, cli.ExitStatus(124)
	case errors.Is(err, rooms.ErrCapped):
		c.remark(err.Error())
		return nil, cli.ExitStatus(3)
	}
	return v, err
}

func newDecisionsCmd(d *cli.Deps) *cobra.Command {
	return aboutRoom(d, &cobra.Command{
		Use:   "decisions ROOM",
		Short: "Show what was proposed in a room, what members say about it, and what was decided",
		Long: `Show what was proposed in a room, what members say about it, and what was decided. With
--json the shape is a list of
  {"id", "state", "by", "text", "message", "asked", "pending", "for", "against",
   "votes": [{"by", "side", "why", "unseen", "message", "asked"}],
   "decided": {"verdict", "by", "text", "message", "journal", "record"},
   "cost": {"wakes", "least", "most"}}
where state is proposed, asked, answered or decided, side is for, against or unclear, verdict
is accepted, rejected or changed, and cost is that of asking the members.`,
		Example: "  cmux rooms decisions design",
		Args:    cobra.ExactArgs(1),
	}, true, func(_ context.Context, c *call) error {
		all, err := c.rooms.Decisions(c.room)
		return answer(c, all, err, c.printDecisions)
	})
}

// printDecisions writes proposals, and the command for those that are open.
func (c *call) printDecisions(all []rooms.Decision) error {
	if len(all) == 0 {
		return c.say("Nothing was proposed in %s. A message proposes with [DECISION] and a text.", c.room)
	}
	for i := range all {
		if i > 0 {
			fmt.Fprintln(c.Out)
		}
		d := &all[i]
		state := string(d.State)
		if d.Decided != nil {
			state = fmt.Sprintf("%s by %s", d.Decided.Verdict, calledBy(d.Decided.By))
		}
		where := ""
		if d.Message != 0 {
			where = fmt.Sprintf(", %s#%d", c.room, d.Message)
		}
		fmt.Fprintf(c.Out, "%s: %s (of %s%s)\n%s\n", d.ID, state, calledBy(d.By), where, indent(d.Text, "  "))
		if d.Decided != nil && d.Decided.Text != d.Text {
			fmt.Fprintf(c.Out, "  decided:\n%s\n", indent(d.Decided.Text, "    "))
		}
		c.printVotes(d)
		switch {
		case d.Decided != nil:
			fmt.Fprintf(c.Out, "  record: %s\n", d.Decided.Journal)
		case d.State == rooms.IsProposed && len(d.Cost.Wakes) > 0:
			fmt.Fprintf(c.Out, "  ask the members, for about %s tokens: cmux rooms decide %s %s\n", say.Short(d.Cost.Least), c.room, d.ID)
			fallthrough
		case d.State != rooms.IsAsked:
			fmt.Fprintf(c.Out, "  decide: cmux rooms decide %s %s --accept, or --reject, or --text TEXT\n", c.room, d.ID)
		}
	}
	return nil
}

func (c *call) printVotes(d *rooms.Decision) {
	row := func(what string, names []string) {
		if len(names) > 0 {
			fmt.Fprintf(c.Out, "  %s: %s\n", what, strings.Join(names, ", "))
		}
	}
	row("for", d.For)
	row("against", d.Against)
	row("still asked", d.Pending)
	for _, v := range d.Votes {
		if v.Side != marks.For && v.Why != "" {
			fmt.Fprintf(c.Out, "  %s (%s):\n%s\n", v.By, v.Side, indent(v.Why, "    "))
		}
		if v.Unseen != "" {
			fmt.Fprintf(c.Out, "  %s has not examined: %s\n", v.By, say.Line(v.Unseen))
		}
	}
}

// calledBy is who somebody is to the reader.
func calledBy(name string) string {
	if name == room.User {
		return "you"
	}
	return name
}
