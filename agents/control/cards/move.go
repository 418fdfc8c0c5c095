package cards

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"cmux/agents/control/project"
	"cmux/agents/org/card"
	"cmux/agents/org/task"
	"cmux/agents/room"
	"cmux/worktree/hint"
)

// Every order about a card has the version of it that its giver has seen; 0: whichever there is.
// Nothing is done to a card that has changed since.

// Move moves a card to another column, by whatever takes it there. why says why it is sent back.
// Sure is for what asks whether the person is.
func (p *Cards) Move(ctx context.Context, id string, saw int, to task.Column, why string, sure func() error) (*CardView, error) {
	if !slices.Contains(task.Columns(), to) {
		return nil, project.Usage("", "%q is no column of cards: %s", to, columns())
	}
	l, err := p.TaskList()
	if err != nil {
		return nil, err
	}
	t, err := find(l, id)
	if err != nil {
		return nil, err
	}
	work := l.Work(t)
	moves := card.Moves(t, work)
	i := slices.IndexFunc(moves, func(m card.Move) bool { return m.To == to })
	if i < 0 {
		return nil, hint.New(fmt.Errorf("card %s does not move to %s: %s", id, to, card.Refused(t, work, to)), "cmux cards show "+id)
	}
	if saw == 0 {
		saw = t.Version // what the move does was decided by it
	}
	switch moves[i].Do {
	case card.Starts:
		return p.Start(ctx, id, saw, false)
	case card.Approves:
		return p.Approve(ctx, id, saw)
	case card.SendsBack:
		return p.SendBack(ctx, id, saw, why)
	case card.PutsBack:
		return p.PutBack(ctx, id, saw)
	}
	if err := sure(); err != nil {
		return nil, err
	}
	return p.Done(ctx, id, saw, why)
}

func columns() string {
	var all []string
	for _, c := range task.Columns() {
		all = append(all, string(c))
	}
	return strings.Join(all, ", ")
}

// PutBack puts a card that nobody works on back into the backlog.
func (p *Cards) PutBack(ctx context.Context, id string, saw int) (*CardView, error) {
	l, err := p.Tasks.Write(ctx, func(l *task.List) ([]task.Change, error) {
		t, err := seen(l, id, saw)
		if err != nil {
			return nil, err
		}
		work := l.Work(t)
		if work != t || work.State != task.Open || t.Card.Phase == "" {
			return nil, hint.New(fmt.Errorf("card %s is not put back: %s", id, card.Refused(t, work, task.InBacklog)), "cmux cards show "+id)
		}
		next, backlog := card.PutBack(*t.Card), true
		return []task.Change{{Task: t.ID, Saw: t.Version, Op: task.OpEdit, Fields: task.Fields{Card: &next, Backlog: &backlog}}}, nil
	})
	if err != nil {
		return nil, err
	}
	v := view(l, l.Get(id), p.org())
	return &v, nil
}

// Done calls a card done, whatever its own result is.
func (p *Cards) Done(ctx context.Context, id string, saw int, reason string) (*CardView, error) {
	return p.ends(ctx, id, saw, func(_ *task.List, _, work *task.Task) error {
		_, err := p.Tasks.Override(ctx, work.ID, reason)
		return err
	})
}

// Cancel cancels a card with its work.
func (p *Cards) Cancel(ctx context.Context, id string, saw int, reason string) (*CardView, error) {
	return p.ends(ctx, id, saw, func(l *task.List, t, work *task.Task) error {
		if err := over(l, t); err != nil {
			return err
		}
		_, err := p.Tasks.Move(ctx, work.ID, task.Cancelled, reason)
		return err
	})
}

// ends ends the newest work of a card.
func (p *Cards) ends(ctx context.Context, id string, saw int, end func(l *task.List, t, work *task.Task) error) (*CardView, error) {
	l, err := p.TaskList()
	if err != nil {
		return nil, err
	}
	t, err := seen(l, id, saw)
	if err != nil {
		return nil, err
	}
	if work := l.Work(t); work.State == task.Done {
		return nil, hint.New(fmt.Errorf("the work of card %s is %s", id, work.Label()), "cmux cards show "+id)
	} else if err := end(l, t, work); err != nil {
		return nil, err
	}
	return p.Card(id)
}

// Delegate asks who does what about a card: its coordinator, or all members, who do not see
// each other's answers. If these agree they are taken.
func (p *Cards) Delegate(ctx context.Context, id string, saw int) (*CardView, error) {
	if _, err := p.change(ctx, id, saw, func(l *task.List, t *task.Task) (task.Change, error) {
		if err := over(l, t); err != nil {
			return task.Change{}, err
		}
		switch c := t.Card; {
		case t.State != task.Open || c.Phase != "" && c.Phase != task.Delegating:
			return task.Change{}, project.Usage("cmux cards edit --help", "card %s has begun: %s", id, t.CardLabel(l.Work(t)))
		case c.Phase == task.Delegating && c.Waits == "":
			return task.Change{}, project.Usage("cmux cards show "+id, "members are asked who does what about card %s", id)
		}
		if err := p.open(t); err != nil {
			return task.Change{}, err
		}
		next := card.Delegate(*t.Card)
		return task.Change{Op: task.OpCard, Fields: task.Fields{Card: &next}}, nil
	}); err != nil {
		return nil, err
	}
	return p.carried(ctx, id)
}

// open says that the room of a card is gone or closed; nil: it is open.
func (p *Cards) open(t *task.Task) error {
	s, _, err := p.state(t.Card.Room)
	if err == nil && s.Closed {
		err = hint.New(fmt.Errorf("the room %s is closed", s.Name), "cmux rooms reopen "+s.Name)
	}
	return err
}

// Pick takes what one member has answered when it was asked who does what.
func (p *Cards) Pick(ctx context.Context, id string, saw int, by string) (*CardView, error) {
	return p.change(ctx, id, saw, func(_ *task.List, t *task.Task) (task.Change, error) {
		if t.Card.Phase != task.Delegating {
			return task.Change{}, hint.New(fmt.Errorf("nobody is asked who does what about card %s", id), "cmux cards delegate "+id)
		}
		s, lines, err := p.state(t.Card.Room)
		if err != nil {
			return task.Change{}, err
		}
		all, _ := offers(t, s, lines)
		i := slices.IndexFunc(all, func(o card.Offer) bool { return o.By == by && o.Message != 0 })
		if i < 0 {
			return task.Change{}, hint.New(fmt.Errorf("%s has not answered who does what about card %s", by, id), "cmux cards show "+id)
		}
		next, why := card.Delegated(*t.Card, all[i:i+1], names(s))
		if why != "" {
			return task.Change{}, hint.New(fmt.Errorf("the answer of %s is not taken: %s", by, why), "cmux cards edit "+id+" --implementer NAME")
		}
		return task.Change{Op: task.OpCard, Fields: task.Fields{Card: &next}}, nil
	})
}

// names are the members of a room who can be given a role.
func names(s *room.State) (all []string) {
	for i := range s.Members {
		if m := &s.Members[i]; !m.Guest && !m.Gone {
			all = append(all, m.Name)
		}
	}
	return all
}

// asked are the members who say who does what about a card.
func asked(t *task.Task, s *room.State) []string {
	if c := t.Card.Coordinator; c != "" {
		return []string{c}
	}
	return names(s)
}

// offers are the answers about who does what, and whether more can come.
func offers(t *task.Task, s *room.State, lines []room.Line) (all []card.Offer, open bool) {
	prefix := card.OfferKey(t.ID, t.Card, "")
	for i := range lines {
		l := &lines[i]
		if l.By != room.Cmux || l.Card != t.ID || !l.Blind || !strings.HasPrefix(l.Key, prefix) {
			continue
		}
		o := card.Offer{By: l.To, Roles: card.Named("", nil)}
		_, said, over, why := room.CardAnswer(lines, l.Key)
		if said != nil && over {
			o.Message, o.Roles = said.N, card.Named(said.Text+"\n"+said.Aside, names(s))
		}
		o.Why = why
		open = open || !over
		all = append(all, o)
	}
	return all, open
}

// delegates asks the members, once each, and takes what they answer.
func (p *Cards) delegates(ctx context.Context, t *task.Task) error {
	s, lines, err := p.state(t.Card.Room)
	switch {
	case errors.Is(err, project.ErrMissing):
		return p.waits(ctx, t, fmt.Sprintf("the room %s is gone", t.Card.Room))
	case err != nil:
		return err
	}
	all, open := offers(t, s, lines)
	if len(all) == 0 {
		return p.asksAll(ctx, t, s)
	}
	if open && s.Closed {
		return p.waits(ctx, t, fmt.Sprintf("the room %s is closed", s.Name))
	} else if open {
		return nil
	}
	next, why := card.Delegated(*t.Card, all, names(s))
	if why != "" {
		next.Waits = "who does what? " + why
	}
	return p.write(ctx, t, next)
}

// asksAll asks all of them in one step, so that none sees what another one answers.
func (p *Cards) asksAll(ctx context.Context, t *task.Task, s *room.State) error {
	if s.Closed {
		return p.waits(ctx, t, fmt.Sprintf("the room %s is closed", t.Card.Room))
	}
	var there []string
	for i := range s.Members {
		if m := &s.Members[i]; !m.Guest && !m.Gone {
			is := m.Agent
			if m.Role != "" {
				is += ", " + m.Role
			}
			there = append(there, m.Name+" ("+is+")")
		}
	}
	who := asked(t, s)
	switch {
	case len(who) == 0:
		return p.waits(ctx, t, "nobody is in the room")
	case !slices.Contains(names(s), who[0]):
		return p.waits(ctx, t, who[0]+" is not in the room any more")
	}
	return p.append(ctx, t.Card.Room, func(s *room.State, so []room.Line) (ask []room.Line) {
		if all, _ := offers(t, s, so); len(all) > 0 {
			return nil
		}
		for _, name := range asked(t, s) {
			if slices.Contains(names(s), name) {
				ask = append(ask, room.AskBlind(t.ID, name, card.OfferKey(t.ID, t.Card, name), card.WhoDoes(t, there)))
			}
		}
		return ask
	})
}

// seen is a card in the version that its giver has seen.
func seen(l *task.List, id string, saw int) (*task.Task, error) {
	t, err := find(l, id)
	if err != nil {
		return nil, err
	}
	if saw != 0 && saw != t.Version {
		return nil, hint.New(fmt.Errorf("card %s has changed since you looked at it: %s", id, t.CardLabel(l.Work(t))), "cmux cards show "+id)
	}
	return t, nil
}

// change makes one change of a card as it is now. It is a person's.
func (p *Cards) change(ctx context.Context, id string, saw int, decide func(*task.List, *task.Task) (task.Change, error)) (*CardView, error) {
	l, err := p.Tasks.Write(ctx, func(l *task.List) ([]task.Change, error) {
		t, err := seen(l, id, saw)
		if err != nil {
			return nil, err
		}
		c, err := decide(l, t)
		c.Task, c.Saw = t.ID, t.Version
		return []task.Change{c}, err
	})
	if err != nil {
		return nil, err
	}
	v := view(l, l.Get(id), p.org())
	return &v, nil
}
