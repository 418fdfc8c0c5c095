package standing

import (
	"context"
	"errors"
	"slices"
	"time"

	"cmux/agents/records/mail"
	"cmux/agents/runs/attempt"
	"cmux/signals/mailbox"
)

// The keeper is the post office of the organization: what agents and people write
// into the mailbox it hands to the lives of those whom it is for. A life's own
// wrapper decides when it is safe to say it and records what the agent has read;
// until then a message counts as handed over, and the next life is told it again.

// mailDesk hands out what is for the agents of the organization, and for the person.
// What is for nodes of runs their runners deliver, and what is for nodes that are
// gone fails here.
type mailDesk struct{ *Keeper }

// maxRead is how many ids are remembered of messages that an agent has read.
const maxRead = 2000

// reads takes in which messages an agent has read.
func (s *State) reads(ids string) {
	s.Read = append(s.Read, mailbox.IDs(ids)...)
	s.answers = append(slices.Clip(s.answers), mailbox.IDs(ids)...)
	if n := len(s.Read) - maxRead; n > 0 {
		s.Read = slices.Clone(s.Read[n:])
	}
}

// mails hands over what waits in the mailbox. What fails is tried again at the
// next look: agents are kept alive whatever becomes of the mail.
func (k *Keeper) mails(ctx context.Context) {
	if k.Now().Before(k.mailRest) {
		k.at(k.mailRest)
		return
	}
	bounded, cancel := context.WithTimeout(ctx, k.Wait)
	defer cancel()
	if err := k.mail(bounded); err != nil {
		k.Log.Error("mail could not be handed over", "err", err)
		wait := time.Second
		if errors.Is(err, context.DeadlineExceeded) {
			wait = leftAlone
		}
		k.mailRest = k.Now().Add(wait)
		k.at(k.mailRest)
		return
	}
	if !k.org.Stopped && k.halting == nil {
		k.nodesGone(ctx)
	}
}

func (k *Keeper) mail(ctx context.Context) error {
	if k.office == nil {
		o, err := mail.OpenOffice(k.org.Root(), k.Now)
		if err != nil {
			return err
		}
		k.office = o
	}
	bad, err := k.office.Load()
	if err != nil {
		return err
	}
	for _, b := range bad {
		k.Log.Warn("a line of the mailbox is no message and is skipped", "line", b.String())
	}
	if k.org.Stopped || k.halting != nil {
		return nil
	}
	err = k.office.Round(ctx, mailDesk{k}, func(name string, err error) {
		k.Log.Warn("an agent did not take its mail", "agent", name, "err", err)
	})
	clear(k.nodes.gone)
	return err
}

// agentOf is the agent that an address means; nil: there is none.
func (k *Keeper) agentOf(to mailbox.Address) *Agent {
	to = to.In(k.org.Run.Plan.Session)
	if to.Kind != mailbox.Agent || to.Session != "" {
		return nil
	}
	return k.org.Agents[to.Name]
}

// Name implements mail.Desk.
func (d mailDesk) Name(to mailbox.Address) (string, bool) {
	if a := d.agentOf(to); a != nil {
		return a.Name, true
	}
	return "", to.Kind != mailbox.Node || d.nodes.gone[to.Name] != ""
}

// Recipient implements mail.Desk.
func (d mailDesk) Recipient(to mailbox.Address) mail.Recipient {
	if to.Kind == mailbox.Node {
		return mail.Recipient{Stand: mail.Over, Detail: d.nodes.gone[to.Name]}
	}
	a := d.agentOf(to)
	if a == nil {
		return mail.Recipient{Stand: mail.Unknown}
	}
	if a.InRoom() { // else it would have turns that its room knows nothing of
		return mail.Recipient{Stand: mail.Over, Detail: a.Name + " is a member of a room, and is told things in that alone"}
	}
	r := mail.Recipient{Stand: mail.Idle, Until: a.Until}
	w, detail := a.Stands(d.Now(), d.org.Stopped)
	switch w {
	case TakenOver:
		r.Stand = mail.TakenOver
	case Stopped, Going:
		r.Stand = mail.Ended
	case Down:
		r.Stand = mail.Dead
	case Starting:
		r.Stand = mail.Starting
	case NeedsInput:
		if !a.Life.On() {
			r.Stand = mail.Dead
		}
		r.Detail = detail
	}
	if r.Stand == mail.Idle && d.lives.Of(a.Name) == nil {
		r.Stand = mail.Starting
	}
	if until, _ := a.Spent(d.Now()); r.Stand == mail.Idle && !until.IsZero() {
		r.Stand, r.Until = mail.Limited, until
	}
	return r
}

// HasRead implements mail.Desk.
func (d mailDesk) HasRead(name, id string) bool {
	a := d.org.Agents[name]
	return a != nil && slices.Contains(a.Read, id)
}

// Life implements mail.Desk.
func (d mailDesk) Life(name string) int { return d.lives.Of(name).Number() }

// Tell implements mail.Desk.
func (d mailDesk) Tell(ctx context.Context, name string, w *mailbox.Waiting) error {
	of := &mailbox.Message{Re: w.Re}
	if w.Verified && w.To != (mailbox.Address{Kind: mailbox.All}).String() {
		of.From = w.From
	}
	m := attempt.Message{Op: attempt.OpTell, Key: w.ID, Text: mail.Text(d.org.Root(), &w.Line), Urgency: w.Urgency, Mail: of}
	_, err := d.lives.Of(name).Tell(ctx, m)
	return err
}

// Everybody implements mail.Desk.
func (d mailDesk) Everybody() (all []mailbox.Address) {
	for _, name := range d.org.Names() {
		if d.org.Agents[name].InRoom() {
			continue // what is for it is said in its room
		}
		all = append(all, mailbox.Address{Kind: mailbox.Agent, Name: name})
	}
	return all
}

// At implements mail.Desk.
func (d mailDesk) At(t time.Time) { d.at(t) }
