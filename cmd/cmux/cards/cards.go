// Package cards has the commands of cards: tasks of a room, which its members plan and review.
package cards

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"cmux/agents/control"
	"cmux/agents/control/cards"
	"cmux/agents/control/project"
	"cmux/agents/org/task"
	"cmux/agents/platform/say"
	"cmux/cmd/cmux/cli"
)

// NewCmd builds cmux cards and its commands.
func NewCmd(d *cli.Deps) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "cards",
		GroupID: "main",
		Short:   "Have a room plan, review and implement",
		Long: `A card is a task with a room and roles. Its planner and its reviewer are members of the
room, who answer about it in turns of their own; a worker like its implementer does the work,
in a worktree. Cards stand in columns: backlog, planning, reviewing, implementing, done.
Work that a reviewer, or you, have not approved is not merged.`,
		Example: "  cmux cards add design 'Sessions in SQLite' --planner claude --implementer codex --reviewer claude\n  cmux cards start t1",
	}
	cmd.AddCommand(newAddCmd(d), newListCmd(d), newShowCmd(d), newEditCmd(d), newDelegateCmd(d), newStartCmd(d),
		newApproveCmd(d), newSendBackCmd(d), newMoveCmd(d), newDoneCmd(d), newCancelCmd(d))
	return cmd
}

// call is a command about cards, as it was given.
type call cli.Call[*cards.Cards]

// about makes cmd a command about cards.
func about(d *cli.Deps, cmd *cobra.Command, run func(context.Context, *call) error) *cobra.Command {
	return cli.About(d, cmd, control.Cards, func(ctx context.Context, c *cli.Call[*cards.Cards]) error { return run(ctx, (*call)(c)) })
}

// shown prints a card: what has become of it, or all of it as JSON.
func (c *call) shown(v *cards.CardView, err error) error {
	switch {
	case err != nil:
		return err
	case c.JSON:
		return cli.PrintJSON(c.Out, v)
	}
	_, err = fmt.Fprintf(c.Out, "%s: %s, %s\n", v.ID, column(v), say.Line(v.Label))
	return err
}

func column(v *cards.CardView) string {
	if v.Column == "" {
		return "cancelled"
	}
	return string(v.Column)
}

// fieldOptions are what a card says, and who does what.
type fieldOptions struct {
	Body                                        string
	Verify, Scope                               []string
	After                                       []string
	Coordinator, Planner, Implementer, Reviewer string
}

func (o *fieldOptions) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&o.Body, "body", "", "`TEXT` that says more than the title")
	f.StringArrayVar(&o.Verify, "verify", nil, "`COMMAND` that must pass before the work is done; may be repeated")
	f.StringArrayVar(&o.Scope, "scope", nil, "`PATTERN` of the files that the work may change; may be repeated")
	f.StringVar(&o.Coordinator, "coordinator", "", "`MEMBER` that says what matters, before it is planned")
	f.StringVar(&o.Planner, "planner", "", "`MEMBER` that plans")
	f.StringVar(&o.Implementer, "implementer", "", "`MEMBER` like which a worker is made")
	f.StringVar(&o.Reviewer, "reviewer", "", "`MEMBER` that reviews the plan and the work")
}

// read is what was given of them.
func (o *fieldOptions) read(c *call) (task.Fields, cards.Roles) {
	var f task.Fields
	if c.Given("body") {
		f.Body = &o.Body
	}
	if c.Given("verify") {
		f.Verify = &o.Verify
	}
	if c.Given("scope") {
		f.Scope = &o.Scope
	}
	if c.Given("after") {
		f.After = &o.After
	}
	role := func(option string, name *string) *string {
		if !c.Given(option) {
			return nil
		}
		return name
	}
	return f, cards.Roles{
		Coordinator: role("coordinator", &o.Coordinator), Planner: role("planner", &o.Planner),
		Implementer: role("implementer", &o.Implementer), Reviewer: role("reviewer", &o.Reviewer),
	}
}

func newAddCmd(d *cli.Deps) *cobra.Command {
	var o fieldOptions
	todo := ""
	cmd := about(d, &cobra.Command{
		Use:   "add ROOM [TITLE]",
		Short: "Add a card to the backlog of a room",
		Long: `Add a card to the backlog of a room. Roles are members of the room, by their names there;
cmux cards edit sets them later. Without a planner nobody plans, without a reviewer you
approve the work. Agents may add cards too. With --todo the card takes up what a member
proposed with [TODO]: cmux cards list shows it.`,
		Example: "  cmux cards add design 'Sessions in SQLite' --planner claude --implementer codex --reviewer claude\n  cmux cards add design --todo p12.0",
		Args:    cobra.RangeArgs(1, 2),
	}, func(ctx context.Context, c *call) error {
		f, roles := o.read(c)
		switch {
		case len(c.Args) == 2:
			f.Title = &c.Args[1]
		case todo == "":
			return project.Usage("cmux cards add --help", "a card has a title")
		}
		return c.shown(c.Part.Add(ctx, c.Args[0], todo, f, roles))
	})
	cmd.Flags().StringVar(&todo, "todo", "", "`ID` of the proposal that the card takes up")
	o.flags(cmd)
	cmd.Flags().StringSliceVar(&o.After, "after", nil, "`CARDS` that must be done before this one begins")
	return cmd
}

func newListCmd(d *cli.Deps) *cobra.Command {
	return about(d, &cobra.Command{
		Use:   "list [ROOM]",
		Short: "List cards by their columns",
		Long: `List the cards of a room, or of all rooms, by their columns, and the cards that members
propose with [TODO]. With --json the shape is
  {"cards": [{"id", "title", "label", "column", "work", "merge", "needs", "moves": [{"to", "do",
   "asks"}], "card": {"room", "coordinator", "planner", "implementer", "reviewer", "phase",
   "waits", "approved"}, as cmux tasks show}],
   "proposals": [{"id", "room", "by", "text", "message"}]}`,
		Example: "  cmux cards list design",
		Args:    cobra.MaximumNArgs(1),
	}, func(_ context.Context, c *call) error {
		all, err := c.Part.List(cli.First(c.Args))
		if err != nil {
			return err
		}
		proposals, err := c.Part.Proposals(cli.First(c.Args))
		switch {
		case err != nil:
			return err
		case c.JSON:
			return cli.PrintJSON(c.Out, map[string]any{"cards": all, "proposals": proposals})
		case len(all) == 0 && len(proposals) == 0:
			_, err := fmt.Fprintln(c.Out, "There are no cards. Add one: cmux cards add ROOM TITLE")
			return err
		}
		c.proposed(proposals)
		return c.board(all)
	})
}

// proposed prints the newest proposals of cards.
func (c *call) proposed(all []cards.Proposal) {
	const most = 10
	if len(all) == 0 {
		return
	}
	fmt.Fprintln(c.Out, "PROPOSED")
	for _, o := range all[max(0, len(all)-most):] {
		fmt.Fprintf(c.Out, "  %s (%s, by %s)\n       cmux cards add %s --todo %s\n", say.Line(o.Text), o.Room, o.By, o.Room, o.ID)
	}
	if n := len(all) - most; n > 0 {
		fmt.Fprintf(c.Out, "  and %d earlier ones: cmux cards list --json\n", n)
	}
}

// board prints cards by their columns.
func (c *call) board(all []cards.CardView) error {
	for _, col := range task.Columns() {
		head := false
		for i := range all {
			v := &all[i]
			if v.Column != col {
				continue
			}
			if !head {
				head = true
				fmt.Fprintln(c.Out, strings.ToUpper(string(col)))
			}
			fmt.Fprintf(c.Out, "  %-4s %s (%s)\n       %s\n", v.ID, say.Line(v.Title), v.Card.Room, say.Line(v.Label))
		}
	}
	return nil
}

func newShowCmd(d *cli.Deps) *cobra.Command {
	return about(d, &cobra.Command{
		Use:     "show CARD",
		Short:   "Show a card: who does what, and where it stands",
		Example: "  cmux cards show t1",
		Args:    cobra.ExactArgs(1),
	}, func(_ context.Context, c *call) error {
		v, err := c.Part.Card(c.Args[0])
		if err != nil || c.JSON {
			return c.shown(v, err)
		}
		row := func(head, text string) {
			if text != "" {
				fmt.Fprintf(c.Out, "%-12s %s\n", head, say.Line(text))
			}
		}
		row("Card", v.ID+": "+v.Title)
		row("Room", v.Card.Room)
		row("Column", column(v))
		row("State", v.Label)
		row("Coordinator", v.Card.Coordinator)
		row("Planner", v.Card.Planner)
		row("Implementer", v.Card.Implementer)
		row("Reviewer", v.Card.Reviewer)
		for _, said := range []struct {
			head, text string
			n          int64
		}{{"What matters", v.Texts.Brief, v.Card.Brief}, {"Plan", v.Texts.Plan, v.Card.Plan}, {"Sent back", v.Texts.Back, v.Card.Feedback}} {
			if said.n > 0 && said.text != "" { // else it was said in another room of that name
				row(said.head, fmt.Sprintf("%s#%d", v.Card.Room, said.n))
			}
		}
		row("Sent back", v.Card.Remark)
		for _, o := range v.Offers {
			text := o.Why
			if o.Message > 0 {
				text = fmt.Sprintf("planner %s, implementer %s, reviewer %s (%s#%d)", some(o.Planner), some(o.Implementer), some(o.Reviewer), v.Card.Room, o.Message)
			}
			row("Says "+o.By, cmp.Or(text, "not yet"))
		}
		if v.Work != v.ID || v.Card.Phase == task.Implementing || v.Card.Phase == task.WorkReview {
			row("Work", "cmux tasks show "+v.Work)
		}
		row("Node", v.Card.Node)
		row("Next", next(v))
		return nil
	})
}

// some are names for a person.
func some(names []string) string { return cmp.Or(strings.Join(names, " or "), "nobody") }

// next is the command that a person would give.
func next(v *cards.CardView) string {
	switch {
	case v.Column == "" && v.State == task.Done: // what took its work up was cancelled
		return "cmux cards approve " + v.ID + ", or cmux cards send-back " + v.ID + " TEXT"
	case v.Column == task.InDone && v.Merge && !v.Merged.In():
		return "cmux tasks merge"
	case v.Column == "", v.Column == task.InDone:
		return ""
	case v.Card.Phase == task.Delegating && v.Card.Waits != "":
		return "cmux cards delegate " + v.ID + " --pick NAME, or cmux cards edit " + v.ID + " --planner NAME --implementer NAME --reviewer NAME"
	case v.Card.Phase == task.Delegating:
		return ""
	case v.Card.Rejected():
		return "cmux cards approve " + v.ID + "; cmux cards send-back " + v.ID + " TEXT; cmux rooms start --about task:" + v.ID
	case v.Card.Stuck != "":
		return v.Card.Way
	case v.Card.Hold && v.Column == task.InBacklog:
		return "cmux rooms plan " + v.Card.Room + ", or cmux cards start " + v.ID
	case v.Column == task.InBacklog && v.Card.Implementer == "":
		return "cmux cards delegate " + v.ID + ", or cmux cards edit " + v.ID + " --implementer NAME"
	case v.Card.Phase == "", v.Card.Waits != "":
		return "cmux cards start " + v.ID
	case v.Column == task.InReview && (v.Card.Reviewer == "" || v.Card.Phase == task.PlanReview || v.Card.Phase == task.WorkReview):
		return "cmux cards approve " + v.ID + ", or cmux cards send-back " + v.ID + " TEXT"
	}
	return ""
}

func newEditCmd(d *cli.Deps) *cobra.Command {
	var o fieldOptions
	title := ""
	cmd := about(d, &cobra.Command{
		Use:     "edit CARD",
		Short:   "Change a card: its text, or who does what",
		Long:    "Change a card. What is not given stays; an empty role has nobody.",
		Example: "  cmux cards edit t1 --reviewer qwen",
		Args:    cobra.ExactArgs(1),
	}, func(ctx context.Context, c *call) error {
		f, roles := o.read(c)
		if c.Given("title") {
			f.Title = &title
		}
		if f == (task.Fields{}) && roles == (cards.Roles{}) {
			return project.Usage("cmux cards edit --help", "say what changes")
		}
		return c.shown(c.Part.Edit(ctx, c.Args[0], 0, f, roles))
	})
	cmd.Flags().StringVar(&title, "title", "", "`TITLE` of the card")
	o.flags(cmd)
	return cmd
}

func newStartCmd(d *cli.Deps) *cobra.Command {
	hold := false
	cmd := about(d, &cobra.Command{
		Use:   "start CARD",
		Short: "Begin a card, or let one go on that waits for you",
		Long: `Begin a card: its coordinator says what matters, its planner plans, its reviewer reviews the
plan, and a worker like its implementer does the work. Where a role has nobody, that step is
left out; an implementer is needed. A card that waits for you goes on where it is.
With --hold nobody begins with the work when the plan is approved: cmux rooms plan takes the
card into the graph of the room, or a second cmux cards start has it worked on.`,
		Example: "  cmux cards start t1",
		Args:    cobra.ExactArgs(1),
	}, func(ctx context.Context, c *call) error { return c.shown(c.Part.Start(ctx, c.Args[0], 0, hold)) })
	cmd.Flags().BoolVar(&hold, "hold", false, "begin with nothing when the plan is made")
	return cmd
}

func newApproveCmd(d *cli.Deps) *cobra.Command {
	return about(d, &cobra.Command{
		Use:   "approve CARD",
		Short: "Approve the plan of a card, or its work",
		Long: `Approve what there is: a plan is implemented, also if its reviewer has not answered; work
that is done may be merged.`,
		Example: "  cmux cards approve t1",
		Args:    cobra.ExactArgs(1),
	}, func(ctx context.Context, c *call) error { return c.shown(c.Part.Approve(ctx, c.Args[0], 0)) })
}

func newSendBackCmd(d *cli.Deps) *cobra.Command {
	return about(d, &cobra.Command{
		Use:   "send-back CARD TEXT",
		Short: "Send the plan of a card back, or its work",
		Long: `Send back what there is, and say why: the plan is made again, or another task takes the work
up where it is.`,
		Example: "  cmux cards send-back t1 'Keep the old flag.'",
		Args:    cobra.ExactArgs(2),
	}, func(ctx context.Context, c *call) error {
		return c.shown(c.Part.SendBack(ctx, c.Args[0], 0, c.Args[1]))
	})
}
