package attempt

import (
	"context"
	"fmt"
	"strings"
	"syscall"
	"time"

	"cmux/agents/event"
	"cmux/agents/proc"
	"cmux/agents/prompt"
	"cmux/agents/run"
	"cmux/dag"
)

// left takes in that an agent's program has ended without a report, which
// proves nothing whatever its exit code. One that died as nobody ends an agent
// is lost, one that failed has failed. What may have been a person's doing, or
// another program's, is a person's to decide. It returns with over false when
// the agent is at work again.
func (a *attempt) left() (over bool, err error) {
	exit := a.agent.Exit()
	if err := a.endAgent(); err != nil {
		return false, err
	}
	switch {
	case a.overridden:
		if a.end.Exit != 0 {
			return true, &final{End: run.End{Outcome: dag.Failed, Exit: a.end.Exit}}
		}
		return true, nil
	case crashed(exit):
		return false, &LostError{exit}
	case !byHand(exit):
		return false, &final{End: run.End{Outcome: dag.Failed, Exit: exit.Code, Detail: "ended without a report"}}
	}
	// At a shutdown the program may be told before this process is.
	doubt := &final{End: run.End{Outcome: dag.Failed, Exit: exit.Code}}
	if err := a.believe(doubt); err != error(doubt) {
		return false, err
	}
	if a.overridden {
		return true, nil
	}
	unread := a.unread()
	a.taken, a.turnEnded, a.question, a.limit, a.falter = false, false, nil, nil, nil
	a.stopBackground()
	a.openGate()
	detail, err := a.findings(exit)
	if err != nil {
		return false, err
	}
	if unread != "" {
		detail += "; it has not read what it was told: " + oneLine(prompt.Cut(unread, maxReason))
	}
	return a.unreported(&run.Left{Exit: exit.Code, Detail: detail})
}

// crashed reports whether a program died in a way that nobody chooses for an
// agent to end by.
func crashed(e proc.Exit) bool {
	switch e.Signal {
	case syscall.SIGKILL, syscall.SIGSEGV, syscall.SIGBUS, syscall.SIGILL, syscall.SIGFPE, syscall.SIGABRT, syscall.SIGTRAP, syscall.SIGSYS:
		return true
	}
	return false
}

// byHand reports whether a program ended as one does that is told to: by 0, by
// a signal that asks for it, or with the code of one.
func byHand(e proc.Exit) bool {
	if e.Err != nil {
		return false
	}
	signal := e.Signal
	if signal == 0 && e.Code > 128 {
		signal = syscall.Signal(e.Code - 128)
	}
	switch signal {
	case syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT:
		return true
	}
	return signal == 0 && e.Code == 0
}

// findings says what is there of the work of an agent that has ended without a
// report, its checks included. Nothing is changed by it.
func (a *attempt) findings(exit proc.Exit) (string, error) {
	how := fmt.Sprintf("exit %d", exit.Code)
	if exit.Signal != 0 {
		how = exit.String()
	}
	var there []string
	add := func(format string, args ...any) { there = append(there, fmt.Sprintf(format, args...)) }
	f, err := a.verify("")
	if err != nil {
		return "", err
	}
	if a.tree != nil && a.node.HasBranch() {
		err := a.git(func(ctx context.Context) error { return a.work(ctx, add) })
		if _, ended := err.(*final); ended {
			add("what git says of it is not known (%v)", err) // the person is asked all the same
		} else if err != nil {
			return "", err
		}
	}
	switch {
	case f != nil:
		add("its check failed (%s)", oneLine(f.detail))
	case len(a.node.Verify) > 0:
		add("its checks pass")
	}
	detail := "ended without a report (" + how + ")"
	if len(there) > 0 {
		detail += ": " + strings.Join(there, ", ")
	}
	return detail, nil
}

// work tells what the branch and the worktree hold of the agent's.
func (a *attempt) work(ctx context.Context, add func(string, ...any)) error {
	n, err := a.tree.commits(ctx, a.ownStart)
	if err != nil {
		return err
	}
	switch n {
	case 0:
		add("no commit")
	case 1:
		add("1 commit")
	default:
		add("%d commits", n)
	}
	dirt, err := a.tree.repo.Uncommitted(ctx, a.tree.lent.Path)
	if err != nil {
		return err
	}
	if !dirt.Clean() {
		add("not committed: %s (%s)", dirt, shown(dirt.Paths))
	}
	f, err := a.scope(ctx)
	if err == nil && f != nil {
		add("%s", f.detail)
	}
	return err
}

// unreported leaves the node to a person: the wrapper stays, without an agent
// and without a slot. An override ends the attempt, over; a retry or an answer
// has the agent go on in its conversation.
func (a *attempt) unreported(l *run.Left) (over bool, err error) {
	wait := time.Duration(a.node.InputTimeout)
	if a.overridden {
		return true, nil
	}
	if a.spec.Headless && wait == 0 {
		return false, failed(dag.ReasonNoReport, "%s", l.Detail)
	}
	name := a.node.Name
	a.unanswered = l
	defer func() { a.unanswered = nil }()
	a.end.Exit = l.Exit
	a.say("%s\naccept what is committed: cmux agents override %s\nhave it go on in its conversation: cmux agents retry %[2]s, or cmux agents answer %[2]s TEXT\nopen its conversation: cmux agents attach %[2]s", l.Detail, name)
	if err := a.become(dag.NeedsInput, time.Time{}, l.Detail); err != nil {
		return false, err
	}
	var expired <-chan time.Time
	if wait > 0 {
		t := time.NewTimer(wait)
		defer t.Stop()
		expired = t.C
	}
	a.again = false
	rang, err := a.serve(nil, expired, func() bool { return a.again || a.answer != nil || a.overridden })
	switch {
	case err != nil:
		return false, err
	case rang:
		return false, failed(dag.ReasonNoReport, "nobody decided within %s: %s", wait, l.Detail)
	case a.overridden:
		return true, nil
	}
	if err := a.regain(); err != nil || a.overridden {
		return a.overridden, err
	}
	return a.overridden, a.relaunch()
}

// relaunch starts the agent's program again, in its conversation where the kind
// can, with what a person answered.
func (a *attempt) relaunch() error {
	said := ""
	if a.answer != nil {
		said, a.answer = *a.answer, nil
	}
	spec := *a.spec
	if spec.Conversation != a.end.Conversation {
		spec.Conversation, spec.Counted = a.end.Conversation, dag.Usage{} // what it used there is of this attempt
	}
	spec.Trial, spec.Left = a.trial, nil
	a.spec = &spec
	a.stage.Resumption, a.stage.Again = prompt.Reopened(said), true
	a.end.Exit, a.end.Checks = 0, nil
	a.sentBack, a.checksFailed, a.scopeFailed, a.falters, a.subagents = 0, 0, 0, 0, 0
	a.askedCommit, a.turnEnded, a.wentOn, a.unanswered = false, false, false, nil
	if err := a.affordable(); err != nil {
		return err
	}
	if said != "" {
		a.stage.Show(event.Event{Kind: event.Answer, Text: said})
	}
	return a.launch()
}
