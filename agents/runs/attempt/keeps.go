package attempt

import (
	"cmp"
	"fmt"
	"strings"

	"cmux/agents/kinds/agent"
	"cmux/agents/kinds/news"
	"cmux/agents/records/audit"
	"cmux/agents/records/event"
	"cmux/agents/runs/conversation"
	"cmux/agents/runs/prompt"
	"cmux/agents/runs/run"
	"cmux/dag"
	"cmux/signals/mailbox"
)

// Duties of a standing agent's hooks besides its work.

// passOn sends the agent's question to the sender of its task, because no person is at its
// pane.
func (a *attempt) passOn(e conversation.PassOn) conversation.What {
	to := a.orderer()
	first, _, _ := strings.Cut(e.Parts[0].Text, "\n")
	subject := mailbox.Question.Subject(audit.Cut(cmp.Or(strings.TrimSpace(first), "a question"), 100))
	body := e.String()
	if a.task != nil {
		body = "Task " + a.task.ID + ":\n" + body
	}
	command := "mailbox send"
	if to == "user" {
		command = "workers answer"
	}
	body += fmt.Sprintf("\n\nAnswer: cmux %s %s \"your answer\"", command, a.spec.Node)
	passed := conversation.Passed{PassOn: e, To: to}
	sent, err := a.sender.post(a.ctx, mailbox.Message{From: a.spec.Node, To: to, Subject: subject, Body: body})
	if err != nil {
		passed.Failure = err.Error()
		return passed
	}
	a.stage.Show(event.Event{Kind: event.Note, Text: fmt.Sprintf("its question went to %s as message %s", to, sent.ID)})
	passed.ID = sent.ID
	passed.Text = prompt.PassedOn(to, sent.ID)
	return passed
}

// recall reads which messages a resumed conversation already holds, so that they are not
// sent again.
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

// reads returns what the agent's conversation holds.
func (a *attempt) reads(e news.Read) error {
	for _, id := range a.recognizes(e) {
		if err := a.feed(conversation.Seen{ID: id}); err != nil {
			return err
		}
	}
	return nil
}

// looksKept checks, if it matters, whether the agent has saved its work of a turn that is
// about to end.
func (a *attempt) looksKept() error {
	if !a.State.Unkept() || !a.kept(a.ctx, a.State.Began) {
		return nil
	}
	return a.feed(conversation.Kept{})
}

// slip adds a message to the answer of the current hook.
func (a *attempt) slip(m conversation.Message) {
	kind, text := a.words(m)
	if beside(a, text) { // else sent again later, because nothing shows that it was read
		a.stage.Show(event.Event{Kind: kind, Text: text})
	}
}

// beside adds a text to the answer of the current hook, if that can hold one.
func beside(a *attempt, text string) bool {
	c, ok := a.agent.Agent.(agent.Carrier)
	if !ok || a.reply == nil || a.hooking == "" {
		return false
	}
	a.carried = append(a.carried, text)
	a.reply.HookReply = c.Carry(a.hooking, strings.Join(a.carried, "\n\n"))
	return true
}

// tellRefused records what the fence refused. The agent is told once how to go on, where the
// answer of its program's current hook can carry that.
func tellRefused(a *attempt) error {
	for _, path := range a.fenceEar.Take() {
		a.stage.Show(event.Event{Kind: event.Fenced, Text: path})
		if err := a.record(run.Record{Type: run.Fenced, Value: path, Key: a.fencing.opens(path, a.spec.Place.Tree)}); err != nil {
			return err
		}
		scope := a.inScope(path)
		if len(scope) > 0 && a.strayed == "" {
			a.strayed = fmt.Sprintf("%s, which is outside of its scope (%s)", path, strings.Join(scope, ", "))
		}
		if text := prompt.Fenced(path, scope, a.spec.Terms.Stays); !a.fencing.told && beside(a, text) {
			a.fencing.told = true
			a.stage.Show(event.Event{Kind: event.HandBack, Text: text})
		}
	}
	return nil
}

// strays makes an end say why the program failed, if the fence refused it a file outside of
// the node's scope: an exit code tells nobody.
func strays(a *attempt, e *run.End) {
	if a.strayed != "" && !a.kind.Judge && e.Outcome == dag.Failed && e.Reason == dag.ReasonExit && e.Detail == "" {
		e.Reason, e.Detail = dag.ReasonScope, prompt.Cut(fmt.Sprintf("exit %d, after the fence refused %s", e.Exit, a.strayed), maxDetail)
	}
}

// remind adds to the answer of the current hook what the agent must know now: its
// conversation was replaced by a summary, or is new.
func (a *attempt) remind() error {
	c, ok := a.agent.Agent.(agent.Carrier)
	if !ok || a.reply == nil || a.hooking == "" {
		return nil
	}
	m, err := a.memory(a.ctx, a.Got, a.back)
	if err != nil { // the program continues with what is known
		a.note("the reminder for the agent is incomplete: %v", err)
	}
	a.reply.HookReply = c.Carry(a.hooking, prompt.Reminded(m))
	return nil
}
