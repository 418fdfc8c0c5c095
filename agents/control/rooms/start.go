package rooms

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"cmux/agents/control/project"
	"cmux/agents/kinds"
	"cmux/agents/kinds/agent"
	"cmux/agents/org/persona"
	"cmux/agents/org/standing"
	"cmux/agents/org/subject"
	"cmux/agents/platform/tmux"
	"cmux/agents/room"
	"cmux/agents/room/book"
	"cmux/agents/room/marks"
	"cmux/signals"
	"cmux/worktree/hint"
)

// most members and guests that a room has, and open rooms that a project has.
const (
	mostMembers = 16
	mostGuests  = 5
	mostTurns   = 1000     // of a member in a round
	mostTimeout = 31536000 // seconds: a year
	mostRooms   = 50
)

// Start is a room to be made.
type Start struct {
	Name     string   // empty: the first of room, room-2, … that is free
	Members  []string // each KIND[=NAME][:ROLE]; none: every program that is installed and ready
	Pane     bool
	Settings Change // what differs from the project's defaults
}

// Starting is a start that was looked into. Nothing is made yet.
type Starting struct {
	Name    string
	Lines   []room.Line // that join
	Remarks []string
	Cost    room.Cost // of a first question to all

	settings room.Settings
}

// ParseMember reads KIND[=NAME][:ROLE]. Without a kind it is the one that the role's file names.
func ParseMember(s string) (kind, name, role string) {
	s, role, _ = strings.Cut(s, ":")
	kind, name, _ = strings.Cut(s, "=")
	return strings.TrimSpace(kind), strings.TrimSpace(name), strings.TrimSpace(role)
}

// Plan looks into a start: names, kinds, and each member's program.
func (p *Rooms) Plan(ctx context.Context, start Start) (*Starting, error) {
	config, err := p.Config()
	if err != nil {
		return nil, err
	}
	s := &Starting{Name: start.Name, settings: start.Settings.Over(config.Settings)}
	all, err := p.names()
	if err != nil {
		return nil, err
	}
	if s.Name == "" {
		s.Name = "room"
		for n := 2; slices.Contains(all, s.Name); n++ {
			s.Name = fmt.Sprintf("room-%d", n)
		}
	}
	if err := book.CheckName(s.Name); err != nil {
		return nil, project.Usage("", "%w", err)
	}
	if slices.ContainsFunc(all, func(other string) bool { return strings.EqualFold(other, s.Name) }) {
		return nil, project.Usage("cmux rooms open "+s.Name, "there is a room %s already", s.Name)
	}
	if err := p.room(all); err != nil {
		return nil, err
	}
	if err := p.checkSettings(&s.settings); err != nil {
		return nil, err
	}
	if s.settings.About, err = p.resolve(s.settings.About); err != nil {
		return nil, err
	}
	if start.Pane {
		if err := tmux.Check(ctx); err != nil {
			return nil, hint.New(err, "the same without --pane")
		}
	}
	wanted := start.Members
	if len(wanted) == 0 {
		if wanted, err = p.ready(ctx, start.Pane, &s.Remarks); err != nil {
			return nil, err
		}
	}
	if len(wanted) > mostMembers {
		return nil, project.Usage("", "%d members, and a room has at most %d", len(wanted), mostMembers)
	}
	var errs []error
	for _, text := range wanted {
		l, remarks, err := p.member(ctx, s.Name, text, start.Pane, s.Lines)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		s.Lines, s.Remarks = append(s.Lines, *l), append(s.Remarks, remarks...)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	lines := []room.Line{{N: 1, Kind: room.KindOpened, Settings: &s.settings}}
	for i := range s.Lines {
		l := s.Lines[i]
		l.N, l.Kind = int64(i+2), room.KindJoined
		lines = append(lines, l)
	}
	state := room.Fold(s.Name, lines)
	if err := roles(&s.settings, &state); err != nil {
		return nil, err
	}
	s.Cost = state.Cost("", "")
	return s, nil
}

// roles checks those whom the settings name.
func roles(set *room.Settings, state *room.State) error {
	for _, who := range []struct{ flag, name string }{{"moderator", set.Moderator}, {"judge", set.Judge}} {
		if who.name != "" && !slices.Contains(state.Names(), who.name) {
			return project.Usage("", "--%s %s: nobody in the room is called so: %s", who.flag, who.name, strings.Join(state.Names(), ", "))
		}
	}
	switch {
	case set.Decide == room.ByModerator && set.Moderator == "":
		return project.Usage("", "where the moderator decides, --moderator NAME says who that is, one of %s", strings.Join(state.Names(), ", "))
	case set.Policy == room.Moderator && set.Moderator == "":
		return project.Usage("", "the policy moderator needs --moderator NAME, one of %s", strings.Join(state.Names(), ", "))
	case set.Policy == room.Debate && len(state.Names()) < 3:
		return project.Usage("", "a debate needs two debaters and a judge, and there are %d members", len(state.Names()))
	case set.Policy == room.Debate && set.Judge == "":
		return project.Usage("", "the policy debate needs --judge NAME, one of %s; best one of another kind than the debaters", strings.Join(state.Names(), ", "))
	}
	return nil
}

// room refuses another room where there are as many open ones as may be.
func (p *Rooms) room(all []string) error {
	open := 0
	for _, name := range all {
		if _, lines, _, err := p.Open(name); err == nil && !room.Fold(name, lines).Closed {
			open++
		}
	}
	if open >= mostRooms {
		return hint.New(fmt.Errorf("%d rooms are open, as many as a project may have", open), "cmux rooms close ROOM")
	}
	return nil
}

func (p *Rooms) checkSettings(s *room.Settings) error {
	policies := []room.Policy{room.Everybody, room.Once, room.Robin, room.Mentioned, room.Moderator, room.Debate}
	switch {
	case !slices.Contains(policies, s.Policy):
		return project.Usage("", "%q is no policy: %v", s.Policy, policies)
	case s.Turns < 1:
		return project.Usage("", "a member has at least 1 turn in a round, and not %d", s.Turns)
	case s.Turns > mostTurns || s.Rebuttals > mostTurns:
		return project.Usage("", "a member has at most %d turns in a round, and not %d", mostTurns, max(s.Turns, s.Rebuttals))
	case s.Tokens.Round < 0 || s.Tokens.Day < 0:
		return project.Usage("", "a budget is not below 0")
	case s.Decide != "" && s.Decide != room.ByModerator:
		return project.Usage("", "%q is not moderator", s.Decide)
	case s.Rebuttals < 0:
		return project.Usage("", "%d rebuttals are none", s.Rebuttals)
	case s.Timeouts.Idle < 0 || s.Timeouts.Parse < 0 || s.Timeouts.Send < 0 || s.Timeouts.Hard < 0:
		return project.Usage("", "a timeout is not below 0")
	case max(s.Timeouts.Idle, s.Timeouts.Parse, s.Timeouts.Send, s.Timeouts.Hard) > mostTimeout:
		return project.Usage("", "a timeout is at most %d seconds, and 0 is none", mostTimeout)
	case s.Dir == "":
		return nil
	}
	dir := s.Dir
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(p.Dir, dir)
	}
	dir, err := filepath.EvalSymlinks(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return project.Usage("", "--dir: there is no folder %s in the project", s.Dir)
	}
	rel, rerr := filepath.Rel(p.Root, dir)
	if _, derr := os.ReadDir(dir); errors.Join(err, rerr, derr) != nil || !filepath.IsLocal(rel) {
		return project.Usage("", "--dir: %s is no folder in the project", s.Dir)
	}
	if first, _, _ := strings.Cut(filepath.ToSlash(rel), "/"); first == ".git" || first == signals.Folder {
		return project.Usage("", "--dir: nobody works in %s", s.Dir)
	}
	if s.Dir = filepath.ToSlash(rel); s.Dir == "." {
		s.Dir = ""
	}
	return nil
}

// resolve is a subject by the name that it keeps, or a refusal where it is not there.
func (p *Rooms) resolve(about string) (string, error) {
	if about == "" {
		return "", nil
	}
	r := subject.Reader{Root: p.Root, Now: p.Now}
	named, err := r.Resolve(about)
	if _, _, wrong := subject.Parse(about); wrong != nil || errors.Is(err, subject.ErrNone) {
		return "", project.Tag(fmt.Errorf("--about %s: %w", about, err), project.ErrUsage)
	}
	return named, err
}

// ready are the kinds whose programs are installed and ready, in the order of the kinds.
func (p *Rooms) ready(ctx context.Context, pane bool, remarks *[]string) ([]string, error) {
	var all []string
	for _, kind := range kinds.Installed(p.Env) {
		fit := kinds.Preflight(ctx, kind, p.setup(pane))
		if i := slices.IndexFunc(fit.Problems, func(pr agent.Problem) bool { return pr.Fatal }); i >= 0 {
			*remarks = append(*remarks, fmt.Sprintf("%s does not take part: %s (%s)", kind, fit.Problems[i].What, fit.Problems[i].Try))
			continue
		}
		all = append(all, kind)
	}
	if len(all) == 0 {
		why := ""
		if len(*remarks) > 0 {
			why = ": " + strings.Join(*remarks, "; ")
		}
		return nil, hint.New(errors.New("no agent program is ready to take part"+why), "cmux doctor")
	}
	return all, nil
}

func (p *Rooms) setup(pane bool) agent.Setup {
	return agent.Setup{Env: p.Env, Root: p.Root, Headless: !pane, Asks: true}
}

// member reads one that is to join a room, and looks at its program.
func (p *Rooms) member(ctx context.Context, roomName, text string, pane bool, so []room.Line) (*room.Line, []string, error) {
	kind, name, role := ParseMember(text)
	as := personaOf(p.Root, role)
	if kind == "" {
		kind = as.Kind
	}
	if kind == "" {
		return nil, nil, project.Usage("", "%q names no kind of agent: a member is KIND[=NAME][:ROLE], such as claude=ann:reviewer, or :ROLE whose file names a kind", text)
	}
	k, ok := p.Kinds[kind]
	if !ok || !k.Judge {
		return nil, nil, project.Tag(hint.New(fmt.Errorf("%s: there is no kind of agent %q", text, kind), "cmux doctor"), project.ErrUsage)
	}
	if name == "" {
		name = kind
		if strings.HasPrefix(strings.TrimSpace(text), ":") {
			name = role
		}
		first := name
		for n := 2; slices.ContainsFunc(so, func(l room.Line) bool { return strings.EqualFold(l.Name, name) }); n++ {
			name = fmt.Sprintf("%s%d", first, n)
		}
	}
	if err := book.CheckName(name); err != nil {
		return nil, nil, project.Tag(fmt.Errorf("%s: %w", text, err), project.ErrUsage)
	}
	if slices.ContainsFunc(so, func(l room.Line) bool { return strings.EqualFold(l.Name, name) }) {
		return nil, nil, project.Tag(fmt.Errorf("%s: two members cannot be called %s: %s=NAME gives this one another name", text, name, kind), project.ErrUsage)
	}
	if slices.Contains([]string{room.User, room.Cmux, marks.All}, strings.ToLower(name)) {
		return nil, nil, project.Tag(fmt.Errorf("%s: a member cannot be called %q: that is somebody else", text, name), project.ErrUsage)
	}
	if err := standing.CheckName(standing.MemberName(roomName, name), standing.RoomMember); err != nil {
		return nil, nil, project.Tag(fmt.Errorf("%s: %w", text, err), project.ErrUsage)
	}
	if role != "" && book.CheckName(role) != nil {
		return nil, nil, project.Tag(fmt.Errorf("%s: %q is no name for a role", text, role), project.ErrUsage)
	}
	l := &room.Line{Name: name, Agent: kind, Role: role, Mode: room.Headless}
	if pane || k.Can.Headless == "" {
		l.Mode = room.InPane
	}
	if as.Kind == "" || as.Kind == kind {
		l.Model = as.Model
	}
	var remarks []string
	setup := p.setup(l.Mode == room.InPane)
	asks := len(kinds.Preflight(ctx, kind, setup).Problems)
	setup.Asks = false
	problems := kinds.Preflight(ctx, kind, setup).Problems
	if len(problems) < asks {
		remarks = append(remarks, name+": without a window its program cannot ask you, so what it would ask for is refused (--pane gives it one)")
	}
	for _, problem := range problems {
		what := fmt.Sprintf("%s: %s (%s)", name, problem.What, problem.Try)
		if problem.Fatal {
			return nil, nil, errors.New(what)
		}
		remarks = append(remarks, what)
	}
	return l, remarks, nil
}

// personaOf is the kind and model that a role's file names; without one the role is only a word.
func personaOf(root, role string) persona.Persona {
	if role == "" || book.CheckName(role) != nil {
		return persona.Persona{}
	}
	b, err := signals.ReadFile(standing.RolePath(root, role), 1<<20)
	if err != nil {
		return persona.Persona{}
	}
	return persona.Parse(string(b))
}

// Create makes the room, and has the monitor start its members. For a supervisor the monitor
// makes it.
func (p *Rooms) Create(ctx context.Context, s *Starting) (*View, error) {
	by, err := p.Orderer()
	if err != nil {
		return nil, err
	}
	if by != "" {
		order := standing.RoomOrder{Name: s.Name, Settings: s.settings, Members: s.Lines}
		if err := p.AskKeeper(ctx, standing.OpRoom, "", standing.Ask{By: by, Room: &order}, nil); err != nil {
			return nil, err
		}
		return p.Show(s.Name)
	}
	b, err := book.Open(p.Root, s.Name, p.Now, true)
	if err != nil {
		return nil, err
	}
	if err := p.Up(ctx); err != nil {
		return nil, err
	}
	if err := b.Create(ctx, s.settings, s.Lines...); err != nil {
		return nil, err
	}
	p.audit(ctx, "start", s.Name)
	return p.Show(s.Name)
}
