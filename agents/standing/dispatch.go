package standing

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"cmux/agents/attempt"
	"cmux/agents/run"
	"cmux/agents/task"
	"cmux/dag"
	"cmux/signals/mailbox"
)

// The keeper hands tasks to the agents that they are assigned to, one at a time,
// and takes down what became of them. What is on record in an agent's own file
// comes first: a task enters tasks.jsonl as given before the agent is told, and
// its verdict once, by its number, however often a keeper is killed in between.

// desk is what the keeper knows of the tasks.
type desk struct {
	book   *task.Book
	given  map[string]time.Time // agent to when it was last handed its work
	wanted map[string]bool      // tasks that were asked back
}

// taskTimes bound what a task's checks may take.
const (
	verifyTimeout  = 10 * time.Minute
	verifyAttempts = 3
)

// assigns carries the tasks on. What fails is tried again at the next look.
func (k *Keeper) assigns(ctx context.Context) {
	if err := k.assign(ctx); err != nil {
		k.Log.Error("tasks could not be carried on", "err", err)
		k.at(k.Now().Add(time.Second))
	}
}

func (k *Keeper) assign(ctx context.Context) error {
	if k.desk.book == nil {
		book, err := task.OpenBook(k.org.Root(), k.Now, true)
		if err != nil {
			return err
		}
		k.desk = desk{book: book, given: map[string]time.Time{}, wanted: map[string]bool{}}
	}
	list, err := k.desk.book.List()
	if err != nil {
		return err
	}
	errs := []error{k.orphans(ctx, list)}
	for _, name := range k.org.Names() {
		a := k.org.Agents[name]
		if err := k.verdict(ctx, a, list); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", name, err))
			continue
		}
		if k.org.Stopped || k.halting != nil || a.Leaving != "" || a.Resetting != "" {
			continue
		}
		if err := k.occupy(ctx, a); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", name, err))
		}
	}
	return errors.Join(errs...)
}

// orphans says of tasks whose agent is gone that they cannot go on.
func (k *Keeper) orphans(ctx context.Context, list *task.List) (err error) {
	for _, t := range list.All() {
		if t.State != task.Assigned && !t.State.Active() || k.org.Agents[t.Agent] != nil || k.org.Broken[t.Agent] != nil {
			continue
		}
		_, merr := k.move(ctx, t.ID, task.Change{To: task.Blocked, Reason: "there is no agent " + t.Agent})
		err = errors.Join(err, merr)
	}
	return err
}

// verdict enters what became of the agent's last piece of work, and tells who gave
// it.
func (k *Keeper) verdict(ctx context.Context, a *Agent, list *task.List) error {
	if a.Last == nil {
		return nil
	}
	t := list.Get(a.Last.Work)
	if t == nil || a.Last.Attempt == 0 {
		return nil
	}
	if known(t, a.Last.Attempt) {
		return nil
	}
	end := a.Last.End
	if end.Outcome == dag.Cancelled {
		return nil // whoever took it back has said what becomes of it
	}
	// Told before it is entered: a keeper that is killed in between tells it again
	// by the same id, and nobody gets it twice.
	if err := k.report(ctx, a, t, &end); err != nil {
		return err
	}
	_, _, err := k.desk.book.Change(ctx, func(l *task.List) ([]task.Change, error) {
		now := l.Get(t.ID)
		return []task.Change{{Task: t.ID, Saw: now.Version, Op: task.OpVerdict, By: task.Cmux, Attempt: a.Last.Attempt, End: &end}}, nil
	})
	if errors.Is(err, task.ErrKnown) {
		return nil
	}
	return err
}

func known(t *task.Task, n int) bool {
	for i := range t.Attempts {
		if t.Attempts[i].N == n {
			return t.Attempts[i].End != nil
		}
	}
	return false
}

// report tells who gave the task what became of it.
func (k *Keeper) report(ctx context.Context, a *Agent, t *task.Task, end *run.End) error {
	prefix, text := "[DONE]", end.Summary
	switch {
	case end.Outcome == dag.Done:
	case end.Reason == dag.ReasonReported:
		prefix, text = "[BLOCKED]", end.Detail
	default:
		prefix, text = "[ERROR]", fmt.Sprintf("%s: %s", end.Label(), end.Detail)
	}
	body := text
	if end.Commits > 0 {
		body += fmt.Sprintf("\n\n%d commits (%s), on branch %s", end.Commits, end.DiffStat, branchOf(t))
	}
	body += fmt.Sprintf("\n\nTask %s. Its record: cmux tasks show %[1]s", t.ID)
	to := t.CreatedBy
	if _, err := mailbox.ParseAddress(to); err != nil || to == task.Cmux || to == a.Name {
		to = orElse(a.Member.Supervisor, Supervisor)
	}
	if k.org.Agents[to] == nil && to != "user" {
		to = "user"
	}
	id := fmt.Sprintf("%s-%d", t.ID, a.Last.Attempt)
	if k.office.post == nil {
		return errors.New("there is no mailbox to tell who gave it")
	}
	if k.office.ledger.Known(id) {
		return nil
	}
	m := mailbox.Message{ID: id, From: a.Name, To: to, Subject: fmt.Sprintf("%s %s: %s", prefix, t.ID, t.Title), Body: body}
	_, err := k.office.post.Send(ctx, m, true)
	return err
}

// occupy gives an idle agent its next task, has one put back for it that is more
// urgent, and says of the task that it is at how it goes.
func (k *Keeper) occupy(ctx context.Context, a *Agent) error {
	list, err := k.desk.book.List()
	if err != nil {
		return err
	}
	if a.Work != nil {
		t := list.Get(a.Work.ID)
		if t == nil {
			return nil
		}
		begin, put := list.Next(a.Name)
		switch {
		case !t.State.Active() || t.Agent != a.Name:
			return k.withdraw(ctx, a, t, "it was "+string(t.State))
		case begin != nil && put != nil && put.ID == t.ID:
			if _, err := k.move(ctx, t.ID, task.Change{To: task.Paused, Reason: begin.ID + " comes first"}); err != nil {
				return err
			}
			return k.withdraw(ctx, a, t, fmt.Sprintf("%s comes first; you get it back after that", begin.ID))
		}
		if err := k.hand(ctx, a, a.Work); err != nil { // a life that does not know of it yet
			return err
		}
		return k.progress(ctx, a, t)
	}
	if w, _ := a.Stands(k.Now(), k.org.Stopped); w != Idle || k.live[a.Name] == nil {
		return nil
	}
	t, put := list.Next(a.Name)
	if put != nil { // by the tasks it is at work, by its own records it is not: the work never reached it
		t = put
	}
	if t == nil {
		return nil
	}
	return k.give(ctx, a, t)
}

// progress says how a task goes that an agent is at.
func (k *Keeper) progress(ctx context.Context, a *Agent, t *task.Task) error {
	to, c := task.Working, task.Change{}
	switch w, detail := a.Stands(k.Now(), k.org.Stopped); w {
	case Checking:
		to = task.Checking
	case NeedsInput:
		to, c.Reason = task.NeedsInput, detail
	case Limited:
		to, c.Until = task.Limited, a.Until
	case Working:
	default:
		return nil
	}
	if t.State == to || !task.May(t.State, to) {
		return nil
	}
	c.To = to
	_, err := k.move(ctx, t.ID, c)
	return err
}

// move takes a task to another state.
func (k *Keeper) move(ctx context.Context, id string, c task.Change) (*task.Task, error) {
	list, _, err := k.desk.book.Change(ctx, func(l *task.List) ([]task.Change, error) {
		t := l.Get(id)
		if t == nil {
			return nil, task.ErrNone
		}
		c.Task, c.Saw, c.Op, c.By = id, t.Version, task.OpMove, task.Cmux
		return []task.Change{c}, nil
	})
	if err != nil {
		return nil, err
	}
	return list.Get(id), nil
}

// withdraw takes its work back from an agent, once.
func (k *Keeper) withdraw(ctx context.Context, a *Agent, t *task.Task, why string) error {
	tie := k.live[a.Name]
	if tie == nil || k.desk.wanted[t.ID] {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, tellPatience)
	defer cancel()
	if _, err := tie.link.Say(ctx, attempt.Message{Op: attempt.OpWithdraw, Key: t.ID, Text: why}); err != nil {
		return err
	}
	k.desk.wanted[t.ID] = true
	return nil
}

// give has an agent begin with a task: its branch, then the tasks, then the agent.
func (k *Keeper) give(ctx context.Context, a *Agent, t *task.Task) error {
	w, err := k.work(ctx, a, t)
	if err != nil {
		_, merr := k.move(ctx, t.ID, task.Change{To: task.Blocked, Reason: "it cannot begin: " + err.Error()})
		return errors.Join(err, merr)
	}
	if t.State != task.Working {
		if t, err = k.move(ctx, t.ID, task.Change{To: task.Working}); err != nil {
			return err
		}
	}
	w.Attempt = t.Last().N
	delete(k.desk.wanted, t.ID)
	k.desk.given[a.Name] = time.Time{}
	k.Log.Info("an agent gets a task", "agent", a.Name, "task", t.ID, "attempt", w.Attempt)
	return k.hand(ctx, a, w)
}

// again is how long a life may take to record that it was given its work.
const again = 5 * time.Second

// hand hands work to the life of an agent. One that has it already takes it for
// the same.
func (k *Keeper) hand(ctx context.Context, a *Agent, w *run.Work) error {
	tie := k.live[a.Name]
	if tie == nil || a.Work != nil || k.Now().Sub(k.desk.given[a.Name]) < again {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, tellPatience)
	defer cancel()
	if _, err := tie.link.Say(ctx, attempt.Message{Op: attempt.OpGive, Work: w}); err != nil {
		return err
	}
	k.desk.given[a.Name] = k.Now()
	return nil
}

// work is a task as an agent is given it.
func (k *Keeper) work(ctx context.Context, a *Agent, t *task.Task) (*run.Work, error) {
	m := &a.Member
	def := &dag.Node{
		Name: m.Name, Agent: m.Kind, Role: dag.RoleBuild, Task: strings.TrimSpace(t.Title + "\n\n" + t.Body),
		Scope: t.Scope, Verify: t.Verify, VerifyTimeout: dag.Duration(verifyTimeout), VerifyAttempts: verifyAttempts,
		When: dag.AllSuccess, OnLost: dag.Redo, Account: m.Account,
	}
	place := run.Place{Dir: m.Dir, Tree: m.Tree, Slot: noSlot}
	if m.Tree == "" {
		def.Role = dag.RoleReview // it shares the folder of others: nothing in it is its own
		return &run.Work{ID: t.ID, Def: def, Place: place}, nil
	}
	def.Branch = branchOf(t)
	place.Branch = def.Branch
	commit, err := k.Trees.Switch(ctx, m.Tree, def.Branch, k.org.Settings.Integration, "before task "+t.ID)
	if err != nil {
		return nil, err
	}
	place.Commit = commit
	return &run.Work{ID: t.ID, Def: def, Place: place}, nil
}

var wordRE = regexp.MustCompile(`[a-z0-9]+`)

// branchOf is the branch that a task's work is on.
func branchOf(t *task.Task) string {
	if t.Branch != "" {
		return t.Branch
	}
	words := wordRE.FindAllString(strings.ToLower(t.Title), 5)
	name := "task/" + t.ID
	for _, w := range words {
		if len(name)+len(w) < 50 {
			name += "-" + w
		}
	}
	return name
}
