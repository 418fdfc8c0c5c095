package control

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"cmux/agents/control/checks"
	"cmux/agents/control/commands"
	"cmux/agents/control/preflight"
	"cmux/agents/control/project"
	"cmux/agents/control/serving"
	"cmux/agents/kinds/agent"
	"cmux/agents/org/standing"
	"cmux/agents/org/trees"
	"cmux/agents/platform/tmux"
	"cmux/agents/runs/run"
	"cmux/agents/runs/runner"
	"cmux/signals"
	"cmux/worktree"
	"cmux/worktree/hint"
)

// StartOrg orders that the organization of the project is started.
type StartOrg struct {
	Env    bool   `json:"env,omitempty"` // freeze the caller's environment again
	Binary string `json:"-"`             // absolute path of this cmux
	Socket string `json:"-"`             // of the tmux server; empty: cmux's own
}

// StartingOrg is a start that was looked into. Nothing is made yet.
type StartingOrg struct {
	Running bool   `json:"running"` // it is there already, with its monitor
	Session string `json:"session"`
	First   bool   `json:"first"` // the project had none

	// Permissions says how its agents may act; empty: a person is to be asked.
	Permissions string `json:"permissions"`

	// Choices are the answers to how the agents may act; none: nobody is asked.
	Choices []PermissionChoice `json:"choices"`

	// Check is the command that is offered to check the agents' work; empty: nobody is
	// asked for one.
	Check string `json:"check"`

	Kind    string   `json:"agent"` // of the supervisor
	Remarks []string `json:"remarks"`

	p      *Project
	order  StartOrg
	config *standing.Config
	org    *standing.Org // nil: there is none
	repo   *worktree.Repo
	base   string // branch or commit that work comes together on
}

// PermissionChoice is a way in which agents may act, for a person to choose.
type PermissionChoice struct {
	Name  string `json:"name"`
	About string `json:"about"`
}

// PermissionChoices are the ways in which agents may act.
func PermissionChoices() []PermissionChoice {
	return []PermissionChoice{
		{standing.PermitAsked, "each agent program asks you as you have set it up, or as it does by default"},
		{standing.PermitAuto, "the agent program decides by itself what is safe, and does not ask you"},
		{standing.PermitAll, "agents ask nothing and may do everything that you may"},
	}
}

// CheckPermissions refuses an answer that is not one of the choices.
func CheckPermissions(name string) error {
	if slices.ContainsFunc(PermissionChoices(), func(c PermissionChoice) bool { return c.Name == name }) {
		return nil
	}
	return project.Usage("cmux start", "%q is none of ask, auto and bypass: nothing was started", name)
}

// StartedOrg is an organization that was started, or was running already.
type StartedOrg struct {
	Running bool     `json:"running"` // it ran already; nothing was done
	Session string   `json:"session"`
	Agents  []string `json:"agents"` // that it has: those that came back, and the supervisor
}

// OrderStart starts the organization for a person whose dashboard this process serves. It
// needs every answer at once: there is no terminal to ask on.
func (p *Project) OrderStart(ctx context.Context, o StartOrg, a FirstAnswers) (*StartedOrg, error) {
	if p.Program == nil {
		return nil, errors.New("no organization can be started here")
	}
	var err error
	if o.Binary, err = p.Program(); err != nil {
		return nil, fmt.Errorf("the path of this program: %w", err)
	}
	o.Socket = p.Getenv("CMUX_TMUX_SOCKET")
	s, err := p.PlanStartOrg(ctx, o)
	if err != nil {
		return nil, err
	}
	if !s.Running {
		if s.Permissions != "" {
			a.Permissions = s.Permissions
		} else if err := CheckPermissions(a.Permissions); err != nil {
			return nil, err
		}
		if err := s.Create(context.WithoutCancel(ctx), a); err != nil {
			return nil, err
		}
	}
	names, err := p.Overview().AgentNames()
	return &StartedOrg{Running: s.Running, Session: s.Session, Agents: names}, err
}

// PlanStartOrg reads and checks everything that a start needs.
func (p *Project) PlanStartOrg(ctx context.Context, o StartOrg) (*StartingOrg, error) {
	s := &StartingOrg{p: p, order: o}
	var err error
	if s.org, err = standing.Open(p.Root); errors.Is(err, run.ErrNoOrganization) {
		s.First, err = true, nil
	}
	if err != nil {
		return nil, err
	}
	if s.org != nil && s.org.Run.RunnerLives() {
		s.Running, s.Session = true, s.org.Run.Plan.Session
		return s, nil
	}
	if err := tmux.Check(ctx); err != nil {
		return nil, hint.New(err, "install tmux 3.2 or newer")
	}
	if s.config, err = p.Configured(); err != nil {
		return nil, err
	}
	if s.repo, err = worktree.Open(ctx, p.Root); err != nil {
		return nil, err
	}
	if err := s.integration(ctx); err != nil {
		return nil, err
	}
	s.Permissions = s.config.Permissions
	if s.org != nil && s.org.Settings.Permissions == "" { // only its rooms were started
		s.First = true
	} else if s.org != nil {
		s.Permissions = s.org.Settings.Permissions
		if err := s.differing(); err != nil {
			return nil, err
		}
	}
	s.Kind = supervisorKind(s.config)
	if err := s.preflight(ctx); err != nil {
		return nil, err
	}
	if s.Permissions == "" {
		s.Choices = PermissionChoices()
	}
	if s.Unchecked() {
		s.Check = checks.Test(p.Root)
	}
	return s, s.name(ctx)
}

// supervisorKind is the kind of a new supervisor.
func supervisorKind(c *standing.Config) string {
	if c.Supervisor.Agent == "" {
		return "claude"
	}
	return c.Supervisor.Agent
}

// differing tells what the file says that is not in force. An agent can write
// it: after the first start, a person takes it into use.
func (s *StartingOrg) differing() error {
	c, err := s.p.OrgConfig()
	if err != nil {
		return err
	}
	for _, change := range c.Changes {
		s.Remarks = append(s.Remarks, fmt.Sprintf("%s is not in force as %s has it (%s): cmux config apply", change.Key, c.File, change))
	}
	return nil
}

// integration finds the branch that work comes together on.
func (s *StartingOrg) integration(ctx context.Context) error {
	s.base = s.config.Integration
	if s.org != nil {
		s.base = s.org.Settings.Integration
	}
	base, err := s.repo.Base(ctx, s.base)
	if err != nil && s.org != nil {
		return hint.New(fmt.Errorf("the branch that work comes together on: %w", err), "another integration: in .cmux/config.yml, and cmux config apply")
	} else if err != nil {
		return hint.New(fmt.Errorf("the branch that work comes together on: %w", err), "another integration: in .cmux/config.yml")
	}
	if s.base == "" {
		if s.base = base.Branch; s.base == "" {
			s.base = base.Commit
		}
	}
	return nil
}

// preflight looks for what would keep the supervisor from working.
func (s *StartingOrg) preflight(ctx context.Context) error {
	k, ok := s.p.Kinds[s.Kind]
	if !ok || !k.Judge {
		return project.Usage("", "supervisor: there is no kind of agent %q", s.Kind)
	}
	setup := agent.Setup{Env: s.p.Env, Root: s.p.Root, AutoAccept: s.Permissions == standing.PermitAll, Asks: s.Permissions != standing.PermitAll}
	if s.Permissions == standing.PermitAuto && k.Can.Automatic == "" {
		s.Remarks = append(s.Remarks, fmt.Sprintf("%s has no way of its own to decide what is safe: with permissions: auto it asks", s.Kind))
	}
	var errs []error
	want := standing.Org{Settings: standing.Settings{Fence: s.config.Fence}}
	if s.org != nil {
		want.Settings = s.org.Settings
	}
	if note, err := preflight.Standing(want.Fence()); err != nil {
		errs = append(errs, err)
	} else if note != "" {
		s.Remarks = append(s.Remarks, note)
	}
	for _, problem := range preflight.Kind(ctx, s.Kind, setup).Problems {
		text := fmt.Sprintf("%s: %s (%s)", s.Kind, problem.What, problem.Try)
		if problem.Fatal {
			errs = append(errs, errors.New(text))
		} else {
			s.Remarks = append(s.Remarks, text)
		}
	}
	return errors.Join(errs...)
}

// name finds the name of the session: the configuration's, the one that the
// organization has, or one of the project's folder that nobody else has.
func (s *StartingOrg) name(ctx context.Context) error {
	server := runner.TmuxServer(s.p.Root, s.order.Socket)
	fixed := s.config.Session
	if fixed == "" && s.org != nil {
		fixed = s.org.Run.Plan.Session
	}
	usual := "cmux-" + strings.Trim(regexp.MustCompile(`[^A-Za-z0-9_-]+`).ReplaceAllString(filepath.Base(s.p.Root), "-"), "-")
	for n := 0; ; n++ {
		name := usual
		switch {
		case n == 0 && fixed == "":
			continue
		case n == 0:
			name = fixed
		case n > 1:
			name = fmt.Sprintf("%s-%d", usual, n)
		}
		whose, err := s.taken(ctx, server, name)
		if err != nil {
			return err
		}
		if whose == "" {
			s.Session = name
			return nil
		}
		if s.config.Session != "" {
			return hint.New(fmt.Errorf("the session %q is taken by %s", name, whose), "another session: in .cmux/config.yml")
		}
	}
}

// taken says whose a session's name is; empty: nobody's, or the organization's.
func (s *StartingOrg) taken(ctx context.Context, server *tmux.Server, name string) (whose string, err error) {
	sessions, err := s.p.Runs().Sessions()
	if err != nil {
		return "", err
	}
	for _, other := range sessions {
		if other == name {
			return "a run of this project", nil
		}
	}
	_, whose, _, err = standing.Session(ctx, server, s.p.Root, name)
	return whose, err
}

// FirstAnswers are what a person says at the first start.
type FirstAnswers struct {
	Permissions string // how the agents may act
	Verify      string // the command that checks their work; empty: none, or the configuration has one
}

// Unchecked reports whether this is the first start and no command checks what the
// agents do.
func (s *StartingOrg) Unchecked() bool { return s.First && len(s.config.Verify) == 0 }

// Create makes the organization as it was looked into, or takes up the one that
// there is, with its monitor.
func (s *StartingOrg) Create(ctx context.Context, a FirstAnswers) error {
	p := s.p
	if err := errors.Join(s.repo.KeepRoot(), signals.Init(p.Root)); err != nil {
		return err
	}
	if err := s.keepAnswers(a); err != nil {
		return err
	}
	if a.Verify != "" && s.Unchecked() {
		s.config.Verify = []string{a.Verify}
	}
	env := p.Env
	if s.org != nil && !s.order.Env {
		kept, err := s.org.Run.Env()
		if err != nil {
			return hint.New(fmt.Errorf("the environment of the organization cannot be read: %w", err), "cmux start --env")
		}
		env = kept
	}
	r, err := run.CreateOrganization(p.Root, s.Session, s.order.Socket, env, s.order.Binary)
	if err != nil {
		return err
	}
	if err := standing.WriteRoles(p.Root); err != nil {
		return err
	}
	org, err := standing.Open(p.Root)
	if err != nil {
		return err
	}
	if s.org == nil || org.Settings.Permissions == "" {
		if err := org.Set(ctx, s.config.Settings(standing.Settings{Permissions: a.Permissions, Integration: s.base}, s.Kind)); err != nil {
			return err
		}
	}
	if err := s.supervisor(ctx, org); err != nil {
		return err
	}
	if err := s.p.Crew().LeadProjects(ctx, org); err != nil {
		return err
	}
	if err := s.wake(ctx, org); err != nil {
		return err
	}
	return standing.StartMonitor(ctx, r, runner.TmuxServer(p.Root, s.order.Socket))
}

// keepAnswers writes what a person said into the configuration, where it says nothing
// of that.
func (s *StartingOrg) keepAnswers(a FirstAnswers) error {
	added := ""
	if s.config.Permissions == "" {
		added += "permissions: " + a.Permissions + "\n"
	}
	if a.Verify != "" && s.Unchecked() {
		added += fmt.Sprintf("verify: [%q]\n", a.Verify)
	}
	if added == "" {
		return nil
	}
	path := s.p.ConfigPath()
	src, err := project.ReadConfig(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if len(src) > 0 && src[len(src)-1] != '\n' {
		src = append(src, '\n')
	}
	src = append(src, added...)
	if _, err := standing.ParseConfig(path, src); err != nil {
		return nil // it is written in another way: what counts is kept in any case
	}
	return signals.WriteFile(path, src, 0o644)
}

// supervisor makes the supervisor, or what the configuration makes of it now.
func (s *StartingOrg) supervisor(ctx context.Context, org *standing.Org) error {
	spec := &standing.Spawn{Name: standing.Supervisor, Role: standing.Supervisor, Kind: s.Kind, Model: s.config.Supervisor.Model,
		Dir: s.p.Root, RoleFile: standing.RolePath(s.p.Root, standing.Supervisor)}
	m, err := org.Member(spec, s.p.Kinds, s.p.Now())
	if err != nil {
		return err
	}
	was := org.Agents[standing.Supervisor]
	if was != nil {
		m.ID, m.CreatedAt = was.Member.ID, was.Member.CreatedAt
		if was.Member.Kind == m.Kind {
			m.Account = was.Member.Account // another one takes a person's word
		}
		if m == was.Member {
			return nil
		}
	}
	if err := org.WriteContext(&m); err != nil {
		return err
	}
	if err := org.Join(ctx, m, ""); err != nil {
		return err
	}
	if was != nil && was.Member.Kind != m.Kind {
		// No other program can go on in its conversation.
		return org.RecordOf(ctx, m.Name, run.Record{Type: run.Reset, Fresh: true})
	}
	return org.Look()
}

// wake lets the keeper start what it may not have started before.
func (s *StartingOrg) wake(ctx context.Context, org *standing.Org) error {
	for name, a := range org.Agents {
		if a.Stopped || a.Crashing() || a.Held != "" {
			if err := org.RecordOf(ctx, name, run.Record{Type: run.Resumed}); err != nil {
				return err
			}
		}
	}
	for name, account := range org.Accounts(s.p.Kinds) {
		a := org.Agents[name]
		if a.Conversation == "" {
			a.Member.Account = account
			if err := org.Join(ctx, a.Member, ""); err != nil {
				return err
			}
			continue
		}
		why := fmt.Sprintf("its conversation is that of the account %s, and its environment has %s now", a.Member.Account, account)
		if err := org.Hold(ctx, name, why); err != nil {
			return err
		}
	}
	// A stop that nobody carried out is over with this.
	if err := org.Run.Withdraw(time.Now()); err != nil {
		return err
	}
	if !org.Stopped {
		return nil
	}
	return org.Record(ctx, run.Record{Type: run.Resumed})
}

// MonitorOptions is what the process of the monitor's window is made of.
type MonitorOptions struct {
	Dir    string // the organization's folder
	Launch string
	Pane   string // that it runs in
	// Detached: it runs without tmux, and so do the agents.
	Detached bool
	Kinds    agent.Kinds
	Tell     func() // something is new; must not wait
	Bell     func() // somebody is wanted
	Project  *Project
}

// Monitor keeps the organization in this process. It returns without an error
// when it was stopped.
func Monitor(ctx context.Context, o MonitorOptions) (err error) {
	r, err := run.OpenPlan(o.Dir)
	if err != nil {
		return err
	}
	file, err := commands.RunnerLog(r)
	if err != nil {
		return err
	}
	defer file.Close()
	logger := commands.RunnerLogger(file)
	repo, err := worktree.Open(ctx, r.Plan.Root)
	if err != nil {
		return err
	}
	tell, kept := keepRooms(ctx, o.Project, logger)
	defer kept()
	options := standing.Options{
		Root: r.Plan.Root, Windows: standing.Nowhere{}, Host: standing.Detached, Trees: trees.Git{Repo: repo}, Kinds: o.Kinds, Launch: o.Launch, Log: logger,
		Tell: func(*standing.Org) {
			o.Tell()
			tell()
		},
		Bell: o.Bell,
	}
	if o.Detached {
		served := serving.KeepServer(ctx, r, logger)
		defer served()
		if err = standing.Run(ctx, options); err != nil {
			logger.Error("the monitor failed", "err", err)
		}
		return err
	}
	panes, err := standing.NewPanes(ctx, r, runner.TmuxServer(r.Plan.Root, r.Plan.Socket))
	if err != nil {
		return err
	}
	options.Windows, options.Host = panes, panes.Host
	served := serving.KeepServer(ctx, r, logger)
	err = standing.Run(ctx, options)
	served()
	var own tmux.PaneID
	if err == nil && ctx.Err() == nil {
		own = tmux.PaneID(o.Pane) // it leaves in order
	}
	if err != nil {
		logger.Error("the monitor failed", "err", err)
	}
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	return errors.Join(err, panes.Disconnect(ending, own))
}
