package agents

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/spf13/cobra"

	"cmux/agents/control"
	"cmux/agents/control/overview"
	"cmux/agents/control/runs"
	"cmux/agents/control/runview"
	"cmux/agents/platform/say"
	"cmux/agents/runs/run"
	"cmux/cmd/cmux/cli"
	"cmux/dag"
)

type statusOptions struct {
	*cli.IO
	Project              cli.ProjectFunc
	Run                  string
	JSON, Watch, Verbose bool
}

func newStatusCmd(d *cli.Deps, runF func(context.Context, *statusOptions) error) *cobra.Command {
	o := &statusOptions{IO: &d.IO, Project: d.Project}
	cmd := &cobra.Command{
		Use:   "status [RUN]",
		Short: "Show the state of every node of the run",
		Long: `Show the state of every node of a run. status reads only records, markers and locks,
so it needs no runner. RUN is the id of a run from cmux agents list, or any unique
part from its beginning or end. The default is every unfinished
run, or the newest run if all have ended. In a worktree of a run, it is that run.
--session NAME shows the newest run of one session.

Below the nodes, status says what waits for you in the run, and lists what else waits in
the project, unless you give RUN or --session. The list and its words are those of the
dashboard's inbox, without reviews (cmux agents review); each entry has the command that
helps.

TRIES counts the attempts of a node. LAST ACTIVITY is when cmux last recorded
something about it; cmux agents logs NAME shows what its agent does.

With --json the shape is
  {"run": {"id", "state", "session", "config", "used"} or null,
   "incidents": [{"node", "attempt", "how", "detail", "at"}],
   "strays": [{"file", "node"}],
   "collisions": [as of cmux agents collisions],
   "limits": [{"account", "until", "since", "met_by": {"project", "session", "run", "node"}, "said"}],
   "nodes": [{"name", "role", "agent", "branch", "depends_on", "label", "status", "exit_code",
              "attempts", "started_at", "ended_at", "source", "age", "reason", "used", "review", "question", "finally", "matrix", "outputs", "dir", "fenced",
              "where", "machine", "heard_at"}],
   "others": [the same of each further run that has not ended],
   "needs": [{"id", "kind", "name", "run", "session", "since", "label", "text", "question", "orders", "try", "called", "title", "room", "member"}]}
where exit_code is what the node's marker holds or null, times are RFC 3339 or
null, age is the seconds since the label's source was recorded, and used is
  {"input", "output", "cache_read", "cache_create"}
in tokens, of all attempts and their sub-agents, or null when none is known of.
Status is the label in its parts:
  {"state", "reason", "code", "until", "by", "detail", "open"}
State is waiting, blocked, ready, running, checking, taken over, needs input,
limited, lost, skipped, done or failed. Reason is why it is done (override), failed
(checks, timeout, ...; empty: by code, the program's exit code), blocked (how
the node in by ended) or lost (stopped: by a person). Until is when a limit of the
account in by ends, where it is known; code is null where it is not the reason. Detail
is what was recorded with it, and open says that an attempt which counts no more still
runs.
Question is what the agent asks a person, left out if it asks nothing:
  {"id", "parts": [{"text", "options"}], "in_pane", "permission", "silent"}
An answer to several parts has a line for each, and a number stands for the
option in that place; in_pane says that only keys pressed there can answer.
Silent says that it asks nothing: it ended its turns without a report.
Permission is the tool call that it asks about: {"tool", "command"}.
Review is what a person decided about the node's work, left out if nobody has:
  {"verdict", "commit", "comment", "at"}
Verdict is approved, dropped or sent back; commit is the one that it was about,
comment what it was sent back with.
Finally is true for a node under finally, matrix is the name of the matrix that a
node comes from, outputs are the values that it has published, by their names, dir is
the folder of the configuration in which it works, fenced is how many writes the fence
has refused (cmux agents fence); each is left out elsewhere.
Where is the machine that carries out the newest attempt, or home for this one; it is
left out before the first attempt and while no machine has claimed it. Machine is where
if that is another machine, and heard_at is the time of its last sign of life if it is
silent; each is left out otherwise.
A limit is that of an account, which a node of this run or of another of your runs
met; until is null where no end is known, said is what the program said.
Needs is what waits for you in the project, also in the runs above, or with RUN or
--session in that run alone, in the order of the inbox. Kind is node, failure, conflict,
limit, run, agent, task, merge, room, incident, message or fault; called and title are what the
list shows; orders are the commands that fit a node, an agent or a room, and try is one to call. Of
unread messages it has the newest 200.
Incidents, strays, collisions, limits, others and needs are left out where there are none. An incident is what an
agent tried and may not, or a file that cmux did not write; how is refused,
marker, record, request or bin, and node is empty where it is not known whose it
was. A stray is a file among the markers that belongs to no node; node is the one
that it was probably meant for, or empty.
If a node is on another machine, the table has the column WHERE, and the status of a node
says since when its machine is silent: running, no contact since 14:03.
The table shows the tokens that count against a budget: all except cache_read. With
--verbose, it also shows the source of each status (record, marker, lock, runner, or
derived from other nodes) and its age.`,
		Example: "  cmux agents status --watch\n  cmux agents status --verbose",
		Args:    cobra.MaximumNArgs(1),

		ValidArgsFunction: d.CompleteRun,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Run = cli.First(args)
			return cli.Either(runF, runStatus)(cmd.Context(), o)
		},
	}
	cli.JSONFlag(cmd, &o.JSON)
	cmd.Flags().BoolVar(&o.Watch, "watch", false, "print a line for each change, until the run ends or is stopped")
	cmd.Flags().BoolVarP(&o.Verbose, "verbose", "v", false, "also show the source of each status and its age")
	cmd.MarkFlagsMutuallyExclusive("json", "watch")
	cmd.MarkFlagsMutuallyExclusive("json", "verbose")
	cmd.MarkFlagsMutuallyExclusive("watch", "verbose")
	return cmd
}

func runStatus(ctx context.Context, o *statusOptions) error {
	if !o.Watch {
		// It ends before what it leaves is worth collecting.
		defer debug.SetGCPercent(debug.SetGCPercent(400))
	}
	p, err := o.Project(ctx)
	if err != nil {
		return err
	}
	if o.Run == "" && !o.Watch {
		if several, err := o.several(ctx, p); several || err != nil {
			return err
		}
	}
	v, past, err := p.Runs().ViewOf(ctx, o.Run)
	if errors.Is(err, run.ErrNone) && !o.Watch {
		if o.JSON {
			return o.report(ctx, p, runs.Report{Nodes: []runs.NodeReport{}}, "")
		}
		if _, err := fmt.Fprint(o.Out, "No run yet in this project.\nBegin with: cmux agents init, then cmux agents start\n"); err != nil {
			return err
		}
		return o.needs(ctx, p, nil)
	}
	if err != nil {
		return err
	}
	if o.Watch && !past {
		w := &watching{IO: o.IO, now: p.Now, leaves: true}
		return w.show(ctx, v.Run)
	}
	one := o.Run != "" || p.Session != ""
	if o.JSON {
		only := ""
		if one {
			only = v.Run.Plan.ID
		}
		return o.report(ctx, p, runs.NewReport(v), only)
	}
	if _, err := fmt.Fprint(o.Out, renderStatus(v, p.Now(), cli.Look{Width: o.Width(), Color: o.Color(), Verbose: o.Verbose, Past: past})); err != nil || one {
		return err
	}
	return o.needs(ctx, p, []*run.View{v})
}

// statusReport is what status prints for programs.
type statusReport struct {
	runs.Report
	Needs []overview.Need `json:"needs,omitempty"`
}

// report prints a report with what waits for the person; only is the id of the one run in
// which it looks, or empty for the whole project.
func (o *statusOptions) report(ctx context.Context, p *control.Project, r runs.Report, only string) error {
	l, err := p.Overview().Pressing(ctx)
	if err != nil {
		return err
	}
	if only != "" {
		l.Items = slices.DeleteFunc(l.Items, func(n overview.Need) bool { return n.Run != only })
	}
	return cli.PrintJSON(o.Out, statusReport{Report: r, Needs: l.Items})
}

// shownNeeds is how many things that wait for the person are listed.
const shownNeeds = 10

// needs lists what waits for the person, as the dashboard's inbox has it, except in the
// runs that are shown: there the lines below the table say it.
func (o *statusOptions) needs(ctx context.Context, p *control.Project, shown []*run.View) error {
	l, err := p.Overview().Pressing(ctx)
	if err != nil {
		return err
	}
	all := len(l.Items)
	l.Items = slices.DeleteFunc(l.Items, func(n overview.Need) bool {
		return slices.ContainsFunc(shown, func(v *run.View) bool { return v.Run.Plan.ID == n.Run })
	})
	if l.Total -= all - len(l.Items); l.Total == 0 {
		return nil
	}
	also := ""
	if len(shown) > 0 {
		also = "also "
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\n%swaiting for you: %d\n", also, l.Total)
	listed := min(len(l.Items), shownNeeds)
	for i := range listed {
		n := &l.Items[i]
		line := "  " + n.Line()
		if n.Try != "" {
			line += " (" + n.Try + ")"
		}
		if o.Width() > 0 {
			line = ansi.Wrap(line, o.Width(), "")
		}
		b.WriteString(line + "\n")
	}
	if more := l.Total - listed; more > 0 {
		fmt.Fprintf(&b, "  and %d more\n", more)
	}
	_, err = fmt.Fprint(o.Out, b.String())
	return err
}

// several shows all runs that have not ended, where there are several and the
// caller means none in particular.
func (o *statusOptions) several(ctx context.Context, p *control.Project) (shown bool, err error) {
	open, err := p.Runs().Several(ctx)
	if len(open) < 2 || err != nil {
		return false, err
	}
	views := make([]*run.View, len(open))
	for i, r := range open {
		if views[i], err = r.View(ctx, p.Now()); err != nil {
			return false, err
		}
	}
	if o.JSON {
		all := runs.NewReport(views[0])
		for _, v := range views[1:] {
			all.Others = append(all.Others, runs.NewReport(v))
		}
		return true, o.report(ctx, p, all, "")
	}
	for i, v := range views {
		text := renderStatus(v, p.Now(), cli.Look{Width: o.Width(), Color: o.Color(), Verbose: o.Verbose})
		if i > 0 {
			text = "\n" + text
		}
		if _, err := fmt.Fprint(o.Out, runs.WithSession(text, v.Run.Plan.Graph.Session)); err != nil {
			return true, err
		}
	}
	return true, o.needs(ctx, p, views)
}

// statusColumn is a column of the status table with what stands in it of a node.
type statusColumn struct {
	cli.Column
	cell func(n *run.NodeView, now time.Time) string
}

// statusColumns are the columns of the status table. Names and status are
// never shortened.
func statusColumns(v *run.View, verbose bool) []statusColumn {
	stateStyle := func(row int) string { return nodeStyle(v.Nodes[row].Status.Label.State) }
	columns := []statusColumn{
		{cli.Column{Head: "NAME"}, func(n *run.NodeView, _ time.Time) string { return n.Spec.Name }},
		{cli.Column{Head: "ROLE", Give: 4, Least: 6}, func(n *run.NodeView, _ time.Time) string { return string(n.Spec.Role) }},
		{cli.Column{Head: "BRANCH", Give: 2, Least: 8}, func(n *run.NodeView, _ time.Time) string { return cli.OrDash(n.Spec.Branch) }},
		{cli.Column{Head: "DEPENDS ON", Give: 3, Least: 10}, func(n *run.NodeView, _ time.Time) string { return cli.OrDash(runs.Waits(n.Spec)) }},
		{cli.Column{Head: "STATUS", Style: stateStyle}, func(n *run.NodeView, _ time.Time) string { return runview.Label(n) }},
		{cli.Column{Head: "ELAPSED"}, elapsed},
		{cli.Column{Head: "TRIES", Give: 1, Least: 5}, tries},
		{cli.Column{Head: "LAST ACTIVITY", Give: 5, Least: 8}, lastActivity},
	}
	if runview.Elsewhere(v) {
		columns = append(columns, statusColumn{cli.Column{Head: "WHERE"}, func(n *run.NodeView, _ time.Time) string { return cli.OrDash(runview.Where(n)) }})
	}
	if slices.ContainsFunc(v.Nodes, func(n run.NodeView) bool { return n.Spec.Dir != "" }) {
		columns = append(columns, statusColumn{cli.Column{Head: "DIR", Give: 4, Least: 8}, func(n *run.NodeView, _ time.Time) string { return cli.OrDash(n.Spec.Dir) }})
	}
	if runs.Known(v.Used) != nil {
		columns = append(columns, statusColumn{cli.Column{Head: "TOKENS", Give: 1, Least: 6}, tokens})
	}
	if verbose {
		columns = append(columns,
			statusColumn{cli.Column{Head: "SOURCE"}, func(n *run.NodeView, _ time.Time) string { return cli.OrDash(n.Status.Source) }},
			statusColumn{cli.Column{Head: "AGE"}, statusAge})
	}
	return columns
}

// renderStatus is what `status` prints of a view: a line about the run, the
// table, what is wanted of a person, and what stands in the way. It is pure.
func renderStatus(v *run.View, now time.Time, as cli.Look) string {
	shown := statusColumns(v, as.Verbose)
	columns := make([]cli.Column, len(shown))
	rows := make([][]string, len(v.Nodes))
	for i := range rows {
		rows[i] = make([]string, len(shown))
	}
	for c := range shown {
		columns[c] = shown[c].Column
		for i := range rows {
			rows[i][c] = shown[c].cell(&v.Nodes[i], now)
		}
	}
	parts := []string{statusHead(v, now, as.Color), "", cli.Table(columns, rows, as.Width, as.Color)}
	if foot := statusFoot(v, as); foot != "" {
		parts = append(parts, foot)
	}
	return strings.Join(parts, "\n")
}

func statusHead(v *run.View, now time.Time, color bool) string {
	state := string(v.RunState)
	if color {
		if s := stateStyle(v.RunState); s != "" {
			state = "\x1b[" + s + "m" + state + "\x1b[0m"
		}
	}
	t := runs.Count(v)
	head := fmt.Sprintf("run %s: %s, session %s, %d of %d done", v.Run.Plan.ID, state, v.Run.Plan.Graph.Session, t.Done, len(v.Nodes))
	if t.Failed > 0 {
		head += fmt.Sprintf(", %d failed", t.Failed)
	}
	if t.Blocked > 0 {
		head += fmt.Sprintf(", %d blocked", t.Blocked)
	}
	if t.Skipped > 0 {
		head += fmt.Sprintf(", %d skipped", t.Skipped)
	}
	if !v.StartedAt.IsZero() {
		end := v.EndedAt
		if end.IsZero() {
			end = now
		}
		head += ", " + say.Span(end.Sub(v.StartedAt))
	}
	if runs.Known(v.Used) != nil {
		head += ", " + runs.UsageText(v.Used, v.Run.Plan.Graph.Budget)
	}
	return head
}

func elapsed(n *run.NodeView, now time.Time) string {
	f := &n.Fact
	if f.StartedAt.IsZero() {
		return "-"
	}
	end := f.EndedAt
	if end.IsZero() || f.Live() {
		end = now
	}
	return say.Span(end.Sub(f.StartedAt))
}

func tries(n *run.NodeView, _ time.Time) string {
	if n.Fact.Attempts == 0 {
		return "-"
	}
	return fmt.Sprint(n.Fact.Attempts)
}

func lastActivity(n *run.NodeView, now time.Time) string {
	if n.Last.IsZero() {
		return "-"
	}
	return say.Span(now.Sub(n.Last)) + " ago"
}

func tokens(n *run.NodeView, _ time.Time) string {
	if runs.Known(n.Used) == nil {
		return "-"
	}
	return say.Short(n.Used.Counted())
}

func statusAge(n *run.NodeView, _ time.Time) string {
	if n.Status.Age == 0 {
		return "-"
	}
	return say.Span(n.Status.Age)
}

// statusFoot is what is wanted of a person and why nodes stand as they do.
func statusFoot(v *run.View, as cli.Look) string {
	var b strings.Builder
	notices := runs.Notices
	if as.Past {
		notices = runs.PastNotices
	}
	for _, n := range notices(v) {
		if as.Width > 0 && n.Long {
			n.Text = ansi.Wrap(n.Text, as.Width, "")
		}
		b.WriteString(n.Text + "\n")
	}
	return b.String()
}

// nodeStyle is the color of a node's state.
func nodeStyle(s dag.NodeState) string {
	switch s {
	case dag.NodeDone:
		return "32"
	case dag.NodeSkipped:
		return "2"
	case dag.NodeFailed:
		return "31"
	case dag.NodeBlocked, dag.NodeLost:
		return "33"
	case dag.NodeRunning, dag.NodeChecking:
		return "36"
	case dag.NodeNeedsInput, dag.NodeTakenOver:
		return "1;35"
	case dag.NodeLimited:
		return "35"
	}
	return ""
}

func stateStyle(s dag.RunState) string {
	switch s {
	case dag.RunDone:
		return "32"
	case dag.RunFailed:
		return "31"
	case dag.RunRunning:
		return "36"
	}
	return "33"
}
