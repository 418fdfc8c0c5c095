// Package cards shows and changes the cards of rooms, for the command line and for the page,
// and carries them on: Carry asks members what is theirs to say, and makes a worker for what is
// to be implemented. Whatever it does it finds again, so that nothing is done twice after a
// crash. A card is a task (package task); where it stands, package card decides.
package cards

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"cmux/agents/control/commands"
	"cmux/agents/control/configfile"
	"cmux/agents/control/crew"
	"cmux/agents/control/project"
	"cmux/agents/control/rooms"
	"cmux/agents/control/tasks"
	"cmux/agents/org/card"
	"cmux/agents/org/standing"
	"cmux/agents/org/task"
	"cmux/agents/room"
	"cmux/agents/room/book"
	"cmux/worktree/hint"
)

// Cards are the cards of a project.
type Cards struct {
	*project.Project
	Tasks *tasks.Tasks
	Rooms *rooms.Rooms
	Crew  *crew.Crew

	told map[string]string // what the members of its room know of a card, by its id: see tells

	Commands       *commands.Commands
	Configurations *configfile.Files
	StartRun       func(context.Context, commands.Start) (*standing.RunMade, error) // so that it outlives the caller
}

// CardView is a card as it is shown.
type CardView struct {
	tasks.TaskView
	Label  string      `json:"label"`  // of the card
	Column task.Column `json:"column"` // empty: it was cancelled
	Work   string      `json:"work"`   // the task with its newest work
	Merge  bool        `json:"merge"`  // the work may be merged
	Needs  string      `json:"needs"`  // why it goes on only when the person does something; empty: it goes on by itself, or is over
	Moves  []card.Move `json:"moves"`  // that a person may make now

	Offers []card.Offer `json:"offers,omitempty" nullable:"false" doc:"Who does what, as members have answered: only of one card"`
	Texts  *Texts       `json:"texts,omitempty" doc:"What was said about it: only of one card"`
}

// Texts are what was said about a card, each with the message in which it stands.
type Texts struct {
	Brief string `json:"brief"` // what matters, says its coordinator
	Plan  string `json:"plan"`
	Back  string `json:"back"` // why it was sent back
	Work  string `json:"work"` // commits, changes and checks; empty: it is not done
}

// Proposal is a card that a member proposes.
type Proposal struct {
	ID      string `json:"id"`
	Room    string `json:"room"`
	By      string `json:"by"`
	Text    string `json:"text"`
	Message int64  `json:"message"`
}

func view(l *task.List, t *task.Task, org *standing.Org) CardView {
	work := l.Work(t)
	v := CardView{TaskView: tasks.ViewOf(l, t, org), Label: t.CardLabel(work), Column: t.Column(work), Work: work.ID, Merge: work.State == task.Done && l.Approved(t), Needs: t.NeedsPerson(work), Moves: card.Moves(t, work)}
	if w := t.Card; w.Phase == task.Implementing && w.Node == "" && !work.State.Over() && w.Waits == "" && work.State != task.Open {
		v.Label = tasks.ViewOf(l, work, org).Label
	}
	return v
}

// List is the cards of a room, or of all with an empty name, in the order in which they came
// to be.
func (p *Cards) List(roomName string) ([]CardView, error) {
	if roomName != "" {
		if _, _, _, err := p.Rooms.Open(roomName); err != nil {
			return nil, err
		}
	}
	l, err := p.TaskList()
	if err != nil {
		return nil, err
	}
	org, all := p.org(), []CardView{}
	for _, t := range l.All() {
		if t.Card != nil && (roomName == "" || t.Card.Room == roomName) {
			all = append(all, view(l, t, org))
		}
	}
	return all, nil
}

// Card is one of them.
func (p *Cards) Card(id string) (*CardView, error) {
	l, err := p.TaskList()
	if err != nil {
		return nil, err
	}
	t, err := find(l, id)
	if err != nil {
		return nil, err
	}
	v := view(l, t, p.org())
	s, lines, err := p.state(t.Card.Room)
	if err != nil && !errors.Is(err, project.ErrMissing) {
		return nil, err
	}
	work := l.Work(t)
	f := p.facts(t, work, lines)
	v.Texts = &Texts{Brief: f.Brief, Plan: f.Plan, Back: f.Back}
	if work.State == task.Done && !work.Override {
		v.Texts.Work = p.workText(work)
	}
	if t.Card.Phase == task.Delegating && s != nil {
		v.Offers, _ = offers(t, s, lines)
	}
	return &v, nil
}

// Proposals are what members of a room, or of all with an empty name, propose and
// for which there is no card yet.
func (p *Cards) Proposals(roomName string) ([]Proposal, error) {
	l, err := p.TaskList()
	if err != nil {
		return nil, err
	}
	names := []string{roomName}
	if roomName == "" {
		if names, err = book.Rooms(p.Root); err != nil {
			return nil, err
		}
	}
	all := []Proposal{}
	for _, name := range names {
		_, lines, err := p.state(name)
		if errors.Is(err, project.ErrMissing) && roomName == "" {
			continue // it was removed meanwhile
		} else if err != nil {
			return nil, err
		}
		for i := range lines {
			if l1 := &lines[i]; l1.Kind == room.KindProposed && l1.What == "card" && l.ByKey(todoKey(name, l1.ID)) == nil {
				all = append(all, Proposal{ID: l1.ID, Room: name, By: l1.By, Text: l1.Text, Message: l1.From})
			}
		}
	}
	return all, nil
}

func todoKey(roomName, id string) string { return "todo-" + roomName + "-" + id }

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
		if *one.name != "" && !slices.Contains(names(s), *one.name) {
			return project.Usage("", "%s %s: no member of the room %s is called so: %s", one.option, *one.name, s.Name, strings.Join(names(s), ", "))
		}
		*one.to = *one.name
	}
	return nil
}

// state is a room by its name.
func (p *Cards) state(name string) (*room.State, []room.Line, error) {
	_, lines, _, err := p.Rooms.Open(name)
	if err != nil {
		return nil, nil, err
	}
	s := room.Fold(name, lines)
	return &s, lines, nil
}

// Add adds a card to the backlog of a room. todo is the id of the proposal that it takes up,
// each once; empty: it takes up none.
func (p *Cards) Add(ctx context.Context, roomName, todo string, f task.Fields, r Roles) (*CardView, error) {
	s, lines, err := p.state(roomName)
	if err != nil {
		return nil, err
	}
	c := task.Card{Room: roomName}
	if err := r.apply(&c, s); err != nil {
		return nil, err
	}
	key := ""
	if todo != "" {
		i := slices.IndexFunc(lines, func(l room.Line) bool { return l.Kind == room.KindProposed && l.What == "card" && l.ID == todo })
		if i < 0 {
			return nil, project.Usage("cmux cards list "+roomName, "nobody has proposed a card %s in the room %s", todo, roomName)
		}
		key = todoKey(roomName, todo)
		if f.Title == nil || *f.Title == "" {
			title := task.Titled(lines[i].Text)
			if f.Title = &title; title != lines[i].Text && f.Body == nil {
				f.Body = &lines[i].Text
			}
		}
	}
	backlog := true
	f.Card, f.Backlog = &c, &backlog
	id := ""
	l, err := p.Tasks.Write(ctx, func(l *task.List) ([]task.Change, error) {
		if was := l.ByKey(key); key != "" && was != nil {
			return nil, project.Usage("cmux cards show "+was.ID, "%s is card %s", todo, was.ID)
		}
		id = l.NextID()
		return []task.Change{{Task: id, Op: task.OpAdd, Key: key, Fields: f}}, nil
	})
	switch {
	case errors.Is(err, task.ErrIllegal):
		return nil, project.Usage("cmux cards add --help", "%w", err)
	case err != nil:
		return nil, err
	}
	v := view(l, l.Get(id), p.org())
	return &v, nil
}

// Edit changes a card whose work is not over: its text, or who does what. It is for a person.
func (p *Cards) Edit(ctx context.Context, id string, saw int, f task.Fields, r Roles) (*CardView, error) {
	return p.change(ctx, id, saw, func(_ *task.List, t *task.Task) (task.Change, error) {
		s, _, err := p.state(t.Card.Room)
		if err != nil {
			return task.Change{}, err
		}
		c := *t.Card
		if err := r.apply(&c, s); err != nil {
			return task.Change{}, err
		}
		if c.Phase == task.Delegating && c.Waits != "" && c != *t.Card && len(card.Missing(&c)) == 0 {
			c = card.PutBack(c) // the person has said who does what
		}
		if c != *t.Card && c.Node != "" {
			return task.Change{}, hint.New(fmt.Errorf("the node %s does the work of card %s: who does what is in the plan of its run", card.NodeName(c.Node), id), "cmux cards show "+id)
		}
		c = card.Recast(*t.Card, c)
		if f.Card = nil; c != *t.Card {
			f.Card = &c
		}
		if f == (task.Fields{Card: f.Card}) && f.Card != nil {
			return task.Change{Op: task.OpCard, Fields: f}, nil
		}
		return task.Change{Op: task.OpEdit, Fields: f}, nil
	})
}

// over says that a card is over: it was cancelled, or somebody has called it done. Nothing more
// comes of an order about it.
func over(l *task.List, t *task.Task) error {
	switch work := l.Work(t); {
	case t.Column(work) == "":
		return hint.New(fmt.Errorf("card %s is cancelled", t.ID), "cmux cards show "+t.ID)
	case work.Override:
		return hint.New(fmt.Errorf("card %s is %s", t.ID, work.Label()), "cmux cards show "+t.ID)
	}
	return nil
}

// workOf is the work that a card stands on, and the card with it. Where what took work up was
// cancelled, that is the work before.
func workOf(l *task.List, t *task.Task) (work *task.Task, c task.Card, err error) {
	work, c = l.Work(t), *t.Card
	if before := l.Earlier(t); before != nil {
		c.Work = before.ID
		return before, c, nil
	}
	return work, c, over(l, t)
}

// Start begins a card, or lets one go on that waits for the person. With hold nobody begins
// with the work when its plan is made.
func (p *Cards) Start(ctx context.Context, id string, saw int, hold bool) (*CardView, error) {
	if _, err := p.change(ctx, id, saw, func(l *task.List, t *task.Task) (task.Change, error) {
		if err := over(l, t); err != nil {
			return task.Change{}, err
		}
		switch missing := card.Missing(t.Card); {
		case len(missing) > 0:
			return task.Change{}, hint.New(fmt.Errorf("card %s has nobody for %s", id, strings.Join(missing, ", ")), "cmux cards edit "+id+" "+missing[0]+" NAME")
		case t.Card.Phase != "" && t.Card.Waits == "" && !t.Card.Planned() || t.State.Over():
			return task.Change{}, project.Usage("cmux cards show "+id, "card %s is under way: %s", id, t.CardLabel(l.Work(t)))
		}
		if err := p.open(t); err != nil {
			return task.Change{}, err
		}
		next := card.Begin(*t.Card)
		next.Hold = hold
		return task.Change{Op: task.OpCard, Fields: task.Fields{Card: &next}}, nil
	}); err != nil {
		return nil, err
	}
	return p.carried(ctx, id)
}

// Approve is content with the card's plan, or with its work.
func (p *Cards) Approve(ctx context.Context, id string, saw int) (*CardView, error) {
	if _, err := p.change(ctx, id, saw, func(l *task.List, t *task.Task) (task.Change, error) {
		work, c, err := workOf(l, t)
		switch {
		case err != nil:
			return task.Change{}, err
		case c.Phase == "":
			return task.Change{}, hint.New(fmt.Errorf("nobody has begun card %s", id), "cmux cards start "+id)
		case c.Approved != "":
			return task.Change{}, project.Usage("cmux tasks merge", "card %s was approved by %s", id, c.Approved)
		case c.Phase == task.Implementing && work.State != task.Done:
			return task.Change{}, project.Usage("cmux cards show "+id, "the work of card %s is %s: there is nothing to approve yet", id, work.Label())
		}
		next := card.Approve(c)
		return task.Change{Op: task.OpCard, Fields: task.Fields{Card: &next}}, nil
	}); err != nil {
		return nil, err
	}
	return p.carried(ctx, id)
}

// SendBack is not content, and says why: the plan is made again, or the work continued.
func (p *Cards) SendBack(ctx context.Context, id string, saw int, why string) (*CardView, error) {
	if strings.TrimSpace(why) == "" {
		return nil, project.Usage("", "say why card %s is sent back", id)
	}
	if _, err := p.change(ctx, id, saw, func(l *task.List, t *task.Task) (task.Change, error) {
		work, c, err := workOf(l, t)
		switch {
		case err != nil:
			return task.Change{}, err
		case c.Phase == "":
			return task.Change{}, hint.New(fmt.Errorf("nobody has begun card %s", id), "cmux cards start "+id)
		case c.Approved != "" && work.Merged.In():
			return task.Change{}, hint.New(fmt.Errorf("card %s is not sent back: %s", id, card.Refused(t, work, task.InImplementing)), "cmux cards show "+id)
		case c.Phase == task.Implementing && work.State == task.Done:
			c.Phase = task.WorkReview
		case c.Phase == task.Implementing && c.Node != "":
			return task.Change{}, hint.New(fmt.Errorf("the node %s does the work of card %s", card.NodeName(c.Node), id), "cmux agents retry "+card.NodeName(c.Node))
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
