package attempt

import (
	"fmt"
	"slices"
	"time"

	"cmux/agents/kinds/agent"
	"cmux/agents/kinds/news"
	"cmux/agents/kinds/question"
	"cmux/agents/records/event"
	"cmux/agents/runs/conversation"
	"cmux/agents/runs/prompt"
	"cmux/agents/runs/run"
	"cmux/signals/mailbox"
)

// handle processes one message.
func (a *attempt) handle(m Message) error {
	var reply Reply
	defer func() { m.answer(reply) }()
	outer := a.reply
	a.reply = &reply
	defer func() { a.reply = outer }()
	switch m.Op {
	case OpPing:
	case OpRanCommand:
		reply.Yes = a.shells.at(m.At)
	case OpInterrupt:
		if a.interrupt != nil {
			a.interrupt()
		} else {
			a.foreign = time.Now()
		}
	case OpDone, OpBlocked, OpAsk, OpOutput, OpSend, OpHook, OpOrder:
		if m.Token == "" || m.Token != a.spec.Token {
			what := "report"
			if m.Op == OpHook {
				what = "hook"
			}
			reply.Error = fmt.Sprintf("this %s does not come from the running attempt: its token is not %s's", what, a.spec.Node)
			return nil
		}
		if a.progress.left == nil {
			a.progress.sign()
		}
		if m.Op == OpOrder {
			a.outside.carryOut(&m, &reply)
			return nil
		}
		return a.fromAgent(&m, &reply)
	case OpGive:
		return a.offer(&m)
	case OpAnswer:
		return a.answers(&m, &reply)
	case OpTell:
		tell := conversation.Tell{ID: m.Key, Text: m.Text, Urgency: urgencies[m.Urgency], Has: a.known[m.Key], Alone: m.Alone}
		if m.Mail != nil {
			tell.From, tell.Re = m.Mail.From, m.Mail.Re
		}
		return hands(a, tell)
	case OpStand:
		reply.Standing = a.standing()
		if m.Key == KeyDraft {
			reply.Standing.Draft = a.agent.draft(a.ctx) != ""
		}
	default:
		order, known := orders[m.Op]
		if !known {
			reply.Error = fmt.Sprintf("unknown request %q", m.Op)
			return nil
		}
		return a.feed(order(&m))
	}
	return nil
}

// answers processes a person's answer. The sender learns what happens to it.
func (a *attempt) answers(m *Message, reply *Reply) error {
	said := conversation.Answer{Text: m.Text, ID: m.Key, Ref: a.callers.hold(m), ToOpen: m.ToOpen}
	err := a.feed(said)
	if reply.Error != "" {
		a.callers.settle(said.Ref, *reply)
	}
	return err
}

// orders handles commands of a person or the runner.
var orders = map[Op]func(*Message) conversation.What{
	OpCancel:     func(*Message) conversation.What { return conversation.Cancel{} },
	OpStop:       func(*Message) conversation.What { return conversation.Stop{} },
	OpBreak:      func(*Message) conversation.What { return conversation.Break{} },
	OpBudget:     func(m *Message) conversation.What { return conversation.Overspent{Text: m.Text} },
	OpOverridden: func(*Message) conversation.What { return conversation.Override{} },
	OpGranted:    func(m *Message) conversation.What { return conversation.Granted{Trial: m.Trial} },
	OpAwake:      func(*Message) conversation.What { return conversation.Rang{Clock: conversation.WakeClock} },
	OpRetry:      func(*Message) conversation.What { return conversation.Retry{} },
	OpEndTurn: func(m *Message) conversation.What {
		return conversation.EndTurn{ID: m.Key, Text: m.Text}
	},
	OpWithdraw: func(m *Message) conversation.What { return conversation.Withdraw{ID: m.Key, Why: m.Text, Kept: m.Kept} },
	OpCompact:  func(m *Message) conversation.What { return conversation.Compact{ID: m.Key} },
	OpTake:     func(*Message) conversation.What { return conversation.Take{} },
	OpRelease:  func(*Message) conversation.What { return conversation.Release{} },
}

// urgencies are how messages reach an agent in a turn.
var urgencies = map[mailbox.Urgency]conversation.Urgency{mailbox.Urgent: conversation.Urgent, mailbox.Interrupt: conversation.Breaking}

// fromAgent handles what the agent reports, by command, tool or hook.
func (a *attempt) fromAgent(m *Message, reply *Reply) error {
	switch {
	case m.Op == OpHook && !a.kind.Judge:
		_, err := agent.ParseEvent(m.Event, m.Payload)
		*reply = refusal(err)
		return nil
	case m.Op == OpHook:
		if l, ok := a.agent.Agent.(agent.Listener); ok && a.progress.left == nil && l.Asks(m.Event) {
			return a.feed(conversation.Knocked{Ref: a.callers.hold(m)})
		}
		_, err := a.hook(m, reply, 0)
		return err
	case m.Op == OpOutput && a.progress.left == nil:
		return a.publish(m, reply)
	case m.Op == OpSend:
		return a.send(m, reply)
	case m.Op == OpAsk && a.kind.Judge && !a.Overridden && a.spec.Terms.Unattended:
		reply.Error = prompt.NobodyAnswers
		return nil
	case m.Op == OpAsk:
		return a.feed(conversation.Knocked{Ref: a.callers.hold(m)})
	}
	said := conversation.Reported{Blocked: m.Op == OpBlocked, Text: m.Text}
	if lines := a.agent.typed(); len(lines) > 0 {
		said.Unread = lines[0]
	}
	if m.Wait {
		said.Call = a.callers.hold(m)
	}
	err := a.feed(said)
	if reply.Error != "" {
		a.callers.settle(said.Call, *reply)
	}
	return err
}

// hearHeld handles a question that waited because another was open.
func (a *attempt) hearHeld(ref conversation.Ref) error {
	m := a.callers.waiting(ref)
	if m == nil {
		return nil // it was answered in the pane
	}
	var reply Reply
	outer := a.reply
	a.reply = &reply
	defer func() { a.reply = outer }()
	if m.Op == OpAsk {
		err := a.feed(conversation.Inquired{Question: question.New(m.Text, m.Options...), Call: ref})
		if reply.Error != "" {
			a.callers.settle(ref, reply)
		}
		return err
	}
	held, err := a.hook(m, &reply, ref)
	if !held { // there is nothing to wait for
		a.callers.settle(ref, reply)
	}
	return err
}

// hook handles a hook of the agent's program, and reports whether the answer follows later.
// ref is the hook if it was held before.
func (a *attempt) hook(m *Message, reply *Reply, ref conversation.Ref) (held bool, err error) {
	if a.progress.left != nil {
		return false, nil // too late to change anything
	}
	events, r, err := a.agent.understand(m.Event, m.Payload)
	if err != nil {
		*reply = refusal(err)
		return false, nil
	}
	*reply = r
	a.hooking, a.carried = m.Event, nil
	defer func() { a.hooking = "" }()
	held = slices.ContainsFunc(events, news.Held)
	switch {
	case ref != 0:
	case held:
		ref = a.callers.hold(m)
	case slices.ContainsFunc(events, concludes):
		ref = a.callers.await(m.gone)
	}
	return held, a.reactAll(events, ref)
}

func concludes(e news.Event) bool {
	_, is := e.(news.Concluded)
	return is
}

func refusal(err error) Reply {
	if err == nil {
		return Reply{}
	}
	return Reply{Error: err.Error()}
}

// reactAll handles what the agent did; ref is the hook that reported it.
func (a *attempt) reactAll(events []news.Event, ref conversation.Ref) error {
	for _, e := range events {
		if err := a.react(e, ref); err != nil {
			return err
		}
	}
	return nil
}

// react handles an event: the attempt's own bookkeeping first, then the conversation.
func (a *attempt) react(e news.Event, ref conversation.Ref) error {
	a.shells.hear(e, time.Now())
	switch e := e.(type) {
	case news.Used:
		if err := a.meter.uses(e.Usage); err != nil {
			return err
		}
		return a.affordable()
	case news.Converses:
		if err := a.converses(e.ID); err != nil {
			return err
		}
	case news.ShellBegan, news.ShellEnded:
		return nil
	case news.Worked:
		a.fenceEar.Hear(e.Printed)
		if err := tellRefused(a); err != nil {
			return err
		}
	case news.Read:
		return a.reads(e)
	case news.Compacts:
		return a.compaction.before(e.Trigger)
	case news.Compacted:
		return a.compaction.after(e.Trigger)
	case news.Forgot:
		return a.remind()
	case news.Filled:
		if !a.spec.Terms.Stays {
			return nil
		}
		return a.fills(run.Context{Tokens: e.Tokens, Window: e.Window})
	case news.TurnEnded:
		a.compaction.lapse()
		if err := a.looksKept(); err != nil {
			return err
		}
		if err := looksRead(a); err != nil {
			return err
		}
		e.InOrder = e.InOrder || a.began || a.spec.Terms.Replies && a.Arrived()
		return a.feed(conversation.Did{Event: e, Hook: ref})
	case news.Prompted:
		a.compaction.lapse()
		e.Own = e.Own || a.isOwn(e.Text)
		if n := len(a.delivered); n > 0 && isText(e.Text, a.delivered[n-1]) {
			a.began = true
		}
		return a.feed(conversation.Did{Event: e, Hook: ref})
	}
	return a.feed(conversation.Did{Event: e, Hook: ref})
}

// converses records the id of the program's conversation.
func (a *attempt) converses(id string) error {
	if id == a.end.Conversation {
		return nil
	}
	if err := a.meter.flush(); err != nil { // of the previous one
		return err
	}
	if was := a.spec.Conversation; !a.Came && was != "" && was != id && was != a.refused {
		a.note("conversation %s cannot be resumed: the agent begins a new one with its whole task", was)
	}
	a.end.Conversation = id
	state := event.Began
	if id == a.spec.Conversation {
		state = event.Resumed
	}
	a.stage.Keep(event.Event{Kind: event.Session, State: state, ID: id})
	return a.record(run.Record{Type: run.Conversed, Conversation: id})
}
