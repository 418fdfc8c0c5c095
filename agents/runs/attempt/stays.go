package attempt

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"cmux/agents/kinds/agent"
	"cmux/agents/kinds/handover"
	"cmux/agents/kinds/news"
	"cmux/agents/records/event"
	"cmux/agents/records/mail"
	"cmux/agents/runs/attempt/verdict"
	"cmux/agents/runs/conversation"
	"cmux/agents/runs/prompt"
	"cmux/agents/runs/run"
	"cmux/dag"
	"cmux/signals"
)

// A standing agent's attempt is one life: it works on any number of tasks, each judged like
// a node, and has no verdict of its own. The values of a task are put into the attempt when
// the agent is about to get it, and removed when it is over.

// staying is the additional state of a standing agent's attempt.
type staying struct {
	*reporter
	offers map[string]*run.Work // tasks given, by id
	before dag.Usage            // used in this life when the newest task began

	lastTask string      // the previous task
	filled   run.Context // as last recorded

	recalled conversation.Recalled // the turn that was over when the program started

	known  map[string]bool      // ids of messages in its conversation
	handed map[string]time.Time // when its program last got a task, by id
	again  bool                 // an earlier life may have got its task
}

// confirm records that the agent has read a message or received its task.
func (a *staying) confirm(id string) error {
	if a.offers[id] != nil {
		return a.record(run.Record{Type: run.Told, Key: id})
	}
	return a.record(run.Record{Type: run.Confirmed, Key: id, At: time.Now()})
}

// recognizes returns the ids of the messages, and of the task, in a text for the agent. A
// task may be given again: an earlier reading does not count.
func (a *staying) recognizes(e news.Read) (ids []string) {
	for _, id := range mail.Seen(e.Text) {
		a.known[id] = true
		ids = append(ids, id)
	}
	if id := handover.TaskTold(e.Text); id != "" && !a.handed[id].IsZero() && !e.At.Before(a.handed[id].Truncate(time.Millisecond)) {
		ids = append(ids, id)
	}
	return ids
}

// fills records how much of the context window is used, in whole percent, so that a long
// conversation makes few records.
func (a *staying) fills(c run.Context) error {
	if c == a.filled {
		return nil
	}
	const unknown = 200_000 // window size if the program does not report it
	if was := a.filled; was.Window == c.Window && was.Share(unknown) == c.Share(unknown) {
		return nil
	}
	a.filled = c
	return a.record(run.Record{Type: run.Filled, Context: &c})
}

// transcriptLag is how far the program's transcript may lag behind.
const transcriptLag = 1500 * time.Millisecond

// lookBack returns the ids in the agent's conversation that were delivered but not seen
// there before.
func (a *staying) lookBack(ctx context.Context, p program, unseen []conversation.Message) (ids []string) {
	r := p.recaller()
	if r == nil {
		return nil
	}
	awaited := map[string]bool{}
	for _, m := range unseen {
		awaited[m.ID] = true
	}
	look := func() (all bool) {
		for _, e := range r.Recall() {
			for _, id := range a.recognizes(e) {
				if awaited[id] {
					delete(awaited, id)
					ids = append(ids, id)
				}
			}
		}
		return len(awaited) == 0
	}
	if look() {
		return ids
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), transcriptLag)
	defer cancel()
	w := signals.Watch(ctx, slices.DeleteFunc([]string{r.Written()}, func(file string) bool { return file == "" })...)
	defer w.Close()
	for {
		select {
		case <-w.C:
			if ctx.Err() == nil && !look() {
				continue
			}
		case <-p.Ended():
		case <-ctx.Done():
		}
		look() // what was written last
		return ids
	}
}

// settleIn sets up the attempt of a standing agent, which may have a task from an earlier
// life.
func (a *attempt) settleIn() error {
	a.base, a.place = a.node, a.spec.Place
	a.offers = make(map[string]*run.Work)
	w := a.spec.Work
	if w == nil {
		return nil
	}
	a.offers[w.ID], a.again = w, !a.spec.Told
	if err := a.begin(w); err != nil {
		var f *verdict.Final
		if !errors.As(err, &f) || f.Outcome == dag.Cancelled {
			return err
		}
		err := errors.Join(layDown(a), a.record(run.Record{Type: run.WorkEnded, Key: w.ID, End: &f.End}))
		delete(a.offers, w.ID)
		a.putDown()
		return err
	}
	return a.feed(conversation.Give{ID: w.ID, Text: w.Def.Name, At: !a.again})
}

// offer takes a task. It begins when the agent gets it.
func (a *attempt) offer(m *Message) error {
	w := m.Work
	if !a.spec.Terms.Stays {
		return a.feed(conversation.Give{}) // the conversation refuses it
	}
	if w == nil || w.ID == "" || w.Def == nil {
		a.reply.Error = "no piece of work"
		return nil
	}
	if a.Work == w.ID {
		return nil // repeated by a sender that did not get the answer
	}
	if err := a.feed(conversation.Give{ID: w.ID, Text: w.Def.Name}); err != nil || a.reply.Error != "" {
		return err
	}
	a.offers[w.ID] = w
	return a.record(run.Record{Type: run.Given, Key: w.ID, Work: w})
}

// begin prepares a task: from now on the attempt is judged by it.
func (a *attempt) begin(w *run.Work) error {
	a.take(w)
	a.before = a.meter.used
	a.end = run.End{Conversation: a.end.Conversation}
	a.beginVerdict()
	if err := setUp(a, func() error {
		ctx, err := a.fencing.workBegins(a.ctx)
		a.ctx = ctx
		return err
	}); err != nil {
		return err
	}
	if err := a.prepare(); err != nil {
		return err
	}
	a.guardAnew()
	return nil
}

// guardAnew updates the guard of a running program to what the agent may do now.
func (a *attempt) guardAnew() {
	a.stage.Review = a.base.Role == dag.RoleReview // else its program stays, and its next task may change files
	a.stage.Policy = a.policy(a.verdict.Scopes())
	if g, ok := a.agent.Agent.(agent.Guarded); ok {
		g.Guard(a.stage.Policy)
	}
}

// handWork begins the task of a message and returns its text for the agent. An obstacle
// ends the task, and unfit is true.
func (a *attempt) handWork(d conversation.Deliver) (text string, unfit bool, err error) {
	w := a.offers[d.ID]
	if w == nil {
		return "", true, a.unfit(d, dag.ReasonSetup, "the text of the task is lost")
	}
	err = nil
	if a.task != w {
		err = a.begin(w)
	}
	if err == nil {
		text, err = a.workText()
	}
	if err == nil && (a.again || !a.handed[w.ID].IsZero()) {
		text += "\n\n" + prompt.ToldAgain
	}
	a.handed[w.ID] = time.Now()
	var f *verdict.Final
	switch {
	case err == nil:
		return text, false, nil
	case errors.As(err, &f) && f.Outcome == dag.Failed:
		return "", true, a.unfit(d, f.Reason, f.Detail)
	case errors.As(err, &f), errors.Is(err, ErrInterrupted):
		return "", true, err
	}
	return "", true, a.unfit(d, dag.ReasonSetup, err.Error())
}

// unfit reports that the task cannot begin. A hook that should deliver it gets an empty
// answer.
func (a *attempt) unfit(d conversation.Deliver, reason dag.Reason, detail string) error {
	if d.Hook != 0 {
		a.callers.settle(d.Hook, Reply{})
	}
	if d.Call != 0 {
		a.callers.settle(d.Call, Reply{Error: detail})
	}
	return a.feed(conversation.Unfit{Reason: reason, Detail: detail})
}

// goesOn handles an error that would end a node's attempt: the task has failed, and the
// standing agent continues.
func (a *attempt) goesOn(err error) error {
	var f *verdict.Final
	if !a.spec.Terms.Stays || !errors.As(err, &f) || f.Outcome != dag.Failed {
		return err
	}
	return a.feed(conversation.Unfit{Reason: f.Reason, Detail: cmp.Or(f.Detail, f.Error())})
}

// tally records how the task ended.
func (a *attempt) tally(e conversation.WorkOver) error {
	end := &a.end
	end.Reason, end.Detail, end.Summary = e.Reason, prompt.Cut(e.Detail, maxDetail), prompt.Cut(e.Summary, maxDetail)
	switch e.End {
	case conversation.Finished:
		end.Outcome = dag.Done
	case conversation.Cancelled:
		end.Outcome = dag.Cancelled
	default:
		end.Outcome = dag.Failed
		if e.End == conversation.Faulty {
			end.Exit = 1
		}
	}
	if err := layDown(a); err != nil {
		end.Outcome, end.Reason, end.Detail = dag.Failed, dag.ReasonSetup, prompt.Cut(err.Error(), maxDetail)
	}
	if a.task != nil && a.task.ID == e.ID {
		a.verdict.Survey(a.ctx, &a.end)
		if d := a.Drop; e.End == conversation.Cancelled && d != nil && !d.Kept {
			if err := a.leaveBranch(a.ctx); err != nil {
				a.note("its worktree stays on the branch %s of the cancelled task: %v", a.spec.Place.Branch, err)
			}
		}
	}
	of := *end
	of.Conversation, of.Used = a.end.Conversation, a.meter.used.Beyond(a.before)
	a.stage.Show(event.Event{Kind: event.Note, Text: fmt.Sprintf("task %s: %s", e.ID, of.Label())})
	if err := a.record(run.Record{Type: run.WorkEnded, Key: e.ID, End: &of}); err != nil {
		return err
	}
	delete(a.offers, e.ID)
	delete(a.handed, e.ID)
	a.lastTask, a.again = e.ID, false
	a.putDown()
	return a.feed(conversation.Tallied{})
}

// putDown ends a task: the attempt is the agent's alone again.
func (a *attempt) putDown() {
	a.rest()
	a.end = run.End{Conversation: a.end.Conversation}
	a.beginVerdict()
	a.guardAnew()
}

// revive restarts the program of a standing agent after it has ended.
func (a *attempt) revive() error {
	exit := a.agent.Exit()
	if err := a.interrupted(); err != nil {
		return err
	}
	if err := a.recall(); err != nil {
		return err
	}
	if err := recallReply(a); err != nil {
		return err
	}
	words := a.endAgent(exit.Signal == 0 && (exit.Code != 0 || !a.Came))
	return a.feed(conversation.LeftBehind{Exit: exit.Code, Detail: withWords(exit.String(), words)})
}

// revival returns the notice that the agent's program starts again, after the last one was
// lost or was stopped in the middle of a turn. After any other end it returns "".
func revival(lost string, l conversation.Launch) string {
	switch {
	case l.Cut && lost == "" && !l.Again:
		return "it was stopped in the middle of a turn and starts again"
	case l.Cut:
		return strings.TrimSuffix("its program ended in the middle of a turn and starts again: "+lost, ": ")
	case lost != "":
		return run.Revival + lost
	}
	return ""
}

// layDown makes the worktree of a standing agent one of the shared repository again, if it
// is not.
func layDown(a *attempt) error {
	if f := &a.fencing; f.worktree == nil || !f.worktree.Works() {
		return nil
	}
	if err := a.fencing.workEnds(a.ctx, a.note); err != nil {
		return err
	}
	a.ctx = a.fencing.atRest(a.verdict.Rejoined(a.ctx))
	return nil
}

// standing is how the agent stands, for whoever hands it work and messages.
func (a *attempt) standing() *Standing {
	if a.task == nil && a.Work == "" {
		if err := layDown(a); err != nil { // it could not be at the end of the task, as on a full disk
			a.note("%v", err)
		}
	}
	s := &Standing{Activity: a.progress.activity, Detail: a.progress.detail, Work: a.Work, Taken: a.Taken, Waiting: a.State.Waiting(), Waits: a.State.Waits(), Hinders: a.State.Hindrance()}
	if a.progress.activity == dag.AtLimit {
		s.Until = a.progress.until
	}
	return s
}
