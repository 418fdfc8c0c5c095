// Package tasks shows the tasks of an organization, changes them, and merges what was
// done for them.
package tasks

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"cmux/agents/control/merging"
	"cmux/agents/control/project"
	"cmux/agents/org/standing"
	"cmux/agents/org/task"
	"cmux/agents/platform/say"
	"cmux/agents/runs/run"
	"cmux/signals/mailbox"
	"cmux/worktree"
	"cmux/worktree/git"
	"cmux/worktree/hint"
	"cmux/worktree/separate"
)

// Tasks are the tasks of a project.
type Tasks struct {
	*project.Project
	Talk merging.Talk // about work that does not fit; nil: nobody does
}

// TaskView is a task as it is shown.
type TaskView struct {
	*task.Task
	Label    string      `json:"label"`
	OnBranch string      `json:"work_branch"` // that the work is on; empty: its agent shares a folder
	Result   *TaskResult `json:"result"`      // of the newest verdict; null: there is none
	Judged   *TaskChecks `json:"judged"`      // null: no agent works on it

	Dirty string `json:"-"` // what its agent has not committed, of a task that was just taken from it
}

// TaskResult is the result for a task.
type TaskResult struct {
	Summary  string      `json:"summary"`
	Commits  int         `json:"commits"`
	Tip      string      `json:"tip"`
	DiffStat string      `json:"diffstat"`
	Checks   []run.Check `json:"checks"`
	Tokens   int64       `json:"tokens"`
	Snapshot string      `json:"snapshot"` // of what was not committed; empty: all was
}

// TaskChecks are the commands that judge a task which an agent works on.
type TaskChecks struct {
	Given []string `json:"given"` // those of when it was given: they stay until it is assigned again
	Now   []string `json:"now"`   // those that it would be given now
}

// crew is the organization whose agents have the tasks; it is empty where there is none.
func (p *Tasks) crew() *standing.Org {
	if org, err := standing.Open(p.Root); err == nil {
		return org
	}
	return &standing.Org{}
}

// ViewOf is a task as it is shown, with crew at work on the tasks.
func ViewOf(l *task.List, t *task.Task, crew *standing.Org) TaskView {
	v := TaskView{Task: t, Label: t.Label()}
	if a := crew.Agents[t.Worker()]; (a == nil || a.Member.Tree != "") && t.Kind != task.ForAnswer { // else its agent works in a folder of others
		v.OnBranch = t.WorkBranch()
	}
	switch a := crew.Agents[t.Agent]; {
	case t.State == task.Open, t.State == task.Assigned:
		v.Label += comesAfter(l, t) + begins(l, t, crew)
	case (t.State == task.Working || t.State == task.NeedsInput) && a != nil && !a.Life.On():
		w, _ := a.Stands(time.Now(), crew.Stopped)
		v.Label += fmt.Sprintf(", %s is %s", t.Agent, w)
	case t.State == task.Working && a != nil && a.Work != nil && a.Work.ID == t.ID:
		if w, detail := a.Stands(time.Now(), crew.Stopped); w == standing.Working && detail != "" {
			v.Label += ", " + detail + ", since " + say.Span(time.Since(a.Since))
		}
	}
	if a := crew.Agents[t.Agent]; a != nil && a.Work != nil && a.Work.ID == t.ID && a.Work.Def != nil {
		v.Judged = &TaskChecks{Given: append([]string{}, a.Work.Def.Verify...), Now: append([]string{}, crew.Checks(a, t)...)}
	}
	if end := t.Result(); end != nil {
		v.Result = &TaskResult{Summary: end.Summary, Commits: end.Commits, Tip: end.Tip, DiffStat: end.DiffStat, Checks: append([]run.Check{}, end.Checks...), Tokens: end.Used.Counted(), Snapshot: end.Snapshot}
	}
	return v
}

// begins is what a label says of an assigned task that is its agent's next: why that has
// not begun with it.
func begins(l *task.List, t *task.Task, crew *standing.Org) string {
	a := crew.Agents[t.Agent]
	if t.State != task.Assigned || a == nil {
		return ""
	}
	for name, o := range crew.Agents {
		if o != a && o.Work != nil && o.Work.ID == t.ID {
			return fmt.Sprintf(", waits for %s to leave it, which is at work on it", name)
		}
	}
	if next, _ := l.Next(t.Agent); a.Work != nil || next != t {
		return ""
	}
	switch w, _ := a.Stands(time.Now(), crew.Stopped); {
	case w != standing.Idle && w != standing.Starting:
		return fmt.Sprintf(", %s is %s", t.Agent, w)
	case a.Waits != "":
		return ", waits: " + a.Waits
	}
	return ""
}

// comesAfter is what a label says of the tasks that t comes after. What is over and not done
// is never done unless somebody changes that, so it is named with its state.
func comesAfter(l *task.List, t *task.Task) string {
	before := l.Before(t)
	word := ", after "
	for i, id := range before {
		if b := l.Get(id); b != nil && b.State.Over() {
			before[i] += " (" + string(b.State) + ")"
			word = ", waits for "
		}
	}
	if len(before) == 0 {
		return ""
	}
	return word + strings.Join(before, ", ")
}

// TaskQuery says which tasks are asked for.
type TaskQuery struct {
	All     bool   // those that are over too
	Backlog bool   // the backlog instead
	Agent   string // assigned to it
}

// Listing is tasks: the most urgent first, and then the oldest.
type Listing struct {
	Tasks   []TaskView `json:"tasks"`
	Over    int        `json:"over"`    // how many are over and not among them
	Skipped []task.Bad `json:"skipped"` // lines of the file that do not count
	Gaps    []string   `json:"gaps"`    // tasks of which a change is missing
}

// List is the project's tasks that a query asks for.
func (p *Tasks) List(q TaskQuery) (*Listing, error) {
	l, err := p.TaskList()
	if err != nil {
		return nil, err
	}
	out := &Listing{Tasks: []TaskView{}, Skipped: append([]task.Bad{}, l.Bad...), Gaps: append([]string{}, l.Gaps...)}
	crew := p.crew()
	for _, t := range l.Queue(func(t *task.Task) bool {
		return (q.Agent == "" || t.Agent == q.Agent) && (t.Backlog && t.State == task.Open) == q.Backlog
	}) {
		if t.State.Over() && !q.All {
			out.Over++
			continue
		}
		out.Tasks = append(out.Tasks, ViewOf(l, t, crew))
	}
	return out, nil
}

// Task is one of the project's tasks.
func (p *Tasks) Task(id string) (TaskView, error) {
	l, err := p.TaskList()
	if err != nil {
		return TaskView{}, err
	}
	t := l.Get(id)
	if t == nil {
		return TaskView{}, noTask(id)
	}
	return ViewOf(l, t, p.crew()), nil
}

// Log are the changes of a task, oldest first.
func (p *Tasks) Log(id string) ([]task.Change, error) {
	l, err := p.TaskList()
	if err != nil {
		return nil, err
	}
	if l.Get(id) == nil {
		return nil, noTask(id)
	}
	return l.Log(id), nil
}

func noTask(id string) error {
	return hint.New(project.Tag(fmt.Errorf("there is no task %q", id), project.ErrMissing), "cmux tasks list --all")
}

// IDs are the ids of the tasks that fit.
func (p *Tasks) IDs(fits func(*task.Task) bool) (ids []string, err error) {
	l, err := p.TaskList()
	if err != nil {
		return nil, err
	}
	for _, t := range l.Queue(fits) {
		ids = append(ids, t.ID+"\t"+t.Title)
	}
	return ids, nil
}

// Add adds a task and returns it.
func (p *Tasks) Add(ctx context.Context, f task.Fields) (TaskView, error) {
	return p.changeTask(ctx, "", func(l *task.List, _ *task.Task) (task.Change, error) {
		if f.Parent != nil && *f.Parent != "" && l.Get(*f.Parent) == nil {
			return task.Change{}, noTask(*f.Parent)
		}
		return task.Change{Task: l.NextID(), Op: task.OpAdd, Fields: f}, nil
	})
}

// Assign gives a task to an agent, which begins it when it has nothing more
// urgent to do. Where the configuration says so, another one like it is made for the
// task when it is busy.
func (p *Tasks) Assign(ctx context.Context, id, agent string) (TaskView, error) {
	a, err := mailbox.ParseAddress(agent)
	if err != nil || a.Kind != mailbox.Agent || a.Name == "monitor" || a.Name == "sentry" {
		return TaskView{}, project.Usage("cmux tasks assign --help", "%q is no agent that works on tasks", agent)
	}
	if err := p.WithinTeam(agent); err != nil {
		return TaskView{}, err
	}
	if m := p.crew().Agents[agent]; m != nil && m.InRoom() {
		return TaskView{}, project.Usage("cmux workers list", "%s is a member of a room, where it reads and talks: tasks are for workers", agent)
	}
	agent = p.Taker(ctx, id, agent)
	return p.changeTask(ctx, id, func(_ *task.List, t *task.Task) (task.Change, error) {
		if t.Backlog && t.State == task.Open {
			return task.Change{}, hint.New(fmt.Errorf("task %s is in the backlog", id), "cmux backlog take "+id+", then cmux tasks assign "+id+" "+agent)
		}
		return task.Change{Op: task.OpMove, To: task.Assigned, Agent: agent}, nil
	})
}

// Prioritize changes the priority of a task that is not over.
func (p *Tasks) Prioritize(ctx context.Context, id string, to task.Priority) (TaskView, error) {
	if err := to.Check(); err != nil {
		return TaskView{}, project.Usage("cmux tasks priority --help", "%w", err)
	}
	return p.changeTask(ctx, id, func(_ *task.List, t *task.Task) (task.Change, error) {
		if err := p.WithinTeam(t.Agent); err != nil {
			return task.Change{}, err
		}
		return task.Change{Op: task.OpEdit, Fields: task.Fields{Priority: &to}}, nil
	})
}

// Move cancels or pauses a task, for a reason, which may be empty.
func (p *Tasks) Move(ctx context.Context, id string, to task.State, reason string) (TaskView, error) {
	return p.takeBack(ctx, id, func(_ *task.List, t *task.Task) (task.Change, error) {
		if err := p.WithinTeam(t.Agent); err != nil {
			return task.Change{}, err
		}
		return task.Change{Op: task.OpMove, To: to, Reason: reason}, nil
	})
}

// Take takes a task out of the backlog.
func (p *Tasks) Take(ctx context.Context, id string) (TaskView, error) {
	return p.changeTask(ctx, id, func(_ *task.List, t *task.Task) (task.Change, error) {
		if !t.Backlog {
			return task.Change{}, hint.New(fmt.Errorf("task %s is not in the backlog", id), "cmux tasks show "+id)
		}
		return task.Change{Op: task.OpEdit, Fields: task.Fields{Backlog: new(bool)}}, nil
	})
}

// Override calls a task done, whatever its own result is.
func (p *Tasks) Override(ctx context.Context, id, reason string) (TaskView, error) {
	return p.takeBack(ctx, id, func(*task.List, *task.Task) (task.Change, error) {
		return task.Change{Op: task.OpOverride, Reason: reason}, nil
	})
}

// takeBack makes a change that ends a task. It says what its agent has not committed, and
// writes down that a task called done has nothing to merge.
func (p *Tasks) takeBack(ctx context.Context, id string, decide func(*task.List, *task.Task) (task.Change, error)) (TaskView, error) {
	worker := ""
	v, err := p.changeTask(ctx, id, func(l *task.List, t *task.Task) (task.Change, error) {
		if worker = ""; t.State.Active() {
			worker = t.Agent
		}
		return decide(l, t)
	})
	if err != nil || !v.State.Over() {
		return v, err
	}
	repo, err := worktree.Open(ctx, p.Root)
	if err != nil {
		return v, nil // the change counts all the same
	}
	if a := p.crew().Agents[worker]; a != nil && a.Member.Tree != "" {
		if dirt, err := repo.Uncommitted(separate.AtRest(ctx, p.Root, a.Member.Tree), a.Member.Tree); err == nil && !dirt.Clean() {
			v.Dirty = fmt.Sprintf("%s has changes that are not committed (%s: %s)", worker, dirt, say.List(dirt.Paths, 5))
		}
	}
	if _, err := repo.Tip(ctx, v.WorkBranch()); worker == "" && v.Empty() && v.Merged == nil && errors.Is(err, git.ErrBadRef) {
		return p.changeTask(ctx, id, func(*task.List, *task.Task) (task.Change, error) {
			return task.Change{Op: task.OpMerge, Merged: &task.Merged{Conflict: []string{}, Nothing: true}}, nil
		})
	}
	return v, nil
}

// changeTask makes one change of a task as it is now, or of a new one with an
// empty id.
func (p *Tasks) changeTask(ctx context.Context, id string, decide func(*task.List, *task.Task) (task.Change, error)) (TaskView, error) {
	adds := id == ""
	l, err := p.Write(ctx, func(l *task.List) ([]task.Change, error) {
		t := l.Get(id)
		if t == nil && id != "" {
			return nil, noTask(id)
		}
		c, err := decide(l, t)
		if err != nil {
			return nil, err
		}
		if t != nil {
			c.Task, c.Saw = t.ID, t.Version
		}
		id = c.Task
		return []task.Change{c}, nil
	})
	switch {
	case errors.Is(err, task.ErrBefore):
		return TaskView{}, hint.New(err, "cmux tasks list --all")
	case errors.Is(err, task.ErrIllegal) && adds:
		return TaskView{}, project.Usage("cmux tasks add --help", "%w", err)
	case errors.Is(err, task.ErrIllegal):
		return TaskView{}, hint.New(err, "cmux tasks show "+id)
	case err != nil:
		return TaskView{}, err
	}
	return ViewOf(l, l.Get(id), p.crew()), nil
}

// MayCheck refuses an agent a check of its own where the programs ask a person: cmux
// runs checks itself, and asks nobody. Those that count already are none of its own.
func (p *Tasks) MayCheck(l *task.List, verify []string) error {
	from, err := p.Origin()
	if err != nil || from == nil {
		return err
	}
	known := make(map[string]bool)
	if org, err := standing.Open(p.Root); err == nil {
		if org.Settings.Permissions == standing.PermitAll {
			return nil
		}
		for _, v := range org.Settings.Verify {
			known[v] = true
		}
	}
	for _, t := range l.All() {
		for _, v := range t.Verify {
			known[v] = true
		}
	}
	for _, v := range verify {
		if !known[v] && !isContainsCheck(v) {
			return hint.New(fmt.Errorf("the check %q is a person's to add: cmux runs checks without asking, and with permissions: ask or auto the programs do", v),
				"the task without --verify; verify: in .cmux/config.yml holds for every task that changes the project. Or ask: cmux mailbox send user \"[QUESTION] may I add this check?\"")
		}
	}
	return nil
}

// Write writes changes of tasks as they are now, in the caller's name.
func (p *Tasks) Write(ctx context.Context, decide func(*task.List) ([]task.Change, error)) (*task.List, error) {
	by, _, err := p.Sender()
	if err != nil {
		return nil, err
	}
	b, err := task.OpenBook(p.Root, p.Now, true)
	if err != nil {
		return nil, err
	}
	l, aside, err := b.Change(ctx, func(l *task.List) ([]task.Change, error) {
		changes, err := decide(l)
		for i := range changes {
			changes[i].By = by.String()
			if v := changes[i].Fields.Verify; err == nil && v != nil {
				err = p.MayCheck(l, *v)
			}
		}
		return changes, err
	})
	p.SetAside(task.Name, aside)
	return l, err
}

// Give gives a worker a task: one that there is, by its id, or a new one
// with this text and these fields.
func (p *Tasks) Give(ctx context.Context, name, what string, f task.Fields) (TaskView, error) {
	org, err := p.Running()
	if err != nil {
		return TaskView{}, err
	}
	a, err := org.Find(name)
	if err != nil {
		return TaskView{}, project.Usage("cmux workers list", "%w", err)
	}
	id := strings.TrimSpace(what)
	if !taskID().MatchString(id) {
		text := task.Told(what)
		if text == nil {
			return TaskView{}, project.Usage("", "say what %s is to do, or name a task", a.Name)
		}
		f.Title, f.Body = text.Title, text.Body
		t, err := p.Add(ctx, f)
		if err != nil {
			return t, err
		}
		id = t.ID
	}
	return p.Assign(ctx, id, a.Name)
}

func taskID() *regexp.Regexp { return regexp.MustCompile(`^t[0-9]+$`) }

// Taker is who gets a task that is assigned to an agent: the agent, or another one
// like it, made for the task, when it is busy and the configuration says so.
func (p *Tasks) Taker(ctx context.Context, id, agent string) string {
	org, err := standing.Open(p.Root)
	if err != nil {
		return agent // nobody works yet
	}
	a, err := org.Find(agent)
	if err != nil {
		return agent
	}
	list, err := p.TaskList()
	if err != nil || org.Settings.Overflow != standing.OverflowSpawn {
		return a.Name
	}
	t := list.Get(id)
	if t == nil || t.Backlog || !task.May(t.State, task.Assigned) || !standing.Overflows(a, list, t) {
		return a.Name // whoever assigns it says what is wrong
	}
	name := strings.TrimPrefix(a.Name, "perm-") + "-" + id
	if o := org.Agents[name]; o != nil && o.Member.Once && o.Leaving == "" {
		return name // it was made before
	}
	by, err := p.Orderer()
	if err != nil {
		return a.Name
	}
	m := &a.Member
	s := standing.Spawn{Name: name, Role: standing.Worker, Kind: m.Kind, Model: m.Model, Account: m.Account,
		Project: m.Project, Supervisor: by, RoleFile: m.RoleFile, Once: true}
	if err := p.AskKeeper(ctx, standing.OpSpawn, s.Name, standing.Ask{By: by, Spawn: &s}, nil); err != nil {
		p.Tell(fmt.Sprintf("%s is busy, and no other one could be made, so the task waits for it: %v", a.Name, err))
		return a.Name
	}
	p.Tell(fmt.Sprintf("%s is busy: %s was made for the task, and is removed after it", a.Name, s.Name))
	return s.Name
}
