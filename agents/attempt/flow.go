package attempt

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"cmux/agents/agent"
	"cmux/agents/event"
	"cmux/agents/proc"
	"cmux/agents/prompt"
	"cmux/agents/run"
	"cmux/dag"
	"cmux/signals"
)

// attempt is the state of one Run. Only the goroutine of Run touches it.
type attempt struct {
	ctx    context.Context
	job    *Job
	node   *dag.Node
	spec   *run.Spec
	kind   agent.Kind
	limits Limits
	stage  *agent.Stage
	out    *output
	agent  agent.Agent
	tree   *tree // nil: the node has none
	shared shared
	// persisting is what goes on beside the attempt to have the tree survive a
	// power cut.
	persisting sync.WaitGroup
	steps      int // checks and on_complete steps started

	activity dag.Activity
	detail   string     // of the activity, as recorded
	told     bool       // of an activity
	budget   *stopwatch // node.Timeout
	idle     *time.Timer
	lastSign time.Time // of life, other than output

	// What was learnt from messages and not yet acted on.
	done       *report
	turnEnded  bool
	background *time.Timer  // sub-agents were at work when the turn ended
	question   *agent.Event // Asked: it waits for a person
	inPane     bool         // the question that is waited on is answered in the pane alone
	limit      *agent.Event
	answer     *string
	taken      bool // a person types
	spoke      bool // and has said something since the last report
	overridden bool
	granted    bool
	trial      bool // it is to find out whether the limit of its account is over
	wentOn     bool
	again      bool      // a person wants the agent to go on that has ended without a report
	unanswered *run.Left // its program has ended without a report, and a person is to decide
	falter     *agent.Event
	gate       *Message           // a hook that waits for its answer
	asks       bool               // the gate is that of a question, not of a turn's end
	further    []Message          // hooks with questions, not heard while another is open
	pending    *handed            // what a person's work keeps waiting
	delivering context.CancelFunc // gives up the delivery that is under way
	interrupt  context.CancelFunc // ends the step that runs
	foreign    time.Time          // of a signal that nobody can have typed: no step ran
	calls      chan func() error
	delivered  []string        // messages handed to the agent
	caller     *Message        // the report of the agent's that waits for an answer
	asking     bool            // that call puts a question to a person
	concluded  <-chan struct{} // closed when the agent knows that its report was accepted; nil: it did not say so
	subagents  int             // at work now
	shells     shells

	// Of the conversation so far.
	sentBack     int // turns without a report
	checksFailed int
	scopeFailed  int
	askedCommit  bool
	falters      int    // failed calls of the model in a row
	passed       string // fingerprint of the tree that passed its checks
	ownStart     string // commit since which changes are the node's own
	judged       string // tip of the branch that was found good
	end          run.End

	meter   meter
	talking bool  // converse is at work
	judging bool  // it has reported, and whether it is done is being found out
	broke   error // it is over a budget, which counts if it has to go on
}

// report is what the agent said with `cmux done` or `cmux blocked`.
type report struct {
	blocked bool
	text    string
}

// final is the end of an attempt, on its way up as an error.
type final struct {
	run.End
	code int // how the program ended that decided it, where End does not say
}

func (f *final) Error() string {
	return fmt.Sprintf("outcome %d, reason %q: %s", f.Outcome, f.Reason, f.Detail)
}

func failed(reason dag.Reason, format string, a ...any) error {
	return &final{End: run.End{Outcome: dag.Failed, Reason: reason, Detail: fmt.Sprintf(format, a...)}}
}

// failedBy is failed for a program that ended with code.
func failedBy(code int, reason dag.Reason, format string, a ...any) error {
	return &final{run.End{Outcome: dag.Failed, Reason: reason, Detail: fmt.Sprintf(format, a...)}, code}
}

var errCancelled = &final{End: run.End{Outcome: dag.Cancelled}}

// Run carries the attempt out. The error is ErrInterrupted or ErrStopped when
// ctx ended or a stop came in; any other error means that cmux itself could
// not do its part (a record that cannot be written) and that the attempt has
// no end either.
func Run(ctx context.Context, job Job) (run.End, error) {
	a := &attempt{ctx: ctx, job: &job, node: job.Node, spec: job.Spec, limits: job.Limits.withDefaults(), calls: make(chan func() error)}
	end, err := a.run()
	a.persisting.Wait()
	a.refuse()
	return end, err
}

// refuse answers what came in too late.
func (a *attempt) refuse() {
	for {
		select {
		case m := <-a.job.Inbox:
			m.answer(Reply{Error: "the attempt has ended"})
		default:
			return
		}
	}
}

func (a *attempt) run() (run.End, error) {
	a.budget = newStopwatch(time.Duration(a.node.Timeout))
	a.out = &output{live: a.job.Live, last: time.Now()}
	if a.out.live == nil && a.job.Terminal != nil {
		a.out.live = a.job.Terminal.Out
	}
	var (
		env []string
		log *Log
	)
	err := a.patiently(func() (err error) {
		if a.cramped() {
			return run.ErrCramped // whatever begins now fails, and costs a try
		}
		if env, err = environ(a.job); err != nil {
			return err
		}
		log, err = OpenLog(a.job.Run.Log(a.node.Name), Header(a.node.Name, a.spec.Attempt, time.Now()), a.limits.LogHead, a.limits.LogTail)
		return err
	})
	var f *final
	if errors.As(err, &f) { // cancelled while there was no space
		return f.End, nil
	}
	if err != nil {
		return run.End{}, err
	}
	a.out.log = log
	a.stage = &agent.Stage{
		Name: a.node.Name, Kind: a.node.Agent, Dir: a.spec.Place.Dir, Tree: a.spec.Place.Tree, Env: env,
		Task: a.node.Task, Resumption: prompt.Resumed, Model: a.node.Model, AutoAccept: a.node.AutoAccept,
		Review: a.node.Role == dag.RoleReview, Verdict: time.Duration(len(a.node.Verify)) * time.Duration(a.node.VerifyTimeout),
		Binary: a.job.Run.Binary(), Files: agent.Files{Dir: a.job.Run.NodeDir(a.node.Name), N: a.spec.Attempt},
		Terminal: a.job.Terminal, Out: a.out, Tell: a.tell,
		Lines: new(event.Printer), Spawner: a.job.Spawner, Mark: Mark(a.job), Drain: a.limits.Drain,
	}
	if err := a.patiently(a.openEvents); errors.As(err, &f) {
		return f.End, log.Close()
	} else if err != nil {
		return run.End{}, errors.Join(err, log.Close())
	}
	defer a.budget.run(false)
	defer a.stopIdle()
	defer a.meter.stop()

	err = a.flow()
	if e := a.endAgent(); e != nil && err == nil {
		err = e
	}
	if errors.As(err, &f) {
		err = a.believe(f)
	}
	if err == nil && !a.kind.Judge && !a.overridden {
		err = a.interrupted() // an exit code of 0 may be how it took the same signal
	}
	switch {
	case err == nil:
		a.end.Outcome = dag.Done
	case errors.As(err, &f):
		a.end.Outcome, a.end.Reason, a.end.Detail = f.Outcome, f.Reason, f.Detail
		if f.Exit != 0 {
			a.end.Exit = f.Exit
		}
	default:
		a.say("%v", err)
		used := a.recordUse()
		a.closeEvents(nil, err)
		return run.End{}, errors.Join(err, used, a.out.close())
	}
	// Where a person has decided, this end gets no marker either.
	a.end.Retry = a.overridden || a.node.WillRetry(a.end.Outcome, a.end.Reason, a.spec.Tries)
	a.survey()
	if a.end.Outcome == dag.Failed {
		if a.end.Detail != "" {
			a.say("%s", a.end.Detail)
		} else {
			a.say("exit %d", a.end.Exit)
		}
	}
	a.closeEvents(&a.end, nil)
	if err := a.out.close(); err != nil {
		a.note("the log is incomplete: %v", err)
	}
	return a.end, nil
}

// flow is the attempt from its start to its verdict; nil means done.
func (a *attempt) flow() error {
	if err := a.endLeftovers(); err != nil {
		return err
	}
	if err := a.prepare(); err != nil {
		return err
	}
	if a.node.Role == dag.RoleMerge {
		if err := a.merge(); err != nil {
			return err
		}
		if a.node.Task == "" {
			return a.complete()
		}
	}
	kind, ok := a.job.Kinds[a.node.Agent]
	if !ok {
		return failed(dag.ReasonSetup, "agent kind %q is not known to this binary", a.node.Agent)
	}
	a.kind = kind
	if err := a.affordable(); err != nil {
		return err // of earlier attempts
	}
	if l := a.spec.Left; l != nil && kind.Judge {
		a.end.Conversation = a.spec.Conversation
		if over, err := a.unreported(l); over || err != nil {
			return err
		}
	} else if err := a.launch(); err != nil {
		return err
	}
	if a.agent == nil {
		return nil // a person has decided before it was started
	}
	if kind.Judge {
		if err := a.talk(); err != nil {
			return err
		}
	} else if err := a.await(); err != nil {
		return err
	}
	if a.overridden {
		return nil
	}
	return a.complete()
}

// endLeftovers ends what an earlier attempt left behind when its wrapper was
// killed. The first attempt has no predecessor and is spared the scan.
func (a *attempt) endLeftovers() error {
	if a.spec.Attempt <= 1 {
		return nil
	}
	marks := make([]proc.Mark, 0, a.spec.Attempt-1)
	for n := 1; n < a.spec.Attempt; n++ {
		marks = append(marks, proc.Attempt(a.job.Run.Plan.ID, a.spec.Node, n))
	}
	ended, err := proc.End(a.ctx, a.limits.Grace, marks...)
	if len(ended) > 0 {
		a.note("ended what an earlier attempt left running: %s", proc.Names(ended))
	}
	if err != nil {
		return failed(dag.ReasonSetup, "processes of an earlier attempt could not be ended: %v", err)
	}
	return a.interrupted()
}

func (a *attempt) launch() error {
	if a.kind.Judge {
		if err := a.awaitAccount(); err != nil || a.overridden {
			return err
		}
	}
	a.stage.Conversation, a.stage.Counted = a.spec.Conversation, a.spec.Counted
	var started agent.Agent
	err := a.patiently(func() (err error) {
		if a.kind.Judge {
			if err := a.brief(); err != nil {
				return fmt.Errorf("%s: %w", a.kind.Name, err)
			}
		}
		if started, err = a.kind.New(a.stage); err != nil {
			return fmt.Errorf("%s: %w", a.kind.Name, err)
		}
		if err = started.Start(a.ctx); err != nil {
			return fmt.Errorf("starting: %w", err)
		}
		return nil
	})
	var outside *final
	switch {
	case err == nil:
	case errors.As(err, &outside) || errors.Is(err, ErrInterrupted):
		return err
	default:
		return failedBy(codeOf(err), dag.ReasonSetup, "%v", err)
	}
	a.agent = started
	a.lastSign = time.Now()
	a.armIdle()
	return a.become(dag.Working, time.Time{}, "")
}

// endAgent ends the program with all that came of it.
func (a *attempt) endAgent() error {
	if a.agent == nil {
		return nil
	}
	byItself := a.hasEnded()
	if !byItself {
		a.keepTyped()
	}
	// A context that is over must not leave a process behind.
	left, err := a.agent.Interrupt(context.WithoutCancel(a.ctx), a.limits.Grace)
	if byItself && len(left) > 0 {
		a.note("ended what the program left running: %s", proc.Names(left))
	}
	a.end.Exit = a.agent.Exit().Code
	if m, ok := a.agent.(agent.Meter); ok {
		a.end.Used = a.end.Used.AtLeast(m.Used())
	}
	a.stage.Keep(event.Event{Kind: event.Session, State: event.Ended, ID: a.end.Conversation, Exit: &a.end.Exit})
	if err != nil {
		a.note("%v", err)
	}
	a.agent = nil
	return nil
}

// await is the life of a program whose exit code is its report.
func (a *attempt) await() error {
	agent := a.agent
	if _, err := a.serve(agent.Ended(), nil, nil); err != nil {
		return err
	}
	if err := a.endAgent(); err != nil {
		return err
	}
	if a.done != nil && !a.done.blocked {
		a.end.Summary = a.done.text
	}
	if exit := agent.Exit(); exit.Code != 0 || exit.Err != nil {
		detail := ""
		if exit.Err != nil || exit.Signal != 0 {
			detail = exit.String() // the label says the exit code by itself
		}
		if a.done != nil && a.done.blocked {
			detail = a.done.text
		}
		return &final{End: run.End{Outcome: dag.Failed, Exit: exit.Code, Detail: detail}}
	}
	return a.judgeOnce()
}

// serve answers messages and watches the clocks until ch is closed, ready holds
// or alarm rings. Everything that ends an attempt from outside comes out of here.
func (a *attempt) serve(ch <-chan struct{}, alarm <-chan time.Time, ready func() bool) (rang bool, err error) {
	for {
		if err := a.interrupted(); err != nil {
			return false, err // before all that is ready as well
		}
		if err := a.hearFurther(); err != nil {
			return false, err
		}
		if ready != nil && ready() {
			return false, nil
		}
		var idle, settled <-chan time.Time
		if a.idle != nil && a.activity == dag.Working {
			idle = a.idle.C
		}
		if a.background != nil {
			settled = a.background.C
		}
		select {
		case <-a.ctx.Done():
			return false, a.interrupted()
		case <-ch:
			if err := a.interrupted(); err != nil {
				return false, err
			}
			// An end and a word about it may come together: hear the word first.
			return false, a.drain()
		case m := <-a.job.Inbox:
			if err := a.handle(m); err != nil {
				return false, err
			}
		case f := <-a.calls:
			if err := f(); err != nil {
				return false, err
			}
		case <-a.budget.C:
			return false, failed(dag.ReasonTimeout, "ran past its timeout of %s", time.Duration(a.node.Timeout))
		case <-idle:
			if err := a.checkIdle(); err != nil {
				return false, err
			}
		case <-alarm:
			return true, nil
		case <-a.meter.due():
			if err := a.recordUse(); err != nil {
				return false, err
			}
		case <-settled:
			a.background, a.turnEnded = nil, true
		}
	}
}

// hearFurther hears the next question when the last one is answered.
func (a *attempt) hearFurther() error {
	for a.gate == nil && len(a.further) > 0 && !a.inQuestion() {
		m := a.further[0]
		a.further = a.further[1:]
		select {
		case <-m.gone: // it was answered in the pane
			continue
		default:
		}
		if err := a.handle(m); err != nil {
			return err
		}
	}
	return nil
}

func (a *attempt) drain() error {
	for {
		select {
		case m := <-a.job.Inbox:
			if err := a.handle(m); err != nil {
				return err
			}
		default:
			return nil
		}
	}
}

// during runs f, which must end when its context does, while messages are
// served, and returns its error as failure. What came from outside is in err; it
// ends f first.
func (a *attempt) during(f func(context.Context) error, also ...*context.CancelFunc) (failure, err error) {
	ctx, cancel := context.WithCancel(a.ctx)
	defer cancel()
	for _, c := range also {
		*c = cancel
		defer func() { *c = nil }()
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		failure = f(ctx)
	}()
	outer := a.interrupt
	a.interrupt = cancel
	_, err = a.serve(done, nil, nil)
	a.interrupt = outer
	cancel()
	<-done
	return failure, err
}

// call has the goroutine of Run do f, from within what during runs.
func (a *attempt) call(ctx context.Context, f func() error) error {
	done := make(chan error, 1)
	select {
	case a.calls <- func() error { done <- f(); return nil }:
		return <-done
	case <-ctx.Done():
		return ctx.Err()
	}
}

// tell is Stage.Tell.
func (a *attempt) tell(ctx context.Context, events ...agent.Event) error {
	f := func() error {
		a.sign()
		return a.reactAll(events)
	}
	select {
	case a.calls <- f:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (a *attempt) interrupted() error {
	if a.ctx.Err() == nil {
		return nil
	}
	if errors.Is(context.Cause(a.ctx), ErrStopped) {
		return ErrStopped
	}
	return ErrInterrupted
}

// handle acts on one message.
func (a *attempt) handle(m Message) error {
	var reply Reply
	defer func() { m.answer(reply) }()
	switch m.Op {
	case OpPing:
	case OpRanCommand:
		reply.Yes = a.shells.at(m.At)
	case OpCancel:
		return errCancelled
	case OpStop:
		return ErrStopped
	case OpBreak:
		return ErrInterrupted
	case OpBudget:
		return a.overspent(m.Text)
	case OpInterrupt:
		if a.interrupt != nil {
			a.interrupt()
		} else {
			a.foreign = time.Now()
		}
	case OpOverridden:
		a.overridden = true
		a.openGate() // nobody asks or answers it here any more
		a.hangUp("a person has decided this task: nothing more is needed of you. End your turn")
		a.budget.run(false)
		a.stopIdle()
	case OpGranted:
		a.granted, a.trial = true, a.trial || m.Trial
	case OpRetry:
		if a.unanswered == nil {
			reply.Error = fmt.Sprintf("%s is still running: cmux agents stop %s first", a.node.Name, a.node.Name)
			return nil
		}
		a.again = true
	case OpAnswer:
		if !a.kind.Judge || a.agent == nil && a.unanswered == nil {
			reply.Error = fmt.Sprintf("%s takes no answers", a.node.Name)
			return nil
		}
		if a.taken {
			reply.Error = fmt.Sprintf("%s is taken over by a person; cmux agents release %s first", a.node.Name, a.node.Name)
			return nil
		}
		if a.inPane {
			reply.Error = fmt.Sprintf("%s shows a dialog of its program, which can be answered in its pane alone: cmux agents attach %s", a.node.Name, a.node.Name)
			return nil
		}
		if a.answer != nil { // one that has not been read yet
			m.Text = *a.answer + "\n" + m.Text
		}
		a.answer = &m.Text
	case OpRelease:
		if !a.taken {
			reply.Error = fmt.Sprintf("%s is not taken over", a.node.Name)
			return nil
		}
		a.taken = false
		if a.activity == dag.TakenOver {
			return a.become(dag.Working, time.Time{}, "")
		}
	case OpDone, OpBlocked, OpAsk, OpOutput:
		if a.unanswered != nil {
			reply.Error = "the program of " + a.spec.Node + " has ended without a report, and a person decides what becomes of it"
			return nil
		}
		if m.Token == "" || m.Token != a.spec.Token {
			reply.Error = "this report does not come from the running attempt: its token is not " + a.spec.Node + "'s"
			return nil
		}
		a.sign()
		return a.report(&m, &reply)
	case OpHook:
		if m.Token == "" || m.Token != a.spec.Token {
			reply.Error = "this hook does not come from the running attempt: its token is not " + a.spec.Node + "'s"
			return nil
		}
		if a.unanswered != nil {
			return nil // what comes late changes nothing
		}
		a.sign()
		if !a.kind.Judge {
			_, err := agent.ParseEvent(m.Event, m.Payload)
			reply = refusal(err)
			return nil
		}
		if l, ok := a.agent.(agent.Listener); ok && a.inQuestion() && l.Asks(m.Event) {
			a.further = append(a.further, m.detach())
			return nil
		}
		events, r, err := a.hear(m.Event, m.Payload)
		if err != nil {
			reply = refusal(err)
			return nil
		}
		reply = r
		if slices.ContainsFunc(events, func(e agent.Event) bool { return e.What == agent.Concluded }) {
			a.concluded = m.gone
		}
		if i := slices.IndexFunc(events, func(e agent.Event) bool { return e.Hold }); i >= 0 && !(events[i].Background > 0 && a.questionOpen()) {
			a.openGate()
			held := m.detach()
			a.gate = &held
			a.asks = events[i].What == agent.Asked
		}
		return a.reactAll(events)
	default:
		reply.Error = fmt.Sprintf("unknown request %q", m.Op)
	}
	return nil
}

func refusal(err error) Reply {
	if err == nil {
		return Reply{}
	}
	return Reply{Error: err.Error()}
}

// hear reads what a hook says. One that comes before its agent stands is but a
// sign of life.
func (a *attempt) hear(event string, payload json.RawMessage) ([]agent.Event, Reply, error) {
	if h, ok := a.agent.(agent.Hooked); ok {
		events, r, err := h.Hook(event, payload)
		return events, Reply{HookReply: r}, err
	}
	e, err := agent.ParseEvent(event, payload)
	return []agent.Event{e}, Reply{}, err
}

// openGate answers the hook that waits with nothing: the turn ends, a question
// is left to the person in the pane.
func (a *attempt) openGate() {
	if a.gate != nil {
		a.gate.answer(Reply{})
		a.gate = nil
	}
}

// questionOpen reports whether a hook waits for the answer to a question that
// nobody has given in the pane.
func (a *attempt) questionOpen() bool {
	if a.gate == nil || !a.asks {
		return false
	}
	select {
	case <-a.gate.gone:
		return false
	default:
		return true
	}
}

func (a *attempt) reactAll(events []agent.Event) error {
	for _, e := range events {
		if err := a.react(e); err != nil {
			return err
		}
	}
	return nil
}

// react takes in what a hook said.
func (a *attempt) react(e agent.Event) error {
	a.shells.hear(e, time.Now())
	switch e.What {
	case agent.TurnEnded:
		a.stopBackground()
		a.falters, a.subagents = 0, e.Background
		if !a.taken {
			if err := a.accountWorks(); err != nil {
				return err
			}
		}
		// Background commands end with the agent once it has reported.
		if e.Background > 0 || e.Shells > 0 && a.done == nil {
			if !a.questionOpen() { // else it is a sub-agent's
				a.openGate()
			}
			a.background = time.NewTimer(a.limits.Settle)
			return nil
		}
		a.turnEnded = true
		if a.taken || a.activity == dag.NeedsInput || a.activity == dag.AtLimit {
			a.openGate()
		}
	case agent.Delegated:
		a.subagents = e.Background
	case agent.Stuck:
		if e.Own && a.taken {
			a.turnEnded = true // it is a person's, who sees it
		} else if a.talking {
			return &stuck{e.Text}
		}
	case agent.Converses:
		if e.Text != a.end.Conversation {
			if err := a.recordUse(); err != nil { // of the one before
				return err
			}
			a.end.Conversation = e.Text
			state := event.Began
			if e.Text == a.spec.Conversation {
				state = event.Resumed
			}
			a.stage.Keep(event.Event{Kind: event.Session, State: state, ID: e.Text})
			return a.record(run.Record{Type: run.Conversed, Conversation: e.Text})
		}
	case agent.Faltered:
		if a.taken {
			a.turnEnded = true // by failing
		} else {
			a.falter = &e
		}
	case agent.TookOver:
		a.stopBackground()
		a.openGate()
		a.hangUp("a person writes to you: do as they say")
		a.turnEnded, a.question, a.limit, a.falter = false, nil, nil, nil
		a.taken, a.spoke = true, a.spoke || e.Text != ""
		if a.delivering != nil {
			a.delivering()
		}
		if a.activity != dag.TakenOver {
			return a.become(dag.TakenOver, time.Time{}, "")
		}
	case agent.Prompted:
		if !e.Own && !a.isOwn(e.Text) {
			return a.react(agent.Event{What: agent.TookOver, Text: e.Text})
		}
		a.stopBackground()
		a.turnEnded, a.limit, a.falter = false, nil, nil
		if !a.questionOpen() { // else a sub-agent still waits for the answer
			a.question, a.wentOn = nil, true
		}
	case agent.Asked:
		if !e.Shown {
			a.stage.Show(event.Event{Kind: event.Question, Text: e.Text})
		}
		switch {
		case !a.taken && !a.overridden:
			a.question = &e
		case e.Hold:
			a.openGate()
		default:
			a.turnEnded = true
		}
	case agent.Hindered:
		if a.delivering != nil && a.activity == dag.Working {
			return a.become(dag.NeedsInput, time.Time{}, e.Text)
		}
	case agent.Limited:
		if a.taken || a.overridden {
			// It is a person's, who sees it; the account's limit is everybody's.
			a.turnEnded = true
			_, err := a.accountLimited(e)
			return err
		}
		a.limit = &e
	case agent.WentOn:
		a.openGate()
		a.turnEnded, a.question, a.limit, a.falter = false, nil, nil, nil
		a.wentOn = true
	case agent.Worked:
		a.falters = 0
		return a.accountWorks()
	case agent.Used:
		return a.uses(e.Used)
	}
	return nil
}

// isOwn reports whether a prompt is one that was delivered, for kinds that
// cannot tell (Event.Own). White space does not matter, and around a long text
// there may be more, such as the tags in which a program wraps what is pasted;
// a short one must be all of it, as a person may use the same words.
func (a *attempt) isOwn(prompt string) bool {
	const long = 40
	plain := func(s string) string { return strings.Join(strings.Fields(s), " ") }
	prompt = plain(prompt)
	for _, d := range a.delivered {
		if d = plain(d); d != "" && (prompt == d || len(d) >= long && strings.Contains(prompt, d)) {
			return true
		}
	}
	return false
}

func (a *attempt) stopBackground() {
	if a.background != nil {
		a.background.Stop()
		a.background = nil
	}
}

// become records what the attempt is doing and lets its clocks run or stand.
// A person at work is not timed out.
func (a *attempt) become(act dag.Activity, until time.Time, detail string) error {
	counts := act == dag.Working || act == dag.Checking
	a.budget.run(counts && !a.overridden)
	if act == dag.Working {
		a.armIdle()
	}
	if !a.told || act != a.activity || detail != "" {
		a.stage.Keep(event.Event{Kind: event.Status, State: act.String(), Text: detail, Until: until})
		a.told = true
	}
	if act == a.activity && act == dag.Working && detail == a.detail {
		return nil // Began says as much
	}
	a.activity, a.detail = act, detail
	rec := run.Record{Type: run.Active, Activity: act, Until: until, Detail: detail}
	if l := a.unanswered; l != nil && act == dag.NeedsInput {
		rec.How, rec.Code = run.HowLeft, l.Exit
	}
	return a.record(rec)
}

func (a *attempt) record(r run.Record) error {
	r.Node, r.Attempt, r.At = a.spec.Node, a.spec.Attempt, time.Now()
	return a.job.Record(r)
}

// note records something a person may want to see. A note that cannot be
// written is not worth the attempt.
func (a *attempt) note(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	a.say("%s", text)
	a.stage.Keep(event.Event{Kind: event.Note, Text: text})
	a.record(run.Record{Type: run.Noted, Detail: text})
}

// say prints a line of cmux's own into the log and the pane.
func (a *attempt) say(format string, args ...any) {
	text := strings.TrimRight(fmt.Sprintf(format, args...), "\n")
	fmt.Fprintf(a.out, "── cmux: %s\n", strings.ReplaceAll(text, "\n", "\n   "))
}

// sign notes a sign of life other than output.
func (a *attempt) sign() { a.lastSign = time.Now() }

func (a *attempt) armIdle() {
	d := time.Duration(a.node.IdleTimeout)
	if d <= 0 || a.overridden || a.agent == nil {
		return
	}
	a.stopIdle()
	a.lastSign = time.Now()
	a.idle = time.NewTimer(d)
}

func (a *attempt) stopIdle() {
	if a.idle != nil {
		a.idle.Stop()
		a.idle = nil
	}
}

// checkIdle looks, when the idle timer has fired, for the newest sign of life,
// and goes on waiting from there.
func (a *attempt) checkIdle() error {
	d := time.Duration(a.node.IdleTimeout)
	last := a.lastSign
	if w := a.out.lastWrite(); w.After(last) {
		last = w
	}
	// The search ends at the first newer file, so it is repeated from there.
	for time.Since(last) >= d && a.tree != nil {
		m := newest(a.ctx, a.spec.Place.Dir, last)
		if m.IsZero() {
			break
		}
		last = m
	}
	a.lastSign = last
	quiet := time.Since(last)
	if quiet >= d {
		return failed(dag.ReasonIdle, "no output, no event and no changed file for %s", d)
	}
	a.idle.Reset(d - quiet)
	return nil
}

// regain asks for the slot back that a pause gave up, and waits for it as long
// as there is a runner to grant it, or until the agent meets a limit.
func (a *attempt) regain() error {
	if a.overridden {
		return a.become(dag.Working, time.Time{}, "")
	}
	a.granted = false
	if err := a.record(run.Record{Type: run.Wants}); err != nil {
		return err
	}
	tick := time.NewTicker(a.limits.Retry)
	defer tick.Stop()
	var ended <-chan struct{} // nil: the agent has not been started
	if a.agent != nil {
		ended = a.agent.Ended()
	}
	for !a.granted && !a.overridden && a.limit == nil && a.runnerLives() {
		select {
		case <-a.ctx.Done():
			return a.interrupted()
		case m := <-a.job.Inbox:
			if err := a.handle(m); err != nil {
				return err
			}
		case f := <-a.calls:
			if err := f(); err != nil {
				return err
			}
		case <-ended:
			return nil
		case <-tick.C:
		}
	}
	if a.limit != nil {
		return nil // it pauses again
	}
	if !a.granted && !a.overridden {
		// Nobody is there to ask: it goes on, and says so in the runner's place.
		a.trial = true
		if err := a.record(run.Record{Type: run.Granted, Detail: "no runner"}); err != nil {
			return err
		}
	}
	if a.taken { // meanwhile
		return a.become(dag.TakenOver, time.Time{}, "")
	}
	return a.become(dag.Working, time.Time{}, "")
}

func (a *attempt) runnerLives() bool {
	_, held, err := signals.ReadHolder(run.LockPath(a.job.Run.Plan.Root))
	return err == nil && held
}
