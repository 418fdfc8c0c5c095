package tasks

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"cmux/agents/control/merging"
	"cmux/agents/org/standing"
	"cmux/agents/org/task"
	"cmux/agents/platform/say"
	"cmux/signals"
	"cmux/worktree"
	"cmux/worktree/git"
	"cmux/worktree/hint"
	"cmux/worktree/merge"
)

// MergeTasks orders that the work of finished tasks is brought into the
// integration branch.
type MergeTasks struct {
	IDs    []string `json:"ids,omitempty"` // empty: all that are done and not in it
	DryRun bool     `json:"dry_run,omitempty"`

	Output io.Writer    `json:"-"` // what the checks write
	Begun  func(string) `json:"-"` // is told each task before it is tried
}

// What became of a task's work.
const (
	TaskMerged    = "merged"
	TaskContained = "contained" // it was in already
	TaskConflict  = "conflict"  // with what is there: another task is to bring it in
	TaskCheck     = "check"     // likewise: a check failed after it
	TaskWaits     = "waits"     // for the task that is to bring it in, or for its agent, a clone, to be merged
	TaskGone      = "gone"      // its branch is not there any more
	TaskNothing   = "nothing"   // a person called it done, and it has no commits
)

// MergedTask is what happened to a task's work.
type MergedTask struct {
	ID       string   `json:"id"`
	Title    string   `json:"title"`
	Branch   string   `json:"branch"`
	Outcome  string   `json:"outcome"` // merged, contained, conflict, check, waits, gone, nothing
	Commit   string   `json:"commit"`  // of the integration branch with it
	Conflict []string `json:"conflict"`
	Notes    []string `json:"notes"` // what the merge leaves out of it, and the like
	Check    string   `json:"check"`
	Task     string   `json:"task"`        // that is to bring it in
	Agent    string   `json:"assigned_to"` // who has that task, or did this one
	Try      string   `json:"try"`         // where nothing more happens to it by itself
	Room     string   `json:"room"`        // that cmux has opened about its conflict
}

// In reports whether the work is in the integration branch, or there is none.
func (m *MergedTask) In() bool {
	return m.Outcome == TaskMerged || m.Outcome == TaskContained || m.Outcome == TaskNothing
}

// MergedTasks is what happened to a MergeTasks.
type MergedTasks struct {
	Target string       `json:"target"` // the integration branch
	Commit string       `json:"commit"` // that it is at now
	DryRun bool         `json:"dry_run"`
	Tasks  []MergedTask `json:"tasks"`
}

// Left counts the tasks whose work stays out.
func (m *MergedTasks) Left() (n int) {
	for i := range m.Tasks {
		if !m.Tasks[i].In() {
			n++
		}
	}
	return n
}

// taskMerger carries a MergeTasks out.
type taskMerger struct {
	p      *Tasks
	o      MergeTasks
	org    *standing.Org
	repo   *worktree.Repo
	target string
	spec   worktree.MergeSpec
	checks []taskCheck     // of those merged so far
	good   string          // of a dry run: where the branch would be
	would  map[string]bool // of a dry run: tasks that would be in
}

// Merge brings the work of finished tasks into the integration branch, one
// after the other, and each with its checks. What does not fit, or breaks a check,
// stays out and becomes a task of who did it, and the next one is tried. The branch
// moves after each, by fast-forward. With an error it says what happened to the tasks
// before that.
func (p *Tasks) Merge(ctx context.Context, o MergeTasks) (*MergedTasks, error) {
	m, err := p.taskMerger(ctx, o)
	if err != nil {
		return nil, err
	}
	lock, err := signals.TryLock(p.mergeLock())
	var held *signals.HeldError
	if errors.As(err, &held) {
		return nil, fmt.Errorf("tasks are being merged: %w", err)
	} else if err != nil {
		return nil, err
	}
	defer lock.Unlock()
	list, err := p.TaskList()
	if err != nil {
		return nil, err
	}
	ids, err := m.wanted(list)
	if err != nil {
		return nil, err
	}
	out := &MergedTasks{Target: m.target, DryRun: o.DryRun, Tasks: []MergedTask{}}
	for _, id := range ids {
		var done *MergedTask
		if done, err = m.one(ctx, id); err != nil {
			break // those before it are merged all the same
		}
		if done != nil {
			out.Tasks = append(out.Tasks, *done)
		}
	}
	if !o.DryRun {
		p.talk(ctx, out.Tasks)
	}
	tip, terr := m.repo.Tip(context.WithoutCancel(ctx), m.target)
	if out.Commit = tip; o.DryRun {
		out.Commit = m.good
	}
	return out, errors.Join(err, terr)
}

func (p *Tasks) taskMerger(ctx context.Context, o MergeTasks) (*taskMerger, error) {
	org, err := p.Org()
	if err != nil {
		return nil, err
	}
	m := &taskMerger{p: p, o: o, org: org, target: org.Settings.Integration, would: make(map[string]bool)}
	if m.repo, err = worktree.Open(ctx, p.Root); err != nil {
		return nil, err
	}
	m.good, err = m.repo.Tip(ctx, m.target)
	if errors.Is(err, git.ErrBadRef) {
		return nil, hint.New(fmt.Errorf("work comes together on %q, which is no branch", m.target), "integration: in .cmux/config.yml, then cmux config apply")
	} else if err != nil {
		return nil, err
	}
	m.spec = worktree.MergeSpec{Path: p.MergeTree(), Target: m.target, StateFile: p.MergeTree() + ".json"}
	return m, errors.Join(signals.Expect(m.spec.StateFile, 0), signals.Expect(m.spec.Path, fs.ModeDir))
}

// wanted are the ids of the tasks to merge, in order.
func (m *taskMerger) wanted(list *task.List) (ids []string, err error) {
	for _, id := range m.o.IDs {
		t := list.Get(id)
		switch {
		case t == nil:
			return nil, noTask(id)
		case t.State != task.Done:
			return nil, hint.New(fmt.Errorf("task %s is %s: only what is done is merged", id, t.Label()), "cmux tasks show "+id)
		case !t.Merged.In() && !list.Approved(t):
			card := t.ID
			if t.Card == nil {
				card = t.Parent
			}
			return nil, hint.New(fmt.Errorf("the work of card %s is not approved: nothing was merged", card), "cmux cards approve "+card)
		case !t.Merged.In() && !t.Delivers():
			return nil, hint.New(fmt.Errorf("task %s was done without commits: there is nothing to merge", id), "cmux tasks show "+id)
		}
	}
	for _, t := range list.Unmerged() {
		if len(m.o.IDs) == 0 || slices.Contains(m.o.IDs, t.ID) {
			ids = append(ids, t.ID)
		}
	}
	return ids, nil
}

// one brings in the work of one task; nil: somebody else has.
func (m *taskMerger) one(ctx context.Context, id string) (*MergedTask, error) {
	list, err := m.p.TaskList() // as it is now: the task before may have brought this one in
	if err != nil {
		return nil, err
	}
	t := list.Get(id)
	if t == nil || t.State != task.Done || t.Merged.In() {
		return nil, nil
	}
	out := &MergedTask{ID: t.ID, Title: t.Title, Branch: t.WorkBranch(), Conflict: []string{}, Notes: []string{}}
	ctx = git.WithNotes(ctx, func(s string) {
		if !slices.Contains(out.Notes, s) {
			out.Notes = append(out.Notes, s)
		}
	})
	agents, err := m.agents()
	if err != nil {
		return nil, err
	}
	by := list.Repair(t)
	if a := agents[t.Worker()]; by == nil && a != nil && a.Member.CloneOf != "" && a.Member.Branch == out.Branch {
		out.Outcome, out.Agent = TaskWaits, a.Name // its branch begins at work that may not be done
		return out, nil
	}
	if by != nil && m.would[by.ID] {
		by = nil
	}
	for _, below := range list.Below(t) {
		if by == nil && !m.would[below.ID] {
			by = below
		}
	}
	if by != nil {
		out.Outcome, out.Task, out.Agent = TaskWaits, by.ID, by.Agent
		if by.State == task.Blocked || by.State.Over() && by.State != task.Done {
			out.Try = fmt.Sprintf("cmux tasks assign %s NAME, which has it taken up again, and cmux tasks merge when it is done", by.ID)
		}
		return out, nil
	}
	tip := merge.Tip{Name: out.Branch, Commit: t.Tip()}
	if tip.Commit == "" {
		tip.Commit, err = m.repo.Tip(ctx, out.Branch)
		gone := errors.Is(err, git.ErrBadRef)
		if err != nil && !gone {
			return nil, err
		}
		empty := t.Empty()
		if empty && !gone {
			empty, err = m.repo.Holds(ctx, m.good, tip.Commit)
			if err != nil {
				return nil, err
			}
		}
		switch {
		case empty:
			if out.Outcome = TaskNothing; m.o.DryRun {
				return out, nil
			}
			return out, m.record(ctx, t.ID, task.Merged{Conflict: []string{}, Nothing: true}, nil, nil)
		case gone:
			out.Outcome = TaskGone
			return out, nil
		}
	}
	if m.o.Begun != nil {
		m.o.Begun(fmt.Sprintf("%s: %s", t.ID, out.Branch))
	}
	if m.o.DryRun {
		return out, merging.TaskHint(m.try(ctx, tip, out), tip, m.target)
	}
	return out, merging.TaskHint(m.bring(ctx, t, tip, out), tip, m.target)
}

// talk has a room opened about each task whose work does not fit, if that is wanted.
func (p *Tasks) talk(ctx context.Context, all []MergedTask) {
	for i := range all {
		t := &all[i]
		if t.Outcome != TaskConflict || p.Talk == nil {
			continue
		}
		var err error
		if t.Room, err = p.Talk(ctx, "merge:"+t.ID); err != nil {
			t.Notes = append(t.Notes, err.Error()) // what was merged is merged all the same
		}
	}
}

// try says what would become of a task's work, checks left aside.
func (m *taskMerger) try(ctx context.Context, tip merge.Tip, out *MergedTask) error {
	commit, err := m.repo.Merge(ctx, m.good, []merge.Tip{tip})
	var conflict *merge.ConflictError
	switch {
	case errors.As(err, &conflict) && !conflict.Unrelated:
		out.Outcome, out.Conflict = TaskConflict, conflict.Files
		return nil
	case err != nil:
		return err
	}
	if out.Outcome, out.Commit = TaskMerged, commit; commit == m.good {
		out.Outcome = TaskContained
	} else if err := worktree.InTheWay(ctx, m.repo, m.target, commit); err != nil {
		return inTheWay(err)
	}
	m.good, m.would[out.ID] = commit, true
	return nil
}

// maxMoves bounds how often a merge is made again because the integration branch
// got commits meanwhile that do not fit.
const maxMoves = 3

// bring brings in a task's work and writes down what happened to it.
func (m *taskMerger) bring(ctx context.Context, t *task.Task, tip merge.Tip, out *MergedTask) error {
	for moves := 0; ; moves++ {
		if err := m.settle(ctx, tip); err != nil {
			return err
		}
		spec := m.spec
		spec.Branches = []merge.Tip{tip}
		spec.Verify = func(ctx context.Context, dir, _ string) error { return m.verify(ctx, t, dir) }
		res, err := m.repo.MergeInto(ctx, spec)
		var (
			conflict *merge.ConflictError
			broken   *worktree.VerifyError
			check    *brokenCheck
		)
		switch {
		case err == nil:
			if out.Outcome, out.Commit = TaskMerged, res.Commit; !slices.Contains(res.Merged, tip.Name) {
				out.Outcome = TaskContained
			}
			m.checks = append(m.checks, m.checksOf(t)...)
			return m.record(ctx, t.ID, task.Merged{Commit: res.Commit, Conflict: []string{}}, nil, nil)
		case errors.As(err, &conflict), errors.As(err, &broken) && errors.As(err, &check):
			moved := conflict != nil && slices.Contains(conflict.Tips[:1], m.target) || broken != nil && broken.Branch == m.target
			if moved && moves < maxMoves {
				if err := m.abort(ctx); err != nil {
					return err
				}
				continue
			}
			if check != nil {
				err = m.blames(ctx, t, check)
			} else if !conflict.Unrelated {
				err = nil
			}
			if err := errors.Join(err, m.abort(ctx)); err != nil {
				return err
			}
			return m.leaveOut(ctx, t, tip, conflict, check, out)
		}
		return inTheWay(err)
	}
}

// inTheWay adds to an error about the checkout of the integration branch what to do.
func inTheWay(err error) error {
	var op *worktree.UnfinishedError
	switch {
	case errors.As(err, &op):
		return hint.New(err, fmt.Sprintf("git -C %s %s --continue, or --abort, then cmux tasks merge", say.Word(op.Path), op.Operation))
	case errors.Is(err, worktree.ErrDirty):
		return hint.New(err, "commit these changes there, or put them aside (git stash -u), then cmux tasks merge")
	}
	return err
}

// settle makes sure that no merge is in the way that was begun for another task: a
// call that was cut off continues its own alone.
func (m *taskMerger) settle(ctx context.Context, tip merge.Tip) error {
	st, err := worktree.ReadMergeState(m.spec.StateFile)
	if errors.Is(err, worktree.ErrNoMerge) {
		return nil
	} else if err != nil {
		return err
	}
	foreign := func(name string) bool { return name != "" && name != tip.Name && name != st.Target }
	if st.Target == m.target && !foreign(st.Branch) && !slices.ContainsFunc(st.Merged, foreign) {
		return nil
	}
	spec := m.spec
	spec.Target = st.Target // the integration branch may have been another one
	return m.repo.AbortMerge(ctx, spec)
}

func (m *taskMerger) abort(ctx context.Context) error {
	if err := m.repo.AbortMerge(context.WithoutCancel(ctx), m.spec); !errors.Is(err, worktree.ErrNoMerge) {
		return err
	}
	return nil
}

// leaveOut writes down that a task's work stays out, and has another task bring
// it in.
func (m *taskMerger) leaveOut(ctx context.Context, t *task.Task, tip merge.Tip, conflict *merge.ConflictError, check *brokenCheck, out *MergedTask) error {
	merged := task.Merged{Conflict: []string{}}
	if conflict != nil {
		out.Outcome, out.Conflict = TaskConflict, conflict.Files
		merged.Conflict = conflict.Files
	} else {
		out.Outcome, out.Check = TaskCheck, check.Command
		merged.Check = check.Command
	}
	list, err := m.p.TaskList()
	if err != nil {
		return err
	}
	if check != nil && list.Repairs(t, check.Command) {
		out.Try = fmt.Sprintf("mend the check, which may want what is not committed; or git merge %.12s into %s; then cmux tasks merge", tip.Commit, m.target)
		return m.record(ctx, t.ID, merged, nil, nil)
	}
	f := repairFields(t, tip, m.target, &merged, check)
	return m.record(ctx, t.ID, merged, f, func(by, worker string) { out.Task, out.Agent = by, worker })
}

// agents are who is there now: the checks may take as long as an agent lives.
func (m *taskMerger) agents() (map[string]*standing.Agent, error) {
	org, err := standing.Open(m.p.Root)
	if err != nil {
		return nil, err
	}
	return org.Agents, nil
}

// record writes down how a task's work stands with the integration branch, and in
// the same breath the task that is to bring it in.
func (m *taskMerger) record(ctx context.Context, id string, merged task.Merged, f *task.Fields, repair func(id, worker string)) error {
	agents, err := m.agents()
	if err != nil {
		return err
	}
	_, err = m.p.Write(ctx, func(l *task.List) ([]task.Change, error) {
		t := l.Get(id)
		if t == nil || t.State != task.Done {
			return nil, noTask(id)
		}
		if f == nil {
			return []task.Change{{Task: id, Saw: t.Version, Op: task.OpMerge, Merged: &merged}}, nil
		}
		by := l.NextID()
		merged.Task = by
		changes := []task.Change{{Task: by, Op: task.OpAdd, Fields: *f}}
		worker := t.Worker()
		if a := agents[worker]; a == nil || a.Leaving != "" {
			worker = "" // nobody is there who did it: it stays open
		} else {
			changes = append(changes, task.Change{Task: by, Saw: 1, Op: task.OpMove, To: task.Assigned, Agent: worker})
		}
		repair(by, worker)
		// Last: a write that is cut off must not name a task that is not there, whose
		// id another one would get.
		return append(changes, task.Change{Task: id, Saw: t.Version, Op: task.OpMerge, Merged: &merged}), nil
	})
	return err
}

// containsCheck is the check whether the work on a task holds a commit.
func containsCheck(commit string) string {
	return fmt.Sprintf("git merge-base --is-ancestor %s HEAD || { echo 'it is not merged yet: git merge --no-edit %[1]s'; exit 1; }", commit)
}

// isContainsCheck reports whether a check is a containsCheck, which runs nothing of the
// project's.
func isContainsCheck(check string) bool {
	rest, ok := strings.CutPrefix(check, "git merge-base --is-ancestor ")
	commit, _, _ := strings.Cut(rest, " ")
	return ok && commit != "" && strings.Trim(commit, "0123456789abcdef") == "" && check == containsCheck(commit)
}

// repairFields is the task that is to bring in the work of t.
func repairFields(t *task.Task, tip merge.Tip, target string, merged *task.Merged, check *brokenCheck) *task.Fields {
	title := task.Titled(fmt.Sprintf("Bring %s into %s: %s", t.ID, target, t.Title))
	body := fmt.Sprintf("The work of task %s (cmux tasks show %[1]s) is done, on the branch %s. ", t.ID, tip.Name)
	scope, parent, priority := slices.Clone(t.Scope), t.ID, t.Priority
	// First: without the work that is to be brought in, the other checks prove nothing.
	verify := append([]string{containsCheck(tip.Commit)}, t.Verify...)
	if check == nil {
		body += fmt.Sprintf("It cannot be merged into %s, which has changed the same places meanwhile: %s.\n\n", target, say.List(merged.Conflict, 20))
	} else {
		body += fmt.Sprintf("It fits into %s, but this fails after it:\n\n    %s\n\n", target, check.Command)
		if check.Output != "" {
			body += "It said at the end:\n\n" + check.Output + "\n\n"
		}
		if !slices.Contains(verify, check.Command) {
			verify = append(verify, check.Command)
		}
		scope = []string{} // what is to be mended may be anywhere
	}
	body += fmt.Sprintf("Your branch begins at %s. Merge the work into it:\n\n    git merge --no-edit %s\n\nThen mend what does not fit, so that what both sides were about stays, commit, and report.", target, tip.Commit)
	return &task.Fields{Title: &title, Body: &body, Priority: &priority, Scope: &scope, Verify: &verify, Parent: &parent}
}
