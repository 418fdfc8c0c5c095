// Package schedule has the commands of tasks and messages that are due at a time.
package schedule

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"cmux/agents/control/project"

	"github.com/spf13/cobra"

	"cmux/agents/control"
	"cmux/agents/control/schedules"
	entries "cmux/agents/org/schedule"
	"cmux/agents/org/task"
	"cmux/agents/platform/say"
	"cmux/cmd/cmux/cli"
)

const scheduleShape = `  {"id", "by", "added_at", "at", "every", "cron", "zone", "title", "body", "task", "to",
   "priority", "verify", "scope", "last": {"due", "at", "missed", "made", "failed", "extra"},
   "count", "over", "next"}
where one of at, every and cron is there, last and next may be null, made is the id of the
task or message, and failed says why there is none.`

// NewCmd builds cmux schedule and its commands.
func NewCmd(d *cli.Deps) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "schedule",
		GroupID: "main",
		Short:   "Reminders and recurring tasks",
		Long: `Reminders and recurring tasks, in .cmux/schedule.jsonl. They fire while the organization
runs. An entry that was missed meanwhile fires once, afterwards, and says so.`,
		Example: "  cmux schedule list",
	}
	cmd.AddCommand(newScheduleAddCmd(d, nil), newScheduleListCmd(d, nil), newScheduleShowCmd(d, nil),
		newScheduleOrderCmd(d, "remove", "Remove an entry of the schedule", func(ctx context.Context, p *control.Project, id string) (string, error) {
			return "removed", p.Schedules().Remove(ctx, id)
		}),
		newScheduleOrderCmd(d, "run", "Fire an entry of the schedule now, out of turn", func(ctx context.Context, p *control.Project, id string) (string, error) {
			f, err := p.Schedules().Run(ctx, id)
			return firedAs(&f), err
		}))
	return cmd
}

// firedAs says what an entry made when it fired, or why it made nothing.
func firedAs(f *entries.Fired) string {
	switch {
	case f.Failed != "":
		return "nothing made: " + f.Failed
	case strings.HasPrefix(f.Made, "t"):
		return "made the task " + f.Made
	}
	return "sent the message " + f.Made
}

type scheduleAddOptions struct {
	*cli.IO
	Project cli.ProjectFunc
	entries.Entry
	At, Due  string
	In       time.Duration
	Pressing string
	JSON     bool
}

func newScheduleAddCmd(d *cli.Deps, runF func(context.Context, *scheduleAddOptions) error) *cobra.Command {
	o := &scheduleAddOptions{IO: &d.IO, Project: d.Project}
	cmd := &cobra.Command{
		Use:   "add TEXT [BODY]",
		Short: "Add a reminder or a recurring task",
		Long: `Add an entry to the schedule: a message to you, or with --to to somebody else; with
--task a task, which --to gives to an agent. While a task that an entry made is not over,
the entry makes no second one.

When it is due one of these says:
  --at     once, at 15:04 (the next one), 2006-01-02 15:04, or an RFC 3339 time
  --in     once, after a while, such as 2h
  --every  again and again, from now on, such as 90m
  --cron   minute, hour, day of the month, month and day of the week, as in crontab, or
           @hourly, @daily, @weekly, @monthly, @yearly

The hours of --cron are those of --zone, by default the machine's. Where the clock leaves
an hour out in spring, what is due in it comes after it; what is due in the hour that
comes twice in autumn comes once. With --json the shape is
` + scheduleShape,
		Example: "  cmux schedule add 'look at the build' --in 2h\n  cmux schedule add 'Update the dependencies' --task --to perm-backend --cron '0 9 * * mon'",
		Args:    cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.Title = args[0]; len(args) > 1 {
				o.Body = args[1]
			}
			if cmd.Flags().Changed("in") && o.In <= 0 {
				return project.Usage("", "--in %s: want a time from now, such as 2h", o.In)
			}
			return cli.Either(runF, runScheduleAdd)(cmd.Context(), o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.At, "at", "", "`TIME` at which it is due, once")
	f.DurationVar(&o.In, "in", 0, "`DURATION` after which it is due, once")
	f.StringVar(&o.Every, "every", "", "`DURATION` from one time to the next")
	f.StringVar(&o.Cron, "cron", "", "`LINE` that says when it is due, as in crontab")
	f.StringVar(&o.Zone, "zone", "", "time zone of --cron, such as Europe/Berlin")
	f.StringVar(&o.To, "to", "", "`ADDRESS` of the message (default: you), or agent that gets the task")
	f.BoolVar(&o.Task, "task", false, "make a task, not a message")
	f.StringVar(&o.Pressing, "priority", "", "of the task: critical, high, normal or low")
	f.StringArrayVar(&o.Verify, "verify", nil, "a command that checks the task's work; may be given several times")
	f.StringSliceVar(&o.Scope, "scope", nil, "files that the task's work may change (globs)")
	cmd.MarkFlagsMutuallyExclusive("at", "in", "every", "cron")
	cmd.MarkFlagsOneRequired("at", "in", "every", "cron")
	cli.JSONFlag(cmd, &o.JSON)
	return cmd
}

func runScheduleAdd(ctx context.Context, o *scheduleAddOptions) error {
	p, err := o.Project(ctx)
	if err != nil {
		return err
	}
	if o.Body == "-" {
		b, err := io.ReadAll(io.LimitReader(o.IO.In, entries.MaxBody+1))
		if err != nil {
			return err
		}
		o.Body = string(b)
	}
	o.Entry.Priority = task.Priority(o.Pressing)
	switch {
	case o.At != "":
		if o.Entry.When.At, err = clock(o.At, p.Now()); err != nil {
			return err
		}
	case o.In > 0:
		o.Entry.When.At = p.Now().Add(o.In + time.Second - 1).Truncate(time.Second) // never earlier than asked
	}
	s, err := p.Schedules().Add(ctx, o.Entry)
	if err != nil {
		return err
	}
	if o.JSON {
		return cli.PrintJSON(o.Out, s)
	}
	if _, err := fmt.Fprintf(o.Out, "%s: due %s  %s\n", s.ID, moment(s.Next), say.Line(s.Title)); err != nil {
		return err
	}
	return unserved(o.IO, p)
}

// unserved warns that entries do not fire while the server is down.
func unserved(o *cli.IO, p *control.Project) error {
	if p.Serving().Server().Up {
		return nil
	}
	_, err := fmt.Fprintln(o.Err, "No entry fires now: the project's server does not run. To start it: cmux start")
	return err
}

// clock is the time that a person names.
func clock(text string, now time.Time) (time.Time, error) {
	now = now.Local()
	if t, err := time.ParseInLocation("15:04", text, time.Local); err == nil {
		t = time.Date(now.Year(), now.Month(), now.Day(), t.Hour(), t.Minute(), 0, 0, time.Local)
		if !t.After(now) {
			t = time.Date(now.Year(), now.Month(), now.Day()+1, t.Hour(), t.Minute(), 0, 0, time.Local)
		}
		return t, nil
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02 15:04", "2006-01-02 15:04:05", "2006-01-02T15:04"} {
		if t, err := time.ParseInLocation(layout, text, time.Local); err == nil {
			return t, nil
		}
	}
	return time.Time{}, project.Usage("", "%q is no time: want 15:04, 2006-01-02 15:04, or an RFC 3339 time", text)
}

// moment is a time as it is shown; nil: never.
func moment(t *time.Time) string {
	if t == nil {
		return "-"
	}
	return t.Local().Format("2006-01-02 15:04")
}

type scheduleOptions struct {
	*cli.IO
	Project cli.ProjectFunc
	ID      string
	JSON    bool
}

func newScheduleListCmd(d *cli.Deps, runF func(context.Context, *scheduleOptions) error) *cobra.Command {
	o := &scheduleOptions{IO: &d.IO, Project: d.Project}
	cmd := &cobra.Command{
		Use: "list", Short: "List the schedule", Long: "List the schedule, oldest first. With --json it is a list of\n" + scheduleShape, Example: "  cmux schedule list", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cli.Either(runF, runScheduleList)(cmd.Context(), o) },
	}
	cli.JSONFlag(cmd, &o.JSON)
	return cmd
}

func runScheduleList(ctx context.Context, o *scheduleOptions) error {
	p, all, done, err := cli.Asked(ctx, o.IO, o.Project, o.JSON, func(p *control.Project) ([]schedules.Scheduled, error) { return p.Schedules().List() })
	if done {
		return err
	}
	if len(all) == 0 {
		_, err := fmt.Fprintln(o.Out, "The schedule is empty.")
		return err
	}
	rows := make([][]string, len(all))
	for i, s := range all {
		last := "-"
		if s.Last != nil {
			last = moment(&s.Last.At)
		}
		rows[i] = []string{s.ID, moment(s.Next), last, whenever(&s.When), cli.OrDash(s.To), say.Line(s.Title)}
	}
	columns := []cli.Column{{Head: "ID"}, {Head: "NEXT"}, {Head: "LAST", Give: 3, Least: 10}, {Head: "WHEN", Give: 2, Least: 8}, {Head: "FOR", Give: 2, Least: 6}, {Head: "WHAT", Give: 1, Least: 12}}
	if _, err = fmt.Fprint(o.Out, cli.Table(columns, rows, o.Width(), o.Color())); err != nil {
		return err
	}
	return unserved(o.IO, p)
}

// whenever says when an entry is due.
func whenever(w *entries.When) string {
	switch {
	case w.Every != "":
		return "every " + w.Every
	case w.Cron != "":
		return strings.TrimSpace(say.Line(w.Cron) + " " + w.Zone)
	}
	return "once"
}

func newScheduleShowCmd(d *cli.Deps, runF func(context.Context, *scheduleOptions) error) *cobra.Command {
	o := &scheduleOptions{IO: &d.IO, Project: d.Project}
	cmd := &cobra.Command{
		Use: "show ID", Short: "Show an entry of the schedule", Long: "Show an entry of the schedule. With --json the shape is\n" + scheduleShape, Example: "  cmux schedule show s1",
		Args: cobra.ExactArgs(1), ValidArgsFunction: completeSchedule(d),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.ID = args[0]
			return cli.Either(runF, runScheduleShow)(cmd.Context(), o)
		},
	}
	cli.JSONFlag(cmd, &o.JSON)
	return cmd
}

func runScheduleShow(ctx context.Context, o *scheduleOptions) error {
	_, s, done, err := cli.Asked(ctx, o.IO, o.Project, o.JSON, func(p *control.Project) (schedules.Scheduled, error) { return p.Schedules().Entry(o.ID) })
	if done {
		return err
	}
	line := func(name, value string) {
		if value != "" {
			fmt.Fprintf(o.Out, "%-10s %s\n", name, say.Line(value))
		}
	}
	what := "message"
	if s.Task {
		what = "task"
	}
	line("Entry", s.ID+"  "+s.Title)
	line("Makes", what)
	line("For", s.To)
	line("Due", whenever(&s.When))
	line("Next", moment(s.Next))
	line("Priority", string(s.Priority))
	line("Verify", strings.Join(s.Verify, "; "))
	line("Scope", strings.Join(s.Scope, ", "))
	line("Added", moment(&s.Added)+" by "+s.By)
	if s.Last != nil {
		line("Last", fmt.Sprintf("%s: %s", moment(&s.Last.At), firedAs(s.Last)))
		line("So far", say.Count(s.Count, "time"))
	}
	if s.Body != "" {
		_, err = fmt.Fprintf(o.Out, "\n%s\n", strings.TrimRight(say.Lines(s.Body), "\n"))
	}
	return err
}

// newScheduleOrderCmd is a command that gives an order about one entry.
func newScheduleOrderCmd(d *cli.Deps, verb, short string, order func(context.Context, *control.Project, string) (string, error)) *cobra.Command {
	return &cobra.Command{
		Use: verb + " ID", Short: short, Example: "  cmux schedule " + verb + " s1", Args: cobra.ExactArgs(1), ValidArgsFunction: completeSchedule(d),
		RunE: func(cmd *cobra.Command, args []string) error {
			p, err := d.Project(cmd.Context())
			if err != nil {
				return err
			}
			said, err := order(cmd.Context(), p, args[0])
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(d.Out, "%s: %s\n", args[0], said)
			return err
		},
	}
}

// completeSchedule completes the id of an entry.
func completeSchedule(d *cli.Deps) cobra.CompletionFunc {
	return d.Completing(func(_ context.Context, p *control.Project) (ids []string, err error) {
		all, err := p.Schedules().List()
		for _, s := range all {
			ids = append(ids, s.ID+"\t"+s.Title)
		}
		return ids, err
	})
}
