// Package memory has the commands of notes: what rooms learned, and which members get it.
package memory

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"cmux/agents/control"
	"cmux/agents/control/memory"
	"cmux/agents/control/project"
	"cmux/agents/platform/say"
	"cmux/agents/records/note"
	"cmux/cmd/cmux/cli"
)

// NewCmd builds cmux memory and its commands.
func NewCmd(d *cli.Deps) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "memory",
		GroupID: "main",
		Short:   "Look at what rooms learned, and change it",
		Long: `Notes hold what rooms learned: facts about the project, how something is done, what was
decided, and what agent programs did. A member of a room is told the notes that fit, once.
Notes are in .cmux/memory.jsonl. MEMORY.md is yours: cmux memory promote moves a note there.
Agents may list and search notes; everything else is a person's.`,
		Example: "  cmux memory list\n  cmux memory search sessions\n  cmux memory learn design",
	}
	cmd.AddCommand(newListCmd(d), newSearchCmd(d), newShowCmd(d), newWhyCmd(d), newAddCmd(d), newEditCmd(d), newPinCmd(d), newForgetCmd(d), newPromoteCmd(d), newLearnCmd(d))
	return cmd
}

// call is a command about notes, as it was given.
type call cli.Call[*memory.Memory]

// about makes cmd a command about notes.
func about(d *cli.Deps, cmd *cobra.Command, run func(context.Context, *call) error) *cobra.Command {
	return cli.About(d, cmd, control.Memory, func(ctx context.Context, c *cli.Call[*memory.Memory]) error { return run(ctx, (*call)(c)) })
}

// ofNote makes cmd a command about the note that its argument names.
func ofNote(d *cli.Deps, cmd *cobra.Command, run func(context.Context, *call) error) *cobra.Command {
	cmd.Args = cobra.ExactArgs(1)
	cmd.ValidArgsFunction = d.Completing(func(_ context.Context, p *control.Project) (all []string, err error) {
		notes, err := control.Memory(p).List()
		if err != nil {
			return nil, err
		}
		for _, n := range notes.Notes {
			all = append(all, n.ID+"\t"+n.Text)
		}
		return all, nil
	})
	return about(d, cmd, run)
}

// done prints what has become of a note, or all of it as JSON.
func (c *call) done(n *note.Note, err error, what string) error {
	switch {
	case err != nil:
		return err
	case c.JSON:
		return cli.PrintJSON(c.Out, n)
	}
	_, err = fmt.Fprintf(c.Out, "%s: %s\n", n.ID, what)
	return err
}

// notes prints notes.
func (c *call) notes(all *memory.Notes, err error, none string) error {
	switch {
	case err != nil:
		return err
	case c.JSON:
		return cli.PrintJSON(c.Out, all)
	}
	c.Part.Skipped(all.Skipped)
	if len(all.Notes) == 0 {
		_, err := fmt.Fprintln(c.Out, none)
		return err
	}
	for _, n := range all.Notes {
		fmt.Fprintf(c.Out, "%-4s %s\n     %s\n", n.ID, say.Line(n.Text), say.Line(source(n)))
	}
	return nil
}

// source says in a line what a note is and where it comes from.
func source(n *note.Note) string {
	parts := []string{string(n.Kind)}
	if n.State != note.Shown {
		parts = append(parts, string(n.State))
	}
	if n.Pinned {
		parts = append(parts, "pinned")
	}
	if n.From != nil {
		parts = append(parts, "from "+n.From.Room)
	}
	parts = append(parts, "by "+n.By, n.At.Local().Format("2006-01-02"))
	if len(n.Used) > 0 {
		parts = append(parts, "given to "+say.Count(len(n.Used), "turn"))
	}
	return strings.Join(parts, ", ")
}

func newListCmd(d *cli.Deps) *cobra.Command {
	return about(d, &cobra.Command{
		Use:   "list",
		Short: "List the notes, the pinned ones first, then the newest",
		Long: `List the notes that members of rooms may be told. With --json the shape is
  {"notes": [{"id", "text", "kind", "about": {"files", "agent", "model"}, "from": {"room",
   "opened_at", "messages"}, "by", "at", "pinned", "state", "changed_at", "used": [{"room",
   "turn", "member", "at"}]}], "skipped": []}`,
		Example: "  cmux memory list",
		Args:    cobra.NoArgs,
	}, func(_ context.Context, c *call) error {
		all, err := c.Part.List()
		return c.notes(all, err, "There are no notes. Learn from a room: cmux memory learn")
	})
}

func newSearchCmd(d *cli.Deps) *cobra.Command {
	return about(d, &cobra.Command{
		Use:     "search WORDS...",
		Short:   "Find notes by their words, the best first",
		Long:    "Find the notes that have all words, each as the beginning of a word: in their text, their kind,\nand the files, program and model that they are about.",
		Example: "  cmux memory search sessions sqlite",
		Args:    cobra.MinimumNArgs(1),
	}, func(_ context.Context, c *call) error {
		all, err := c.Part.Search(strings.Join(c.Args, " "))
		return c.notes(all, err, "No note has these words.")
	})
}

func newShowCmd(d *cli.Deps) *cobra.Command {
	return ofNote(d, &cobra.Command{
		Use:     "show NOTE",
		Short:   "Show a note, also one that was forgotten or moved",
		Example: "  cmux memory show n1",
	}, func(_ context.Context, c *call) error {
		n, err := c.Part.Show(c.Args[0])
		if err != nil || c.JSON {
			return c.done(n, err, "")
		}
		return c.show(n)
	})
}

func (c *call) show(n *note.Note) error {
	row := func(head, text string) {
		if text != "" {
			fmt.Fprintf(c.Out, "%-8s %s\n", head, say.Line(text))
		}
	}
	row("Note", n.ID)
	row("Text", n.Text)
	if n.Text == "" {
		row("Text", "(erased)")
	}
	row("Is", source(n))
	row("Files", strings.Join(n.About.Files, ", "))
	row("Program", strings.TrimSpace(n.About.Agent+" "+n.About.Model))
	return nil
}

func newWhyCmd(d *cli.Deps) *cobra.Command {
	return ofNote(d, &cobra.Command{
		Use:   "why NOTE",
		Short: "Show where a note comes from, and which turns got it",
		Long: `Show where a note comes from: the room, and the messages that it rests on, with what they
said. Then the turns that got it.`,
		Example: "  cmux memory why n1",
	}, func(_ context.Context, c *call) error {
		w, err := c.Part.Why(c.Args[0])
		switch {
		case err != nil:
			return err
		case c.JSON:
			return cli.PrintJSON(c.Out, w)
		}
		if err := c.show(&w.Note); err != nil {
			return err
		}
		switch {
		case w.Note.From == nil:
			fmt.Fprintln(c.Out, "\nYou have written it.")
		case w.Missing != "":
			fmt.Fprintf(c.Out, "\nIt comes from messages that cannot be shown: %s.\n", say.Line(w.Missing))
		default:
			fmt.Fprintf(c.Out, "\nIt comes from the room %s:\n", w.Note.From.Room)
		}
		for _, m := range w.Messages {
			fmt.Fprintf(c.Out, "[%s] (%s#%d)\n  %s\n", m.By, w.Note.From.Room, m.N, strings.ReplaceAll(say.Lines(m.Text), "\n", "\n  "))
		}
		if len(w.Uses) == 0 {
			fmt.Fprintln(c.Out, "\nNo turn got it.")
			return nil
		}
		fmt.Fprintln(c.Out, "\nThese turns got it:")
		for _, u := range w.Uses {
			fmt.Fprintf(c.Out, "  %s of %s in %s, %s\n", u.Turn, u.Member, u.Room, u.At.Local().Format("2006-01-02 15:04"))
		}
		return nil
	})
}

// fieldOptions are what a note says.
type fieldOptions struct {
	Kind, Agent, Model string
	Files              []string
}

func (o *fieldOptions) flags(cmd *cobra.Command, kind string) {
	f := cmd.Flags()
	f.StringVar(&o.Kind, "kind", kind, "project, practice, member or decision")
	f.StringArrayVar(&o.Files, "file", nil, "`FILE` that it is about, from the project's root; may be repeated")
	f.StringVar(&o.Agent, "agent", "", "`KIND` of a program that it is about")
	f.StringVar(&o.Model, "model", "", "`MODEL` that it is about")
	var kinds []string
	for _, k := range note.Kinds() {
		kinds = append(kinds, string(k))
	}
	cmd.RegisterFlagCompletionFunc("kind", cobra.FixedCompletions(kinds, cobra.ShellCompDirectiveNoFileComp))
}

func newAddCmd(d *cli.Deps) *cobra.Command {
	var o fieldOptions
	cmd := about(d, &cobra.Command{
		Use:     "add TEXT",
		Short:   "Write a note",
		Long:    "Write a note of at most 300 characters. A text that was forgotten is not learned again.",
		Example: "  cmux memory add 'make test needs a running Postgres' --kind practice --file Makefile",
		Args:    cobra.ExactArgs(1),
	}, func(ctx context.Context, c *call) error {
		n, err := c.Part.Add(ctx, note.Fields{Text: c.Args[0], Kind: note.Kind(o.Kind), About: note.About{Files: o.Files, Agent: o.Agent, Model: o.Model}})
		return c.done(n, err, "noted")
	})
	o.flags(cmd, string(note.Project))
	return cmd
}

func newEditCmd(d *cli.Deps) *cobra.Command {
	var o fieldOptions
	text := ""
	cmd := ofNote(d, &cobra.Command{
		Use:     "edit NOTE",
		Short:   "Change what a note says",
		Long:    "Change a note. What is not given stays; an empty --file, --agent or --model takes it out.",
		Example: "  cmux memory edit n1 --text 'make test needs Postgres 17'",
	}, func(ctx context.Context, c *call) error {
		var change memory.Change
		give := func(option string, to **string, value *string) {
			if c.Given(option) {
				*to = value
			}
		}
		give("text", &change.Text, &text)
		give("agent", &change.Agent, &o.Agent)
		give("model", &change.Model, &o.Model)
		if c.Given("kind") {
			kind := note.Kind(o.Kind)
			change.Kind = &kind
		}
		if c.Given("file") {
			files := []string{}
			for _, f := range o.Files {
				if f != "" {
					files = append(files, f)
				}
			}
			change.Files = &files
		}
		if change == (memory.Change{}) {
			return project.Usage("cmux memory edit --help", "say what changes")
		}
		n, err := c.Part.Edit(ctx, c.Args[0], change)
		return c.done(n, err, "changed")
	})
	cmd.Flags().StringVar(&text, "text", "", "`TEXT` of at most 300 characters")
	o.flags(cmd, "")
	return cmd
}

func newPinCmd(d *cli.Deps) *cobra.Command {
	off := false
	cmd := ofNote(d, &cobra.Command{
		Use:     "pin NOTE",
		Short:   "Give a note to every member",
		Long:    "Pin a note: members of every room get it first, whether it fits or not. Only those who lead a\nroom get one about a member.",
		Example: "  cmux memory pin n1\n  cmux memory pin n1 --off",
	}, func(ctx context.Context, c *call) error {
		n, err := c.Part.Pin(ctx, c.Args[0], !off)
		if off {
			return c.done(n, err, "not pinned")
		}
		return c.done(n, err, "pinned")
	})
	cmd.Flags().BoolVar(&off, "off", false, "unpin it")
	return cmd
}

func newForgetCmd(d *cli.Deps) *cobra.Command {
	erase := false
	cmd := ofNote(d, &cobra.Command{
		Use:   "forget NOTE",
		Short: "Forget a note for ever",
		Long: `Forget a note: it is not shown, told or learned again. With --erase its text is taken out of
.cmux/memory.jsonl as well; also later. What members were told before stays in their
conversations, and the messages that it came from stay in their room.`,
		Example: "  cmux memory forget n1 --erase",
	}, func(ctx context.Context, c *call) error {
		n, err := c.Part.Forget(ctx, c.Args[0], erase)
		if erase {
			return c.done(n, err, "forgotten, and its text is erased")
		}
		return c.done(n, err, "forgotten")
	})
	cmd.Flags().BoolVar(&erase, "erase", false, "take its text out of the file, too")
	return cmd
}

func newPromoteCmd(d *cli.Deps) *cobra.Command {
	return ofNote(d, &cobra.Command{
		Use:     "promote NOTE",
		Short:   "Move a note to the end of MEMORY.md",
		Long:    "Move a note to the end of MEMORY.md, which every agent reads. It is a note no more. What you\nhave written there stays as it is.",
		Example: "  cmux memory promote n1",
	}, func(ctx context.Context, c *call) error {
		n, err := c.Part.Promote(ctx, c.Args[0])
		return c.done(n, err, "moved to MEMORY.md")
	})
}
