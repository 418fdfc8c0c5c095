package attempt

import (
	"context"
	"errors"
	"fmt"
	"time"

	"cmux/agents/kinds/question"
	"cmux/agents/records/event"
	"cmux/agents/records/mail"
	"cmux/agents/runs/conversation"
	"cmux/agents/runs/run"
	"cmux/signals/mailbox"
)

// sendPatience bounds the wait for other writers of the mailbox.
const sendPatience = 10 * time.Second

// sender sends what an agent writes to the project's mailbox.
type sender struct {
	home  Home
	env   []string        // whose secrets no message may hold
	loops mail.Loops      // what was sent lately
	doing mailbox.Message // what the agent said last that it does
}

// post sends q. One that must not be sent is refused with the reason.
func (s *sender) post(ctx context.Context, q mailbox.Message, files ...mail.Enclosure) (mailbox.Message, error) {
	if err := mail.CheckPrefix(q.Subject); err != nil {
		var own *mail.PrefixError
		if errors.As(err, &own) {
			return q, fmt.Errorf("%w; use %s", err, own.Try)
		}
		return q, err
	}
	if name := run.SecretIn(s.env, q.Subject+"\n"+q.Body); name != "" {
		return q, fmt.Errorf("the message holds the value of $%s: messages stand in files and prompts, so say where it is kept instead", name)
	}
	for _, f := range files {
		if name := run.SecretIn(s.env, string(f.Data)); name != "" {
			return q, fmt.Errorf("%s holds the value of $%s: say where it is kept instead", f.Name, name)
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

// stands is the id of the status update that says the same, if it is the newest.
func (s *sender) stands(q mailbox.Message) (id string) {
	if q.Type == mailbox.StatusUpdate && s.doing.Subject == q.Subject && s.doing.Task == q.Task {
		return s.doing.ID
	}
	return ""
}

// does takes in a status update that was sent, by what the agent said in it.
func (s *sender) does(sent mailbox.Message, said string) { s.doing, s.doing.Subject = sent, said }

// rest forgets what the agent said that it does: that was of other work.
func (s *sender) rest() { s.doing = mailbox.Message{} }

// send writes a message of the agent's to the project's mailbox, for which the
// attempt vouches. One that it may not send is refused with the reason.
func (a *attempt) send(m *Message, reply *Reply) error {
	if m.Mail == nil {
		reply.Error = "there is no message to send"
		return nil
	}
	from := mailbox.Address{Kind: mailbox.Node, Name: a.spec.Node}
	if a.stays() {
		from.Kind = mailbox.Agent
	}
	q := mailbox.Message{From: from.String(), To: m.Mail.To, Subject: m.Mail.Subject, Body: m.Mail.Body, Urgency: m.Mail.Urgency, Re: m.Mail.Re}
	if m.Mail.Type == mailbox.StatusUpdate { // for nobody, and shown by whoever looks
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
		a.stage.Show(event.Event{Kind: event.Note, Text: "says what it does: " + sent.Subject})
		return nil
	}
	if a.stays() {
		wrote := conversation.Wrote{}
		if p, text := mailbox.Cut(sent.Subject); p == mailbox.Question {
			wrote.Posed = &conversation.Posed{Question: question.New(text), To: sent.To}
			wrote.Posed.Message = sent.ID
		}
		if err := a.feed(wrote); err != nil {
			return err
		}
	}
	a.stage.Show(event.Event{Kind: event.Note, Text: fmt.Sprintf("sent message %s to %s: %s", sent.ID, sent.To, sent.Subject)})
	return nil
}

// publish takes in an output that the agent publishes.
func (a *attempt) publish(m *Message, reply *Reply) error {
	if err := a.verdict.Publishable(m.Key, m.Text); err != nil {
		reply.Error = err.Error()
		return nil
	}
	reply.Text = "published " + m.Key
	return a.verdict.Published(m.Key, m.Text)
}
