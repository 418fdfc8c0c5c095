package attempt

import (
	"time"

	"cmux/agents/platform/proc"
	"cmux/agents/runs/attempt/verdict"
	"cmux/agents/runs/conversation"
	"cmux/agents/runs/run"
	"cmux/dag"
)

// examineEnd examines the work of an agent whose program has ended. For a command, the exit
// code is its report. For all others it proves nothing: a program killed by an unusual
// signal is lost, one that failed has failed, and if a person or another program may have
// ended it, a person decides.
func (a *attempt) examineEnd() error {
	if !a.Overridden && !a.Came && a.agent.refuses() { // it should have continued that conversation, but gave no sign
		return a.beginAnew()
	}
	if a.spec.Terms.Stays {
		return a.revive()
	}
	exit := a.agent.Exit()
	words := a.endAgent(!a.Came)
	switch {
	case !a.kind.Judge:
		return a.examineExit(exit)
	case a.Overridden && a.end.Exit != 0:
		return &verdict.Final{End: run.End{Outcome: dag.Failed, Exit: a.end.Exit}}
	case a.Overridden:
		return a.feed(conversation.LeftBehind{})
	case crashed(exit):
		return &LostError{exit}
	case !byHand(exit):
		return &verdict.Final{End: run.End{Outcome: dag.Failed, Exit: exit.Code, Detail: withWords("ended without a report", words)}}
	}
	// At a shutdown the program may get its signal before this process.
	doubt := &verdict.Final{End: run.End{Outcome: dag.Failed, Exit: exit.Code}}
	if err := a.believe(doubt); err != error(doubt) {
		return err
	}
	detail := ""
	if !a.Overridden {
		var err error
		if detail, err = a.verdict.Findings(exit); err != nil {
			return err
		}
	}
	return a.feed(conversation.LeftBehind{Exit: exit.Code, Detail: detail})
}

// examineExit judges a program whose exit code is its report.
func (a *attempt) examineExit(exit proc.Exit) error {
	if exit.Code == 0 && exit.Err == nil {
		if err := a.verdict.Once(); err != nil {
			return err
		}
		return a.feed(conversation.Judged{})
	}
	detail := ""
	if exit.Err != nil || exit.Signal != 0 {
		detail = exit.String() // the label contains the exit code
	}
	if r := a.Report; r != nil {
		if r.Blocked {
			detail = r.Text
		} else {
			a.end.Summary = r.Text
		}
	}
	return &verdict.Final{End: run.End{Outcome: dag.Failed, Exit: exit.Code, Detail: detail}}
}

// beginAnew starts the program again in a new conversation with the whole task. The old
// conversation is kept for a retry by a person until the program reports the new one.
func (a *attempt) beginAnew() error {
	a.refused = a.stage.Conversation
	how := a.agent.Exit().String()
	how = withWords(how, a.endAgent(true))
	a.note("the agent's program did not start in conversation %s (%s): cmux starts it in a new conversation with its whole task", a.refused, how)
	a.end.Exit = 0
	return a.feed(conversation.Refused{Said: a.launched.Said})
}

// believe returns the failure f when it is beyond doubt, or an event from outside in
// between: the attempt was interrupted, cancelled or stopped.
func (a *attempt) believe(f *verdict.Final) error {
	code := a.verdict.Decider(f, a.end.Exit)
	ending := func() bool { return shutsDown("/") }
	wait := a.limits.Doubt.of(f.End, code, ending())
	if wait == 0 || a.Overridden {
		return f
	}
	if a.foreign != (time.Time{}) && ofSignal(code) && time.Since(a.foreign) < wait {
		return ErrInterrupted
	}
	a.progress.stand()
	began := time.Now()
	for left := wait; left > 0; left = wait - time.Since(began) {
		timer := time.NewTimer(left)
		err := a.serve(nil, timer.C, func() bool { return a.Overridden || a.foreign != (time.Time{}) && ofSignal(code) })
		timer.Stop()
		switch {
		case err != nil:
			return err
		case a.Overridden:
			return f
		case a.foreign != (time.Time{}) && ofSignal(code):
			return ErrInterrupted
		}
		switch d := a.limits.Doubt; {
		case time.Since(began) < wait:
		case ending():
			wait = max(wait, d.Ending)
		case a.limits.Doubt.unrest(a.job.Home, began):
			wait = max(wait, d.Other+d.Signal)
		}
	}
	return f
}
