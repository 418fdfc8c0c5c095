package attempt

import (
	"context"
	"fmt"
	"strings"
	"time"

	"cmux/agents/agent"
	"cmux/agents/event"
	"cmux/agents/prompt"
	"cmux/agents/run"
	"cmux/dag"
)

// maxReason bounds what an agent says in one place of the record; its log has
// the whole.
const maxReason = 4 << 10

const maxSentBack = 3 // turns without a report before a person is asked

// converse is the life of an agent that reports.
func (a *attempt) converse() error {
	for {
		if _, err := a.serve(a.agent.Ended(), nil, a.eventful); err != nil {
			return err
		}
		if a.hasEnded() {
			a.shells.rest(time.Now())
		}
		var err error
		switch {
		case a.overridden && a.hasEnded():
			_, err := a.left()
			return err
		case a.overridden:
			// A person has decided: whatever it says, nothing is asked of it.
			over, e := a.idleAfterOverride()
			if over || e != nil {
				return e
			}
		case a.done != nil && a.done.blocked:
			reason := a.done.text
			a.done, a.turnEnded = nil, false
			err = a.needInput("blocked: " + prompt.Cut(reason, maxReason))
		case a.done != nil:
			finished, e := a.reported()
			if finished || e != nil {
				return e
			}
		case a.hasEnded():
			over, e := a.left()
			if over || e != nil {
				return e
			}
		case a.limit != nil:
			err = a.sleep()
		case a.falter != nil:
			err = a.backOff()
		case a.question != nil:
			q := *a.question
			a.question, a.turnEnded = nil, false
			a.inPane = q.InPane
			err = a.needInput(q.Text)
			a.inPane = false
		case a.pending != nil:
			h := *a.pending
			a.pending, a.turnEnded = nil, false
			err = a.deliver(h)
		case a.answer != nil:
			text := *a.answer
			a.answer, a.turnEnded = nil, false
			err = a.deliver(handed{event.Answer, text})
		case a.turnEnded:
			a.turnEnded = false
			if a.sentBack++; a.sentBack > maxSentBack {
				err = a.needWord(dag.ReasonNoReport, fmt.Sprintf("ended %d turns without a report", a.sentBack))
			} else {
				err = a.handBack(prompt.NoReport())
			}
		}
		a.wentOn = false
		if err != nil {
			return err
		}
	}
}

// eventful reports whether there is something for converse to act on.
func (a *attempt) eventful() bool {
	if a.overridden {
		return a.done != nil || a.turnEnded
	}
	if a.taken {
		return a.done != nil // a turn that ended meanwhile is looked at after the release
	}
	return a.done != nil || a.limit != nil || a.falter != nil || a.pending != nil || a.answer != nil || a.question != nil || a.turnEnded
}

func (a *attempt) hasEnded() bool {
	if a.agent == nil {
		return false
	}
	select {
	case <-a.agent.Ended():
		return true
	default:
		return false
	}
}

// idleAfterOverride takes in what an overridden agent says; its report ends it.
func (a *attempt) idleAfterOverride() (over bool, err error) {
	a.openGate()
	a.turnEnded, a.question, a.limit, a.falter = false, nil, nil, nil
	if a.done != nil && !a.done.blocked {
		a.end.Summary = a.done.text
		return true, nil
	}
	a.done = nil
	return false, nil
}

// handed is what an agent is told: a hand-back of cmux's or a person's answer.
type handed struct {
	kind event.Kind
	text string
}

func (a *attempt) handBack(text string) error { return a.deliver(handed{event.HandBack, text}) }

// deliver hands h to the agent: as the answer to the turn that waits for one,
// else by its own way. While a person has the agent it waits.
func (a *attempt) deliver(h handed) error {
	text := h.text
	if a.broke != nil {
		return a.broke
	}
	// A call that waits is answered also where a person has the agent: what they
	// say is read only when it is over.
	if was, err := a.answerCall(h); was || err != nil {
		return err
	}
	if a.taken {
		a.pending = &h
		return nil
	}
	if a.gate != nil && a.asks {
		switch {
		case a.question != nil:
			a.pending = &h // what nobody has seen yet comes first
			return nil
		case h.kind != event.Answer:
			a.openGate() // it is no answer: the question is left to the person in the pane
		}
	}
	if l, ok := a.agent.(agent.Listener); ok && a.gate == nil && l.Busy() {
		// It was judged faster than it ended its turn, whose end takes the text.
		_, err := a.serve(a.agent.Ended(), nil, func() bool {
			return a.gate != nil || a.taken || a.overridden || a.question != nil || !l.Busy()
		})
		switch {
		case err != nil || a.hasEnded() || a.overridden:
			return err
		case a.taken || a.limit != nil || a.falter != nil || a.question != nil:
			a.pending = &h
			return nil
		}
		a.turnEnded = false
	}
	a.stage.Show(event.Event{Kind: h.kind, Text: text})
	a.delivered = append(a.delivered, text)
	if g := a.gate; g != nil {
		a.gate = nil
		select {
		case <-g.gone: // the turn ended all the same
		default:
			// The hook may go at this very moment, and nobody would hear of it.
			if g.answer(Reply{HookReply: a.agent.(agent.Listener).HandBack(text)}) == nil {
				return a.become(dag.Working, time.Time{}, "")
			}
		}
	}
	failure, err := a.during(func(ctx context.Context) error {
		return a.agent.Deliver(ctx, text)
	}, &a.delivering)
	switch {
	case err != nil:
		return err
	case failure == nil:
		if a.taken {
			return nil
		}
		if a.activity == dag.NeedsInput { // it was hindered
			return a.regain()
		}
		return a.become(dag.Working, time.Time{}, "")
	case a.hasEnded():
		return nil // the next look finds it so
	case a.taken:
		a.pending = &h
		return nil
	}
	return failed(dag.ReasonExit, "the agent took no message: %v", failure)
}

const (
	maxFalters = 5 // failed calls of the model in a row
	maxWait    = 5 * time.Minute
)

// backOff waits after a failed call of the model and sends the agent on.
func (a *attempt) backOff() error {
	what, lasting, sure := a.falter.Text, a.falter.Lasting, a.falter.Sure
	a.falter, a.turnEnded, a.wentOn = nil, false, false
	a.falters++
	if lasting && (sure || a.falters > 1) {
		return a.needInput("the model service refuses what it is asked: " + what + " (set right in its pane what it names; where the conversation is too long: /compact, or /clear; then answer `go on`)")
	}
	if a.falters > maxFalters {
		return &final{End: run.End{Outcome: dag.Failed, Exit: 1, Detail: fmt.Sprintf("the model failed %d times in a row: %s", a.falters, what)}}
	}
	wait := min(a.limits.Pause<<(a.falters-1), maxWait)
	again := fmt.Sprintf("the model failed %s: %s; tries again at %s", times(a.falters), what, time.Now().Add(wait).Format("15:04:05"))
	a.note("%s", again)
	if err := a.become(dag.Working, time.Time{}, again); err != nil {
		return err
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	rang, err := a.serve(a.agent.Ended(), timer.C, func() bool {
		return a.taken || a.wentOn || a.done != nil || a.overridden || a.limit != nil || a.answer != nil
	})
	if err == nil && a.activity == dag.Working {
		err = a.become(dag.Working, time.Time{}, "")
	}
	if err != nil || !rang {
		return err
	}
	a.turnEnded = false
	return a.handBack(prompt.CallFailed)
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times in a row", n)
}

// reported judges a `cmux done`.
func (a *attempt) reported() (finished bool, err error) {
	reported, summary := a.done, a.done.text
	if a.taken { // a person has told it otherwise since
		if said := a.unread(); said != "" {
			a.note("not handed over, as it was taken over: %s", said)
		}
	}
	a.taken, a.spoke, a.turnEnded = false, false, false
	if err := a.awaitSubagents(); err != nil {
		return false, err
	}
	a.judging = true
	for {
		if again, err := a.sendBackUnread(); again || err != nil {
			return false, err
		}
		f, err := a.judge()
		if err != nil {
			return false, err
		}
		if f == nil && !a.overridden {
			// What a person said while it was judged comes before its end too.
			if a.interposed(reported) {
				return false, a.become(dag.TakenOver, time.Time{}, "")
			}
			if again, err := a.sendBackUnread(); again || err != nil {
				return false, err
			}
		}
		if f == nil || a.overridden {
			a.end.Summary = summary
			return true, a.accept()
		}
		if f.settle != nil {
			if err := f.settle(); err != nil {
				return false, err
			}
			continue
		}
		if a.hasEnded() {
			return false, failed(f.reason, "%s", f.detail)
		}
		switch f.reason {
		case dag.ReasonChecks:
			a.checksFailed++
			if a.checksFailed >= max(a.node.VerifyAttempts, 1) {
				return false, failed(f.reason, "%s", f.detail)
			}
		case dag.ReasonScope:
			a.scopeFailed++
			if a.scopeFailed >= max(a.node.VerifyAttempts, 1) {
				return false, failed(f.reason, "%s", f.detail)
			}
		default:
			a.askedCommit = true
		}
		// A report that came in while the last one was judged is of the state
		// before this hand-back.
		a.done, a.turnEnded, a.judging = nil, false, false
		return false, a.handBack(f.tell)
	}
}

// sendBackUnread sends a report back that was made without what a person had
// said by then.
func (a *attempt) sendBackUnread() (again bool, err error) {
	said := a.unread()
	switch {
	case said == "":
		return false, nil
	case !a.tellable():
		a.note("the agent has ended without having read what it was told: %s", said)
		return false, nil
	case a.overridden:
		return false, nil
	}
	a.done, a.turnEnded, a.judging = nil, false, false
	return true, a.deliver(handed{event.Answer, prompt.Unread(said)})
}

// unread takes what a person said and the agent has not been told; what cmux had
// to say is out of date with a report.
func (a *attempt) unread() string {
	var said []string
	if p := a.pending; p != nil && p.kind == event.Answer {
		said = append(said, p.text)
	}
	if a.answer != nil {
		said = append(said, *a.answer)
	}
	a.pending, a.answer = nil, nil
	return strings.Join(said, "\n")
}

// awaitSubagents waits for sub-agents that still work when their agent has
// reported: what they write belongs to what is judged.
func (a *attempt) awaitSubagents() error {
	if a.subagents == 0 || a.hasEnded() {
		return nil
	}
	timer := time.NewTimer(a.limits.Settle)
	defer timer.Stop()
	_, err := a.serve(a.agent.Ended(), timer.C, func() bool { return a.subagents == 0 || a.overridden })
	return err
}

// needInput gives the slot back until a person answers, by `answer` or in the
// pane, or the agent goes on by itself.
func (a *attempt) needInput(question string) error {
	return a.needWord(dag.ReasonReported, question)
}

// needWord is needInput; reason is that of the end where nobody can answer.
func (a *attempt) needWord(reason dag.Reason, question string) error {
	wait := time.Duration(a.node.InputTimeout)
	if a.spec.Headless && wait == 0 {
		return failed(reason, "%s", question)
	}
	if !a.asks {
		a.openGate() // a person may type
	}
	if err := a.become(dag.NeedsInput, time.Time{}, question); err != nil {
		return err
	}
	var expired <-chan time.Time
	if wait > 0 {
		t := time.NewTimer(wait)
		defer t.Stop()
		expired = t.C
	}
	a.wentOn = false
	over, err := a.serve(a.agent.Ended(), expired, func() bool {
		if a.inPane { // an answer waits for the pane; a question that can be answered comes first
			return a.question != nil || a.taken || a.wentOn || a.done != nil || a.overridden || a.limit != nil
		}
		return a.answer != nil || a.taken || a.wentOn || a.done != nil || a.overridden || a.limit != nil
	})
	switch {
	case err != nil:
		return err
	case over:
		return failed(reason, "nobody answered within %s: %s", wait, question)
	case a.taken || a.hasEnded() || a.limit != nil:
		return nil // a person is at work, or it is over
	case a.inPane && a.question != nil:
		return nil
	}
	a.sentBack = 0
	if err := a.regain(); err != nil || a.hasEnded() || a.taken || a.limit != nil {
		return err
	}
	if a.answer == nil || a.inPane {
		return nil
	}
	text := *a.answer
	a.answer, a.turnEnded = nil, false
	return a.deliver(handed{event.Answer, text})
}
