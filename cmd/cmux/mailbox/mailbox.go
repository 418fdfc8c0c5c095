// Package mailbox has the commands that send, read and list messages, and that
// retry those which were not delivered.
package mailbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"cmux/agents/control"
	"cmux/agents/control/letters"
	"cmux/agents/platform/say"
	"cmux/agents/runs/wrapper"
	"cmux/cmd/cmux/cli"
	"cmux/signals/mailbox"
)

// NewCmd builds cmux mailbox and its commands.
func NewCmd(d *cli.Deps) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "mailbox",
		GroupID: "main",
		Short:   "Messages between agents and people",
		Long: `Send and read messages. They stand in .cmux/mailbox, a line of JSON each. An address
is supervisor, NAME, SESSION:NAME, node:NAME (a node of the run), user (the person)
or all.`,
		Example: "  cmux mailbox inbox",
	}
	cmd.AddCommand(newMailSendCmd(d, nil), newMailReportCmd(d, "done"), newMailReportCmd(d, "blocked"), newMailStatusCmd(d, nil),
		newMailInboxCmd(d, nil), newMailListCmd(d, nil), newMailReadCmd(d, nil), newMailTailCmd(d, nil), newMailRetryCmd(d, nil))
	return cmd
}

type mailSendOptions struct {
	*cli.IO
	Project cli.ProjectFunc
	Letter  letters.Letter
	JSON    bool
}

func newMailSendCmd(d *cli.Deps, runF func(context.Context, *mailSendOptions) error) *cobra.Command {
	o := &mailSendOptions{IO: &d.IO, Project: d.Project}
	cmd := &cobra.Command{
		Use:   "send TO SUBJECT [BODY]",
		Short: "Send a message",
		Long: `Send a message. Without BODY it has none; with - it is read from standard input. A
subject may begin with what it is about: [TASK], [STATUS], [QUESTION],
[REVIEW-REQUEST] or [SYS]. An agent at work gets it at the end of its turn; with
--urgent beside its next tool call; with --interrupt its turn is broken off first. Where
its program cannot do that, the answer says so. A file given with --attach is copied into
the journal, and the body says where it is.
With --json the shape is {"id", "from", "to", "verified", "note"}.`,
		Example: "  cmux mailbox send supervisor '[TASK] fix the login' 'It fails with an empty password.'\n  git diff | cmux mailbox send user 'look at this' -\n  cmux mailbox send user 'this is what I run' 'Is the order right?' --attach .cmux-agents.yml",
		Args:    cobra.RangeArgs(2, 3),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Letter.To, o.Letter.Subject = args[0], args[1]
			if len(args) == 3 {
				o.Letter.Body = args[2]
			}
			return cli.Either(runF, runMailSend)(cmd.Context(), o)
		},
	}
	urgent, interrupt := false, false
	cmd.Flags().BoolVar(&urgent, "urgent", false, "do not wait for the end of the turn")
	cmd.Flags().BoolVar(&interrupt, "interrupt", false, "break the turn off first")
	cmd.MarkFlagsMutuallyExclusive("urgent", "interrupt")
	cmd.PreRun = func(*cobra.Command, []string) {
		switch {
		case urgent:
			o.Letter.Urgency = mailbox.Urgent
		case interrupt:
			o.Letter.Urgency = mailbox.Interrupt
		}
	}
	cmd.Flags().StringArrayVar(&o.Letter.Attach, "attach", nil, "`FILE` to attach; may be given several times")
	cmd.Flags().StringVar(&o.Letter.Re, "re", "", "`ID` of the message that it answers")
	cli.JSONFlag(cmd, &o.JSON)
	return cmd
}

func runMailSend(ctx context.Context, o *mailSendOptions) error {
	p, err := o.Project(ctx)
	if err != nil {
		return err
	}
	if o.Letter.Body == "-" {
		b, err := io.ReadAll(io.LimitReader(o.In, 2<<20)) // more than a message may have
		if err != nil {
			return err
		}
		o.Letter.Body = string(b)
	}
	sent, err := p.Letters().Send(ctx, o.Letter)
	if err != nil {
		return err
	}
	if o.JSON {
		return cli.PrintJSON(o.Out, sent)
	}
	if sent.Note != "" {
		fmt.Fprintf(o.Err, "cmux: %s\n", sent.Note)
	}
	_, err = fmt.Fprintf(o.Out, "Sent %s to %s.\n", sent.ID, sent.To)
	return err
}

// newMailReportCmd is cmux done or cmux blocked by another name.
func newMailReportCmd(d *cli.Deps, word string) *cobra.Command {
	report, what := wrapper.Done, "SUMMARY"
	short := "Report that the task is finished: the same as cmux done (for agents)"
	if word == "blocked" {
		report, what, short = wrapper.Blocked, "REASON", "Report that the task cannot be finished: the same as cmux blocked (for agents)"
	}
	return &cobra.Command{
		Use:     word + " " + what,
		Short:   short,
		Example: "  cmux mailbox " + word + " 'the login form and its tests'",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return cli.Outside(report(cmd.Context(), d.IO.Getenv, strings.Join(args, " ")))
		},
	}
}

type mailStatusOptions struct {
	*cli.IO
	Project cli.ProjectFunc
	Text    string
	JSON    bool
}

func newMailStatusCmd(d *cli.Deps, runF func(context.Context, *mailStatusOptions) error) *cobra.Command {
	o := &mailStatusOptions{IO: &d.IO, Project: d.Project}
	cmd := &cobra.Command{
		Use:   "status TEXT",
		Short: "Say what you are doing (for agents)",
		Long: `Say what you are doing. cmux status, cmux workers list and the dashboard show it beside
your name until your task is over; nobody is disturbed by it. From a node of a run it
goes to the supervisor as a message with the subject [STATUS] TEXT.
The --json shape is that of cmux mailbox send.`,
		Example: "  cmux mailbox status 'half of the tests pass'",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Text = strings.Join(args, " ")
			return cli.Either(runF, runMailStatus)(cmd.Context(), o)
		},
	}
	cli.JSONFlag(cmd, &o.JSON)
	return cmd
}

func runMailStatus(ctx context.Context, o *mailStatusOptions) error {
	p, err := o.Project(ctx)
	if err != nil {
		return err
	}
	sent, err := p.Letters().SayDoing(ctx, o.Text)
	if err != nil {
		return err
	}
	switch {
	case o.JSON:
		return cli.PrintJSON(o.Out, sent)
	case sent.To == "":
		_, err = fmt.Fprintln(o.Out, "Noted.")
	default:
		_, err = fmt.Fprintf(o.Out, "Sent %s to %s.\n", sent.ID, sent.To)
	}
	return err
}

// mailShape is what the messages of a list look like with --json.
const mailShape = `  {"messages": [{"id", "ts", "from", "to", "subject", "body", "file", "verified",
    "urgency", "re", "task", "deliveries": [{"to", "state", "why", "at"}]}],
   "skipped": [{"file", "at", "why", "text"}], "more"}
where a long body stands in file, state is queued, handed, confirmed, failed or
expired, skipped are lines that are no messages, and more counts older messages.`

type mailListOptions struct {
	*cli.IO
	Project cli.ProjectFunc
	letters.MailQuery
	All, JSON bool
}

func newMailInboxCmd(d *cli.Deps, runF func(context.Context, *mailListOptions) error) *cobra.Command {
	o := &mailListOptions{IO: &d.IO, Project: d.Project, MailQuery: letters.MailQuery{Inbox: true}}
	cmd := &cobra.Command{
		Use:     "inbox",
		Short:   "List the messages that are for you and that you have not read",
		Long:    "List the messages that are for you and that you have not read, oldest first: for a\nperson those to user, for an agent its own. With --json the shape is\n" + mailShape,
		Example: "  cmux mailbox inbox",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.Waiting = !o.All
			return cli.Either(runF, runMailList)(cmd.Context(), o)
		},
	}
	cmd.Flags().BoolVar(&o.All, "all", false, "list those that were read too")
	cli.JSONFlag(cmd, &o.JSON)
	return cmd
}

func newMailListCmd(d *cli.Deps, runF func(context.Context, *mailListOptions) error) *cobra.Command {
	o := &mailListOptions{IO: &d.IO, Project: d.Project}
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List messages and their deliveries",
		Long:    "List messages, oldest first. Each has its delivery state, and if it was not delivered\nyet, what it waits for. With --json the shape is\n" + mailShape,
		Example: "  cmux mailbox list --waiting\n  cmux mailbox list --to supervisor --last 10",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cli.Either(runF, runMailList)(cmd.Context(), o) },
	}
	cmd.Flags().StringVar(&o.To, "to", "", "only those for this `ADDRESS`")
	cmd.Flags().StringVar(&o.From, "from", "", "only those of this `ADDRESS`")
	cmd.Flags().BoolVar(&o.Waiting, "waiting", false, "only those that have not reached a recipient")
	cmd.Flags().IntVar(&o.Last, "last", 50, "at most so many, the newest; 0: all")
	cli.JSONFlag(cmd, &o.JSON)
	return cmd
}

func runMailList(ctx context.Context, o *mailListOptions) error {
	p, err := o.Project(ctx)
	if err != nil {
		return err
	}
	all, err := p.Letters().List(ctx, o.MailQuery)
	if err != nil {
		return err
	}
	for i := range all.Skipped {
		fmt.Fprintf(o.Err, "cmux: skipped a line of %s\n", all.Skipped[i].String())
	}
	if o.JSON {
		return cli.PrintJSON(o.Out, all)
	}
	if len(all.Messages) == 0 {
		none := "No messages."
		if o.Inbox && !o.All {
			none = "No unread messages."
		}
		_, err := fmt.Fprintln(o.Out, none)
		return err
	}
	rows := make([][]string, len(all.Messages))
	for i := range all.Messages {
		m := &all.Messages[i]
		rows[i] = []string{m.ID, m.TS.Local().Format("01-02 15:04"), mailFrom(m), m.To, say.Line(m.Subject), mailState(m)}
	}
	columns := []cli.Column{{Head: "MESSAGE"}, {Head: "SENT", Give: 4, Least: 11}, {Head: "FROM", Give: 2, Least: 8}, {Head: "TO", Give: 3, Least: 8}, {Head: "SUBJECT", Give: 1, Least: 12}, {Head: "STATE", Give: 1, Least: 10}}
	if _, err := fmt.Fprint(o.Out, cli.Table(columns, rows, o.Width(), o.Color())); err != nil {
		return err
	}
	if all.More > 0 {
		fmt.Fprintf(o.Err, "%s before these: --last 0 lists all\n", say.Count(all.More, "message"))
	}
	if o.Inbox {
		fmt.Fprintln(o.Err, "read one: cmux mailbox read MESSAGE")
	}
	return nil
}

// mailFrom is who wrote a message, as far as that is known.
func mailFrom(m *letters.Mail) string {
	if !m.Verified {
		return say.Line(m.From) + " (unverified)"
	}
	return say.Line(m.From)
}

// mailState returns the delivery state of a message, in a few words.
func mailState(m *letters.Mail) string {
	var all []string
	for _, d := range m.Deliveries {
		s := string(d.State)
		if !d.State.Final() && d.To == (mailbox.Address{Kind: mailbox.User}).String() {
			s, d.Why = "unread", "" // the person finds it in the inbox, whoever carries the mail
		}
		if len(m.Deliveries) > 1 {
			s = d.To + " " + s
		}
		if d.Why != "" {
			s += ": " + say.Line(d.Why)
		}
		all = append(all, s)
	}
	return strings.Join(all, ", ")
}

type mailOptions struct {
	*cli.IO
	Project cli.ProjectFunc
	ID      string
	Last    int
	Follow  bool
	JSON    bool
}

func newMailReadCmd(d *cli.Deps, runF func(context.Context, *mailOptions) error) *cobra.Command {
	o := &mailOptions{IO: &d.IO, Project: d.Project}
	cmd := &cobra.Command{
		Use:   "read ID",
		Short: "Show a message whole",
		Long: `Show a message whole. The beginning of its id is enough. A message to user that a
person reads leaves their inbox. With --json the shape is that of a message of
cmux mailbox list, with the whole body.`,
		Example:           "  cmux mailbox read 3xk9",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeMail(d, false),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.ID = args[0]
			return cli.Either(runF, runMailRead)(cmd.Context(), o)
		},
	}
	cli.JSONFlag(cmd, &o.JSON)
	return cmd
}

// completeMail completes the id of a message.
func completeMail(d *cli.Deps, failed bool) cobra.CompletionFunc {
	return d.Completing(func(_ context.Context, p *control.Project) ([]string, error) { return p.Letters().IDs(failed) })
}

func runMailRead(ctx context.Context, o *mailOptions) error {
	_, m, done, err := cli.Asked(ctx, o.IO, o.Project, o.JSON, func(p *control.Project) (letters.Mail, error) { return p.Letters().Read(ctx, o.ID) })
	if done {
		return err
	}
	fmt.Fprintf(o.Out, "From:    %s\nTo:      %s\nSent:    %s\nSubject: %s\nState:   %s\n", mailFrom(&m), m.To, m.TS.Local().Format("2006-01-02 15:04:05"), say.Line(m.Subject), mailState(&m))
	if m.Re != "" {
		fmt.Fprintf(o.Out, "Answers: %s\n", say.Line(m.Re))
	}
	if m.Body != "" {
		_, err = fmt.Fprintf(o.Out, "\n%s\n", strings.TrimRight(m.Body, "\n"))
	}
	return err
}

func newMailTailCmd(d *cli.Deps, runF func(context.Context, *mailOptions) error) *cobra.Command {
	o := &mailOptions{IO: &d.IO, Project: d.Project}
	cmd := &cobra.Command{
		Use:     "tail",
		Short:   "Show the last messages, and new ones as they are sent",
		Long:    "Show the last messages, a line each; with -f also new ones as they are sent, until you\npress ^C. With --json each line is a message of cmux mailbox list.",
		Example: "  cmux mailbox tail -n 20",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cli.Either(runF, runMailTail)(cmd.Context(), o) },
	}
	cmd.Flags().IntVarP(&o.Last, "last", "n", 10, "begin with so many")
	cmd.Flags().BoolVarP(&o.Follow, "follow", "f", false, "then show new messages as they arrive")
	cli.JSONFlag(cmd, &o.JSON)
	return cmd
}

func runMailTail(ctx context.Context, o *mailOptions) error {
	p, err := o.Project(ctx)
	if err != nil {
		return err
	}
	show := func(m letters.Mail) error {
		if o.JSON {
			return cli.PrintLine(o.Out, m)
		}
		_, err := fmt.Fprintf(o.Out, "%s %s  %s -> %s  %s\n", m.TS.Local().Format("15:04:05"), m.ID, mailFrom(&m), m.To, say.Line(m.Subject))
		return err
	}
	if o.Follow {
		return p.Letters().Follow(ctx, o.Last, show)
	}
	all, err := p.Letters().List(ctx, letters.MailQuery{Last: max(o.Last, 1)})
	if err != nil {
		return err
	}
	for _, m := range all.Messages {
		err = errors.Join(err, show(m))
	}
	return err
}

func newMailRetryCmd(d *cli.Deps, runF func(context.Context, *mailOptions) error) *cobra.Command {
	o := &mailOptions{IO: &d.IO, Project: d.Project}
	return &cobra.Command{
		Use:               "retry ID",
		Short:             "Retry a message that was not delivered",
		Example:           "  cmux mailbox retry 3xk9",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeMail(d, true),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.ID = args[0]
			return cli.Either(runF, runMailRetry)(cmd.Context(), o)
		},
	}
}

func runMailRetry(ctx context.Context, o *mailOptions) error {
	p, err := o.Project(ctx)
	if err != nil {
		return err
	}
	to, err := p.Letters().Retry(ctx, o.ID)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(o.Out, "Queued again for %s.\n", strings.Join(to, ", "))
	return err
}
