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

// A standing agent's attempt is one life of it: it goes on through any number of
// pieces of work, each judged as a node's is, and never has a verdict of its own.
// What belongs to a piece of work is put into the attempt when the agent is to
// be told of it, and taken out when it is over.

// staying is what the attempt of a standing agent has beside.
type staying struct {
	*reporter
	offers map[string]*run.Work // given, by id
	before dag.Usage            // used in this life when the newest piece of work was begun

	lastTask string      // that it was at before
	filled   run.Context // as recorded last

	known  map[string]bool      // ids of messages that its conversation holds
	handed map[string]time.Time // when its program was handed a piece of work last, by id
	again  bool                 // its work may have been told to it by a life before this
}

// confirm records that the agent has read a message or received its task.
func (a *staying) confirm(id string) error {
	if a.offers[id] != nil {
		return a.record(run.Record{Type: run.Told, Key: id})
	}
	return a.record(run.Record{Type: run.Confirmed, Key: id, At: time.Now()})
}

// recognizes are the ids of the messages, and of the task, that the agent was given
// with a text. A task may be given again: what was read before that does not count.
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

// fills takes in how much of its context window is in use. It is recorded by the
// percent, so that a long conversation makes few lines.
func (a *staying) fills(c run.Context) error {
	if c == a.filled {
		return nil
	}
	const unknown = 200_000 // a window, where its program does not say
	if was := a.filled; was.Window == c.Window && was.Share(unknown) == c.Share(unknown) {
		return nil
	}
	a.filled = c
	return a.record(run.Record{Type: run.Filled, Context: &c})
}

// transcriptLag is how far what the program writes down may be behind what it does.
const transcriptLag = 1500 * time.Millisecond

// lookBack are the ids of what the agent's conversation holds by now, of what it was
// handed and was not seen there.
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

// settleIn makes the attempt that of a standing agent, which may be at work
// since its life before this.
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
		err := a.record(run.Record{Type: run.WorkEnded, Key: w.ID, End: &f.End})
		delete(a.offers, w.ID)
		a.putDown()
		return err
	}
	return a.feed(conversation.Give{ID: w.ID, Text: w.Def.Name, At: !a.again})
}

// offer takes in a piece of work. It is begun when the agent is told of it.
func (a *attempt) offer(m *Message) error {
	w := m.Work
	if !a.stays() {
		return a.feed(conversation.Give{}) // which refuses it
	}
	if w == nil || w.ID == "" || w.Def == nil {
		a.reply.Error = "no piece of work"
		return nil
	}
	if a.Work == w.ID {
		return nil // said again, by one that did not hear the answer
	}
	if err := a.feed(conversation.Give{ID: w.ID, Text: w.Def.Name}); err != nil || a.reply.Error != "" {
		return err
	}
	a.offers[w.ID] = w
	return a.record(run.Record{Type: run.Given, Key: w.ID, Work: w})
}

// begin makes ready for a piece of work: from now on the attempt is judged by it.
func (a *attempt) begin(w *run.Work) error {
	a.take(w)
	a.before = a.meter.used
	a.end = run.End{Conversation: a.end.Conversation}
	a.beginVerdict()
	if err := a.prepare(); err != nil {
		return err
	}
	a.guardAnew()
	return nil
}

// guardAnew tells a running program's guard what the agent may do now.
func (a *attempt) guardAnew() {
	a.stage.Review = false // its program stays, and its next task may change files
	a.stage.Policy = a.policy(a.verdict.Scopes())
	if g, ok := a.agent.Agent.(agent.Guarded); ok {
		g.Guard(a.stage.Policy)
	}
}

// handWork begins the work that a message is about, and returns what the agent
// is told of it. What keeps it from beginning ends the work, and unfit is true.
func (a *attempt) handWork(d conversation.Deliver) (text string, unfit bool, err error) {
	w := a.offers[d.ID]
	if w == nil {
		return "", true, a.unfit(d, dag.ReasonSetup, "what it is to do is not known any more")
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

// unfit tells that the work cannot be begun. A hook that was to tell of it is
// answered with nothing.
func (a *attempt) unfit(d conversation.Deliver, reason dag.Reason, detail string) error {
	if d.Hook != 0 {
		a.callers.settle(d.Hook, Reply{})
	}
	if d.Call != 0 {
		a.callers.settle(d.Call, Reply{Error: detail})
	}
	return a.feed(conversation.Unfit{Reason: reason, Detail: detail})
}

// goesOn takes in what would end a node's attempt: a standing agent goes on, and
// its work has failed.
func (a *attempt) goesOn(err error) error {
	var f *verdict.Final
	if !a.stays() || !errors.As(err, &f) || f.Outcome != dag.Failed {
		return err
	}
	return a.feed(conversation.Unfit{Reason: f.Reason, Detail: cmp.Or(f.Detail, f.Error())})
}

// tally records how the piece of work ended.
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

// putDown is after a piece of work: the attempt is the agent's alone again.
func (a *attempt) putDown() {
	a.rest()
	a.end = run.End{Conversation: a.end.Conversation}
	a.beginVerdict()
	a.guardAnew()
}

// revive takes in that the program of a standing agent has ended: it is started
// again.
func (a *attempt) revive() error {
	exit := a.agent.Exit()
	if err := a.interrupted(); err != nil {
		return err
	}
	if err := a.recall(); err != nil {
		return err
	}
	words := a.endAgent(exit.Signal == 0 && (exit.Code != 0 || !a.Came))
	return a.feed(conversation.LeftBehind{Exit: exit.Code, Detail: withWords(exit.String(), words)})
}

// revival says that the program starts again for one that was lost, or cut off in the
// middle of a turn; empty: for none.
func revival(lost string, cut bool) string {
	switch {
	case cut:
		return strings.TrimSuffix("its program ended in the middle of a turn and starts again: "+lost, ": ")
	case lost != "":
		return run.Revival + lost
	}
	return ""
}

// standing is how the agent stands, for whoever hands it work and messages.
func (a *attempt) standing() *Standing {
	s := &Standing{Activity: a.progress.activity, Detail: a.progress.detail, Work: a.Work, Taken: a.Taken, Waiting: a.State.Waiting(), Waits: a.State.Waits(), Hinders: a.State.Hindrance()}
	if a.progress.activity == dag.AtLimit {
		s.Until = a.progress.until
	}
	return s
}
