package attempt

import (
	"fmt"
	"strings"
	"time"

	"cmux/agents/agent"
	"cmux/agents/event"
	"cmux/agents/prompt"
	"cmux/agents/run"
	"cmux/dag"
)

// report takes in what the agent says by command or by tool. One that waits for
// an answer keeps m's reply until there is one.
func (a *attempt) report(m *Message, reply *Reply) error {
	switch m.Op {
	case OpOutput:
		if err := run.CheckOutput(m.Key, m.Text); err != nil {
			reply.Error = err.Error()
			return nil
		}
		a.stage.Show(event.Event{Kind: event.Report, State: string(m.Op), Text: m.Key + "=" + m.Text})
		reply.Text = "published " + m.Key
		return a.record(run.Record{Type: run.Output, Key: m.Key, Value: m.Text})
	case OpAsk:
		if !a.kind.Judge || a.overridden {
			reply.Error = "nobody answers questions of this node"
			return nil
		}
		if a.spec.Headless && a.node.InputTimeout == 0 {
			reply.Error = prompt.NobodyAnswers
			return nil
		}
		if a.inQuestion() { // one after the other
			a.further = append(a.further, m.detach())
			return nil
		}
	}
	if lines := a.typed(); len(lines) > 0 && m.Op != OpAsk && !a.overridden {
		a.note("reported before it had read what a person typed, which comes first: %s", oneLine(lines[0]))
		reply.Error = "this report does not count: a person has told you something that you have not read yet. It comes to you next; take it in, then report again"
		return nil
	}
	a.spoke = false
	a.hangUp("a later report of yours has taken the place of this one")
	if m.Wait {
		held := m.detach()
		a.caller, a.asking = &held, m.Op == OpAsk
	}
	a.stage.Show(event.Event{Kind: event.Report, State: string(m.Op), Text: m.Text})
	if err := a.accountWorks(); err != nil {
		return err
	}
	if m.Op == OpAsk {
		return a.react(agent.Event{What: agent.Asked, Text: question(m.Text, m.Options), Shown: true})
	}
	a.done = &report{blocked: m.Op == OpBlocked, text: m.Text}
	return a.record(run.Record{Type: run.Noted, How: string(m.Op), Detail: m.Text})
}

// question is what a person is shown of a question with options.
func question(text string, options []string) string {
	var b strings.Builder
	b.WriteString(text)
	for i, o := range options {
		fmt.Fprintf(&b, "\n  %d. %s", i+1, o)
	}
	return b.String()
}

// waits reports whether a call of the agent's waits for its answer.
func (a *attempt) waits() bool {
	if a.caller == nil {
		return false
	}
	select {
	case <-a.caller.gone: // the agent broke it off
		a.caller, a.asking = nil, false
		return false
	default:
		return true
	}
}

// inQuestion reports whether a question to a person is open.
func (a *attempt) inQuestion() bool { return a.gate != nil && a.asks || a.asking && a.waits() }

// answerCall hands h over as the answer to the call that waits for one.
func (a *attempt) answerCall(h handed) (was bool, err error) {
	if !a.waits() {
		return false, nil
	}
	if a.asking && h.kind != event.Answer {
		return false, nil // it is no answer to that question
	}
	c, text := a.caller, h.text
	a.caller, a.asking = nil, false
	if h.kind == event.Answer {
		text = agent.Option(text, c.Options)
	}
	// The call may be broken off at this very moment, and nobody would hear of it.
	if c.answer(Reply{Text: text}) != nil {
		return false, nil
	}
	a.stage.Show(event.Event{Kind: h.kind, Text: text})
	a.delivered = append(a.delivered, text)
	if a.taken {
		return true, nil
	}
	return true, a.become(dag.Working, time.Time{}, "")
}

// hangUp answers the call that waits, when its answer will not come.
func (a *attempt) hangUp(why string) {
	if a.waits() {
		c := a.caller
		a.caller, a.asking = nil, false
		c.answer(Reply{Error: why})
	}
}

// accept tells the agent that its report is accepted, if it waits for that.
func (a *attempt) accept() error {
	if !a.waits() {
		return nil
	}
	c := a.caller
	a.caller, a.asking = nil, false
	if c.answer(Reply{Text: prompt.Accepted, Final: true}) != nil {
		return nil
	}
	if _, ok := a.agent.(agent.Concluder); !ok || a.hasEnded() {
		return nil
	}
	timer := time.NewTimer(a.limits.Parting)
	defer timer.Stop()
	concluded := func() bool { return a.concluded != nil || a.turnEnded }
	if rang, err := a.serve(a.agent.Ended(), timer.C, concluded); rang || err != nil || a.concluded == nil || a.hasEnded() {
		return err
	}
	// The hook that holds the turn's end must have told its program.
	_, err := a.serve(a.concluded, timer.C, nil)
	return err
}
