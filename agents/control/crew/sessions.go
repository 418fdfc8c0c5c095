package crew

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"cmux/agents/control/project"
	"cmux/agents/org/standing"
	"cmux/agents/org/task"
	"cmux/agents/runs/runner"
	"cmux/worktree/hint"
)

// SpawnSession orders a tmux session with a supervisor of its own, for work that
// takes several agents and somebody who leads them.
type SpawnSession struct {
	Name  string `json:"name"`
	Task  string `json:"task,omitempty"` // goal of its supervisor
	Kind  string `json:"agent,omitempty"`
	Model string `json:"model,omitempty"`
}

// SpawnedSession is a session that was made.
type SpawnedSession struct {
	Name       string `json:"name"`
	Session    string `json:"session"` // of tmux
	Supervisor string `json:"supervisor"`
	Task       string `json:"task"` // that the supervisor was given; empty: none
}

// OrgSession is a session beside the organization's own.
type OrgSession struct {
	Name       string   `json:"name"`
	Session    string   `json:"session"`
	Supervisor string   `json:"supervisor"`
	State      string   `json:"state"`  // of its supervisor; empty: it is gone
	Agents     []string `json:"agents"` // besides
}

// SpawnSession makes a session and its supervisor.
func (p *Crew) SpawnSession(ctx context.Context, o SpawnSession) (*SpawnedSession, error) {
	org, err := p.Running()
	if err != nil {
		return nil, err
	}
	by, err := p.Orderer()
	if err != nil {
		return nil, err
	}
	lead := standing.LeadName(o.Name)
	if !regexp.MustCompile(`^[A-Za-z0-9_-]+$`).MatchString(o.Name) {
		return nil, project.Usage("", "%q is no name for a session: use letters, digits, _ and -", o.Name)
	}
	if err := org.CheckNew(lead, standing.ProjectSupervisor); err != nil {
		return nil, project.Tag(err, project.ErrUsage)
	}
	made := &SpawnedSession{Name: o.Name, Session: org.Run.Plan.Session + "-" + o.Name, Supervisor: lead}
	if err := p.freeSession(ctx, org, made.Session); err != nil {
		return nil, err
	}
	s := standing.Spawn{Name: lead, Role: standing.ProjectSupervisor, Kind: o.Kind, Model: o.Model, Session: made.Session, Supervisor: by,
		Dir: p.Root, RoleFile: standing.RolePath(p.Root, standing.Supervisor)}
	if err := p.AskKeeper(ctx, standing.OpSpawn, lead, standing.Ask{By: by, Spawn: &s}, nil); err != nil {
		return nil, err
	}
	f := task.Told(o.Task)
	if f == nil {
		return made, nil
	}
	t, err := p.Tasks.Add(ctx, *f)
	if err == nil {
		made.Task = t.ID
		_, err = p.Tasks.Assign(ctx, t.ID, lead)
	}
	if err != nil {
		return nil, fmt.Errorf("the session %s is made, but its supervisor has no task: %w", made.Session, err)
	}
	return made, nil
}

// freeSession refuses the name of a tmux session that somebody has.
func (p *Crew) freeSession(ctx context.Context, org *standing.Org, name string) error {
	runs, err := p.Runs.Sessions()
	if err != nil {
		return err
	}
	whose := ""
	if slices.Contains(runs, name) {
		whose = "a run of this project"
	} else if _, whose, _, err = standing.Session(ctx, runner.TmuxServer(p.Root, org.Run.Plan.Socket), p.Root, name); err != nil {
		return err
	}
	if whose != "" {
		return project.Usage("", "the tmux session %q is taken by %s: take another name", name, whose)
	}
	return nil
}

// SessionsOf are the tmux sessions of an organization beside its own.
func SessionsOf(org *standing.Org) (all []string) {
	for _, name := range org.Names() {
		if s := org.Agents[name].Member.Session; s != "" && !slices.Contains(all, s) {
			all = append(all, s)
		}
	}
	return all
}

// Sessions are the sessions beside the organization's own.
func (p *Crew) Sessions() ([]OrgSession, error) {
	org, err := p.Org()
	if err != nil {
		return nil, err
	}
	all := []OrgSession{}
	for _, session := range SessionsOf(org) {
		name := strings.TrimPrefix(session, org.Run.Plan.Session+"-")
		one := OrgSession{Name: name, Session: session, Supervisor: standing.LeadName(name), Agents: []string{}}
		for _, n := range org.Names() {
			a := org.Agents[n]
			switch {
			case a.Member.Session != session:
			case n == one.Supervisor:
				word, _ := a.Stands(p.Now(), org.Stopped)
				one.State = string(word)
			default:
				one.Agents = append(one.Agents, n)
			}
		}
		all = append(all, one)
	}
	return all, nil
}

// EndSession removes the agents of a session, its supervisor first, who would give
// the others work, and with them the session. What they leave is kept. force is what
// it takes where one of them has work or is to stay.
func (p *Crew) EndSession(ctx context.Context, name string, force bool) ([]Gone, error) {
	if _, err := p.Running(); err != nil {
		return nil, err
	}
	all, err := p.Sessions()
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(all, func(s OrgSession) bool { return s.Name == name || s.Session == name })
	if i < 0 {
		return nil, project.Usage("cmux sessions list", "there is no session %q", name)
	}
	names := all[i].Agents
	if all[i].State != "" {
		names = slices.Insert(names, 0, all[i].Supervisor)
	}
	by, err := p.Orderer()
	if err != nil {
		return nil, err
	}
	if slices.Contains(names, by) {
		return nil, fmt.Errorf("%s cannot end the session that it is in", by)
	}
	if !force {
		if err := p.idle(all[i].Name, names); err != nil {
			return nil, err
		}
	}
	gone := []Gone{}
	for _, n := range names {
		var err error
		if !force {
			err = p.idle(all[i].Name, []string{n}) // it may have got work meanwhile
		}
		var g *Gone
		if err == nil {
			g, err = p.Kill(ctx, n, force || n == all[i].Supervisor)
		}
		if err != nil {
			return gone, err
		}
		gone = append(gone, *g)
	}
	return gone, nil
}

// idle refuses to remove agents of which one has work or is to stay.
func (p *Crew) idle(session string, names []string) error {
	for _, n := range names {
		_, a, err := p.StandingAgent(n)
		if err != nil {
			return err
		}
		if a.Member.Role == standing.PermanentWorker {
			return hint.New(fmt.Errorf("%s is a permanent worker, which stays", n), "cmux sessions end --force "+session)
		}
		if err := p.rests(a); err != nil {
			return err
		}
	}
	return nil
}

// SessionNames are the names of the sessions beside the organization's own.
func (p *Crew) SessionNames() (names []string, err error) {
	all, err := p.Sessions()
	for _, s := range all {
		names = append(names, s.Name)
	}
	return names, err
}
