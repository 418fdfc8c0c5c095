package conversation

import (
	"slices"
	"strings"
)

// Where its owner wants replies, what each turn said is recorded before anything else
// is said to the agent. The record names all messages that the agent read in the turn,
// and each message is named once.

// turnSaid takes in what a turn said. Later: a message is on its way, and whether it
// was in the turn is not known yet. An end that is told again says nothing new.
func (m *move) turnSaid(said string, later bool) {
	m.lastSaid()
	switch {
	case !m.Replies:
	case later:
		m.Final = &said
	case len(m.Answers) > 0:
		m.do(TurnSaid{strings.Join(m.Answers, ","), said})
		m.Answers = nil
	case said != "" && (m.Midway || m.Taken):
		m.do(TurnSaid{"", said})
	}
}

// lastSaid records what the turn said that ended while a message was on its way.
func (m *move) lastSaid() {
	if f := m.Final; f != nil {
		m.Final = nil
		m.turnSaid(*f, false)
	}
}

// recalled records what a turn said whose end was not told, if a message that the agent
// read in it has no reply yet.
func (m *move) recalled(e Recalled) {
	of := slices.DeleteFunc(slices.Clone(m.Answers), func(id string) bool { return !slices.Contains(e.IDs, id) })
	if len(of) == 0 {
		return
	}
	m.do(TurnSaid{strings.Join(of, ","), e.Said})
	m.Answers = slices.DeleteFunc(slices.Clone(m.Answers), func(id string) bool { return slices.Contains(of, id) })
	if m.Ended || m.Phase == Preparing { // no program is in a turn
		m.Midway = false
	}
}
