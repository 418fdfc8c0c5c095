// Package schedules keeps the schedule of an organization, and does what is due in it.
package schedules

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"cmux/agents/control/letters"
	"cmux/agents/control/project"
	"cmux/agents/control/tasks"
	"cmux/agents/org/schedule"
	"cmux/agents/org/task"
	"cmux/agents/records/mail"
	"cmux/signals/mailbox"
	"cmux/worktree/hint"
)

// Schedules are what a project has to be done at some time.
type Schedules struct {
	*project.Project
	Letters *letters.Letters
	Tasks   *tasks.Tasks
}

// Scheduled is an entry of the schedule as it is shown.
type Scheduled struct {
	*schedule.State
	Next *time.Time `json:"next"` // it is due; null: never again
}

func (p *Schedules) scheduled(s *schedule.State) Scheduled {
	return Scheduled{s, project.Moment(s.Next(p.Now()))}
}

// List is the entries of the project's schedule, oldest first.
func (p *Schedules) List() ([]Scheduled, error) {
	_, l, err := p.schedule(false)
	if err != nil {
		return nil, err
	}
	all := []Scheduled{}
	for _, s := range l.All() {
		all = append(all, p.scheduled(s))
	}
	return all, nil
}

func (p *Schedules) schedule(write bool) (*schedule.Book, *schedule.List, error) {
	b, err := schedule.OpenBook(p.Root, p.Now, write)
	if err != nil {
		return nil, nil, err
	}
	l, err := b.List()
	if err != nil {
		return nil, nil, err
	}
	p.Skipped(l.Bad)
	return b, l, nil
}

// Entry is one entry.
func (p *Schedules) Entry(id string) (Scheduled, error) {
	_, l, err := p.schedule(false)
	if err != nil {
		return Scheduled{}, err
	}
	s := l.Get(id)
	if s == nil {
		return Scheduled{}, noEntry(id)
	}
	return p.scheduled(s), nil
}

func noEntry(id string) error {
	return hint.New(project.Tag(fmt.Errorf("the schedule has no entry %q", id), project.ErrMissing), "cmux schedule list")
}

// Add adds an entry in the caller's name. A message for nobody is for them.
func (p *Schedules) Add(ctx context.Context, e schedule.Entry) (Scheduled, error) {
	by, _, err := p.Sender()
	if err != nil {
		return Scheduled{}, err
	}
	e.By = by.String()
	if !e.Task && e.To == "" {
		e.To = e.By
	}
	if e.To != "" {
		to, err := mailbox.ParseAddress(e.To)
		if err != nil || e.Task && (to.Kind != mailbox.Agent || to.Session != "" || to.Name == "monitor" || to.Name == "sentry") {
			return Scheduled{}, project.Usage("", "%q is nobody that a scheduled task or message can be for", e.To)
		}
		var own *mail.PrefixError
		if errors.As(mail.CheckPrefix(e.Title), &own) {
			return Scheduled{}, project.Usage("", "%w", own)
		}
	}
	if !e.When.At.IsZero() && !e.When.At.After(p.Now()) {
		return Scheduled{}, project.Usage("", "%s has passed", e.When.At.Local().Format("2006-01-02 15:04"))
	}
	if err := e.Check(); err != nil {
		return Scheduled{}, project.Usage("", "%w", err)
	}
	tasks, err := p.TaskList()
	if err != nil {
		return Scheduled{}, err
	}
	if err := p.Tasks.MayCheck(tasks, e.Verify); err != nil {
		return Scheduled{}, err
	}
	b, err := schedule.OpenBook(p.Root, p.Now, true)
	if err != nil {
		return Scheduled{}, err
	}
	s, aside, err := b.Add(ctx, e)
	p.SetAside(schedule.Name, aside)
	if err != nil {
		return Scheduled{}, err
	}
	return p.scheduled(s), nil
}

// Remove removes an entry. What a person added only a person removes.
func (p *Schedules) Remove(ctx context.Context, id string) error {
	by, _, err := p.Sender()
	if err != nil {
		return err
	}
	b, err := schedule.OpenBook(p.Root, p.Now, true)
	if err != nil {
		return err
	}
	aside, err := b.Remove(ctx, id, by.String(), func(s *schedule.State) error {
		if by.Kind != mailbox.User && s.By == "user" {
			return fmt.Errorf("a person added %s, and only a person removes it", id)
		}
		return nil
	})
	p.SetAside(schedule.Name, aside)
	if errors.Is(err, schedule.ErrNone) {
		return noEntry(id)
	}
	return err
}

// Run runs an entry now, beside the times at which it is due.
func (p *Schedules) Run(ctx context.Context, id string) (schedule.Fired, error) {
	b, l, err := p.schedule(true)
	if err != nil {
		return schedule.Fired{}, err
	}
	s := l.Get(id)
	if s == nil {
		return schedule.Fired{}, noEntry(id)
	}
	return p.fire(ctx, b, schedule.Firing{Entry: s.Entry, Due: p.Now().UTC().Truncate(time.Millisecond)}, true)
}

// fire makes what a due time makes, and writes it down. What it makes has a mark, so
// that it is made once by whoever is killed in between.
func (p *Schedules) fire(ctx context.Context, b *schedule.Book, f schedule.Firing, extra bool) (schedule.Fired, error) {
	done := schedule.Fired{Due: f.Due, Missed: f.Missed, Extra: extra}
	mark, err := b.Mark(&f)
	if err != nil {
		return done, err
	}
	if f.Entry.Task {
		done.Made, done.Failed, err = p.fireTask(ctx, b, &f, mark)
	} else {
		done.Made, err = p.fireMessage(ctx, &f, mark)
	}
	if err != nil {
		return done, err
	}
	aside, err := b.Record(ctx, f.Entry.ID, done)
	p.SetAside(schedule.Name, aside)
	return done, err
}

// late is how long after its time something may happen without a word about it.
const late = 2 * time.Minute

// said is the text of what happens, with what was missed.
func (p *Schedules) said(f *schedule.Firing) string {
	var b strings.Builder
	if f.Entry.Body != "" {
		b.WriteString(f.Entry.Body + "\n\n")
	}
	fmt.Fprintf(&b, "Schedule %s, added by %s.", f.Entry.ID, f.Entry.By)
	if p.Now().Sub(f.Due) > late {
		fmt.Fprintf(&b, " It was due at %s, and cmux did not run then.", f.Due.Local().Format("2006-01-02 15:04"))
	}
	if f.Missed > 0 {
		fmt.Fprintf(&b, " It stands for %d earlier times as well, which were missed.", f.Missed)
	}
	return b.String()
}

func (p *Schedules) fireMessage(ctx context.Context, f *schedule.Firing, mark string) (string, error) {
	if came, err := p.Letters.Has(mark); err != nil || came {
		return mark, err
	}
	post, err := mail.Open(p.Root, p.Now)
	if err != nil {
		return "", err
	}
	_, err = post.Send(ctx, mailbox.Message{ID: mark, From: "monitor", To: f.Entry.To, Subject: f.Entry.Title, Body: p.said(f)}, true)
	return mark, err
}

// fireTask makes a task. While one that the entry made is not over, there is no second:
// that is decided on the tasks as they are when it is written, so it holds for those who
// ask at the same time.
func (p *Schedules) fireTask(ctx context.Context, b *schedule.Book, f *schedule.Firing, mark string) (id, failed string, err error) {
	book, err := task.OpenBook(p.Root, p.Now, true)
	if err != nil {
		return "", "", err
	}
	of, err := b.Mark(&schedule.Firing{Entry: f.Entry}) // of the entry, whatever the time
	if err != nil {
		return "", "", err
	}
	key := of + "/" + mark
	e := &f.Entry
	_, aside, err := book.Change(ctx, func(l *task.List) ([]task.Change, error) {
		id, failed = "", ""
		if t := l.ByKey(key); t != nil { // by one who was killed before it was written down
			id = t.ID
			return nil, nil
		}
		for _, t := range l.All() {
			if strings.HasPrefix(t.Key, of+"/") && !t.State.Over() {
				id, failed = t.ID, t.ID+" of an earlier time is not over"
				return nil, nil
			}
		}
		id = l.NextID()
		body := p.said(f)
		fields := task.Fields{Title: &e.Title, Body: &body}
		if e.Priority != "" {
			fields.Priority = &e.Priority
		}
		if e.Verify != nil {
			fields.Verify = &e.Verify
		}
		if e.Scope != nil {
			fields.Scope = &e.Scope
		}
		all := []task.Change{{Task: id, Op: task.OpAdd, By: e.By, Fields: fields, Key: key}}
		if e.To != "" {
			all = append(all, task.Change{Task: id, Saw: 1, Op: task.OpMove, By: e.By, To: task.Assigned, Agent: e.To})
		}
		return all, nil
	})
	p.SetAside(task.Name, aside)
	return id, failed, err
}
