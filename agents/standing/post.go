package standing

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"time"

	"cmux/agents/attempt"
	"cmux/agents/mail"
	"cmux/signals/mailbox"
)

// The keeper is the post office of the organisation: what agents and people write
// into the mailbox it hands to the lives of those whom it is for. A life's own
// wrapper decides when it is safe to say it and records what the agent has read;
// until then a message counts as handed over, and the next life is told it again.

// office is what the keeper knows of the mail.
type office struct {
	post   *mail.Post
	ledger mailbox.Ledger
	at     mailbox.Places
	told   map[string]told
	frozen map[string]time.Time // until when a life that did not answer is left alone
	last   map[string]time.Time // when an agent was handed something

	rest time.Time // until when the mail is left alone
}

// told is what a life was told.
type told struct {
	life int
	ids  map[string]bool
}

const (
	// tellPatience bounds the wait for a wrapper to take a message.
	tellPatience = 3 * time.Second
	// thaw is how long a wrapper that did not answer is left alone.
	thaw = 10 * time.Second
)

// maxRead is how many ids are remembered of messages that an agent has read.
const maxRead = 2000

// reads takes in which messages an agent has read.
func (s *State) reads(ids string) {
	s.Read = append(s.Read, strings.Split(ids, ",")...)
	if n := len(s.Read) - maxRead; n > 0 {
		s.Read = slices.Clone(s.Read[n:])
	}
}

// mails hands over what waits in the mailbox. What fails is tried again at the
// next look: agents are kept alive whatever becomes of the mail.
func (k *Keeper) mails(ctx context.Context) {
	if k.Now().Before(k.office.rest) {
		k.at(k.office.rest)
		return
	}
	ctx, cancel := context.WithTimeout(ctx, k.Wait)
	defer cancel()
	if err := k.mail(ctx); err != nil {
		k.Log.Error("mail could not be handed over", "err", err)
		wait := time.Second
		if errors.Is(err, context.DeadlineExceeded) {
			wait = leftAlone
		}
		k.office.rest = k.Now().Add(wait)
		k.at(k.office.rest)
	}
}

func (k *Keeper) mail(ctx context.Context) error {
	o := &k.office
	if o.post == nil {
		post, err := mail.Open(k.org.Root(), k.Now)
		if err != nil {
			return err
		}
		*o = office{post: post, told: map[string]told{}, frozen: map[string]time.Time{}, last: map[string]time.Time{}}
	}
	bad, err := o.ledger.Load(o.post.Box, &o.at)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, b := range bad {
		k.Log.Warn("a line of the mailbox is no message and is skipped", "line", b.String())
	}

	if k.org.Stopped || k.halting != nil {
		return nil
	}
	if err := k.confirm(ctx); err != nil {
		return err
	}
	now := k.Now()
	rules := mail.Usual()
	rules.Confirm = 365 * 24 * time.Hour // the wrapper has it, and says when it was read
	size := func(l *mailbox.Line) int { return len(mail.Text(k.org.Root(), l)) }
	for _, s := range mail.Route(now, o.ledger.Waiting(), k.recipient, size, rules) {
		if err := k.step(ctx, now, &s); err != nil {
			return err
		}
	}
	return k.tellAgain(ctx)
}

// confirm records what agents have read.
func (k *Keeper) confirm(ctx context.Context) error {
	var all []mailbox.Delivery
	for _, w := range k.office.ledger.Waiting() {
		a := k.agentOf(w.For)
		if a == nil || !slices.Contains(a.Read, w.ID) {
			continue
		}
		all = append(all, mailbox.Delivery{ID: w.ID, To: w.For.String(), State: mailbox.Confirmed, At: k.Now()})
	}
	return k.recordMail(ctx, all)
}

func (k *Keeper) recordMail(ctx context.Context, all []mailbox.Delivery) error {
	if len(all) == 0 {
		return nil
	}
	if err := k.office.post.Box.Record(ctx, all...); err != nil {
		return err
	}
	for _, d := range all {
		k.office.ledger.Apply(d)
	}
	return nil
}

// agentOf is the agent that an address means; nil: there is none.
func (k *Keeper) agentOf(to mailbox.Address) *Agent {
	to = to.In(k.org.Run.Plan.Session)
	if to.Kind != mailbox.Agent || to.Session != "" {
		return nil
	}
	return k.org.Agents[to.Name]
}

// recipient is how somebody stands, as far as that decides what can be handed
// over. While it works its wrapper keeps what it is told until that can be said.
func (k *Keeper) recipient(to mailbox.Address) mail.Recipient {
	if to.Kind == mailbox.Node {
		return mail.Recipient{Stand: mail.Starting} // of a run, which takes no mail yet
	}
	a := k.agentOf(to)
	if a == nil {
		return mail.Recipient{Stand: mail.Unknown}
	}
	r := mail.Recipient{Stand: mail.Idle, Until: a.Until, Last: k.office.last[a.Name]}
	w, detail := a.Stands(k.Now(), k.org.Stopped)
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
	if r.Stand == mail.Idle && k.live[a.Name] == nil {
		r.Stand = mail.Starting
	}
	if until := k.office.frozen[a.Name]; r.Stand == mail.Idle && k.Now().Before(until) {
		k.at(until)
		r.Stand = mail.Frozen
	}
	return r
}

// step carries a step out, recorded before it is made.
func (k *Keeper) step(ctx context.Context, now time.Time, s *mail.Step) error {
	if s.How == mail.Wait && !s.Until.IsZero() {
		k.at(s.Until)
	}
	if s.How == mail.Spread {
		var all []mailbox.Address
		for _, name := range k.org.Names() {
			all = append(all, mailbox.Address{Kind: mailbox.Agent, Name: name})
		}
		k.at(now)
		return k.recordMail(ctx, s.SpreadTo(now, all))
	}
	if err := k.recordMail(ctx, s.Records(now)); err != nil {
		return err
	}
	if a := k.agentOf(s.For); a != nil && s.How.Hands() {
		k.office.last[a.Name] = now
		k.tell(ctx, a, s.Messages)
	}
	return nil
}

// tell hands messages to the life of an agent. One that does not take them is
// told them again later.
func (k *Keeper) tell(ctx context.Context, a *Agent, all []mailbox.Waiting) {
	t := k.live[a.Name]
	if t == nil || len(all) == 0 {
		return
	}
	was := k.office.told[a.Name]
	if was.life != t.n {
		was = told{t.n, map[string]bool{}}
		k.office.told[a.Name] = was
	}
	ctx, cancel := context.WithTimeout(ctx, tellPatience)
	defer cancel()
	for i := range all {
		m := attempt.Message{Op: attempt.OpTell, Key: all[i].ID, Text: mail.Text(k.org.Root(), &all[i].Line), Urgency: all[i].Urgency}
		if _, err := t.link.Say(ctx, m); err != nil {
			k.Log.Warn("an agent did not take its mail", "agent", a.Name, "err", err)
			k.office.frozen[a.Name] = k.Now().Add(thaw)
			k.at(k.office.frozen[a.Name])
			return
		}
		was.ids[all[i].ID] = true
	}
}

// tellAgain tells lives what was handed to ones before them, or by a keeper before
// this one, and was not read. A life that has it leaves it out.
func (k *Keeper) tellAgain(ctx context.Context) error {
	for _, w := range k.office.ledger.Waiting() {
		a := k.agentOf(w.For)
		if w.State != mailbox.Handed || a == nil || k.recipient(w.For).Stand != mail.Idle {
			continue
		}
		if t := k.office.told[a.Name]; t.life == k.live[a.Name].n && t.ids[w.ID] {
			continue
		}
		k.tell(ctx, a, []mailbox.Waiting{w})
	}
	return nil
}
