// Package letters sends messages to agents and the person, and shows how each stands.
package letters

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"cmux/agents/control/project"
	"cmux/agents/org/standing"
	"cmux/agents/records/mail"
	"cmux/agents/runs/host"
	"cmux/agents/runs/run"
	"cmux/agents/runs/wrapper"
	"cmux/signals"
	"cmux/signals/mailbox"
	"cmux/worktree/hint"
)

// Letters are the messages of a project.
type Letters struct{ *project.Project }

// Letter is a message to be sent.
type Letter struct {
	To, Subject, Body string
	Urgency           mailbox.Urgency
	Re                string   // id of the message that it answers
	Attach            []string // files that go along
}

// Sent is a message that was sent.
type Sent struct {
	ID       string `json:"id"`
	From     string `json:"from"`
	To       string `json:"to"`
	Verified bool   `json:"verified"`
	Note     string `json:"note,omitempty"` // what becomes of it otherwise than was asked
}

// Send writes a message. A node's is written by its wrapper, which vouches for
// it; that of a command without a wrapper is unverified.
func (p *Letters) Send(ctx context.Context, l Letter) (Sent, error) {
	m := mailbox.Message{To: l.To, Subject: l.Subject, Body: l.Body, Urgency: l.Urgency, Re: l.Re}
	note, err := p.sendable(ctx, &m)
	if err != nil {
		return Sent{}, err
	}
	files, err := enclosures(l.Attach)
	if err != nil {
		return Sent{}, err
	}
	from, inside, err := p.Sender()
	if err != nil {
		return Sent{}, err
	}
	m.From = from.String()
	if inside {
		id, err := wrapper.Post(ctx, p.Getenv, m, files...)
		return Sent{ID: id, From: m.From, To: m.To, Verified: true, Note: note}, err
	}
	post, err := mail.Open(p.Root, p.Now)
	if err != nil {
		return Sent{}, err
	}
	person := from.Kind == mailbox.User
	if !person {
		if err := looping(post, &m, mail.Size(files)); err != nil {
			return Sent{}, err
		}
	}
	if m, err = post.Send(ctx, m, person, files...); err == nil && person {
		err = p.Settle(ctx, m.Re) // who replies has read it
	}
	return Sent{ID: m.ID, From: m.From, To: m.To, Verified: person, Note: note}, err
}

// sendable refuses what nobody would get, or what is not the caller's to say.
func (p *Letters) sendable(ctx context.Context, m *mailbox.Message) (note string, err error) {
	to, err := mailbox.ParseAddress(m.To)
	if err != nil {
		return "", project.Usage("cmux mailbox send --help", "%w", err)
	}
	var own *mail.PrefixError
	if errors.As(mail.CheckPrefix(m.Subject), &own) {
		return "", project.Usage("use "+own.Try, "%w", own)
	}
	check := *m
	check.ID, check.From, check.Body = "x", "user", ""
	if err := check.Check(); err != nil {
		return "", project.Usage("cmux mailbox send --help", "the message cannot be sent: %w", err)
	}
	if err := p.betweenRooms(to); err != nil {
		return "", err
	}
	return p.reaches(ctx, to, m.Urgency)
}

// betweenRooms refuses mail to a member of a room, and of one to anybody but the person: it
// would be turns that the room knows nothing of, without its bounds.
func (p *Letters) betweenRooms(to mailbox.Address) error {
	org, err := standing.Open(p.Root)
	if err != nil {
		return nil // there are no members
	}
	if a := org.Agents[to.Name]; to.Kind == mailbox.Agent && a != nil && a.InRoom() {
		roomName, name, _ := strings.Cut(a.Name, ".")
		return hint.New(fmt.Errorf("%s is a member of a room, and gets no mail: nothing was sent", a.Name), "cmux rooms say "+roomName+" TEXT --to "+name)
	}
	from, _, err := p.Sender()
	if err != nil {
		return err
	}
	if a := org.Agents[from.Name]; from.Kind == mailbox.Agent && a != nil && a.InRoom() && to.Kind != mailbox.User {
		return fmt.Errorf("%s is a member of a room, and speaks by the answers of its turns: nothing was sent", a.Name)
	}
	return nil
}

// looping refuses what the sender has sent too often, going by the mailbox.
func looping(post *mail.Post, m *mailbox.Message, files int64) error {
	var loops mail.Loops
	_, err := post.Box.Read(mailbox.Place{}, nil, func(l mailbox.Line) error {
		if l.From == m.From {
			_ = loops.Admit(&l.Message, mail.Stored(post.Journal.Root, &l.Message), l.TS) // it was sent
		}
		return nil
	})
	if err != nil {
		return err
	}
	return loops.Admit(m, files, post.Now())
}

// Mail is a message as it is shown.
type Mail struct {
	ID         string          `json:"id"`
	TS         time.Time       `json:"ts"`
	From       string          `json:"from"`
	To         string          `json:"to"`
	Subject    string          `json:"subject"`
	Body       string          `json:"body"` // whole with ReadMail; else a long one is in File alone
	File       string          `json:"file"` // of a long body, from the project's root
	Verified   bool            `json:"verified"`
	Urgency    mailbox.Urgency `json:"urgency"`
	Re         string          `json:"re"`
	Task       string          `json:"task"`
	Deliveries []MailDelivery  `json:"deliveries"`
}

// MailDelivery is how a message stands with one of its recipients.
type MailDelivery struct {
	To    string        `json:"to"`
	State mailbox.State `json:"state"`
	Why   string        `json:"why"`
	At    time.Time     `json:"at"`
}

// Waits reports whether the message has not reached a recipient.
func (m *Mail) Waits() bool {
	return slices.ContainsFunc(m.Deliveries, func(d MailDelivery) bool { return !d.State.Final() })
}

// MailQuery says which messages are asked for; the zero value: all.
type MailQuery struct {
	To, From string // addresses
	Inbox    bool   // for the caller
	Waiting  bool   // that have not reached a recipient
	Last     int    // at most so many, the newest; 0: all
}

// Mails are messages, oldest first.
type Mails struct {
	Messages []Mail        `json:"messages"`
	Skipped  []mailbox.Bad `json:"skipped"` // lines that are no messages
	More     int           `json:"more"`    // how many older ones fit and are not among them
}

// List is the project's mail that a query asks for.
func (p *Letters) List(ctx context.Context, q MailQuery) (*Mails, error) {
	out := &Mails{Messages: []Mail{}}
	bad, err := p.Each(q, func(m Mail) bool {
		if q.Last > 0 && len(out.Messages) == q.Last {
			out.More++
		} else {
			out.Messages = append(out.Messages, m)
		}
		return true
	})
	slices.Reverse(out.Messages)
	p.explainHanded(ctx, out.Messages)
	out.Skipped = append([]mailbox.Bad{}, bad...)
	return out, err
}

// Page is so many of the messages that a query asks for, newest first: those
// before the one with an id, or the newest where that is empty. more says that there
// are older ones.
func (p *Letters) Page(ctx context.Context, q MailQuery, before string, most int) (page []Mail, more bool, err error) {
	page, passed := []Mail{}, before == ""
	_, err = p.Each(q, func(m Mail) bool {
		switch {
		case !passed:
			passed = m.ID == before
		case len(page) == most:
			more = true
			return false
		default:
			page = append(page, m)
		}
		return true
	})
	if err == nil && !passed {
		err = project.Usage("", "there is no message %q before which others could be", before)
	}
	p.explainHanded(ctx, page)
	return page, more, err
}

// Each yields the messages that a query asks for, newest first.
func (p *Letters) Each(q MailQuery, yield func(Mail) bool) (bad []mailbox.Bad, err error) {
	if q.Inbox {
		me, _, err := p.Sender()
		if err != nil {
			return nil, err
		}
		q.To = me.String()
	}
	for _, a := range []string{q.To, q.From} {
		if _, err := mailbox.ParseAddress(a); a != "" && err != nil {
			return nil, project.Usage("cmux mailbox list --help", "%w", err)
		}
	}
	why := make(map[string]string)
	err = p.WithLedger(func(l *mailbox.Ledger, skipped []mailbox.Bad) error {
		bad = slices.Clone(skipped)
		for m := range l.Backward {
			if m.Type != "" || q.From != "" && m.From != q.From {
				continue
			}
			one := shown(l, *m)
			if !q.fits(&one) {
				continue
			}
			for i := range one.Deliveries {
				p.explain(&one.Deliveries[i], why)
			}
			if !yield(one) {
				break
			}
		}
		return nil
	})
	return bad, err
}

// explain says what a message waits for whose recipient is a node that no runner has:
// nobody else would record it. known are the reasons by address.
func (p *Letters) explain(d *MailDelivery, known map[string]string) {
	to, err := mailbox.ParseAddress(d.To)
	if err != nil || to.Kind != mailbox.Node || d.State.Final() {
		return
	}
	why, asked := known[d.To]
	if !asked {
		gone, kept, err := run.NodeKept(p.Root, to.Name, p.Now())
		if why = gone; gone == "" && !kept && err == nil {
			why = "its run, which has no runner: cmux agents resume"
		}
		known[d.To] = why
	}
	d.Why = cmp.Or(why, d.Why)
}

// explainHanded says what the messages wait for that were handed to the wrappers of
// agents: each wrapper knows for its own. The first message for an agent asks it.
func (p *Letters) explainHanded(ctx context.Context, all []Mail) {
	asked := make(map[string]func(id string) string)
	for i := range all {
		for j := range all[i].Deliveries {
			d := &all[i].Deliveries[j]
			if d.State != mailbox.Handed || d.Why != "" {
				continue
			}
			to, err := mailbox.ParseAddress(d.To)
			if err != nil || to.Kind == mailbox.All || to.Kind == mailbox.User {
				continue
			}
			if asked[d.To] == nil {
				asked[d.To] = p.askWaits(ctx, to)
			}
			d.Why = asked[d.To](all[i].ID)
		}
	}
}

// askWaits asks the wrapper of an agent or a node what the messages wait for that it
// was handed.
func (p *Letters) askWaits(ctx context.Context, to mailbox.Address) func(id string) string {
	always := func(why string) func(string) string { return func(string) string { return why } }
	var r *run.Run
	var ref host.Ref
	switch to.Kind {
	case mailbox.Node:
		at, a, err := run.NodeAt(p.Root, to.Name)
		if err != nil || a == nil {
			return always("its next attempt")
		}
		if a.Place.Away() {
			return always("its agent, which is on " + cmp.Or(a.Place.Machine, "another machine"))
		}
		r, ref = at, host.Ref{Node: to.Name, N: a.N}
	default:
		org, err := p.Org()
		if err != nil {
			return always("its organization, which cannot be read")
		}
		a := org.Agents[to.In(org.Run.Plan.Session).Name]
		switch word, detail := mailStand(a, p.Now(), org.Stopped); {
		case a == nil:
			return always("there is no such agent")
		case word != "":
			return always(strings.TrimSuffix(word+": "+detail, ": "))
		}
		r, ref = org.Run, host.Ref{Node: a.Name, N: a.Life.N}
	}
	s, err := host.Standing(ctx, r, ref)
	if err != nil || s == nil {
		return always("its program, which does not answer")
	}
	return func(id string) string { return cmp.Or(s.Waits[id], "cmux to record that it was read") }
}

// mailStand is what mail waits for of an agent that has no wrapper; empty: it has one.
func mailStand(a *standing.Agent, now time.Time, stopped bool) (word, detail string) {
	if a == nil || a.Life.On() {
		return "", ""
	}
	w, detail := a.Stands(now, stopped)
	if w == standing.Stopped {
		return "its start", "it was stopped"
	}
	return "its program, which has ended", detail
}

func (q *MailQuery) fits(m *Mail) bool {
	mine := m.Deliveries
	if q.To != "" {
		mine = slices.DeleteFunc(slices.Clone(mine), func(d MailDelivery) bool { return d.To != q.To })
		if len(mine) == 0 {
			return false
		}
	}
	return !q.Waiting || slices.ContainsFunc(mine, func(d MailDelivery) bool { return !d.State.Final() })
}

func shown(l *mailbox.Ledger, m mailbox.Line) Mail {
	one := Mail{ID: m.ID, TS: m.TS, From: m.From, To: m.To, Subject: m.Subject, Body: m.Body, Verified: m.Verified, Urgency: m.Urgency, Re: m.Re, Task: m.Task, Deliveries: []MailDelivery{}}
	if rel, ok := m.Attached(); ok {
		one.Body, one.File = "", filepath.ToSlash(filepath.Join(signals.Folder, rel))
	}
	to := l.Recipients(&m.Message)
	if len(to) == 0 {
		to = []mailbox.Address{{Kind: mailbox.All}}
	}
	for _, a := range to {
		s := l.Status(m.ID, a)
		one.Deliveries = append(one.Deliveries, MailDelivery{a.String(), s.State, s.Why, s.At})
	}
	return one
}

// Has reports whether there is a message of an id.
func (p *Letters) Has(id string) (there bool, err error) {
	err = p.WithLedger(func(l *mailbox.Ledger, _ []mailbox.Bad) error {
		there = l.Known(id)
		return nil
	})
	return there, err
}

// message finds a message by its id or the beginning of it.
func (p *Letters) message(id string) (one Mail, line mailbox.Line, err error) {
	err = p.WithLedger(func(l *mailbox.Ledger, _ []mailbox.Bad) error {
		m, ok := l.Find(id)
		if !ok {
			var found []mailbox.Line
			l.Lines(func(m mailbox.Line) bool {
				if m.Type == "" && id != "" && strings.HasPrefix(m.ID, id) {
					found = append(found, m)
				}
				return len(found) < 2
			})
			switch len(found) {
			case 0:
				return hint.New(project.Tag(fmt.Errorf("there is no message %q", id), project.ErrMissing), "cmux mailbox list")
			case 2:
				return hint.New(fmt.Errorf("%q begins the ids of several messages", id), "more of its id: cmux mailbox list")
			}
			m = found[0]
		}
		one, line = shown(l, m), m
		return nil
	})
	return one, line, err
}

// Read is a message with its whole body. What a person reads of their own has
// reached them.
func (p *Letters) Read(ctx context.Context, id string) (Mail, error) {
	one, line, err := p.peek(id)
	if err != nil {
		return one, err
	}
	me, _, err := p.Sender()
	if err != nil || me.Kind != mailbox.User || line.To != me.String() || one.Deliveries[0].State == mailbox.Confirmed {
		return one, err
	}
	post, err := mail.Open(p.Root, p.Now)
	if err != nil {
		return one, err
	}
	d := mailbox.Delivery{ID: line.ID, To: line.To, State: mailbox.Confirmed, At: p.Now().UTC()}
	one.Deliveries[0] = MailDelivery{d.To, d.State, d.Why, d.At}
	return one, post.Box.Record(ctx, d)
}

// Peek is a message with its whole body, which has reached nobody by that.
func (p *Letters) Peek(id string) (Mail, error) {
	one, _, err := p.peek(id)
	return one, err
}

func (p *Letters) peek(id string) (Mail, mailbox.Line, error) {
	one, line, err := p.message(id)
	if err != nil {
		return Mail{}, line, err
	}
	box, err := mail.Box(p.Root)
	if err != nil {
		return Mail{}, line, err
	}
	one.Body, err = mail.Body(box, &line.Message)
	return one, line, err
}

// Retry has a message that was given up tried again, and returns for whom.
func (p *Letters) Retry(ctx context.Context, id string) (to []string, err error) {
	one, line, err := p.message(id)
	if err != nil {
		return nil, err
	}
	var again []mailbox.Delivery
	for _, d := range one.Deliveries {
		a, err := mailbox.ParseAddress(d.To)
		if err == nil && a.Kind != mailbox.All && (d.State == mailbox.Failed || d.State == mailbox.Expired) {
			again = append(again, mailbox.Delivery{ID: line.ID, To: d.To, State: mailbox.Queued, Why: "it is tried again", At: p.Now().UTC()})
			to = append(to, d.To)
		}
	}
	if len(again) == 0 {
		return nil, hint.New(fmt.Errorf("message %s was not given up, so there is nothing to try again", line.ID), "cmux mailbox read "+line.ID)
	}
	post, err := mail.Open(p.Root, p.Now)
	if err != nil {
		return nil, err
	}
	return to, post.Box.Record(ctx, again...)
}

// Follow tells of the last messages, and of each that is written until ctx
// ends.
func (p *Letters) Follow(ctx context.Context, last int, each func(Mail) error) error {
	box, err := mail.Box(p.Root)
	if err != nil {
		return err
	}
	w := signals.Watch(ctx, run.Folder(p.Root))
	defer w.Close()
	var l mailbox.Ledger
	var at mailbox.Places
	told := -1
	look := time.NewTicker(2 * time.Second) // for file systems that tell nothing
	defer look.Stop()
	for {
		if _, err := l.Load(box, &at); err != nil {
			return err
		}
		if told < 0 {
			told = max(0, l.Len()-last)
		}
		n := 0
		var failed error
		l.Lines(func(m mailbox.Line) bool {
			if n++; n > told && m.Type == "" {
				failed = each(shown(&l, m))
			}
			return failed == nil
		})
		if failed != nil {
			return failed
		}
		told = l.Len()
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-w.C:
		case <-look.C:
		}
	}
}

// IDs are the ids of messages, the newest first; of those that were given up
// alone when failed says so.
func (p *Letters) IDs(failed bool) (ids []string, err error) {
	_, err = p.Each(MailQuery{}, func(m Mail) bool {
		gaveUp := func(d MailDelivery) bool { return d.State == mailbox.Failed || d.State == mailbox.Expired }
		if !failed || slices.ContainsFunc(m.Deliveries, gaveUp) {
			ids = append(ids, m.ID+"\t"+fmt.Sprintf("%s: %s", m.From, m.Subject))
		}
		return true
	})
	return ids, err
}

// TellAgent tells an agent what was done with it. That it cannot be told undoes nothing.
func (p *Letters) TellAgent(ctx context.Context, to, subject, body string) {
	if _, err := p.Send(ctx, Letter{To: to, Subject: subject, Body: body}); err != nil {
		p.Tell(fmt.Sprintf("%s could not be told: %v", to, err))
	}
}

// SendTo writes a message to a worker; its first line is the subject.
func (p *Letters) SendTo(ctx context.Context, name, text string) (Sent, error) {
	_, a, err := p.StandingAgent(name)
	if err != nil {
		return Sent{}, err
	}
	subject, body, _ := strings.Cut(strings.TrimSpace(text), "\n")
	if subject == "" {
		return Sent{}, project.Usage("", "the message is empty")
	}
	if len(subject) > mailbox.MaxSubject {
		body = text
		subject = strings.ToValidUTF8(subject[:mailbox.MaxSubject-3], "") + "…"
	}
	return p.Send(ctx, Letter{To: a.Name, Subject: subject, Body: strings.TrimSpace(body)})
}
