// Package cards shows and changes the cards of rooms, for the command line and for the page,
// and carries them on: Carry asks members what is theirs to say, and makes a worker for what is
// to be implemented. Whatever it does it finds again, so that nothing is done twice after a
// crash. A card is a task (package task); where it stands, package card decides.
package cards

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"cmux/agents/control/crew"
	"cmux/agents/control/project"
	"cmux/agents/control/rooms"
	"cmux/agents/control/tasks"
	"cmux/agents/org/card"
	"cmux/agents/org/task"
	"cmux/agents/room"
	"cmux/worktree/hint"
)

// Cards are the cards of a project.
type Cards struct {
	*project.Project
	Tasks *tasks.Tasks
	Rooms *rooms.Rooms
	Crew  *crew.Crew
}

// View is a card as it is shown.
type View struct {
	tasks.TaskView
	Label  string      `json:"label"`  // of the card
	Column task.Column `json:"column"` // empty: it was cancelled
	Work   string      `json:"work"`   // the task with its newest work
	Merge  bool        `json:"merge"`  // the work may be merged
}

func (p *Cards) view(l *task.List, t *task.Task) View {
	work := l.Work(t)
	v := View{TaskView: tasks.ViewOf(l, t, p.org()), Label: t.CardLabel(work), Column: t.Column(work), Work: work.ID, Merge: work.State == task.Done && l.Approved(t)}
	if w := t.Card; w.Phase == task.Implementing && !work.State.Over() && w.Waits == "" && work.State != task.Open {
		v.Label = tasks.ViewOf(l, work, p.org()).Label
	}
	return v
}

// List is the cards of a room, or of all with an empty name, in the order in which they came
// to be.
func (p *Cards) List(roomName string) ([]View, error) {
	if roomName != "" {
		if _, err := p.Rooms.Show(roomName); err != nil {
			return nil, err
		}
	}
	l, err := p.TaskList()
	if err != nil {
		return nil, err
	}
	all := []View{}
	for _, t := range l.All() {
		if t.Card != nil && (roomName == "" || t.Card.Room == roomName) {
			all = append(all, p.view(l, t))
		}
	}
	return all, nil
}

// Card is one of them.
func (p *Cards) Card(id string) (*View, error) {
	l, err := p.TaskList()
	if err != nil {
		return nil, err
	}
	t, err := find(l, id)
	if err != nil {
		return nil, err
	}
	v := p.view(l, t)
	return &v, nil
}

func find(l *task.List, id string) (*task.Task, error) {
	t := l.Get(id)
	switch {
	case t == nil:
		return nil, hint.New(project.Tag(fmt.Errorf("there is no card %q", id), project.ErrMissing), "cmux cards list")
	case t.Card == nil:
		return nil, project.Usage("cmux tasks show "+id, "%s is a task, and no card of a room", id)
	}
	return t, nil
}

// Roles are who does what about a card, by their names in the room. Nil: as it is.
type Roles struct {
	Coordinator *string `json:"coordinator,omitempty" doc:"Member that says what matters; empty: nobody"`
	Planner     *string `json:"planner,omitempty" doc:"Member that plans; empty: nobody"`
	Implementer *string `json:"implementer,omitempty" doc:"Member like which a worker is made"`
	Reviewer    *string `json:"reviewer,omitempty" doc:"Member that reviews plan and work; empty: nobody"`
}

// apply sets the roles, whose names must be those of members.
func (r Roles) apply(c *task.Card, s *room.State) error {
	for _, one := range []struct {
		option string
		name   *string
		to     *string
	}{{"--coordinator", r.Coordinator, &c.Coordinator}, {"--planner", r.Planner, &c.Planner}, {"--implementer", r.Implementer, &c.Implementer}, {"--reviewer", r.Reviewer, &c.Reviewer}} {
		if one.name == nil {
			continue
		}
		if *one.name != "" && !slices.Contains(s.Names(), *one.name) {
			return project.Usage("", "%s %s: nobody in the room %s is called so: %s", one.option, *one.name, s.Name, strings.Join(s.Names(), ", "))
		}
		*one.to = *one.name
	}
	return nil
}

// state is a room by its name.
func (p *Cards) state(name string) (*room.State, []room.Line, error) {
	if _, err := p.Rooms.Show(name); err != nil { // it says what is wrong, and what to do
		return nil, nil, err
	}
	_, lines, _, err := p.Room(name)
	if err != nil {
		return nil, nil, err
	}
	s := room.Fold(name, lines)
	return &s, lines, nil
}

// Add adds a card to the backlog of a room.
func (p *Cards) Add(ctx context.Context, roomName string, f task.Fields, r Roles) (*View, error) {
	s, _, err := p.state(roomName)
	if err != nil {
		return nil, err
	}
	c := task.Card{Room: roomName}
	if err := r.apply(&c, s); err != nil {
		return nil, err
	}
	backlog := true
	f.Card, f.Backlog = &c, &backlog
	v, err := p.Tasks.Add(ctx, f)
	if err != nil {
		return nil, err
	}
	return p.Card(v.ID)
}

// Edit changes a card whose work is not over: its text, or who does what. It is for a person.
func (p *Cards) Edit(ctx context.Context, id string, f task.Fields, r Roles) (*View, error) {
	return p.change(ctx, id, func(_ *task.List, t *task.Task) (task.Change, error) {
		s, _, err := p.state(t.Card.Room)
		if err != nil {
			return task.Change{}, err
		}
		c := *t.Card
		if err := r.apply(&c, s); err != nil {
			return task.Change{}, err
		}
		if f.Card = nil; c != *t.Card {
			f.Card = &c
		}
		if f == (task.Fields{Card: f.Card}) && f.Card != nil {
			return task.Change{Op: task.OpCard, Fields: f}, nil
		}
		return task.Change{Op: task.OpEdit, Fields: f}, nil
	})
}

// Start begins a card, or lets one go on that waits for the person.
func (p *Cards) Start(ctx context.Context, id string) (*View, error) {
	if _, err := p.change(ctx, id, func(l *task.List, t *task.Task) (task.Change, error) {
		switch missing := card.Missing(t.Card); {
		case len(missing) > 0:
			return task.Change{}, hint.New(fmt.Errorf("card %s has nobody for %s", id, strings.Join(missing, ", ")), "cmux cards edit "+id+" "+missing[0]+" NAME")
		case t.Card.Phase != "" && t.Card.Waits == "":
			return task.Change{}, project.Usage("cmux cards show "+id, "card %s is under way: %s", id, t.CardLabel(l.Work(t)))
		}
		next := card.Begin(*t.Card)
		return task.Change{Op: task.OpCard, Fields: task.Fields{Card: &next}}, nil
	}); err != nil {
		return nil, err
	}
	return p.carried(ctx, id)
}

// Approve is content with the card's plan, or with its work.
func (p *Cards) Approve(ctx context.Context, id string) (*View, error) {
	if _, err := p.change(ctx, id, func(l *task.List, t *task.Task) (task.Change, error) {
		work := l.Work(t)
		switch c := t.Card; {
		case c.Phase == "":
			return task.Change{}, hint.New(fmt.Errorf("nobody has begun card %s", id), "cmux cards start "+id)
		case c.Approved != "":
			return task.Change{}, project.Usage("cmux tasks merge", "card %s was approved by %s", id, c.Approved)
		case c.Phase == task.Implementing && work.State != task.Done:
			return task.Change{}, project.Usage("cmux cards show "+id, "the work of card %s is %s: there is nothing to approve yet", id, work.Label())
		}
		next := card.Approve(*t.Card)
		return task.Change{Op: task.OpCard, Fields: task.Fields{Card: &next}}, nil
	}); err != nil {
		return nil, err
	}
	return p.carried(ctx, id)
}

// SendBack is not content, and says why: the plan is made again, or the work continued.
func (p *Cards) SendBack(ctx context.Context, id, why string) (*View, error) {
	if strings.TrimSpace(why) == "" {
		return nil, project.Usage("", "say why card %s is sent back", id)
	}
	if _, err := p.change(ctx, id, func(l *task.List, t *task.Task) (task.Change, error) {
		c := *t.Card
		switch work := l.Work(t); {
		case c.Phase == "":
			return task.Change{}, hint.New(fmt.Errorf("nobody has begun card %s", id), "cmux cards start "+id)
		case c.Phase == task.Implementing && work.State == task.Done:
			c.Phase = task.WorkReview
		case c.Phase == task.Implementing:
			return task.Change{}, hint.New(fmt.Errorf("%s works on card %s", cmp.Or(work.Agent, "nobody yet"), id), "cmux workers send "+cmp.Or(work.Agent, "NAME")+" TEXT")
		}
		next := card.SendBack(c, 0, why)
		return task.Change{Op: task.OpCard, Fields: task.Fields{Card: &next}}, nil
	}); err != nil {
		return nil, err
	}
	return p.carried(ctx, id)
}

// change makes one change of a card as it is now. It is a person's.
func (p *Cards) change(ctx context.Context, id string, decide func(*task.List, *task.Task) (task.Change, error)) (*View, error) {
	l, err := p.Tasks.Write(ctx, func(l *task.List) ([]task.Change, error) {
		t, err := find(l, id)
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
	v := p.view(l, l.Get(id))
	return &v, nil
}
