package org

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"cmux/agents/control"
	"cmux/agents/control/overview"
	"cmux/agents/control/project"
	"cmux/agents/control/rooms"
	"cmux/agents/control/serving"
	"cmux/agents/org/standing"
	"cmux/agents/platform/say"
	"cmux/agents/room"
	"cmux/agents/runs/run"
	"cmux/agents/runs/runner"
	"cmux/cmd/cmux/cli"
	"cmux/cmd/cmux/top"
	"cmux/dag"
	"slices"
)

type orgStatusOptions struct {
	*cli.IO
	Project     cli.ProjectFunc
	JSON, Watch bool
}

func newOrgStatusCmd(d *cli.Deps, runF func(context.Context, *orgStatusOptions) error) *cobra.Command {
	o := &orgStatusOptions{IO: &d.IO, Project: d.Project}
	cmd := &cobra.Command{
		Use:     "status",
		GroupID: "main",
		Short:   "Show how the project's organization stands",
		Long: `Show on one screen how the organization stands: its monitor, the supervisor, the workers
with their tasks, what waits for you, and the runs that have not ended. status reads
records and locks, so it needs no monitor. With --watch it shows each change.

With --json the shape is
  {"state", "session", "integration", "permissions",
   "agents": [{"name", "agent_id", "display_name", "role", "kind", "model", "supervisor", "dir", "branch",
               "permanent", "state", "detail", "until", "since", "task", "task_since", "doing", "doing_since",
               "waiting", "hinders",
               "lives", "tasks_since_reset", "reset_count", "last_reset_at", "role_context", "warning",
               "tokens", "context": {"tokens", "window", "share"}, "compactions"}],
   "runs": [{"id", "session", "state", "done", "nodes", "need_you"}],
   "blocked": [{"id", "title"}], "unmerged", "unread", "undelivered", "incidents",
   "locks": [{"name", "holder": {"who", "pid"}, "note", "since", "waiting": [{"who", "pid"}]}],
   "server": {"up", "url", "since", "why"},
   "needs": [as the page lists what waits for you], "wait", "rooms": [as cmux rooms show]}
where blocked are tasks that wait for a decision, unmerged is how many finished tasks
cmux tasks merge would bring in, wait is how much waits for you, unread are messages for you, undelivered those that agents have not read, incidents
the newest that you have not acked, as cmux incidents show has them, state is none,
running, stopped or no monitor, and that of an agent is starting,
idle, working, checking, needs input, taken over, limited, down (the monitor starts it
again), stopped or going (it is being removed). Times are RFC 3339 or null; waiting are
messages that it was not handed yet, and hinders says why; context is how much of its
context window is in use, share in percent, and is left out where that is not known. Fields without a value are
left out.`,
		Example: "  cmux status",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cli.Either(runF, runOrgStatus)(cmd.Context(), o) },
	}
	cli.JSONFlag(cmd, &o.JSON)
	cmd.Flags().BoolVar(&o.Watch, "watch", false, "show each change, until you press ^C")
	cmd.MarkFlagsMutuallyExclusive("json", "watch")
	return cmd
}

// orgStatus is the organization, with all that waits for a person.
type orgStatus struct {
	*overview.OrgReport
	Needs []overview.Need `json:"needs"`
	Wait  int             `json:"wait"` // of all that waits, also of messages that are not among the needs
	Rooms []rooms.View    `json:"rooms"`
}

func orgStatusOf(ctx context.Context, p *control.Project) (*orgStatus, error) {
	report, err := p.Overview().Organization(ctx)
	if err != nil {
		return nil, err
	}
	needs, err := p.Overview().Needs(ctx)
	if err != nil {
		return nil, err
	}
	all, err := p.Rooms().List()
	return &orgStatus{report, needs.Items, needs.Total, all}, err
}

// render is what status prints. It is pure.
func (s *orgStatus) render(now time.Time, as cli.Look) string {
	r := *s.OrgReport
	r.Agents = workersOf(r.Agents)
	return renderOrg(&r, now, as) + renderRooms(s.Rooms) + renderWait(s.Needs, s.Wait)
}

// workersOf are the agents that are no members of rooms, which the rooms show.
func workersOf(all []overview.AgentReport) []overview.AgentReport {
	return slices.DeleteFunc(slices.Clone(all), func(a overview.AgentReport) bool { return a.Role == standing.RoomMember })
}

// renderRooms is a line for each room that is not closed, with what waits in it.
func renderRooms(all []rooms.View) string {
	var b strings.Builder
	for i := range all {
		v := &all[i]
		if v.Room.Phase == room.IsClosed {
			continue
		}
		fmt.Fprintf(&b, "room %s: %s, %s tokens\n", v.Room.Name, v.Room.Label, say.Short(v.Room.Total))
		for _, w := range v.Waits {
			fmt.Fprintf(&b, "  %s (%s)\n", say.Line(w.What), w.Try)
		}
	}
	if b.Len() == 0 {
		return ""
	}
	return "\n" + b.String()
}

// maxWaits bounds how many of the needs of runs are listed.
const maxWaits = 8

// renderWait says how much waits for a person, and what of it nothing above it names.
func renderWait(needs []overview.Need, total int) string {
	if total == 0 {
		return ""
	}
	text := "\nwaits for you: " + say.Count(total, "thing") + "\n"
	shown := 0
	for _, n := range needs {
		switch n.Kind {
		case overview.NeedNode, overview.NeedAgent, overview.NeedTask, overview.NeedMerge, overview.NeedRoom, overview.NeedIncident, overview.NeedMessage:
			continue
		}
		if shown++; shown > maxWaits {
			continue
		}
		text += n.Name + ": " + n.Label
		if n.Try != "" {
			text += " (" + n.Try + ")"
		}
		text += "\n"
	}
	if shown > maxWaits {
		text += fmt.Sprintf("and %d more\n", shown-maxWaits)
	}
	return text
}

func runOrgStatus(ctx context.Context, o *orgStatusOptions) error {
	if o.Watch {
		p, err := o.Project(ctx)
		if err != nil {
			return err
		}
		return o.watch(ctx, p)
	}
	p, status, done, err := cli.Asked(ctx, o.IO, o.Project, o.JSON, func(p *control.Project) (*orgStatus, error) { return orgStatusOf(ctx, p) })
	if done {
		return err
	}
	_, err = fmt.Fprint(o.Out, status.render(p.Now(), o.Look()))
	return err
}

// watch shows the organization again whenever something has changed.
func (o *orgStatusOptions) watch(ctx context.Context, p *control.Project) error {
	tick := time.NewTicker(watchTick)
	defer tick.Stop()
	began := p.Now()
	for last := ""; ; {
		status, err := orgStatusOf(ctx, p)
		if err != nil {
			return err
		}
		if text := status.render(began, o.Look()); text != last { // that time goes by is no change
			last = text
			if _, err := fmt.Fprint(o.Out, status.render(p.Now(), o.Look())+"\n"); err != nil {
				return err
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// watchTick is how often --watch looks.
const watchTick = time.Second

// renderOrg is what status prints. It is pure.
func renderOrg(r *overview.OrgReport, now time.Time, as cli.Look) string {
	if r.State == overview.OrgNone {
		return "No organization in this project.\nBegin with: cmux start\n" + renderRuns(r)
	}
	if len(r.Agents) == 0 { // it has rooms alone
		return orgHead(r, now) + strings.TrimPrefix(orgTail(r, now), "\n")
	}
	return orgHead(r, now) + renderAgents(r.Agents, now, as) + orgTail(r, now)
}

// orgHead is what stands above the table of agents.
func orgHead(r *overview.OrgReport, now time.Time) string {
	return fmt.Sprintf("organization: %s, session %s, integration branch %s\n%s\n", r.State, r.Session, r.Integration, renderServer(r.Server, now))
}

// orgTail is what stands below it.
func orgTail(r *overview.OrgReport, now time.Time) string {
	var b strings.Builder
	var need []string
	b.WriteString(renderDoing(r.Agents, now))
	for i := range r.Agents {
		a := &r.Agents[i]
		if a.Warning != "" {
			need = append(need, a.Name+": "+say.Line(a.Warning))
		}
		if way := a.Way(); way != "" {
			need = append(need, a.Name+": "+a.Explained()+" ("+way+")")
		} else if a.Hinders != "" && len(a.Waiting) > 0 {
			need = append(need, fmt.Sprintf("%s: %s not handed over: %s", a.Name, say.Count(len(a.Waiting), "message"), a.Hinders))
		} else if waits := a.Waits(now); waits != "" {
			need = append(need, a.Name+": "+waits)
		}
	}
	for _, t := range r.Blocked {
		need = append(need, fmt.Sprintf("task %s is blocked: %s (cmux tasks show %s)", t.ID, say.Line(t.Title), t.ID))
	}
	count := func(n int, what, rest string) {
		if n > 0 {
			need = append(need, say.Count(n, what)+rest)
		}
	}
	count(r.Unmerged, "finished task", " not merged: cmux tasks merge")
	count(r.Unread, "message", " for you: cmux mailbox inbox")
	count(r.Undelivered, "message", " not read yet: cmux mailbox list --waiting")
	for _, i := range r.Incidents {
		need = append(need, fmt.Sprintf("incident %s, %s: %s (cmux incidents show %s)", i.ID, i.State, say.Line(i.Title), i.ID))
	}
	for _, f := range r.Faults {
		need = append(need, say.Line(f))
	}
	if len(r.Locks) > 0 {
		b.WriteString("\n" + cli.RenderLocks(r.Locks, now))
	}
	if len(need) > 0 {
		b.WriteString("\n" + strings.Join(need, "\n") + "\n")
	}
	switch r.State {
	case overview.OrgStopped:
		b.WriteString("\nstopped: cmux start\n")
	case overview.OrgNoMonitor:
		b.WriteString("\nno monitor, so nobody starts agents again: cmux start\n")
	}
	return b.String() + renderRuns(r)
}

// renderServer is a line about the server.
func renderServer(s *serving.ServerReport, now time.Time) string {
	if s == nil {
		return ""
	}
	line := "server: "
	switch {
	case s.Up:
		line += "up at " + s.URL
	case s.Since != nil:
		line += "down for " + say.Span(now.Sub(*s.Since))
	default:
		line += "down"
	}
	if s.Why != "" {
		line += " (" + say.Line(s.Why) + ")"
	}
	return line + "\n"
}

// renderDoing are lines about what agents said that they do.
func renderDoing(agents []overview.AgentReport, now time.Time) string {
	var b strings.Builder
	for i := range agents {
		if a := &agents[i]; a.Doing != "" {
			fmt.Fprintf(&b, "%s: %s (%s ago)\n", a.Name, say.Line(a.Doing), say.Span(now.Sub(*a.DoingSince)))
		}
	}
	if b.Len() == 0 {
		return ""
	}
	return "\n" + b.String()
}

// renderAgents is the table of agents.
func renderAgents(agents []overview.AgentReport, now time.Time, as cli.Look) string {
	rows := make([][]string, len(agents))
	for i := range agents {
		a := &agents[i]
		age, task := "-", "-"
		if a.Since != nil {
			age = say.Span(now.Sub(*a.Since))
		}
		if a.Task != "" {
			task = a.Task
			if a.TaskSince != nil {
				task += ", " + say.Span(now.Sub(*a.TaskSince))
			}
		}
		context := "-"
		if a.Context != nil {
			context = fmt.Sprintf("%d%%", a.Context.Share)
		}
		rows[i] = []string{a.Name, strings.ReplaceAll(a.Role, "-", " "), a.Kind, a.Stated(), age, task, say.Short(a.Tokens), context, cli.OrDash(a.Branch)}
	}
	columns := []cli.Column{{Head: "NAME"}, {Head: "ROLE", Give: 3, Least: 6}, {Head: "KIND", Give: 4, Least: 6}, {Head: "STATE"},
		{Head: "SINCE", Give: 2, Least: 5}, {Head: "TASK", Give: 1, Least: 8},
		{Head: "TOKENS", Give: 6, Least: 6}, {Head: "CONTEXT", Give: 7, Least: 7}, {Head: "BRANCH", Give: 5, Least: 8}}
	return cli.Table(columns, rows, as.Width, as.Color)
}

func renderRuns(r *overview.OrgReport) string {
	var b strings.Builder
	for _, run := range r.Runs {
		fmt.Fprintf(&b, "\nrun %s: %s, session %s, %d of %d done", run.ID, run.State, run.Session, run.Done, run.Nodes)
		switch dag.RunState(run.State) {
		case dag.RunNoRunner, dag.RunStopped:
			fmt.Fprintf(&b, " (cmux agents resume --session %s)", run.Session)
		}
		if n := len(run.NeedYou); n > 0 {
			verb := "need"
			if n == 1 {
				verb = "needs"
			}
			fmt.Fprintf(&b, "\n%s %s you: cmux agents status --session %s", say.List(run.NeedYou, 5), verb, run.Session)
		}
	}
	if b.Len() > 0 {
		b.WriteString("\n")
	}
	return b.String()
}

type workersListOptions struct {
	*cli.IO
	Project cli.ProjectFunc
	Name    string // of the one to show; empty: all
	All     bool
	JSON    bool
}

func newWorkersListCmd(d *cli.Deps, runF func(context.Context, *workersListOptions) error) *cobra.Command {
	o := &workersListOptions{IO: &d.IO, Project: d.Project}
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the standing agents",
		Long: `List the standing agents of the project and how they stand. With --json the shape is
that of the agents of cmux status --json. --all lists the members of rooms, too.`,
		Example: "  cmux workers list --json",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cli.Either(runF, runWorkersList)(cmd.Context(), o) },
	}
	cli.JSONFlag(cmd, &o.JSON)
	cmd.Flags().BoolVar(&o.All, "all", false, "also the members of rooms")
	return cmd
}

func runWorkersList(ctx context.Context, o *workersListOptions) error {
	none := "No organization in this project: cmux start"
	p, agents, done, err := cli.Asked(ctx, o.IO, o.Project, o.JSON, func(p *control.Project) ([]overview.AgentReport, error) {
		report, err := p.Overview().Organization(ctx)
		if err != nil {
			return nil, err
		}
		if report.State != overview.OrgNone {
			none = "No agents but those of rooms (--all): cmux start"
		}
		if o.All || report.Agents == nil {
			return report.Agents, nil
		}
		return workersOf(report.Agents), nil
	})
	if done {
		return err
	}
	if len(agents) == 0 {
		_, err := fmt.Fprintln(o.Out, none)
		return err
	}
	_, err = fmt.Fprint(o.Out, renderAgents(agents, p.Now(), o.Look())+renderDoing(agents, p.Now()))
	return err
}

func newWorkersStatusCmd(d *cli.Deps, runF func(context.Context, *workersListOptions) error) *cobra.Command {
	o := &workersListOptions{IO: &d.IO, Project: d.Project}
	cmd := &cobra.Command{
		Use:   "status [NAME]",
		Short: "Show the status of a standing agent",
		Long: `Show the status of a standing agent, where it works and what waits for it. With --json
the shape is that of an agent of cmux status --json. Without NAME, cmux lists all
agents, as workers list does.`,
		Example:           "  cmux workers status api",
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: d.CompleteAgent,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cli.Either(runF, runWorkersList)(cmd.Context(), o)
			}
			o.Name = args[0]
			return cli.Either(runF, runWorkersStatus)(cmd.Context(), o)
		},
	}
	cli.JSONFlag(cmd, &o.JSON)
	return cmd
}

func runWorkersStatus(ctx context.Context, o *workersListOptions) error {
	p, a, done, err := cli.Asked(ctx, o.IO, o.Project, o.JSON, func(p *control.Project) (*overview.AgentReport, error) { return p.Overview().Agent(ctx, o.Name) })
	if done {
		return err
	}
	_, err = fmt.Fprint(o.Out, renderAgent(a, p.Now()))
	return err
}

// renderAgent is all about one agent. It is pure.
func renderAgent(a *overview.AgentReport, now time.Time) string {
	var b strings.Builder
	row := func(what, text string) {
		if text != "" {
			fmt.Fprintf(&b, "%-11s%s\n", what, text)
		}
	}
	state := a.Explained()
	if a.Since != nil {
		state += " (for " + say.Span(now.Sub(*a.Since)) + ")"
	}
	row("name", strings.TrimSpace(a.Name+" "+a.Display))
	row("id", a.ID)
	row("role", strings.ReplaceAll(a.Role, "-", " "))
	row("program", strings.TrimSpace(a.Kind+" "+a.Model))
	row("state", state)
	row("task", a.Task)
	if a.Doing != "" {
		row("says", fmt.Sprintf("%s (%s ago)", say.Line(a.Doing), say.Span(now.Sub(*a.DoingSince))))
	}
	row("works in", a.Dir)
	row("branch", a.Branch)
	row("reports to", a.Supervisor)
	if len(a.Waiting) > 0 {
		text := say.Count(len(a.Waiting), "message")
		if a.Hinders != "" {
			text += ": " + a.Hinders
		}
		row("waiting", text)
	}
	row("done", fmt.Sprintf("%s since the last reset, %s", say.Count(a.Tasks, "task"), say.Count(a.Resets, "reset")))
	row("tokens", say.Short(a.Tokens)+" used since it was made")
	if c := a.Context; c != nil {
		text := fmt.Sprintf("%d%% of the context window in use (%s of %s tokens)", c.Share, say.Short(c.Tokens), say.Short(c.Window))
		if a.Compactions > 0 {
			text += ", " + say.Count(a.Compactions, "compaction")
		}
		row("context", text)
	}
	row("warning", say.Line(a.Warning))
	row("next", a.Way())
	return b.String()
}

// newKeepCmd is the process of the monitor's window: it keeps the
// organization and shows how it stands.
func newKeepCmd(d *cli.Deps) *cobra.Command {
	var o control.MonitorOptions
	cmd := &cobra.Command{
		Use:    "keep",
		Hidden: true,
		Short:  "Keep the organization (for cmux itself)",
		Args:   cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			r, err := run.OpenPlan(o.Dir)
			if err != nil {
				return err
			}
			if err := runner.AdoptEnv(r); err != nil {
				return err
			}
			d.Env = os.Environ() // what this process shows is for the person who started the organization
			o.Kinds, o.Pane = d.Kinds, os.Getenv("TMUX_PANE")
			caller := d.Caller()
			caller.Memory = new(project.Memory) // it reads tasks and rooms all the time
			p := &control.Project{Project: project.Project{Caller: caller, Root: r.Plan.Root}}
			o.Project = p
			if o.Detached {
				o.Tell, o.Bell = func() {}, func() {}
				return control.Monitor(cmd.Context(), o)
			}
			screen := newOrgScreen(d, p)
			o.Tell, o.Bell = screen.tell, func() { fmt.Fprint(d.Out, "\a") }
			err = control.Monitor(cmd.Context(), o)
			return errors.Join(err, screen.close())
		},
	}
	cmd.Flags().StringVar(&o.Dir, "run", "", "folder of the organization")
	cmd.Flags().StringVar(&o.Launch, "launch", "", "names the start that it serves")
	cmd.Flags().BoolVar(&o.Detached, "detached", false, "without tmux")
	return cmd
}

// orgScreen shows the organization live in a terminal, without anybody waiting
// for it.
type orgScreen struct {
	d    *cli.Deps
	p    *control.Project
	more chan struct{}
	end  context.CancelFunc
	done chan error
}

func newOrgScreen(d *cli.Deps, p *control.Project) *orgScreen {
	ctx, cancel := context.WithCancel(context.Background())
	s := &orgScreen{d, p, make(chan struct{}, 1), cancel, make(chan error, 1)}
	go func() { s.done <- s.serve(ctx) }()
	return s
}

// tell has the screen show what is new.
func (s *orgScreen) tell() {
	select {
	case s.more <- struct{}{}:
	default:
	}
}

// drawRest is for how long the screen stays as it was drawn.
const drawRest = 500 * time.Millisecond

// ages is how often the screen is drawn where nothing is new.
const ages = 30 * time.Second

// maxLog is how much of the end of a log is shown.
const maxLog = 1 << 20

// serve shows the screen until ctx ends: with keys in a terminal, and as text where
// that fails.
func (s *orgScreen) serve(ctx context.Context) error {
	changed := make(chan struct{})
	var pace sync.WaitGroup
	defer pace.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	pace.Go(func() { s.pace(ctx, changed) })
	in, isIn := cli.Terminal(s.d.In)
	out, isOut := cli.Terminal(s.d.Out)
	if !isIn || !isOut {
		return s.print(ctx, changed)
	}
	p := cli.WithoutNotes(s.p) // the terminal is the monitor's; the keeper, at work beside it, has its own
	plain := cli.Look{Width: 0}
	err := top.ShowOrg(ctx, top.OrgOptions{
		In: in, Out: out, Color: s.d.Color(), Look: p.Overview().Organization, Changed: changed, Do: s.d.Within, Front: p.Terminals().OrgFront,
		Table: func(r *overview.OrgReport, width int) []string {
			as := plain
			as.Width = width
			return strings.Split(strings.TrimRight(renderAgents(r.Agents, p.Now(), as), "\n"), "\n")
		},
		Rest: func(r *overview.OrgReport) (above, below []string) {
			split := func(text string) []string { return strings.Split(strings.Trim(text, "\n"), "\n") }
			all, _ := p.Rooms().List() // what is wrong with one, cmux rooms list says
			return append(split(orgHead(r, p.Now())), ""), split(orgTail(r, p.Now()) + renderRooms(all) + renderRuns(r))
		},
		About: func(a *overview.AgentReport) []string {
			return strings.Split(strings.TrimRight(renderAgent(a, p.Now()), "\n"), "\n")
		},
		Log: func(name string) ([]byte, error) { return p.Logs().AgentEnd(name, maxLog) },
	})
	if err == nil || ctx.Err() != nil {
		return nil
	}
	fmt.Fprintf(s.d.Err, "cmux: the monitor has no keys: %v\n", err)
	return s.print(ctx, changed)
}

// pace says that there is something new, at most twice a second: agents at work
// tell of it all the time.
func (s *orgScreen) pace(ctx context.Context, changed chan<- struct{}) {
	tick := time.NewTicker(ages)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.more:
		case <-tick.C:
		}
		select {
		case <-ctx.Done():
			return
		case changed <- struct{}{}:
		}
		rest := time.NewTimer(drawRest)
		select {
		case <-ctx.Done():
			rest.Stop()
			return
		case <-rest.C:
		}
	}
}

// print shows the screen as text.
func (s *orgScreen) print(ctx context.Context, changed <-chan struct{}) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
		}
		text := ""
		if report, err := s.p.Overview().Organization(ctx); err != nil {
			text = fmt.Sprintf("cmux: %v\n", err)
		} else {
			text = renderOrg(report, s.p.Now(), s.d.Look())
		}
		if cli.IsTerminal(s.d.Out) {
			fmt.Fprint(cli.Raw(s.d.Out), "\x1b[H\x1b[2J")
		}
		fmt.Fprint(s.d.Out, text)
	}
}

func (s *orgScreen) close() error {
	s.end()
	return <-s.done
}
