// Package teams sets teams of standing agents up from templates, shows them and takes
// them down.
package teams

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"cmux/agents/control/crew"
	"cmux/agents/control/overview"
	"cmux/agents/control/project"
	"cmux/agents/control/tasks"
	"cmux/agents/org/standing"
	"cmux/agents/org/task"
	"cmux/agents/org/team"
	"cmux/signals"
	"cmux/worktree/hint"
)

// Teams are the teams of a project.
type Teams struct {
	*project.Project
	Crew     *crew.Crew
	Tasks    *tasks.Tasks
	Overview *overview.Overview
}

// TeamOrder orders a team.
type TeamOrder struct {
	Template  string
	Name      string // empty: made of the task
	Task      string // what it is to do; empty: nothing yet
	Permanent bool
	Dir       string // the members work here, beside whoever else does; empty: each in a worktree of its own
}

// TeamPlan is a team that is to be made, to be looked at before.
type TeamPlan struct {
	Name      string          `json:"name"`
	Template  team.Template   `json:"template"`
	Permanent bool            `json:"permanent"`
	Members   []PlannedMember `json:"members"`
	Profile   team.Profile    `json:"profile"`

	order TeamOrder
}

// PlannedMember is a member of a TeamPlan.
type PlannedMember struct {
	Name       string `json:"name"`
	Role       string `json:"role"`
	Lead       bool   `json:"lead"`
	Supervisor string `json:"supervisor"`
	RoleFile   string `json:"role_context"`
	Text       string `json:"text"`  // of the role file
	Kept       bool   `json:"kept"`  // the role file is there, and stays as it is
	There      bool   `json:"there"` // the agent is there
	member     team.Member
}

// Templates are the templates that the project has, its own behind those that
// every one has.
func (p *Teams) Templates() ([]team.Template, error) {
	all := append(team.Templates(), team.Core())
	org, err := standing.Open(p.Root)
	if err == nil {
		return append(all, org.Settings.Teams...), nil
	}
	c, err := p.Configured()
	if err != nil {
		return nil, err
	}
	return append(all, c.Teams...), nil
}

// Template is the template of a name.
func (p *Teams) Template(name string) (*team.Template, error) {
	all, err := p.Templates()
	if err != nil {
		return nil, err
	}
	for _, t := range slices.Backward(all) { // the project's own come first
		if t.Name == name {
			return &t, nil
		}
	}
	return nil, hint.New(project.Tag(fmt.Errorf("there is no kind of team %q", name), project.ErrMissing), "cmux teams list")
}

// PlanTeam says what a team would be. It changes nothing.
func (p *Teams) PlanTeam(ctx context.Context, o TeamOrder) (*TeamPlan, error) {
	org, err := p.Running()
	if err != nil {
		return nil, err
	}
	t, err := p.Template(o.Template)
	if err != nil {
		return nil, err
	}
	if o.Name == "" {
		if o.Name = team.Called(o.Task); o.Permanent {
			o.Name = "perm"
		}
	}
	if !regexp.MustCompile(team.NamePattern).MatchString(o.Name) {
		return nil, project.Usage("", "%.40q is no name for a team: use small letters, digits and -", o.Name)
	}
	if o.Permanent && o.Name != "perm" {
		o.Name = "perm-" + strings.TrimPrefix(o.Name, "perm-")
	}
	boss, err := p.Orderer()
	if err != nil {
		return nil, err
	}
	if boss == "" {
		boss = standing.Supervisor
	}
	plan := &TeamPlan{Name: o.Name, Template: *t, Permanent: o.Permanent, order: o}
	if plan.Profile, err = p.scan(ctx); err != nil {
		return nil, err
	}
	said := team.Said{Team: o.Name, Permanent: o.Permanent, Debate: t.Debate, Profile: plan.Profile}
	leader := ""
	for _, m := range t.Members {
		mate := team.Mate{Name: o.Name + "-" + m.Role, Member: m}
		said.Mates = append(said.Mates, mate)
		if m.Lead {
			leader = mate.Name
		}
	}
	for _, mate := range said.Mates {
		m := PlannedMember{Name: mate.Name, Role: mate.Role, Lead: mate.Lead, Supervisor: boss, RoleFile: standing.RolePath(p.Root, mate.Name), member: mate.Member}
		if leader != "" && !mate.Lead {
			m.Supervisor = leader
		}
		if a := org.Agents[m.Name]; a != nil {
			if m.There = true; a.Member.Team != o.Name {
				return nil, fmt.Errorf("there is an agent %s, which is not of the team %s: name the team otherwise", m.Name, o.Name)
			}
		}
		if _, err := signals.Type(m.RoleFile); err == nil {
			m.Kept = true
		}
		said.Me, said.Boss = mate, m.Supervisor
		m.Text = team.Role(said)
		plan.Members = append(plan.Members, m)
	}
	return plan, nil
}

// scan looks at the project.
func (p *Teams) scan(ctx context.Context) (team.Profile, error) {
	var l team.Listing
	out, err := p.Git(ctx, p.Root, "ls-files", "-z")
	if err != nil {
		return team.Profile{}, err
	}
	l.Files = strings.Split(strings.TrimSuffix(out, "\x00"), "\x00")
	l.Texts = make(map[string]string)
	for _, name := range team.Wanted() {
		if b, err := signals.ReadFile(filepath.Join(p.Root, name), 1<<20); err == nil { // else it says nothing
			l.Texts[name] = string(b)
		}
	}
	if l.Log, err = p.Git(ctx, p.Root, "log", "-n", "500", "--name-only", "--format=%x00%an"); err != nil {
		l.Log = "" // there is no commit
	}
	return team.Scan(l), nil
}

// SetUpTeam writes the role files that are not there, makes the members that are not
// there, and gives them the task. Called again it goes on where it was cut off.
func (p *Teams) SetUpTeam(ctx context.Context, plan *TeamPlan) (*TeamReport, error) {
	if err := signals.MkdirAll(filepath.Dir(plan.Members[0].RoleFile), 0o755); err != nil {
		return nil, err
	}
	by, err := p.Orderer()
	if err != nil {
		return nil, err
	}
	ids := make(map[string]string)
	for _, m := range plan.Members {
		if !m.Kept {
			if err := signals.WriteFile(m.RoleFile, []byte(m.Text), 0o644); err != nil {
				return nil, err
			}
		}
		if m.There {
			continue
		}
		s := standing.Spawn{Name: m.Name, Role: standing.Worker, Kind: m.member.Agent, Model: m.member.Model, Supervisor: m.Supervisor, RoleFile: m.RoleFile, Team: plan.Name, TeamLead: m.Lead}
		if plan.Permanent {
			s.Role, s.Permanent = standing.PermanentWorker, true
		}
		if plan.order.Dir != "" {
			s.Dir = p.Abs(plan.order.Dir)
		}
		var made standing.Made
		if err := p.AskKeeper(ctx, standing.OpSpawn, s.Name, standing.Ask{By: by, Spawn: &s}, &made); err != nil {
			return nil, fmt.Errorf("%s could not be made; repeat the command for those that are missing: %w", m.Name, err)
		}
	}
	org, err := p.Org()
	if err != nil {
		return nil, err
	}
	for _, m := range plan.Members {
		if a := org.Agents[m.Name]; a != nil {
			ids[m.Name] = a.Member.ID
		}
	}
	if err := p.teamTasks(ctx, plan, ids); err != nil {
		return nil, fmt.Errorf("the team is there, but has no task: %w", err)
	}
	return p.Show(ctx, plan.Name)
}

// teamTasks gives the members of a team what it is to do, once.
func (p *Teams) teamTasks(ctx context.Context, plan *TeamPlan, ids map[string]string) error {
	f := task.Told(plan.order.Task)
	if f == nil {
		return nil
	}
	by, _, err := p.Sender()
	if err != nil {
		return err
	}
	_, err = p.Tasks.Write(ctx, func(l *task.List) (all []task.Change, err error) {
		n := 0
		first := l.NextID()
		id := func() string { // of the next task that is added here
			var start int
			fmt.Sscanf(first, "t%d", &start)
			n++
			return fmt.Sprintf("t%d", start+n-1)
		}
		give := func(m PlannedMember, title, body string, after []string) string {
			key := "team/" + plan.Name + "/" + ids[m.Name]
			if t := l.ByKey(key); t != nil {
				return t.ID
			}
			at, text := id(), strings.TrimSpace(body)
			title = task.Titled(title)
			fields := task.Fields{Title: &title, Body: &text}
			if after != nil {
				fields.After = &after
			}
			all = append(all, task.Change{Task: at, Op: task.OpAdd, By: by.String(), Fields: fields, Key: key},
				task.Change{Task: at, Saw: 1, Op: task.OpMove, By: by.String(), To: task.Assigned, Agent: m.Name})
			return at
		}
		lead := slices.IndexFunc(plan.Members, func(m PlannedMember) bool { return m.Lead })
		switch {
		case plan.Template.Debate:
			var before, files []string
			for i, m := range plan.Members {
				if i == lead {
					continue
				}
				file := "proposals/" + plan.Name + "/" + m.Role + ".md"
				title := "Proposal (" + m.Role + "): " + *f.Title
				at := give(m, title, fmt.Sprintf("%s\n\nWrite your proposal as %s and commit it. Another one writes against you; do not wait for them.", *f.Body, file), nil)
				before = append(before, at)
				t := task.Task{ID: at, Title: task.Titled(title)}
				files = append(files, fmt.Sprintf("git show %s:%s", t.WorkBranch(), file))
			}
			give(plan.Members[lead], "Decide: "+*f.Title, fmt.Sprintf("%s\n\nThe proposals:\n%s\n\nWrite your decision as proposals/%s/decision.md, and commit it.", *f.Body, strings.Join(files, "\n"), plan.Name), before)
		case lead >= 0:
			give(plan.Members[lead], *f.Title, *f.Body+"\n\nYou lead the team "+plan.Name+": your role file names its members.", nil)
		default:
			for _, m := range plan.Members {
				give(m, *f.Title, *f.Body, nil)
			}
		}
		return all, nil
	})
	return err
}

// TeamReport is how a team stands.
type TeamReport struct {
	Name   string                 `json:"name"`
	Agents []overview.AgentReport `json:"agents"`
}

// List are the teams that there are, by name.
func (p *Teams) List(ctx context.Context) ([]TeamReport, error) {
	r, err := p.Overview.Organization(ctx)
	if err != nil {
		return nil, err
	}
	all := []TeamReport{}
	for _, a := range r.Agents {
		if a.Team == "" {
			continue
		}
		i := slices.IndexFunc(all, func(t TeamReport) bool { return t.Name == a.Team })
		if i < 0 {
			i = len(all)
			all = append(all, TeamReport{Name: a.Team})
		}
		all[i].Agents = append(all[i].Agents, a)
	}
	slices.SortFunc(all, func(a, b TeamReport) int { return strings.Compare(a.Name, b.Name) })
	return all, nil
}

// Show is how one team stands.
func (p *Teams) Show(ctx context.Context, name string) (*TeamReport, error) {
	all, err := p.List(ctx)
	if err != nil {
		return nil, err
	}
	for i := range all {
		if all[i].Name == name {
			return &all[i], nil
		}
	}
	return nil, hint.New(project.Tag(fmt.Errorf("there is no team %q", name), project.ErrMissing), "cmux teams status")
}

// TakeTeamDown cancels what a team has not finished and removes its members, the lead
// last. force is what it takes for permanent ones.
func (p *Teams) TakeTeamDown(ctx context.Context, name string, force bool) ([]crew.Gone, error) {
	t, err := p.Show(ctx, name)
	if err != nil {
		return nil, err
	}
	org, err := p.Running()
	if err != nil {
		return nil, err
	}
	for _, a := range t.Agents {
		if a.Permanent && !force {
			return nil, fmt.Errorf("%s is a permanent worker, which stays: with --force a person removes it", a.Name)
		}
	}
	slices.SortStableFunc(t.Agents, func(a, b overview.AgentReport) int {
		lead := func(x overview.AgentReport) int {
			if o := org.Agents[x.Name]; o != nil && o.Member.TeamLead {
				return 1
			}
			return 0
		}
		return lead(a) - lead(b)
	})
	list, err := p.TaskList()
	if err != nil {
		return nil, err
	}
	for _, x := range list.All() {
		if slices.ContainsFunc(t.Agents, func(a overview.AgentReport) bool { return a.Name == x.Agent }) && !x.State.Over() {
			if _, err := p.Tasks.Move(ctx, x.ID, task.Cancelled, "the team "+name+" was taken down"); err != nil && !errors.Is(err, task.ErrIllegal) {
				return nil, err
			}
		}
	}
	gone := []crew.Gone{}
	for _, a := range t.Agents {
		g, err := p.Crew.Kill(ctx, a.Name, force)
		if err != nil {
			return gone, fmt.Errorf("%s could not be removed; repeat the command to continue: %w", a.Name, err)
		}
		gone = append(gone, *g)
	}
	return gone, nil
}
