package task

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"cmux/agents/records/ledger"
)

// List is the fold of all changes. Tasks in it never change: a change puts
// another one in their place. The zero value is empty.
type List struct {
	Bad  []Bad
	Gaps []string // tasks of which a change is missing

	tasks map[string]*Task
	order []string
	log   []Change
	most  int // highest number of an id
}

// number returns the number in a task's id, or 0 if id has none.
func number(id string) int {
	digits, ok := strings.CutPrefix(id, "t")
	n, err := strconv.Atoi(digits)
	if !ok || err != nil || n < 1 || strconv.Itoa(n) != digits {
		return 0
	}
	return n
}

// NextID is the id of the next task.
func (l *List) NextID() string { return "t" + strconv.Itoa(l.most+1) }

// Step makes a change, or says why it cannot be made.
func (l *List) Step(c Change) error {
	if number(c.Task) == 0 {
		return fmt.Errorf("%.40q: %w", c.Task, ErrNone)
	}
	err := c.legal(l.tasks[c.Task])
	if err == nil {
		err = l.missing(c.After)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", c.Task, err)
	}
	l.put(c)
	return nil
}

func (l *List) put(c Change) {
	if l.tasks == nil {
		l.tasks = make(map[string]*Task)
	}
	old := l.tasks[c.Task]
	if old == nil {
		l.order = append(l.order, c.Task)
	}
	l.tasks[c.Task] = c.apply(old)
	l.most = max(l.most, number(c.Task))
	if c.Merged != nil { // it may name a task that has no line of its own
		l.most = max(l.most, number(c.Merged.Task))
	}
	l.log = append(l.log, c)
}

// Take folds in a line of the file.
func (l *List) Take(line []byte) error {
	c, err := parse(line)
	if err != nil {
		return err
	}
	if !l.fold(*c) {
		return ledger.ErrCopy
	}
	return nil
}

// fold takes in a change that was written. It reports whether it counts: a copy
// of an older one does not.
func (l *List) fold(c Change) bool {
	old := l.tasks[c.Task]
	seen := 0
	if old != nil {
		seen = old.Version
	}
	if c.Saw < seen {
		return false
	}
	if c.Saw > seen && !slices.Contains(l.Gaps, c.Task) {
		l.Gaps = append(l.Gaps, c.Task)
	}
	l.put(c)
	return true
}

// Get is the task of an id; nil: there is none.
func (l *List) Get(id string) *Task { return l.tasks[id] }

// missing refuses a task that is to come after one that is not there. So no task
// waits for itself in the end.
func (l *List) missing(after *[]string) error {
	if after == nil {
		return nil
	}
	for _, id := range *after {
		if l.tasks[id] == nil {
			return fmt.Errorf("%w: %.40q", ErrBefore, id)
		}
	}
	return nil
}

// Before are the ids of those of the tasks that t comes after that are not done.
func (l *List) Before(t *Task) (ids []string) {
	for _, id := range t.After {
		if b := l.tasks[id]; b == nil || b.State != Done {
			ids = append(ids, id)
		}
	}
	return ids
}

// Starts returns the tasks whose work t starts from, in the order of t.After. A task
// that was done without commits stands for the tasks that it started from itself.
func (l *List) Starts(t *Task) (all []*Task) {
	seen := map[string]bool{t.ID: true}
	var put func(*Task)
	put = func(t *Task) {
		for _, id := range t.After {
			b := l.tasks[id]
			if b == nil || seen[id] || b.State != Done {
				continue
			}
			if seen[id] = true; b.Delivers() {
				all = append(all, b)
			}
			if !b.Delivers() || b.Override {
				put(b)
			}
		}
	}
	put(t)
	return all
}

// ByKey is the task that was made for what key names; nil: there is none.
func (l *List) ByKey(key string) *Task {
	for _, id := range l.order {
		if t := l.tasks[id]; t.Key == key {
			return t
		}
	}
	return nil
}

// All are the tasks, in the order in which they came to be.
func (l *List) All() []*Task {
	all := make([]*Task, len(l.order))
	for i, id := range l.order {
		all[i] = l.tasks[id]
	}
	return all
}

// Log are the changes of a task, oldest first; of all with an empty id.
func (l *List) Log(id string) (all []Change) {
	for _, c := range l.log {
		if id == "" || c.Task == id {
			all = append(all, c)
		}
	}
	return all
}

// Queue are the tasks that fit, the one that comes first first: by priority, and
// then by age.
func (l *List) Queue(fits func(*Task) bool) (all []*Task) {
	for _, t := range l.All() {
		if fits(t) {
			all = append(all, t)
		}
	}
	slices.SortStableFunc(all, func(a, b *Task) int { return cmp.Compare(a.Priority.rank(), b.Priority.rank()) })
	return all
}

// At is the task that an agent is at; nil: none.
func (l *List) At(agent string) (at *Task) {
	for _, t := range l.All() {
		if t.Agent == agent && t.State.Active() {
			at = t
		}
	}
	return at
}

// preempted reports whether cmux put the task back for a more urgent one. What
// somebody else paused stays so until it is assigned again.
func (t *Task) preempted() bool { return t.State == Paused && t.ChangedBy == Cmux }

// Next says what an agent is to work on: nothing new (nil), or a task. put is the
// one it works on that is put back for it; nil: it has none.
func (l *List) Next(agent string) (begin, put *Task) {
	put = l.At(agent)
	waits := l.Queue(func(t *Task) bool {
		return t.Agent == agent && (t.State == Assigned && len(l.Before(t)) == 0 || t.preempted())
	})
	switch {
	case len(waits) == 0:
		return nil, nil
	case put == nil:
		return waits[0], nil
	case waits[0].Priority.Preempts(put.Priority):
		return waits[0], put
	}
	return nil, nil
}
