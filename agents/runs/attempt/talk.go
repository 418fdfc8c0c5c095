package attempt

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"cmux/agents/kinds/agent"
	"cmux/agents/kinds/handover"
	"cmux/agents/platform/proc"
	"cmux/agents/records/event"
	"cmux/agents/runs/attempt/verdict"
	"cmux/agents/runs/conversation"
	"cmux/agents/runs/prompt"
	"cmux/agents/runs/run"
	"cmux/dag"
)

// open begins the conversation.
func (a *attempt) open() {
	a.known, a.handed = map[string]bool{}, map[string]time.Time{}
	a.callers = newCallers()
	a.State = conversation.New(conversation.Config{
		Terms: a.spec.Terms, Name: a.node.Name, Reports: a.kind.Judge && !a.mergesAlone(), InputTimeout: time.Duration(a.node.InputTimeout),
		AskAtLimit: a.node.OnLimit == dag.AskToGoOn, Pause: a.limits.Pause, Settle: a.limits.Settle, Parting: a.limits.Parting,
	})
	a.Trial, a.Lost, a.Midway = a.spec.Trial, a.spec.Lost, a.spec.Midway
	if a.spec.Terms.Replies {
		a.Answers = a.spec.Answers
	}
	if p := a.spec.Posed; p != nil {
		a.AwaitAnswer(p)
	}
}

// stuck means that the agent must not continue: nothing guards it, or messages do not reach
// it.
type stuck struct{ why string }

func (s *stuck) Error() string { return s.why }

// feed passes an event to the conversation and carries out its effects, except slow ones,
// which it leaves in a.next. feed(nil) only drops callers that have disconnected.
func (a *attempt) feed(what conversation.What) error {
	var queue []conversation.What
	for _, ref := range a.callers.lost() {
		queue = append(queue, conversation.Gone{Ref: ref})
	}
	if what != nil {
		queue = append(queue, what)
	}
	for len(queue) > 0 {
		e := conversation.Event{At: time.Now(), What: queue[0]}
		queue = queue[1:]
		a.agent.busy(&e)
		var effects []conversation.Effect
		a.State, effects = conversation.Step(a.State, e)
		for _, effect := range effects {
			more, err := a.carry(effect)
			if err != nil {
				return err
			}
			if more != nil {
				queue = append(queue, more)
			}
		}
	}
	return nil
}

// measure takes in what the agent has used, as far as it knows that now.
func measure(a *attempt) {
	if m, ok := a.agent.Agent.(agent.Meter); ok {
		a.meter.used = a.meter.used.AtLeast(m.Used())
	}
}

// carry carries out an effect and returns its immediate answer as an event. It leaves a
// slow effect to converse. An effect that ends all current work is an error.
func (a *attempt) carry(effect conversation.Effect) (conversation.What, error) {
	switch e := effect.(type) {
	case conversation.Become:
		a.progress.asks, a.progress.revives = e.Question, e.Revives
		if e.Revives {
			e.Detail = run.Revival + e.Detail
		}
		return nil, a.progress.become(e.Activity, e.Until, e.Detail)
	case conversation.Note:
		a.note("%s", e.Text)
	case conversation.ShowQuestion:
		a.stage.Show(event.Event{Kind: event.Question, Text: e.Question.String()})
	case conversation.TakeDown:
		a.stage.Show(event.Event{Kind: event.Report, State: e.Word, Text: e.Text})
		if e.Word != string(OpAsk) {
			return nil, a.record(run.Record{Type: run.Noted, How: e.Word, Detail: e.Text})
		}
	case conversation.TurnSaid:
		measure(a)
		r := run.Record{Type: run.Replied, Key: e.To, Detail: prompt.Cut(e.Text, maxReply), Used: a.meter.used}
		if e.BrokenOff {
			r.How = run.HowBrokenOff
		}
		return nil, a.record(r)
	case conversation.LetGo:
		a.callers.settle(e.Ref, Reply{})
	case conversation.HangUp:
		a.callers.settle(e.Ref, Reply{Error: e.Why})
	case conversation.Deny:
		if a.reply != nil {
			a.reply.Error = e.Why
		}
	case conversation.Hear:
		return nil, a.hearHeld(e.Ref)
	case conversation.Arm:
		a.clocks.arm(e, time.Now())
	case conversation.Disarm:
		a.clocks.disarm(e.Clock)
	case conversation.Want:
		if err := a.record(run.Record{Type: run.Wants}); err != nil {
			return nil, err
		}
		if !a.job.Home.RunnerLives() {
			return conversation.NoRunner{}, nil
		}
	case conversation.TakeSlot:
		return nil, a.record(run.Record{Type: run.Granted, Detail: "no runner"})
	case conversation.AccountWorks:
		return nil, a.account.works()
	case conversation.FindLimit:
		until, err := a.account.limited(e.Limit)
		return conversation.LimitKnown{Until: until}, err
	case conversation.GoAhead:
		a.goAhead = true
	case conversation.GiveUp:
		if a.giveUp != nil {
			a.giveUp()
		}
	case conversation.Unclock:
		a.progress.decided()
	case conversation.Abandon:
		return nil, a.abandon(e)
	case conversation.Reply:
		a.callers.settle(e.Ref, Reply{Text: e.Text, Final: true})
	case conversation.Heard:
		r := Reply{Fate: e.Fate.String(), Text: e.Why}
		if e.Fate == conversation.Lost {
			r.Error = e.Why
		}
		a.callers.settle(e.Ref, r)
	case conversation.PassOn:
		return a.passOn(e), nil
	case conversation.Tellback:
		a.tellBack(e)
	case conversation.Slip:
		a.slip(e.Message)
	case conversation.LookBack:
		return conversation.Looked{IDs: a.lookBack(a.ctx, a.agent, a.Unseen)}, nil
	case conversation.Settle:
		if home, ok := a.job.Home.(settler); ok {
			if err := home.Settle(a.ctx, e.ID); err != nil {
				a.note("the message of its question still counts as unread: %v", err)
			}
		}
	case conversation.Pose:
		return nil, a.record(run.Record{Type: run.Posed, Posed: e.Posed})
	case conversation.Confirm:
		return nil, a.confirm(e.ID)
	case conversation.Halt:
		return nil, &stuck{e.Why}
	case conversation.Close:
		a.next = e
		return nil, a.broken(e)
	default:
		a.next = e
	}
	return nil, nil
}

// converse runs the agent's conversation from its first event to its last.
func (a *attempt) converse(first conversation.What) error {
	err := a.feed(first)
	for {
		if s := (*stuck)(nil); errors.As(err, &s) {
			err = a.halt(s.why)
			continue
		}
		if err != nil {
			err = a.goesOn(err)
		}
		if err != nil {
			return err
		}
		if a.next == nil {
			err = a.serve(nil, nil, func() bool { return a.next != nil })
			continue
		}
		effect := a.next
		a.next = nil
		switch e := effect.(type) {
		case conversation.Launch:
			err = a.launch(e)
		case conversation.Deliver:
			err = a.deliver(e)
		case conversation.Accept:
			err = a.feed(conversation.Answered{OK: a.callers.settle(e.Call, Reply{Text: handover.Accepted, Final: true})})
		case conversation.Judge:
			err = a.examineReport()
		case conversation.Examine:
			err = a.examineEnd()
		case conversation.WorkOver:
			err = a.tally(e)
		case conversation.Close:
			if e.Summary != "" {
				a.end.Summary = e.Summary
			}
			return nil
		default:
			return fmt.Errorf("nothing carries out a %T", e)
		}
	}
}

// launch starts the agent's program, once its account has no limit.
func (a *attempt) launch(l conversation.Launch) error {
	if l.Again {
		if err := a.relaunch(l); err != nil {
			return err
		}
	}
	if a.kind.Judge {
		if limit := a.account.limit(); limit.On(time.Now()) {
			return a.feed(conversation.LimitKnown{Until: limit.Until})
		}
	}
	a.stage.Conversation, a.stage.Counted = a.spec.Conversation, a.spec.Counted
	if a.refused != "" && a.refused == a.spec.Conversation {
		a.stage.Conversation, a.stage.Counted = "", dag.Usage{}
	}
	a.launched = l
	a.out.Began()
	var started agent.Agent
	err := a.patiently(func() (err error) {
		switch {
		case a.spec.Terms.Stays:
			if text := revival(a.Lost, l); text != "" {
				a.stage.Show(event.Event{Kind: event.Note, Text: text})
			}
			err = a.briefStanding(l, a.Got, a.Waiting(), a.verdict.Scopes())
		case a.kind.Judge:
			err = a.brief(a.verdict.Scopes())
		}
		if err != nil {
			return fmt.Errorf("%s: %w", a.kind.Name, err)
		}
		if started, err = a.kind.New(a.stage); err != nil {
			return fmt.Errorf("%s: %w", a.kind.Name, err)
		}
		if err = started.Start(a.ctx); err != nil {
			return fmt.Errorf("starting: %w", err)
		}
		return nil
	})
	var outside *verdict.Final
	switch {
	case err == nil:
	case errors.As(err, &outside) || errors.Is(err, ErrInterrupted):
		return err
	case a.spec.Terms.Stays:
		return a.feed(conversation.LeftBehind{Exit: verdict.CodeOf(err), Detail: err.Error()})
	default:
		return verdict.FailedBy(verdict.CodeOf(err), dag.ReasonSetup, "%v", err)
	}
	a.agent.Agent = started
	a.progress.begins()
	if err := a.recall(); err != nil { // before anything is delivered
		return err
	}
	return a.feed(a.agent.able())
}

// relaunch prepares a restart of the agent's program in its conversation, if the kind can,
// with a person's answer.
func (a *attempt) relaunch(l conversation.Launch) error {
	spec := *a.spec
	if c := a.end.Conversation; c != "" && c != spec.Conversation { // "": the program ended before it reported one
		spec.Conversation, spec.Counted = a.end.Conversation, dag.Usage{} // its usage counts for this attempt
	}
	spec.Trial, spec.Left = l.Trial, nil
	a.spec = &spec
	a.progress.left = nil // the agent can be heard again
	if a.spec.Terms.Stays {
		return nil
	}
	a.stage.Resumption, a.stage.Again = prompt.Reopened(l.Said), true
	a.end.Exit = 0
	a.verdict.Again()
	if err := a.affordable(); err != nil {
		return err
	}
	if l.Said != "" {
		a.stage.Show(event.Event{Kind: event.Answer, Text: l.Said})
	}
	return nil
}

// deliver sends a message to the agent.
func (a *attempt) deliver(d conversation.Deliver) error {
	kind, text := a.words(d.Message)
	if d.Why == conversation.Compaction {
		return a.compact(d.ID)
	}
	if d.Why == conversation.NewWork {
		of, unfit, err := a.handWork(d)
		if err != nil || unfit {
			return err
		}
		text = of
	}
	show := func() {
		shown := text
		if d.Of != nil {
			shown = d.Text
		}
		a.stage.Show(event.Event{Kind: kind, Text: shown})
		a.delivered, a.began = append(a.delivered, text), false
		if d.Why == conversation.FromVerdict {
			a.back = text
		}
	}
	if d.Call != 0 {
		// The call may be cancelled at this moment, and nobody would notice.
		taken := a.callers.settle(d.Call, Reply{Text: text})
		if taken {
			show()
		}
		return a.feed(conversation.Answered{OK: taken})
	}
	before := a.stage.Events.Said() // a prompt that is shown begins another turn
	if !d.Shown && d.Why != conversation.Interruption {
		show()
	}
	if d.Hook != 0 {
		taken := false
		if a.callers.waiting(d.Hook) != nil {
			taken = a.callers.settle(d.Hook, Reply{HookReply: a.agent.Agent.(agent.Listener).HandBack(text)})
		}
		return a.feed(conversation.Answered{OK: taken})
	}
	var failure error
	if b, can := a.agent.Agent.(agent.Breaker); can && d.Break {
		var err error
		if failure, err = a.during(b.BreakOff, &a.giveUp); err != nil {
			return err
		}
		if failure == nil {
			if err := looksRead(a); err != nil { // what it had been told is in the turn that is over
				return err
			}
			if err := a.feed(conversation.BrokenOff{Said: cmp.Or(a.stage.Events.Said(), before)}); err != nil {
				return err
			}
		}
	}
	if failure == nil && d.Why != conversation.Interruption {
		var err error
		if failure, err = a.during(func(ctx context.Context) error { return a.agent.Deliver(ctx, text) }, &a.giveUp); err != nil {
			return err
		}
	}
	if err := a.noticeEnd(); err != nil {
		return err
	}
	said := conversation.Delivered{}
	if failure != nil {
		said.Failure = failure.Error()
	}
	return a.feed(said)
}

// examineReport judges a report.
func (a *attempt) examineReport() error {
	f, err := a.verdict.Fault()
	if err != nil {
		return err
	}
	if err := a.noticeEnd(); err != nil {
		return err
	}
	return a.feed(conversation.Judged{Fault: f})
}

// noticeEnd tells the conversation that the program has ended, before it gets the result of
// an action that needed the program.
func (a *attempt) noticeEnd() error {
	if a.agent.hasEnded() && !a.Ended {
		return a.takeEnd()
	}
	return nil
}

// halt ends the program of a stuck agent.
func (a *attempt) halt(why string) error {
	if err := a.recall(); err != nil {
		return err
	}
	a.endAgent(false)
	return a.feed(conversation.LeftBehind{Exit: a.end.Exit, Detail: why})
}

// abandon leaves the node to a person: the wrapper stays, without an agent and without a
// slot.
func (a *attempt) abandon(l conversation.Abandon) error {
	name := a.node.Name
	a.progress.left = &run.Left{Exit: l.Exit, Detail: l.Detail}
	a.end.Exit = l.Exit
	a.refused = "" // a person may have fixed the cause
	if a.spec.Terms.Stays {
		a.out.Say("%s\nstart it again: cmux workers wake %s", l.Detail, name)
		return a.progress.become(dag.NeedsInput, time.Time{}, l.Detail)
	}
	a.out.Say("%s\naccept what is committed: cmux agents override %s\ncontinue its conversation: cmux agents retry %[2]s, or cmux agents answer %[2]s TEXT\nopen its conversation: cmux agents attach %[2]s", l.Detail, name)
	return a.progress.become(dag.NeedsInput, time.Time{}, l.Detail)
}

// endAgent ends the program and all its processes. With quote it reads the output to its
// end and returns the end of it as one line.
func (a *attempt) endAgent(quote bool) (words string) {
	if a.agent.Agent == nil {
		return ""
	}
	if s, ok := a.agent.Agent.(agent.Speaker); quote && ok {
		words = s.LastWords(a.ctx)
	}
	byItself := a.agent.hasEnded()
	if !byItself {
		for _, line := range a.agent.typed() { // it ends with the program
			a.note("typed and not read: %s", line)
		}
	}
	// One that was killed has left its screen as it was.
	if draft := a.agent.draft(context.WithoutCancel(a.ctx)); draft != "" {
		a.note("typed and not sent: %s", draft)
	}
	// A context that has ended must not leave a process behind.
	left, err := a.agent.Interrupt(context.WithoutCancel(a.ctx), a.limits.Grace)
	if quote {
		words = ending(cmp.Or(words, a.out.Said())) // before cmux's own notes are added
	}
	if byItself && len(left) > 0 {
		a.note("ended what the program left running: %s", proc.Names(left))
	}
	a.end.Exit = a.agent.Exit().Code
	measure(a)
	ended := event.Event{Kind: event.Session, State: event.Ended, ID: a.end.Conversation}
	if byItself {
		ended.Exit = &a.end.Exit // else it shows only the signal with which cmux ended the program
	}
	a.stage.Keep(ended)
	if err != nil {
		a.note("%v", err)
	}
	a.agent.Agent = nil
	a.compaction.forget()
	a.progress.attended = false
	return words
}
