// Package rooms shows the rooms of a project, and says and orders things in them: for the
// command line and for the page.
//
// What it writes is in the room's file when it returns. The monitor carries it out; without
// one it stands there until there is one.
package rooms

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"cmux/agents/control/crew"
	"cmux/agents/control/project"
	"cmux/agents/control/records"
	"cmux/agents/org/roomconfig"
	"cmux/agents/org/standing"
	"cmux/agents/records/ledger"
	"cmux/agents/room"
	"cmux/agents/room/book"
	"cmux/agents/runs/run"
	"cmux/worktree/hint"
)

// Rooms are the rooms of a project.
type Rooms struct {
	*project.Project
	Crew    *crew.Crew
	Records *records.Records
	Up      func(context.Context) error // starts the monitor where none is up
}

// View is a room as it is shown.
type View struct {
	Room    About    `json:"room"`
	Members []Member `json:"members"`
	Waits   []Wait   `json:"waits"` // what the room waits for

	Err error `json:"-"` // the room cannot be read
}

// About is the room itself.
type About struct {
	Name     string        `json:"name"`
	Label    string        `json:"label"`
	Phase    room.Phase    `json:"phase"`
	Topic    string        `json:"topic"`
	Policy   room.Policy   `json:"policy"`
	Round    int           `json:"round"`    // the newest; 0: there was none
	Turns    int           `json:"turns"`    // begun in it
	Used     int64         `json:"used"`     // tokens in it
	Total    int64         `json:"total"`    // tokens in all rounds
	Estimate int64         `json:"estimate"` // tokens that a question to all uses at least
	Confirm  int64         `json:"confirm"`  // a person is asked before a message that uses more tokens at least; 0: never
	Messages int64         `json:"messages"`
	Last     string        `json:"last"` // what was said last, in a line
	LastBy   string        `json:"last_by"`
	At       time.Time     `json:"at"` // of the newest line
	Settings room.Settings `json:"settings"`
	Defaults room.Settings `json:"defaults"` // of a new room
	Monitor  bool          `json:"monitor"`  // it is up
	Bad      int           `json:"bad"`      // lines that do not count

	Proposals int `json:"proposals"` // that nobody has decided on
}

// Member is a member or a guest.
type Member struct {
	Name   string    `json:"name"`
	Agent  string    `json:"agent"` // that it is, as other commands name it
	Kind   string    `json:"kind"`  // of its program; empty: a guest
	Model  string    `json:"model"`
	Role   string    `json:"role"`
	Mode   string    `json:"mode"`
	Guest  bool      `json:"guest"`
	State  string    `json:"state"`
	Why    string    `json:"why"`
	Until  time.Time `json:"until,omitzero"` // of a limit
	Turn   string    `json:"turn"`           // under way; empty: none
	Since  time.Time `json:"since,omitzero"` // the turn began
	Turns  int       `json:"turns"`          // that it may still take in this round
	Unread int       `json:"unread"`
	Used   int64     `json:"used"`   // tokens in the room
	Tokens bool      `json:"tokens"` // its program counts them
}

// Wait is something that the room waits for, and the command for it.
type Wait struct {
	What string    `json:"what"`
	Try  string    `json:"try"`
	Who  string    `json:"who"` // the member; empty: the room
	Way  Way       `json:"way"`
	Do   []room.Do `json:"do"` // of WayOrder: the orders that help, that of Try first

	Holds bool      `json:"holds"`          // something goes on only when a person does it
	Since time.Time `json:"since,omitzero"` // zero: it is not known

	Incident string `json:"incident,omitempty"` // of WayUndo
	Node     string `json:"node,omitempty"`     // RUN/NODE that waits, and is listed there too; empty: none does
}

// Way is how a person answers what a room waits for.
type Way string

// The ways.
const (
	WayOrder    Way = "order"
	WayAnswer   Way = "answer"   // with words
	WayTerminal Way = "terminal" // with keys, in the member's window
	WayDecision Way = "decision" // on a proposal
	WayUndo     Way = "undo"     // of a change at the checkout, or the person acknowledges it
	WayCard     Way = "card"     // by the commands of cards
	WayCommand  Way = "command"  // that the person has to complete
)

// Ways are all ways.
func Ways() []Way {
	return []Way{WayOrder, WayAnswer, WayTerminal, WayDecision, WayUndo, WayCard, WayCommand}
}

// Open is a room as its file is now.
func (p *Rooms) Open(name string) (*book.Book, []room.Line, []ledger.Bad, error) {
	if err := book.CheckName(name); err != nil {
		return nil, nil, nil, project.Usage("cmux rooms list", "%w", err)
	}
	b, lines, bad, err := p.Room(name)
	if errors.Is(err, book.ErrNone) {
		return nil, nil, nil, p.none(name)
	}
	return b, lines, bad, err
}

// none says that there is no such room, and which there are.
func (p *Rooms) none(name string) error {
	all, err := p.names()
	if err != nil {
		return err
	}
	what, try := fmt.Sprintf("there is no room %q: there is none", name), "cmux rooms start "+name
	if len(all) > 0 {
		what, try = fmt.Sprintf("there is no room %q: there are %s", name, strings.Join(all, ", ")), "cmux rooms list"
	}
	return hint.New(project.Tag(errors.New(what), project.ErrMissing), try)
}

// names are the rooms in which there is something; a folder alone is none.
func (p *Rooms) names() ([]string, error) {
	all, err := book.Rooms(p.Root)
	return slices.DeleteFunc(all, func(name string) bool {
		_, _, _, err := p.Room(name)
		return errors.Is(err, book.ErrNone)
	}), err
}

// writing is open for who writes; the monitor is started unless noStart.
func (p *Rooms) writing(ctx context.Context, name string, noStart bool) (*book.Book, []room.Line, error) {
	if _, _, _, err := p.Open(name); err != nil {
		return nil, nil, err
	}
	b, err := book.Open(p.Root, name, p.Now, true)
	if err != nil {
		return nil, nil, err
	}
	if !noStart {
		if err := p.Up(ctx); err != nil {
			return nil, nil, err
		}
	}
	lines, _, err := b.Lines()
	return b, lines, err
}

// org is the organization; nil: there is none.
func (p *Rooms) org() (*standing.Org, error) {
	org, err := standing.Open(p.Root)
	if errors.Is(err, run.ErrNoOrganization) {
		return nil, nil
	}
	return org, err
}

// Config is what the project's configuration says of rooms, as it was applied. Without an
// organization it is what the file says: the first start takes it as it is.
func (p *Rooms) Config() (roomconfig.Config, error) {
	org, err := p.org()
	if err != nil {
		return roomconfig.Config{}, err
	}
	if org != nil {
		return roomconfig.New(org.Settings.Rooms), nil
	}
	c, err := p.Configured()
	if err != nil {
		return roomconfig.Config{}, err
	}
	return roomconfig.New(c.Rooms), nil
}

// state is the room with what its members do.
func (p *Rooms) state(org *standing.Org, name string, lines []room.Line) room.State {
	s := room.Fold(name, lines)
	if org == nil {
		return s
	}
	var all room.Stood
	for _, m := range s.Members {
		if !m.Guest && !m.Gone {
			all = append(all, room.Stands{Member: m.Name, Stand: org.RoomStand(name, m.Name, p.Now())})
		}
	}
	return s.With(all)
}

// List are all rooms: those in which something happened last come first.
func (p *Rooms) List() ([]View, error) {
	names, err := book.Rooms(p.Root)
	if err != nil {
		return nil, err
	}
	org, err := p.org()
	if err != nil {
		return nil, err
	}
	all := []View{}
	for _, name := range names {
		v, err := p.view(org, name)
		if errors.Is(err, project.ErrMissing) {
			continue // it is being made
		}
		if err != nil { // the others are no worse for it
			v = &View{Room: About{Name: name, Label: "cannot be read: " + err.Error(), Phase: room.IsClosed}, Members: []Member{}, Waits: []Wait{}, Err: err}
		}
		all = append(all, *v)
	}
	slices.SortStableFunc(all, func(a, b View) int { return b.Room.At.Compare(a.Room.At) })
	return all, nil
}

// Show is a room as it stands.
func (p *Rooms) Show(name string) (*View, error) {
	org, err := p.org()
	if err != nil {
		return nil, err
	}
	return p.view(org, name)
}

func (p *Rooms) view(org *standing.Org, name string) (*View, error) {
	_, lines, bad, err := p.Open(name)
	if err != nil {
		return nil, err
	}
	s := p.state(org, name, lines)
	v := &View{Members: []Member{}, Waits: []Wait{}}
	v.Room = About{
		Name: name, Label: s.Label(), Phase: s.Phase(), Topic: s.Settings.Topic, Policy: s.Settings.Policy, Round: s.Round.N, Turns: s.Round.Turns, Used: s.Round.Used,
		Estimate: s.Cost("", "").Least, Messages: int64(len(s.Messages)), At: lines[len(lines)-1].At, Settings: s.Settings, Defaults: room.Defaults(),
		Monitor: org != nil && org.Run.RunnerLives(), Bad: len(bad),
	}
	if org != nil {
		c := roomconfig.New(org.Settings.Rooms)
		v.Room.Confirm, v.Room.Defaults = c.Confirm, c.Settings
	}
	if v.Room.Last, v.Room.LastBy, err = p.last(name, lines); err != nil {
		return nil, err
	}
	used := map[string]int64{}
	for i := range lines {
		if l := &lines[i]; l.Kind == room.KindOver {
			used[l.Member] += l.Used
			v.Room.Total += l.Used
		}
	}
	for i := range s.Members {
		m := &s.Members[i]
		if m.Gone {
			continue
		}
		one := Member{
			Name: m.Name, Agent: standing.MemberName(name, m.Name), Kind: m.Agent, Model: m.Model, Role: m.Role, Mode: m.Mode, Guest: m.Guest,
			State: m.Stand.Is.String(), Why: m.Stand.Why, Turn: m.Turn, Turns: s.Left(m.Name), Unread: len(m.Unread), Used: used[m.Name],
			Tokens: p.Kinds[m.Agent].Can.Usage != "",
		}
		switch {
		case m.Guest:
			one.Agent, one.Kind, one.State, one.Turns = m.Agent, "", guest, 0
		case m.Fallen():
			one.State = room.Down.String()
		case m.Stand.Is == room.Unknown:
			one.State = room.Off.String()
		case m.Stand.Is == room.Limited:
			one.Until = m.Stand.Until
		}
		for _, t := range s.Open {
			if t.ID == m.Turn {
				one.Since = t.Began
			}
		}
		v.Members = append(v.Members, one)
	}
	for i := range s.Decisions {
		if s.Decisions[i].Decided == nil {
			v.Room.Proposals++
		}
	}
	looks, err := p.looks(name)
	v.Waits = append(p.waits(org, &s, v), looks...)
	for i := range v.Waits {
		v.Waits[i].Since = since(v, lines, v.Waits[i].Who)
	}
	cards, cerr := cardWaits(p, name)
	v.Waits = append(v.Waits, cards...)
	return v, errors.Join(err, cerr)
}

// since is when the member, or the room, began to stand as it does.
func since(v *View, lines []room.Line, who string) time.Time {
	for i := range v.Members {
		if m := &v.Members[i]; m.Name == who && m.Turn != "" {
			return m.Since
		}
	}
	for i := len(lines) - 1; i >= 0; i-- {
		switch l := &lines[i]; {
		case who != "" && l.Kind == room.KindOver && l.Member == who, who == "" && (l.Kind == room.KindRound || l.Kind == room.KindOrder):
			return l.At
		}
	}
	return time.Time{}
}

// last is what was said last, as far as who asks may read it, and by whom.
func (p *Rooms) last(name string, lines []room.Line) (text, by string, err error) {
	from, err := p.Origin()
	if err != nil {
		return "", "", err
	}
	i := len(lines) - 1
	for i >= 0 && lines[i].Kind != room.KindSaid {
		i--
	}
	if i < 0 {
		return "", "", nil
	}
	l := lines[i]
	if from != nil {
		l = forAgent(name, lines, from.Node)[i]
	}
	return oneLine(&l), l.By, nil
}

func oneLine(l *room.Line) string {
	text := l.Text
	if text == "" {
		text = l.Aside
	}
	text = strings.Join(strings.Fields(text), " ")
	const most = 120
	if r := []rune(text); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return text
}

// waits is what a person can do for the room, the most urgent first.
func (p *Rooms) waits(org *standing.Org, s *room.State, v *View) []Wait {
	all := []Wait{}
	add := func(who string, way Way, try, what string, do ...room.Do) {
		all = append(all, Wait{What: what, Try: try, Who: who, Way: way, Do: append([]room.Do{}, do...), Holds: true})
	}
	if s.Closed {
		return all
	}
	for i := range v.Members {
		m := &v.Members[i]
		try := func(word string) string { return "cmux rooms " + word + " " + s.Name + " " + m.Name }
		var a *standing.Agent
		if org != nil {
			a = org.Agents[m.Agent]
		}
		switch {
		case m.Guest:
		case m.State == room.Down.String():
			add(m.Name, WayOrder, try("wake"), m.Name+" is down: "+orElse(m.Why, "its turns failed"), room.DoWake)
		case m.State == room.NeedsInput.String() && a != nil && a.Question == nil:
			add(m.Name, WayTerminal, "cmux workers attach "+m.Agent, m.Name+" needs you: "+m.Why)
		case m.State == room.NeedsInput.String():
			add(m.Name, WayAnswer, try("answer")+" TEXT", m.Name+" asks: "+m.Why)
		case m.State == room.TakenOver.String():
			add(m.Name, WayTerminal, "cmux workers release "+m.Agent, m.Name+" is taken over by you")
		case m.State == room.Limited.String() && len(s.Waking(m.Name)) > 0:
			until := ": " + m.Why
			if !m.Until.IsZero() {
				until = " until " + m.Until.Local().Format("15:04")
			}
			add(m.Name, WayOrder, try("skip"), m.Name+" is limited"+until, room.DoSkip)
		case m.Turn != "" && s.Settings.Timeouts.Parse > 0 && p.Now().Sub(m.Since) > s.Turn(m.Turn).Allowed():
			add(m.Name, WayOrder, try("stop")+", or "+try("go-on"), fmt.Sprintf("%s has worked for %v", m.Name, p.Now().Sub(m.Since).Round(time.Second)), room.DoStop, room.DoWait)
		}
	}
	for i := range s.Decisions {
		if d := &s.Decisions[i]; d.Decided == nil && d.Asked != 0 && len(s.Pending(d)) == 0 && !s.Moderates(d) {
			add("", WayDecision, fmt.Sprintf("cmux rooms decide %s %s --accept, or --reject, or --text TEXT", s.Name, d.Label), d.Label+" waits for your decision: "+d.Counts())
		}
	}
	ended := fmt.Sprintf("round %d has ended with messages left: %s", s.Round.N, s.Round.Why)
	switch {
	case v.Room.Phase == room.IsCapped && s.Round.Why == room.OutOfTokens:
		add("", WayCommand, "cmux rooms set "+s.Name+" tokens=N, and cmux rooms continue "+s.Name, ended)
	case v.Room.Phase == room.IsCapped:
		add("", WayOrder, "cmux rooms continue "+s.Name, ended, room.DoContinue)
	case s.Paused: // the order starts the monitor, too
		add("", WayOrder, "cmux rooms resume "+s.Name, "the room is paused", room.DoResume)
		all[len(all)-1].Holds = s.Round.On || slices.ContainsFunc(s.Names(), func(name string) bool { return len(s.Waking(name)) > 0 })
	case !v.Room.Monitor && v.Room.Phase != room.AtRest:
		add("", WayOrder, "cmux rooms open "+s.Name, "no monitor", room.DoResume)
	}
	return all
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

// Lines are all facts of a room, in their order, and those that do not count. An agent gets
// no text that is for the person or for somebody else alone, nor first answers while they are
// collected.
func (p *Rooms) Lines(name string) ([]room.Line, []ledger.Bad, error) {
	_, lines, bad, err := p.Open(name)
	if err != nil {
		return nil, nil, err
	}
	from, err := p.Origin()
	if err != nil || from == nil {
		return lines, bad, err
	}
	return forAgent(name, lines, from.Node), bad, nil
}

func forAgent(name string, lines []room.Line, agent string) []room.Line {
	s, out := room.Fold(name, lines), slices.Clone(lines)
	for i := range out {
		l := &out[i]
		own := l.By != room.User && standing.MemberName(name, l.By) == agent
		to := l.To != "" && standing.MemberName(name, l.To) != agent
		if l.Kind == room.KindSaid && !own && (to || s.Withheld(l)) {
			l.Text, l.Files = "(not for you)", nil
		}
		if !own {
			l.Aside = ""
		}
	}
	return out
}

// Path is the room's file, for who watches it.
func (p *Rooms) Path(name string) (string, error) {
	b, _, _, err := p.Open(name)
	if err != nil {
		return "", err
	}
	return b.Path(), nil
}

// Check names each rule of rooms that the room's file breaks, and each line that does not
// count.
func (p *Rooms) Check(name string) (broken []room.Broken, bad []ledger.Bad, lines int, err error) {
	b, all, bad, err := p.Open(name)
	if err != nil {
		return nil, nil, 0, err
	}
	return append(room.Check(all), changed(b, all)...), bad, len(all), nil
}
