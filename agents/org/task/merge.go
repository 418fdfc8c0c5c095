package task

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// Merged says whether a task's work is in the integration branch, and what kept it
// out where it is not.
type Merged struct {
	Commit   string   `json:"commit"`   // that it came in with; empty: it is not in
	Conflict []string `json:"conflict"` // files that kept it out
	Check    string   `json:"check"`    // command that failed after it, and so kept it out
	Task     string   `json:"task"`     // id of the task that is to bring it in, or that it comes in with
	Nothing  bool     `json:"nothing"`  // a person called it done, and it has no commits
}

// In reports whether the work is in the integration branch, or there is none.
func (m *Merged) In() bool { return m != nil && (m.Commit != "" || m.Nothing) }

// With reports whether the work is a part of another task's, and comes in with it.
func (m *Merged) With() bool { return !m.In() && m.Check == "" && len(m.Conflict) == 0 }

// String says how the work stands with the integration branch.
func (m *Merged) String() string {
	switch {
	case m == nil:
		return ""
	case m.Nothing:
		return "nothing to merge"
	case m.In():
		return "merged at " + m.Commit
	}
	text := "not merged: a conflict in " + strings.Join(m.Conflict, ", ")
	switch {
	case m.Check != "":
		text = "not merged: after it this fails: " + m.Check
	case m.With():
		return "not merged: it comes in with " + m.Task
	}
	if m.Task != "" {
		text += "; " + m.Task + " is to bring it in"
	}
	return text
}

var wordRE = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[a-z0-9]+`) })

// WorkBranch is the branch that the work on a task is on.
func (t *Task) WorkBranch() string {
	if t.Branch != "" {
		return t.Branch
	}
	name := "task/" + t.ID
	for _, w := range wordRE().FindAllString(strings.ToLower(t.Title), 5) {
		if len(name)+len(w) < 50 {
			name += "-" + w
		}
	}
	return name
}

// Worker is the agent that worked on the task last; empty: nobody has.
func (t *Task) Worker() string {
	if last := t.Last(); last != nil {
		return last.Agent
	}
	return t.Agent
}

// Tip is the commit that the task's work was judged at. A task that a person called
// done may have none.
func (t *Task) Tip() string {
	if end := t.Result(); end != nil && !t.Override {
		return end.Tip
	}
	return ""
}

// Delivers reports whether there is something to merge of a task that is done: it
// has commits, or a person called it done, who may know of some.
func (t *Task) Delivers() bool {
	end := t.Result()
	return t.State == Done && (t.Override && t.Kind != ForAnswer || end != nil && end.Commits > 0 && end.Tip != "")
}

// Empty reports whether a person called the task done, and no verdict knows of commits.
func (t *Task) Empty() bool {
	end := t.Result()
	return t.Override && (end == nil || end.Commits == 0)
}

// Mergeable returns those of the Unmerged that a merge would try: not those that a task
// which is not over brings in.
func (l *List) Mergeable() (all []*Task) {
	for _, t := range l.Unmerged() {
		if by := t.Merged; by == nil || by.Task == "" || l.Get(by.Task) == nil || l.Get(by.Task).State.Over() {
			all = append(all, t)
		}
	}
	return all
}

// Unmerged are the tasks that are done and whose work is not in the integration
// branch, in the order in which it is to come in: that of their ends, but parents
// before children, and what repairs a task before the task.
func (l *List) Unmerged() []*Task {
	ended := make(map[string]time.Time)
	for _, c := range l.log {
		if c.Op == OpVerdict || c.Op == OpOverride {
			ended[c.Task] = c.At
		}
	}
	var all []*Task
	for _, t := range l.All() {
		if t.Delivers() && !t.Merged.In() && l.Approved(t) {
			all = append(all, t)
		}
	}
	slices.SortStableFunc(all, func(a, b *Task) int {
		return cmp.Or(ended[a.ID].Compare(ended[b.ID]), cmp.Compare(number(a.ID), number(b.ID)))
	})
	var out []*Task
	seen := make(map[string]bool)
	var put func(*Task)
	put = func(t *Task) {
		if t == nil || seen[t.ID] || !slices.Contains(all, t) {
			return
		}
		seen[t.ID] = true
		if t.Merged != nil {
			put(l.Get(t.Merged.Task))
		}
		for _, id := range t.below() {
			put(l.Get(id))
		}
		if parent := l.Get(t.Parent); parent != nil && (parent.Merged == nil || parent.Merged.Task != t.ID) {
			put(parent)
		}
		out = append(out, t)
	}
	for _, t := range all {
		put(t)
	}
	return out
}

// Repair is the task that is to bring in the work of another one and has not yet;
// nil: there is none, and the work itself may be tried.
func (l *List) Repair(t *Task) *Task {
	if t.Merged == nil {
		return nil
	}
	by := l.Get(t.Merged.Task)
	if by != nil && t.Merged.With() && by.keepsOut() {
		return by // what began at work that was rejected does not bring that in
	}
	if by == nil || by.State.Over() && (!by.Delivers() || by.Merged.In()) {
		return nil
	}
	return by
}

// Below are the tasks whose work is below that of t and not in the integration
// branch: the one that t is a part of, and those that t started from. Nobody may
// have judged that work, or it was rejected, so it keeps t out.
func (l *List) Below(t *Task) (all []*Task) {
	for _, id := range t.below() {
		if b := l.Get(id); b != nil && b.keepsOut() {
			all = append(all, b)
		}
	}
	return all
}

// below are the ids of the tasks at whose work t began.
func (t *Task) below() (ids []string) {
	if t.PartOf != "" {
		ids = append(ids, t.PartOf)
	}
	if t.Start != nil {
		ids = append(ids, t.Start.Tasks...)
	}
	return ids
}

// keepsOut reports whether what began at the work of t must stay out with it.
func (t *Task) keepsOut() bool {
	return !t.Merged.In() && (t.State != Done || t.Delivers())
}

// Repairs reports whether t was made because a check failed after another task's
// work, or one that t goes back to was: one more task would not make it pass.
func (l *List) Repairs(t *Task, check string) bool {
	of := l.Get(t.Parent)
	if of == nil || of.Merged == nil || of.Merged.Task != t.ID {
		return false
	}
	return of.Merged.Check == check || l.Repairs(of, check)
}
