package conversation

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"cmux/agents/kinds/news"
	"cmux/agents/kinds/question"
	"cmux/agents/platform/say"
	"cmux/dag"
)

// hear takes in an event. What it is answered with is for advance, but for what
// cannot wait.
func (m *move) hear(what What) {
	switch e := what.(type) {
	case Cancel:
		m.close(Close{End: Cancelled})
	case Stop:
		m.close(Close{End: Stopped})
	case Break:
		m.close(Close{End: Broken})
	case Overspent:
		m.overspent(e.Text)
	case Override:
		m.Overridden = true
		m.letGo()
		m.hangUp("a person has decided this task: nothing more is needed of you. End your turn")
		m.do(Unclock{})
		if m.Phase == Hindered {
			m.giveUp()
		}
	case Granted:
		m.Granted, m.Trial = true, m.Trial || e.Trial
	case NoRunner:
		m.NoRunner = true
	case Answer:
		m.answer(e)
	case Release:
		if !m.Taken {
			m.do(Deny{m.Name + " is not taken over"})
			return
		}
		m.Taken, m.Midway = false, m.busy || m.inTurn
		m.Question, m.Dialog = m.Dialog, nil // nobody has answered it, and no hook tells of it again
		if m.Activity == dag.TakenOver {
			m.become(Become{Activity: dag.Working})
		}
		if m.Stays && !m.busy {
			m.TurnEnded = true
		}
	case Retry:
		if !m.abandoned() {
			m.do(Deny{fmt.Sprintf("%s is still running: cmux agents stop %s first", m.Name, m.Name)})
			return
		}
		m.Again = true
	case Rang:
		m.rang[e.Clock] = true
		switch e.Clock {
		case BackgroundClock:
			m.TurnEnded, m.Background, m.LeftAt = true, false, time.Time{}
		case SlipClock:
			// In a turn that has begun since, the end of that turn sets it again: what
			// was handed over in this turn is not late yet.
			if m.awaited() && !m.busy {
				m.do(LookBack{})
			}
		}
	case Gone:
		m.gone(e.Ref)
	case Seen:
		m.seen(e.ID)
	case Recalled:
		recalled(m, e)
	case BrokenOff:
		brokenOff(m, e.Said)
	case Looked:
		for _, id := range e.IDs {
			m.seen(id)
		}
		m.unseen()
	case Tell:
		m.told(e)
	case EndTurn:
		switch {
		case !m.alone() || !m.CanBreak || !m.busy && !m.inTurn:
		case e.Text != "":
			m.told(Tell{ID: e.ID, Text: e.Text, Urgency: Breaking})
		case slices.Contains(m.Read, e.ID), m.onTheWay(e.ID), slices.ContainsFunc(m.Pending, func(p Message) bool { return p.is(e.ID) }):
			// said again, by one that did not hear the answer
		default:
			m.Pending = append([]Message{{Why: Interruption, ID: e.ID, Urgency: Breaking}}, m.Pending...)
		}
	case Give, Withdraw, Take, Wrote, Kept, Compact:
		m.ordered(what)
	case Begin, Passed, Tallied, Unfit, Started, Ended, Delivered, Answered, Judged, LimitKnown, LeftBehind, Refused:
		m.result(what)
	default:
		m.heard(what)
	}
}

func (m *move) overspent(text string) {
	switch {
	case m.Overridden:
	case m.Stays, m.judged(): // it uses no more, and fails only when it would have to go on
		m.Broke = &text
	default:
		m.close(Close{End: Failed, Reason: dag.ReasonBudget, Detail: text})
	}
}

// answer takes in a person's words.
func (m *move) answer(e Answer) {
	text := e.Text
	switch {
	case e.ID != "" && slices.Contains(m.Read, e.ID): // sent again by a caller that did not learn the result
		m.owe(e.Ref)
	case !m.Reports:
		m.do(Deny{m.Name + " takes no answers"})
	case m.Phase == Closing:
		m.do(Deny{m.Name + " has ended"})
	case m.delayed():
		m.do(Deny{m.Name + " waits to be started: answer it when it works"})
	case m.Overridden:
		m.do(Deny{m.Name + " is decided by a person: cmux says nothing to its agent any more; write to it in its pane"})
	case m.accepted():
		m.do(Deny{m.Name + " is done: its report was accepted just now"})
	case m.Taken && m.running():
		m.do(Deny{fmt.Sprintf("%s is taken over by a person; cmux %s release %s first", m.Name, m.Group, m.Name)})
	case m.ownDialog() && m.running():
		m.do(Deny{m.dialogFirst()})
	case m.replied(), e.ToOpen && m.Activity != dag.NeedsInput:
		m.do(Deny{fmt.Sprintf("%s has the answer to this question already: nothing was sent to it", m.Name)})
	default:
		if e.ID != "" {
			m.remember(e.ID)
		}
		var by []Ref
		if m.owe(e.Ref); e.Ref != 0 {
			by = []Ref{e.Ref}
		}
		if m.Posed != nil && !m.inQuestion() && len(m.Open.Parts) == 0 {
			m.Pending = append(slices.Clip(m.Pending), Message{Why: ByPerson, Text: text, Of: m.Posed, refs: by})
			return
		}
		m.SaidBy = append(slices.Clip(m.SaidBy), by...)
		if m.Said != nil { // one that has not been handed over yet
			text = *m.Said + "\n" + text
		}
		m.Said = &text
	}
}

// gone takes in that nobody waits for an answer any more.
func (m *move) gone(ref Ref) {
	switch {
	case ref == m.Gate.Ref:
		m.Gate.Gone = true
	case ref == m.Call.Ref:
		m.Call = Call{}
	case ref == m.Concluded:
		m.Concluded = -ref // nobody has to wait for it
	default:
		m.Further = slices.DeleteFunc(slices.Clone(m.Further), func(r Ref) bool { return r == ref })
	}
}

// heard takes in what the agent did or said.
func (m *move) heard(what What) {
	if _, knocked := what.(Knocked); !knocked && m.abandoned() {
		m.late(what)
		return
	}
	m.comes(what)
	switch e := what.(type) {
	case Reported:
		if m.Stays && !m.Got {
			m.do(Deny{noWork})
			return
		}
		m.reported(e)
	case Inquired:
		m.inquired(e)
	case Knocked:
		// One after the other, so that an answer is one to what was shown.
		m.Further = append(slices.Clip(m.Further), e.Ref)
	case Did:
		m.did(e)
	}
}

// comes takes in a sign of the program's. What its screen shows is none.
func (m *move) comes(what What) {
	if d, did := what.(Did); did {
		if _, shown := d.Event.(news.Screen); shown {
			return
		}
	}
	m.Came, m.Lost = true, ""
	if m.Activity == dag.SettingUp {
		switch m.Phase {
		case Resting:
			m.become(Become{Activity: dag.Resting})
		case Working:
			m.become(Become{Activity: dag.Working})
		}
	}
}

// did takes in what the agent's program did.
func (m *move) did(d Did) {
	m.proven(d.Event)
	m.turns(d.Event)
	switch e := d.Event.(type) {
	case news.Asked:
		m.asked(e, d.held())
	case news.TurnEnded:
		m.turnEnded(e, d.held())
	case news.Delegated:
		m.Subagents = e.Subagents
	case news.Stuck:
		switch {
		case e.Own && m.Taken:
			m.TurnEnded = true // it is a person's, who sees it
		case m.Phase == Tallying:
			m.Ill = &e.Text
		case m.running() && !m.accepted():
			if m.Phase == AwaitingTurn || m.Phase == Hindered || m.Phase == Handing && m.By != ByAcceptance {
				m.keep(m.Handed)
			}
			m.halt(e.Text)
		}
	case news.Faltered:
		if m.Taken {
			m.TurnEnded = true // by failing
		} else {
			m.Falter = &e
		}
	case news.TookOver:
		m.personTyped(e.Text)
	case news.Prompted:
		lastSaid(m)
		m.Dialog = nil
		if !e.Own {
			m.personTyped(e.Text)
			return
		}
		m.quiet()
		turnsTo(m)
		if !m.typing() {
			m.LeftAt = time.Time{} // what it left at work began this turn
		}
		m.begins()
		m.TurnEnded, m.Limit, m.Falter = false, nil, nil
		if !m.questionOpen() { // else a sub-agent still waits for the answer
			m.Question, m.WentOn = nil, true
		}
	case news.Screen:
		m.sees(e)
	case news.LimitMet:
		if m.Taken || m.Overridden {
			// It is a person's, who sees it; the account's limit is everybody's.
			m.TurnEnded = true
			m.do(FindLimit{e})
			return
		}
		m.Limit = &e
	case news.WentOn:
		lastSaid(m)
		m.letGo()
		m.TurnEnded, m.Question, m.Dialog, m.Limit, m.Falter = false, nil, nil, nil, nil
		m.WentOn = true
		if m.Open.InPane && !m.busy && !m.inTurn && m.rests() {
			m.TurnEnded = true // there was no turn: it rests again
		}
	case news.Worked:
		m.Falters = 0
		m.accountWorks()
	case news.Concluded:
		m.Concluded = d.Hook
	}
}

// late takes in what comes from a program that is gone: it changes nothing.
func (m *move) late(what What) {
	refused := Deny{"the program of " + m.Name + " has ended without a report, and a person decides what becomes of it"}
	switch e := what.(type) {
	case Reported:
		m.do(refused)
	case Inquired:
		if e.Call != 0 {
			m.do(refused)
		}
	case Did:
		m.dropHook(e.held())
	}
}

// held is the hook that waits for its answer; 0: none does.
func (d Did) held() Ref {
	if news.Held(d.Event) {
		return d.Hook
	}
	return 0
}

func (m *move) dropHook(ref Ref) {
	if ref != 0 {
		m.do(LetGo{ref})
	}
}

// reported takes in a report.
func (m *move) reported(e Reported) {
	if e.Unread != "" && !m.Overridden {
		m.do(Note{"reported before it had read what a person typed, which comes first: " + oneLine(e.Unread)},
			Deny{"this report does not count: a person has told you something that you have not read yet. It comes to you next; take it in, then report again"})
		return
	}
	word := "done"
	if e.Blocked {
		word = "blocked"
	}
	m.called(Call{Ref: e.Call}, word, e.Text)
	m.Report = &Report{Blocked: e.Blocked, Text: e.Text}
}

// called takes in a call that may wait for its answer.
func (m *move) called(c Call, word, text string) {
	m.Spoke, m.Kept = false, true
	m.hangUp("a later report of yours has taken the place of this one")
	if c.Ref != 0 {
		m.Call = c
	}
	m.do(TakeDown{Word: word, Text: text})
	m.accountWorks()
}

// inquired takes in a question to a person that the agent put by a call.
func (m *move) inquired(e Inquired) {
	if !m.Reports || m.Overridden {
		m.do(Deny{"nobody answers questions of this node"})
		return
	}
	if m.alone() && e.Call != 0 {
		m.do(TakeDown{Word: "ask", Text: e.String()}, PassOn{Question: e.Question, Ref: e.Call, Call: true})
		return
	}
	m.called(Call{Ref: e.Call, Asks: true, Options: e.Parts[0].Options, question: &e.Question}, "ask", e.String())
	if m.Taken {
		m.TurnEnded = true
	} else {
		m.Question = &e.Question
	}
}

// asked takes in a question to a person that the agent's program puts. hook
// waits for the answer, or none does.
func (m *move) asked(e news.Asked, hook Ref) {
	if e.Question.InPane && hook == 0 && m.questionOpen() {
		return // the screen shows the dialog of the question whose hook waits for an answer
	}
	if e.Own && hook != 0 && m.alone() {
		m.do(ShowQuestion{e.Question}, PassOn{Question: e.Question, Ref: hook})
		return
	}
	if hook != 0 {
		m.hold(Gate{Ref: hook, Asks: true, question: &e.Question})
	}
	if !e.Shown {
		m.do(ShowQuestion{e.Question})
	}
	if !m.Taken && !m.Overridden {
		m.Question = &e.Question
		return
	}
	if m.Taken && !m.Overridden {
		m.Dialog = stands(m, &e.Question)
	}
	if hook != 0 {
		m.letGo()
	} else {
		m.TurnEnded = true
	}
}

// stands returns the dialog that the program shows once nobody but keys in its pane
// can answer q; nil: it shows none.
func stands(m *move, q *question.Question) *question.Question {
	switch {
	case m.questionOpen():
		shown := question.InPane(m.Gate.question.String())
		return &shown
	case q != nil && q.InPane:
		return q
	case m.Phase == Asking && m.Open.InPane:
		shown := m.Open.Question
		return &shown
	}
	return nil
}

// hold keeps a hook waiting.
func (m *move) hold(g Gate) {
	m.letGo()
	m.Gate = g
}

// turnEnded takes in the end of a turn.
func (m *move) turnEnded(e news.TurnEnded, hook Ref) {
	m.turnSaid(e.Said, e.InOrder && m.typing()) // before a hook or a message tells it more
	if hook != 0 {
		if e.Background > 0 && m.questionOpen() {
			m.dropHook(hook) // the question is a sub-agent's, and stands
		} else {
			m.hold(Gate{Ref: hook})
		}
	}
	m.quiet()
	if e.Background == 0 {
		m.Dialog = nil // else it may be a sub-agent's
	}
	m.Progress = m.at
	m.Falters, m.Subagents = 0, e.Background
	if !m.Taken {
		m.accountWorks()
	}
	if left := leaves(m, e); left > 0 {
		if !m.questionOpen() {
			m.letGo()
		}
		m.Background, m.LeftAt = true, m.at.Add(left-m.Settle)
		m.do(Arm{Clock: BackgroundClock, For: left})
		if m.Phase == Working && m.Activity == dag.Working && !m.eventful() {
			m.become(Become{Activity: dag.Working, Detail: waitsFor(e)})
		}
		return
	}
	m.TurnEnded, m.LeftAt = true, time.Time{}
	switch {
	case m.Taken || m.Activity == dag.NeedsInput || m.Activity == dag.AtLimit:
		m.letGo()
	case hook != 0 && m.Phase == Hindered && m.Handed.Why != Compaction && m.Handed.Why != Interruption:
		m.giveUp() // the hook takes it, whatever the screen shows
	case m.typing():
		m.letGo() // its program takes what is typed when the turn is over, and begins another
		m.TurnEnded = e.InOrder
	}
}

// leaves is how long what the turn that ended with e left at work is waited for; 0: not
// at all. A message in between does not begin that time again. Background commands end
// with the agent once it has reported. One that rests has nothing to report: what
// is left begins a turn of its own.
func leaves(m *move, e news.TurnEnded) time.Duration {
	switch {
	case e.Background == 0 && (e.Shells == 0 || m.Report != nil), m.rests() && !m.questionOpen():
		return 0
	case m.LeftAt.IsZero():
		return m.Settle
	}
	return m.Settle - m.at.Sub(m.LeftAt)
}

// waitsFor says what is left at work.
func waitsFor(e news.TurnEnded) string {
	var left []string
	if e.Background > 0 {
		left = append(left, say.Count(e.Background, "sub-agent"))
	}
	if e.Shells > 0 {
		left = append(left, say.Count(e.Shells, "background command"))
	}
	return "waits for " + strings.Join(left, " and ")
}

// turnsTo takes in that a turn has begun, after which it waits no more.
func turnsTo(m *move) {
	if !m.LeftAt.IsZero() && m.Phase == Working && m.Activity == dag.Working {
		m.become(Become{Activity: dag.Working})
	}
}

// tookOver takes in that a person is at work in the agent.
func (m *move) tookOver(said string) {
	m.quiet()
	if said != "" {
		m.Dialog = nil
	} else if q := stands(m, m.Question); q != nil {
		m.Dialog = q
	}
	m.letGo()
	m.hangUp("a person writes to you: do as they say")
	m.TurnEnded, m.Question, m.Limit, m.Falter = false, nil, nil, nil
	m.Taken, m.Spoke, m.Midway = true, m.Spoke || said != "", false // who took it over sees what becomes of the turn
	if m.typing() {
		m.giveUp()
	}
	if m.Activity != dag.TakenOver {
		m.become(Become{Activity: dag.TakenOver})
	}
}

// quiet no longer waits for what a turn left at work.
func (m *move) quiet() {
	if m.Background {
		m.Background = false
		m.do(Disarm{BackgroundClock})
	}
}

// accountWorks takes in that the model answered: for one that was to find out,
// the limit of its account is over.
func (m *move) accountWorks() {
	if m.Trial {
		m.Trial = false
		m.do(AccountWorks{})
	}
}

func (m *move) become(b Become) {
	m.Activity = b.Activity
	m.do(b)
}
