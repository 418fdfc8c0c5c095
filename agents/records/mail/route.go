package mail

import (
	"fmt"
	"slices"
	"time"

	"cmux/signals/mailbox"
)

// Stand is the state of a recipient, as far as it decides how messages reach it.
type Stand uint8

const (
	Unknown   Stand = iota // there is no such agent, or its state is unknown
	Starting               // its program is not ready yet
	Idle                   // at its prompt, with an empty line
	InTurn                 // in a turn
	Calling                // in a turn, and the hook of a tool call waits for an answer
	Ending                 // the hook at the end of its turn waits for an answer
	Dialog                 // its program shows a dialog
	Draft                  // a person has typed something and not sent it
	CopyMode               // a person scrolls back in its pane
	TakenOver              // a person has taken it over
	Limited                // its account met a limit
	Frozen                 // its program is stopped, or does not answer
	Dead                   // its program has ended and will restart
	Ended                  // it was stopped or killed on purpose
	Over                   // it has done its work and does not restart by itself
	stands
)

// waitsFor is what a message waits for in each state.
var waitsFor = [stands]string{
	Unknown: "there is no such agent", Starting: "its program starts", InTurn: "the end of its turn", Calling: "the end of its turn",
	Dialog: "a dialog of its program", Draft: "a person who has typed something there", CopyMode: "a person who reads back in its pane",
	TakenOver: "the end of a takeover", Limited: "the end of a limit", Frozen: "its program, which does not answer",
	Dead: "its program, which has ended", Ended: "its start, because it was stopped",
}

// Recipient is a recipient with its state.
type Recipient struct {
	Stand  Stand
	Detail string    // the name of the dialog; Over: how it ended
	Until  time.Time // of a limit; zero: unknown
	Last   time.Time // when it last got a message
}

// How is how messages are handed over, or what else happens to them.
type How uint8

const (
	Wait    How = iota // nothing happens: they wait for Why
	Paste              // typed into the prompt and sent
	Answer             // as the answer to the hook at the end of the turn
	Context            // as the answer to the hook of a tool call
	Break              // the turn is interrupted, then they are typed
	Notify             // the person is notified
	Look               // searched in the recipient's conversation: confirmed if found, else queued again
	Spread             // a message to all is queued for each agent
	Expire             // given up: they waited too long
	Fail               // given up because of Why
	hows
)

func (h How) String() string {
	return [hows]string{"wait", "paste", "answer", "context", "break", "notify", "look", "spread", "expire", "fail"}[h]
}

// Hands reports whether the recipient gets the messages.
func (h How) Hands() bool { return h >= Paste && h <= Notify }

// Rules bound what Route does.
type Rules struct {
	Gather  time.Duration // between two deliveries, so that messages in between go together
	Confirm time.Duration // after this time, look for a message that was handed over and not confirmed
	Expire  time.Duration // a message that waited this long is given up, except the person's
	Tries   int           // deliveries without confirmation before a message is given up
	Most    int           // maximum of messages that go together
	Bytes   int           // maximum of texts that go together; one alone may be longer

	// Queues means that each recipient queues its messages until it has read them. Then
	// more messages follow at once, and the recipient decides about urgent ones.
	Queues bool
}

// Usual are the default rules. Programs cut the output of a hook at 10,000 characters.
func Usual() Rules {
	return Rules{Gather: 500 * time.Millisecond, Confirm: 30 * time.Second, Expire: 7 * 24 * time.Hour, Tries: 3, Most: 20, Bytes: 8000}
}

// Step is what to do with messages of one recipient. The messages are in the order of
// writing.
type Step struct {
	How      How
	For      mailbox.Address
	Messages []mailbox.Waiting
	Why      string    // Wait, Expire, Fail
	Until    time.Time // Wait: latest time to call Route again; zero: when something changes
	Brief    bool      // Wait: too short to be recorded
}

// Route returns what to do with waiting messages, given the state of each recipient. Steps
// of one recipient are in order, and no message overtakes an earlier one: messages after a
// message to all have no step until that is distributed. size returns the length of a
// message's text.
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
		s.Why = "the message waited longer than " + short(q.rules.Expire)
		steps = append(steps, s)
	}
	switch {
	case q.to.Kind == mailbox.User: // a delivered message waits until the person reads it
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

// follow returns the step for messages on their way: all later ones wait, so that the order
// is kept.
func (q *queue) follow(flying, rest []mailbox.Waiting) (steps []Step) {
	var late []mailbox.Waiting
	until := time.Time{}
	gone := q.who.Stand == Dead || q.who.Stand == Ended // it will not confirm any more
	for _, w := range flying {
		switch due := w.Status.At.Add(q.rules.Confirm); {
		case !q.now.Before(due) || gone || w.Status.At.After(q.now.Add(q.rules.Confirm)): // the clock was set back
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

// hand returns how waiting messages are handed over.
func (q *queue) hand(rest []mailbox.Waiting) (steps []Step) {
	if given := q.givenUp(rest); given > 0 {
		s := q.step(Fail, rest[:given])
		s.Why = fmt.Sprintf("the message was handed over %d times and never confirmed", q.rules.Tries)
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

// inTurn returns how an agent in a turn gets urgent messages, and how many: messages before
// an urgent one go with it.
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

// wait returns the step for messages that all must wait.
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

// givenUp returns how many messages at the head of the queue were handed over too often.
func (q *queue) givenUp(rest []mailbox.Waiting) int {
	n := 0
	for n < len(rest) && rest[n].Try >= q.rules.Tries {
		n++
	}
	return n
}

// batch returns how many messages go together: at least one.
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

// Records returns the deliveries to write before a step is carried out. For Look and Spread
// they are known only afterwards. A message that waits as before needs no line.
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

// Looked returns the deliveries to write after a step Look; found reports whether a message
// was found in the recipient's conversation.
func (s *Step) Looked(now time.Time, found func(id string) bool) (all []mailbox.Delivery) {
	for _, w := range s.Messages {
		d := mailbox.Delivery{ID: w.ID, To: s.For.String(), State: mailbox.Confirmed, At: now}
		if !found(w.ID) {
			d.State, d.Why = mailbox.Queued, "the message did not arrive"
		}
		all = append(all, d)
	}
	return all
}

// SpreadTo returns the deliveries to write for a step Spread, one for each of these agents
// except the sender, in one write. If there are no other agents, the message is confirmed.
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

// short returns a duration for people.
func short(d time.Duration) string {
	if d >= 48*time.Hour && d%(24*time.Hour) == 0 {
		return fmt.Sprintf("%d days", d/(24*time.Hour))
	}
	return d.String()
}
