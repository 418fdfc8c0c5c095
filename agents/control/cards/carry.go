package cards

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"cmux/agents/control/crew"
	"cmux/agents/control/project"
	"cmux/agents/org/card"
	"cmux/agents/org/standing"
	"cmux/agents/org/task"
	"cmux/agents/room"
	"cmux/agents/room/book"
	"cmux/signals"
	"cmux/worktree/hint"
)

func (p *Cards) org() *standing.Org {
	if org, err := standing.Open(p.Root); err == nil {
		return org
	}
	return &standing.Org{}
}

// carried carries the card on where the monitor is up, which does it otherwise, and shows it.
func (p *Cards) carried(ctx context.Context, id string) (*CardView, error) {
	if err := p.Rooms.Up(ctx); err != nil {
		return nil, err
	}
	return p.Card(id)
}

// Look has cards follow the nodes that do their work, and carries all of them on.
func (p *Cards) Look(ctx context.Context) error {
	return errors.Join(p.Follow(ctx), p.Carry(ctx))
}

// Carry carries all cards on as far as it goes now. What one card hinders does not hinder the
// others: it waits for the person, who is told why.
func (p *Cards) Carry(ctx context.Context) error {
	l, err := p.TaskList()
	if err != nil {
		return err
	}
	var errs []error
	for _, t := range l.All() {
		if t.Card == nil {
			continue
		}
		if err := p.tells(ctx, l, t); err != nil && ctx.Err() == nil {
			errs = append(errs, fmt.Errorf("card %s: %w", t.ID, err))
		}
		if t.Card.Phase == "" || t.Card.Waits != "" || t.State == task.Cancelled || l.Work(t).Override || t.Card.Node != "" && t.Card.Approved == "" {
			continue // or it follows its node
		}
		if err := p.carry(ctx, l, t); err != nil && ctx.Err() == nil {
			errs = append(errs, fmt.Errorf("card %s: %w", t.ID, err))
		}
	}
	return errors.Join(errs...)
}

// carry takes one step with a card. The change that comes of it brings the next one.
func (p *Cards) carry(ctx context.Context, l *task.List, t *task.Task) error {
	c, work := t.Card, l.Work(t)
	switch {
	case c.Phase == task.Delegating:
		return p.delegates(ctx, t)
	case c.Phase == task.Implementing && work.State == task.Done && (c.Feedback != 0 || c.Remark != ""):
		if again := l.ByKey(againKey(t)); again == nil {
			return p.again(ctx, t, work)
		} else if again != work {
			next := *c
			next.Work = again.ID
			return p.write(ctx, t, next)
		}
		fallthrough
	case c.Phase == task.Implementing && work.State == task.Done:
		if c.Reviewer == "" || c.Approved != "" {
			return nil
		}
		return p.write(ctx, t, card.Reviews(*c))
	case c.Phase == task.Implementing && work.State == task.Open && c.Hold:
		return nil // until a run or the person begins with it
	case c.Phase == task.Implementing && work.State == task.Open:
		return p.implement(ctx, t, work)
	case !c.Phase.Asks() || c.Approved != "":
		return nil
	}
	if next := card.Settled(*c); next != *c {
		return p.write(ctx, t, next)
	}
	return p.asks(ctx, t, work)
}

// againKey is that of the task that takes up the work which was sent back.
func againKey(t *task.Task) string { return fmt.Sprintf("card-%s-again-%d", t.ID, t.Card.Asked) }

// asks has the member of the phase answer, once.
func (p *Cards) asks(ctx context.Context, t, work *task.Task) error {
	c := t.Card
	s, lines, err := p.state(c.Room)
	switch {
	case errors.Is(err, project.ErrMissing):
		return p.waits(ctx, t, fmt.Sprintf("the room %s is gone", c.Room))
	case err != nil:
		return err
	}
	asked, said, over, why := room.CardAnswer(lines, card.Key(t.ID, c))
	switch {
	case over:
		a := card.Answer{Why: why}
		if said != nil {
			a = card.Answer{Message: said.N, Text: said.Text + "\n" + said.Aside}
		}
		return p.write(ctx, t, card.Next(*c, a))
	case s.Closed:
		return p.waits(ctx, t, fmt.Sprintf("the room %s is closed", c.Room))
	case asked:
		return nil // its turn comes
	}
	who := card.Who(c)
	if !slices.Contains(names(s), who) {
		return p.waits(ctx, t, who+" is not in the room any more")
	}
	ask := room.AskCard(t.ID, who, card.Key(t.ID, c), card.Question(t, p.facts(t, work, lines)))
	return p.append(ctx, c.Room, func(s *room.State, so []room.Line) []room.Line {
		if asked, _, _, _ := room.CardAnswer(so, ask.Key); asked || !slices.Contains(names(s), who) {
			return nil
		}
		return []room.Line{ask}
	})
}

// append adds what decide says to the file of a room, unless it is closed.
func (p *Cards) append(ctx context.Context, roomName string, decide func(s *room.State, so []room.Line) []room.Line) error {
	b, err := book.Open(p.Root, roomName, p.Now, true)
	if err != nil {
		return err
	}
	_, _, err = b.Append(ctx, func(so []room.Line) ([]room.Line, error) {
		s := room.Fold(roomName, so)
		if s.Closed {
			return nil, nil
		}
		return decide(&s, so), nil
	})
	return err
}

// tells tells the members who have a role in a card that it has moved: with their next turns,
// which it does not cause. What its room knows is remembered in told.
func (p *Cards) tells(ctx context.Context, l *task.List, t *task.Task) error {
	text := card.Moved(t, l.Work(t))
	if t.Card.Phase == "" && t.State == task.Open || p.told[t.ID] == text {
		return nil // nobody has begun, or they know
	}
	s, lines, err := p.state(t.Card.Room)
	switch {
	case errors.Is(err, project.ErrMissing), err == nil && (s.Closed || room.LastMoved(lines, t.ID) == text):
	case err != nil:
		return err
	default:
		if err := p.append(ctx, t.Card.Room, func(_ *room.State, so []room.Line) []room.Line {
			if room.LastMoved(so, t.ID) == text {
				return nil
			}
			return []room.Line{room.CardMoved(t.ID, text, card.With(t.Card))}
		}); err != nil {
			return err
		}
	}
	if p.told == nil {
		p.told = map[string]string{}
	}
	p.told[t.ID] = text
	return nil
}

// facts are what a question or an order says about a card.
func (p *Cards) facts(t, work *task.Task, lines []room.Line) card.Facts {
	c := t.Card
	text := func(n int64) string {
		l := room.CardSaid(lines, t.ID, n)
		if l == nil {
			return ""
		}
		said := l.Text
		if said == "" {
			said = l.Aside
		}
		return card.Said(said)
	}
	f := card.Facts{Room: c.Room, Brief: text(c.Brief), Plan: text(c.Plan), Back: text(c.Feedback)}
	if c.Remark != "" {
		f.Back = c.Remark
	} else if l := room.CardSaid(lines, t.ID, c.Feedback); l != nil && l.By == card.Who(c) && c.Phase != task.WorkReview {
		f.Back = "Your last answer had no [DONE] on a line of its own."
	}
	if c.Phase == task.WorkReview {
		f.Work = p.workText(work)
	}
	return f
}

// workText says what the work of a task is: its commits, changes and checks.
func (p *Cards) workText(work *task.Task) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("Task %s of %s is done, on the branch %s.", work.ID, work.Worker(), work.WorkBranch())
	end := work.Result()
	if end == nil {
		return b.String()
	}
	if end.Summary != "" {
		line("%s says: %s", work.Worker(), end.Summary)
	}
	if end.Tip != "" && end.Commits > 0 {
		line("Read it: git log -p -%d %.12s", end.Commits, end.Tip)
	}
	if end.DiffStat != "" {
		line("\n%s", strings.TrimSpace(end.DiffStat))
	}
	for _, check := range end.Checks {
		how := "passed"
		if check.Exit != 0 {
			how = fmt.Sprintf("failed with exit code %d", check.Exit)
		}
		line("The check `%s` %s.", check.Command, how)
	}
	return b.String()
}

// implement makes a worker like the implementer, for the work.
func (p *Cards) implement(ctx context.Context, t, work *task.Task) error {
	c := t.Card
	s, lines, err := p.state(c.Room)
	if errors.Is(err, project.ErrMissing) {
		return p.waits(ctx, t, fmt.Sprintf("the room %s is gone", c.Room))
	} else if err != nil {
		return err
	}
	var who *room.Member
	for i := range s.Members {
		if m := &s.Members[i]; m.Name == c.Implementer && !m.Guest {
			who = m // one who has left still says what a worker is made like
		}
	}
	if who == nil {
		return p.waits(ctx, t, cmp.Or(c.Implementer, "nobody")+" is no member of the room: who implements it?")
	}
	body := card.Body(work.Body) + card.Order(t, p.facts(t, work, lines))
	if work.Backlog || work == t && work.Body != body {
		taken := false
		err := p.record(ctx, func(l *task.List) ([]task.Change, error) {
			now := l.Get(work.ID)
			f := task.Fields{Backlog: &taken}
			if work == t {
				f.Body = &body
			}
			return []task.Change{{Task: now.ID, Saw: work.Version, Op: task.OpEdit, Fields: f}}, nil
		})
		return err
	}
	if err := standing.WriteRoles(p.Root); err != nil { // a project with rooms alone has none
		return err
	}
	_, err = p.Crew.Spawn(ctx, crew.Spawn{Name: c.Room + "-" + work.ID, Kind: who.Agent, Model: who.Model, Role: p.persona(who), TaskID: work.ID, Once: true})
	if org := p.org(); err != nil && org.Agents[c.Room+"-"+work.ID] != nil {
		_, err = p.Tasks.Assign(ctx, work.ID, c.Room+"-"+work.ID) // it was made before the end of another monitor
	}
	if err != nil && ctx.Err() == nil {
		why, _ := hint.Explain(err)
		return p.waits(ctx, t, "no worker could be made: "+why)
	}
	return err
}

// persona is the role file of a member, by its name; empty: it has none, and its role is a word.
func (p *Cards) persona(who *room.Member) string {
	if book.CheckName(who.Role) != nil {
		return ""
	}
	if mode, err := signals.Type(standing.RolePath(p.Root, who.Role)); err != nil || !mode.IsRegular() {
		return ""
	}
	return who.Role
}

// again makes the task that takes up the work which was sent back.
func (p *Cards) again(ctx context.Context, t, work *task.Task) error {
	_, lines, err := p.state(t.Card.Room)
	if err != nil && !errors.Is(err, project.ErrMissing) {
		return err
	}
	f := p.facts(t, work, lines)
	title := task.Titled(fmt.Sprintf("What was sent back of %s: %s", t.ID, t.Title))
	body := fmt.Sprintf("The work on card %s (%s) was sent back:\n\n%s\n\nYour branch begins with that work. Mend it there.", t.ID, t.Title, f.Back) + card.Order(t, f)
	after := []string{work.ID}
	return p.record(ctx, func(l *task.List) ([]task.Change, error) {
		if l.ByKey(againKey(t)) != nil {
			return nil, nil
		}
		return []task.Change{{Task: l.NextID(), Op: task.OpAdd, Key: againKey(t), Fields: task.Fields{
			Title: &title, Body: &body, Priority: &t.Priority, Scope: &t.Scope, Verify: &t.Verify, Parent: &t.ID, After: &after,
		}}}, nil
	})
}

// waits has the card wait for the person.
func (p *Cards) waits(ctx context.Context, t *task.Task, why string) error {
	c := *t.Card
	c.Waits = why
	return p.write(ctx, t, c)
}

// write changes a card from what it was. What changes nothing is not written: each change of the
// file brings the next look.
func (p *Cards) write(ctx context.Context, t *task.Task, c task.Card) error {
	if c == *t.Card {
		return nil
	}
	return p.record(ctx, func(*task.List) ([]task.Change, error) {
		return []task.Change{{Task: t.ID, Saw: t.Version, Op: task.OpCard, Fields: task.Fields{Card: &c}}}, nil
	})
}

// record writes changes in cmux's name. Where somebody else was faster, nothing is written: what
// they have made of it is looked at next.
func (p *Cards) record(ctx context.Context, decide func(*task.List) ([]task.Change, error)) error {
	b, err := task.OpenBook(p.Root, p.Now, true)
	if err != nil {
		return err
	}
	_, aside, err := b.Change(ctx, func(l *task.List) ([]task.Change, error) {
		changes, err := decide(l)
		for i := range changes {
			changes[i].By = task.Cmux
		}
		return changes, err
	})
	p.SetAside(task.Name, aside)
	if errors.Is(err, task.ErrStale) {
		return nil
	}
	return err
}
