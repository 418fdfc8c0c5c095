package mail

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"time"

	"cmux/signals/mailbox"
)

// Desk is who looks after some of the recipients of a mailbox. Each recipient has
// one, and no two record what became of the same message with the same recipient.
type Desk interface {
	// Name is what this desk calls a recipient that it looks after.
	Name(to mailbox.Address) (name string, mine bool)
	// Recipient is how a recipient stands. While one is at work its wrapper keeps
	// what it is told until that can be said: it stands as Idle.
	Recipient(to mailbox.Address) Recipient
	// HasRead reports whether the recipient of that name has read a message.
	HasRead(name, id string) bool
	// Life is the life of the recipient that can be spoken to, by a number that no
	// other life of it has; 0: none can.
	Life(name string) int
	// Tell tells that life of a message. It is bounded.
	Tell(ctx context.Context, name string, w *mailbox.Waiting) error
	// Everybody are those that a message for all is for; none: another desk has it
	// spread.
	Everybody() []mailbox.Address
	// At has the desk look again at a moment.
	At(t time.Time)
}

// Office hands what waits in a mailbox to the lives of those whom it is for. A
// life's own wrapper decides when it is safe to say it, and records what the
// agent has read; until then a message counts as handed over, and the next life
// is told it again. It is not for concurrent use.
type Office struct {
	*Post
	ledger mailbox.Ledger
	at     mailbox.Places
	told   map[string]told
	frozen map[string]time.Time // until when a life that did not answer is left alone
	last   map[string]time.Time // when somebody was handed something
}

// told is what a life was told.
type told struct {
	life int
	ids  map[string]bool
}

// thaw is how long a wrapper that did not answer is left alone.
const thaw = 10 * time.Second

// OpenOffice is the office for the mailbox of the project at root.
func OpenOffice(root string, now func() time.Time) (*Office, error) {
	post, err := Open(root, now)
	if err != nil {
		return nil, err
	}
	return &Office{Post: post, told: map[string]told{}, frozen: map[string]time.Time{}, last: map[string]time.Time{}}, nil
}

// Load takes in what is new in the mailbox, and returns the lines that are none.
func (o *Office) Load() ([]mailbox.Bad, error) {
	bad, err := o.ledger.Load(o.Box, &o.at)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return bad, err
}

// Known reports whether there is a message with this id.
func (o *Office) Known(id string) bool { return o.ledger.Known(id) }

// Waiting is all that waits, for whomever; nothing in an office that could not be
// opened, nil.
func (o *Office) Waiting() []mailbox.Waiting {
	if o == nil {
		return nil
	}
	return o.ledger.Waiting()
}

// Forget is for a recipient that is gone: another one may get its name.
func (o *Office) Forget(name string) {
	if o != nil {
		delete(o.told, name)
		delete(o.frozen, name)
		delete(o.last, name)
	}
}

// Frozen says until when a recipient that did not answer is left alone.
func (o *Office) Frozen(name string) (until time.Time, is bool) {
	until = o.frozen[name]
	if left := until.Sub(o.Now()); left <= 0 || left > thaw { // or the clock was put back
		return time.Time{}, false
	}
	return until, true
}

// Last is when somebody was handed something.
func (o *Office) Last(name string) time.Time { return o.last[name] }

// Round hands over what can be, and records what was read. unanswered is told of
// lives that did not take what they were told.
func (o *Office) Round(ctx context.Context, d Desk, unanswered func(name string, err error)) error {
	if err := o.confirm(ctx, d); err != nil {
		return err
	}
	// What is on its way comes before what is handed over now.
	o.again(ctx, d, unanswered)
	now := o.Now()
	rules := Usual()
	rules.Queues = true // the wrapper has it, and says when it was read
	size := func(l *mailbox.Line) int { return len(Text(o.Journal.Root, l)) }
	for _, s := range Route(now, o.mine(d), d.Recipient, size, rules) {
		if err := o.step(ctx, now, d, &s, unanswered); err != nil {
			return err
		}
	}
	return nil
}

// mine is what waits and is this desk's to deliver, or nobody else's.
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

// step carries a step out, recorded before it is made.
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

// tell hands messages to a life. One that does not take them is told them again
// later.
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

// again tells lives what was handed to ones before them, or by an office before
// this one, and was not read. A life that has it leaves it out.
func (o *Office) again(ctx context.Context, d Desk, unanswered func(string, error)) {
	for _, w := range o.ledger.Waiting() {
		name, mine := d.Name(w.For)
		if !mine || w.State != mailbox.Handed || w.For.Kind == mailbox.User || d.Recipient(w.For).Stand != Idle {
			continue
		}
		if t := o.told[name]; t.life == d.Life(name) && t.ids[w.ID] {
			continue
		}
		o.tell(ctx, d, name, []mailbox.Waiting{w}, unanswered)
	}
}
