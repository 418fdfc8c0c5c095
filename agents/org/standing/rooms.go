package standing

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"cmux/agents/org/memoryconfig"
	"cmux/agents/org/recall"
	"cmux/agents/org/roomconfig"
	"cmux/agents/org/seat"
	"cmux/agents/org/subject"
	"cmux/agents/org/treewatch"
	"cmux/agents/platform/harmless"
	"cmux/agents/platform/notice"
	"cmux/agents/records/incident"
	"cmux/agents/records/journal"
	"cmux/agents/room"
	"cmux/agents/room/book"
	"cmux/agents/room/carrier"
	"cmux/agents/room/minutes"
	"cmux/agents/runs/attempt"
	"cmux/agents/runs/run"
	"cmux/dag"
	"cmux/signals"
	"cmux/signals/mailbox"
	"cmux/worktree/git"
)

// The keeper carries the project's rooms. A room's members are standing agents whose lives
// the room orders: a record of the order is made first, and each order can be given again.

// rooms are those that the keeper carries, by name.
type rooms struct {
	*Keeper
	open map[string]*openRoom
}

// openRoom is a room that the keeper carries.
type openRoom struct {
	book    *book.Book
	carrier *carrier.Carrier // nil: the room is being made
	mailed  int64            // number of the last line that was written to its guests
}

// carry does what is due in the rooms. What fails in one is tried again at the next
// look; the others are no worse for it.
func (k *rooms) carry(ctx context.Context) {
	if k.org.Stopped || k.halting != nil {
		clear(k.open)
		return
	}
	names, err := book.Rooms(k.org.Root())
	if err != nil {
		k.Log.Error("the rooms cannot be read; trying again", "err", err)
		k.at(k.Now().Add(time.Second))
		return
	}
	for name := range k.open {
		if !slices.Contains(names, name) {
			delete(k.open, name)
		}
	}
	for _, name := range names {
		if err := k.carryOne(ctx, name); err != nil {
			if r := k.open[name]; r != nil {
				r.carrier = nil // the next one reads again how it stands
			}
			k.Log.Error("a room could not be carried on; trying again", "room", name, "err", err)
			k.at(k.Now().Add(time.Second))
		}
	}
}

func (k *rooms) carryOne(ctx context.Context, name string) error {
	r := k.open[name]
	if r == nil {
		b, err := book.Open(k.org.Root(), name, k.Now, true)
		if err != nil {
			return err
		}
		r = &openRoom{book: b}
		k.open[name] = r
	}
	if r.carrier == nil {
		b := r.book
		members := roomMembers{k, name, b}
		c, err := carrier.New(carrier.Config{
			Name: name, File: b, Members: members, Now: k.Now, Forgot: members.forgot,
			Place: func(name string) room.Place { return members.place(ctx, name) },
			Files: func(member string) string { return seat.Files(k.org.Root(), MemberName(name, member)) },
			Notes: &recall.Notes{Root: k.org.Root(), Now: k.Now, Config: func() memoryconfig.Config { return memoryconfig.New(k.org.Settings.Memory) }, Log: k.Log},
			Notify: func(text string, needs bool) {
				k.Log.Info("room", "room", name, "said", text)
				if needs {
					k.notify(ctx, notice.News{Event: "needs_input", Node: name, Text: "room " + name + ": " + harmless.Line(text)})
				}
			},
			Record: func(d *room.Decision) { k.keepMinutes(ctx, r, d) },
		})
		if errors.Is(err, book.ErrNone) {
			return nil // it is being made
		}
		if err != nil {
			return err
		}
		r.carrier = c
		k.keepLateMinutes(ctx, r)
	}
	config := roomconfig.New(k.org.Settings.Rooms)
	free := config.MaxActive
	for _, other := range k.open {
		if other.carrier != nil {
			s := other.carrier.State()
			free -= len(s.Open)
		}
	}
	if err := k.endLeft(ctx, r); err != nil {
		return err
	}
	if err := r.carrier.Free(ctx, max(0, free)); err != nil {
		return err
	}
	if err := r.carrier.Look(ctx); err != nil {
		return err
	}
	next, err := r.carrier.Ring(ctx)
	if err != nil {
		return err
	}
	if !next.IsZero() {
		k.at(next)
	}
	return k.keepWarm(ctx, r, time.Duration(config.Warm)*time.Second)
}

// keepMinutes writes what a member has decided into the journal.
func (k *rooms) keepMinutes(ctx context.Context, r *openRoom, d *room.Decision) {
	s := r.carrier.State()
	if err := minutes.Keep(ctx, &journal.Journal{Root: k.org.Root(), Now: k.Now}, &s, d); err != nil {
		k.Log.Error("a decision is not in the journal", "room", s.Name, "err", err)
		k.notify(ctx, notice.News{Event: "needs_input", Node: s.Name, Text: "room " + s.Name + ": " + harmless.Line(err.Error())})
	}
}

// keepLateMinutes writes what was decided shortly before a keeper was killed. An older record
// that is missing was taken out by a person.
func (k *rooms) keepLateMinutes(ctx context.Context, r *openRoom) {
	s := r.carrier.State()
	for i := range s.Decisions {
		if d := &s.Decisions[i]; d.Decided != nil && d.Decided.By != room.User && k.Now().Sub(d.Decided.At) < time.Hour {
			k.keepMinutes(ctx, r, d)
		}
	}
}

// endLeft ends lives whose program ended too often: their room decides what follows.
func (k *rooms) endLeft(ctx context.Context, r *openRoom) error {
	members := roomMembers{k, r.book.Name, r.book}
	s := r.carrier.State()
	for i := range s.Members {
		if a := members.agent(s.Members[i].Name); a != nil && a.Left && a.Wanted && a.Life.On() {
			if err := members.wants(ctx, a, run.Record{How: run.HowLeft, Detail: "its program ended too often"}); err != nil {
				return err
			}
		}
	}
	return nil
}

// keepWarm starts the members of a room that was just opened, so that the first answer does
// not wait for a program, and ends programs that have had nothing to do for so long.
func (k *rooms) keepWarm(ctx context.Context, r *openRoom, warm time.Duration) error {
	s := r.carrier.State()
	if s.Closed {
		return nil
	}
	lines, _, err := r.book.Lines()
	if err != nil {
		return err
	}
	opened := map[string]time.Time{}
	for i := range lines {
		switch l := &lines[i]; {
		case l.Kind == room.KindJoined:
			opened[l.Name] = l.At
		case l.Kind == room.KindOrder && l.Do == room.DoReopen:
			for name := range opened {
				opened[name] = l.At
			}
		}
	}
	members := roomMembers{k, r.book.Name, r.book}
	for i := range s.Members {
		m := &s.Members[i]
		if m.Guest || m.Gone || m.Turn != "" {
			continue
		}
		a, cold := members.agent(m.Name), opened[m.Name].Add(warm)
		switch {
		case a == nil || !a.Life.On():
			if (a == nil || !a.Crashed && opened[m.Name].After(a.Life.Ended)) && k.Now().Before(cold) && k.org.fits(a) {
				if err := members.Start(ctx, m.Name); err != nil {
					return err
				}
			}
		case a.stand(k.Now()).Is == room.Idle:
			if rested := a.Since.Add(warm); rested.After(cold) {
				cold = rested
			}
			if k.Now().Before(cold) {
				k.at(cold)
			} else if err := members.Rest(ctx, m.Name, "it has had nothing to do"); err != nil {
				return err
			}
		}
	}
	return nil
}

// order opens a room for a supervisor, which becomes a guest of it. The order may be given
// again: a room that it has opened is there.
func (k *rooms) order(ctx context.Context, ask Ask) (done, error) {
	a, o := k.org.Agents[ask.By], ask.Room
	switch {
	case o == nil:
		return refuse("a room without an order"), nil
	case a == nil || !a.Leads():
		return refuse("%q is no supervisor: only a person or a supervisor opens a room", ask.By), nil
	case o.Settings.Tokens.Round <= 0:
		return refuse("a room that a supervisor opens needs a budget: cmux rooms start --tokens N"), nil
	case o.Settings.Dir != "" && !filepath.IsLocal(filepath.FromSlash(o.Settings.Dir)):
		return refuse("%q is no folder in the project", o.Settings.Dir), nil
	}
	o.Settings.Opener = a.Name
	names, err := book.Rooms(k.org.Root())
	if err != nil {
		return done{}, err
	}
	open := 0
	for _, name := range names {
		b, err := book.Open(k.org.Root(), name, k.Now, false)
		if err != nil {
			continue // it counts for nobody
		}
		lines, _, err := b.Lines()
		s := room.Fold(name, lines)
		switch {
		case err != nil || s.Settings.Opener != a.Name:
		case name == o.Name && *lines[0].Settings == o.Settings:
			return done{over: true}, nil // the keeper before this one has opened it
		case !s.Closed:
			open++
		}
	}
	if most := roomconfig.New(k.org.Settings.Rooms).MaxRooms; open >= most {
		return refuse("%s has %d open rooms, and may have %d (max_rooms). A person closes one: cmux rooms close ROOM", a.Name, open, most), nil
	}
	b, err := book.Open(k.org.Root(), o.Name, k.Now, true)
	if err != nil {
		return refuse("%w", err), nil
	}
	var members []room.Line
	for _, m := range o.Members {
		members = append(members, room.Line{Name: m.Name, Agent: m.Agent, Role: m.Role, Mode: m.Mode})
	}
	members = append(members, room.Line{Name: a.Name, Agent: a.Name, Guest: true})
	if err := b.Create(ctx, o.Settings, members...); errors.Is(err, book.ErrExists) {
		return refuse("%w", err), nil
	} else if err != nil {
		return done{}, err
	}
	return done{over: true}, nil
}

// mailGuests writes what was said in the rooms to their guests. It is written under an id
// of its own, so that nobody gets it twice.
func (k *rooms) mailGuests(ctx context.Context) {
	for name, r := range k.open {
		if r.carrier == nil {
			continue
		}
		if err := k.mailGuestsOf(ctx, r); err != nil {
			k.Log.Error("guests of a room could not be written to; trying again", "room", name, "err", err)
			k.at(k.Now().Add(time.Second))
		}
	}
}

func (k *rooms) mailGuestsOf(ctx context.Context, r *openRoom) error {
	s := r.carrier.State()
	if !slices.ContainsFunc(s.Members, func(m room.Member) bool { return m.Guest && !m.Gone }) {
		r.mailed = s.N
		return nil
	}
	lines, _, err := r.book.Lines()
	if err != nil {
		return err
	}
	guests := map[string]string{} // name in the room to its agent
	for i := range lines {
		l := &lines[i]
		switch {
		case l.Kind == room.KindJoined && l.Guest:
			guests[l.Name] = l.Agent
			continue
		case l.Kind == room.KindLeft:
			delete(guests, l.Name)
			continue
		case l.Kind != room.KindSaid || l.To != "" || l.Text == "" || l.Ask != "" || l.N <= r.mailed:
			continue // what is asked about a proposal, and the answers, are not for guests
		case slices.Contains(s.Blind.Held, l.N):
			return nil // nobody reads it before the first answers are over
		}
		for name, agent := range guests {
			if name == l.By || k.org.Agents[agent] == nil {
				continue
			}
			subject, body := seat.Letter(s.Name, l)
			m := mailbox.Message{
				ID: mailID(fmt.Sprintf("room-%s-%d-%s", s.Name, l.N, agent)), From: "monitor", To: agent,
				Subject: mailbox.Sys.Subject(subject), Body: body,
			}
			if err := k.sends(ctx, m); err != nil {
				return err
			}
		}
		r.mailed = l.N
	}
	return nil
}

// fits reports whether the program of a room's member may start: as many agents as
// max_standing allows may be up.
func (o *Org) fits(a *Agent) bool {
	most := o.Settings.MaxStanding
	return most <= 0 || a != nil && a.Life.On() || o.standing() < most
}

// standing is how many agents count for max_standing: the members of rooms only while their
// programs run.
func (o *Org) standing() (n int) {
	for _, a := range o.Agents {
		if !a.InRoom() || a.Life.On() || a.Wanted {
			n++
		}
	}
	return n
}

// files are those in which something happens that concerns the rooms.
func (k *rooms) files() []string {
	all := []string{filepath.Join(run.Folder(k.org.Root()), book.Folder)}
	for _, r := range k.open {
		all = append(all, r.book.Path())
	}
	slices.Sort(all[1:])
	return all
}

// roomMembers implements carrier.Members.
type roomMembers struct {
	*rooms
	room string
	book *book.Book
}

// agent is the agent that a member is; nil: its program was not started yet.
func (m roomMembers) agent(name string) *Agent { return m.org.Agents[MemberName(m.room, name)] }

func (m roomMembers) Stand(_ context.Context, name string, turn *room.Turn) (room.Stand, []room.What, error) {
	st, a := m.org.RoomStand(m.room, name, m.Now()), m.agent(name)
	if a == nil {
		return st, nil, nil
	}
	if st.Is == room.Idle && !m.lives.Of(a.Name).Stands() {
		st.Is = room.Starting // it cannot be told anything yet
	}
	if turn == nil {
		return st, nil, nil
	}
	for _, at := range a.Deaths {
		if at.After(turn.Began) {
			st.Crashes++
		}
	}
	return st, a.Heard(turn.ID, m.id(turn)), nil
}

// id is what a turn is told by.
func (m roomMembers) id(t *room.Turn) string { return seat.TurnID(m.room, t.ID, t.Began) }

// RoomStand is what the member of a room does.
func (o *Org) RoomStand(roomName, name string, now time.Time) room.Stand {
	name = MemberName(roomName, name)
	if err := o.Broken[name]; err != nil {
		return room.Stand{Is: room.Down, Why: "its records cannot be read: " + err.Error()}
	}
	a, st := o.Agents[name], room.Stand{Is: room.Off}
	if a != nil {
		st = a.stand(now)
	}
	if st.Is == room.InTurn {
		if info, err := os.Stat(o.Run.Events(name)); err == nil && info.ModTime().After(st.Active) {
			st.Active = info.ModTime()
		}
	}
	if st.Is == room.Off && !o.fits(a) {
		return room.Stand{Is: room.Limited, Why: fmt.Sprintf("%d agents are up, as many as max_standing in .cmux/config.yml allows", o.standing())}
	}
	return st
}

// Tell does not wait: that the program has the turn stands in its records, and if it does not
// take it in time, a clock of the room rings.
func (m roomMembers) Tell(ctx context.Context, t *room.Turn, text string, files []room.File) error {
	m.trees.tend(ctx)                                         // the turn before is over: what it did is not this one's
	if a := m.agent(t.Member); a != nil && len(t.Notes) > 0 { // it is reminded of them, too
		if err := m.writeContext(t.Member, &a.Member); err != nil {
			return err
		}
	}
	id, g := m.id(t), m.giving(t.Member)
	m.trees.handed[id] = m.say(ctx, t.Member, m.watches(ctx, t), func() attempt.Message {
		return attempt.Message{Op: attempt.OpTell, Key: id, Text: seat.Envelope(id, text+g.Give(ctx, files)), Alone: true}
	})
	return nil
}

// giving gives files to a member. The keeper does not wait for it.
func (m roomMembers) giving(member string) book.Giving {
	tell := newTeller(m.Keeper)
	return book.Giving{Book: m.book, Member: member, Dir: seat.Files(m.org.Root(), MemberName(m.room, member)), Failed: func(ctx context.Context, why string) {
		m.Log.Error("an attached file is missing in a turn", "room", m.room, "err", why)
		tell.news(ctx, notice.News{Event: "needs_input", Node: m.room, Text: "room " + m.room + ": " + why})
	}}
}

// BreakOff does not wait either: the end of the turn is heard, or a clock rings.
func (m roomMembers) BreakOff(ctx context.Context, t *room.Turn) error {
	m.say(ctx, t.Member, m.trees.handed[m.id(t)], func() attempt.Message { return attempt.Message{Op: attempt.OpEndTurn, Key: m.id(t) + "-break"} })
	return nil
}

// say tells a member's program something when after is closed, or soon; nil: at once. done is
// closed when it was told.
func (m roomMembers) say(ctx context.Context, name string, after <-chan struct{}, what func() attempt.Message) (done <-chan struct{}) {
	told := make(chan struct{})
	l := m.lives.Of(MemberName(m.room, name))
	if l == nil {
		close(told)
		return told
	}
	m.tasks.Go(func() {
		defer close(told)
		if after != nil {
			select {
			case <-after:
			case <-time.After(treewatch.MostBefore):
				m.Log.Info("a member is told something before its checkout was looked at", "room", m.room, "member", name)
			case <-ctx.Done():
				return
			}
		}
		text := what()
		r, err := l.Tell(ctx, text)
		if err == nil && r.Error != "" {
			err = errors.New(r.Error)
		}
		if err != nil {
			m.Log.Warn("a member was not reached", "room", m.room, "member", name, "op", text.Op, "err", err)
		}
	})
	return told
}

// Start makes the agent that the member is, where there is none yet.
func (m roomMembers) Start(ctx context.Context, name string) error {
	agentName := MemberName(m.room, name)
	a := m.org.Agents[agentName]
	if a == nil {
		who, err := m.made(name)
		if err != nil {
			return err
		}
		if err := m.org.Join(ctx, who, ""); err != nil {
			return err
		}
		if err := m.org.Look(); err != nil {
			return err
		}
		if a = m.org.Agents[agentName]; a == nil {
			return fmt.Errorf("%s: its records cannot be read", agentName)
		}
	}
	if a.Wanted || a.Life.On() {
		return nil
	}
	if err := m.writeContext(name, &a.Member); err != nil {
		return err
	}
	return m.wants(ctx, a, run.Record{Value: "yes"})
}

// writeContext writes where the member is into the file that it is reminded of when its
// conversation is replaced by a summary.
func (m roomMembers) writeContext(name string, who *run.Member) error {
	r := m.open[m.room]
	if r == nil || r.carrier == nil {
		return nil
	}
	if err := signals.MkdirAll(filepath.Dir(who.Context), 0o700); err != nil {
		return err
	}
	return signals.WriteFile(who.Context, []byte(r.carrier.Opening(name)), 0o600)
}

func (m roomMembers) Rest(ctx context.Context, name, why string) error {
	a := m.agent(name)
	if a == nil || !a.Wanted && !a.Life.On() {
		return nil
	}
	return m.wants(ctx, a, run.Record{Detail: why})
}

// wants records whether the member's program is to run, and carries that out.
func (m roomMembers) wants(ctx context.Context, a *Agent, rec run.Record) error {
	rec.Type, rec.Key = run.Noted, keyWanted
	if err := m.org.RecordOf(ctx, a.Name, rec); err != nil {
		return err
	}
	if err := m.org.lookAt(a); err != nil {
		return err
	}
	return m.tend(ctx, a)
}

// made is the agent that a member is to be.
func (m roomMembers) made(name string) (none run.Member, err error) {
	lines, _, err := m.book.Lines()
	if err != nil {
		return none, err
	}
	s := room.Fold(m.room, lines)
	i := slices.IndexFunc(s.Members, func(who room.Member) bool { return who.Name == name })
	if i < 0 {
		return none, fmt.Errorf("nobody in the room %s is called %q", m.room, name)
	}
	who := &s.Members[i]
	made, err := m.org.Member(&Spawn{
		Name: MemberName(m.room, name), Role: RoomMember, Kind: who.Agent, Model: who.Model, Supervisor: room.User,
		Dir: filepath.Join(m.org.Root(), filepath.FromSlash(s.Settings.Dir)), RoleFile: m.roleFile(who.Role),
	}, m.Kinds, m.Now())
	made.Headless = who.Mode != room.InPane
	return made, err
}

// roleFile is the file that says what a role is; empty: the role is only a word.
func (m roomMembers) roleFile(role string) string {
	if book.CheckName(role) != nil {
		return ""
	}
	path := RolePath(m.org.Root(), role)
	if _, err := signals.ReadFile(path, maxRole); err != nil {
		return ""
	}
	return path
}

// factsPatience bounds how long the facts about a room's subject are read.
const factsPatience = 10 * time.Second

// place is where a member works, with the facts about the room's subject as they are now.
func (m roomMembers) place(ctx context.Context, name string) room.Place {
	p := room.Place{Dir: m.org.Root()}
	if r := m.open[m.room]; r != nil && r.carrier != nil {
		s := r.carrier.State()
		p.Subject = m.subject(ctx, s.Settings.About)
	}
	if a := m.agent(name); a != nil {
		p.Dir, p.Role = a.Member.Dir, a.Member.RoleFile
	}
	return p
}

// subject is what is known of a room's subject; empty: it has none.
func (k *rooms) subject(ctx context.Context, about string) string {
	if about == "" {
		return ""
	}
	ctx, cancel := context.WithTimeout(git.Looking(ctx), factsPatience)
	defer cancel()
	r := subject.Reader{Root: k.org.Root(), Target: k.org.Settings.Integration, Now: k.Now}
	text, err := r.Facts(ctx, about)
	if err != nil {
		k.Log.Warn("the facts about a room's subject cannot be read", "about", about, "err", err)
		return fmt.Sprintf("%s (the facts about it cannot be read: %v)", about, err)
	}
	return text
}

// forgot reports whether the conversation is gone in which a member had its last turn.
func (m roomMembers) forgot(name string) bool {
	a := m.agent(name)
	switch {
	case a == nil || a.In.Life == 0:
		return false
	case a.In.Conversation != "" && a.Conversation != "" && a.In.Conversation != a.Conversation:
		return true
	case a.In.Life == a.Life.N:
		return false
	}
	kind := m.Kinds[a.Member.Kind]
	if kind.LastTurn == nil {
		return kind.Can.Resume == ""
	}
	env, err := m.org.Run.Env()
	if err != nil {
		m.Keeper.Log.Warn("whether a member has its conversation still cannot be told", "room", m.room, "member", name, "err", err)
		return false
	}
	given, said, _ := kind.LastTurn(append(env, "CMUX_NODE="+a.Name), a.Conversation)
	return len(given) == 0 && said == ""
}

// InRoom reports whether the agent is a member of a room.
func (s *State) InRoom() bool { return s.Member.Role == RoomMember }

// MemberName is the name of the agent that is a room's member.
func MemberName(roomName, name string) string { return roomName + "." + name }

// stand is what the member does, for its room.
func (s *State) stand(now time.Time) room.Stand {
	w, detail := s.Stands(now, false)
	st := room.Stand{Why: detail, Until: s.Until, Active: s.Since}
	switch w {
	case Starting:
		if st.Is = room.Starting; !s.Life.Began.IsZero() && strings.HasPrefix(detail, run.Revival) {
			st.Is = room.Idle // it goes on for one that was lost, and gives no sign before it is told something
		}
	case Idle:
		st.Is = room.Idle
	case Working, Checking:
		if st.Is = room.InTurn; s.Spoken {
			st.Is = room.Idle
		}
	case TakenOver:
		st.Is = room.TakenOver
	case Limited:
		st.Is = room.Limited
		if until, _ := s.Spent(now); s.Activity != dag.AtLimit {
			st.Until = until
		}
	case NeedsInput:
		if st.Is = room.NeedsInput; s.Held == "" && !s.Life.On() {
			st.Is = room.Down
		}
	case Going:
		st.Is = room.Down
	default:
		st.Is, st.Crashed = room.Off, s.Crashed
	}
	return st
}

// roomTrees are the checkouts that members of rooms work at.
type roomTrees struct {
	*rooms
	*treewatch.Watch
	handed map[string]<-chan struct{} // turns under way, by id: closed when the member was told
}

func newRoomTrees(r *rooms) roomTrees {
	return roomTrees{r, treewatch.New(treewatch.Config{Root: r.org.Root(), Go: r.tasks.Go, Now: r.Now, Log: r.Log}), make(map[string]<-chan struct{})}
}

// watches looks at the checkout of a turn before it begins.
func (m roomMembers) watches(ctx context.Context, t *room.Turn) <-chan struct{} {
	dir := m.org.Root()
	if a := m.agent(t.Member); a != nil && a.Member.Dir != "" {
		dir = a.Member.Dir
	}
	return m.trees.Begins(ctx, dir, treewatch.Turn{ID: m.id(t), Room: m.room, Turn: t.ID, Member: t.Member, Agent: MemberName(m.room, t.Member), Began: t.Began})
}

// tend looks at the checkouts of turns that have ended since, and at those of turns that began
// before this keeper did.
func (k *roomTrees) tend(ctx context.Context) {
	open := map[string]bool{}
	for name, r := range k.open {
		if r.carrier == nil {
			continue
		}
		m, s := roomMembers{k.rooms, name, r.book}, r.carrier.State()
		for i := range s.Open {
			t := &s.Open[i]
			open[m.id(t)] = true
			if !t.Took.IsZero() {
				m.watches(ctx, t)
			}
		}
	}
	for id := range k.handed {
		if !open[id] {
			delete(k.handed, id)
		}
	}
	k.Ends(ctx, open)
}

// changed reports a change, unless another agent may have made it, or it was the person: a
// fence kept all members from it.
func (k *roomTrees) changed(ctx context.Context, f treewatch.Change) error {
	if who := k.others(&f); who != "" {
		k.Watch.Log.Info("a checkout was changed while another agent was at work there", "root", f.Root, "agent", who)
		return nil
	}
	byRoom := map[string][]treewatch.Turn{}
	for _, t := range f.Turns {
		if a := k.org.Agents[t.Agent]; a == nil || !k.org.fenced(a) || !f.KeptOut(k.org.Run.Fence(t.Agent), a.Life.N) {
			byRoom[t.Room] = append(byRoom[t.Room], t)
		}
	}
	for name, turns := range byRoom {
		f.Turns = turns
		if err := k.report(ctx, name, &f); err != nil {
			return err
		}
	}
	return nil
}

// others is an agent that is in no room, and that was at work at the checkout meanwhile.
func (k *roomTrees) others(f *treewatch.Change) string {
	i := slices.IndexFunc(k.org.Names(), func(name string) bool {
		a := k.org.Agents[name]
		if a.InRoom() || a.Member.Tree != "" || treewatch.Checkout(a.Member.Dir) != f.Root || !a.Life.On() && a.Life.Ended.Before(f.Since) {
			return false
		}
		w, _ := a.Stands(f.Until, k.org.Stopped)
		return w == Working || w == Checking || a.Since.After(f.Since)
	})
	if i < 0 {
		return ""
	}
	return k.org.Names()[i]
}

// report writes the incident down, and tells the person.
func (k *roomTrees) report(ctx context.Context, roomName string, f *treewatch.Change) error {
	all, err := f.Reports(k.org.Root(), roomName, k.org.Run.Events)
	if err != nil {
		return err
	}
	b, err := incident.OpenBook(k.org.Root(), k.Watch.Now, true)
	if err != nil {
		return err
	}
	for _, r := range all {
		i, _, err := b.Open(ctx, "cmux", *r)
		if err != nil {
			return err
		}
		text := strings.TrimSuffix(harmless.Line(r.Title), ".") + ": cmux incidents show " + i.ID
		k.Watch.Log.Warn(text)
		k.notify(ctx, notice.News{Event: "needs_input", Node: roomName, Text: text})
	}
	return nil
}
