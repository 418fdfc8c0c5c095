package attempt

import (
	"context"
	"slices"
	"strings"
	"time"

	"cmux/agents/kinds/agent"
	"cmux/agents/kinds/question"
	"cmux/agents/records/event"
	"cmux/agents/records/mail"
	"cmux/agents/runs/attempt/verdict"
	"cmux/agents/runs/conversation"
	"cmux/agents/runs/prompt"
	"cmux/agents/runs/run"
	"cmux/dag"
	"cmux/signals/mailbox"
)

// talk drives the conversation with the agent: conversation.Step decides, and talk
// carries out its effects.
type talk struct {
	conversation.State
	agent     program
	next      conversation.Effect // the slow effect to carry out next; nil: none
	clocks    clocks
	callers   callers
	reply     *Reply              // reply to the current message; nil: none
	delivered []string            // texts delivered to the agent
	began     bool                // a turn has begun with the last of them
	back      string              // the one with which its last report was handed back
	giveUp    context.CancelFunc  // cancels the current delivery
	goAhead   bool                // a key may be pressed for the current delivery
	probe     *time.Ticker        // for a runner that may grant a slot
	hooking   string              // name of the hook being answered
	carried   []string            // texts for the agent in its answer
	launched  conversation.Launch // the launch of the program
	refused   string              // conversation in which the program does not continue
}

// exited is closed when the agent's program has ended and the conversation does not know
// yet.
func (t *talk) exited() <-chan struct{} {
	if t.agent.Agent == nil || t.Ended {
		return nil
	}
	return t.agent.Ended()
}

// words returns the text of a message.
func (t *talk) words(m conversation.Message) (event.Kind, string) {
	said := m.Text
	if m.Of != nil {
		said = reply(m.Of, said)
	}
	switch m.Why {
	case conversation.ByPerson:
		return event.Answer, said
	case conversation.WasUnread:
		return event.Answer, prompt.Unread(said)
	case conversation.NoReport:
		return event.HandBack, prompt.NoReport(max(t.SentBack, 1), conversation.MaxSentBack)
	case conversation.LimitOver:
		return event.HandBack, prompt.LimitOver
	case conversation.CallFailed:
		return event.HandBack, prompt.CallFailed
	case conversation.NoWork:
		return event.HandBack, prompt.TakenBack(m.Text)
	case conversation.Unkept:
		return event.HandBack, prompt.Unkept
	}
	return event.HandBack, m.Text
}

// reply is the answer of a person to a question that the agent put by a message, as
// it reads messages: with who answers, and to which question.
func reply(p *question.Posed, said string) string {
	lines := strings.Split(strings.TrimSpace(said), "\n")
	for i, part := range p.Parts {
		if len(lines) != len(p.Parts) {
			break // one answer to all of them
		}
		lines[i] = question.Option(lines[i], part.Options)
		if len(p.Parts) > 1 {
			lines[i] = part.Text + ": " + lines[i]
		}
	}
	subject, _, _ := strings.Cut(strings.TrimSpace(p.Parts[0].Text), "\n")
	return mail.Text("", &mailbox.Line{Message: mailbox.Message{From: "user", Subject: "re: " + subject, Re: p.Message, Body: strings.Join(lines, "\n")}, Verified: true})
}

// broken is how a conversation ended that did not end well.
func (t *talk) broken(c conversation.Close) error {
	switch c.End {
	case conversation.Failed:
		return verdict.Failed(c.Reason, "%s", prompt.Cut(c.Detail, maxDetail))
	case conversation.Faulty:
		return &verdict.Final{End: run.End{Outcome: dag.Failed, Exit: 1, Detail: c.Detail}}
	case conversation.Cancelled:
		return &verdict.Final{End: run.End{Outcome: dag.Cancelled}}
	case conversation.Stopped:
		return ErrStopped
	case conversation.Broken:
		return ErrInterrupted
	}
	return nil
}

// isOwn reports whether a prompt is one that cmux delivered, for kinds that cannot tell
// (news.Prompted.Own).
func (t *talk) isOwn(prompt string) bool {
	return slices.ContainsFunc(t.delivered, func(text string) bool { return isText(prompt, text) })
}

// isText reports whether a prompt is a text that was delivered. White space does not
// matter. A long text may have more around it, such as the tags in which a program wraps
// pasted text; a short one must match whole, because a person may use the same words.
func isText(prompt, text string) bool {
	const long = 40
	plain := func(s string) string { return strings.Join(strings.Fields(s), " ") }
	prompt, text = plain(prompt), plain(text)
	return text != "" && (prompt == text || len(text) >= long && strings.Contains(prompt, text))
}

// tellBack answers a hook or a call with something for the agent.
func (t *talk) tellBack(e conversation.Tellback) {
	m := t.callers.waiting(e.Ref)
	if m == nil {
		return // the caller no longer waits
	}
	if l, ok := t.agent.Agent.(agent.Listener); ok && m.Op == OpHook {
		t.callers.settle(e.Ref, Reply{HookReply: l.HandBack(e.Text)})
		return
	}
	t.callers.settle(e.Ref, Reply{Text: e.Text})
}

// probing ticks while the agent waits for a slot, which nobody grants without a runner.
func (t *talk) probing(every time.Duration) <-chan time.Time {
	if t.Phase != conversation.Regaining {
		if t.probe != nil {
			t.probe.Stop()
			t.probe = nil
		}
		return nil
	}
	if t.probe == nil {
		t.probe = time.NewTicker(every)
	}
	return t.probe.C
}

// concluding is closed when the agent has read that its report is accepted.
func (t *talk) concluding() <-chan struct{} {
	if t.Phase != conversation.Parting {
		return nil
	}
	return t.callers.leaving(t.Concluded)
}
