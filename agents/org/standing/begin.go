package standing

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"cmux/agents/org/task"
	"cmux/worktree/merge"
)

// Contribution is the work of a task that another task starts from.
type Contribution struct {
	Task   string // id
	Branch string
	Commit string // that the work was judged at; "": the tip of Branch, if Branch exists
	In     bool   // the branch of the later task holds it
}

// start is where the work on a task begins.
type start struct {
	commit string         // or a branch: what a new branch begins at, and what existing work is compared with
	from   []Contribution // what the tasks before it came to
	shared bool           // its agent works in a folder of others, on no branch of its own
}

// String returns the text for the agent about the tasks that its own task follows.
func (s *start) String() string {
	var b strings.Builder
	for _, c := range s.from {
		switch {
		case c.Commit == "":
		case s.shared:
			fmt.Fprintf(&b, "\n\nThis task comes after %s, whose work ends at commit %.12s.", c.Task, c.Commit)
		case c.In:
			fmt.Fprintf(&b, "\n\nThis task comes after %s. What you work on holds its work (%s, commit %.12s).", c.Task, c.Branch, c.Commit)
		default:
			fmt.Fprintf(&b, "\n\nThis task comes after %s. Its work is on the branch %s, at commit %.12s. What you work on does not hold it yet.", c.Task, c.Branch, c.Commit)
		}
	}
	return b.String()
}

// begins returns where the work on a task begins, and the task with that on record. It
// is a *merge.ConflictError that the contributions do not fit together.
func (k *Keeper) begins(ctx context.Context, a *Agent, t *task.Task) (*task.Task, *start, error) {
	s := &start{commit: k.org.start(&a.Member)}
	if t.Start != nil {
		s.commit = t.Start.Commit
	}
	list, err := k.desk.book.List()
	if err != nil {
		return t, nil, err
	}
	for _, b := range list.Starts(t) {
		s.from = append(s.from, Contribution{Task: b.ID, Branch: b.WorkBranch(), Commit: b.Tip()})
	}
	if s.shared = a.Member.Tree == ""; s.shared || len(s.from) == 0 {
		return t, s, nil
	}
	git, cancel := context.WithTimeout(ctx, gitPatience)
	defer cancel()
	commit, err := k.Trees.Start(git, branchFor(&a.Member, t), k.org.start(&a.Member), s.from)
	if err != nil || commit == "" {
		return t, s, err
	}
	s.commit = commit
	t, err = k.record(ctx, t, s)
	return t, s, err
}

// record writes down where a task begins, before its branch is made.
func (k *Keeper) record(ctx context.Context, t *task.Task, s *start) (*task.Task, error) {
	at := task.Start{Commit: s.commit, Tasks: []string{}}
	for _, c := range s.from {
		if c.In {
			at.Tasks = append(at.Tasks, c.Task)
		}
	}
	if old := t.Start; old == nil && len(at.Tasks) == 0 || old != nil && old.Commit == at.Commit && slices.Equal(old.Tasks, at.Tasks) {
		return t, nil
	}
	return k.edit(ctx, t.ID, task.Fields{Start: &at})
}

// cannotStart blocks a task whose contributions conflict, and says how to go on.
func (k *Keeper) cannotStart(ctx context.Context, a *Agent, t *task.Task, c *merge.ConflictError) error {
	why := "conflict: " + c.Error()
	if _, err := k.move(ctx, t.ID, task.Change{To: task.Blocked, Reason: why}); err != nil {
		return err
	}
	body := fmt.Sprintf("%s\n\nThe work that %s starts from does not fit together. Bring it together first: cmux tasks merge. Then: cmux tasks assign %[2]s %s", why, t.ID, a.Name)
	return k.write(ctx, a, t.ID, t.CreatedBy, fmt.Sprintf("%s-%d-conflict", t.ID, t.Version), fmt.Sprintf("[BLOCKED] %s: %s", t.ID, t.Title), body)
}
