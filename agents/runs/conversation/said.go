package conversation

import "strings"

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
