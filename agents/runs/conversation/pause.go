package conversation

import (
	"fmt"
	"time"

	"cmux/agents/kinds/news"
	"cmux/agents/kinds/question"
	"cmux/dag"
)

// meetLimit gives the slot back until a limit is over. It costs no retry.
func (m *move) meetLimit() {
	l := *m.Limit
	m.Limit, m.TurnEnded, m.WentOn, m.Trial = nil, false, false, false
	m.letGo()
	m.enter(Limiting)
	m.Then, m.Met = ThenAwake, l
	// The account first: the slot that this one gives back must not go to
	// another that runs into the same limit.
	m.do(FindLimit{l})
}

// limitKnown takes in until when a limit lasts: one that was met, or one of
// which was known before the program was started.
func (m *move) limitKnown(e LimitKnown) {
	switch m.Phase {
	case Limiting:
		if m.AskAtLimit && !m.Overridden {
			q := question.New(fmt.Sprintf("its account is at its limit until %s: %s (answer `go on`, or the text to send to the agent then)", e.Until.In(m.at.Location()).Format("15:04"), oneLine(m.Met.Text)))
			m.ask(Open{Question: q, Reason: dag.ReasonReported, Limit: e.Until})
			return
		}
	case Preparing:
		m.Then, m.Met = ThenStart, news.LimitMet{}
	default:
		return // told while a person had the agent
	}
	m.sleep(e.Until)
}

// sleep waits for the end of a limit.
func (m *move) sleep(until time.Time) {
	m.enter(Limited)
	m.become(Become{Activity: dag.AtLimit, Until: until, Detail: oneLine(m.Met.Text)})
	m.do(Arm{Clock: WakeClock, Until: until})
}

// mayGoOn takes in a person's words to an agent that asks whether it may go on
// after a limit: it may. What they say besides it is told then.
func (m *move) mayGoOn() {
	said, until := *m.Said, m.Open.Limit
	m.Said, m.Open, m.SentBack = nil, Open{}, 0
	if yes, _ := question.Yes(said); !yes {
		m.keep(Message{Why: ByPerson, Text: said})
	}
	m.Then = ThenAwake
	m.sleep(until)
}

func (m *move) limited() bool {
	out := m.Taken || m.Ended || m.Limit != nil || m.Drop != nil
	awake := m.WentOn || m.Report != nil
	switch {
	case m.Then == ThenStart:
		if !m.rang[WakeClock] && !m.Overridden {
			return false
		}
		m.regain(ThenStart)
	case out:
		m.back()
	case awake, m.Overridden, m.rang[WakeClock]:
		// Awake before its time it works already, which says more than any clock.
		m.Trial = awake
		if m.Report != nil {
			m.accountWorks()
		}
		m.regain(ThenAwake)
	default:
		return false
	}
	return true
}

// backOff waits after a failed call of the model, to send the agent on.
func (m *move) backOff() {
	f := *m.Falter
	m.Falter, m.TurnEnded = nil, false
	m.Falters++
	if f.Lasting && (f.Sure || m.Falters > 1) {
		m.ask(Open{Question: question.New("the model service refuses what it is asked: " + f.Text + " (set right in its pane what it names; where the conversation is too long: /compact, or /clear; then answer `go on`)"), Reason: dag.ReasonReported})
		return
	}
	if m.Falters > maxFalters {
		m.close(Close{End: Faulty, Detail: fmt.Sprintf("the model failed %d times in a row: %s", m.Falters, f.Text)})
		return
	}
	wait := min(m.Pause<<(m.Falters-1), maxWait)
	again := fmt.Sprintf("the model failed %s: %s; tries again at %s", times(m.Falters), f.Text, m.at.Add(wait).Format("15:04:05"))
	m.enter(BackingOff)
	m.do(Note{again})
	m.become(Become{Activity: dag.Working, Detail: again})
	m.do(Arm{Clock: BackoffClock, For: wait})
}

func (m *move) backingOff() bool {
	heard := m.Drop != nil || m.Taken || m.WentOn || m.Report != nil || m.Overridden || m.Limit != nil || m.Said != nil || m.replies() >= 0 || m.Ended
	if !heard && !m.rang[BackoffClock] {
		return false
	}
	if m.Activity == dag.Working {
		m.become(Become{Activity: dag.Working})
	}
	if heard {
		m.back()
		return true
	}
	m.TurnEnded = false
	m.deliver(Message{Why: CallFailed})
	return true
}

// takeReport has a report judged once its sub-agents have ended: what they write
// belongs to what is judged.
func (m *move) takeReport() {
	m.examined = m.Report
	if m.Taken { // a person has told it otherwise since
		if said := m.unread(); said != "" {
			m.do(Note{"not handed over, as it was taken over: " + said})
		}
	}
	m.Taken, m.Spoke, m.TurnEnded = false, false, false
	m.enter(Settling)
	if !m.Stays && len(m.Unseen) > 0 {
		m.do(LookBack{}) // what it has not read comes before its end
	}
	if m.Subagents > 0 && !m.Ended {
		m.do(Arm{Clock: SettleClock, For: m.Settle})
	}
}

func (m *move) settling() bool {
	if m.Subagents > 0 && !m.Ended && !m.Overridden && !m.rang[SettleClock] {
		return false
	}
	if m.sendBackUnread() {
		return true
	}
	m.enter(Judging)
	m.do(Judge{})
	return true
}

// parting waits for the agent to take in that its report is good: its
// conversation is to be whole when it is ended.
func (m *move) parting() bool {
	if !m.Ended && !m.rang[PartingClock] && m.Concluded >= 0 && !(m.TurnEnded && m.Concluded == 0) {
		return false
	}
	m.finish(m.Summary)
	return true
}
