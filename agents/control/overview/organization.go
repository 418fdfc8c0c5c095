// Package overview says how an organization stands and what waits for a person: agents
// and runs, needs, the level of autonomy, and what happened while the person was away.
package overview

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"cmux/agents/control/letters"
	"cmux/agents/control/locking"
	"cmux/agents/control/project"
	"cmux/agents/control/records"
	"cmux/agents/control/rooms"
	"cmux/agents/control/runs"
	"cmux/agents/control/runview"
	"cmux/agents/control/serving"
	"cmux/agents/kinds/question"
	"cmux/agents/org/standing"
	"cmux/agents/org/task"
	"cmux/agents/org/watchconfig"
	"cmux/agents/platform/notice"
	"cmux/agents/platform/say"
	"cmux/agents/records/audit"
	"cmux/agents/records/incident"
	"cmux/agents/runs/host"
	"cmux/agents/runs/run"
	"cmux/signals"
	"cmux/signals/mailbox"
	"cmux/worktree/gitfile"
)

// Overview is how all of a project stands.
type Overview struct {
	*project.Project
	Runs    *runs.Runs
	Records *records.Records
	Letters *letters.Letters
	Locks   *locking.Locks
	Serving *serving.Serving
	Rooms   *rooms.Rooms
}

// States of an organization.
const (
	OrgNone      = "none"
	OrgRunning   = "running"
	OrgStopped   = "stopped"
	OrgNoMonitor = "no monitor" // its agents go on; nobody starts them again
)

// OrgReport is how the organization of a project stands.
type OrgReport struct {
	State       string                `json:"state"`
	Session     string                `json:"session,omitempty"`
	Integration string                `json:"integration,omitempty"` // branch that work comes together on
	Permissions string                `json:"permissions,omitempty"`
	Agents      []AgentReport         `json:"agents"`
	Runs        []RunBrief            `json:"runs"`             // that have not ended
	Unread      int                   `json:"unread"`           // messages for the person
	Undelivered int                   `json:"undelivered"`      // messages for agents, which have not been read
	Blocked     []TaskBrief           `json:"blocked"`          // tasks that wait for a decision
	Unmerged    int                   `json:"unmerged"`         // finished tasks that a merge would bring in
	Incidents   []*incident.Incident  `json:"incidents"`        // the newest that the person has not acked
	Locks       []locking.LockReport  `json:"locks"`            // that are held or waited for
	Faults      []string              `json:"faults,omitempty"` // what of this could not be read, and why; and a monitor that stands still
	Server      *serving.ServerReport `json:"server,omitempty"`
}

// AgentReport is how a standing agent stands.
type AgentReport struct {
	Name       string     `json:"name"`
	ID         string     `json:"agent_id"`
	Display    string     `json:"display_name,omitempty"`
	Role       string     `json:"role"`
	Kind       string     `json:"kind"`
	Model      string     `json:"model,omitempty"`
	Supervisor string     `json:"supervisor,omitempty"`
	Dir        string     `json:"dir"`
	Branch     string     `json:"branch,omitempty"`
	Permanent  bool       `json:"permanent"`
	Team       string     `json:"team,omitempty"`
	State      string     `json:"state"`
	Detail     string     `json:"detail,omitempty"`
	Until      *time.Time `json:"until,omitempty"`
	Since      *time.Time `json:"since"` // it stands so
	Task       string     `json:"task,omitempty"`
	TaskSince  *time.Time `json:"task_since,omitempty"`
	Doing      string     `json:"doing,omitempty"` // as it said itself
	DoingSince *time.Time `json:"doing_since,omitempty"`
	Waiting    []string   `json:"waiting,omitempty"` // ids of messages that it was not handed yet
	Hinders    string     `json:"hinders,omitempty"` // what keeps them from it
	Lives      int        `json:"lives"`
	Tasks      int        `json:"tasks_since_reset"`
	Resets     int        `json:"reset_count"`
	ResetAt    *time.Time `json:"last_reset_at,omitempty"`
	RoleFile   string     `json:"role_context,omitempty"` // what its role is read from
	Warning    string     `json:"warning,omitempty"`      // what a person should put right
	Tokens     int64      `json:"tokens"`

	Context     *ContextReport `json:"context,omitempty"` // null: its program does not say
	Compactions int            `json:"compactions"`       // that its program confirmed

	Question *question.Question `json:"question,omitempty"` // that it waits for a person to answer

	pane        string
	held, stuck bool // see standing.State.Due
}

// ContextReport is how much of its context window an agent's conversation takes up.
type ContextReport struct {
	Tokens int64 `json:"tokens"`
	Window int64 `json:"window"`
	Share  int   `json:"share"` // percent
}

// TaskBrief is a task in a line.
type TaskBrief struct {
	ID    string `json:"id"`
	Title string `json:"title"`
}

// RunBrief is a run in a line.
type RunBrief struct {
	ID      string `json:"id"`
	Session string `json:"session"`
	State   string `json:"state"`
	Done    int    `json:"done"`
	Nodes   int    `json:"nodes"`

	NeedYou []string `json:"need_you,omitempty"` // nodes that go on only when a person does something
}

// Organization says how the organization of the project stands. A project
// without one has one of the state none.
func (ov *Overview) Organization(ctx context.Context) (*OrgReport, error) {
	report := &OrgReport{State: OrgNone, Agents: []AgentReport{}, Runs: []RunBrief{}, Blocked: []TaskBrief{}, Incidents: []*incident.Incident{}, Locks: []locking.LockReport{}}
	if err := ov.briefly(ctx, report); err != nil {
		return nil, err
	}
	org, err := standing.Open(ov.Root)
	if errors.Is(err, run.ErrNoOrganization) {
		return report, nil
	}
	if err != nil {
		return nil, err
	}
	report.Session, report.Integration, report.Permissions = org.Run.Plan.Session, org.Settings.Integration, org.Settings.Permissions
	switch {
	case org.Run.RunnerLives():
		report.State = OrgRunning
	case org.Stopped:
		report.State = OrgStopped
	default:
		report.State = OrgNoMonitor
	}
	if pid := org.Run.Halted(); pid != 0 {
		report.Faults = append(report.Faults, fmt.Sprintf("a signal has stopped the monitor, so nobody hands messages over: kill -CONT %d", pid))
	}
	if report.State != OrgStopped {
		report.Server = ov.Serving.Server()
	}
	said, err := ov.post(report, org.Posed(ov.Now()))
	if err != nil {
		return nil, err
	}
	// What cannot be read there hides nothing else.
	if all, err := ov.Records.Unacked(); err == nil {
		report.Incidents = all
	} else {
		report.Faults = append(report.Faults, "incidents: "+err.Error())
	}
	if list, err := ov.TaskList(); err != nil {
		report.Faults = append(report.Faults, "tasks: "+err.Error())
	} else {
		for _, t := range list.All() {
			if t.State == task.Blocked {
				report.Blocked = append(report.Blocked, TaskBrief{ID: t.ID, Title: t.Title})
			}
		}
		report.Unmerged = len(list.Mergeable())
	}
	if all, err := ov.Locks.List(); err == nil {
		report.Locks = all
	} else {
		report.Faults = append(report.Faults, "locks: "+err.Error())
	}
	for _, f := range notice.Failures(org.Run.Dir) {
		report.Faults = append(report.Faults, f.String())
	}
	var wait sync.WaitGroup
	names := org.Names()
	report.Agents = make([]AgentReport, len(names))
	for i, name := range names {
		wait.Go(func() { report.Agents[i] = ov.agentReport(ctx, org, org.Agents[name], said) })
	}
	wait.Wait()
	return report, nil
}

// post adds how many messages wait beside those that are left out, and returns what
// agents said that they do.
func (ov *Overview) post(report *OrgReport, without map[string]bool) (said map[string]doing, err error) {
	err = ov.WithLedger(func(l *mailbox.Ledger, _ []mailbox.Bad) error {
		for _, w := range l.Waiting() {
			switch w.For.Kind {
			case mailbox.User:
				if !without[w.ID] {
					report.Unread++
				}
			case mailbox.Agent, mailbox.All:
				report.Undelivered++
			}
		}
		said = doings(l)
		return nil
	})
	return said, err
}

// briefly adds the runs that have not ended.
func (ov *Overview) briefly(ctx context.Context, report *OrgReport) error {
	owners, err := run.Owners(ov.Root)
	if err != nil {
		return err
	}
	for _, o := range owners {
		r, err := run.Open(ov.Root, o.ID)
		if err != nil {
			continue // cmux agents status says what is wrong with it
		}
		v, err := r.View(ctx, ov.Now())
		if err != nil {
			return err
		}
		if !runview.Over(v) {
			b := RunBrief{ID: o.ID, Session: o.Session, State: string(v.RunState), Done: runs.Count(v).Done, Nodes: len(v.Nodes)}
			for _, i := range runs.NeedPerson(v) {
				b.NeedYou = append(b.NeedYou, v.Nodes[i].Spec.Name)
			}
			report.Runs = append(report.Runs, b)
		}
	}
	return nil
}

func (ov *Overview) agentReport(ctx context.Context, org *standing.Org, a *standing.Agent, said map[string]doing) AgentReport {
	m := &a.Member
	word, detail := a.Stands(ov.Now(), org.Stopped)
	r := AgentReport{
		Name: a.Name, ID: m.ID, Display: m.Display, Role: m.Role, Kind: m.Kind, Model: m.Model, Supervisor: m.Supervisor, Dir: m.Dir,
		Branch: gitfile.Branch(m.Tree, m.Branch), Permanent: m.Permanent, Team: m.Team, State: string(word), Detail: detail, Lives: a.Life.N,
		Tasks: a.Tasks, Resets: a.Resets, Tokens: a.Used.Counted(), pane: a.Life.Pane,
	}
	if c := a.Context; c.Tokens > 0 {
		window := c.Window
		if window == 0 {
			window = int64(watchconfig.New(org.Settings.Watch).Window)
		}
		r.Context = &ContextReport{c.Tokens, window, c.Share(window)}
	}
	r.Compactions = a.Compactions
	r.says(a, said[a.Name])
	due, _ := a.Due(ov.Now())
	r.held, r.stuck = due == standing.Stuck && a.Held != "", due == standing.Stuck || a.Life.On() && a.Left
	r.ResetAt, r.RoleFile = project.Moment(a.ResetAt), m.RoleFile
	if mode, err := signals.Type(m.RoleFile); m.RoleFile != "" && (err != nil || !mode.IsRegular()) {
		r.Warning = "its role file " + ov.Short(m.RoleFile) + " is missing: it works without a role from its next conversation on"
	}
	r.Since, r.Until = project.Moment(a.Since), project.Moment(a.Until)
	if word == standing.NeedsInput && a.Asked != "" {
		r.Question = agentAsks(a)
	}
	if until, why := a.Spent(ov.Now()); why != "" && word == standing.Limited && why == detail {
		r.Until = project.Moment(until)
	}
	if a.Work != nil {
		r.Task, r.TaskSince = a.Work.ID, project.Moment(a.GivenAt)
	}
	if !a.Life.On() {
		return r
	}
	if _, held, err := signals.ReadHolder(org.Run.NodeLock(a.Name)); err == nil && !held && !a.Life.Began.IsZero() {
		r.State, r.Detail = string(standing.Down), "its wrapper was killed"
		r.Question = nil
		return r
	}
	s, err := host.Standing(ctx, org.Run, host.Ref{Node: a.Name, N: a.Life.N})
	if err == nil && s != nil {
		r.Waiting, r.Hinders = s.Waiting, s.Hinders
	}
	return r
}

// agentAsks is what an agent asks a person.
func agentAsks(a *standing.Agent) *question.Question {
	q := question.New(a.Detail)
	if a.Question != nil {
		q = *a.Question
	}
	q.ID = a.Asked
	return &q
}

// maxExplained bounds the reason of a state, in runes. That of a dialog may be a whole
// screen, which cmux attach shows.
const maxExplained = 400

// Stated is the agent's state, with the end of its limit.
func (a *AgentReport) Stated() string {
	if a.State == string(standing.Limited) && a.Until != nil {
		return a.State + " until " + a.Until.Local().Format("15:04")
	}
	return a.State
}

// Explained is the agent's state, why, and what a person would do next.
func (a *AgentReport) Explained() string {
	text := a.Stated()
	if a.Detail != "" {
		text += ": " + audit.Cut(say.Line(a.Detail), maxExplained)
	}
	return text
}

// Waits is what the agent waits for that nobody is to see to; empty: nothing.
func (a *AgentReport) Waits(now time.Time) string {
	switch w := standing.Word(a.State); {
	case a.Detail != "" && w == standing.Working && a.Since != nil:
		return a.Explained() + ", since " + say.Span(now.Sub(*a.Since))
	case a.Detail != "" && w == standing.Idle:
		return a.Explained()
	}
	return ""
}

// NeedsPerson reports whether the agent waits for a person.
func (a *AgentReport) NeedsPerson() bool {
	return standing.WantsPerson(standing.Word(a.State), a.Detail)
}

// Way is the command that a person would call next for the agent; empty: none.
func (a *AgentReport) Way() string {
	switch {
	case a.held:
		return "cmux workers reset " + a.Name + ", or cmux start --env in the environment that it had"
	case a.stuck:
		return "cmux workers wake " + a.Name
	case a.NeedsPerson() && a.Question != nil && !a.Question.InPane:
		return "cmux attach " + a.Name + "; cmux workers answer " + a.Name + " TEXT"
	case a.NeedsPerson():
		return "cmux attach " + a.Name
	case a.State == string(standing.TakenOver):
		return "cmux workers release " + a.Name
	case a.State == string(standing.NeedsInput): // another agent's answer
		return "to answer instead: cmux workers answer " + a.Name + " TEXT"
	}
	return ""
}

// Orders names what a person can do about the agent as it stands, what they would
// think of first comes first: answer, terminal, wake, reset, release.
func (a *AgentReport) Orders() []string {
	switch {
	case a.held:
		return []string{"reset"}
	case a.stuck:
		return []string{"wake", "reset"}
	case a.NeedsPerson() && a.Question != nil && !a.Question.InPane:
		return []string{"answer", "terminal"}
	case a.NeedsPerson():
		return []string{"terminal"}
	case a.State == string(standing.TakenOver):
		return []string{"release", "terminal"}
	}
	return nil
}

// Agent is how one standing agent stands.
func (ov *Overview) Agent(ctx context.Context, name string) (*AgentReport, error) {
	org, a, err := ov.StandingAgent(name)
	if err != nil {
		return nil, err
	}
	said, err := ov.post(new(OrgReport), nil)
	if err != nil {
		return nil, err
	}
	r := ov.agentReport(ctx, org, a, said)
	return &r, nil
}

// AgentNames are the names of the standing agents.
func (ov *Overview) AgentNames() ([]string, error) {
	org, err := ov.Org()
	if err != nil {
		return nil, err
	}
	return org.Names(), nil
}

// doing is what an agent said last that it does.
type doing struct {
	text string
	at   time.Time
}

// doings are what agents said last that they do, by name.
func doings(l *mailbox.Ledger) map[string]doing {
	all := make(map[string]doing)
	for m := range l.Backward {
		if _, later := all[m.From]; !later && m.Type == mailbox.StatusUpdate && m.Verified {
			all[m.From] = doing{m.Subject, m.TS}
		}
	}
	return all
}

// says takes in what the agent said that it does, unless that was of work that is
// over, or of a conversation before this one.
func (r *AgentReport) says(a *standing.Agent, d doing) {
	for _, since := range []time.Time{a.GivenAt, a.ResetAt} {
		if d.at.Before(since) {
			return
		}
	}
	if a.Last != nil && d.at.Before(a.Last.At) {
		return
	}
	r.Doing, r.DoingSince = d.text, project.Moment(d.at)
}
