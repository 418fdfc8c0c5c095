package conversation

import (
	"fmt"
	"slices"
	"time"

	"cmux/agents/kinds/question"
	"cmux/dag"
)

const (
	MaxSentBack = 3 // turns without a report before a person is asked
	maxFalters  = 5 // failed calls of the model in a row
	maxWait     = 5 * time.Minute
)

// eventful reports whether there is something to act on.
func (m *move) eventful() bool {
	switch {
	case m.Ended:
		return true
	case !m.Reports:
		return false
	case m.Overridden:
		return m.Report != nil || m.TurnEnded
	case m.Taken:
		return m.Report != nil // a turn that ended meanwhile is looked at after the release
	}
	return m.Drop != nil || m.Stays && m.Broke != nil || m.Report != nil || m.Limit != nil || m.Falter != nil || len(m.Pending) > 0 || m.Said != nil || m.Question != nil || m.TurnEnded
}

// working acts on the first of what was heard.
func (m *move) working() bool {
	if !m.eventful() {
		return false
	}
	m.WentOn = false
	switch {
	case !m.Reports || m.Overridden && m.Ended:
		m.examine()
	case m.Overridden:
		m.leaveAlone()
	case m.Drop != nil:
		m.dropWork()
	case m.Stays && m.Broke != nil && m.Report == nil:
		why := *m.Broke
		m.Broke = nil
		m.close(Close{End: Failed, Reason: dag.ReasonBudget, Detail: why})
	case m.Report != nil && m.Report.Blocked && m.Stays:
		m.giveBack()
	case m.Report != nil && m.Report.Blocked:
		reason := m.Report.Text
		m.Report, m.TurnEnded = nil, false
		m.ask(Open{Question: question.New("blocked: " + reason), Reason: dag.ReasonReported})
	case m.Report != nil:
		m.takeReport()
	case m.Ended:
		m.examine()
	case m.Limit != nil:
		m.meetLimit()
	case m.Falter != nil:
		m.backOff()
	case m.Question != nil:
		q := *m.Question
		m.Question, m.TurnEnded = nil, false
		m.ask(Open{Question: q, Reason: dag.ReasonReported})
	case len(m.Pending) > 0 || m.Said != nil:
		m.sayOn()
	case m.TurnEnded && m.Subagents == 0 && m.Unkept():
		m.Gated, m.TurnEnded = true, false
		m.deliver(Message{Why: Unkept})
	case m.rests():
		m.TurnEnded = false
		m.rest()
	default:
		m.TurnEnded = false
		if m.SentBack++; m.SentBack > MaxSentBack {
			q := question.New(fmt.Sprintf("ended %d turns without a report", m.SentBack))
			q.Silent = true
			m.ask(Open{Question: q, Reason: dag.ReasonNoReport})
		} else {
			m.deliver(Message{Why: NoReport})
		}
	}
	return true
}

func (m *move) examine() {
	m.enter(Examining)
	m.missed()
	m.do(Examine{})
}

// halt ends the program, because it must not go on as it is.
func (m *move) halt(why string) {
	m.enter(Halting)
	m.missed()
	m.do(Halt{why})
}

// missed takes what the program had not read when it ended: the person who is to
// decide is told. What is said from now on is for the one that goes on.
func (m *move) missed() {
	if !m.Stays {
		m.Missed = m.unread()
	}
}

// leaveAlone takes in what an overridden agent says; its report ends it.
func (m *move) leaveAlone() {
	m.letGo()
	m.TurnEnded, m.Question, m.Limit, m.Falter = false, nil, nil, nil
	if r := m.Report; r != nil && !r.Blocked {
		m.finish(r.Text)
		return
	}
	m.Report = nil
}

// sayOn hands over what waits, a person's newest words last: but first if they are
// the answer to a question that is open, as that is what was shown, and next if they
// are that to one that the agent put by a message.
func (m *move) sayOn() {
	if m.Said != nil {
		said := Message{Why: ByPerson, Text: *m.Said, refs: m.SaidBy}
		if len(m.Open.Parts) > 0 {
			said.open = new(m.Open)
		}
		m.SaidBy, m.Open = nil, Open{}
		if m.inQuestion() {
			m.Said, m.TurnEnded = nil, false
			m.deliver(said)
			return
		}
		m.Pending = append(slices.Clip(m.Pending), said)
	}
	h, rest := without(m.Pending, max(0, m.replies()))
	m.Pending, m.Said, m.TurnEnded = rest, nil, false
	m.deliver(m.together(h))
}

// replies is where a person's answer to a question that the agent put by a message
// stands among what waits; -1: there is none.
func (s *State) replies() int {
	return slices.IndexFunc(s.Pending, func(p Message) bool { return p.Why == ByPerson && p.Of != nil })
}

// without is message i of all, and the others.
func without(all []Message, i int) (h Message, rest []Message) {
	return all[i], slices.Delete(slices.Clone(all), i, i+1)
}

// keep queues a message that cannot be delivered now, before those queued since. It
// drops a compaction: whoever wants one orders it again.
func (m *move) keep(h Message) {
	switch h.Why {
	case Compaction:
		m.remember(h.ID)
		m.do(Note{"its conversation was not compacted: something else came first"})
		return
	case Interruption: // something else ended the turn, or has the agent
		m.remember(h.ID)
		return
	}
	var back []Message
	for _, p := range h.split() {
		if p.dropped {
			continue
		}
		if i := slices.Index(m.Early, p.ID); p.ID != "" && i >= 0 {
			m.Early = slices.Delete(slices.Clone(m.Early), i, i+1)
			m.has(p) // it has arrived after all
			continue
		}
		back = append(back, p)
	}
	m.Pending = append(back, m.Pending...)
}

// deliver hands h over: as the answer to the call or the hook that waits for
// one, else by the agent's own way. While a person has the agent it waits.
func (m *move) deliver(h Message) {
	if m.Broke != nil && !m.Stays {
		m.Handed = Message{}
		if h.Answering() {
			m.keep(h)
		}
		m.close(Close{End: Failed, Reason: dag.ReasonBudget, Detail: *m.Broke})
		return
	}
	m.Handed = h
	switch h.Why {
	case Compaction:
		m.compacts(h)
		return
	case Interruption:
		interrupts(m, h)
		return
	}
	// A call that waits is answered also where a person has the agent: what they
	// say is read only when it is over.
	if c := m.Call; c.Ref != 0 && (!c.Asks || h.Answering() && h.Of == nil) {
		m.Call = Call{}
		if h.Why == ByPerson {
			h.Text = question.Option(h.Text, c.Options)
		}
		h.Asked, h.asked = c.Asks, c.question
		m.hand(ByCall, Deliver{Message: h, Call: c.Ref})
		return
	}
	if m.Taken || m.Ended || m.Question != nil { // what nobody has seen yet comes first
		m.keep(h)
		m.back()
		return
	}
	if m.Gate.Ref != 0 && m.Gate.Asks && (!h.Answering() || h.Of != nil) {
		if h.Why == NoWork {
			m.handOver(h) // the call was for a task that is over: it is refused with these words
			return
		}
		m.letGo() // it is no answer: the question is left to the person in the pane
	}
	if m.waitsForTurn(h) && !m.breaks(h) {
		m.enter(AwaitingTurn) // it was judged faster than it ended its turn, whose end takes the text
		return
	}
	m.handOver(h)
}

// handOver is deliver, with nothing in the way.
func (m *move) handOver(h Message) {
	if m.Stays && m.Spoke && !m.questionOpen() { // the turn was a person's, who is to see its end
		m.letGo()
		m.Spoke = false
	}
	if g := m.Gate; g.Ref != 0 {
		m.Gate = Gate{}
		if !g.Gone {
			h.Asked, h.asked = g.Asks, g.question
			m.hand(ByHook, Deliver{Message: h, Hook: g.Ref})
			return
		}
	}
	m.hand(ByProgram, Deliver{Message: h, Break: (m.busy || m.inTurn) && m.breaks(h)})
}

func (m *move) hand(by Channel, d Deliver) {
	m.enter(Handing)
	m.By, m.Handed, m.GivenUp = by, d.Message, false
	m.Handed.Shown = by != ByCall
	m.do(d)
}

// hasAnswer reports whether the answer to a question that the agent put waits, with
// nothing but mail before it.
func (s *State) hasAnswer() bool {
	i := slices.IndexFunc(s.Pending, func(p Message) bool { return p.Of != nil || p.Why != FromMail })
	return i >= 0 && s.Pending[i].Of != nil
}

// awaitingTurn hands over what waits when the turn has ended.
func (m *move) awaitingTurn() bool {
	h := m.Handed
	switch {
	case m.Ended, m.Overridden, m.Taken, m.Question != nil, m.Drop != nil:
		m.keep(h)
		m.back()
	case m.hurried(), h.Why == FromMail && h.Of == nil && m.hasAnswer():
		m.keep(h)
		m.back()
	case m.Report != nil && (h.Why == FromMail || m.Call.Ref != 0): // a call that waits keeps the turn from ending
		m.keep(h)
		m.back()
	case m.waitsForTurn(h):
		return false
	case m.Limit != nil || m.Falter != nil:
		m.keep(h)
		m.back()
	default:
		m.TurnEnded = false
		m.handOver(h)
	}
	return true
}

// ask gives the slot back until a person answers, by `answer` or in the pane, or
// the agent goes on by itself.
func (m *move) ask(o Open) {
	if m.Unattended {
		m.close(Close{End: Failed, Reason: o.Reason, Detail: o.String()})
		return
	}
	if !m.Gate.Asks {
		m.letGo() // a person may type
	}
	m.enter(Asking)
	m.Open, m.WentOn = o, false
	m.become(Become{Activity: dag.NeedsInput, Detail: o.String(), Question: &o.Question})
	if m.InputTimeout > 0 {
		m.do(Arm{Clock: InputClock, For: m.InputTimeout})
	}
}

func (m *move) asking() bool {
	switch {
	case m.Taken, m.Ended, m.Drop != nil, m.Limit != nil, m.Open.InPane && m.Question != nil: // a question that can be answered comes first
		m.Open = Open{}
		m.back()
	case m.Said != nil && !m.Open.Limit.IsZero() && !m.WentOn && m.Report == nil && !m.Overridden:
		m.mayGoOn()
	case m.WentOn, m.Report != nil, m.Overridden, m.Said != nil && !m.Open.InPane:
		m.SentBack = 0
		m.regain(ThenAnswer)
	case m.rang[InputClock] && !m.Stays:
		m.close(Close{End: Failed, Reason: m.Open.Reason, Detail: fmt.Sprintf("nobody answered within %s: %s", m.InputTimeout, m.Open.String())})
	default:
		return false
	}
	return true
}

// regain asks for the slot back that a pause gave up, and waits for it as long
// as there is a runner to grant it, or until the agent meets a limit.
func (m *move) regain(then Then) {
	m.enter(Regaining)
	m.Then, m.Granted, m.NoRunner = then, false, false
	if !m.Overridden {
		m.do(Want{})
	}
}

func (m *move) regaining() bool {
	switch {
	case m.Ended:
		m.goOn() // and is found so
		return true
	case m.Limit != nil: // it pauses again
		m.goOn()
		return true
	case m.Granted, m.Overridden:
	case m.NoRunner:
		// Nobody is there to ask: it goes on, and says so in the runner's place.
		m.Trial = true
		m.do(TakeSlot{})
	default:
		return false
	}
	if m.Taken { // meanwhile
		m.become(Become{Activity: dag.TakenOver})
	} else {
		m.become(Become{Activity: dag.Working})
	}
	m.goOn()
	return true
}

// goOn does what the slot was for.
func (m *move) goOn() {
	if m.Then == ThenAnswer && !m.Ended && !m.Taken && m.Limit == nil && m.Said != nil && !m.Open.InPane {
		m.sayOn()
		return
	}
	m.Open = Open{}
	switch m.Then {
	case ThenStart:
		m.enter(Preparing)
		m.begin()
		return
	case ThenRestart:
		m.restart()
		return
	case ThenAwake:
		if !m.Ended && !m.Taken && !m.WentOn && m.Report == nil && m.Limit == nil && !m.Overridden {
			m.TurnEnded = false
			m.deliver(Message{Why: LimitOver})
			return
		}
	}
	m.back()
}

// restart has a program that has ended go on in its conversation.
func (m *move) restart() {
	if m.Overridden {
		m.finish("")
		return
	}
	said := m.Said != nil
	if said {
		m.Opening, m.Said = lines(m.Opening, *m.Said), nil
		m.do(m.gets(Message{})...)
	}
	m.enter(Preparing)
	if !m.Stays || m.Again || said { // else nobody has answered the turns without a report
		m.SentBack = 0
	}
	m.Falters, m.Subagents = 0, 0
	m.TurnEnded, m.WentOn, m.Again = false, false, false
	m.Question, m.Dialog, m.Limit, m.Falter, m.Report, m.Pending = nil, nil, nil, nil, nil, m.surviving()
	m.launch(true)
}

func (m *move) launch(again bool) {
	m.Came, m.Shown, m.Launched = false, false, m.at
	cut := m.Stays && !m.Got && m.Midway
	m.do(Launch{Again: again, Trial: m.Trial, Said: m.Opening, Cut: cut, Idle: m.Stays && !m.Got && !cut && m.Opening == ""})
}

// left waits for a person to decide about a program that is gone.
func (m *move) left() bool {
	switch {
	case m.Overridden:
		m.finish("")
	case m.Again, m.Said != nil:
		m.regain(ThenRestart)
	case m.rang[InputClock] && !m.Stays:
		m.close(Close{End: Failed, Reason: dag.ReasonNoReport, Detail: fmt.Sprintf("nobody decided within %s: %s", m.InputTimeout, m.Open.String())})
	default:
		return false
	}
	return true
}
