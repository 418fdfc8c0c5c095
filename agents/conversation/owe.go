package conversation

import (
	"slices"
	"time"
)

// Whoever gives an answer waits to hear what becomes of it, for answerWait at most.

// Fate is what became of a person's words.
type Fate uint8

const (
	Waits   Fate = iota // the agent has not been handed them
	Replied             // they went to the hook or the call that put the question
	Told                // the agent got them as a prompt or at the end of a turn
	Lost                // the conversation is over, and the agent may not have read them
)

// answerWait is how long the giver of an answer waits to hear what becomes of it.
const answerWait = 5 * time.Second

// noun is the command below cmux that a person uses for this agent.
func (s *State) noun() string {
	if s.Stays {
		return "workers"
	}
	return "agents"
}

// owe keeps in mind that somebody waits to hear what becomes of an answer.
func (m *move) owe(ref Ref) {
	if ref == 0 {
		return
	}
	m.Owed = append(slices.Clip(m.Owed), ref)
	m.do(Arm{Clock: AnswerClock, For: answerWait})
}

// settles tells who waits what became of their answers, once that is known.
func (m *move) settles() {
	if len(m.Owed) == 0 {
		return
	}
	fate, why := m.Fate, ""
	switch {
	case m.Phase == Closing, m.Overridden:
		fate, why = Lost, m.Name+" has ended, and its agent may not have read this"
	case m.Unread() == "":
	case m.Phase == AwaitingTurn, m.rang[AnswerClock]:
		fate, why = Waits, m.holds()
	default:
		return
	}
	for _, ref := range m.Owed {
		m.do(Heard{ref, fate, why})
	}
	m.Owed = nil
	m.do(Disarm{AnswerClock})
}

// holds is what a person's words wait for.
func (s *State) holds() string {
	switch s.Phase {
	case AwaitingTurn, Working:
		return "the agent reads this when its turn ends"
	case Hindered:
		return s.hindrance()
	case Regaining:
		return "it waits for a slot"
	case Limiting, Limited:
		return "its account is at a limit"
	case Preparing, Reviving:
		return "its program is starting"
	case Settling, Judging:
		return "its report is being checked"
	case Handing:
		return "its program has not confirmed it yet"
	}
	return "the agent has not read it yet"
}
