package standing

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"cmux/agents/org/task"
	"cmux/agents/platform/say"
	"cmux/agents/runs/attempt"
	"cmux/agents/runs/prompt"
	"cmux/agents/runs/run"
	"cmux/dag"
	"cmux/signals/mailbox"
	"cmux/worktree/merge"
)

// The keeper hands tasks to the agents that they are assigned to, one at a time, and
// records the results. It first writes to the agent's own file. A task enters
// tasks.jsonl as given before the agent is told. Its verdict enters once, by its
// number, however often a keeper is killed in between.

// desk is what the keeper knows of the tasks.
type desk struct {
	book   *task.Book
	given  map[string]time.Time // agent to when it was last handed its work
	wanted map[string]int       // tasks that were asked back, to the life that was asked
	unfit  map[string]time.Time // agents that cannot begin with a task, until when they are left alone
	told   map[string]string    // agent to why it cannot, as its supervisor was told
	rest   time.Time            // until when the tasks are left alone
}

const (
	// bookPatience bounds the wait for who else writes tasks or mail: the keeper has
	// agents to look after.
	bookPatience = 10 * time.Second
	// gitPatience bounds what git is asked.
	gitPatience = 2 * time.Minute
	// leftAlone is how long something is not tried again that could not be done.
	leftAlone = 30 * time.Second
)

// taskTimes bound what a task's checks may take.
const (
	verifyTimeout  = 10 * time.Minute
	verifyAttempts = 3
)

// assigns carries the tasks on. What fails is tried again at the next look.
func (k *Keeper) assigns(ctx context.Context) {
	if k.Now().Before(k.desk.rest) {
		k.at(k.desk.rest)
		return
	}
	if err := k.assign(ctx); err != nil {
		k.Log.Error("tasks could not be carried on", "err", err)
		wait := time.Second
		if errors.Is(err, context.DeadlineExceeded) {
			wait = leftAlone
		}
		k.desk.rest = k.Now().Add(wait)
		k.at(k.desk.rest)
	}
}

func (k *Keeper) assign(ctx context.Context) error {
	if k.desk.book == nil {
		book, err := task.OpenBook(k.org.Root(), k.Now, true)
		if err != nil {
			return err
		}
		k.desk = desk{book: book, given: map[string]time.Time{}, wanted: map[string]int{}, unfit: map[string]time.Time{}, told: map[string]string{}}
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

// orphans says of tasks whose agent is gone that they cannot go on, and gives them
// back to it when an agent of its name is there again.
func (k *Keeper) orphans(ctx context.Context, list *task.List) (err error) {
	for _, t := range list.All() {
		a, why := k.org.Agents[t.Agent], task.NoAgent(t.Agent)
		c := task.Change{Saw: t.Version, To: task.Blocked, Reason: why}
		switch {
		case a != nil && a.Leaving == "" && t.Orphan():
			c = task.Change{Saw: t.Version, To: task.Assigned, Agent: t.Agent}
		case t.State != task.Assigned && !t.State.Active() || t.AtNode() || a != nil || k.org.Broken[t.Agent] != nil:
			continue
		}
		if _, merr := k.move(ctx, t.ID, c); merr != nil {
			if !errors.Is(merr, task.ErrStale) { // else the next look finds what it is now
				err = errors.Join(err, merr)
			}
			continue
		}
		if a != nil {
			k.Log.Info("an agent gets back its task", "agent", t.Agent, "task", t.ID)
			continue
		}
		id, subject := fmt.Sprintf("%s-%d-orphan", t.ID, t.Version), fmt.Sprintf("[BLOCKED] %s: %s", t.ID, t.Title)
		why += fmt.Sprintf(". Give it to another one: cmux tasks assign %s NAME. An agent that is made with the name %s gets it by itself", t.ID, t.Agent)
		err = errors.Join(err, k.write(ctx, &Agent{Name: t.Agent}, t.ID, t.CreatedBy, id, subject, why))
	}
	return err
}

// verdict records the result of the agent's last piece of work, and tells whoever
// gave it.
func (k *Keeper) verdict(ctx context.Context, a *Agent, list *task.List) error {
	if a.Last == nil {
		return nil
	}
	t := list.Get(a.Last.Work)
	if t == nil {
		return nil
	}
	at := attemptOf(t, a)
	if at == nil || at.End != nil {
		return nil // the verdict is known already, or tasks.jsonl was started afresh and t is another task
	}
	end := a.Last.End
	back := end.Outcome == dag.Cancelled
	if back && (at.Ended == nil || a.Work != nil && a.Work.ID == t.ID) {
		return nil // it is given again, and the attempt goes on
	}
	// Told before it is entered: a keeper that is killed in between tells it again
	// by the same id, and nobody gets it twice.
	switch {
	case at.Ended == nil && !t.State.Over() && t.Agent == a.Name: // else somebody has decided meanwhile
		if err := k.report(ctx, a, t, &end); err != nil {
			return err
		}
	case end.Snapshot != "":
		to := t.ChangedBy
		if !t.State.Over() || to == task.Cmux {
			to = t.CreatedBy
		}
		body := fmt.Sprintf("%s was at work on %s when %s. Its changes that were not committed are saved as %s.\n\nTo get them back: %s%[4]s", a.Name, t.ID, taken(t), end.Snapshot, restoreCommand)
		id := fmt.Sprintf("%s-%d-%x-saved", t.ID, a.Last.Attempt, a.Last.At.UnixNano())
		if err := k.write(ctx, a, "", to, id, fmt.Sprintf("%s: uncommitted changes are saved: %s", t.ID, t.Title), body); err != nil {
			return err
		}
	}
	_, err := k.change(ctx, func(l *task.List) ([]task.Change, error) {
		now := l.Get(t.ID)
		all := []task.Change{{Task: t.ID, Saw: now.Version, Op: task.OpVerdict, By: task.Cmux, Attempt: a.Last.Attempt, End: &end}}
		if back && now.Override && now.Merged == nil && end.Tip != "" && end.Commits == 0 && end.DiffStat == "" {
			all = append(all, task.Change{Task: t.ID, Saw: now.Version + 1, Op: task.OpMerge, By: task.Cmux, Merged: &task.Merged{Conflict: []string{}, Nothing: true}})
		}
		return all, nil
	})
	if errors.Is(err, task.ErrKnown) {
		return nil
	}
	return err
}

// attemptOf is the attempt at a task that an agent's last piece of work was; nil:
// it was none.
func attemptOf(t *task.Task, a *Agent) *task.Attempt {
	for i := range t.Attempts {
		if at := &t.Attempts[i]; at.N == a.Last.Attempt && at.Agent == a.Name && !at.Began.After(a.Last.At) {
			return at
		}
	}
	return nil
}

// change writes what f makes of the tasks.
func (k *Keeper) change(ctx context.Context, f func(*task.List) ([]task.Change, error)) (*task.List, error) {
	ctx, cancel := context.WithTimeout(ctx, k.Wait)
	defer cancel()
	list, aside, err := k.desk.book.Change(ctx, f)
	if aside != "" {
		k.Log.Warn("lines of the tasks do not count; the file as it was is kept", "as", aside)
	}
	return list, err
}

// report sends the result of a task to whoever gave the task.
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
		where := "branch " + t.WorkBranch()
		if a.Member.Tree == "" {
			where = "the branch that is checked out in " + a.Member.Dir
		}
		body += fmt.Sprintf("\n\n%s (%s), on %s", say.Count(end.Commits, "commit"), end.DiffStat, where)
	}
	body += fmt.Sprintf("\n\nTask %s. Its record: cmux tasks show %[1]s", t.ID)
	// Nobody can know it before: a forged line with it would keep this one out.
	id := fmt.Sprintf("%s-%d-%x", t.ID, a.Last.Attempt, a.Last.At.UnixNano())
	return k.write(ctx, a, t.ID, t.CreatedBy, id, fmt.Sprintf("%s %s: %s", prefix, t.ID, t.Title), body)
}

// taken says why a task is no longer its agent's.
func taken(t *task.Task) string {
	why := "it was " + string(t.State)
	switch {
	case t.Override:
		why = t.ChangedBy + " marked it done"
	case !t.State.Over() && t.Agent != "":
		return "it was given to " + t.Agent
	}
	if t.Reason != "" {
		why += ": " + t.Reason
	}
	return why
}

// write sends a message of an agent's to who gave it a task, once.
func (k *Keeper) write(ctx context.Context, a *Agent, about, to, id, subject, body string) error {
	if _, err := mailbox.ParseAddress(to); err != nil || to == task.Cmux || to == a.Name {
		to = orElse(a.Member.Supervisor, Supervisor)
	}
	if k.org.Agents[to] == nil && to != "user" {
		to = "user"
	}
	return k.sends(ctx, mailbox.Message{ID: id, From: a.Name, To: to, Subject: subject, Body: body, Task: about})
}

// sends sends a message that cmux answers for, once.
func (k *Keeper) sends(ctx context.Context, m mailbox.Message) error {
	if k.office == nil {
		return errors.New("there is no mailbox to write it into")
	}
	if k.office.Known(m.ID) {
		return nil
	}
	if len(m.Subject) > mailbox.MaxSubject {
		m.Subject = strings.ToValidUTF8(m.Subject[:mailbox.MaxSubject], "")
	}
	ctx, cancel := context.WithTimeout(ctx, k.Wait)
	defer cancel()
	_, err := k.office.Send(ctx, m, true)
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
			return k.withdraw(ctx, a, t, taken(t))
		case begin != nil && put != nil && put.ID == t.ID:
			var err error
			if t, err = k.move(ctx, t.ID, task.Change{To: task.Paused, Reason: begin.ID + " comes first"}); err != nil {
				return err
			}
			return k.withdraw(ctx, a, t, fmt.Sprintf("%s comes first; you get it back after that", begin.ID))
		}
		if _, why := a.Spent(k.Now()); why != "" {
			return k.putBack(ctx, a, t, why)
		}
		return k.progress(ctx, a, t)
	}
	if _, why := a.Spent(k.Now()); why != "" {
		return k.waits(ctx, a, "")
	}
	if w, _ := a.Stands(k.Now(), k.org.Stopped); w != Idle && !a.asks() || k.lives.Of(a.Name) == nil {
		return k.waits(ctx, a, "")
	}
	t := list.At(a.Name) // by its own records it is at none: it never reached it
	if t == nil {
		t, _ = list.Next(a.Name)
	}
	if t == nil {
		if err := k.waits(ctx, a, ""); err != nil {
			return err
		}
		return k.retire(ctx, a, list)
	}
	if until := k.org.resetsFirst(a); k.Now().Before(until) {
		k.at(until)
		return k.waits(ctx, a, "the agent starts a new conversation first")
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

// move takes a task to another state: as it is now, or as c.Saw says that it must be.
func (k *Keeper) move(ctx context.Context, id string, c task.Change) (*task.Task, error) {
	list, err := k.change(ctx, func(l *task.List) ([]task.Change, error) {
		t := l.Get(id)
		if t == nil {
			return nil, task.ErrNone
		}
		c.Task, c.Saw, c.Op, c.By = id, cmp.Or(c.Saw, t.Version), task.OpMove, task.Cmux
		return []task.Change{c}, nil
	})
	if err != nil {
		return nil, err
	}
	return list.Get(id), nil
}

// onto says of a task on which branch its work is, and which task's that began at.
func (k *Keeper) onto(ctx context.Context, id, branch, partOf string) (*task.Task, error) {
	return k.edit(ctx, id, task.Fields{Branch: &branch, PartOf: &partOf})
}

// edit changes fields of a task.
func (k *Keeper) edit(ctx context.Context, id string, f task.Fields) (*task.Task, error) {
	list, err := k.change(ctx, func(l *task.List) ([]task.Change, error) {
		t := l.Get(id)
		if t == nil {
			return nil, task.ErrNone
		}
		return []task.Change{{Task: id, Saw: t.Version, Op: task.OpEdit, By: task.Cmux, Fields: f}}, nil
	})
	if err != nil {
		return nil, err
	}
	return list.Get(id), nil
}

// withdraw takes its work back from an agent, once.
func (k *Keeper) withdraw(ctx context.Context, a *Agent, t *task.Task, why string) error {
	kept := t.State == task.Paused
	l := k.lives.Of(a.Name)
	if l == nil || k.desk.wanted[t.ID] == l.N {
		return nil
	}
	if _, err := l.Tell(ctx, attempt.Message{Op: attempt.OpWithdraw, Key: t.ID, Text: why, Kept: kept}); err != nil {
		return err
	}
	k.desk.wanted[t.ID] = l.N
	return nil
}

// give has an agent begin with a task: its branch, then the tasks, then the agent.
func (k *Keeper) give(ctx context.Context, a *Agent, t *task.Task) error {
	if a.Last != nil && !a.Last.At.Before(k.desk.given[a.Name]) {
		delete(k.desk.given, a.Name) // it had what it was given
	}
	for _, wait := range []time.Time{k.desk.given[a.Name].Add(again), k.desk.unfit[a.Name]} {
		if k.Now().Before(wait) {
			k.at(wait)
			return nil
		}
	}
	if free, err := k.free(ctx, a); !free || err != nil {
		return err
	}
	// A clone's task that another agent has now starts from scratch: the clone's
	// branch may hold work of a task that is never merged.
	if t.PartOf != "" && t.Branch != a.Member.Branch {
		var err error
		if t, err = k.onto(ctx, t.ID, "", ""); err != nil {
			return err
		}
	}
	if why := k.unusable(a, t); why != "" {
		_, err := k.move(ctx, t.ID, task.Change{To: task.Blocked, Reason: why})
		return errors.Join(err, k.write(ctx, a, t.ID, t.CreatedBy, fmt.Sprintf("%s-%d-branch", t.ID, t.Version), fmt.Sprintf("[BLOCKED] %s: %s", t.ID, t.Title), why))
	}
	if o, err := keeps(ctx, k, a, t); o != nil || err != nil {
		k.at(k.Now().Add(time.Second))
		return errors.Join(err, k.waits(ctx, a, o.Name+" has not left it yet"))
	}
	if waits, err := k.hindered(ctx, a); waits || err != nil {
		return err
	}
	t, begins, err := k.begins(ctx, a, t)
	var conflict *merge.ConflictError
	switch {
	case errors.As(err, &conflict):
		return k.cannotStart(ctx, a, t, conflict)
	case err != nil:
		return k.cannot(ctx, a, t, err)
	}
	w, err := k.work(ctx, a, t, begins)
	if err != nil {
		return k.cannot(ctx, a, t, err)
	}
	delete(k.desk.told, a.Name)
	if m := &a.Member; m.CloneOf != "" && w.Def.Branch == m.Branch && (t.Branch != m.Branch || t.PartOf != m.CloneTask) {
		if t, err = k.onto(ctx, t.ID, m.Branch, m.CloneTask); err != nil {
			return err
		}
	}
	again := t.State == task.Paused || a.away[w.Place.Branch] != "" // or a keeper was killed in between
	if t.State != task.Working {
		if t, err = k.move(ctx, t.ID, task.Change{To: task.Working}); err != nil {
			return err
		}
	}
	w.Attempt, w.Past, w.Checks = t.Last().N, past(t), k.org.Settings.Verify
	if again {
		if w.Before, err = k.takenUp(ctx, a, w); err != nil {
			return err
		}
	}
	delete(k.desk.wanted, t.ID)
	k.Log.Info("an agent gets a task", "agent", a.Name, "task", t.ID, "attempt", w.Attempt)
	if err := k.hand(ctx, a, w); err != nil {
		return err
	}
	return k.org.lookAt(a) // it records that it was given before it answers
}

// free asks an agent whether it rests, with nothing on its way to it.
func (k *Keeper) free(ctx context.Context, a *Agent) (bool, error) {
	l := k.lives.Of(a.Name)
	if l == nil {
		return false, nil
	}
	r, err := l.Tell(ctx, attempt.Message{Op: attempt.OpStand})
	if err != nil || r.Standing == nil {
		return false, err
	}
	s := r.Standing
	rests := s.Activity == dag.Resting || s.Activity == dag.NeedsInput && strings.HasPrefix(s.Detail, askedWhom)
	if !rests || len(s.Waiting) > 0 || s.Taken || s.Work != "" {
		k.at(k.Now().Add(time.Second))
		return false, nil
	}
	return true, nil
}

// cannot takes in that an agent cannot begin with a task. That is about its tree
// more often than about the task, which waits.
func (k *Keeper) cannot(ctx context.Context, a *Agent, t *task.Task, why error) error {
	k.desk.unfit[a.Name] = k.Now().Add(leftAlone)
	k.at(k.desk.unfit[a.Name])
	k.Log.Error("an agent cannot begin with a task", "agent", a.Name, "task", t.ID, "err", why)
	if k.desk.told[a.Name] == why.Error() {
		return nil
	}
	k.desk.told[a.Name] = why.Error()
	id := fmt.Sprintf("%s-%d-%x", t.ID, t.Version, k.Now().UnixNano())
	return k.write(ctx, a, t.ID, t.CreatedBy, id, fmt.Sprintf("[ERROR] %s cannot begin with %s: %s", a.Name, t.ID, t.Title), why.Error())
}

// unusable says why a task's branch is none that work may be done on.
func (k *Keeper) unusable(a *Agent, t *task.Task) string {
	if t.Kind == task.ForAnswer || a.Member.Tree == "" {
		return "" // it is done on none of its own
	}
	b := branchFor(&a.Member, t)
	if !branchRE().MatchString(b) || strings.Contains(b, "..") || strings.HasSuffix(b, ".lock") || strings.HasSuffix(b, "/") {
		return fmt.Sprintf("%q is no name for a branch", b)
	}
	if b == k.org.Settings.Integration {
		return "its branch is the one that work comes together on: take another"
	}
	for name, o := range k.org.Agents {
		if o.Member.Branch == b && (o.Name != a.Name || a.Member.CloneOf == "") {
			return fmt.Sprintf("its branch is %s's own: take another", name)
		}
	}
	return ""
}

var branchRE = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._/-]*$`) })

// again is how long a life may take to record that it was given its work.
const again = 5 * time.Second

// hand hands work to the life of an agent. One that has it already takes it for
// the same.
func (k *Keeper) hand(ctx context.Context, a *Agent, w *run.Work) error {
	l := k.lives.Of(a.Name)
	if l == nil {
		return nil
	}
	k.desk.given[a.Name] = k.Now()
	if _, err := l.Tell(ctx, attempt.Message{Op: attempt.OpGive, Work: w}); err != nil {
		return err
	}
	return nil
}

// past returns a task's earlier attempts as its agent reads them, or nil if there are
// none. An attempt without a verdict was paused, taken back or lost.
func past(t *task.Task) *run.Past {
	var all []run.Attempt
	for i := range t.Attempts {
		a := &t.Attempts[i]
		former := run.Attempt{N: a.N, End: a.End}
		if a.End == nil {
			former.Vanished = "interrupted"
		}
		all = append(all, former)
	}
	return prompt.Past(all, t.Last().N)
}

// work is a task as an agent is given it.
func (k *Keeper) work(ctx context.Context, a *Agent, t *task.Task, begins *start) (*run.Work, error) {
	m := &a.Member
	def := &dag.Node{
		Name: m.Name, Agent: m.Kind, Role: dag.RoleBuild, Task: strings.TrimSpace(t.Title+"\n\n"+t.Body) + begins.String(),
		Scope: t.Scope, Verify: k.org.Checks(a, t), VerifyTimeout: dag.Duration(verifyTimeout), VerifyAttempts: verifyAttempts,
		When: dag.AllSuccess, OnLost: dag.Redo, Account: m.Account,
	}
	if t.Kind == task.ForAnswer && !a.Leads() {
		def.Role = dag.RoleReview
	}
	place := run.Place{Dir: m.Dir, Tree: m.Tree, Slot: a.place.Slot, PortBase: a.place.PortBase}
	if m.Tree == "" {
		// Who leads changes nothing itself, and its task ends with what others did.
		// Who shares a folder works on the branch that is checked out there.
		if def.HasBranch() && !a.Leads() {
			git, cancel := context.WithTimeout(ctx, gitPatience)
			defer cancel()
			var err error
			if place.Branch, place.Commit, err = k.Trees.Head(git, m.Dir); err != nil {
				return nil, err
			}
		}
		return &run.Work{ID: t.ID, By: t.CreatedBy, Def: def, Place: place}, nil
	}
	if !def.HasBranch() {
		return k.question(ctx, a, t, def, place, begins.commit)
	}
	def.Branch = branchFor(m, t)
	place.Branch = def.Branch
	if err := k.release(ctx, a, def.Branch); err != nil {
		return nil, err
	}
	commit, err := k.check(ctx, a, def.Branch, begins.commit, "before task "+t.ID)
	if err != nil {
		return nil, err
	}
	place.Commit = commit
	return &run.Work{ID: t.ID, By: t.CreatedBy, Def: def, Place: place}, nil
}

// Checks are the commands that judge a task that a begins now: its own, and those of the
// configuration where it changes this project.
func (o *Org) Checks(a *Agent, t *task.Task) []string {
	all := slices.Clone(t.Verify)
	if t.Kind == task.ForAnswer || a.Leads() || a.Member.Project != "" {
		return all
	}
	for _, c := range o.Settings.Verify {
		if !slices.Contains(all, c) {
			all = append(all, c)
		}
	}
	return all
}

// question is a task that only asks for an answer, as an agent with a worktree of
// its own is given it: what it begins at is checked out, and no branch is made. A
// clone reads what it has made so far.
func (k *Keeper) question(ctx context.Context, a *Agent, t *task.Task, def *dag.Node, place run.Place, from string) (*run.Work, error) {
	def.Checkout = true
	branch := ""
	if a.Member.CloneOf != "" {
		branch = a.Member.Branch
	}
	commit, err := k.check(ctx, a, branch, from, "before task "+t.ID)
	if err != nil {
		return nil, err
	}
	if branch == "" {
		place.Commit = commit
	}
	return &run.Work{ID: t.ID, By: t.CreatedBy, Def: def, Place: place}, nil
}

// check has a branch checked out in an agent's worktree. A new branch begins at from.
func (k *Keeper) check(ctx context.Context, a *Agent, branch, from, reason string) (commit string, err error) {
	git, cancel := context.WithTimeout(ctx, gitPatience)
	defer cancel()
	left := a.Branch // of a tree that was taken off it
	if on, _, err := k.Trees.Head(git, a.Member.Tree); err == nil && on != "" {
		left = on
	}
	commit, restore, err := k.Trees.Switch(git, a.Member.Tree, branch, from, reason)
	if restore != "" {
		note := run.Record{Type: run.Noted, Key: keyAway, Value: left, Request: strings.TrimPrefix(restore, restoreCommand), Detail: fmt.Sprintf("%s, what was not committed in its worktree was saved: %s", reason, restore)}
		err = errors.Join(err, k.org.RecordOf(ctx, a.Name, note))
	}
	return commit, err
}

// restoreCommand precedes the name of a snapshot in the command that restores it.
const restoreCommand = "cmux snapshots restore "

// takenUp restores what was not committed when an agent's work was put back, and
// returns the text that tells the agent so.
func (k *Keeper) takenUp(ctx context.Context, a *Agent, w *run.Work) (string, error) {
	snapshot := a.away[w.Place.Branch]
	if snapshot == "" || w.Place.Tree == "" {
		return prompt.TakenUp(""), nil
	}
	git, cancel := context.WithTimeout(ctx, gitPatience)
	defer cancel()
	rerr := k.Trees.Restore(git, w.Place.Tree, w.Place.Branch, snapshot)
	note := run.Record{Type: run.Noted, Key: keyAway, Value: w.Place.Branch, Detail: "what was not committed on its branch is back: " + snapshot}
	restore := ""
	if rerr != nil {
		restore = restoreCommand + snapshot
		note.Detail = fmt.Sprintf("what was not committed on its branch is not back: %v; try: %s", rerr, restore)
	}
	if err := k.org.RecordOf(ctx, a.Name, note); err != nil {
		return "", err
	}
	return prompt.TakenUp(restore), k.org.lookAt(a)
}

// keeps is who has not left a task yet that is another's now, or its branch; nil: nobody.
func keeps(ctx context.Context, k *Keeper, to *Agent, t *task.Task) (*Agent, error) {
	branch := ""
	if to.Member.Tree != "" && t.Kind != task.ForAnswer {
		branch = branchFor(&to.Member, t)
	}
	for _, o := range k.org.Agents {
		switch {
		case o == to || !o.Life.On():
		case o.Work != nil:
			if o.Work.ID == t.ID || branch != "" && o.Work.Place.Branch == branch {
				return o, nil
			}
		case branch != "" && o.Branch == branch && o.Member.Tree != "" && o.Last != nil:
			if free, err := k.free(ctx, o); !free || err != nil {
				return o, err
			}
		}
	}
	return nil, nil
}

// release has an agent that rests leave a branch that another one is to work on.
func (k *Keeper) release(ctx context.Context, to *Agent, branch string) error {
	for _, o := range k.org.Agents {
		if o == to || o.Member.Tree == "" || o.Last == nil || o.Work != nil || o.Branch != branch {
			continue
		}
		if free, err := k.free(ctx, o); o.Life.On() && (!free || err != nil) {
			return errors.Join(fmt.Errorf("its branch is checked out in the worktree of %s, which is at work", o.Name), err)
		}
		if _, err := k.check(ctx, o, o.Member.Branch, k.org.start(&o.Member), "its branch goes to "+to.Name); err != nil {
			return err
		}
	}
	return nil
}
