package attempt

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"cmux/agents/kinds/agent"
	"cmux/agents/platform/proc"
	"cmux/agents/records/event"
	"cmux/agents/records/unfinished"
	"cmux/agents/runs/attempt/output"
	"cmux/agents/runs/attempt/verdict"
	"cmux/agents/runs/conversation"
	"cmux/agents/runs/prompt"
	"cmux/agents/runs/run"
	"cmux/dag"
)

// attempt is the state of one Run. Only the goroutine of Run touches it.
type attempt struct {
	job *Job
	assignment
	limits Limits
	out    *output.Output
	// persisting are the goroutines that make the tree survive a power cut.
	persisting sync.WaitGroup
	verdict    verdict.Verdict

	loop
	*reporter
	progress   progress
	meter      meter
	account    account
	compaction compaction

	talk
	staying

	shells shells

	sender sender
	end    run.End

	fencing fencing
	outside outside
}

// Run carries out the attempt. The error is ErrInterrupted or ErrStopped if ctx ended or a
// stop came; any other error means that cmux itself failed (a record that cannot be
// written) and that the attempt has no end either.
func Run(ctx context.Context, job Job) (run.End, error) {
	a := &attempt{loop: loop{ctx: ctx, calls: make(chan func() error)}, job: &job, limits: job.Limits.withDefaults()}
	a.assignment = assignment{kind: job.Kinds[job.Spec.Def.Agent], paths: job.Paths, spec: job.Spec, node: job.Spec.Def}
	a.outside = outside{rights: job.Spec.Terms.Rights, binary: job.Paths.Binary(), root: job.Spec.Frame.Root}
	a.outside.ctx, a.outside.end = context.WithCancel(ctx)
	a.open()
	defer a.clocks.stop()
	end, err := a.run()
	a.persisting.Wait()
	a.callers.refuse(job.Inbox)
	a.outside.close()
	return end, err
}

func (a *attempt) run() (run.End, error) {
	a.progress.budget = newStopwatch(time.Duration(a.node.Timeout))
	if a.spec.Terms.Stays { // Began says of it that its program starts, and of a node that it works
		a.progress.activity = dag.SettingUp
	}
	live := a.job.Live
	if live == nil && a.job.Terminal != nil {
		live = a.job.Terminal.Out
	}
	a.out = output.New(live)
	var (
		env []string
		log *output.Log
	)
	err := a.patiently(func() (err error) {
		if a.cramped() {
			return run.ErrCramped // whatever begins now fails, and costs a try
		}
		if env, err = environ(a.job); err != nil {
			return err
		}
		log = output.NewLog(a.paths.Log(a.node.Name), Header(a.node.Name, a.spec.Attempt, time.Now()), a.limits.LogHead, a.limits.LogTail)
		if a.kind.Judge {
			err = log.Open() // a merge prints much
		}
		return err
	})
	var f *verdict.Final
	if errors.As(err, &f) { // cancelled while there was no space
		return f.End, nil
	}
	if err != nil {
		return run.End{}, err
	}
	a.out.To(log)
	a.stage = &agent.Stage{
		Name: a.node.Name, Kind: a.node.Agent, Dir: a.spec.WorkDir(), Root: a.spec.Place.Dir, Tree: a.spec.Place.Tree, Env: env,
		Task: a.node.Task, Resumption: prompt.Resumed, Command: a.node.Command, Model: a.node.Model, AutoAccept: a.node.AutoAccept,
		Automatic: a.spec.Terms.Automatic,
		Review:    a.node.Role == dag.RoleReview, Verdict: time.Duration(len(a.node.Verify)) * time.Duration(a.node.VerifyTimeout),
		Binary: a.paths.Binary(), Files: agent.Files{Dir: a.paths.NodeDir(a.node.Name), N: a.spec.Attempt},
		Terminal: a.job.Terminal, Out: a.out, Tell: a.tell, MayType: a.mayType,
		Lines: new(event.Printer), Spawner: a.job.Spawner, Mark: Mark(a.job), Drain: a.limits.Drain,
	}
	if a.spec.Terms.Replies {
		a.stage.Unfinished = unfinished.New(a.spec.Frame.Root, a.node.Name)
		defer a.stage.Unfinished.Close()
	}
	a.reporter = &reporter{name: a.spec.Node, attempt: a.spec.Attempt, append: a.job.Record, out: a.out, events: a.stage}
	a.progress.reporter, a.meter.reporter, a.meter.pace = a.reporter, a.reporter, a.limits.Note
	a.staying.reporter = a.reporter
	a.sender = sender{home: a.job.Home, env: env}
	a.compaction = compaction{reporter: a.reporter, standing: a.spec.Terms.Stays, keep: a.keepState, conversation: func() string { return a.end.Conversation }}
	a.account = account{reporter: a.reporter, name: a.node.Account, home: a.job.Home, limits: a.limits}
	a.beginVerdict()
	if a.spec.Said != "" && !a.spec.Terms.Stays {
		a.stage.Resumption, a.stage.Again = prompt.SentBack(a.spec.Said), true
	}
	if err := a.patiently(a.openEvents); errors.As(err, &f) {
		return f.End, log.Close()
	} else if err != nil {
		return run.End{}, errors.Join(err, log.Close())
	}
	defer a.progress.stand()
	defer a.meter.stop()
	return a.conclude(a.carryOut())
}

// conclude ends the rest of the agent and returns the attempt's end, depending on how its
// work ended.
func (a *attempt) conclude(err error) (run.End, error) {
	a.endAgent(false)
	if e := tellRefused(a); e != nil && err == nil {
		err = e
	}
	down := a.fencing.down(a.ctx, a.job.Spawner, a.stage.Mark, a.limits.Grace, a.job.Socket != "", a.note)
	if down == nil {
		a.ctx = a.verdict.Rejoined(a.ctx)
	} else if err == nil {
		err = verdict.Failed(dag.ReasonSetup, "%v", down)
	} else {
		a.note("%v", down)
	}
	var f *verdict.Final
	if errors.As(err, &f) {
		err = a.believe(f)
	}
	if err == nil && !a.kind.Judge && !a.Overridden {
		err = a.interrupted() // an exit code of 0 may be how it took the same signal
	}
	if said := a.Unread(); said != "" { // it ended, and not by its conversation
		a.note("the agent may not have read: %s", said)
	}
	a.end.Used = a.meter.used
	switch {
	case err == nil:
		a.end.Outcome = dag.Done
	case errors.As(err, &f):
		a.end.Outcome, a.end.Reason, a.end.Detail = f.Outcome, f.Reason, f.Detail
		if f.Exit != 0 {
			a.end.Exit = f.Exit
		}
		strays(a, &a.end)
	default:
		a.out.Say("%v", err)
		used := a.meter.flush()
		a.reporter.close(nil, err)
		return run.End{}, errors.Join(err, used, a.out.Close())
	}
	// Where a person has decided, this end gets no marker either.
	a.end.Retry = a.Overridden || a.node.WillRetry(a.end.Outcome, a.end.Reason, a.spec.Tries)
	a.verdict.Survey(a.ctx, &a.end)
	if a.end.Outcome == dag.Failed {
		if a.end.Detail != "" {
			a.out.Say("%s", a.end.Detail)
		} else {
			a.out.Say("exit %d", a.end.Exit)
		}
	}
	a.reporter.close(&a.end, nil)
	if err := a.out.Close(); err != nil {
		a.note("the log is incomplete: %v", err)
	}
	return a.end, nil
}

// carryOut runs the attempt from its start to its verdict; nil means done.
func (a *attempt) carryOut() error {
	if err := a.endLeftovers(); err != nil {
		return err
	}
	if a.spec.Terms.Stays {
		if err := a.patiently(func() error {
			ctx, err := a.fencing.lifelong(a.ctx, a.spec, a.paths, a.stage, &a.fenceEar, a.note)
			a.ctx = ctx
			return err
		}); err != nil {
			return err
		}
		a.outside.env = a.fencing.outside
		if err := recallReply(a); err != nil {
			return err
		}
		if err := a.settleIn(); err != nil {
			return err
		}
		return a.converse(conversation.Begin{})
	}
	if err := setUp(a, func() error {
		ctx, err := a.fencing.up(a.ctx, a.spec, a.paths, a.stage, &a.fenceEar, a.note)
		if err == nil {
			a.ctx = ctx
		}
		return err
	}); err != nil {
		return err
	}
	if err := a.prepare(); err != nil {
		return err
	}
	if a.node.Role == dag.RoleMerge {
		if err := a.verdict.Merge(); err != nil {
			return err
		}
		if a.mergesAlone() {
			return a.complete()
		}
	}
	if _, err := a.spec.FindWorkDir(); err != nil {
		return verdict.Failed(dag.ReasonSetup, "%v", err)
	}
	if a.kind.New == nil {
		return verdict.Failed(dag.ReasonSetup, "agent kind %q is not known to this binary", a.node.Agent)
	}
	if err := a.affordable(); err != nil {
		return err // of earlier attempts
	}
	var first conversation.What = conversation.Begin{}
	if l := a.spec.Left; l != nil && a.kind.Judge {
		a.end.Conversation = a.spec.Conversation
		first = conversation.LeftBehind{Exit: l.Exit, Detail: l.Detail}
	}
	if err := a.converse(first); err != nil {
		return err
	}
	if a.Overridden {
		return nil
	}
	return a.complete()
}

// complete runs the on_complete steps. It first ends the agent with all its processes: git
// reads its settings during a push, and nobody may change them.
func (a *attempt) complete() error {
	if a.Overridden || len(a.node.OnComplete) == 0 {
		return nil
	}
	a.endAgent(false)
	if a.job.Socket != "" { // else this process also adopts the orphans of other attempts
		left, err := a.job.Spawner.EndOrphans(context.WithoutCancel(a.ctx), a.limits.Grace)
		if len(left) > 0 {
			a.note("ended what was left running in the background: %s", proc.Names(left))
		}
		if err != nil {
			return verdict.Failed(dag.ReasonOnComplete, "processes of the attempt could not be ended: %v", err)
		}
	}
	if err := a.fencing.rejoin(a.ctx, a.note); err != nil {
		return verdict.Failed(dag.ReasonOnComplete, "%v", err)
	}
	a.ctx = a.verdict.Rejoined(a.ctx)
	return a.verdict.OnComplete(a.end.Summary)
}

// affordable compares the node's usage with its budget.
func (a *attempt) affordable() error {
	used, budget := a.spec.Used.Plus(a.meter.used), a.node.Budget
	if !budget.Exceeded(used) {
		return nil
	}
	return a.feed(conversation.Overspent{Text: (&run.BudgetError{Node: a.node.Name, Used: used.Counted(), Budget: budget.Tokens}).Error()})
}

// endLeftovers ends processes that an earlier attempt left when its wrapper was killed. It
// skips the scan for the first attempt.
func (a *attempt) endLeftovers() error {
	if a.spec.Attempt <= 1 {
		return nil
	}
	marks := make([]proc.Mark, 0, a.spec.Attempt-1)
	for n := 1; n < a.spec.Attempt; n++ {
		marks = append(marks, proc.Attempt(a.spec.Frame.Run, a.spec.Node, n))
	}
	ended, err := proc.End(a.ctx, a.limits.Grace, marks...)
	if len(ended) > 0 {
		a.note("ended what an earlier attempt left running: %s", proc.Names(ended))
	}
	if err != nil {
		return verdict.Failed(dag.ReasonSetup, "processes of an earlier attempt could not be ended: %v", err)
	}
	return a.interrupted()
}

// Header returns the line that begins an attempt in a node's log.
func Header(node string, attempt int, at time.Time) string {
	return fmt.Sprintf("── %s: attempt %d, %s ──\n", node, attempt, at.Format("2006-01-02 15:04:05"))
}
