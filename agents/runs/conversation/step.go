package conversation

import "time"

// Step takes in an event. It changes nothing that s points to.
func Step(s State, e Event) (State, []Effect) {
	m := take(s, e)
	return m.State, m.effects
}

func take(s State, e Event) *move {
	m := &move{State: s, at: e.At, busy: e.Busy, inTurn: e.InTurn}
	m.hear(e.What)
	if !m.typing() {
		lastSaid(m)
	}
	for m.Phase != Closing && m.advance() {
	}
	switch {
	case m.Phase == Closing:
		m.note("the agent may not have read: ", m.Missed)
		m.Missed = ""
	case m.Overridden:
		m.note("not handed over, as a person has decided: ", m.unread())
	}
	m.hearFurther()
	m.settles()
	if m.Posed != s.Posed {
		m.do(Pose{m.Posed})
	}
	if m.long != nil {
		m.effects = append(m.effects, m.long)
	}
	return m
}

// move is one step being taken.
type move struct {
	State
	at      time.Time
	busy    bool
	inTurn  bool
	rang    [clocks]bool // in this step
	effects []Effect
	long    Effect // comes last
	path    []Phase
}

func (m *move) do(effects ...Effect) {
	for _, e := range effects {
		switch e.(type) {
		case Launch, Deliver, Accept, Judge, Examine, Halt, Close, WorkOver:
			m.long = e
		default:
			m.effects = append(m.effects, e)
		}
	}
}

// enter changes the phase. The clocks of the one before stop.
func (m *move) enter(p Phase) {
	for _, c := range clocksOf[m.Phase] {
		m.do(Disarm{c})
	}
	m.Phase = p
	m.path = append(m.path, p)
}

// back ends a wait or an action of the conversation: the agent is examined
// again.
func (m *move) back() {
	m.WentOn = false
	m.enter(Working)
}

func (m *move) finish(summary string) { m.close(Close{End: Finished, Summary: summary}) }

// close ends the conversation; of an agent that stays the piece of work, but for
// an order that ends the agent.
func (m *move) close(c Close) {
	if m.Stays && c.End <= Faulty {
		m.workOver(c)
		return
	}
	m.Missed = m.Unread()
	m.Opening, m.Handed = "", Message{}
	m.unread()
	m.enter(Closing)
	m.do(c)
}

// letGo answers the hook that waits with nothing: the turn ends, a question is
// left to the person in the pane.
func (m *move) letGo() {
	if m.Gate.Ref != 0 && !m.Gate.Gone {
		m.do(LetGo{m.Gate.Ref})
	}
	m.Gate = Gate{}
}

// hangUp answers the call that waits, when its answer will not come.
func (m *move) hangUp(why string) {
	if m.Call.Ref != 0 {
		m.do(HangUp{m.Call.Ref, why})
		m.Call = Call{}
	}
}

// note says what was said in vain; nothing is not said.
func (m *move) note(why, said string) {
	if said != "" {
		m.do(Note{why + said})
	}
}

// hearFurther hears the next question when the last one is answered and nothing
// is on its way.
func (m *move) hearFurther() {
	if m.long == nil && m.Gate.Ref == 0 && !m.inQuestion() && len(m.Further) > 0 {
		m.do(Hear{m.Further[0]})
		m.Further = m.Further[1:]
	}
}

// unread takes what a person said and the agent was not told; what cmux had to
// say is out of date with a report.
func (m *move) unread() string {
	said := ""
	for _, p := range m.Pending {
		if p.Answering() {
			said = lines(said, p.Text)
		}
	}
	if m.Said != nil {
		said = lines(said, *m.Said)
	}
	m.Pending, m.Said = m.lasting(), nil
	return said
}

// advance acts on what was heard, as far as the phase allows, and reports
// whether it did.
func (m *move) advance() bool {
	switch m.Phase {
	case Working:
		return m.working()
	case Hindered:
		return m.hindered()
	case AwaitingTurn:
		return m.awaitingTurn()
	case Asking:
		return m.asking()
	case Limited:
		return m.limited()
	case Regaining:
		return m.regaining()
	case BackingOff:
		return m.backingOff()
	case Settling:
		return m.settling()
	case Parting:
		return m.parting()
	case Left:
		return m.left()
	case Resting:
		return m.resting()
	case Reviving:
		return m.reviving()
	}
	return false // an effect is under way, whose end is told
}
