package main

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/spf13/cobra"

	"cmux/agents/control/say"
	"cmux/agents/run"
	"cmux/dag"
	"cmux/signals"
)

func newStatusCmd(d *Deps) *cobra.Command {
	var asJSON, live, verbose bool
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show how every node of the run stands",
		Long: `Show how every node of the newest run stands, from records, markers and locks
alone: no runner is needed and none is disturbed.

With --json the shape is
  {"run": {"id", "state", "session", "config", "used"} or null,
   "incidents": [{"node", "attempt", "how", "detail", "at"}],
   "strays": [{"file", "node"}],
   "nodes": [{"name", "role", "agent", "branch", "depends_on", "label", "status", "exit_code",
              "attempts", "started_at", "ended_at", "source", "age", "reason", "used"}]}
where exit_code is what the node's marker holds or null, times are RFC 3339 or
null, age is the seconds since what the label rests on was recorded, and used is
  {"input", "output", "cache_read", "cache_create"}
in tokens, of all attempts and their sub-agents, or null when none is known of.
Status is the label in its parts:
  {"state", "reason", "code", "until", "by", "detail", "open"}
State is waiting, blocked, ready, running, checking, taken over, needs input,
limited, lost, done or failed. Reason is why it is done (override), failed
(checks, timeout, ...; empty: by code, the program's exit code) or blocked (how
the node in by ended). Until is when a limit of the account in by ends, where it
is known; code is null where it is not the reason. Detail is what was recorded
with it, and open says that an attempt which counts no more still runs.
Incidents and strays are left out where there are none. An incident is what an
agent tried and may not, or a file that cmux did not write; how is refused,
marker, record, request or bin, and node is empty where it is not known whose it
was. A stray is a file among the markers that belongs to no node; node is the one
that it was probably meant for, or empty.
The table shows what counts against a budget, which is all but cache_read; with
--verbose also where each status is known from (record, marker, lock, runner, or
derived from other nodes) and since when.`,
		Example: "  cmux agents status --watch\n  cmux agents status --verbose",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			root, err := d.root(ctx)
			if err != nil {
				return err
			}
			r, err := run.Latest(root)
			if errors.Is(err, run.ErrNone) && !live {
				if asJSON {
					return printJSON(d.Out, statusReport{Nodes: []nodeReport{}})
				}
				_, err := fmt.Fprint(d.Out, "No run yet in this project.\nBegin with: cmux agents init, then cmux agents start\n")
				return err
			}
			if err != nil {
				return noRun(err)
			}
			if live {
				return watchRun(ctx, d, root, verbose)
			}
			v, err := r.View(ctx, d.Now())
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(d.Out, newStatusReport(v))
			}
			_, err = fmt.Fprint(d.Out, renderStatus(v, d.Now(), look{d.width(), d.colour(), verbose}))
			return err
		},
	}
	jsonFlag(cmd, &asJSON)
	cmd.Flags().BoolVar(&live, "watch", false, "keep showing it, live")
	cmd.Flags().BoolVarP(&verbose, "verbose", "v", false, "also show where each status is known from, and its age")
	cmd.MarkFlagsMutuallyExclusive("json", "watch")
	cmd.MarkFlagsMutuallyExclusive("json", "verbose")
	return cmd
}

// noRun tells a person without a run how to begin.
func noRun(err error) error {
	if errors.Is(err, run.ErrNone) {
		return &Hint{Err: err, Try: "cmux agents start"}
	}
	return err
}

// statusReport is the shape of status --json.
type statusReport struct {
	Run       *runReport       `json:"run"`
	Incidents []incidentReport `json:"incidents,omitempty"`
	Strays    []strayReport    `json:"strays,omitempty"`
	Nodes     []nodeReport     `json:"nodes"`
}

type incidentReport struct {
	Node    string    `json:"node"`
	Attempt int       `json:"attempt"`
	How     string    `json:"how"`
	Detail  string    `json:"detail"`
	At      time.Time `json:"at"`
}

type strayReport struct {
	File string `json:"file"` // its name, in the folder of markers
	Node string `json:"node"` // that it was probably meant for; empty: none
}

type runReport struct {
	ID      string       `json:"id"`
	State   dag.RunState `json:"state"`
	Session string       `json:"session"`
	Config  string       `json:"config"`
	Used    *dag.Usage   `json:"used"`
}

type nodeReport struct {
	Name      string     `json:"name"`
	Role      dag.Role   `json:"role"`
	Agent     string     `json:"agent"`
	Branch    string     `json:"branch"`
	DependsOn []string   `json:"depends_on"`
	Label     string     `json:"label"`
	Status    dag.Label  `json:"status"`
	ExitCode  *int       `json:"exit_code"`
	Attempts  int        `json:"attempts"`
	StartedAt *time.Time `json:"started_at"`
	EndedAt   *time.Time `json:"ended_at"`
	Source    string     `json:"source"`
	Age       float64    `json:"age"`
	Reason    string     `json:"reason"`
	Used      *dag.Usage `json:"used"`
}

func newStatusReport(v *run.View) statusReport {
	s := statusReport{
		Run: &runReport{ID: v.Run.Plan.ID, State: v.RunState,
			Session: v.Run.Plan.Graph.Session, Config: v.Run.Plan.Config, Used: known(v.Used)},
		Incidents: make([]incidentReport, len(v.Incidents)),
		Nodes:     make([]nodeReport, len(v.Nodes)),
	}
	for i, rec := range v.Incidents {
		s.Incidents[i] = incidentReport{rec.Node, rec.Attempt, rec.How, rec.Detail, rec.At}
	}
	for _, file := range v.Strays {
		one := strayReport{File: file}
		if i := strayFor(v.Run.Plan.Graph, file); i >= 0 {
			one.Node = v.Nodes[i].Spec.Name
		}
		s.Strays = append(s.Strays, one)
	}
	for i := range v.Nodes {
		n := &v.Nodes[i]
		r := nodeReport{
			Name: n.Spec.Name, Role: n.Spec.Role, Agent: n.Spec.Agent, Branch: n.Spec.Branch,
			DependsOn: n.Spec.DependsOn, Label: n.Status.Label.String(), Status: n.Status.Label, ExitCode: marker(v, i), Attempts: n.Fact.Attempts,
			StartedAt: moment(n.Fact.StartedAt), EndedAt: moment(n.Fact.EndedAt),
			Source: n.Status.Source, Age: math.Round(n.Status.Age.Seconds()*1000) / 1000, Reason: n.Status.Reason,
			Used: known(n.Used),
		}
		if r.DependsOn == nil {
			r.DependsOn = []string{}
		}
		s.Nodes[i] = r
	}
	return s
}

// marker is the exit code that the marker of node i holds, nil while it has none.
func marker(v *run.View, i int) *int {
	f := &v.Nodes[i].Fact
	code := f.Exit
	if _, blocked := v.State.Blocked(i); blocked {
		code = 99
	} else if f.Phase != dag.Ended {
		return nil
	} else if f.Outcome.Success() {
		code = 0
	} else if f.Outcome == dag.Cancelled {
		code = 130
	}
	return &code
}

func moment(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// known is what was used, nil while nothing is known of it.
func known(used dag.Usage) *dag.Usage {
	if used == (dag.Usage{}) {
		return nil
	}
	return &used
}

// look is how a status is shown.
type look struct {
	width   int // 0: unbounded
	colour  bool
	verbose bool // with the source and age of each status
}

// look is how output is shown where nothing else was asked for.
func (d *Deps) look() look { return look{width: d.width(), colour: d.colour()} }

// statusColumn is a column of the status table with what stands in it of a node.
type statusColumn struct {
	column
	cell func(n *run.NodeView, now time.Time) string
}

// statusColumns are the columns of the status table. Names and status are
// never shortened.
func statusColumns(v *run.View, verbose bool) []statusColumn {
	stateStyle := func(row int) string { return nodeStyle(v.Nodes[row].Status.Label.State) }
	columns := []statusColumn{
		{column{head: "NAME"}, func(n *run.NodeView, _ time.Time) string { return n.Spec.Name }},
		{column{head: "ROLE", give: 4, least: 6}, func(n *run.NodeView, _ time.Time) string { return string(n.Spec.Role) }},
		{column{head: "BRANCH", give: 2, least: 8}, func(n *run.NodeView, _ time.Time) string { return orDash(n.Spec.Branch) }},
		{column{head: "DEPENDS ON", give: 3, least: 10}, func(n *run.NodeView, _ time.Time) string { return orDash(strings.Join(n.Spec.DependsOn, ", ")) }},
		{column{head: "STATUS", style: stateStyle}, func(n *run.NodeView, _ time.Time) string { return n.Status.Label.String() }},
		{column{head: "ELAPSED"}, elapsed},
		{column{head: "TRIES", give: 1, least: 5}, tries},
		{column{head: "LAST ACTIVITY", give: 5, least: 8}, lastActivity},
	}
	if known(v.Used) != nil {
		columns = append(columns, statusColumn{column{head: "TOKENS", give: 1, least: 6}, tokens})
	}
	if verbose {
		columns = append(columns,
			statusColumn{column{head: "SOURCE"}, func(n *run.NodeView, _ time.Time) string { return orDash(n.Status.Source) }},
			statusColumn{column{head: "AGE"}, statusAge})
	}
	return columns
}

// renderStatus is what `status` prints of a view: a line about the run, the
// table, what is wanted of a person, and what stands in the way. It is pure.
func renderStatus(v *run.View, now time.Time, as look) string {
	shown := statusColumns(v, as.verbose)
	columns := make([]column, len(shown))
	rows := make([][]string, len(v.Nodes))
	for i := range rows {
		rows[i] = make([]string, len(shown))
	}
	for c := range shown {
		columns[c] = shown[c].column
		for i := range rows {
			rows[i][c] = shown[c].cell(&v.Nodes[i], now)
		}
	}
	parts := []string{statusHead(v, now, as.colour), "", table(columns, rows, as.width, as.colour)}
	if foot := statusFoot(v, as.width); foot != "" {
		parts = append(parts, foot)
	}
	return strings.Join(parts, "\n")
}

func statusHead(v *run.View, now time.Time, colour bool) string {
	state := string(v.RunState)
	if colour {
		if s := stateStyle(v.RunState); s != "" {
			state = "\x1b[" + s + "m" + state + "\x1b[0m"
		}
	}
	done, failed, blocked := 0, 0, 0
	for i := range v.Nodes {
		f := &v.Nodes[i].Fact
		if _, is := v.State.Blocked(i); is {
			blocked++
		} else if f.Phase == dag.Ended && f.Outcome.Success() {
			done++
		} else if f.Phase == dag.Ended {
			failed++
		}
	}
	head := fmt.Sprintf("run %s: %s, session %s, %d of %d done", v.Run.Plan.ID, state, v.Run.Plan.Graph.Session, done, len(v.Nodes))
	if failed > 0 {
		head += fmt.Sprintf(", %d failed", failed)
	}
	if blocked > 0 {
		head += fmt.Sprintf(", %d blocked", blocked)
	}
	if !v.StartedAt.IsZero() {
		end := v.EndedAt
		if end.IsZero() {
			end = now
		}
		head += ", " + say.Span(end.Sub(v.StartedAt))
	}
	if known(v.Used) != nil {
		head += ", " + usageText(v.Used, v.Run.Plan.Graph.Budget)
	}
	return head
}

// usageText is what was used, of what budget, and what caches spared.
func usageText(used dag.Usage, budget dag.Budget) string {
	text := short(used.Counted())
	if budget.Tokens > 0 {
		text += " of " + short(budget.Tokens)
	}
	text += " tokens"
	if used.CacheRead > 0 {
		text += " and " + short(used.CacheRead) + " from caches"
	}
	return text
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
	if known(n.Used) == nil {
		return "-"
	}
	return short(n.Used.Counted())
}

func statusAge(n *run.NodeView, _ time.Time) string {
	if n.Status.Age == 0 {
		return "-"
	}
	return say.Span(n.Status.Age)
}

func orDash(s string) string {
	if s = say.Line(s); s == "" {
		return "-"
	}
	return s
}

// statusFoot says what is wanted of a person and why nodes stand as they do.
func statusFoot(v *run.View, width int) string {
	var b strings.Builder
	for i := range v.Nodes {
		n := &v.Nodes[i]
		if !wantsLooking(n.Status) {
			continue
		}
		line := n.Spec.Name + ": " + explained(v, i)
		if end := n.LastEnd(); end != nil && end.Snapshot != "" && !n.Fact.Live() {
			line += "; its work is saved: cmux snapshots restore " + end.Snapshot
		}
		if width > 0 {
			line = ansi.Wrap(line, width, "")
		}
		b.WriteString(line + "\n")
	}
	b.WriteString(incidents(v.Incidents, width))
	if v.Full != "" && !over(v) {
		fmt.Fprintf(&b, "the disk is full: %s (free some space; nodes wait for it and go on by themselves)\n", v.Full)
	}
	b.WriteString(strays(v))
	switch v.RunState {
	case dag.RunNoRunner:
		b.WriteString("no runner: cmux agents resume\n")
	case dag.RunStopped:
		b.WriteString("stopped: cmux agents resume\n")
	}
	if at := atWork(v); len(at) > 0 && v.Holder == nil {
		fmt.Fprintf(&b, "still at work without a runner: %s (cmux agents stop ends them)\n", strings.Join(at, ", "))
	}
	if err := v.RunOverBudget(); err != nil {
		fmt.Fprintf(&b, "%v, so no agent is started: raise it in the configuration, then %s\n", err, updateWay(v))
	}
	if n := len(v.Pending); n > 0 && v.Holder == nil {
		fmt.Fprintf(&b, "%s waiting for a runner: cmux agents resume\n", say.Count(n, "request"))
	}
	if lines, _ := v.Passed(false); len(lines) > 0 {
		fmt.Fprintf(&b, "%s of the records not counted: %s\n", say.Count(len(lines), "line"), say.Line(say.List(lines, 3)))
	}
	if v.ConfigChanged {
		fmt.Fprintf(&b, "the configuration differs from the plan that this run has frozen; to take it in: %s\n", updateWay(v))
	}
	return b.String()
}

// shownIncidents is how many incidents stand below the table.
const shownIncidents = 5

// incidents tells of the newest incidents.
func incidents(all []run.Record, width int) string {
	var b strings.Builder
	if n := len(all) - shownIncidents; n > 0 {
		fmt.Fprintf(&b, "%s before these: cmux agents status --json\n", say.Count(n, "incident"))
		all = all[n:]
	}
	for _, rec := range all {
		line := "incident: "
		if rec.Node != "" {
			line += rec.Node + ": "
		}
		line += say.Line(rec.Detail)
		if width > 0 {
			line = ansi.Wrap(line, width, "")
		}
		b.WriteString(line + "\n")
	}
	return b.String()
}

// explained is the label of node i, why it stands so and the way out.
func explained(v *run.View, i int) string {
	s := v.Nodes[i].Status
	text := s.Label.String()
	if s.Reason != "" {
		text += ": " + say.Line(s.Reason)
	}
	if way := wayOut(v, i); way != "" {
		text += " (" + way + ")"
	}
	return text
}

// updateWay is the command that takes an edited configuration in: a run that is
// under way is stopped first.
func updateWay(v *run.View) string {
	if v.Holder != nil && !over(v) {
		return "cmux agents stop, then cmux agents resume --update"
	}
	return "cmux agents resume --update"
}

// shownStrays is how many files that belong to no node stand below the table.
const shownStrays = 3

// strays tells of the files among the markers that belong to no node: a person
// who mistyped a name waits for a node that nobody has told anything.
func strays(v *run.View) string {
	var b strings.Builder
	for k, file := range v.Strays {
		if k == shownStrays {
			fmt.Fprintf(&b, "%s more beside the markers: cmux doctor\n", say.Count(len(v.Strays)-k, "file"))
			break
		}
		fmt.Fprintf(&b, "%s/signals/%s belongs to no node and does not count", signals.Folder, say.Line(file))
		if i := strayFor(v.Run.Plan.Graph, file); i >= 0 {
			n := &v.Nodes[i]
			order := ""
			switch {
			case isSuccess(n):
			case n.Spec.Role == dag.RoleGate:
				order = " cmux agents approve " + n.Spec.Name
			default:
				order = " cmux agents override " + n.Spec.Name
			}
			fmt.Fprintf(&b, " (did you mean %s?%s)", n.Spec.Name, order)
		}
		b.WriteString("\n")
	}
	return b.String()
}

// strayFor is the index of the node that a file among the markers was probably
// meant for, or -1.
func strayFor(g *dag.Graph, file string) int {
	name, suffixed := strings.CutSuffix(file, signals.Suffix)
	if !suffixed && g.Index(name) >= 0 {
		return g.Index(name)
	}
	if near := nearest(name, nodeNames(g)); near != "" {
		return g.Index(near)
	}
	return -1
}

// atWork names the nodes whose agents live.
func atWork(v *run.View) []string {
	var names []string
	for i := range v.Nodes {
		if v.Nodes[i].Fact.Live() {
			names = append(names, v.Nodes[i].Spec.Name)
		}
	}
	return names
}

// wantsLooking reports whether a person should read why a node stands so.
// Blocked nodes carry their reason in the label; a running one has a reason
// while something keeps it from getting on.
func wantsLooking(s dag.Status) bool {
	switch s.Label.State {
	case dag.NodeNeedsInput, dag.NodeFailed, dag.NodeLost, dag.NodeTakenOver, dag.NodeLimited:
		return true
	case dag.NodeRunning:
		return s.Reason != ""
	case dag.NodeDone:
		return s.Label.Open && s.Label.Reason == dag.ReasonOverride
	}
	return false
}

// wayOut is the command a person would call next for node i; empty when its
// reason names one already.
func wayOut(v *run.View, i int) string {
	n := &v.Nodes[i]
	name, state := n.Spec.Name, n.Status.Label.State
	switch {
	case state == dag.NodeFailed && v.OverBudget(i) != nil:
		return "raise the budget; " + updateWay(v) + "; cmux agents retry " + name
	case strings.Contains(n.Status.Reason, "cmux agents "):
	case state == dag.NodeFailed && n.Status.Label.Reason == dag.ReasonConflict: // again, until a person has made them fit
		return "git merge one of these branches in the worktree of another, resolve, commit; cmux agents retry " + name
	case state == dag.NodeFailed:
		return "cmux agents logs " + name + "; cmux agents retry " + name
	case n.Left != nil && n.Fact.Live():
		return "cmux agents override " + name + "; cmux agents retry " + name + "; cmux agents attach " + name
	case state == dag.NodeNeedsInput && v.Run.Plan.Headless:
		return "cmux agents answer " + name
	case state == dag.NodeNeedsInput:
		return "cmux agents attach " + name + "; cmux agents answer " + name
	case state == dag.NodeTakenOver:
		return "cmux agents release " + name
	}
	return ""
}

// nodeStyle is the colour of a node's state.
func nodeStyle(s dag.NodeState) string {
	switch s {
	case dag.NodeDone:
		return "32"
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
