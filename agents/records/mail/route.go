package mail

import (
	"fmt"
	"slices"
	"time"

	"cmux/signals/mailbox"
)

// Stand is how a recipient stands, as far as that decides what it can be given.
type Stand uint8

const (
	Unknown   Stand = iota // there is no such agent, or nothing is known of it
	Starting               // its program is not ready yet
	Idle                   // at its prompt, with an empty line
	InTurn                 // at work
	Calling                // at work, and the hook of a tool call waits for an answer
	Ending                 // the hook at the end of its turn waits for an answer
	Dialog                 // its program shows a dialog
	Draft                  // a person has typed something and not sent it
	CopyMode               // a person reads back in its pane
	TakenOver              // a person works in it
	Limited                // its account met a limit
	Frozen                 // its program is stopped, or does not answer
	Dead                   // its program is gone, and comes back
	Ended                  // it was stopped or killed on purpose
	Over                   // it has done what it was there for, and nobody starts it again by itself
	stands
)

// waitsFor says what a message waits for where a recipient stands so.
var waitsFor = [stands]string{
	Unknown: "there is no such agent", Starting: "its program starts", InTurn: "the end of its turn", Calling: "the end of its turn",
	Dialog: "a dialog of its program", Draft: "a person who has typed something there", CopyMode: "a person who reads back in its pane",
	TakenOver: "a person who has taken it over", Limited: "the end of a limit", Frozen: "its program, which does not answer",
	Dead: "its program, which has ended", Ended: "its start: it was stopped",
}

// Recipient is who a message can be given to.
type Recipient struct {
	Stand  Stand
	Detail string    // the name of the dialog; Over: how it ended
	Until  time.Time // of a limit; zero: not known
	Last   time.Time // when it was last handed something
}

// How says how messages are handed over, or what is done with them instead.
type How uint8

const (
	Wait    How = iota // nothing: they wait for Why
	Paste              // typed into the prompt and sent
	Answer             // as the answer to the hook at the end of the turn
	Context            // as the answer to the hook of a tool call
	Break              // the turn is broken off, then typed
	Notify             // the person is told that there is mail
	Look               // looked for in the recipient's conversation: confirmed when there, else queued again
	Spread             // a message for all is queued for each agent there is
	Expire             // given up: they waited too long
	Fail               // given up, as Why says
	hows
)

func (h How) String() string {
	return [hows]string{"wait", "paste", "answer", "context", "break", "notify", "look", "spread", "expire", "fail"}[h]
}

// Hands reports whether the recipient is given the messages.
func (h How) Hands() bool { return h >= Paste && h <= Notify }

// Rules bound what Route does.
type Rules struct {
	Gather  time.Duration // between two hand-overs, so that what comes meanwhile goes together
	Confirm time.Duration // what was handed over and not confirmed is looked for after this
	Expire  time.Duration // what waited so long is given up; not the person's
	Tries   int           // hand-overs without a confirmation before a message is given up
	Most    int           // messages that go together
	Bytes   int           // of the texts that go together; one alone may be longer

	// Queues says that each recipient keeps what it is handed in a queue of its own
	// until it has read it: more is handed on behind that, and it knows what is urgent.
	Queues bool
}

// Usual are the rules where nobody set others. Programs cut what a hook says at
// 10,000 characters.
func Usual() Rules {
	return Rules{Gather: 500 * time.Millisecond, Confirm: 30 * time.Second, Expire: 7 * 24 * time.Hour, Tries: 3, Most: 20, Bytes: 8000}
}

// Step is what is to be done with messages for one recipient. They are in the
// order in which they were written.
type Step struct {
	How      How
	For      mailbox.Address
	Messages []mailbox.Waiting
	Why      string    // Wait, Expire, Fail
	Until    time.Time // Wait: when to ask again at the latest; zero: when something changes
	Brief    bool      // Wait: for so short that it is not worth a record
}

// Route says what is to be done with what waits, given how each recipient stands.
// Steps of one recipient are in order, and none hands something over past what
// was written before it: what stands behind a message for all has no step until
// that is spread. size is how long the text of a message will be.
func Route(now time.Time, waiting []mailbox.Waiting, who func(mailbox.Address) Recipient, size func(*mailbox.Line) int, rules Rules) (steps []Step) {
	queues := make(map[mailbox.Address][]mailbox.Waiting)
	var order []mailbox.Address
	spread := false
	for _, w := range waiting {
		if w.For.Kind == mailbox.All {
			spread = true
		} else if spread {
			continue
		}
		if queues[w.For] == nil {
			order = append(order, w.For)
		}
		queues[w.For] = append(queues[w.For], w)
	}
	for _, to := range order {
		q := queue{now: now, to: to, who: Recipient{}, size: size, rules: rules}
		if to.Kind == mailbox.Agent || to.Kind == mailbox.Node {
			q.who = who(to)
		}
		steps = append(steps, q.route(queues[to])...)
	}
	return steps
}

// queue is the mail of one recipient.
type queue struct {
	now   time.Time
	to    mailbox.Address
	who   Recipient
	size  func(*mailbox.Line) int
	rules Rules
}

func (q *queue) step(how How, all []mailbox.Waiting) Step {
	return Step{How: how, For: q.to, Messages: all}
}

func (q *queue) route(all []mailbox.Waiting) (steps []Step) {
	var old, flying, rest []mailbox.Waiting
	for _, w := range all {
		switch {
		case w.State == mailbox.Handed:
			flying = append(flying, w)
		case q.to.Kind != mailbox.User && q.now.Sub(w.TS) > q.rules.Expire:
			old = append(old, w)
		default:
			rest = append(rest, w)
		}
	}
	if len(old) > 0 {
		s := q.step(Expire, old)
		s.Why = "it waited longer than " + short(q.rules.Expire)
		steps = append(steps, s)
	}
	switch {
	case q.to.Kind == mailbox.User: // what was handed waits to be read, which nobody looks for
		if len(rest) > 0 {
			steps = append(steps, q.step(Notify, rest))
		}
		return steps
	case q.to.Kind == mailbox.All:
		if len(rest) > 0 {
			steps = append(steps, q.step(Spread, rest))
		}
		return steps
	case q.who.Stand == Over:
		for _, of := range []struct {
			all []mailbox.Waiting
			why string
		}{{flying, ", before it had read it"}, {rest, ""}} {
			if len(of.all) > 0 {
				s := q.step(Fail, of.all)
				s.Why = q.who.Detail + of.why
				steps = append(steps, s)
			}
		}
		return steps
	case len(flying) > 0 && !q.rules.Queues:
		return append(steps, q.follow(flying, rest)...)
	case len(rest) == 0:
		return steps
	}
	return append(steps, q.hand(rest)...)
}

// follow says what is to be done where something is on its way: all else waits
// behind it, so that the order stands.
func (q *queue) follow(flying, rest []mailbox.Waiting) (steps []Step) {
	var late []mailbox.Waiting
	until := time.Time{}
	gone := q.who.Stand == Dead || q.who.Stand == Ended // it will not tell any more
	for _, w := range flying {
		switch due := w.Status.At.Add(q.rules.Confirm); {
		case !q.now.Before(due) || gone || w.Status.At.After(q.now.Add(q.rules.Confirm)): // the clock was put back
			late = append(late, w)
		case until.IsZero() || due.Before(until):
			until = due
		}
	}
	if len(late) > 0 {
		steps = append(steps, q.step(Look, late))
	}
	if len(rest) > 0 {
		s := q.step(Wait, rest)
		s.Why, s.Until, s.Brief = "the confirmation of message "+flying[0].ID, until, true
		steps = append(steps, s)
	} else if !until.IsZero() {
		s := q.step(Wait, nil)
		s.Until, s.Brief = until, true
		steps = append(steps, s)
	}
	return steps
}

// hand says how what waits is handed over.
func (q *queue) hand(rest []mailbox.Waiting) (steps []Step) {
	if given := q.givenUp(rest); given > 0 {
		s := q.step(Fail, rest[:given])
		s.Why = fmt.Sprintf("it was handed over %d times and never confirmed", q.rules.Tries)
		steps = append(steps, s)
		if rest = rest[given:]; len(rest) == 0 {
			return steps
		}
	}
	how, upTo := Wait, len(rest)
	switch q.who.Stand {
	case Idle:
		if next := q.who.Last.Add(q.rules.Gather); q.now.Before(next) && !next.After(q.now.Add(q.rules.Gather)) {
			s := q.step(Wait, rest)
			s.Why, s.Until, s.Brief = "more that may come", next, true
			return append(steps, s)
		}
		how = Paste
	case Ending:
		how = Answer
	case InTurn, Calling:
		how, upTo = q.inTurn(rest)
	}
	if how == Wait {
		return append(steps, q.wait(rest))
	}
	batch := q.batch(rest[:upTo])
	steps = append(steps, q.step(how, rest[:batch]))
	if rest = rest[batch:]; len(rest) > 0 {
		s := q.step(Wait, rest)
		s.Why, s.Brief = "those before it", true
		if q.rules.Queues {
			s.Until = q.now.Add(q.rules.Gather)
		}
		steps = append(steps, s)
	}
	return steps
}

// inTurn says how an agent at work is given what cannot wait, and up to where in
// the queue: what stands before an urgent message goes with it.
func (q *queue) inTurn(rest []mailbox.Waiting) (how How, upTo int) {
	how = Wait
	for i, w := range rest {
		switch {
		case w.Urgency == mailbox.Interrupt:
			how, upTo = Break, i+1
		case w.Urgency == mailbox.Urgent && how != Break && q.who.Stand == Calling:
			how, upTo = Context, i+1
		}
	}
	return how, upTo
}

// wait says what all of them wait for.
func (q *queue) wait(rest []mailbox.Waiting) Step {
	s := q.step(Wait, rest)
	s.Why, s.Until = waitsFor[q.who.Stand], q.who.Until
	urgent := func(w mailbox.Waiting) bool { return w.Urgency == mailbox.Urgent }
	switch {
	case q.who.Stand == InTurn && slices.ContainsFunc(rest, urgent):
		s.Why = "its next tool call"
	case q.who.Stand == Dialog && q.who.Detail != "":
		s.Why = "a dialog of its program: " + q.who.Detail
	case q.who.Stand == Limited && !q.who.Until.IsZero():
		s.Why = "the end of a limit at " + q.who.Until.Format("15:04")
	}
	return s
}

// givenUp is how many at the head of the queue were handed over too often.
func (q *queue) givenUp(rest []mailbox.Waiting) int {
	n := 0
	for n < len(rest) && rest[n].Try >= q.rules.Tries {
		n++
	}
	return n
}

// batch is how many go together: at least one.
func (q *queue) batch(rest []mailbox.Waiting) int {
	bytes := 0
	for i := range rest {
		bytes += q.size(&rest[i].Line)
		if i > 0 && (bytes > q.rules.Bytes || i >= q.rules.Most) {
			return i
		}
	}
	return len(rest)
}

// Records is what is to be written of a step before it is carried out. Of Look
// and Spread that is known only afterwards. What waits as before needs no line.
func (s *Step) Records(now time.Time) (all []mailbox.Delivery) {
	for _, w := range s.Messages {
		d := mailbox.Delivery{ID: w.ID, To: s.For.String(), Why: s.Why, At: now}
		switch {
		case s.How.Hands():
			d.State, d.Try = mailbox.Handed, w.Try+1
		case s.How == Expire:
			d.State = mailbox.Expired
		case s.How == Fail:
			d.State = mailbox.Failed
		case s.How == Wait && !s.Brief && (w.State != mailbox.Queued || w.Why != s.Why):
			d.State = mailbox.Queued
		default:
			continue
		}
		all = append(all, d)
	}
	return all
}

// Looked is what is to be written of a step Look when those of which found says
// so were found in the recipient's conversation.
func (s *Step) Looked(now time.Time, found func(id string) bool) (all []mailbox.Delivery) {
	for _, w := range s.Messages {
		d := mailbox.Delivery{ID: w.ID, To: s.For.String(), State: mailbox.Confirmed, At: now}
		if !found(w.ID) {
			d.State, d.Why = mailbox.Queued, "it did not arrive"
		}
		all = append(all, d)
	}
	return all
}

// SpreadTo is what is to be written of a step Spread where these agents stand.
// One line for each goes into one write; the sender gets none. Where there is
// nobody else the message has reached all there are.
func (s *Step) SpreadTo(now time.Time, agents []mailbox.Address) (all []mailbox.Delivery) {
	for _, w := range s.Messages {
		before := len(all)
		for _, a := range agents {
			if a.String() != w.From {
				all = append(all, mailbox.Delivery{ID: w.ID, To: a.String(), State: mailbox.Queued, At: now})
			}
		}
		if len(all) == before {
			all = append(all, mailbox.Delivery{ID: w.ID, To: s.For.String(), State: mailbox.Confirmed, Why: "there is no other agent", At: now})
		}
	}
	return all
}

// short is a time as a person says it.
func short(d time.Duration) string {
	if d >= 48*time.Hour && d%(24*time.Hour) == 0 {
		return fmt.Sprintf("%d days", d/(24*time.Hour))
	}
	return d.String()
}
