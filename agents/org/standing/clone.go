package standing

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"cmux/agents/org/task"
	"cmux/agents/runs/run"
)

// cloneInfix stands in the name of a clone between that of the other and its
// number.
const cloneInfix = "-clone-"

// CloneName is the name of a clone of an agent.
func CloneName(of string, n int) string { return of + cloneInfix + strconv.Itoa(n) }

// cloneIndex returns the number in the name of a clone, or 0 if name is no clone's.
func cloneIndex(name string) int {
	i := strings.LastIndex(name, cloneInfix)
	if i < 0 {
		return 0
	}
	n, err := strconv.Atoi(name[i+len(cloneInfix):])
	if err != nil {
		return 0
	}
	return n
}

// MayClone says why there can be no clone of an agent.
func MayClone(a *Agent) error {
	switch {
	case a.Leaving != "":
		return fmt.Errorf("%s is being removed", a.Name)
	case a.Member.Role != Worker && a.Member.Role != PermanentWorker:
		return fmt.Errorf("%s is a %s, and only workers are cloned", a.Name, strings.ReplaceAll(a.Member.Role, "-", " "))
	case a.Member.Tree == "":
		return fmt.Errorf("%s works in a folder that it shares: there is no branch of its own to begin a clone at", a.Name)
	}
	return nil
}

// clone makes of m, a new agent, a clone of another one: its program and role, on a
// branch that begins where the other's work is.
func (o *Org) clone(m *run.Member, of string) error {
	a := o.Agents[of]
	if a == nil {
		return &UnknownError{of, o.Names()}
	}
	if err := MayClone(a); err != nil {
		return err
	}
	was := &a.Member
	m.Role, m.CloneOf, m.CloneIndex, m.CloneFrom = Clone, of, cloneIndex(m.Name), was.Branch
	m.Kind, m.Model, m.Account, m.Project, m.RoleFile, m.AutoAccept = was.Kind, was.Model, was.Account, was.Project, was.RoleFile, was.AutoAccept
	m.Session = was.Session
	if a.Work != nil && a.Work.Place.Branch != "" {
		m.CloneFrom, m.CloneTask = a.Work.Place.Branch, a.Work.ID
	}
	return nil
}

// start is what an agent's own branch, and the work on it, begins at.
func (o *Org) start(m *run.Member) string { return orElse(m.CloneFrom, o.Settings.Integration) }

// branchFor is the branch on which an agent works on a task. A clone's tasks are
// parts of one piece of work, which goes back as a whole: they are on its own.
func branchFor(m *run.Member, t *task.Task) string {
	if m.CloneOf != "" && (t.Branch == "" || t.Branch == m.Branch) {
		return m.Branch
	}
	return t.WorkBranch()
}

// demote makes an ordinary worker of a permanent one. It stays as it is, and
// whoever may remove workers may remove it.
func (k *Keeper) demote(ctx context.Context, a *Agent) (done, error) {
	if a.Member.Role != PermanentWorker && !a.Member.Permanent {
		if a.Member.Role == Worker {
			return done{over: true}, nil // the keeper before this one has done it
		}
		return refuse("%s is a %s, no permanent worker", a.Name, strings.ReplaceAll(a.Member.Role, "-", " ")), nil
	}
	m := a.Member
	m.Role, m.Permanent = Worker, false
	if err := k.org.WriteContext(&m); err != nil {
		return done{}, err
	}
	if err := k.org.Join(ctx, m, ""); err != nil {
		return done{}, err
	}
	return done{over: true}, k.org.lookAt(a)
}

// Overflows reports whether a task is another one's to do than the permanent
// worker's that it is for, which has enough to do before it.
func Overflows(a *Agent, list *task.List, t *task.Task) bool {
	if a.Member.Role != PermanentWorker || a.Leaving != "" {
		return false
	}
	for _, o := range list.All() {
		if o.ID == t.ID || o.Agent != a.Name || o.State != task.Assigned && !o.State.Active() {
			continue
		}
		if !t.Priority.Preempts(o.Priority) {
			return true
		}
	}
	return false
}

// onceGrace is how long an agent that was made for one task waits for it.
const onceGrace = 10 * time.Minute

// retire has an agent removed that was made for what it has done, or for what it
// never got.
func (k *Keeper) retire(ctx context.Context, a *Agent, list *task.List) error {
	if !a.Member.Once || a.Work != nil {
		return nil
	}
	if grace := a.Born.Add(onceGrace); a.Last == nil && k.Now().Before(grace) {
		k.at(grace)
		return nil
	}
	for _, t := range list.All() {
		if t.Agent == a.Name && t.State != task.Done && t.State != task.Cancelled {
			return nil // failed or blocked: whoever gave it decides
		}
	}
	if free, err := k.free(ctx, a); err != nil || !free {
		return err
	}
	q, err := Request(OpKill, a.Name, Ask{By: task.Cmux})
	if err == nil {
		_, err = k.org.Run.Ask(q)
	}
	return err
}
