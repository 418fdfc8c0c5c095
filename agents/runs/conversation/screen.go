package conversation

import (
	"fmt"
	"slices"
	"time"

	"cmux/agents/kinds/news"
	"cmux/agents/kinds/question"
	"cmux/dag"
)

// patience is how long a message waits for its prompt before a person is told.
const patience = 10 * time.Second

// startPatience is how long a program may take until it shows its prompt, before a person
// is told.
const startPatience = 2 * time.Minute

// hinders says what keeps a key from being pressed while this is on the screen,
// and what a person can do about it; empty: it is safe. A screen that is not
// known is never safe.
func hinders(s news.Screen) string {
	switch s := s.(type) {
	case news.EmptyPrompt, news.OwnDraft:
		return ""
	case news.Draft:
		return "a line is begun in its prompt: send or clear it there"
	case news.Dialog:
		return dialogOpen(s) + ": answer or close it there"
	case news.CopyMode:
		return "its pane is in copy mode: q leaves it"
	}
	return "its pane shows no prompt"
}

// dialogOpen says which dialog the program shows.
func dialogOpen(d news.Dialog) string {
	if d.Says != "" {
		return d.Says
	}
	return fmt.Sprintf("a dialog (%s) is open in its pane", d.Name)
}

// starts says that the program has not shown its prompt yet.
const starts = "its program starts"

// comesUp reports whether the screen is unknown because the program starts. A person
// is told when that takes too long.
func (s *State) comesUp() bool {
	_, unknown := s.Screen.(news.UnknownScreen)
	return unknown && !s.Shown && s.Activity != dag.NeedsInput
}

// hindrance is what keeps from being typed what is to be.
func (s *State) hindrance() string {
	if s.comesUp() {
		return starts
	}
	return hinders(s.Screen)
}

// typing reports whether a message is on its way by the agent's own way, which
// may be keys.
func (s *State) typing() bool {
	return s.Phase == Hindered || s.Phase == Handing && s.By == ByProgram
}

// sees decides whether a key may be pressed now that the screen shows s. It is
// asked before each key of a delivery.
func (m *move) sees(s news.Screen) {
	switch {
	case m.typing() && m.GivenUp:
		m.do(GiveUp{}) // it may have been said before anybody could hear it
	case !m.typing() || m.Ended:
	case m.Question != nil && !m.Question.InPane || m.questionOpen():
		m.giveUp() // what is said now would answer it; one of the pane alone is on the screen
	case hinders(s) == "":
		m.Shown = true
		if m.Phase == Hindered {
			m.enter(Handing)
			m.Screen = nil
		}
		m.do(GoAhead{})
	case m.Overridden:
		m.giveUp() // nobody is asked to clear the way
	case m.misses(s):
		m.Screen = s
		m.tell(m.Handed.refs, Lost, m.dialogFirst())
		m.Handed.dropped = true
		m.giveUp()
	default:
		m.Screen = s
		if m.Phase != Hindered {
			m.enter(Hindered)
			m.do(Arm{Clock: HinderedClock, For: patience})
		}
	}
}

// misses reports whether a person's words meet a dialog of the program's own, and whoever
// gave them still waits to hear so.
func (m *move) misses(s news.Screen) bool {
	_, dialog := s.(news.Dialog)
	return dialog && m.Handed.Why == ByPerson && slices.ContainsFunc(m.Handed.refs, func(r Ref) bool { return slices.Contains(m.Owed, r) })
}

// giveUp ends the delivery under way.
func (m *move) giveUp() {
	m.GivenUp = true
	m.do(GiveUp{})
}

// hindered tells a person what a message waits for, when it has for a while.
func (m *move) hindered() bool {
	if m.rang[HinderedClock] && (m.Handed.Why == Compaction || m.Handed.Why == Interruption) {
		m.giveUp() // nobody clears the way for that
		return false
	}
	if _, unknown := m.Screen.(news.UnknownScreen); unknown && !m.Shown && m.rang[HinderedClock] && m.at.Sub(m.Launched) < startPatience {
		if m.Stays && m.Activity == dag.Resting {
			m.become(Become{Activity: dag.SettingUp, Detail: "its program has not shown its prompt yet"})
		}
		m.do(Arm{Clock: HinderedClock, For: patience})
		return false
	}
	if m.rang[HinderedClock] && (m.Activity == dag.Working || m.Stays && (m.Activity == dag.Resting || m.Activity == dag.SettingUp)) {
		q := question.InPane("a message waits for it: " + hinders(m.Screen))
		m.become(Become{Activity: dag.NeedsInput, Detail: q.String(), Question: &q})
	}
	return false // the delivery is under way, whose end is told
}
