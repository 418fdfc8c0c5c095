// Package journal has the commands that read, search and write the journal.
package journal

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"cmux/agents/control"
	"cmux/agents/control/records"
	"cmux/agents/platform/say"
	"cmux/agents/records/journal"
	"cmux/cmd/cmux/cli"
	"cmux/server/store"
)

// NewCmd builds cmux journal and its commands.
func NewCmd(d *cli.Deps) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "journal",
		GroupID: "main",
		Short:   "Read and write the project's journal, one page per day",
		Example: "  cmux journal show",
	}
	cmd.AddCommand(newJournalAddCmd(d, nil), newJournalShowCmd(d, nil), newJournalSearchCmd(d, nil), newJournalNoteCmd(d, nil), newJournalReflectionCmd(d, nil))
	return cmd
}

type journalOptions struct {
	*cli.IO
	Project       cli.ProjectFunc
	Entry         journal.Entry
	Query         journal.Query
	Day           string
	Section, Text string
	JSON          bool
}

func newJournalAddCmd(d *cli.Deps, runF func(context.Context, *journalOptions) error) *cobra.Command {
	o := &journalOptions{IO: &d.IO, Project: d.Project}
	cmd := &cobra.Command{
		Use:     "add TITLE [TEXT]",
		Short:   "Add an entry to today's journal",
		Long:    "Add an entry to today's journal: a decision and why, a discovery, a milestone. With -\nthe text is read from standard input.",
		Example: "  cmux journal add 'Login uses JWT' 'RS256, so that other services can check it.' --tag auth",
		Args:    cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Entry.Title, o.Entry.Text = args[0], strings.Join(args[1:], "")
			return cli.Either(runF, runJournalAdd)(cmd.Context(), o)
		},
	}
	cmd.Flags().StringSliceVar(&o.Entry.Tags, "tag", nil, "words to find it by")
	return cmd
}

func runJournalAdd(ctx context.Context, o *journalOptions) error {
	p, err := o.Project(ctx)
	if err != nil {
		return err
	}
	if o.Entry.Text == "-" {
		b, err := io.ReadAll(io.LimitReader(o.In, 2*journal.MaxText))
		if err != nil {
			return err
		}
		o.Entry.Text = string(b)
	}
	day, err := p.Records().AddEntry(ctx, o.Entry)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(o.Out, "Added to the journal of %s.\n", day)
	return err
}

func newJournalShowCmd(d *cli.Deps, runF func(context.Context, *journalOptions) error) *cobra.Command {
	o := &journalOptions{IO: &d.IO, Project: d.Project}
	cmd := &cobra.Command{
		Use:   "show [DAY]",
		Short: "Show the journal of a day (default: today)",
		Long: `Show the journal of a day, written YYYY-MM-DD (default: today). With --json the shape is
  {"day", "entries": [{"at", "title", "by", "tags", "text"}], "reflection", "artifacts",
   "attachments"}
where reflection is text, and artifacts and attachments are names of files.`,
		Example: "  cmux journal show 2026-03-01",
		Args:    cobra.MaximumNArgs(1),
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if p, err := d.Project(cmd.Context()); err == nil && len(args) == 0 {
				days, _ := p.Records().JournalDays() // where there are none there is nothing to complete
				return days, cobra.ShellCompDirectiveNoFileComp
			}
			return nil, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Day = cli.First(args)
			return cli.Either(runF, runJournalShow)(cmd.Context(), o)
		},
	}
	cli.JSONFlag(cmd, &o.JSON)
	return cmd
}

func runJournalShow(ctx context.Context, o *journalOptions) error {
	p, err := o.Project(ctx)
	if err != nil {
		return err
	}
	page, err := p.Records().JournalDay(o.Day)
	if err != nil {
		return err
	}
	if warning := p.Records().MemoryWarning(); warning != "" {
		fmt.Fprintf(o.Err, "cmux: %s\n", warning)
	}
	if o.JSON {
		return cli.PrintJSON(o.Out, page)
	}
	if page.Text == "" {
		_, err = fmt.Fprintf(o.Out, "Nothing in the journal of %s.\n", page.Day)
	} else {
		_, err = io.WriteString(o.Out, strings.TrimRight(page.Text, "\n")+"\n")
	}
	for _, name := range page.Artifacts {
		fmt.Fprintf(o.Out, "artifact: .cmux/journal/%s/artifacts/%s\n", page.Day, say.Line(name))
	}
	return err
}

func newJournalSearchCmd(d *cli.Deps, runF func(context.Context, *journalOptions) error) *cobra.Command {
	o := &journalOptions{IO: &d.IO, Project: d.Project}
	cmd := &cobra.Command{
		Use:   "search WORDS",
		Short: "Find lines of the journal and of MEMORY.md",
		Long: `Find the lines of the journal, its artifacts and attachments, and MEMORY.md that have
all of the words, each as the beginning of one, in either case, the newest day first.
Where a server keeps an index, only the files that it names are read. With --json the
shape is
  {"hits": [{"path", "day", "line", "text"}], "more", "skipped"}
where more says that there are further hits, and skipped are files that are too large
or no text.`,
		Example: "  cmux journal search jwt --since 2026-03-01",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Query.Words = strings.Join(args, " ")
			return cli.Either(runF, runJournalSearch)(cmd.Context(), o)
		},
	}
	cmd.Flags().StringVar(&o.Query.Since, "since", "", "from this `DAY` on")
	cmd.Flags().IntVar(&o.Query.Most, "most", 200, "at most so many lines")
	cli.JSONFlag(cmd, &o.JSON)
	return cmd
}

func runJournalSearch(ctx context.Context, o *journalOptions) error {
	_, found, done, err := cli.Asked(ctx, o.IO, o.Project, o.JSON, func(p *control.Project) (*journal.Found, error) {
		q := o.Query
		q.Without, _ = store.Without(ctx, p.Root, q.Words) // else all files are read
		return p.Records().SearchJournal(ctx, q)
	})
	if done {
		return err
	}
	for _, h := range found.Hits {
		fmt.Fprintf(o.Out, "%s:%d: %s\n", say.Line(h.Path), h.Line, say.Line(h.Text))
	}
	if len(found.Hits) == 0 {
		_, err = fmt.Fprintln(o.Out, "Nothing found.")
	}
	if found.More {
		fmt.Fprintln(o.Err, "There is more: --most N lists more lines")
	}
	return err
}

func newJournalNoteCmd(d *cli.Deps, runF func(context.Context, *journalOptions) error) *cobra.Command {
	o := &journalOptions{IO: &d.IO, Project: d.Project, Section: journal.HandOff}
	return &cobra.Command{
		Use:     "note TEXT",
		Short:   "Leave a note for the next supervisor",
		Long:    "Leave a hand-off note in today's reflection.md, which the next supervisor is shown.",
		Example: "  cmux journal note 'api is half done: see t3'",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Text = strings.Join(args, " ")
			return cli.Either(runF, runJournalReflect)(cmd.Context(), o)
		},
	}
}

func newJournalReflectionCmd(d *cli.Deps, runF func(context.Context, *journalOptions) error) *cobra.Command {
	o := &journalOptions{IO: &d.IO, Project: d.Project}
	cmd := &cobra.Command{
		Use:   "reflection [TEXT]",
		Short: "Show what is to be thought about, or add to it",
		Long: `Show the newest reflection.md, or add TEXT to a section of today's: investigate,
mistakes, ideas, research or hand-off. With --json, and no TEXT, the shape is
  {"day", "text", "hand_off_day", "hand_off"}`,
		Example: "  cmux journal reflection\n  cmux journal reflection --section mistakes 'merged without the checks'",
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.Text = strings.Join(args, " "); o.Text != "" {
				return cli.Either(runF, runJournalReflect)(cmd.Context(), o)
			}
			return cli.Either(runF, runJournalReflection)(cmd.Context(), o)
		},
	}
	cmd.Flags().StringVar(&o.Section, "section", "ideas", "section that TEXT is added to")
	cmd.RegisterFlagCompletionFunc("section", func(*cobra.Command, []string, string) (names []string, _ cobra.ShellCompDirective) {
		for _, s := range journal.Sections() {
			names = append(names, s.Name+"\t"+s.Title)
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	})
	cli.JSONFlag(cmd, &o.JSON)
	return cmd
}

func runJournalReflect(ctx context.Context, o *journalOptions) error {
	p, err := o.Project(ctx)
	if err != nil {
		return err
	}
	day, err := p.Records().Reflect(ctx, o.Section, o.Text)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(o.Out, "Noted in .cmux/journal/%s/reflection.md.\n", day)
	return err
}

func runJournalReflection(ctx context.Context, o *journalOptions) error {
	_, r, done, err := cli.Asked(ctx, o.IO, o.Project, o.JSON, func(p *control.Project) (records.Reflection, error) { return p.Records().Reflection() })
	if done {
		return err
	}
	if r.Text == "" {
		_, err = fmt.Fprintln(o.Out, "There is no reflection.md yet.")
		return err
	}
	_, err = io.WriteString(o.Out, strings.TrimRight(r.Text, "\n")+"\n")
	return err
}
