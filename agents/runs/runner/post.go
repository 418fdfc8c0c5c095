package runner

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"time"

	"cmux/agents/records/mail"
	"cmux/agents/runs/attempt"
	"cmux/agents/runs/lives"
	"cmux/agents/runs/run"
	"cmux/dag"
	"cmux/signals"
	"cmux/signals/mailbox"
)

// postman hands messages to node:NAME to the attempt of that node. It has a
// goroutine of its own: a mailbox may be long, and a wrapper slow to answer. What
// it needs of the run it asks for in the goroutine that schedules.
type postman struct {
	r      *Runner
	kicked chan struct{}
	read   map[string]map[string]bool // by node: ids of messages that its agent has read; of the goroutine that schedules

	office *mail.Office // nil: not open yet
	next   time.Time    // when to look again, whatever happens
	rest   time.Time    // until when nothing is tried, after what could not be done
	stands map[string]nodeStands
}

// nodeStands is how a node stands, as far as that decides what its agent can be
// told.
type nodeStands struct {
	mail.Recipient
	life *lives.Life // nil: there is none
	read map[string]bool
}

// postRest is how long nothing is tried after what could not be done.
const postRest = 10 * time.Second

func newPostman(r *Runner) *postman {
	return &postman{r: r, kicked: make(chan struct{}, 1), read: make(map[string]map[string]bool)}
}

// kick has it look at the mailbox.
func (p *postman) kick() {
	select {
	case p.kicked <- struct{}{}:
	default:
	}
}

// learns takes in a record: what an agent has read.
func (p *postman) learns(rec *run.Record) {
	if rec.Type != run.Confirmed {
		return
	}
	if p.read[rec.Node] == nil {
		p.read[rec.Node] = make(map[string]bool)
	}
	for _, id := range mailbox.IDs(rec.Key) {
		p.read[rec.Node][id] = true
	}
}

// run carries the mail until ctx ends. A project without a mailbox costs a look
// for one with every re-scan.
func (p *postman) run(ctx context.Context) {
	file := filepath.Join(run.Folder(p.r.Run.Plan.Root), mailbox.Name)
	var watch *signals.Watcher
	defer func() {
		if watch != nil {
			watch.Close()
		}
	}()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		var wrote <-chan signals.Notice
		if watch != nil {
			wrote = watch.C
		}
		select {
		case <-ctx.Done():
			return
		case <-wrote:
		case <-p.kicked:
		case <-timer.C:
		}
		if watch == nil {
			if _, err := os.Lstat(file); err != nil {
				continue
			}
			watch = signals.Watch(ctx, file)
		}
		p.next = time.Time{}
		p.round(ctx, time.Now(), func() error { return p.deliver(ctx, p.look) })
		if !p.next.IsZero() {
			timer.Reset(max(0, time.Until(p.next)))
		}
	}
}

// round delivers, unless the last try failed this moment: whoever kicks would have
// it tried, and said, all the time.
func (p *postman) round(ctx context.Context, now time.Time, deliver func() error) {
	if left := p.rest.Sub(now); left > 0 && left <= postRest { // else the clock was put back
		p.At(p.rest)
		return
	}
	if err := deliver(); err != nil && ctx.Err() == nil {
		p.r.Log.Error("messages to nodes could not be handed over", "err", err)
		p.rest = now.Add(postRest)
		p.At(p.rest)
	}
}

// last tells who wrote to nodes that have ended that nobody will read it: the runner
// goes, and the mail would be said to wait for it. It is called when nothing else of
// the run is under way.
func (p *postman) last(ctx context.Context) {
	if _, err := os.Lstat(filepath.Join(run.Folder(p.r.Run.Plan.Root), mailbox.Name)); err != nil {
		return
	}
	err := p.deliver(ctx, func(context.Context) error {
		p.stand()
		return nil
	})
	if err != nil {
		p.r.Log.Warn("it is not recorded which messages to nodes nobody will read", "err", err)
	}
}

// deliver hands over what waits for nodes of the run; look finds out how they stand.
func (p *postman) deliver(ctx context.Context, look func(context.Context) error) error {
	if p.office == nil {
		o, err := mail.OpenOffice(p.r.Run.Plan.Root, time.Now)
		if err != nil {
			return err
		}
		p.office = o
	}
	if _, err := p.office.Load(); err != nil { // lines that are no messages the organization tells of
		return err
	}
	p.stands = make(map[string]nodeStands)
	for _, w := range p.office.Waiting() {
		if w.For.Kind == mailbox.Node {
			p.stands[w.For.Name] = nodeStands{}
		}
	}
	if len(p.stands) == 0 {
		return nil
	}
	if err := look(ctx); err != nil || len(p.stands) == 0 {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, postRest)
	defer cancel()
	return p.office.Round(ctx, p, func(name string, err error) {
		p.r.Log.Warn("an agent did not take its mail", "node", name, "err", err)
	})
}

// look finds out how the nodes stand that mail waits for, and leaves out those
// that are not this run's.
func (p *postman) look(ctx context.Context) error {
	done := make(chan struct{})
	look := func() {
		defer close(done)
		p.stand()
	}
	select {
	case p.r.doing <- look:
		<-done
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// stand is look in the goroutine that schedules.
func (p *postman) stand() {
	lost := p.r.disowned() // a new run may have begun this moment
	for name := range p.stands {
		i := p.r.g.Index(name)
		if i < 0 || lost[i] {
			delete(p.stands, name)
			continue
		}
		p.stands[name] = p.r.standsFor(i)
	}
}

// standsFor is how node i stands for who has mail for it.
func (r *Runner) standsFor(i int) nodeStands {
	n := &r.g.Nodes[i]
	s := nodeStands{read: maps.Clone(r.postman.read[n.Name])}
	label := r.hist.State.Status(i, time.Now()).Label
	l := r.lives.Of(n.Name)
	switch {
	case !n.UsesModel() || !r.Kinds[n.Agent].Judge:
		s.Stand, s.Detail = mail.Over, fmt.Sprintf("%s has no agent that could read it", n.Name)
	case label.Result() != "":
		s.Stand, s.Detail = mail.Over, fmt.Sprintf("%s is over (%s)", n.Name, label)
	case label.State == dag.NodeTakenOver:
		s.Stand = mail.TakenOver
	case !l.Stands():
		s.Stand = mail.Starting
	default:
		s.Stand, s.life = mail.Idle, l
	}
	return s
}

// Name implements mail.Desk.
func (p *postman) Name(to mailbox.Address) (string, bool) {
	_, mine := p.stands[to.Name]
	return to.Name, mine && to.Kind == mailbox.Node
}

// Recipient implements mail.Desk.
func (p *postman) Recipient(to mailbox.Address) mail.Recipient {
	return p.stands[to.Name].Recipient
}

// HasRead implements mail.Desk.
func (p *postman) HasRead(name, id string) bool { return p.stands[name].read[id] }

// Life implements mail.Desk.
func (p *postman) Life(name string) int { return p.stands[name].life.Number() }

// Tell implements mail.Desk.
func (p *postman) Tell(ctx context.Context, name string, w *mailbox.Waiting) error {
	m := attempt.Message{Op: attempt.OpTell, Key: w.ID, Text: mail.Text(p.r.Run.Plan.Root, &w.Line), Urgency: w.Urgency}
	_, err := p.stands[name].life.Tell(ctx, m)
	return err
}

// Everybody implements mail.Desk: what is for all is for the agents that stay.
func (p *postman) Everybody() []mailbox.Address { return nil }

// At implements mail.Desk.
func (p *postman) At(t time.Time) {
	if p.next.IsZero() || t.Before(p.next) {
		p.next = t
	}
}
