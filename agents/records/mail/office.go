package mail

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"time"

	"cmux/signals/mailbox"
)

// Desk delivers to some of the recipients of a mailbox. Each recipient has exactly one
// desk, so no two desks record deliveries of one message to one recipient.
type Desk interface {
	// Name returns the desk's name for a recipient; ok is false if it belongs to another
	// desk.
	Name(to mailbox.Address) (name string, mine bool)
	// Recipient returns the state of a recipient, except what the Office knows (Frozen and
	// Last). While an agent works, its wrapper queues messages for it, so it counts as
	// Idle.
	Recipient(to mailbox.Address) Recipient
	// HasRead reports whether the recipient with that name has read a message.
	HasRead(name, id string) bool
	// Life returns the current life of the recipient, by a unique number; 0: it cannot
	// receive messages now.
	Life(name string) int
	// Tell sends messages to that life. It returns within a bounded time.
	Tell(ctx context.Context, name string, w *mailbox.Waiting) error
	// Everybody returns the recipients of a message to all; none: another desk distributes
	// it.
	Everybody() []mailbox.Address
	// At makes the desk run again at a time.
	At(t time.Time)
}

// Office hands waiting messages to the lives of their recipients. A life's wrapper decides
// when to show a message and records what the agent has read. Until then, the message
// counts as handed over, and the next life gets it again. It is not safe for concurrent
// use.
type Office struct {
	*Post
	ledger mailbox.Ledger
	at     mailbox.Places
	told   map[string]told
	frozen map[string]time.Time // until when to skip a life that did not answer
	last   map[string]time.Time // when a recipient last got a message
}

// told is what was sent to a life.
type told struct {
	life int
	ids  map[string]bool
}

// thaw is how long an Office skips a wrapper that did not answer.
const thaw = 10 * time.Second

// OpenOffice opens the office for the mailbox of the project at root.
func OpenOffice(root string, now func() time.Time) (*Office, error) {
	post, err := Open(root, now)
	if err != nil {
		return nil, err
	}
	return &Office{Post: post, told: map[string]told{}, frozen: map[string]time.Time{}, last: map[string]time.Time{}}, nil
}

// Load reads what is new in the mailbox, and returns the lines that are not valid.
func (o *Office) Load() ([]mailbox.Bad, error) {
	bad, err := o.ledger.Load(o.Box, &o.at)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return bad, err
}

// Known reports whether there is a message with this id.
func (o *Office) Known(id string) bool { return o.ledger.Known(id) }

// Waiting returns all waiting messages, for all recipients; a nil Office has none.
func (o *Office) Waiting() []mailbox.Waiting {
	if o == nil {
		return nil
	}
	return o.ledger.Waiting()
}

// Forget forgets a recipient that is gone: another one may get its name.
func (o *Office) Forget(name string) {
	if o != nil {
		delete(o.told, name)
		delete(o.frozen, name)
		delete(o.last, name)
	}
}

// recipient returns the state of a recipient of a desk. A recipient that did not answer
// is skipped for a while.
func (o *Office) recipient(d Desk, to mailbox.Address) Recipient {
	r := d.Recipient(to)
	name, _ := d.Name(to)
	r.Last = o.last[name]
	left := o.frozen[name].Sub(o.Now())
	if r.Stand == Idle && left > 0 && left <= thaw { // else the clock was set back
		d.At(o.frozen[name])
		r.Stand = Frozen
	}
	return r
}

// Round hands over what it can and records what was read. It calls unanswered for lives
// that did not answer.
func (o *Office) Round(ctx context.Context, d Desk, unanswered func(name string, err error)) error {
	if err := o.confirm(ctx, d); err != nil {
		return err
	}
	// Messages already handed over come before new ones.
	o.again(ctx, d, unanswered)
	now := o.Now()
	rules := Usual()
	rules.Queues = true // the wrapper queues messages and reports when they are read
	size := func(l *mailbox.Line) int { return len(Text(o.Journal.Root, l)) }
	stands := func(to mailbox.Address) Recipient { return o.recipient(d, to) }
	for _, s := range Route(now, o.mine(d), stands, size, rules) {
		if err := o.step(ctx, now, d, &s, unanswered); err != nil {
			return err
		}
	}
	return nil
}

// mine returns the waiting messages for this desk, or for no desk.
func (o *Office) mine(d Desk) []mailbox.Waiting {
	return slices.DeleteFunc(o.ledger.Waiting(), func(w mailbox.Waiting) bool {
		_, mine := d.Name(w.For)
		return !mine
	})
}

// confirm records what was read.
func (o *Office) confirm(ctx context.Context, d Desk) error {
	var all []mailbox.Delivery
	for _, w := range o.ledger.Waiting() {
		if name, mine := d.Name(w.For); mine && d.HasRead(name, w.ID) {
			all = append(all, mailbox.Delivery{ID: w.ID, To: w.For.String(), State: mailbox.Confirmed, At: o.Now()})
		}
	}
	return o.record(ctx, all)
}

func (o *Office) record(ctx context.Context, all []mailbox.Delivery) error {
	if len(all) == 0 {
		return nil
	}
	if err := o.Box.Record(ctx, all...); err != nil {
		return err
	}
	for _, d := range all {
		o.ledger.Apply(d)
	}
	return nil
}

// step records a step, then carries it out.
func (o *Office) step(ctx context.Context, now time.Time, d Desk, s *Step, unanswered func(string, error)) error {
	if s.How == Wait && !s.Until.IsZero() {
		d.At(s.Until)
	}
	if s.How == Spread {
		d.At(now)
		return o.record(ctx, s.SpreadTo(now, d.Everybody()))
	}
	if err := o.record(ctx, s.Records(now)); err != nil {
		return err
	}
	if name, mine := d.Name(s.For); mine && s.How.Hands() && s.For.Kind != mailbox.User {
		o.last[name] = now
		o.tell(ctx, d, name, s.Messages, unanswered)
	}
	return nil
}

// tell sends messages to a life. If that fails, a later round sends them again.
func (o *Office) tell(ctx context.Context, d Desk, name string, all []mailbox.Waiting, unanswered func(string, error)) {
	n := d.Life(name)
	if n == 0 {
		return
	}
	was := o.told[name]
	if was.life != n {
		was = told{n, map[string]bool{}}
		o.told[name] = was
	}
	for i := range all {
		if err := d.Tell(ctx, name, &all[i]); err != nil {
			unanswered(name, err)
			o.frozen[name] = o.Now().Add(thaw)
			d.At(o.frozen[name])
			return
		}
		was.ids[all[i].ID] = true
	}
}

// again sends lives the messages that were handed to earlier lives, or by an earlier
// office, and were not read. A life ignores messages that it already has.
func (o *Office) again(ctx context.Context, d Desk, unanswered func(string, error)) {
	for _, w := range o.ledger.Waiting() {
		name, mine := d.Name(w.For)
		if !mine || w.State != mailbox.Handed || w.For.Kind == mailbox.User || o.recipient(d, w.For).Stand != Idle {
			continue
		}
		if t := o.told[name]; t.life == d.Life(name) && t.ids[w.ID] {
			continue
		}
		o.tell(ctx, d, name, []mailbox.Waiting{w}, unanswered)
	}
}
