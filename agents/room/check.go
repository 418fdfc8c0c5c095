package room

import (
	"fmt"
	"maps"
	"slices"
	"time"
)

// Broken is a rule that the lines of a room break.
type Broken struct {
	Rule int    `json:"rule"` // of Rules
	Line int64  `json:"line"`
	What string `json:"what"`
}

func (b Broken) String() string {
	return fmt.Sprintf("line %d breaks rule %d (%s): %s", b.Line, b.Rule, Rules[b.Rule], b.What)
}

// Rules say what holds for the lines of every room, by their numbers. Rule 0 is about the
// lines themselves.
var Rules = [...]string{
	0:  "lines are numbered without gaps, and each says something of what is there",
	1:  "a message reaches each member it is for once: in a turn, or dropped with a reason",
	2:  "no member gets its own message; messages come in the order of the room",
	3:  "a member has one turn at a time, and each turn has one end",
	4:  "a round is settled when no turn is under way and no message is left that wakes a member",
	5:  "a member has no more turns in a round than the person gave it",
	6:  "no turn begins while the room is paused",
	7:  "a person's message is in a turn of every member it is for, or a line says why not",
	8:  "no turn has a first answer before all are in, or an answer to the question for a decision",
	9:  "no turn begins that the room's tokens do not pay for",
	10: "a direct message, and the answer to it, is in no other member's turn",
	11: "only a person's message, a card, an order or a guest wakes a room at rest, and guests only ten times in a row",
	12: "continuing from any line sends no member anything twice",
}

// Check names each rule that the lines of a real room break. It knows nothing of how Step
// decides: it reads what was written.
func Check(lines []Line) []Broken {
	c := checker{
		settings: Defaults(), members: map[string]*checked{}, open: map[string]*Line{}, ended: map[string]bool{},
		said: map[int64]*Line{}, keys: map[string]int64{}, held: map[int64]bool{},
		stopped: map[string]bool{}, proposals: map[string]bool{}, decided: map[string]bool{},
	}
	for i := range lines {
		c.line = &lines[i]
		if want := int64(i + 1); c.line.N != want {
			c.breaks(0, "number %d stands where %d should", c.line.N, want)
		}
		c.read()
	}
	return c.broken
}

type checker struct {
	line     *Line
	broken   []Broken
	settings Settings
	members  map[string]*checked
	open     map[string]*Line // turns
	ended    map[string]bool
	said     map[int64]*Line
	keys     map[string]int64
	turns    int
	stopped  map[string]bool // turns that a person stopped

	round   int
	on      bool
	capped  bool
	endedAt int64 // line
	roused  bool  // something may wake the room
	used    int64 // in the round, and in those before it that a guest's followed
	visits  int   // rounds since the person's last word
	day     time.Time
	usedDay int64
	paused  bool
	closed  bool

	blind bool
	first []string       // turns
	held  map[int64]bool // messages

	proposals, decided map[string]bool
}

// checked is a member, as the checker sees it.
type checked struct {
	guest, gone bool
	unread      []int64
	got         map[int64]bool
	turn        string
	turns, most int
	quietTo     int64 // no message up to it wakes the member
}

func (c *checker) breaks(rule int, format string, args ...any) {
	c.broken = append(c.broken, Broken{rule, c.line.N, fmt.Sprintf(format, args...)})
}

func (c *checker) read() {
	l := c.line
	switch l.Kind {
	case KindOpened, KindSet:
		if l.Settings == nil {
			c.breaks(0, "it has no settings")
			return
		}
		c.settings = *l.Settings
	case KindJoined:
		c.joined()
	case KindLeft:
		m := c.member(l.Name)
		if m == nil {
			return
		}
		m.gone = true
		c.stopped[m.turn] = true
		for _, n := range slices.Sorted(maps.Keys(c.held)) {
			if c.said[n].By != l.Name && !m.guest {
				m.unread = append(m.unread, n)
			}
		}
	case KindSaid:
		c.message()
	case KindRound:
		c.readRound()
	case KindBlind:
		if l.State == Began {
			c.blind, c.first = true, l.Turns
			return
		}
		c.blind = false
		for _, n := range slices.Sorted(maps.Keys(c.held)) {
			c.give(c.said[n])
		}
		c.held = map[int64]bool{}
	case KindTurn:
		c.begin()
	case KindTook:
		if c.open[l.Turn] == nil {
			c.breaks(3, "the turn %s is not under way", l.Turn)
		}
	case KindOver:
		c.over()
	case KindDropped:
		m := c.member(l.Member)
		if m == nil {
			return
		}
		if m.got[l.Message] || !slices.Contains(m.unread, l.Message) {
			c.breaks(1, "%s had %d already, or it was not for it", l.Member, l.Message)
		}
		if l.Why == "" {
			c.breaks(1, "it says no reason")
		}
		m.unread = without(m.unread, l.Message)
	case KindOrder:
		c.order()
	case KindProposed:
		c.proposals[l.ID] = true
	case KindDecided:
		switch {
		case !c.proposals[l.ID]:
			c.breaks(0, "nobody has proposed %q", l.ID)
		case c.decided[l.ID]:
			c.breaks(0, "%s was decided already", l.ID)
		}
		c.decided[l.ID] = true
	default:
		c.breaks(0, "nobody knows the kind %q", l.Kind)
	}
}

func (c *checker) member(name string) *checked {
	m := c.members[name]
	if m == nil {
		c.breaks(0, "nobody here is called %q", name)
	}
	return m
}

func (c *checker) joined() {
	l := c.line
	m := &checked{guest: l.Guest, got: map[int64]bool{}, quietTo: l.N}
	if was := c.members[l.Name]; was != nil {
		m.got = was.got
		if !was.gone {
			c.breaks(0, "%s is here already", l.Name)
		}
	}
	m.most = c.most(l.Name)
	size := 0
	for _, n := range slices.Backward(slices.Sorted(maps.Keys(c.said))) {
		s := c.said[n]
		if l.Guest || s.By == l.Name || s.To != "" || s.Text == "" || s.Ask != "" || c.held[n] {
			continue
		}
		if size += len(s.Text); size > joiningText {
			break
		}
		m.unread = append(m.unread, n)
		delete(m.got, n) // it may have it again: its conversation is a new one
	}
	slices.Sort(m.unread)
	c.members[l.Name] = m
}

func (c *checker) most(name string) int {
	switch {
	case c.settings.Policy == Debate && name == c.settings.Judge:
		return 1
	case c.settings.Policy == Debate:
		return 1 + c.settings.Rebuttals
	}
	return max(1, c.settings.Turns)
}

func (c *checker) refill() {
	for name, m := range c.members {
		m.turns, m.most = 0, c.most(name)
	}
}

func (c *checker) message() {
	l := c.line
	c.said[l.N] = l
	key := l.By + "\x00" + l.Key
	if was := c.keys[key]; l.Key != "" && was != 0 {
		c.breaks(12, "it is the message %d again", was)
	}
	c.keys[key] = l.N
	author := c.members[l.By]
	if l.By == User || author != nil && author.guest {
		c.roused = c.roused || len(l.Wakes) > 0
	}
	c.roused = c.roused || l.aboutCard()
	if l.By == Cmux && len(l.Wakes) > 0 && !l.aboutCard() && (l.Ask == "" || !c.on) {
		c.breaks(11, "a notice of cmux wakes %v", l.Wakes)
	}
	for _, name := range l.Wakes {
		if name == l.By {
			c.breaks(2, "it wakes its author")
		}
		if l.To != "" && name != l.To {
			c.breaks(10, "a message to %s wakes %s", l.To, name)
		}
	}
	if l.By == User || l.aboutCard() {
		c.visits = 0
		c.refill()
	}
	if author != nil && !author.guest && l.Turn == "" {
		c.breaks(3, "%s speaks outside of a turn", l.By)
	}
	if l.isVote() && len(l.Wakes) > 0 {
		c.breaks(8, "an answer to the question for a decision wakes %v", l.Wakes)
	}
	if l.Text == "" && l.File == "" || l.isVote() {
		return
	}
	if c.blind && l.To == "" && slices.Contains(c.first, l.Turn) && l.Turn != "" {
		c.held[l.N] = true
		return
	}
	c.give(l)
}

func (c *checker) give(l *Line) {
	for name, m := range c.members {
		if !m.guest && !m.gone && name != l.By && (l.To == "" || l.To == name) && (!l.asks() || slices.Contains(l.Wakes, name)) && (!l.isMoved() || slices.Contains(l.For, name)) {
			m.unread = append(m.unread, l.N)
			slices.Sort(m.unread)
		}
	}
}

// left checks that no message of one who left is unaccounted for.
func (c *checker) left() {
	for _, name := range slices.Sorted(maps.Keys(c.members)) {
		if m := c.members[name]; m.gone && m.turn == "" && len(m.unread) > 0 {
			c.breaks(1, "%s has left, and nothing says that it does not get %v", name, m.unread)
			m.unread = nil
		}
	}
}

func (c *checker) readRound() {
	l := c.line
	c.left()
	if l.State == Began {
		switch {
		case c.on:
			c.breaks(4, "round %d has not ended", c.round)
		case !c.roused:
			c.breaks(11, "nothing has come from outside")
		case l.Round != c.round+1:
			c.breaks(0, "round %d comes after round %d", l.Round, c.round)
		}
		if c.capped {
			c.quiet(c.endedAt)
		}
		if c.visits == 0 {
			c.used = 0
		}
		c.visits++
		c.round, c.on, c.capped, c.roused = l.Round, true, false, false
		c.refill()
		return
	}
	if !c.on {
		c.breaks(4, "no round is under way")
	}
	if len(c.open) > 0 {
		c.breaks(4, "a turn is under way")
	}
	spent, woken := 0, 0
	for _, name := range slices.Sorted(maps.Keys(c.members)) {
		m := c.members[name]
		if m.gone || !c.wakes(name, m) {
			continue
		}
		woken++
		if m.turns >= m.most {
			spent++
		}
		if l.State == Settled {
			c.breaks(4, "%s has a message left that wakes it", name)
		}
	}
	if l.State == Capped && (woken == 0 || spent < woken && !c.bounded() && c.visits <= mostVisits) {
		c.breaks(5, "%d members wake, and %d of them are spent", woken, spent)
	}
	c.on, c.capped, c.endedAt = false, l.State == Capped, l.N
	c.roused = c.roused && l.State == Cancelled // a person may have written since
}

func (c *checker) bounded() bool { return c.settings.Tokens != Tokens{} }

// quiet says that no message up to a line wakes anybody.
func (c *checker) quiet(to int64) {
	for _, m := range c.members {
		m.quietTo = max(m.quietTo, to)
	}
}

func (c *checker) wakes(name string, m *checked) bool {
	return slices.ContainsFunc(m.unread, func(n int64) bool {
		return n > m.quietTo && slices.Contains(c.said[n].Wakes, name)
	})
}

func (c *checker) begin() {
	l := c.line
	m := c.member(l.Member)
	if m == nil {
		return
	}
	c.left()
	c.turns++
	switch {
	case l.Turn != turnID(c.turns):
		c.breaks(0, "the turn %s is the %d. one", l.Turn, c.turns)
	case m.guest || m.gone:
		c.breaks(3, "%s takes no turns", l.Member)
	case m.turn != "":
		c.breaks(3, "%s is in the turn %s", l.Member, m.turn)
	case !c.on:
		c.breaks(11, "no round is under way")
	case !c.wakes(l.Member, m):
		c.breaks(11, "nothing wakes %s", l.Member)
	case c.visits > mostVisits:
		c.breaks(11, "it is in the round %d since the person's last word", c.visits)
	}
	if c.paused || c.closed {
		c.breaks(6, "the room is paused or closed")
	}
	if m.turns++; m.turns > m.most {
		c.breaks(5, "it is the turn %d of %s, of %d", m.turns, l.Member, m.most)
	}
	if c.blind && !slices.Contains(c.first, l.Turn) {
		c.breaks(8, "first answers are collected")
	}
	c.handed(m)
	pledged := l.Estimate
	for _, t := range c.open {
		pledged += t.Estimate
	}
	day := int64(0)
	if c.day.Equal(dayOf(l.At)) {
		day = c.usedDay
	}
	b := c.settings.Tokens
	if b.Round > 0 && c.used+pledged > b.Round || b.Day > 0 && day+pledged > b.Day {
		c.breaks(9, "%d tokens of the round and %d of the day are used, and it takes about %d", c.used, day, pledged)
	}
	m.turn, m.unread = l.Turn, nil
	c.open[l.Turn] = l
}

// handed checks the messages of a turn.
func (c *checker) handed(m *checked) {
	l := c.line
	if !slices.IsSorted(l.Messages) {
		c.breaks(2, "its messages are not in the order of the room")
	}
	for _, n := range l.Messages {
		s := c.said[n]
		switch {
		case s == nil:
			c.breaks(0, "there is no message %d", n)
			continue
		case s.By == l.Member:
			c.breaks(2, "%d is its own message", n)
		case s.To != "" && s.To != l.Member:
			c.breaks(10, "%d is for %s", n, s.To)
		case c.held[n]:
			c.breaks(8, "%d is a first answer", n)
		case s.isVote():
			c.breaks(8, "%d is an answer to the question for a decision", n)
		case m.got[n]:
			c.breaks(1, "%s had %d already", l.Member, n)
		}
		m.got[n] = true
	}
	for _, n := range m.unread {
		if !slices.Contains(l.Messages, n) {
			rule := 1
			if c.said[n].By == User {
				rule = 7
			}
			c.breaks(rule, "%d is missing in it", n)
		}
	}
}

func (c *checker) over() {
	l := c.line
	t := c.open[l.Turn]
	switch {
	case c.ended[l.Turn]:
		c.breaks(3, "the turn %s has ended already", l.Turn)
		return
	case t == nil:
		c.breaks(3, "the turn %s has not begun", l.Turn)
		return
	}
	if c.stopped[l.Turn] && l.How != HowStopped {
		c.breaks(3, "a person stopped it, and it ended as %s", l.How)
	}
	delete(c.open, l.Turn)
	c.ended[l.Turn] = true
	c.members[t.Member].turn = ""
	c.used += l.Used
	if day := dayOf(l.At); !day.Equal(c.day) {
		c.day, c.usedDay = day, 0
	}
	c.usedDay += l.Used
	if l.Said != 0 && (c.said[l.Said] == nil || c.said[l.Said].Turn != l.Turn) {
		c.breaks(0, "%d is not what it said", l.Said)
	}
	if s := c.said[l.Said]; s != nil && s.To == "" && s.Text != "" && l.How != HowReplied {
		c.breaks(3, "a turn that ended as %s has said something to all", l.How)
	}
}

// stop notes the turns that an order stops.
func (c *checker) stop() {
	for name, m := range c.members {
		all := len(c.line.Names) == 0 || c.line.Do == DoCancel || c.line.Do == DoClose
		if all || slices.Contains(c.line.Names, name) {
			c.stopped[m.turn] = true
		}
	}
}

func (c *checker) order() {
	l := c.line
	if l.By == User {
		c.visits = 0
	}
	switch l.Do {
	case DoPause:
		c.paused = true
	case DoResume:
		c.paused = false
	case DoStop:
		c.stop()
		c.paused = c.paused || len(l.Names) == 0
	case DoCancel, DoClose:
		c.stop()
		c.quiet(l.N)
		c.closed = c.closed || l.Do == DoClose
	case DoSkip:
		c.stop()
		for name, m := range c.members {
			if len(l.Names) == 0 || slices.Contains(l.Names, name) {
				m.quietTo = max(m.quietTo, l.N)
			}
		}
	case DoContinue:
		if c.capped {
			c.on, c.capped = true, false
		}
		for name, m := range c.members {
			m.turns, m.most = 0, c.most(name)
			if l.Count > 0 {
				m.most = l.Count
			}
		}
	case DoReopen:
		c.closed, c.paused = false, false
	case DoWake, DoWait, DoDecide:
	default:
		c.breaks(0, "nobody knows the order %q", l.Do)
	}
}
