package conversation

import (
	"fmt"
	"slices"

	"cmux/agents/kinds/question"
	"cmux/dag"
)

// result applies the result of an effect.
func (m *move) result(what What) {
	switch e := what.(type) {
	case Begin:
		m.begin()
	case Started:
		m.Concludes, m.CanBreak, m.Steers, m.Compacts, m.Recalls = e.Concludes, e.Breaks, e.Steers, e.Compacts, e.Recalls
		m.begins()
		if m.Opening != "" {
			m.Fate = Told
		}
		m.Ended, m.Opening = false, ""
		m.enter(Working)
		if e.Quiet && m.Stays {
			m.rest()
			return
		}
		if !startsAgain(m) {
			m.become(Become{Activity: dag.Working})
		}
	case Passed:
		m.passed(e)
	case Tallied:
		m.tallied()
	case Unfit:
		if m.Phase == Handing || m.Phase == Hindered || m.Phase == AwaitingTurn {
			m.keep(m.Handed)
		}
		m.close(Close{End: Failed, Reason: e.Reason, Detail: e.Detail})
	case Ended:
		m.Ended = true
	case Delivered:
		if m.typing() {
			m.delivered(e.Failure)
		}
	case Answered:
		m.answered(e.OK)
	case Judged:
		switch m.Phase {
		case Judging:
			m.verdict(e.Fault)
		case Examining: // its exit code was its report
			summary := ""
			if m.Report != nil && !m.Report.Blocked {
				summary = m.Report.Text
			}
			m.finish(summary)
		}
	case LimitKnown:
		m.limitKnown(e)
	case Refused:
		if m.Phase == Examining {
			m.refused(e)
		}
	case LeftBehind:
		m.leftBehind(e)
	}
}

// begin has the program started. A person may have decided meanwhile.
func (m *move) begin() {
	if m.Overridden && m.Reports {
		m.finish("")
		return
	}
	m.launch(false)
}

// answered takes in whether the answer to a hook or a call was taken.
func (m *move) answered(ok bool) {
	switch {
	case m.Phase != Handing || m.By == ByProgram:
	case m.By == ByAcceptance:
		if !ok || !m.Concludes || m.Ended {
			m.finish(m.Summary)
			return
		}
		m.enter(Parting)
		m.do(Arm{Clock: PartingClock, For: m.Config.Parting})
	case ok:
		m.handed()
		if !m.Taken {
			m.become(Become{Activity: dag.Working})
		}
		m.back()
	default: // nobody was there any more: it is handed over in another way
		m.deliver(m.Handed)
	}
}

// delivered applies the result of a delivery through the kind's own way.
func (m *move) delivered(failure string) {
	switch m.Handed.Why {
	case Compaction:
		m.compacted(failure)
		return
	case Interruption:
		interrupted(m, failure)
		return
	}
	if m.Arrived() {
		failure = ""
	}
	if failure == "" {
		m.handed()
	}
	switch {
	case failure == "" && m.Taken:
		m.back()
	case failure == "" && m.Activity == dag.NeedsInput: // it was hindered
		m.regain(ThenGoOn)
	case failure == "":
		m.become(Become{Activity: dag.Working})
		m.back()
	case m.Handed.dropped && m.Handed.open != nil && !m.Ended && !m.Overridden && !m.WentOn:
		m.ask(*m.Handed.open)
	case m.Ended || m.GivenUp || m.Overridden:
		m.keep(m.Handed)
		m.back()
	case m.Stays:
		m.keep(m.Handed)
		m.halt("it took no message: " + failure)
	default:
		m.close(Close{End: Failed, Detail: "the agent took no message: " + failure})
	}
}

// verdict takes in what was found out about a report.
func (m *move) verdict(f *Fault) {
	if m.Drop != nil { // its work was taken back while it was examined
		m.dropWork()
		return
	}
	if f == nil && !m.Overridden {
		// What a person said while it was judged comes before its end too.
		if m.interposed() {
			m.become(Become{Activity: dag.TakenOver})
			m.back()
			return
		}
		if m.sendBackUnread() {
			return
		}
	}
	switch {
	case f == nil || m.Overridden:
		m.accept()
	case m.Ended || f.Final:
		m.close(Close{End: Failed, Reason: f.Reason, Detail: f.Detail})
	default:
		// A report that came in while the last one was judged is of the state
		// before this hand-back.
		m.Report, m.TurnEnded = nil, false
		m.deliver(Message{Why: FromVerdict, Text: f.Tell})
	}
}

// interposed reports whether a person is at work in the agent since its report.
// What they said comes first: the agent goes on, and reports again; a report that
// it has made since is the one to be examined.
func (m *move) interposed() bool {
	if m.Ended || !m.Taken {
		return false
	}
	switch {
	case m.Spoke:
		m.do(Note{"a person has told it something while its work was examined: that comes first, and it is to report again"})
		m.Report = nil
		m.hangUp("a person has told you something while your report was examined. It comes to you next; take it in, then report again")
	case m.Report == m.examined:
		return false
	}
	return true
}

// reportAgain stands below mail that the agent had not read when it reported.
const reportAgain = "You reported before you had read this, so that report does not count: take it in, then report again."

// maxUnheard bounds how often mail keeps a report from counting: whoever writes all
// the time would keep the agent from ever being done.
const maxUnheard = 5

// sendBackUnread sends a report back that was made without what a person had
// said by then, or without mail. One that stays is given its mail after its work.
func (m *move) sendBackUnread() bool {
	if m.Overridden {
		return false
	}
	if i := m.replies(); i >= 0 && !m.Ended {
		m.Report, m.TurnEnded = nil, false
		h, rest := without(m.Pending, i)
		m.Pending, h.Why = rest, WasUnread
		m.deliver(h)
		return true
	}
	said := m.unread()
	if said == "" && !m.Stays && !m.Ended && len(m.Pending) > 0 && m.Unheard >= maxUnheard {
		if m.Unheard == maxUnheard { // said once
			m.Unheard++
			m.do(Note{fmt.Sprintf("%d reports did not count because of mail: this one does, and what has come since is not read", maxUnheard)})
		}
		return false
	}
	if said == "" && !m.Stays && !m.Ended && len(m.Pending) > 0 {
		m.Unheard++
		m.Report, m.TurnEnded = nil, false
		h := m.Pending[0]
		m.Pending = m.Pending[1:]
		h = m.together(h)
		h.Text += "\n\n" + reportAgain
		m.deliver(h)
		return true
	}
	switch {
	case said == "":
		return false
	case m.Ended:
		m.do(Note{"the agent has ended without having read what it was told: " + said})
		return false
	}
	m.Report, m.TurnEnded = nil, false
	m.deliver(Message{Why: WasUnread, Text: said})
	return true
}

// accept ends the conversation with a good report, and tells the agent so if it
// waits for that.
func (m *move) accept() {
	m.Summary = m.examined.Text
	if m.Call.Ref == 0 {
		m.finish(m.Summary)
		return
	}
	m.enter(Handing)
	m.By = ByAcceptance
	m.do(Accept{m.Call.Ref})
	m.Call = Call{}
}

// refused starts a program again that could not go on in its conversation: it
// begins a new one. The program has read nothing, so all that waits still does.
func (m *move) refused(e Refused) {
	if m.Overridden {
		m.finish("")
		return
	}
	m.letGo()
	m.Taken, m.TurnEnded, m.Again, m.Ended = false, false, false, false
	m.Open, m.Opening = Open{}, e.Said
	m.sayAgain()
	m.enter(Preparing)
	m.launch(false)
}

// leftBehind leaves the agent to a person: its program is gone.
func (m *move) leftBehind(e LeftBehind) {
	m.Pending, m.Unproven = append(slices.Clone(m.Unproven), m.Pending...), nil
	if len(m.Unseen) > 0 {
		m.Pending, m.Unseen = append(slices.Clone(m.Unseen), m.Pending...), nil
		m.do(Disarm{SlipClock})
	}
	for i := range m.Pending { // a clone since above
		m.Pending[i].tries = 0
	}
	m.untold()
	m.Missed, m.Opening = lines(m.Missed, m.Opening), ""
	if m.Phase == Halting && m.Overridden {
		m.do(Note{e.Detail})
	}
	m.Taken, m.TurnEnded, m.Again, m.Ended = false, false, false, false
	m.Question, m.Dialog, m.Limit, m.Falter, m.Report = nil, nil, nil, nil, nil
	m.Open = Open{}
	m.quiet()
	m.letGo()
	switch {
	case m.Stays && m.revives(&e):
		m.sayAgain()
	case m.Overridden:
		m.finish("")
	case m.Unattended:
		m.close(Close{End: Failed, Reason: dag.ReasonNoReport, Detail: e.Detail})
	default:
		if m.Said != nil { // it goes on at once, and no person is asked
			m.sayAgain()
		} else if m.Missed != "" {
			e.Detail += "; it has not read what it was told: " + oneLine(m.Missed)
			m.Missed = ""
		}
		m.enter(Left)
		m.Open.Question = question.New(e.Detail)
		m.Activity = dag.NeedsInput
		m.do(Abandon(e))
		if m.InputTimeout > 0 {
			m.do(Arm{Clock: InputClock, For: m.InputTimeout})
		}
	}
}

// sayAgain has the program that goes on told what the last one had not read,
// before what was said since.
func (m *move) sayAgain() {
	said := m.Missed
	if m.Said != nil {
		said = lines(said, *m.Said)
	}
	if m.Missed = ""; said != "" {
		m.Said = &said
	}
}
