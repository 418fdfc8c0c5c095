package api

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"

	"cmux/agents/control"
	"cmux/agents/control/files"
	"cmux/agents/control/health"
	"cmux/agents/control/locking"
	"cmux/agents/control/overview"
	"cmux/agents/control/schedules"
	"cmux/agents/control/teams"
	"cmux/agents/org/schedule"
	"cmux/agents/org/task"
	"cmux/agents/org/team"
	"cmux/agents/org/upkeep"
	"cmux/agents/records/incident"
)

// scheduleIn is an entry of the schedule that is to be added.
type scheduleIn struct {
	schedule.When
	Title    string        `json:"title" minLength:"1" maxLength:"500" doc:"Of the task, or the subject of the message"`
	Body     string        `json:"body,omitempty"`
	Task     bool          `json:"task,omitempty" doc:"It makes a task; else it sends a message"`
	To       string        `json:"to,omitempty" doc:"Whom the message is for, or who is given the task; empty: you, or nobody yet"`
	Priority task.Priority `json:"priority,omitempty"`
	Verify   []string      `json:"verify,omitempty"`
	Scope    []string      `json:"scope,omitempty"`
}

// teamIn is an order for a team.
type teamIn struct {
	Template  string `json:"template" minLength:"1"`
	Name      string `json:"name,omitempty" doc:"Empty: made of the task"`
	Task      string `json:"task,omitempty" doc:"What it is to do; empty: nothing yet"`
	Permanent bool   `json:"permanent,omitempty"`
	Dir       string `json:"dir,omitempty" doc:"The members work here, beside whoever else does; empty: each in a worktree of its own"`
}

func (t teamIn) order() teams.TeamOrder {
	return teams.TeamOrder{Template: t.Template, Name: t.Name, Task: t.Task, Permanent: t.Permanent, Dir: t.Dir}
}

// alerted says how a person was called for.
type alerted struct {
	Ways []string `json:"ways"`
}

// maintained is the result of the maintenance.
type maintained struct {
	Items []health.Upkept `json:"items"`
}

// startIn holds a person's answers for a start of the organization.
type startIn struct {
	Permissions string `json:"permissions,omitempty" enum:"ask,auto,bypass" doc:"How the agents may act: needed if the plan of the start has choices"`
	Verify      string `json:"verify,omitempty" maxLength:"1000" doc:"Command that checks the agents' work, at the first start; empty: none"`
	Env         bool   `json:"env,omitempty" doc:"Give agents the environment of this server, not that of the first start"`
}

// starting adds the routes that start and stop the organization.
func (r *routes) starting() {
	const path = "/api/organization/"
	p := r.Project
	get(r, "organization", path+"start", "Look into a start of the organization: what it asks, and what keeps it from starting", func(ctx context.Context, _ *in) (*control.StartingOrg, error) {
		return p.PlanStartOrg(ctx, control.StartOrg{Socket: p.Getenv("CMUX_TMUX_SOCKET")})
	})
	post(r, "organization", path+"start", "Start the organization: its supervisor and the agents that it had", func(ctx context.Context, i *struct{ Body startIn }) (*control.StartedOrg, error) {
		r.start.Lock() // of two starts at once, the second finds the first
		defer r.start.Unlock()
		return p.OrderStart(ctx, control.StartOrg{Env: i.Body.Env}, control.FirstAnswers{Permissions: i.Body.Permissions, Verify: i.Body.Verify})
	})
	post(r, "organization", path+"stop", "Stop the organization", func(ctx context.Context, i *struct {
		Body struct {
			Runs bool `json:"runs,omitempty" doc:"Also the runs of the project"`
		}
	}) (*control.StoppedOrg, error) {
		r.start.Lock()
		defer r.start.Unlock()
		return p.OrderStop(ctx, i.Body.Runs)
	})
}

// organization is what an organization does by the clock, what it shares, and how it
// is put right.
func (r *routes) organization() {
	p := r.Project
	r.starting()
	get(r, "schedule", "/api/schedule", "List the schedule, oldest first", func(_ context.Context, i *struct{ Paging }) (List[schedules.Scheduled], error) {
		all, err := p.Schedules().List()
		if err != nil {
			return List[schedules.Scheduled]{}, err
		}
		return page(all, i.Paging, func(s *schedules.Scheduled) string { return s.ID })
	})
	post(r, "schedule", "/api/schedule", "Add a message or a task for certain times: one of at, every and cron is set", func(ctx context.Context, i *struct{ Body scheduleIn }) (schedules.Scheduled, error) {
		b := &i.Body
		return p.Schedules().Add(ctx, schedule.Entry{When: b.When, Title: b.Title, Body: b.Body, Task: b.Task, To: b.To, Priority: b.Priority, Verify: b.Verify, Scope: b.Scope})
	})
	type entryIn struct {
		ID string `path:"id" maxLength:"100" doc:"Id of an entry"`
	}
	get(r, "schedule", "/api/schedule/{id}", "Show an entry of the schedule", func(_ context.Context, i *entryIn) (schedules.Scheduled, error) { return p.Schedules().Entry(i.ID) })
	add(r, http.MethodDelete, "schedule", "/api/schedule/{id}", "Remove an entry of the schedule", func(ctx context.Context, i *entryIn) (done, error) {
		err := p.Schedules().Remove(ctx, i.ID)
		return done{err == nil}, err
	})
	post(r, "schedule", "/api/schedule/{id}/run", "Fire an entry now, in addition to its times", func(ctx context.Context, i *entryIn) (schedule.Fired, error) {
		return p.Schedules().Run(ctx, i.ID)
	})

	type LockIn struct {
		Name string `path:"name" maxLength:"100" doc:"Name of a lock"`
	}
	get(r, "locks", "/api/locks", "List the locks that are held or waited for", func(_ context.Context, i *struct{ Paging }) (List[locking.LockReport], error) {
		all, err := p.Locks().List()
		if err != nil {
			return List[locking.LockReport]{}, err
		}
		return page(all, i.Paging, func(l *locking.LockReport) string { return l.Name })
	})
	post(r, "locks", "/api/locks/{name}/take", "Take a lock, as you, until you give it back; it is not waited for", func(ctx context.Context, i *struct {
		LockIn
		Body struct {
			Note string `json:"note,omitempty" maxLength:"500"`
		}
	}) (done, error) {
		err := p.Locks().Take(ctx, locking.TakeLock{Name: i.Name, Note: i.Body.Note})
		return done{err == nil}, err
	})
	for _, o := range []struct {
		name, summary string
		do            func(*locking.Locks, context.Context, string) error
	}{{"release", "Give back a lock that you took", (*locking.Locks).Release}, {"break", "Take a lock away from who holds it", (*locking.Locks).Break}} {
		post(r, "locks", "/api/locks/{name}/"+o.name, o.summary, func(ctx context.Context, i *LockIn) (done, error) {
			err := o.do(p.Locks(), ctx, i.Name)
			return done{err == nil}, err
		})
	}
	post(r, "alert", "/api/alert", "Call for you, as the configuration says: to try whether it reaches you", func(ctx context.Context, i *struct {
		Body struct {
			Level string `json:"level" enum:"info,warning,critical" doc:"How urgent it is"`
			Text  string `json:"text" minLength:"1" maxLength:"1000"`
		}
	}) (alerted, error) {
		ways, err := p.Letters().Alert(ctx, i.Body.Level, i.Body.Text)
		return alerted{ways}, err
	})
	get(r, "maintenance", "/api/maintenance", "List what the organization no longer needs; nothing is removed", func(ctx context.Context, _ *in) (*health.Upkeep, error) { return p.Health().PlanUpkeep(ctx) })
	post(r, "maintenance", "/api/maintenance", "Remove what is no longer needed of these kinds; what is in it is saved first", func(ctx context.Context, i *struct {
		Body struct {
			Items []upkeep.Item `json:"items" doc:"As they were shown: what is needed again by now stays"`
		}
	}) (maintained, error) {
		all, err := p.Health().Maintain(ctx, &health.Upkeep{Items: i.Body.Items}, func(upkeep.Kind) bool { return true })
		return maintained{all}, err
	})
	r.teams()
	r.recovery()
	r.seen()
}

// teams are several agents that are made together.
func (r *routes) teams() {
	p := r.Project
	type TeamName struct {
		Name string `path:"name" maxLength:"100"`
	}
	get(r, "teams", "/api/teams", "List the teams that there are", func(ctx context.Context, i *struct{ Paging }) (List[teams.TeamReport], error) {
		all, err := p.Teams().List(ctx)
		if err != nil {
			return List[teams.TeamReport]{}, err
		}
		return page(all, i.Paging, func(t *teams.TeamReport) string { return t.Name })
	})
	get(r, "teams", "/api/teams/{name}", "Show how a team stands", func(ctx context.Context, i *TeamName) (*teams.TeamReport, error) { return p.Teams().Show(ctx, i.Name) })
	get(r, "teams", "/api/team-templates", "List the kinds of teams", func(_ context.Context, i *struct{ Paging }) (List[team.Template], error) {
		all, err := p.Teams().Templates()
		if err != nil {
			return List[team.Template]{}, err
		}
		return page(all, i.Paging, func(t *team.Template) string { return t.Name })
	})
	get(r, "teams", "/api/team-templates/{name}", "Show a kind of team", func(_ context.Context, i *TeamName) (*team.Template, error) { return p.Teams().Template(i.Name) })
	post(r, "teams", "/api/teams/plan", "Say what a team would be; nothing is made", func(ctx context.Context, i *struct{ Body teamIn }) (*teams.TeamPlan, error) {
		return p.Teams().PlanTeam(ctx, i.Body.order())
	})
	post(r, "teams", "/api/teams", "Create a team, or continue an interrupted creation", func(ctx context.Context, i *struct{ Body teamIn }) (*teams.TeamReport, error) {
		plan, err := p.Teams().PlanTeam(ctx, i.Body.order())
		if err != nil {
			return nil, err
		}
		return p.Teams().SetUpTeam(ctx, plan)
	})
	add(r, http.MethodDelete, "teams", "/api/teams/{name}", "Cancel what a team has not finished and remove its members", func(ctx context.Context, i *struct {
		TeamName
		Force bool `query:"force" doc:"Also permanent ones"`
	}) (gone, error) {
		all, err := p.Teams().TakeTeamDown(ctx, i.Name, i.Force)
		return gone{all}, err
	})
}

// recovery is the health of the project, and the way back to it.
func (r *routes) recovery() {
	p := r.Project
	get(r, "recover", "/api/recover", "Say how healthy the project is, and what was done about it", func(context.Context, *in) (*health.Recovery, error) { return p.Health().State() })
	get(r, "recover", "/api/recover/log", "List the incidents of the project's health, oldest first", func(_ context.Context, i *struct{ Paging }) (List[*incident.Incident], error) {
		all, err := p.Health().HealthLog()
		if err != nil {
			return List[*incident.Incident]{}, err
		}
		return page(all, i.Paging, func(i **incident.Incident) string { return (*i).ID })
	})
	for _, o := range []struct {
		name, summary string
		do            func(*health.Health, context.Context, func(string)) (*health.Recovery, error)
	}{
		{"preview", "Check the project's health and say what a recovery would do; this begins it", func(h *health.Health, ctx context.Context, _ func(string)) (*health.Recovery, error) {
			return h.PreviewRecovery(ctx)
		}},
		{"now", "Start or continue a recovery", (*health.Health).RecoverNow},
		{"undo", "Bring the tree back to where the newest rollback found it; this begins it", (*health.Health).UndoRecovery},
	} {
		path := "/api/recover/" + o.name
		post(r, "recover", path, o.summary, func(context.Context, *in) (Job[health.Recovery], error) {
			return r.recoveries.of(o.name).begin(r, path, func(ctx context.Context, output io.Writer, begun func(string)) (*health.Recovery, error) {
				return o.do(p.Health(), ctx, func(line string) {
					begun(line)
					fmt.Fprintln(output, line)
				})
			})
		})
		get(r, "recover", path, "Show how that stands, or the last one ended", func(context.Context, *in) (Job[health.Recovery], error) {
			return stood(r, path, r.recoveries.of(o.name).look()), nil
		})
	}
}

// fileIn names a file of an archive.
type fileIn struct {
	Archive string `path:"archive" maxLength:"300" doc:"Its id in the list of archives"`
	Path    string `query:"path" required:"true" minLength:"1" maxLength:"4096"`
}

// seen is what is looked at now and then.
func (r *routes) seen() {
	p := r.Project
	get(r, "report", "/api/report", "Report what happened since a time: what ended, what broke, who used how much, what waits", func(ctx context.Context, i *struct {
		Since string `query:"since" maxLength:"40" default:"12h" doc:"A span such as 8h, or a time such as 22:00 or 2006-01-02 15:04"`
	}) (*overview.Away, error) {
		since, err := p.Overview().ReportSince(i.Since)
		if err != nil {
			return nil, err
		}
		return p.Overview().ReportAway(ctx, since)
	})
	get(r, "report", "/api/autonomy", "List what waits for one who leads", func(ctx context.Context, i *struct {
		Agent string `query:"agent" maxLength:"100" doc:"Empty: the supervisor"`
	}) (*overview.Autonomy, error) {
		return p.Overview().Autonomy(ctx, i.Agent)
	})
	get(r, "budget", "/api/limits", "List the accounts that have met a limit, with the time at which they work again", func(_ context.Context, i *struct{ Paging }) (List[control.AccountLimit], error) {
		all, err := p.Limits()
		if err != nil {
			return List[control.AccountLimit]{}, err
		}
		return page(all, i.Paging, func(l *control.AccountLimit) string { return l.Account })
	})
	get(r, "agents", "/api/archives/{archive}/files", "List the files that are kept of a removed agent", func(_ context.Context, i *struct {
		Archive string `path:"archive" maxLength:"300" doc:"Its id in the list of archives"`
		Paging
	}) (List[control.ArchiveFile], error) {
		all, err := p.ArchiveFiles(i.Archive)
		if err != nil {
			return List[control.ArchiveFile]{}, err
		}
		return page(all, i.Paging, func(f *control.ArchiveFile) string { return f.Path })
	})
	get(r, "agents", "/api/archives/{archive}/file", "Show a file that is kept of a removed agent, its first MB", func(_ context.Context, i *fileIn) (*files.FileSide, error) {
		return p.ArchiveFile(i.Archive, i.Path)
	})
	get(r, "journal", "/api/journal/tree", "List the newest days of the journal with their files", func(_ context.Context, i *struct {
		Days int `query:"days" minimum:"1" maximum:"400" default:"31"`
	}) (List[control.JournalTree], error) {
		all, err := p.JournalTree(i.Days)
		return List[control.JournalTree]{Items: all}, err
	})
	get(r, "journal", "/api/memory", "Show MEMORY.md, which every agent reads", func(context.Context, *in) (*control.MemoryText, error) { return p.MemoryText() })
	get(r, "health", "/api/onboarding", "Say what a project has that agents need, and what is missing", func(ctx context.Context, _ *in) (*control.Onboarding, error) { return p.Onboarding(ctx) })
	get(r, "budget", "/api/budget/history", "Show the tokens that were used over time, by agent and model", func(ctx context.Context, i *struct {
		Since string `query:"since" maxLength:"40" default:"24h" doc:"A span such as 8h, or a time such as 2006-01-02 15:04"`
		Step  int    `query:"step" minimum:"60" maximum:"86400" default:"3600" doc:"Length of a bucket, in seconds"`
	}) (*history, error) {
		since, err := p.Overview().ReportSince(i.Since)
		if err != nil {
			return nil, err
		}
		return r.history(ctx, since, time.Duration(i.Step)*time.Second)
	})
	get(r, "orders", "/api/orders", "List every order that can be given here, with what it takes", func(context.Context, *in) (List[knownOrder], error) {
		all := orders(r.api.OpenAPI())
		slices.SortFunc(all, func(a, b knownOrder) int {
			return slices.Compare([]string{a.Group, a.Path, a.Method}, []string{b.Group, b.Path, b.Method})
		})
		return List[knownOrder]{Items: all}, nil
	})
}
