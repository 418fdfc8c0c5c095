// Package incidents has the commands that show what went wrong while the person was
// away, alert the person, and say what cmux may do about it by itself: incidents,
// report, alert, recover, autonomy and upkeep.
package incidents

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"cmux/agents/control"
	"cmux/agents/control/records"
	"cmux/agents/platform/say"
	"cmux/agents/records/incident"
	"cmux/cmd/cmux/cli"
)

const incidentShape = `  {"id", "kind", "about", "key", "title", "state", "seen", "evidence": [{"at", "text"}],
   "deeds": [{"at", "what", "result"}], "cost": {"tokens", "seconds"},
   "advice": {"text", "command"}, "opened_at", "opened_by", "changed_at",
   "closed_at", "closed_by", "outcome", "acked_at", "acked_by", "ack"}
where state is open or closed, seen counts the evidence, of which the first and the newest
is listed, and advice, closed_at and acked_at may be null.`

// Cmds are the commands of this package.
func Cmds(d *cli.Deps) []*cobra.Command {
	return []*cobra.Command{newIncidentsCmd(d), newAutonomyCmd(d, nil), newRecoverCmd(d, nil), newReportCmd(d, nil), newUpkeepCmd(d, nil), newAlertCmd(d, nil)}
}

func newIncidentsCmd(d *cli.Deps) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "incidents",
		GroupID: "main",
		Short:   "What broke, what cmux did about it, and what you can do",
		Example: "  cmux incidents list",
	}
	cmd.AddCommand(newIncidentListCmd(d, nil), newIncidentShowCmd(d, nil), newIncidentAckCmd(d, nil))
	return cmd
}

type incidentListOptions struct {
	*cli.IO
	Project cli.ProjectFunc
	records.IncidentQuery
	JSON bool
}

func newIncidentListCmd(d *cli.Deps, runF func(context.Context, *incidentListOptions) error) *cobra.Command {
	o := &incidentListOptions{IO: &d.IO, Project: d.Project}
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List incidents, oldest first",
		Long: "List the incidents that are open, and those that were closed in the last day, oldest first.\nWith --json the shape is\n" +
			`  {"incidents", "older", "skipped": [{"at", "why", "text"}], "gaps"}` + "\nwhere older counts those that are not listed, skipped are lines of the file that do not\ncount, gaps are incidents of which a line is missing, and an incident is\n" + incidentShape,
		Example: "  cmux incidents list --json",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cli.Either(runF, runIncidentList)(cmd.Context(), o) },
	}
	cmd.Flags().BoolVar(&o.All, "all", false, "list those too that were closed longer ago")
	cmd.Flags().StringVar(&o.About, "about", "", "only those about this agent, or about server or health, by `NAME`")
	cli.JSONFlag(cmd, &o.JSON)
	return cmd
}

func runIncidentList(ctx context.Context, o *incidentListOptions) error {
	p, err := o.Project(ctx)
	if err != nil {
		return err
	}
	all, err := p.Records().Incidents(o.IncidentQuery)
	if err != nil {
		return err
	}
	for i := range all.Skipped {
		fmt.Fprintf(o.Err, "cmux: skipped a line of %s\n", say.Line(all.Skipped[i].String()))
	}
	for _, id := range all.Gaps {
		fmt.Fprintf(o.Err, "cmux: a line about %s is missing in %s\n", id, incident.Name)
	}
	if o.JSON {
		return cli.PrintJSON(o.Out, all)
	}
	if len(all.Incidents) == 0 {
		none := "No incidents."
		if all.Older > 0 {
			none = fmt.Sprintf("No open incidents; %d older: --all lists them.", all.Older)
		}
		_, err := fmt.Fprintln(o.Out, none)
		return err
	}
	rows := make([][]string, len(all.Incidents))
	for n, i := range all.Incidents {
		rows[n] = []string{i.ID, i.Label(), say.Line(i.About), say.Span(p.Now().Sub(i.OpenedAt)), say.Line(i.Title)}
	}
	columns := []cli.Column{{Head: "ID"}, {Head: "STATE", Give: 3, Least: 6}, {Head: "ABOUT", Give: 2, Least: 6}, {Head: "OPENED", Give: 4, Least: 6}, {Head: "TITLE", Give: 1, Least: 12}}
	_, err = fmt.Fprint(o.Out, cli.Table(columns, rows, o.Width(), o.Color()))
	return err
}

type incidentOptions struct {
	*cli.IO
	Project    cli.ProjectFunc
	ID, Text   string
	Over, JSON bool
}

func newIncidentShowCmd(d *cli.Deps, runF func(context.Context, *incidentOptions) error) *cobra.Command {
	o := &incidentOptions{IO: &d.IO, Project: d.Project}
	cmd := &cobra.Command{
		Use: "show ID", Short: "Show what was seen, what was done and what you can do", Args: cobra.ExactArgs(1), ValidArgsFunction: completeIncident(d),
		Long:    "Show an incident: what was seen and when, what cmux did about it, what it cost, and what\nyou can do. With --json the shape is\n" + incidentShape,
		Example: "  cmux incidents show i1",
		RunE: func(cmd *cobra.Command, args []string) error {
			o.ID = args[0]
			return cli.Either(runF, runIncidentShow)(cmd.Context(), o)
		},
	}
	cli.JSONFlag(cmd, &o.JSON)
	return cmd
}

func runIncidentShow(ctx context.Context, o *incidentOptions) error {
	_, i, done, err := cli.Asked(ctx, o.IO, o.Project, o.JSON, func(p *control.Project) (*incident.Incident, error) { return p.Records().Incident(o.ID) })
	if done {
		return err
	}
	_, err = fmt.Fprint(o.Out, renderIncident(i))
	return err
}

// renderIncident is all about one incident. It is pure.
func renderIncident(i *incident.Incident) string {
	var b strings.Builder
	clock := func(at time.Time) string { return at.Local().Format("2006-01-02 15:04:05") }
	row := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, "%-10s %s\n", name, say.Line(value))
		}
	}
	by := func(at *time.Time, who, what string) string {
		if at == nil {
			return ""
		}
		return strings.TrimSuffix(clock(*at)+" by "+who+": "+what, ": ")
	}
	row("Incident", i.ID+"  "+i.Title)
	row("State", i.Label())
	row("About", i.About)
	row("Opened", by(&i.OpenedAt, i.OpenedBy, ""))
	row("Closed", by(i.ClosedAt, i.ClosedBy, i.Outcome))
	row("Acked", by(i.AckedAt, i.AckedBy, i.Ack))
	var cost []string
	if i.Cost.Tokens > 0 {
		cost = append(cost, say.Short(i.Cost.Tokens)+" tokens")
	}
	if i.Cost.Seconds > 0 {
		cost = append(cost, say.Span(time.Duration(i.Cost.Seconds*float64(time.Second))))
	}
	row("Cost", strings.Join(cost, ", "))
	if len(i.Evidence) > 0 {
		fmt.Fprintf(&b, "\nSeen (%d):\n", i.Seen)
	}
	for _, e := range i.Evidence {
		fmt.Fprintf(&b, "  %s  %s\n", clock(e.At), indented(e.Text))
	}
	if len(i.Deeds) > 0 {
		b.WriteString("\nDone:\n")
	}
	for _, d := range i.Deeds {
		text := d.What
		if d.Result != "" {
			text += ": " + d.Result
		}
		fmt.Fprintf(&b, "  %s  %s\n", clock(d.At), indented(text))
	}
	if i.Advice != nil {
		fmt.Fprintf(&b, "\nWhat you can do: %s\n", indented(i.Advice.Text))
		if i.Advice.Command != "" {
			fmt.Fprintf(&b, "  %s\n", say.Line(i.Advice.Command))
		}
	}
	return b.String()
}

// indented is text whose further lines stand below its first.
func indented(text string) string {
	return strings.ReplaceAll(strings.TrimRight(say.Lines(text), "\n"), "\n", "\n                       ")
}

func newIncidentAckCmd(d *cli.Deps, runF func(context.Context, *incidentOptions) error) *cobra.Command {
	o := &incidentOptions{IO: &d.IO, Project: d.Project}
	cmd := &cobra.Command{
		Use: "ack ID [NOTE]", Short: "Say that you know of an incident", Args: cobra.MinimumNArgs(1), ValidArgsFunction: completeIncident(d),
		Long: `Say that you know of an incident, with a note if you like. status and doctor then no longer
name it. It stays open until its cause is gone, and what is seen meanwhile is added to it;
--close closes it now. The --json shape is that of cmux incidents show.`,
		Example: "  cmux incidents ack i1 'the disk is being replaced'",
		RunE: func(cmd *cobra.Command, args []string) error {
			o.ID, o.Text = args[0], strings.Join(args[1:], " ")
			return cli.Either(runF, runIncidentAck)(cmd.Context(), o)
		},
	}
	cmd.Flags().BoolVar(&o.Over, "close", false, "close it as well")
	cli.JSONFlag(cmd, &o.JSON)
	return cmd
}

func runIncidentAck(ctx context.Context, o *incidentOptions) error {
	_, i, done, err := cli.Asked(ctx, o.IO, o.Project, o.JSON, func(p *control.Project) (*incident.Incident, error) {
		return p.Records().AckIncident(ctx, o.ID, o.Text, o.Over)
	})
	if done {
		return err
	}
	_, err = fmt.Fprintf(o.Out, "%s: %s  %s\n", i.ID, i.Label(), say.Line(i.Title))
	return err
}

// completeIncident completes the id of an incident.
func completeIncident(d *cli.Deps) cobra.CompletionFunc {
	return d.Completing(func(_ context.Context, p *control.Project) ([]string, error) { return p.Records().IncidentIDs() })
}
