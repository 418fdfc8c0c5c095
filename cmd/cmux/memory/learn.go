package memory

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"cmux/agents/control/memory"
	"cmux/agents/platform/say"
	"cmux/agents/records/note"
	"cmux/cmd/cmux/cli"
)

func newLearnCmd(d *cli.Deps) *cobra.Command {
	var o memory.Options
	yes := false
	cmd := about(d, &cobra.Command{
		Use:   "learn [ROOM]",
		Short: "Make notes of what a room said, or show which rooms wait for it",
		Long: `Make notes of what a room said since it was last learned from. The program and the model that
memory: in .cmux/config.yml names read it, without tools and outside of the project; before,
you are shown how many tokens this uses. Without that program, or with --heuristic, cmux
writes down what can be counted. Messages to a single member are not read.

Without ROOM it shows the rooms that nobody has learned from.`,
		Example:           "  cmux memory learn\n  cmux memory learn design",
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: d.CompleteRoom,
	}, func(ctx context.Context, c *call) error {
		if len(c.Args) == 0 {
			return c.due()
		}
		name := c.Args[0]
		if !o.Heuristic && !o.Again && cli.IsTerminal(c.In) {
			if err := c.confirm(ctx, name, yes); err != nil {
				return err
			}
		}
		got, err := c.Part.Learn(ctx, name, o)
		if err != nil || c.JSON {
			return c.asJSON(got, err)
		}
		return c.learned(got)
	})
	f := cmd.Flags()
	f.BoolVar(&o.Heuristic, "heuristic", false, "only what can be counted, without a program")
	f.BoolVar(&o.Again, "again", false, "learn from the whole room, also from what was learned from before")
	f.BoolVarP(&yes, "yes", "y", false, "do not ask about the tokens")
	return cmd
}

func (c *call) asJSON(v any, err error) error {
	if err != nil {
		return err
	}
	return cli.PrintJSON(c.Out, v)
}

// due prints the rooms that nobody has learned from.
func (c *call) due() error {
	all, err := c.Part.Due("")
	if err != nil || c.JSON {
		return c.asJSON(map[string]any{"due": all}, err)
	}
	if len(all) == 0 {
		_, err := fmt.Fprintln(c.Out, "All rooms were learned from.")
		return err
	}
	for _, d := range all {
		why := "it goes on"
		if d.Why != "" {
			why = d.Why
		}
		fmt.Fprintf(c.Out, "%s: %s, %s\n  cmux memory learn %s (%s)\n", d.Room, say.Count(d.Messages, "message"), say.Line(why), d.Room, say.Line(by(&d)))
	}
	return nil
}

func by(d *memory.Due) string {
	if d.By == note.ByHeuristic {
		return "what can be counted, no tokens"
	}
	return fmt.Sprintf("%s, about %s tokens", name(d.By, d.Model), say.Short(d.Tokens))
}

func name(kind, model string) string {
	if model == "" {
		return kind
	}
	return kind + " " + model
}

// confirm asks the person about the tokens that a program uses.
func (c *call) confirm(ctx context.Context, name string, yes bool) error {
	all, err := c.Part.Due(name)
	if err != nil || len(all) == 0 || all[0].Tokens == 0 {
		return err
	}
	return c.Confirm(ctx, yes, fmt.Sprintf("It reads %s: %s. Learn from it?", say.Count(all[0].Messages, "message"), by(&all[0])))
}

// learned prints what was learned.
func (c *call) learned(l *memory.Learned) error {
	if l.Why != "" {
		fmt.Fprintf(c.Err, "%s\n", say.Line(l.Why))
	}
	if len(l.Notes) == 0 {
		_, err := fmt.Fprintf(c.Out, "%s#%d to %s#%d: no new notes\n", l.Room, l.From, l.Room, l.To)
		return err
	}
	return c.notes(&memory.Notes{Notes: l.Notes}, nil, "")
}
