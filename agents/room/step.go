package room

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"cmux/agents/room/marks"
)

const (
	gathers     = 500 * time.Millisecond // after the newest message that wakes a member
	gathersMost = 2 * time.Second        // after the oldest
	firstMost   = 5 * time.Minute        // first answers are collected
	breaksMost  = 10 * time.Second       // until the end of an interrupted turn is seen
	answersMost = 10 * time.Minute       // a person is asked whether to stop a long turn
	mostTries   = 3                      // of a turn, after crashes or without being taken
	mostSaid    = 256 << 10              // of an answer, in bytes
	mostUsed    = 1 << 42                // tokens of a turn: sums of more would overflow, and lift a budget
)

// Step takes in an event. It changes nothing that s points to.
func Step(s State, e Event) (State, []Effect) {
	m := move{State: s.clone(), at: e.At}
	m.hear(e.What)
	known := m.State
	m.State = known.clone()
	m.answer(e.What)
	m.decide()
	if len(m.lines) > 0 {
		return known, append(m.effects, Append{m.lines})
	}
	m.act()
	return m.State, m.effects
}

// move is one step being taken. Lines that it decides are folded at once, so that it goes on
// from them; the caller has them back as Lines.
type move struct {
	State
	at      time.Time
	soon    time.Time // when the next member begins that gathers
	lines   []Line
	effects []Effect
}

func (m *move) do(e Effect) { m.effects = append(m.effects, e) }

func (m *move) write(l Line) int64 {
	l.N, l.At = m.N+1, m.at
	m.lines = append(m.lines, l)
	m.fold(&l)
	return l.N
}

// hear takes in what an event says without a line.
func (m *move) hear(w What) {
	switch w := w.(type) {
	case Lines:
		for i := range w {
			if w[i].N > m.N {
				asking := m.Asking()
				m.fold(&w[i])
				m.tell(&w[i], asking)
			}
		}
	case Stands:
		m.stands(w)
	case Stood:
		for _, one := range w {
			m.stands(one)
		}
	case Rang:
		m.rang(w.Clock)
	case Places:
		m.places, m.bound = w.Free, true
	}
}

func (m *move) stands(w Stands) {
	who := m.member(w.Member)
	if who == nil {
		return
	}
	was := who.Stand.Is
	who.Stand = w.Stand
	t := m.Turn(who.Turn)
	if t == nil {
		return
	}
	if works := w.Is == InTurn; works != !t.since.IsZero() {
		if works {
			t.since = m.at
		} else {
			t.worked, t.since = t.worked+m.at.Sub(t.since), time.Time{}
		}
	}
	if w.Is == Off || w.Is == Down {
		t.told = false
		if w.Crashed && was != Off && t.breaking == "" && !t.Stopping {
			t.crashes++
			t.back = m.at.Add(time.Second << (t.crashes - 1))
		}
	}
	t.crashes = max(t.crashes, w.Crashes)
}

func (m *move) rang(c Clock) {
	m.armed = slices.DeleteFunc(slices.Clone(m.armed), func(a Arm) bool { return a.Clock == c })
	t := m.Turn(c.Turn)
	if t == nil {
		return
	}
	limits := m.Settings.Timeouts
	switch c.Kind {
	case Send:
		if t.Took.IsZero() && t.told && !m.at.Before(t.toldAt.Add(seconds(limits.Send))) {
			t.told, t.sends = false, t.sends+1
			m.rest(t.Member, "it did not take its turn "+t.ID)
		}
	case IdleFor:
		if !m.at.Before(m.quietUntil(t)) {
			t.breakFor(HowTimeout, fmt.Sprintf("it gave no sign for %v", seconds(limits.Idle)))
		}
	case Hard:
		if !m.at.Before(t.Took.Add(seconds(limits.Hard))) {
			t.breakFor(HowTimeout, fmt.Sprintf("it took %v", seconds(limits.Hard)))
		}
	case Parse:
		switch {
		case t.since.IsZero() || t.worked+m.at.Sub(t.since) < t.allowed:
		case limits.Stops:
			t.breakFor(HowTimeout, fmt.Sprintf("it worked for %v", t.allowed))
		case t.asked.IsZero():
			t.asked = m.at
			m.do(Notify{fmt.Sprintf("%s has worked for %v: wait, skip or stop", t.Member, t.allowed.Round(time.Second)), true})
		}
	case Answer:
		if !t.asked.IsZero() && !m.at.Before(t.asked.Add(answersMost)) {
			t.breakFor(HowTimeout, fmt.Sprintf("it worked for %v, and nobody said to wait", t.allowed))
		}
	case Break:
		if who := m.member(t.Member); t.broken && who != nil && who.Stand.Is != Off {
			m.rest(t.Member, "the end of its turn "+t.ID+" was not seen")
		}
	}
}

func (t *Turn) breakFor(how How, why string) {
	if t.breaking == "" {
		t.breaking, t.why = how, why
	}
}

// quietUntil is when a turn has been quiet for too long.
func (m *move) quietUntil(t *Turn) time.Time {
	from := t.Took
	if who := m.member(t.Member); who != nil && who.Stand.Active.After(from) {
		from = who.Stand.Active
	}
	return from.Add(seconds(m.Settings.Timeouts.Idle))
}

// tell tells the person what a new line means for him. asked is the proposal about which
// members were asked before it; nil: there was none.
func (m *move) tell(l *Line, asked *Decision) {
	if asked != nil {
		if d := m.Decision(asked.ID); d.Decided == nil && len(m.Pending(d)) == 0 && !m.byModerator() {
			m.do(Notify{fmt.Sprintf("all were asked about %s, and it waits for you: %s", d.Label, d.Counts()), true})
		}
	}
	switch {
	case l.Kind == KindDecided && l.By != User:
		m.do(Record{l.ID})
		m.do(Notify{fmt.Sprintf("%s has %s %s", l.By, l.What, m.Decision(l.ID).Label), false})
	case l.Kind == KindRound && l.State == Settled && m.byModerator():
		for i := range m.Decisions {
			if d := &m.Decisions[i]; d.round == l.Round && d.Asked != 0 && d.Decided == nil {
				m.do(Notify{fmt.Sprintf("%s has not decided on %s, and it waits for you: %s", m.Settings.Moderator, d.Label, d.Counts()), true})
			}
		}
	case l.Kind == KindRound && l.State == Capped:
		m.do(Notify{fmt.Sprintf("round %d has ended with messages left: %s", l.Round, l.Why), true})
	case l.Kind == KindOver && (l.How == HowFailed || l.How == HowTimeout || l.How == HowLost):
		who := m.member(l.Member)
		if who != nil && who.Fails >= mostFails {
			m.do(Notify{fmt.Sprintf("%s is down: its last %d turns failed (%s)", l.Member, who.Fails, l.Why), true})
			return
		}
		m.do(Notify{fmt.Sprintf("the turn %s of %s has failed: %s", l.Turn, l.Member, l.Why), false})
	case l.Kind == KindSaid && l.Turn != "":
		for _, p := range marks.Pieces(l.Text, m.Names()) {
			if p.Kind == marks.Status && (p.Mark == marks.Blocked || p.Mark == marks.Question) {
				m.do(Notify{l.By + ": " + p.Words, true})
			}
		}
	}
}

// answer writes what an event says of a turn.
func (m *move) answer(w What) {
	switch w := w.(type) {
	case Took:
		if t := m.Turn(w.Turn); t != nil && t.Took.IsZero() {
			m.write(Line{Kind: KindTook, Turn: t.ID})
		}
	case Replied:
		m.ended(w.Turn, HowReplied, "", w.Text, w.Used)
	case Failed:
		m.ended(w.Turn, w.How, w.Why, w.Text, w.Used)
	}
}

// ended writes the end of a turn: what it said first, so that a crash between two of the
// lines loses nothing and says nothing twice.
func (m *move) ended(id string, how How, why, text string, used int64) {
	t := m.Turn(id)
	if t == nil {
		return // it is over
	}
	switch {
	case t.Stopping:
		how, why = HowStopped, ""
	case t.breaking != "":
		how, why = t.breaking, t.why
	}
	over := Line{Kind: KindOver, Turn: id, Member: t.Member, How: how, Why: why, Took: m.at.Sub(t.Began).Milliseconds()}
	text, over.Used = cut(text), min(max(0, used), mostUsed)
	if how != HowReplied {
		if text != "" {
			over.Said = m.once(Line{Kind: KindSaid, By: t.Member, Turn: id, Key: id, Aside: text})
		}
		m.write(over)
		return
	}
	a := marks.Read(text, m.Names(), m.Settings.Tagged)
	if a.Pass {
		over.How = HowPassed
	}
	said := Line{Kind: KindSaid, By: t.Member, Turn: id, Key: id, Text: a.Shared, Aside: a.Aside}
	waking, direct := m.answers(t)
	switch ask := m.ask(t); {
	case ask != nil: // it is for whoever decides
		said.Re, said.Ask = ask.N, ask.Ask
	case m.card(t) != nil: // the others read it with their next turns
		said.Re, said.Card = waking, m.card(t).Card
		if m.card(t).Blind {
			said.To = User
		}
	case !a.Pass:
		said.Re = waking
		if direct != "" && !a.Tagged {
			said.To = direct
		}
		said.Wakes = m.Wakes(said.By, said.To, a)
	}
	if said.Text != "" || said.Aside != "" {
		over.Said = m.once(said)
		m.proposes(t, a, over.Said)
	}
	m.write(over)
}

// answers are the message that a turn answers, and who wants the answer for himself.
func (m *move) answers(t *Turn) (message int64, direct string) {
	for _, n := range t.Messages {
		l := m.Message(n)
		if l == nil {
			continue
		}
		if slices.Contains(l.Wakes, t.Member) {
			message = n
		}
		if l.To == t.Member && l.By != Cmux && direct == "" {
			direct = l.By
		}
	}
	return message, direct
}

// mostProposed bounds the proposals of one answer, and the words about its handoffs to nobody.
const mostProposed = 10

// proposes writes what an answer proposes, and tells its author of a name that nobody has.
func (m *move) proposes(t *Turn, a marks.Answer, from int64) {
	by := t.Member
	if m.moderates(t, a) {
		return
	}
	proposed, unknown := 0, 0
	for i, p := range a.Pieces {
		switch {
		case p.Kind == marks.Status && (p.Mark == marks.Decision || p.Mark == marks.Todo) && proposed == mostProposed:
			m.once(Line{Kind: KindSaid, By: Cmux, To: by, Key: fmt.Sprintf("m%d", from), Text: fmt.Sprintf("Only the first %d proposals of your answer count. Propose the others in later turns, if they still matter.", mostProposed)})
			return
		case p.Kind == marks.Status && (p.Mark == marks.Decision || p.Mark == marks.Todo):
			what := "decision"
			if p.Mark == marks.Todo {
				what = "card"
			}
			proposed++
			m.once(Line{Kind: KindProposed, What: what, By: by, Text: p.Words, From: from, ID: fmt.Sprintf("p%d.%d", from, i)})
		case p.Kind == marks.Handoff && !slices.Contains(m.Names(), p.Name) && unknown < mostProposed:
			unknown++
			m.once(Line{
				Kind: KindSaid, By: Cmux, To: by, Key: fmt.Sprintf("h%d.%d", from, i),
				Text: fmt.Sprintf("Nobody in this room is called %q, so nothing was handed off. Members: %s.", p.Name, strings.Join(m.Names(), ", ")),
			})
		}
	}
}

// once writes a line that may stand there already, by its key, and is its number.
func (m *move) once(l Line) int64 {
	if l.Kind == KindSaid {
		if was := m.saidWith(l.By, l.Key); was != nil {
			return was.N
		}
	} else if slices.Contains(m.proposed, l.ID) {
		return 0
	}
	return m.write(l)
}

// saidWith is the message of an author with a key; nil: there is none.
func (s *State) saidWith(by, key string) *Line {
	for _, was := range slices.Backward(s.Messages) {
		if was.By == by && was.Key == key {
			return was
		}
	}
	return nil
}

// decide writes what follows from where the room stands.
func (m *move) decide() {
	m.overdue()
	m.drop()
	m.collected()
	m.polls()
	if m.Round.On && m.Round.cancelling != "" && len(m.Open) == 0 {
		m.write(Line{Kind: KindRound, Round: m.Round.N, State: Cancelled, Why: m.Round.cancelling, Used: m.Round.Used})
	}
	begun, blocked := m.beginTurns()
	m.settle(begun, blocked)
}

// drop says of the messages of those who left that they do not get them.
func (m *move) drop() {
	for i := range m.Members {
		who := &m.Members[i]
		if !who.Gone || who.Turn != "" {
			continue
		}
		for _, n := range who.Unread {
			m.write(Line{Kind: KindDropped, Message: n, Member: who.Name, Why: "left"})
		}
	}
}

// overdue ends turns whose end nobody will tell.
func (m *move) overdue() {
	for _, t := range slices.Clone(m.Open) {
		who := m.member(t.Member)
		if who == nil {
			continue
		}
		off := who.Stand.Is == Off || who.Stand.Is == Down
		switch {
		case off && (t.Stopping || t.breaking != ""):
			m.ended(t.ID, HowStopped, "", "", 0)
		case who.Stand.Is == Down:
			m.ended(t.ID, HowFailed, cmp.Or(who.Stand.Why, "its program cannot be started"), "", 0)
		case t.crashes > mostTries:
			m.ended(t.ID, HowFailed, fmt.Sprintf("crashed %d times", mostTries), "", 0)
		case t.sends >= mostTries:
			m.ended(t.ID, HowFailed, fmt.Sprintf("its program did not take it, in %d tries", mostTries), "", 0)
		}
	}
}

// collected ends the collecting of first answers.
func (m *move) collected() {
	b := m.Blind
	if !b.On {
		return
	}
	all := !slices.ContainsFunc(b.Turns, func(id string) bool { return number(id) > m.LastTurn || m.Turn(id) != nil })
	none := len(m.Open) == 0 && !m.Paused && len(m.eligible()) == 0 // that could still begin
	if all || none || b.broken || m.Round.cancelling != "" || !m.at.Before(b.Since.Add(firstMost)) {
		m.write(Line{Kind: KindBlind, State: Ended})
	}
}

// ready reports whether a member can take a turn now.
func (m *move) ready(who *Member) bool {
	switch who.Stand.Is {
	case Off, Starting, Idle:
		return who.Fails < mostFails
	}
	return false
}

// beginTurns begins the turns that are due. It reports how many, and whether a budget keeps
// others from it.
func (m *move) beginTurns() (begun int, blocked bool) {
	if m.Paused || m.Closed || m.Round.cancelling != "" {
		return 0, false
	}
	if m.Settings.Policy == Robin && len(m.Open) > 0 {
		return 0, false
	}
	var due []string
	pledged := int64(0)
	for _, who := range m.eligible() {
		if when := m.begins(&who); when.After(m.at) {
			if m.soon.IsZero() || when.Before(m.soon) {
				m.soon = when
			}
			continue
		}
		if e := m.Estimate(who.Name); m.overrun() || !m.affords(pledged+e) {
			blocked = true
			continue
		} else {
			pledged += e
		}
		due = append(due, who.Name)
	}
	switch {
	case m.Settings.Policy == Robin && len(due) > 1:
		due = due[:1]
	case m.Blind.On:
		left := 0
		for _, id := range m.Blind.Turns {
			if number(id) > m.LastTurn {
				left++
			}
		}
		due = due[:min(len(due), left)]
	}
	if len(due) == 0 {
		if blocked && !m.Round.On { // there is no round that could be capped
			m.write(Line{Kind: KindRound, Round: m.Round.N + 1, State: Began})
		}
		return 0, blocked
	}
	places := len(due)
	if m.bound {
		places = min(places, m.places)
	}
	if places <= 0 {
		return 0, blocked
	}
	if !m.Round.On {
		m.write(Line{Kind: KindRound, Round: m.Round.N + 1, State: Began, Card: m.roundsCard(due)})
	}
	if !m.Blind.On && len(due) > 1 && m.blindly(due) {
		var ids []string
		for i := range due {
			ids = append(ids, turnID(m.LastTurn+1+i))
		}
		m.write(Line{Kind: KindBlind, State: Began, Turns: ids})
	}
	for _, name := range due[:places] {
		who := m.member(name)
		m.write(Line{
			Kind: KindTurn, Turn: turnID(m.LastTurn + 1), Member: name, Round: m.Round.N,
			Messages: slices.Clone(who.Unread), Estimate: m.Estimate(name),
		})
	}
	return places, blocked
}

// roundsCard is the card that a round is about which these members begin; empty: it is about
// none, or not about it alone.
func (m *move) roundsCard(due []string) (card string) {
	for _, name := range due {
		for _, l := range m.waking(m.member(name)) {
			if !l.aboutCard() || card != "" && card != l.Card {
				return ""
			}
			card = l.Card
		}
	}
	return card
}

// eligible are the members that a message wakes and who may take a turn, in the order of
// their turns.
func (m *move) eligible() []Member {
	var all []Member
	for i := range m.Members {
		who := &m.Members[i]
		if !who.Guest && !who.Gone && who.Turn == "" && m.left(who) > 0 && m.ready(who) && len(m.waking(who)) > 0 {
			all = append(all, *who)
		}
	}
	switch m.Settings.Policy {
	case Robin:
		// The one after the last speaker comes first.
		at := slices.IndexFunc(m.Members, func(who Member) bool { return who.Name == m.spoke })
		order := func(name string) int {
			i := slices.IndexFunc(m.Members, func(who Member) bool { return who.Name == name })
			return (i - at - 1 + len(m.Members)) % len(m.Members)
		}
		if !m.Round.On {
			at = -1
		}
		slices.SortFunc(all, func(a, b Member) int { return order(a.Name) - order(b.Name) })
	case Debate:
		// The judge speaks last, and sees all of it.
		judge := func(who Member) bool { return who.Name == m.Settings.Judge }
		if len(m.Open) > 0 || slices.ContainsFunc(all, func(who Member) bool { return !judge(who) }) {
			all = slices.DeleteFunc(all, judge)
		}
	}
	return all
}

// begins is when a member begins, that gathers what comes for it. A person's message to all
// does not wait, and nothing waits where nothing can come.
func (m *move) begins(who *Member) time.Time {
	waking := m.waking(who)
	newest, oldest := waking[len(waking)-1], waking[0]
	if newest.Ask != "" || newest.By == User && newest.To == "" {
		return m.at
	}
	author := m.member(newest.By)
	if author != nil && !author.Guest && len(m.Open) == 0 {
		return m.at
	}
	when := newest.At.Add(gathers)
	if most := oldest.At.Add(gathersMost); most.Before(when) {
		return most
	}
	return when
}

// blindly reports whether the first answers to what wakes the members are collected.
func (m *move) blindly(due []string) bool {
	if !m.Settings.Blind || m.Settings.Policy != Everybody && m.Settings.Policy != Debate {
		return false
	}
	for _, name := range due {
		for _, l := range m.waking(m.member(name)) {
			if l.By != User {
				return false
			}
		}
	}
	return true
}

// Why a round is capped that not its turns end.
const (
	OutOfTokens = "tokens are used up"
	ofVisits    = "guests have kept it going for long enough"
)

// settle ends a round in which nothing can happen any more.
func (m *move) settle(begun int, blocked bool) {
	if !m.Round.On || len(m.Open) > 0 || begun > 0 || m.Blind.On {
		return
	}
	state, why := Settled, ""
	for i := range m.Members {
		who := &m.Members[i]
		if who.Guest || who.Gone || len(m.waking(who)) == 0 {
			continue
		}
		switch {
		case who.Turns == 0 && why == "":
			state, why = Capped, "turns are used up"
		case who.Turns == 0:
		case blocked && m.ready(who) && m.overrun():
			state, why = Capped, ofVisits
		case blocked && m.ready(who) && !m.affords(m.Estimate(who.Name)):
			state, why = Capped, OutOfTokens
		default:
			return // it waits
		}
	}
	m.write(Line{Kind: KindRound, Round: m.Round.N, State: state, Why: why, Used: m.Round.Used})
}

// affords reports whether the budgets have tokens for turns that begin now, beside those
// under way.
func (m *move) affords(tokens int64) bool {
	for _, t := range m.Open {
		tokens += t.Estimate
	}
	used, day := int64(0), int64(0)
	if m.Round.On || m.visits > 0 {
		used = m.spent
	}
	if m.day.Equal(dayOf(m.at)) {
		day = m.usedIn
	}
	b := m.Settings.Tokens
	return (b.Round == 0 || used+tokens <= b.Round) && (b.Day == 0 || day+tokens <= b.Day)
}

// Estimate is how many tokens a member's next turn will use about: what it has not read, and
// as much as its last turns used.
func (s *State) Estimate(name string) int64 {
	who := s.member(name)
	if who == nil {
		return 0
	}
	size := int64(0)
	for _, n := range who.Unread {
		if l := s.Message(n); l != nil {
			size += int64(len(l.Text))
		}
	}
	return size/perToken + who.answer()
}

const (
	perToken    = 4   // bytes
	firstAnswer = 500 // tokens
)

// answer is how many tokens a turn of the member has used, in the mean of its last ones.
func (m *Member) answer() int64 {
	if len(m.answers) == 0 {
		return firstAnswer
	}
	sum := int64(0)
	for _, used := range m.answers {
		sum += used
	}
	return sum / int64(len(m.answers))
}

// cut bounds what an answer may say.
func cut(text string) string {
	if len(text) <= mostSaid {
		return text
	}
	return strings.ToValidUTF8(text[:mostSaid], "") + fmt.Sprintf("\n[cut: the answer had %d KB]", len(text)>>10)
}

func blank(text string) bool {
	return strings.TrimFunc(text, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsPunct(r) }) == ""
}
