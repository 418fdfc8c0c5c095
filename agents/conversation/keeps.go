package conversation

import (
	"slices"
	"time"

	"cmux/agents/news"
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

// passed takes in that a question was sent, or could not be: then a person is
// asked, as without it.
func (m *move) passed(e Passed) {
	if e.Failure == "" {
		m.Awaits, m.Kept = "asked "+e.To, true
		m.do(Tellback{Ref: e.Ref, Text: e.Text})
		return
	}
	m.do(Note{"its question could not be sent as a message: " + e.Failure})
	if e.Call {
		m.hangUp("a later question of yours has taken the place of this one")
		m.Call = Call{Ref: e.Ref, Asks: true, Options: e.Parts[0].Options}
	} else {
		m.hold(Gate{Ref: e.Ref, Asks: true})
	}
	m.Question = &e.Question
}

// begins takes in that the agent was told something: a turn of its own begins.
func (m *move) begins() { m.Began, m.Calls, m.Kept = m.at, 0, false }

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
		waiting = append([]Message{m.Handed}, m.Pending...)
	}
	upTo, size := 0, 0
	for i, p := range waiting {
		size += len(p.Text)
		if p.Why != FromMail && p.Why != NoWork || i > 0 && size > maxSlip {
			break
		}
		if p.Urgency > Patient {
			upTo = i + 1
		}
	}
	if upTo == 0 {
		return
	}
	for _, p := range waiting[:upTo] {
		m.do(Slip{p})
		if p.ID != "" {
			m.Slipped = append(slices.Clip(m.Slipped), p)
		}
	}
	m.Pending = slices.Clone(waiting[upTo:])
	if m.Phase == AwaitingTurn { // what waited has gone, or stands first among the rest
		m.back()
	}
}

// seen takes in that the agent's program has given it what went with a hook.
func (m *move) seen(id string) {
	is := func(p Message) bool { return p.is(id) }
	if i := slices.IndexFunc(m.Slipped, is); i >= 0 {
		m.has(m.Slipped[i])
		m.Slipped = slices.Delete(slices.Clone(m.Slipped), i, i+1)
		if len(m.Slipped) == 0 {
			m.do(Disarm{SlipClock})
		}
		return
	}
	// It was to be handed over again. One that waits together with others stays with
	// them: they were not seen.
	if i := slices.IndexFunc(m.Pending, func(p Message) bool { return p.ID == id }); i >= 0 && id != "" {
		m.has(m.Pending[i])
		m.Pending = slices.Delete(slices.Clone(m.Pending), i, i+1)
	} else if m.Phase == AwaitingTurn && m.Handed.ID == id && id != "" {
		m.has(m.Handed)
		m.back()
	}
}

// has takes in that the agent has a message that went with a hook.
func (m *move) has(p Message) {
	if p.Why == FromMail {
		m.Awaits = ""
	}
	m.read(p.ID)
}

// unseen has what went with a hook and was never seen handed over anew.
func (m *move) unseen() {
	m.Pending = append(slices.Clone(m.Slipped), m.Pending...)
	m.Slipped = nil
}

// breaks reports whether what is to be said is to break off the turn.
func (m *move) breaks(h Message) bool { return h.Urgency == Breaking && m.CanBreak }

// waitsForTurn reports whether what is to be said waits for the end of the turn:
// of one whose end is held always, of any other mail does, unless it is urgent and
// the turn can be given it.
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
	if m.Handed.Why != FromMail || m.Handed.Shown {
		return false
	}
	for _, p := range m.Pending {
		if p.Why != FromMail || p.Shown {
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
		if len(m.Slipped) > 0 {
			m.do(Arm{Clock: SlipClock, For: slipWait})
		}
	}
}
