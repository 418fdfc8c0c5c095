package incidents

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"cmux/agents/control/overview"
	"cmux/agents/platform/say"
	"cmux/cmd/cmux/cli"
)

type reportOptions struct {
	*cli.IO
	Project                 cli.ProjectFunc
	Since                   string
	JSON, Markdown, Journal bool
}

func newReportCmd(d *cli.Deps, runF func(context.Context, *reportOptions) error) *cobra.Command {
	o := &reportOptions{IO: &d.IO, Project: d.Project}
	cmd := &cobra.Command{
		Use:     "report",
		GroupID: "main",
		Short:   "Show what happened while you were away",
		Long: `Show what happened in the organization since a given time: the tasks that ended with
their commits, the incidents, what each agent did and used, and what waits for you.
--markdown prints it as a page. --journal writes that page into today's journal and prints
where. With --json the shape is
  {"since", "until", "tasks": [{"id", "title", "label", "agent", "summary", "commits", "tip",
    "merged", "tokens", "ended_at"}], "incidents", "agents": [{"name", "permanent", "state",
    "detail", "tasks", "busy", "tokens", "context", "restarts", "resets", "compactions", "use", "try"}], "tokens", "waiting": [{"what", "try"}]}
An incident has the shape of cmux incidents show, and context that of cmux status --json.
tokens counts what agents used since the given time. busy is the share of the time since
an agent was made in which it ran and had a task. For a permanent worker, use says how well it is
used, and try how to use it better. restarts counts the starts after its program was lost.`,
		Example: "  cmux report --since 8h",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cli.Either(runF, runReport)(cmd.Context(), o) },
	}
	cmd.Flags().StringVar(&o.Since, "since", "8h", "a span before now, or a `TIME` such as 22:00")
	cmd.Flags().BoolVar(&o.Markdown, "markdown", false, "print it as a page of Markdown")
	cmd.Flags().BoolVar(&o.Journal, "journal", false, "write that page into today's journal")
	cli.JSONFlag(cmd, &o.JSON)
	cmd.MarkFlagsMutuallyExclusive("json", "markdown", "journal")
	return cmd
}

func runReport(ctx context.Context, o *reportOptions) error {
	p, err := o.Project(ctx)
	if err != nil {
		return err
	}
	since, err := p.Overview().ReportSince(o.Since)
	if err != nil {
		return err
	}
	r, err := p.Overview().ReportAway(ctx, since)
	if err != nil {
		return err
	}
	switch {
	case o.JSON:
		return cli.PrintJSON(o.Out, r)
	case o.Markdown:
		_, err = fmt.Fprint(o.Out, r.Markdown())
	case o.Journal:
		var path string
		if path, err = p.Overview().JournalReport(r); err == nil {
			_, err = fmt.Fprintln(o.Out, path)
		}
	default:
		_, err = fmt.Fprint(o.Out, renderReport(r, o.Look()))
	}
	return err
}

// renderReport is the report at the terminal. It is pure.
func renderReport(r *overview.Away, as cli.Look) string {
	var b strings.Builder
	clock := "2006-01-02 15:04"
	tasks := "Done: " + say.Count(r.Done(), "task")
	if n := len(r.Tasks); n != r.Done() { // some were cancelled, or failed
		tasks = fmt.Sprintf("Ended: %s, %d done", say.Count(n, "task"), r.Done())
	}
	fmt.Fprintf(&b, "Since %s: %s tokens\n\n%s\n", r.Since.Local().Format(clock), say.Short(r.Tokens), tasks)
	for _, t := range r.Tasks {
		fmt.Fprintf(&b, "  %s  %s  %s, %s, %s\n", t.ID, say.Line(t.Title), say.Count(t.Commits, "commit"), say.Line(t.Label), cli.OrDash(t.Agent))
	}
	fmt.Fprintf(&b, "\nIncidents: %d\n", len(r.Incidents))
	for _, i := range r.Incidents {
		line := fmt.Sprintf("  %s  %s  %s", i.ID, i.Label(), say.Line(i.Title))
		if i.Outcome != "" {
			line += ": " + say.Line(i.Outcome)
		}
		b.WriteString(line + "\n")
	}
	if len(r.Agents) > 0 {
		b.WriteString("\n")
		rows := make([][]string, len(r.Agents))
		for n, a := range r.Agents {
			permanent := "-"
			if a.Permanent {
				permanent = "yes"
			}
			rows[n] = []string{a.Name, permanent, a.State, fmt.Sprint(a.Tasks), fmt.Sprintf("%.0f%%", 100*a.Busy), say.Short(a.Tokens), a.Filled(), fmt.Sprint(a.Restarts)}
		}
		b.WriteString(cli.Table([]cli.Column{{Head: "AGENT"}, {Head: "PERMANENT", Give: 2, Least: 3}, {Head: "STATE"}, {Head: "TASKS"}, {Head: "BUSY"}, {Head: "TOKENS"}, {Head: "CONTEXT"}, {Head: "RESTARTS", Give: 1, Least: 3}}, rows, as.Width, as.Color))
	}
	for _, a := range r.Agents {
		if a.Use == "" {
			continue
		}
		line := fmt.Sprintf("%s is %s; %s, %s", a.Name, say.Line(a.Use), say.Count(a.Resets, "reset"), say.Count(a.Compactions, "compaction"))
		if a.Try != "" {
			line += " (" + a.Try + ")"
		}
		b.WriteString(line + "\n")
	}
	b.WriteString("\nWaits for you:\n")
	for _, w := range r.Waiting {
		fmt.Fprintf(&b, "  %s (%s)\n", say.Line(w.What), say.Line(w.Try))
	}
	if len(r.Waiting) == 0 {
		b.WriteString("  nothing\n")
	}
	return b.String()
}
