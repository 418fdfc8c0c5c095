package room

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"cmux/agents/room/marks"
)

// joiningText bounds the messages that a member gets when it joins, in bytes.
const joiningText = 8000

// mostFails is how many turns in a row a member may fail before it is down.
const mostFails = 3

// mostVisits is how many rounds may begin since the person last said or ordered something: two
// agents that thank each other, one of them a guest, would never end.
const mostVisits = 10

// State is a room: the fold of its lines, and what is known of its members now.
type State struct {
	Name      string
	N         int64 // number of its last line
	Settings  Settings
	Members   []Member // and guests, in the order of joining; those who left, too
	Messages  []*Line
	Decisions []Decision // in the order of their proposals
	Open      []Turn     // under way, in the order of their beginning
	LastTurn  int        // number
	Round     Round
	Blind     Collecting
	Paused    bool
	Closed    bool

	from     int64     // no message up to it wakes anybody
	spoke    string    // the member of the last turn
	proposed []string  // ids
	day      time.Time // of usedIn
	usedIn   int64     // tokens in that day
	visits   int       // rounds that have begun since the person last said or ordered something
	spent    int64     // tokens of the round, and of those before it that a guest's followed

	folds  bool // nobody else has this state yet: what it points to may grow in place
	places int  // turns that may still begin
	bound  bool
	armed  []Arm
}

// Member is who takes part.
type Member struct {
	Name, Agent, Model, Role, Mode string
	Guest, Gone                    bool

	Unread []int64 // in the order of the room
	Turn   string  // under way
	Turns  int     // that it may still take in this round
	Fails  int     // in a row

	from    int64 // no message up to it wakes it
	answers []int64
	notes   []string // ids of those that it was told in its conversation
	Stand   Stand
}

// Turn is a turn under way.
type Turn struct {
	ID       string
	Member   string
	Round    int
	Messages []int64
	Estimate int64    // tokens
	Notes    []string // ids of those that it tells its member
	Began    time.Time
	Took     time.Time // when its program had it; zero: not yet
	Stopping bool      // a person ordered so

	told     bool // to the life that stands now
	toldAt   time.Time
	sends    int
	crashes  int
	back     time.Time // when its program starts again
	breaking How       // it is broken off, for this reason
	why      string
	broken   bool // that was ordered
	brokeAt  time.Time
	worked   time.Duration // until since
	since    time.Time     // it works; zero: it does not
	allowed  time.Duration // to work, before a person is asked
	asked    time.Time     // a person is asked whether to stop it; zero: not
}

// Round is the newest round. N is 0 before the first.
type Round struct {
	N     int
	On    bool
	State Mark
	Why   string
	Turns int
	Used  int64 // tokens
	Ended int64 // line at which it was capped

	cancelling string // why
}

// Collecting is the collecting of first answers: the others get none of them before it is
// over.
type Collecting struct {
	On    bool
	Turns []string
	Since time.Time
	Held  []int64

	broken bool // the person has written
}

// New is a room before its first line.
func New(name string) State { return State{Name: name, Settings: Defaults()} }

// Fold is the room of the lines. It decides nothing.
func Fold(name string, lines []Line) State {
	s := New(name)
	s.folds = true
	for i := range lines {
		s.fold(&lines[i])
	}
	s.folds = false
	for i := range s.Members {
		s.Members[i].Unread = slices.Clip(s.Members[i].Unread)
	}
	return s
}

// Places is how many turns may still begin, and whether it was told: Places said so, and turns
// have begun and ended since.
func (s *State) Places() (free int, told bool) { return s.places, s.bound }

// clone copies what folding changes.
func (s State) clone() State {
	s.Members = slices.Clone(s.Members)
	s.Open = slices.Clone(s.Open)
	s.Messages = slices.Clip(s.Messages)
	s.Blind.Held = slices.Clip(s.Blind.Held)
	s.armed = slices.Clip(s.armed)
	s.Decisions = slices.Clone(s.Decisions)
	return s
}

func (s *State) fold(l *Line) {
	s.N = l.N
	switch l.Kind {
	case KindOpened, KindSet:
		if l.Settings != nil {
			s.Settings = *l.Settings
		}
	case KindJoined:
		s.join(l)
	case KindLeft:
		s.leave(l.Name)
	case KindSaid:
		s.say(l)
	case KindRound:
		s.round(l)
	case KindBlind:
		s.blind(l)
	case KindTurn:
		s.begin(l)
		s.places--
	case KindTook:
		if t := s.Turn(l.Turn); t != nil && t.Took.IsZero() {
			t.Took = l.At
		}
	case KindOver:
		if s.Turn(l.Turn) != nil {
			s.places++
		}
		s.over(l)
	case KindDropped:
		if m := s.member(l.Member); m != nil {
			m.Unread = without(m.Unread, l.Message)
		}
	case KindProposed:
		s.proposal(l)
	case KindDecided:
		s.decided(l)
	case KindOrder:
		s.order(l)
	}
}

func (s *State) join(l *Line) {
	m := Member{
		Name: l.Name, Agent: l.Agent, Model: l.Model, Role: l.Role, Mode: l.Mode, Guest: l.Guest,
		from: l.N,
	}
	m.Turns = s.allowance(m.Name)
	if !l.Guest {
		m.Unread = s.lately(l.Name)
	}
	if was := s.member(l.Name); was != nil {
		*was = m
		return
	}
	s.Members = append(s.Members, m)
}

// lately are the last messages to all that one who joins gets; of one who was here before,
// not what it said.
func (s *State) lately(name string) []int64 {
	var all []int64
	size := 0
	for _, l := range slices.Backward(s.Messages) {
		if l.By == name || l.To != "" || l.Text == "" || l.Ask != "" || slices.Contains(s.Blind.Held, l.N) {
			continue
		}
		if size += len(l.Text); size > joiningText {
			break
		}
		all = append(all, l.N)
	}
	slices.Reverse(all)
	return all
}

func (s *State) leave(name string) {
	m := s.member(name)
	if m == nil {
		return
	}
	m.Gone = true
	for _, n := range s.Blind.Held { // it gets none of them: a line each says so
		if l := s.Message(n); !m.Guest && l != nil && l.By != name {
			m.Unread = with(m.Unread, n)
		}
	}
	if t := s.Turn(m.Turn); t != nil {
		t.Stopping = true
	}
}

func (s *State) say(l *Line) {
	s.Messages = append(s.Messages, l)
	s.vote(l)
	if l.aboutCard() {
		s.visits = 0
		s.refill()
	}
	if l.By == User {
		s.visits = 0
		s.refill()
		s.Blind.broken = s.Blind.On
	}
	if l.Text == "" && l.File == "" || l.isVote() {
		return // all of it is for the person
	}
	if s.Blind.On && l.To == "" && l.Turn != "" && slices.Contains(s.Blind.Turns, l.Turn) {
		s.Blind.Held = append(s.Blind.Held, l.N)
		return
	}
	s.deliver(l)
}

// deliver puts a message into the inboxes of those whom it is for.
func (s *State) deliver(l *Line) {
	for i := range s.Members {
		switch m := &s.Members[i]; {
		case !m.isFor(l):
		case s.folds && (len(m.Unread) == 0 || m.Unread[len(m.Unread)-1] < l.N):
			m.Unread = append(m.Unread, l.N)
		default:
			m.Unread = with(m.Unread, l.N)
		}
	}
}

func (m *Member) isFor(l *Line) bool {
	if l.isVote() || l.asks() && !slices.Contains(l.Wakes, m.Name) || l.isMoved() && !slices.Contains(l.For, m.Name) {
		return false
	}
	return !m.Guest && !m.Gone && m.Name != l.By && (l.To == "" || l.To == m.Name)
}

// overrun reports whether only guests have kept the room going, for longer than they may.
func (s *State) overrun() bool {
	return s.visits > mostVisits || !s.Round.On && s.visits == mostVisits
}

func (s *State) refill() {
	for i := range s.Members {
		s.Members[i].Turns = s.allowance(s.Members[i].Name)
	}
}

// allowance is how many turns a member may take before it is spent.
func (s *State) allowance(name string) int {
	switch {
	case s.Settings.Policy == Debate && name == s.Settings.Judge:
		return 1
	case s.Settings.Policy == Debate:
		return 1 + s.Settings.Rebuttals
	}
	return max(1, s.Settings.Turns)
}

// left is how many turns a member may take: in a new round all.
func (s *State) left(m *Member) int {
	if s.Round.On {
		return m.Turns
	}
	return s.allowance(m.Name)
}

func (s *State) round(l *Line) {
	if l.State == Began {
		if s.Round.State == Capped {
			s.from = max(s.from, s.Round.Ended)
		}
		s.Round = Round{N: l.Round, On: true, State: Began}
		if s.visits == 0 {
			s.spent = 0
		}
		s.visits++
		s.refill()
		return
	}
	s.Round.On, s.Round.State, s.Round.Why, s.Round.cancelling = false, l.State, l.Why, ""
	if l.State == Capped {
		s.Round.Ended = l.N
	}
}

func (s *State) blind(l *Line) {
	if l.State == Began {
		s.Blind = Collecting{On: true, Turns: l.Turns, Since: l.At}
		return
	}
	held := s.Blind.Held
	s.Blind = Collecting{}
	for _, n := range held {
		if l := s.Message(n); l != nil {
			s.deliver(l)
		}
	}
}

func (s *State) begin(l *Line) {
	s.LastTurn = max(s.LastTurn, number(l.Turn))
	s.spoke = l.Member
	s.Open = append(s.Open, Turn{
		ID: l.Turn, Member: l.Member, Round: l.Round, Messages: l.Messages, Estimate: l.Estimate, Notes: l.Notes, Began: l.At,
		allowed: seconds(s.Settings.Timeouts.Parse),
	})
	s.Round.Turns++
	if m := s.member(l.Member); m != nil {
		m.Turn = l.Turn
		m.Turns = max(0, m.Turns-1)
		m.Unread = unread(m.Unread, l.Messages)
		if len(l.Notes) > 0 {
			m.notes = l.Notes
		}
	}
}

// Noted are the ids of the notes that a member was told in its conversation.
func Noted(s *State, name string) []string {
	if m := s.member(name); m != nil {
		return m.notes
	}
	return nil
}

func (s *State) over(l *Line) {
	i := slices.IndexFunc(s.Open, func(t Turn) bool { return t.ID == l.Turn })
	if i < 0 {
		return
	}
	name := s.Open[i].Member
	s.Open = slices.Delete(slices.Clone(s.Open), i, i+1)
	s.Round.Used += l.Used
	s.spent += l.Used
	if day := dayOf(l.At); !day.Equal(s.day) {
		s.day, s.usedIn = day, 0
	}
	s.usedIn += l.Used
	m := s.member(name)
	if m == nil {
		return
	}
	m.Turn = ""
	switch l.How {
	case HowReplied, HowPassed:
		m.Fails = 0
		if l.Used > 0 {
			m.answers = append(slices.Clone(m.answers[max(0, len(m.answers)-2):]), l.Used)
		}
	case HowFailed, HowTimeout, HowLost:
		m.Fails++
	}
}

func (s *State) order(l *Line) {
	named := func(name string) bool { return len(l.Names) == 0 || slices.Contains(l.Names, name) }
	if l.By == User {
		s.visits = 0
	}
	switch l.Do {
	case DoPause:
		s.Paused = true
	case DoResume:
		s.Paused = false
	case DoStop:
		s.stop(named)
		s.Paused = s.Paused || len(l.Names) == 0
	case DoCancel, DoClose:
		s.stop(func(string) bool { return true })
		s.from = l.N
		s.Closed = s.Closed || l.Do == DoClose
		if s.Round.On {
			s.Round.cancelling = string(l.Do)
		}
	case DoSkip:
		s.stop(named)
		for i := range s.Members {
			if named(s.Members[i].Name) {
				s.Members[i].from = l.N
			}
		}
	case DoContinue:
		if s.Round.State == Capped && !s.Round.On {
			s.Round.On, s.Round.State, s.Round.Why = true, Began, ""
		}
		for i := range s.Members {
			if m := &s.Members[i]; l.Count > 0 {
				m.Turns = l.Count
			} else {
				m.Turns = s.allowance(m.Name)
			}
		}
	case DoReopen:
		s.Closed, s.Paused = false, false
	case DoWake:
		for i := range s.Members {
			if named(s.Members[i].Name) {
				s.Members[i].Fails = 0
			}
		}
	case DoWait:
		for i := range s.Open {
			if t := &s.Open[i]; named(t.Member) {
				t.allowed += seconds(s.Settings.Timeouts.Parse)
				t.asked = time.Time{}
			}
		}
	}
}

func (s *State) stop(whom func(name string) bool) {
	for i := range s.Open {
		if whom(s.Open[i].Member) {
			s.Open[i].Stopping = true
		}
	}
}

// Message is the message of that number, or nil.
func (s *State) Message(n int64) *Line {
	i, found := slices.BinarySearchFunc(s.Messages, n, func(l *Line, n int64) int { return cmp.Compare(l.N, n) })
	if !found {
		return nil
	}
	return s.Messages[i]
}

// Names are those of the members and guests, as marks mean them.
func (s *State) Names() []string {
	var all []string
	for _, m := range s.Members {
		if !m.Gone {
			all = append(all, m.Name)
		}
	}
	return all
}

func (s *State) member(name string) *Member {
	for i := range s.Members {
		if s.Members[i].Name == name && name != "" {
			return &s.Members[i]
		}
	}
	return nil
}

// Turn is a turn under way; nil: it is over, or was never begun.
func (s *State) Turn(id string) *Turn {
	for i := range s.Open {
		if s.Open[i].ID == id {
			return &s.Open[i]
		}
	}
	return nil
}

// waking are the unread messages that wake a member.
func (s *State) waking(m *Member) []*Line {
	from := max(s.from, m.from)
	if !s.Round.On {
		from = max(from, s.Round.Ended)
	}
	var all []*Line
	for _, n := range m.Unread {
		if l := s.Message(n); n > from && l != nil && slices.Contains(l.Wakes, m.Name) {
			all = append(all, l)
		}
	}
	return all
}

// Wakes are those whom a message wakes. The answer is what marks read in its text.
func (s *State) Wakes(by, to string, a marks.Answer) []string {
	author := s.member(by)
	speaks := author != nil && !author.Guest // a member, and no guest or person
	var others, named []string
	for _, m := range s.Members {
		if m.Guest || m.Gone || m.Name == by {
			continue
		}
		others = append(others, m.Name)
		if mentions(a, m.Name) {
			named = append(named, m.Name)
		}
	}
	only := func(name string) []string {
		if slices.Contains(others, name) {
			return []string{name}
		}
		return nil
	}
	if to != "" {
		return only(to)
	}
	if speaks && agreesOnly(a) {
		return nil
	}
	switch s.Settings.Policy {
	case Once:
		if speaks {
			return nil
		}
	case Robin:
		return others
	case Mentioned:
		return named
	case Moderator:
		if by != s.Settings.Moderator {
			return only(s.Settings.Moderator)
		}
		return named
	case Debate:
		if by == s.Settings.Judge {
			return nil
		}
		if !speaks {
			return without(others, s.Settings.Judge)
		}
		// Who has had its say is not woken for nothing.
		return slices.DeleteFunc(others, func(name string) bool { return s.member(name).Turns == 0 })
	}
	if len(named) > 0 {
		return named
	}
	return others
}

func mentions(a marks.Answer, name string) bool {
	return slices.ContainsFunc(a.Pieces, func(p marks.Piece) bool {
		return (p.Kind == marks.Mention && (p.Name == name || p.Name == marks.All)) || p.Kind == marks.Handoff && p.Name == name
	})
}

// agreesOnly reports whether a text agrees with somebody and says nothing else.
func agreesOnly(a marks.Answer) bool {
	agrees := false
	for _, p := range a.Pieces {
		switch {
		case p.Kind == marks.Agree:
			agrees = true
		case p.Kind != marks.Text || !blank(p.Text):
			return false
		}
	}
	return agrees
}

func number(turn string) int {
	if len(turn) < 2 {
		return 0
	}
	n, err := strconv.Atoi(turn[1:])
	if err != nil {
		return 0
	}
	return n
}

func turnID(n int) string { return "t" + strconv.Itoa(n) }

func seconds(n int) time.Duration { return time.Duration(n) * time.Second }

func dayOf(at time.Time) time.Time {
	y, m, d := at.Date()
	return time.Date(y, m, d, 0, 0, 0, 0, at.Location())
}

// with adds a number in its place; the slice that was is left as it is.
func with(all []int64, n int64) []int64 {
	i, found := slices.BinarySearch(all, n)
	if found {
		return all
	}
	return slices.Insert(slices.Clone(all), i, n)
}

// unread are the numbers that are not in given; both are sorted.
func unread(all, given []int64) (left []int64) {
	for _, n := range all {
		for len(given) > 0 && given[0] < n {
			given = given[1:]
		}
		if len(given) == 0 || given[0] != n {
			left = append(left, n)
		}
	}
	return left
}

func without[T comparable](all []T, gone ...T) []T {
	var left []T
	for _, n := range all {
		if !slices.Contains(gone, n) {
			left = append(left, n)
		}
	}
	return left
}
