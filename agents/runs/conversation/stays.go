package conversation

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"cmux/agents/kinds/news"
	"cmux/agents/kinds/question"
	"cmux/dag"
)

// An agent that stays is given one piece of work after the other, and messages
// in between. A piece of work ends as a node's conversation does, and the program
// goes on. What a person types is a turn like any other: it holds messages back
// until the turn is over, and takes nothing over.

const noWork = "you have no task to report on. To tell somebody something: cmux mailbox send NAME SUBJECT BODY"

const (
	maxDeaths  = 5                      // of its program in a row, with which a person is asked
	deathSpan  = 3 * time.Minute        // in which deaths count although turns ended in between
	longLife   = time.Hour              // of a program, after which earlier deaths do not count
	unbornSpan = 10 * time.Minute       // of programs that end without a sign of life
	firstRest  = 250 * time.Millisecond // before it is started again; doubles
	acceptedBy = "noted: whoever gave you this task is told. End your turn; what comes next is told to you"
)

// ordered takes in what is ordered of an agent that stays.
func (m *move) ordered(what What) {
	if !m.Stays {
		m.do(Deny{m.Name + " is no standing agent"})
		return
	}
	switch e := what.(type) {
	case Give:
		switch {
		case m.Work != "":
			m.do(Deny{fmt.Sprintf("%s is at work on %s", m.Name, m.Work)})
		case e.At:
			m.Work, m.Got, m.Told = e.ID, true, true
		default:
			m.Work, m.Told, m.Asked = e.ID, false, nil
			m.goesOn()
			m.Pending = append(slices.Clip(m.Pending), Message{Why: NewWork, ID: e.ID, Text: e.Text})
		}
	case Withdraw:
		if m.Work != e.ID {
			m.do(Deny{fmt.Sprintf("%s is not at work on %s", m.Name, e.ID)})
			return
		}
		m.Drop = &e
		if m.Phase == Hindered && m.Handed.is(e.ID) {
			m.giveUp() // it need not be told
		}
	case Take:
		m.tookOver("")
	case Compact:
		m.compact(e.ID)
	case Wrote:
		m.Kept = true
		if e.Posed != nil {
			m.AwaitAnswer(e.Posed)
		}
	case Kept:
		m.Kept = true
	}
}

// told takes in a message. One that it has, or that is on its way, was sent again
// by somebody who did not hear of that.
func (m *move) told(e Tell) {
	switch {
	case !m.Reports:
		m.do(Deny{m.Name + " takes no messages"})
	case m.Overridden:
		m.do(Deny{m.Name + " is decided by a person: cmux says nothing to its agent any more"})
	case m.accepted():
		m.do(Deny{m.Name + " is done: its report was accepted just now"})
	case slices.Contains(m.Read, e.ID), slices.ContainsFunc(m.Pending, func(p Message) bool { return p.is(e.ID) }), m.onTheWay(e.ID):
	default:
		p := Message{Why: FromMail, ID: e.ID, Text: e.Text, Urgency: e.Urgency, Alone: e.Alone, Of: m.answers(e)}
		if e.Has {
			m.has(p)
			return
		}
		m.Pending = append(slices.Clip(m.Pending), p)
	}
}

// onTheWay reports whether the message with this id is being handed over.
func (s *State) onTheWay(id string) bool {
	return s.Handed.is(id) && (s.Phase == Handing || s.Phase == Hindered || s.Phase == AwaitingTurn) ||
		slices.ContainsFunc(s.Unproven, func(p Message) bool { return p.is(id) }) ||
		slices.ContainsFunc(s.Unseen, func(p Message) bool { return p.is(id) })
}

// maxTogether bounds the text of messages that go together, in bytes.
const maxTogether = 32 << 10

// together makes one message of the mail that waits at the head, so that it costs
// one turn. What answers a question stands first, and what is urgent takes all along
// that stands before it.
func (m *move) together(h Message) Message {
	if h.Why != FromMail || h.Alone {
		return h
	}
	mail := append([]Message{h}, m.Pending...)
	n := slices.IndexFunc(mail, func(p Message) bool { return p.Why != FromMail || p.Alone })
	if n < 0 {
		n = len(mail)
	}
	slices.SortStableFunc(mail[:n], func(a, b Message) int {
		switch {
		case (a.Of == nil) == (b.Of == nil):
			return 0
		case a.Of != nil:
			return -1
		}
		return 1
	})
	upTo, urgent, size := 1, 0, len(mail[0].Text)
	for i, p := range mail[1:n] {
		if size += len(p.Text); size <= maxTogether {
			upTo = i + 2
		}
		if p.Urgency > Patient {
			urgent = i + 2
		}
	}
	upTo = max(upTo, urgent)
	m.Pending = mail[upTo:]
	return join(mail[:upTo])
}

// join makes one message of several.
func join(all []Message) Message {
	if len(all) == 1 {
		return all[0]
	}
	h := Message{Why: FromMail, Of: all[0].Of}
	for i, p := range all {
		if i > 0 {
			h.ID, h.Text = h.ID+",", h.Text+"\n\n"
		}
		h.ID, h.Text, h.Urgency = h.ID+p.ID, h.Text+p.Text, max(h.Urgency, p.Urgency)
		h.parts = append(h.parts, p.split()...)
	}
	return h
}

// split are the messages that m is made of.
func (m Message) split() []Message {
	if m.parts == nil {
		return []Message{m}
	}
	all := slices.Clone(m.parts)
	for i := range all {
		all[i].Shown = m.Shown
	}
	return all
}

// is reports whether m is the message with this id, or has it among others.
func (m Message) is(id string) bool {
	return m.ID != "" && slices.Contains(strings.Split(m.ID, ","), id)
}

// Waiting are the ids of the messages that the agent has not been handed yet.
func (s *State) Waiting() (ids []string) {
	if s.Phase == Handing || s.Phase == Hindered || s.Phase == AwaitingTurn {
		if s.Handed.Why == FromMail {
			ids = append(ids, strings.Split(s.Handed.ID, ",")...)
		}
	}
	for _, p := range s.Pending {
		if p.Why == FromMail {
			ids = append(ids, strings.Split(p.ID, ",")...)
		}
	}
	return ids
}

// Hindrance is what a person can clear so that what is to be typed is typed; empty:
// nothing.
func (s *State) Hindrance() string {
	if s.Phase != Hindered || s.comesUp() {
		return ""
	}
	return hinders(s.Screen)
}

// lasting is what is pending and still to be said whatever the agent did
// meanwhile.
func (m *move) lasting() (last []Message) {
	for _, p := range m.Pending {
		if p.lasts() {
			last = append(last, p)
		}
	}
	return last
}

// surviving is what is pending and still to be said by a program that is started
// again.
func (m *move) surviving() (left []Message) {
	for _, p := range m.Pending {
		if p.lasts() || m.Stays && p.Answering() {
			left = append(left, p)
		}
	}
	return left
}

// personTyped takes in that a person typed: in an agent that stays that is a turn
// like any other.
func (m *move) personTyped(said string) {
	m.do(m.gets(Message{Of: m.Posed})...)
	if !m.Stays || m.Taken {
		m.tookOver(said)
		return
	}
	m.quiet()
	m.TurnEnded, m.Question, m.Limit, m.Falter = false, nil, nil, nil
	m.Spoke, m.WentOn = true, true
	turnsTo(m)
	m.begins()
	if said == "" && m.Got { // broken off, and not to be sent on at once
		m.Awaits = "waits for a person, who broke its turn off"
	}
	if m.typing() {
		m.giveUp()
	}
}

// rest has nothing to do: messages and work are waited for.
func (m *move) rest() {
	m.letGo()
	m.Spoke, m.WentOn, m.Midway = false, false, false
	m.enter(Resting)
	if m.Awaits != "" {
		b := Become{Activity: dag.NeedsInput, Detail: m.Awaits}
		if m.Posed != nil {
			b.Question = &m.Posed.Question
		}
		m.become(b)
		return
	}
	if !startsAgain(m) {
		m.become(Become{Activity: dag.Resting})
	}
}

// rests reports whether it has nothing to do once its turn is over.
func (s *State) rests() bool { return s.Stays && (!s.Got || s.Awaits != "") }

// startsAgain says of a program that goes on for one that was lost, and has given no
// sign yet, that it starts again.
func startsAgain(m *move) bool {
	if m.Came || m.Lost == "" {
		return false
	}
	if m.Activity != dag.SettingUp {
		m.become(Become{Activity: dag.SettingUp, Detail: m.Lost, Revives: true})
	}
	return true
}

func (m *move) resting() bool {
	switch {
	case m.Ended, m.Drop != nil, m.Broke != nil, m.Taken, m.Report != nil, m.Limit != nil, m.Falter != nil, m.Question != nil, len(m.Pending) > 0, m.Said != nil:
		m.back()
	case m.WentOn:
		m.become(Become{Activity: dag.Working})
		m.back()
	default:
		if m.TurnEnded {
			m.letGo()
			m.TurnEnded = false
		}
		return false
	}
	return true
}

// handed takes in that what was on its way has arrived. Of what a hook took the
// agent is to show a sign first.
func (m *move) handed() {
	h := m.Handed
	if m.Fate = Told; h.Asked || h.Of != nil {
		m.Fate = Replied
	}
	m.hears(h)
	if !m.Stays && h.Why == FromMail && m.By == ByProgram && m.Report != nil {
		m.do(Note{"reported before it had read a message, which comes first"})
		m.hangUp(reportAgain)
		m.Report = nil
	}
	m.begins()
	if h.Why != Unkept {
		m.Gated = false
	}
	if h.Why == NewWork {
		m.Got = m.Work == h.ID
	}
	if h.Why != FromMail && h.Why != ByPerson {
		m.LeftAt = time.Time{}
	}
	parts := h.split()
	for i, p := range parts {
		if p.Why == FromMail || p.Answering() {
			m.do(m.gets(p)...)
		}
		parts[i].Of = nil // it is answered, whatever is seen of that
	}
	switch {
	case h.ID == "":
	case m.Recalls:
		m.Unseen = append(slices.Clip(m.Unseen), parts...)
		m.early()
	case m.By == ByProgram:
		m.read(h.ID)
	default:
		m.Unproven = append(slices.Clip(m.Unproven), h)
	}
}

// maxRead is how many messages are remembered, so that one that is told again by
// somebody who did not hear that it was read is not read twice.
const maxRead = 1000

// read takes in that the agent has read what has this id.
func (m *move) read(id string) {
	m.remember(id)
	if m.Replies && id != m.Work {
		m.Answers = append(slices.Clip(m.Answers), strings.Split(id, ",")...)
	}
	m.Told = m.Told || m.Work != "" && id == m.Work
	m.do(Confirm{id})
}

func (m *move) remember(id string) {
	m.Read = append(slices.Clip(m.Read), strings.Split(id, ",")...)
	if n := len(m.Read) - maxRead; n > 0 {
		m.Read = m.Read[n:]
	}
}

// proven takes in a sign of the agent's that it goes on: it has what its hooks
// were given.
func (m *move) proven(e news.Event) {
	if len(m.Unproven) == 0 {
		return
	}
	switch e.(type) {
	case news.Worked, news.TurnEnded, news.ShellBegan, news.Asked:
		for _, p := range m.Unproven {
			m.read(p.ID)
		}
		m.Unproven = nil
	}
}

// giveBack ends a piece of work that the agent cannot continue.
func (m *move) giveBack() {
	why := m.Report.Text
	m.Report = nil
	if m.Call.Ref != 0 {
		m.do(Reply{m.Call.Ref, acceptedBy})
		m.Call = Call{}
	}
	m.workOver(Close{End: Failed, Reason: dag.ReasonReported, Detail: why})
}

// dropWork takes the piece of work back.
func (m *move) dropWork() {
	why := m.Drop.Why
	m.hangUp("this task was taken back: " + why)
	told := m.Got
	if told {
		m.Pending = append([]Message{{Why: NoWork, Text: why, Urgency: Breaking}}, m.Pending...)
	}
	m.Report = nil
	m.workOver(Close{End: Cancelled, Detail: why})
}

// workOver has the end of the piece of work recorded. Without one there is
// nothing that could fail, and a person is told.
func (m *move) workOver(c Close) {
	switch {
	case m.Work != "":
		m.hangUp("this task is over: " + c.Detail)
		isWork := func(p Message) bool { return p.Why == NewWork }
		m.Pending = slices.DeleteFunc(slices.Clone(m.Pending), isWork)
		m.Unproven = slices.DeleteFunc(slices.Clone(m.Unproven), isWork) // nor is it said again by a program that starts
		m.Unseen = slices.DeleteFunc(slices.Clone(m.Unseen), isWork)
		m.enter(Tallying)
		m.do(WorkOver{m.Work, c})
	case c.End == Finished:
		m.back()
	default:
		m.ask(Open{Question: question.New(c.Detail), Reason: c.Reason})
	}
}

// tallied is after a piece of work. What it asked a person in it is over, too.
func (m *move) tallied() {
	for _, id := range m.Asked {
		m.do(Settle{id})
	}
	m.Asked = nil
	m.Work, m.Got, m.Told, m.Drop, m.Midway = "", false, false, nil, false
	m.goesOn()
	m.Report, m.examined, m.Broke, m.Spoke = nil, nil, nil, false
	m.SentBack, m.Unheard, m.Falters, m.Concluded, m.Summary = 0, 0, 0, 0, ""
	if ill := m.Ill; ill != nil {
		m.Ill = nil
		m.halt(*ill)
		return
	}
	m.back()
	if !m.busy {
		m.TurnEnded = true
	}
}

// revives has the program of an agent that stays started again. One that ends
// again and again is left to a person.
func (m *move) revives(e *LeftBehind) bool {
	again := m.survives()
	m.Subagents, m.Lost = 0, oneLine(e.Detail)
	if !again {
		e.Detail = fmt.Sprintf("its program ended %d times in a row and is not started again: %s", len(m.Deaths), e.Detail)
		m.Deaths, m.Unborn = nil, time.Time{}
		return false
	}
	wait := firstRest << (len(m.Deaths) - 1)
	m.enter(Reviving)
	m.become(Become{Activity: dag.SettingUp, Detail: m.Lost, Revives: true})
	m.do(Arm{Clock: ReviveClock, For: wait})
	return true
}

// survives takes in that the program has ended, and reports whether it may start
// again. Deaths count whatever the time between them, until a turn has ended or a
// program has lived for long; then only those of the last deathSpan do. Programs
// that end without a sign of life are given up after unbornSpan, too.
func (m *move) survives() bool {
	if m.Came && m.at.Sub(m.Launched) >= longLife {
		m.Progress = m.at
	}
	m.Deaths = slices.DeleteFunc(slices.Clone(m.Deaths), func(t time.Time) bool {
		return !t.After(m.Progress) && m.at.Sub(t) > deathSpan
	})
	m.Deaths = append(m.Deaths, m.at)
	switch {
	case m.Came:
		m.Unborn = time.Time{}
	case m.Unborn.IsZero():
		m.Unborn = m.at
	}
	late := !m.Unborn.IsZero() && m.at.Sub(m.Unborn) > unbornSpan
	return len(m.Deaths) < maxDeaths && !late
}

func (m *move) reviving() bool {
	if !m.rang[ReviveClock] {
		return false
	}
	m.restart()
	return true
}
