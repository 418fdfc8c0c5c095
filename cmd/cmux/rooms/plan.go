package rooms

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"cmux/agents/control/cards"
	"cmux/agents/control/project"
	"cmux/agents/platform/say"
	"cmux/cmd/cmux/cli"
)

const planShape = `With --json the shape is
  {"room", "file", "there", "text", "sum", "edited", "aside", "session", "nodes", "waves",
   "cards": [{"id", "title", "node", "review", "label"}], "faults": [{"file", "line", "column",
   "message", "hint"}], "warnings", "left": [{"card", "why", "try"}], "notes",
   "run": {"id", "session", "state", "over"}}`

func newPlanCmd(d *cli.Deps) *cobra.Command {
	show := false
	cmd := aboutRoom(d, &cobra.Command{
		Use:   "plan ROOM",
		Short: "Make a graph of agents of the cards of a room",
		Long: `Make a graph of the cards that are decided and not started, as a configuration that you can
edit: .cmux/plans/ROOM.yml. Each card becomes a node, and its reviewer another one that depends
on it. Cards that come after others wait for them. If you have edited the plan before, what you
had is kept beside it. With --show nothing is made. cmux rooms run starts the plan.
` + planShape,
		Example: "  cmux rooms plan design",
		Args:    cobra.ExactArgs(1),
	}, true, func(ctx context.Context, c *call) error {
		look := c.cards.MakePlan
		if show {
			look = c.cards.Plan
		}
		v, err := look(ctx, c.room)
		if err := answer(c, v, err, c.plan); err != nil {
			return err
		}
		if len(v.Faults) > 0 {
			return cli.Silent(project.Usage("", "the plan has faults"))
		}
		return nil
	})
	cmd.Flags().BoolVar(&show, "show", false, "show the plan that there is")
	return cmd
}

// plan prints a plan.
func (c *call) plan(v *cards.PlanView) error {
	if !v.There {
		c.leftOut(v)
		return c.say("There is no plan. Make one: cmux rooms plan %s", v.Room)
	}
	if v.Aside != "" {
		c.remark("the plan was edited by hand; what it was is kept: " + v.Aside)
	}
	c.nodes(v)
	c.leftOut(v)
	for _, f := range v.Faults {
		c.remark(fmt.Sprintf("%s:%d:%d: %s", f.File, f.Line, f.Column, f.Message))
	}
	for _, w := range v.Warnings {
		c.remark(fmt.Sprintf("warning: %s:%d: %s", w.File, w.Line, w.Message))
	}
	switch {
	case len(v.Faults) > 0:
		return c.say("%s has faults. Edit it, then: cmux rooms run %s", v.File, v.Room)
	case v.Run != nil && !v.Run.Over:
		return c.say("%s: run %s is %s.", v.File, v.Run.ID, v.Run.State)
	}
	return c.say("%s: %s for %s. Edit it if you like, then: cmux rooms run %s", v.File, say.Count(len(v.Nodes), "node"), say.Count(len(v.Cards), "card"), v.Room)
}

func (c *call) nodes(v *cards.PlanView) {
	of := map[string]string{}
	for _, one := range v.Cards {
		of[one.Node], of[one.Review] = one.ID, one.ID
	}
	rows := make([][]string, len(v.Nodes))
	for i := range v.Nodes {
		n := &v.Nodes[i]
		rows[i] = []string{n.Name, cli.OrDash(of[n.Name]), cli.OrDash(n.Kind), string(n.Role), cli.OrDash(n.Waits()), cli.OrDash(strings.Join(n.Verify, "; "))}
	}
	if len(rows) > 0 {
		fmt.Fprint(c.Out, cli.Table([]cli.Column{{Head: "NODE"}, {Head: "CARD"}, {Head: "KIND"}, {Head: "ROLE"}, {Head: "DEPENDS ON", Give: 1, Least: 10}, {Head: "CHECKS", Give: 2, Least: 8}}, rows, c.Width(), c.Color()))
	}
}

// leftOut says which cards are not in the plan, and what should be known about others.
func (c *call) leftOut(v *cards.PlanView) {
	tell := func(text, why, try string) {
		if text += say.Line(why); try != "" {
			text += " (" + try + ")"
		}
		c.remark(text)
	}
	for _, l := range v.Left {
		tell(l.Card+" is left out: ", l.Why, l.Try)
	}
	for _, n := range v.Notes {
		tell(n.Card+": ", n.Why, n.Try)
	}
}

func newRunCmd(d *cli.Deps) *cobra.Command {
	yes := false
	cmd := aboutRoom(d, &cobra.Command{
		Use:   "run ROOM",
		Short: "Start the plan of a room",
		Long: `Start the graph that cmux rooms plan has made, after a question. Its cards follow their nodes:
they stand in implementing, their work is done when their nodes are, and the nodes that review
it approve it. A run of the plan that has not ended is continued. Agents may not start a plan.
` + planShape,
		Example: "  cmux rooms run design",
		Args:    cobra.ExactArgs(1),
	}, true, func(ctx context.Context, c *call) error {
		v, under, err := c.cards.PlanRunnable(ctx, c.room)
		if err != nil {
			return err
		}
		if !under {
			if !c.json {
				c.nodes(v)
				c.leftOut(v)
			}
			if v.Edited {
				c.remark("the plan was edited since cmux made it; what it starts is in " + v.File)
			}
			if err := c.Confirm(ctx, yes, "Start?"); err != nil {
				return err
			}
		}
		s, err := c.cards.Run(ctx, c.room, v.Sum)
		return answer(c, s, err, func(s *cards.Started) error {
			switch {
			case s.Run == nil:
				return c.say("%s", s.Said)
			case s.Said == "":
				return c.say("Run %s of the plan of %s is under way: %s.\n  cmux agents status --session %s", s.Run.ID, c.room, s.Run.State, s.Run.Session)
			}
			return c.say("Run %s of the plan of %s: %s, and the cards follow it.\n  cmux agents status --session %s\n  cmux cards list %s", s.Run.ID, c.room, say.Count(len(s.Nodes), "node"), s.Run.Session, c.room)
		})
	})
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	return cmd
}
