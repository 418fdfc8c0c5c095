package attempt

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"cmux/agents/kinds/agent"
	"cmux/agents/kinds/handover"
	"cmux/agents/kinds/news"
	"cmux/agents/records/audit"
	"cmux/agents/records/event"
	"cmux/agents/records/journal"
	"cmux/agents/records/mail"
	"cmux/agents/runs/conversation"
	"cmux/agents/runs/prompt"
	"cmux/agents/runs/run"
	"cmux/signals"
	"cmux/signals/mailbox"
	"cmux/worktree"
)

// What hooks do for a standing agent beside its work.

// glancePatience bounds a look at the tree while the program waits for its hook.
const glancePatience = 5 * time.Second

// passOn sends a question of the agent's to whom it works for, as nobody is in
// front of it.
func (a *attempt) passOn(e conversation.PassOn) conversation.What {
	to := a.orderer()
	first, _, _ := strings.Cut(e.Parts[0].Text, "\n")
	subject := mailbox.Question.Subject(audit.Cut(cmp.Or(strings.TrimSpace(first), "a question"), 100))
	body := e.String()
	if a.task != nil {
		body = "Task " + a.task.ID + ":\n" + body
	}
	body += fmt.Sprintf("\n\nAnswer: cmux mailbox send %s \"your answer\"", a.spec.Node)
	passed := conversation.Passed{PassOn: e, To: to}
	sent, err := a.post(mailbox.Message{From: a.spec.Node, To: to, Subject: subject, Body: body})
	if err != nil {
		passed.Failure = err.Error()
		return passed
	}
	a.stage.Show(event.Event{Kind: event.Note, Text: fmt.Sprintf("its question went to %s as message %s", to, sent.ID)})
	passed.Text = prompt.PassedOn(to, sent.ID)
	return passed
}

// orderer is whom the agent asks: who ordered its task, else its supervisor, else
// the person.
func (a *attempt) orderer() string {
	if a.task != nil && a.task.By != "" && a.task.By != a.spec.Node {
		if at, err := mailbox.ParseAddress(a.task.By); err == nil && (at.Kind == mailbox.Agent || at.Kind == mailbox.User) {
			return a.task.By
		}
	}
	return cmp.Or(a.spec.Member.Supervisor, mailbox.Supervisor)
}

// tellBack answers a hook or a call with something for the agent.
func (a *attempt) tellBack(e conversation.Tellback) {
	m := a.callers.held[e.Ref]
	if m == nil {
		return // nobody waits any more
	}
	if l, ok := a.agent.Agent.(agent.Listener); ok && m.Op == OpHook {
		a.callers.settle(e.Ref, Reply{HookReply: l.HandBack(e.Text)})
		return
	}
	a.callers.settle(e.Ref, Reply{Text: e.Text})
}

// slip has the hook that is being answered carry a message.
func (a *attempt) slip(m conversation.Message) {
	c, ok := a.agent.Agent.(agent.Carrier)
	if !ok || a.reply == nil || a.hooking == "" {
		return // it is handed over again, as nothing shows that it was read
	}
	kind, text := a.words(m)
	a.carried = append(a.carried, text)
	a.reply.HookReply = c.Carry(a.hooking, strings.Join(a.carried, "\n\n"))
	a.stage.Show(event.Event{Kind: kind, Text: text})
}

// transcriptLag is how far what the program writes down may be behind what it does.
const transcriptLag = 1500 * time.Millisecond

// lookBack are the ids of what the agent's conversation holds by now, of what it was
// handed and was not seen there.
func (a *attempt) lookBack() (ids []string) {
	r := a.agent.recaller()
	if r == nil {
		return nil
	}
	awaited := map[string]bool{}
	for _, m := range a.Unseen {
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
	ctx, cancel := context.WithTimeout(context.WithoutCancel(a.ctx), transcriptLag)
	defer cancel()
	w := signals.Watch(ctx, slices.DeleteFunc([]string{r.Written()}, func(file string) bool { return file == "" })...)
	defer w.Close()
	for {
		select {
		case <-w.C:
			if ctx.Err() == nil && !look() {
				continue
			}
		case <-a.agent.Ended():
		case <-ctx.Done():
		}
		look() // what was written last
		return ids
	}
}

// recognizes are the ids of the messages, and of the task, that the agent was given
// with a text. A task may be given again: what was read before that does not count.
func (a *attempt) recognizes(e news.Read) (ids []string) {
	for _, id := range mail.Seen(e.Text) {
		a.known[id] = true
		ids = append(ids, id)
	}
	if id := handover.TaskTold(e.Text); id != "" && !a.handed[id].IsZero() && !e.At.Before(a.handed[id].Truncate(time.Millisecond)) {
		ids = append(ids, id)
	}
	return ids
}

// recall takes in what the conversation of a program holds that goes on in it: it
// need not be told that again.
func (a *attempt) recall() error {
	r := a.agent.recaller()
	if r == nil {
		return nil
	}
	for _, e := range r.Recall() {
		if err := a.reads(e); err != nil {
			return err
		}
	}
	return nil
}

// reads takes in what the agent's conversation holds.
func (a *attempt) reads(e news.Read) error {
	for _, id := range a.recognizes(e) {
		if err := a.feed(conversation.Seen{ID: id}); err != nil {
			return err
		}
	}
	return nil
}

// looksKept finds out whether the agent has kept what it did in a turn that is
// about to end, where that matters.
func (a *attempt) looksKept() error {
	if !a.State.Unkept() || !a.kept(a.State.Began) {
		return nil
	}
	return a.feed(conversation.Kept{})
}

// kept reports whether the agent has committed or written something into the
// journal since a moment. What cannot be looked at counts: nobody is held up for
// that.
func (a *attempt) kept(since time.Time) bool {
	since = since.Truncate(time.Second)
	ctx, cancel := context.WithTimeout(a.ctx, glancePatience)
	defer cancel()
	at, err := worktree.CommittedAt(ctx, a.stage.Dir)
	if err != nil && !errors.Is(err, worktree.ErrNotRepository) || !at.Before(since) {
		return true
	}
	j := &journal.Journal{Root: a.spec.Frame.Root, Now: time.Now}
	for _, day := range slices.Compact([]string{journal.Day(since), j.Today()}) {
		page, err := j.Show(day)
		if err != nil {
			return true
		}
		if slices.ContainsFunc(page.Entries, func(e journal.Entry) bool { return e.By == a.spec.Node && !e.At.Before(since) }) {
			return true
		}
		if info, err := os.Lstat(j.ReflectionFile(day)); err == nil && !info.ModTime().Before(since) {
			return true
		}
	}
	return false
}

// audits writes the tool calls of a standing agent into the audit log: of each
// what was asked for and what came of it.
func (a *attempt) audits() func(event.Event) {
	log := &audit.Log{Root: a.spec.Frame.Root, Now: time.Now}
	session, env, calls := a.spec.Def.Env["CMUX_SESSION"], a.stage.Env, map[string]event.Event{}
	name, failed := a.spec.Node, false
	env = append(slices.Clip(env), "CMUX_TOKEN="+a.spec.Token)
	return func(e event.Event) {
		var call event.Event
		switch e.Kind {
		case event.ToolUse:
			if e.ToolID != "" {
				calls[e.ToolID] = e
				return
			}
			call, e = e, event.Event{}
		case event.ToolResult:
			call = calls[e.ToolID]
			delete(calls, e.ToolID)
		case event.Denied:
			call = e
			delete(calls, e.ToolID) // its result is only the refusal
		default:
			return
		}
		if call.Tool == "" {
			return // the result of one that was refused, or of another life's
		}
		line := audit.Line{Agent: name, Session: session, Tool: call.Tool, Input: run.Masked(env, event.About(call.Input))}
		if e.Kind == event.Denied {
			line.Denied = run.Masked(env, e.Text)
		} else {
			line.Result, line.Failed = run.Masked(env, e.Text), e.Failed
		}
		if err := log.Append(context.Background(), line); err != nil && !failed {
			failed = true
			fmt.Fprintf(a.stage.Out, "── cmux: %v\n", err) // an event would come back here
		} else if err == nil {
			failed = false
		}
	}
}
