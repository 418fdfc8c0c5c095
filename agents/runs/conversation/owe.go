package conversation

import (
	"fmt"
	"slices"
	"time"

	"cmux/agents/kinds/news"
)

// Whoever gives an answer waits to hear what becomes of it, for answerWait at most.

// Fate is what happened to a person's answer.
type Fate uint8

const (
	Waits   Fate = iota // the agent has not been handed them
	Replied             // they went to the hook or the call that put the question
	Told                // the agent got them as a prompt or at the end of a turn
	Lost                // the conversation is over, and the agent may not have read them
)

// answerWait is how long the giver of an answer waits to hear what becomes of it.
const answerWait = 5 * time.Second

// owe keeps in mind that somebody waits to hear what becomes of an answer.
func (m *move) owe(ref Ref) {
	if ref == 0 {
		return
	}
	m.Owed = append(slices.Clip(m.Owed), ref)
	m.do(Arm{Clock: AnswerClock, For: answerWait})
}

// hears tells the givers of h that the agent has it, and which question it answered.
func (m *move) hears(h Message) {
	fate, why := Told, ""
	if h.Of != nil {
		fate, why = Replied, h.Of.Replied(h.Text)
	}
	if h.Asked {
		fate = Replied
		if h.asked != nil {
			why = h.asked.Replied(h.Text)
		}
	}
	m.tell(h.refs, fate, why)
}

// tell sends the fate of an answer to each of refs that still waits for it.
func (m *move) tell(refs []Ref, fate Fate, why string) {
	for _, ref := range refs {
		i := slices.Index(m.Owed, ref)
		if i < 0 {
			continue
		}
		m.do(Heard{ref, fate, why})
		if m.Owed = slices.Delete(slices.Clone(m.Owed), i, i+1); len(m.Owed) == 0 {
			m.do(Disarm{AnswerClock})
		}
	}
}

// replied reports whether a person has answered the open question, and the agent is
// about to have the answer.
func (s *State) replied() bool {
	return s.Said != nil && s.Phase == Regaining && s.Then == ThenAnswer && len(s.Open.Parts) > 0
}

// ownDialog reports whether the program shows a dialog that no answer is for.
func (s *State) ownDialog() bool {
	_, dialog := s.Screen.(news.Dialog)
	return s.Open.InPane || s.Phase == Hindered && dialog
}

// dialogFirst refuses an answer while the program shows a dialog of its own.
func (s *State) dialogFirst() string {
	shows := s.Open.String()
	if d, dialog := s.Screen.(news.Dialog); dialog && !s.Open.InPane {
		if shows = d.Says; shows == "" {
			shows = d.Name
		}
	}
	return fmt.Sprintf("%s shows a dialog of its program (%s): nothing was sent. Only keys in its pane answer it: cmux %s attach %s", s.Name, oneLine(shows), s.Group, s.Name)
}

// settles sends callers the fate of their answers, once it is known.
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
