package conversation

import (
	"slices"
	"strings"
	"time"

	"cmux/agents/kinds/news"
	"cmux/agents/kinds/question"
)

// What an agent that stays has beside its work: questions that go to whom it
// works for, messages that cannot wait for the end of a turn, and work without a
// task that is to be kept.

// Urgency says how a message reaches an agent that is in a turn.
type Urgency uint8

const (
	Patient  Urgency = iota // at the end of the turn
	Urgent                  // with the next hook that carries it
	Breaking                // the turn is broken off first, where the kind can
)

const (
	minCalls = 5               // of tools in a turn, from which on what was done is to be kept
	maxSlip  = 8000            // bytes that go with a hook; programs cut what is longer
	slipWait = 3 * time.Second // after a turn, for a sign that what went with a hook was read
)

// alone reports whether nobody is in front of it to answer a question.
func (s *State) alone() bool { return s.Stays && !s.Taken && !s.Spoke && !s.Overridden }

// maxAwaited bounds how much of a question is repeated, in runes.
const maxAwaited = 100

// AwaitAnswer takes in that the agent put a question to somebody, and waits for the
// answer.
func (s *State) AwaitAnswer(p *question.Posed) {
	s.Posed, s.Awaits = p, "asked "+p.To
	if p.To == "user" {
		s.Asked = append(slices.Clip(s.Asked), p.Message)
	}
	if line, _, _ := strings.Cut(strings.TrimSpace(p.Parts[0].Text), "\n"); line != "" {
		s.Awaits += ": " + question.Shorten(line, maxAwaited)
	}
}

// goesOn has the agent wait for nothing any more, without a turn.
func (s *State) goesOn() { s.Awaits, s.Posed = "", nil }

// answers is the question of the agent's that a message which comes now answers: it
// says so, or it is from who was asked, or a person, and answers no other message. nil:
// none.
func (s *State) answers(e Tell) *question.Posed {
	p := s.Posed
	if p == nil || e.Re != "" && e.Re != p.Message || e.Re == "" && e.From != p.To && e.From != "user" {
		return nil
	}
	return p
}

// gets takes in that the agent has been told something, for which it may have waited.
// The message of a question that this answers is settled.
func (s *State) gets(p Message) (all []Effect) {
	if p.Of != nil && p.Of.To == "user" {
		all = append(all, Settle{p.Of.Message})
		s.Asked = slices.DeleteFunc(slices.Clone(s.Asked), func(id string) bool { return id == p.Of.Message })
	}
	if p.Of == s.Posed {
		s.goesOn()
	}
	return all
}

// passed takes in that a question was sent, or could not be: then a person is
// asked, as without it.
func (m *move) passed(e Passed) {
	if e.Failure == "" {
		q := e.Question
		q.Message, m.Kept = e.ID, true
		m.AwaitAnswer(&question.Posed{Question: q, To: e.To})
		m.do(Tellback{Ref: e.Ref, Text: e.Text})
		return
	}
	m.do(Note{"its question could not be sent as a message: " + e.Failure})
	if e.Call {
		m.hangUp("a later question of yours has taken the place of this one")
		m.Call = Call{Ref: e.Ref, Asks: true, Options: e.Parts[0].Options, question: &e.Question}
	} else {
		m.hold(Gate{Ref: e.Ref, Asks: true, question: &e.Question})
	}
	m.Question = &e.Question
}

// begins records that the agent received a text and begins a turn: it sets the turn's
// start and clears its counts.
func (m *move) begins() { m.Began, m.Calls, m.Kept, m.Midway = m.at, 0, false, true }

// Unkept reports whether its turn did what is to be kept, as far as is known.
func (s *State) Unkept() bool {
	return s.Stays && s.Keeps && !s.Got && !s.Spoke && !s.Taken && !s.Kept && !s.Gated && s.Awaits == "" && s.Calls >= minCalls
}

// slip gives what cannot wait to the hook of a tool call, which carries it to the
// model. What stands before it goes along, so that the order stays.
func (m *move) slip() {
	if m.Taken || m.Overridden || m.Phase != Working && m.Phase != AwaitingTurn {
		return
	}
	waiting := m.Pending
	if m.Phase == AwaitingTurn {
		waiting = append(m.Handed.split(), m.Pending...)
	}
	upTo := slips(waiting)
	if upTo == 0 {
		return
	}
	for _, p := range waiting[:upTo] {
		m.do(Slip{p})
		if p.ID != "" {
			m.Unseen = append(slices.Clip(m.Unseen), p)
		}
	}
	m.Pending = slices.Clone(waiting[upTo:])
	if m.Phase == AwaitingTurn { // what waited has gone, or stands first among the rest
		m.back()
	}
}

// slips is how many of the messages that wait go with a hook: up to the last urgent
// one, as far as they fit. What does not fit goes with the next one.
func slips(waiting []Message) (upTo int) {
	fits, size := 0, 0
	for i, p := range waiting {
		if p.Why != FromMail && p.Why != NoWork {
			break
		}
		if size += len(p.Text); i == 0 || size <= maxSlip {
			fits = i + 1
		}
		if p.Urgency > Patient {
			upTo = i + 1
		}
	}
	return min(upTo, fits)
}

// seen takes in that the agent's conversation holds what it was handed.
func (m *move) seen(id string) {
	is := func(p Message) bool { return p.is(id) }
	if i := slices.IndexFunc(m.Unseen, is); i >= 0 {
		m.has(m.Unseen[i])
		m.Unseen = slices.Delete(slices.Clone(m.Unseen), i, i+1)
		if !m.awaited() {
			m.do(Disarm{SlipClock})
		}
		return
	}
	// The message was queued for another delivery. If the program that had new work
	// is gone, the work stays queued for the next program.
	if i := slices.IndexFunc(m.Pending, is); i >= 0 {
		if m.Pending[i].Why == NewWork && !m.running() {
			return
		}
		m.has(m.Pending[i])
		m.Pending = slices.Delete(slices.Clone(m.Pending), i, i+1)
		return
	}
	switch {
	case !m.handing() || !m.Handed.is(id):
	case m.Phase == AwaitingTurn:
		m.Early = append(slices.Clip(m.Early), id)
		m.keep(m.Handed)
		m.back()
	default: // its program has it, and has not said so yet
		m.Early = append(slices.Clip(m.Early), id)
		if m.Phase == Hindered && m.Arrived() {
			m.giveUp()
		}
	}
}

// Arrived reports whether all that is being handed over was seen in the conversation.
func (s *State) Arrived() bool {
	return s.Handed.ID != "" && !slices.ContainsFunc(s.Handed.split(), func(p Message) bool { return !slices.Contains(s.Early, p.ID) })
}

// early takes in what was seen before its hand-over was confirmed.
func (m *move) early() {
	ids := m.Early
	m.Early = nil
	for _, id := range ids {
		m.seen(id)
	}
}

// has takes in that the agent has what it was handed.
func (m *move) has(p Message) {
	if p.Why == FromMail {
		m.do(m.gets(p)...)
	}
	if p.Why == NewWork {
		m.Got = m.Got || m.Work == p.ID
	}
	m.read(p.ID)
}

// maxTries is how often something is handed over to one program that does not show
// it in its conversation. It stays unread then.
const maxTries = 3

// Unsure are the messages that the agent may have read and that were not seen in its
// conversation yet.
func (s *State) Unsure() []Message {
	if s.typing() {
		return append(slices.Clip(s.Unseen), s.Handed.split()...)
	}
	return s.Unseen
}

// awaited reports whether something is to be seen in the conversation yet, or else
// handed over again.
func (s *State) awaited() bool {
	return slices.ContainsFunc(s.Unseen, func(p Message) bool { return p.tries < maxTries-1 })
}

// unseen has what was handed over and never seen handed over again.
func (m *move) unseen() {
	var again, left []Message
	for _, p := range m.Unseen {
		if p.tries++; p.tries < maxTries {
			again = append(again, p)
		} else {
			left = append(left, p)
		}
	}
	m.Pending, m.Unseen = append(again, m.Pending...), left
}

// untold takes in that a program has ended which may not have taken in its work: it
// is told the whole again.
func (m *move) untold() {
	if m.Work == "" || m.Told {
		return
	}
	isWork := func(p Message) bool { return p.Why == NewWork && p.ID == m.Work }
	m.Got = !slices.ContainsFunc(m.Pending, isWork)
}

// breaks reports whether h may break off the turn.
func (m *move) breaks(h Message) bool { return h.Urgency == Breaking && m.CanBreak }

// waitsForTurn reports whether h waits for the end of the turn. Every message waits
// while the program is busy. While a turn is under way whose end cmux only observes,
// mail waits, unless it is urgent and the program accepts messages during a turn.
func (m *move) waitsForTurn(h Message) bool {
	if m.Gate.Ref != 0 {
		return false
	}
	return m.busy || m.inTurn && h.Why == FromMail && !(m.Steers && h.Urgency > Patient)
}

// hurried reports whether something that came since is to break off the turn that
// what is handed over waits for, or can be given to that turn: it goes together
// with that.
func (m *move) hurried() bool {
	if m.Handed.Why != FromMail || m.Handed.Alone {
		return false
	}
	for _, p := range m.Pending {
		if p.Why != FromMail || p.Alone {
			return false
		}
		if m.breaks(p) || m.inTurn && m.Steers && p.Urgency > Patient {
			return true
		}
	}
	return false
}

// turns takes in what begins, fills and ends its turns.
func (m *move) turns(e news.Event) {
	switch e := e.(type) {
	case news.Worked:
		m.Calls++
		if e.Carries {
			m.slip()
		}
	case news.TurnEnded:
		if m.awaited() {
			m.do(Arm{Clock: SlipClock, For: slipWait})
		}
	}
}

// Where its owner wants replies, what each turn said is recorded before anything else
// is said to the agent. The record names all messages that the agent read in the turn,
// and each message is named once.

// turnSaid takes in what a turn said. Later: a message is on its way, and whether it
// was in the turn is not known yet. An end that is told again says nothing new.
func (m *move) turnSaid(said string, later bool) {
	lastSaid(m)
	switch {
	case !m.Replies:
	case later:
		m.Final = &said
	case len(m.Answers) > 0:
		m.do(TurnSaid{To: strings.Join(m.Answers, ","), Text: said})
		m.Answers = nil
	case said != "" && (m.Midway || m.Taken):
		m.do(TurnSaid{Text: said})
	}
}

// brokenOff records what the turn said that was broken off for the message on its way,
// which is answered by another turn.
func brokenOff(m *move, said string) {
	lastSaid(m)
	if m.Replies && len(m.Answers) > 0 {
		m.do(TurnSaid{To: strings.Join(m.Answers, ","), Text: said, BrokenOff: true})
		m.Answers = nil
	}
}

// interrupts breaks the turn off, and says nothing.
func interrupts(m *move, h Message) {
	if m.Taken || m.Ended || m.Question != nil || m.Overridden || !m.busy && !m.inTurn {
		m.keep(h)
		if m.Phase != Working {
			m.back()
		}
		return
	}
	m.letGo()
	m.hand(ByProgram, Deliver{Message: h, Break: true})
}

// interrupted applies the result. It does not try again by itself.
func interrupted(m *move, failure string) {
	m.remember(m.Handed.ID)
	if failure != "" {
		m.do(Note{"its turn was not broken off: " + failure})
	}
	if !m.busy && !m.inTurn {
		m.TurnEnded = true
	}
	m.back()
}

// lastSaid records what the turn said that ended while a message was on its way.
func lastSaid(m *move) {
	if f := m.Final; f != nil {
		m.Final = nil
		m.turnSaid(*f, false)
	}
}

// recalled records what a turn said whose end was not told, if a message that the agent
// read in it has no reply yet.
func recalled(m *move, e Recalled) {
	of := slices.DeleteFunc(slices.Clone(m.Answers), func(id string) bool { return !slices.Contains(e.IDs, id) })
	if len(of) == 0 {
		return
	}
	m.do(TurnSaid{To: strings.Join(of, ","), Text: e.Said})
	m.Answers = slices.DeleteFunc(slices.Clone(m.Answers), func(id string) bool { return slices.Contains(of, id) })
	if m.Ended || m.Phase == Preparing { // no program is in a turn
		m.Midway = false
	}
}
