package attempt

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"cmux/agents/kinds/question"
	"cmux/agents/records/event"
	"cmux/agents/records/mail"
	"cmux/agents/runs/conversation"
	"cmux/agents/runs/prompt"
	"cmux/agents/runs/run"
	"cmux/signals/mailbox"
)

// sendPatience bounds the wait for other writers of the mailbox.
const sendPatience = 10 * time.Second

// sender sends the agent's messages to the project's mailbox.
type sender struct {
	home  Home
	env   []string        // environment with secrets that no message may contain
	loops mail.Loops      // recent messages
	doing mailbox.Message // the agent's last status update
}

// post sends q, or returns why it must not be sent.
func (s *sender) post(ctx context.Context, q mailbox.Message, files ...mail.Enclosure) (mailbox.Message, error) {
	if err := mail.CheckPrefix(q.Subject); err != nil {
		var own *mail.PrefixError
		if errors.As(err, &own) {
			return q, fmt.Errorf("%w; use %s", err, own.Try)
		}
		return q, err
	}
	if name := run.SecretIn(s.env, q.Subject+"\n"+q.Body); name != "" {
		return q, fmt.Errorf("the message contains the value of $%s: messages appear in files and prompts, so name the place of the secret instead", name)
	}
	for _, f := range files {
		if name := run.SecretIn(s.env, string(f.Data)); name != "" {
			return q, fmt.Errorf("%s contains the value of $%s: name the place of the secret instead", f.Name, name)
		}
	}
	if err := mail.CheckFiles(files); err != nil {
		return q, err
	}
	ctx, cancel := context.WithTimeout(ctx, sendPatience)
	defer cancel()
	err := s.loops.Admit(&q, mail.Size(files), time.Now())
	var loop *mail.LoopError
	if errors.As(err, &loop) && loop.First {
		_, told := s.home.Post(ctx, loop.Told())
		err = errors.Join(err, told)
	}
	if err != nil {
		return q, err
	}
	return s.home.Post(ctx, q, files...)
}

// stands returns the id of an equal status update, if that is the newest.
func (s *sender) stands(q mailbox.Message) (id string) {
	if q.Type == mailbox.StatusUpdate && s.doing.Subject == q.Subject && s.doing.Task == q.Task {
		return s.doing.ID
	}
	return ""
}

// does records a status update that was sent.
func (s *sender) does(sent mailbox.Message, said string) { s.doing, s.doing.Subject = sent, said }

// rest forgets the last status update: it was about other work.
func (s *sender) rest() { s.doing = mailbox.Message{} }

// send writes a message of the agent to the project's mailbox; the attempt verifies the
// sender. It refuses messages that the agent may not send, with the reason.
func (a *attempt) send(m *Message, reply *Reply) error {
	if m.Mail == nil {
		reply.Error = "there is no message to send"
		return nil
	}
	from := mailbox.Address{Kind: mailbox.Node, Name: a.spec.Node}
	if a.spec.Terms.Stays {
		from.Kind = mailbox.Agent
	}
	q := mailbox.Message{From: from.String(), To: m.Mail.To, Subject: m.Mail.Subject, Body: m.Mail.Body, Urgency: m.Mail.Urgency, Re: m.Mail.Re}
	if m.Mail.Type == mailbox.StatusUpdate { // not delivered, only shown
		q = mailbox.Message{From: from.String(), Subject: m.Mail.Subject, Type: mailbox.StatusUpdate, Task: a.Work}
	}
	if id := a.sender.stands(q); id != "" {
		reply.Text = id
		return nil
	}
	sent, err := a.sender.post(a.ctx, q, m.Files...)
	if err != nil {
		reply.Error = err.Error()
		return nil
	}
	reply.Text = sent.ID
	if sent.Type == mailbox.StatusUpdate {
		a.sender.does(sent, q.Subject)
		a.stage.Show(event.Event{Kind: event.Note, Text: "status: " + sent.Subject})
		return nil
	}
	if a.spec.Terms.Stays {
		wrote := conversation.Wrote{}
		if p, text := mailbox.Cut(sent.Subject); p == mailbox.Question {
			text = strings.TrimSpace(text + "\n\n" + prompt.Cut(sent.Body, maxDetail))
			wrote.Posed = &question.Posed{Question: question.New(text), To: sent.To}
			wrote.Posed.Message = sent.ID
		}
		if err := a.feed(wrote); err != nil {
			return err
		}
	}
	a.stage.Show(event.Event{Kind: event.Note, Text: fmt.Sprintf("sent message %s to %s: %s", sent.ID, sent.To, sent.Subject)})
	return nil
}

// publish records an output that the agent publishes.
func (a *attempt) publish(m *Message, reply *Reply) error {
	if err := a.verdict.Publishable(m.Key, m.Text); err != nil {
		reply.Error = err.Error()
		return nil
	}
	reply.Text = "published " + m.Key
	return a.verdict.Published(m.Key, m.Text)
}
