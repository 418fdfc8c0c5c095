// Package subject reads the facts about what a room is about: a node of a run, a task, or work that does not fit where it is to be merged. Facts are as they are when they
// are read, and bounded. They hold what agents and programs have written.
package subject

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"cmux/agents/org/task"
	"cmux/agents/room/book"
	"cmux/agents/runs/run"
	"cmux/dag"
	"cmux/worktree"
	"cmux/worktree/git"
	"cmux/worktree/hint"
)

// The kinds of subjects.
const (
	Node  = "node"  // of a run, by its name: of the newest that has it
	Task  = "task"  // by its id
	Merge = "merge" // of a task's or of a node's work, by the task's id or the node's name
)

// most bounds facts, in bytes: all of them, a text that somebody wrote, the end of a
// check's output, a diff stat, and the changes of one side of a conflict.
const (
	most      = 16 << 10
	mostText  = 5 << 10
	mostCheck = 3 << 10
	mostStat  = 2 << 10
	mostSide  = 4 << 10
)

// ErrNone means that there is no such subject.
var ErrNone = errors.New("there is no such subject")

// Reader reads facts in a project.
type Reader struct {
	Root   string
	Target string // the branch that tasks' work comes together on
	Now    func() time.Time
}

// Parse reads KIND:NAME.
func Parse(about string) (kind, name string, err error) {
	kind, name, _ = strings.Cut(about, ":")
	if !slices.Contains([]string{Node, Task, Merge}, kind) || name == "" {
		return "", "", fmt.Errorf("%q is none of node:NAME, task:ID and merge:ID", about)
	}
	return kind, name, nil
}

// Resolve makes a subject stay the same: a node gets the id of its run, RUN/NAME. The error
// is ErrNone where there is none of that name.
func (r *Reader) Resolve(about string) (string, error) {
	kind, name, err := Parse(about)
	if err != nil {
		return "", err
	}
	list, err := r.tasks()
	if err != nil {
		return "", err
	}
	switch t := list.Get(name); {
	case kind == Task && t == nil:
		return "", hint.New(fmt.Errorf("%w: no task %s", ErrNone, name), "cmux tasks list")
	case t != nil && kind != Node:
		return about, nil
	}
	run, i, err := r.find(name)
	if err != nil {
		return "", err
	}
	n := &run.Plan.Graph.Nodes[i]
	if kind == Merge && !n.HasBranch() {
		return "", fmt.Errorf("%w: node %s has no branch, so nothing of it is merged", ErrNone, n.Name)
	}
	return kind + ":" + run.Plan.ID + "/" + n.Name, nil
}

// find finds a node, NAME or RUN/NAME: without a run, in the newest one that has it.
func (r *Reader) find(name string) (*run.Run, int, error) {
	ids, err := run.List(r.Root)
	if err != nil {
		return nil, 0, err
	}
	id, node, of := strings.Cut(name, "/")
	if !of {
		node = name
	}
	for _, one := range slices.Backward(ids) {
		if of && one != id {
			continue
		}
		found, err := run.Open(r.Root, one)
		if err != nil && of {
			return nil, 0, err
		} else if err != nil {
			continue // others may have it
		}
		if i := slices.IndexFunc(found.Plan.Graph.Nodes, func(n dag.Node) bool { return n.Name == node }); i >= 0 {
			return found, i, nil
		}
	}
	return nil, 0, hint.New(fmt.Errorf("%w: no run has a node %s", ErrNone, name), "cmux agents list")
}

// Facts are the facts about a subject, as text. The error is ErrNone where there is none of
// that name.
func (r *Reader) Facts(ctx context.Context, about string) (string, error) {
	about, err := r.Resolve(about)
	if err != nil {
		return "", err
	}
	kind, name, _ := strings.Cut(about, ":")
	repo, err := worktree.Open(ctx, r.Root)
	if err != nil {
		return "", err
	}
	f := &facts{Reader: r, repo: repo}
	switch list, err := r.tasks(); {
	case err != nil:
		return "", err
	case kind == Task && list.Get(name) != nil:
		f.task(ctx, list, list.Get(name))
	case kind == Merge && list.Get(name) != nil:
		f.taskMerge(ctx, list, list.Get(name))
	default:
		if err := f.node(ctx, name, kind == Merge); err != nil {
			return "", err
		}
	}
	return cut(strings.ToValidUTF8(f.text.String(), "?"), most, false), nil
}

func (r *Reader) tasks() (*task.List, error) {
	b, err := task.OpenBook(r.Root, r.Now, false)
	if err != nil {
		return nil, err
	}
	return b.List()
}

// facts are facts as they are written.
type facts struct {
	*Reader
	repo *worktree.Repo
	text strings.Builder
}

func (f *facts) line(format string, args ...any) { fmt.Fprintf(&f.text, format+"\n", args...) }

// part is a text with a title; an empty one is left out.
func (f *facts) part(title, text string) {
	if text = strings.TrimSpace(text); text != "" {
		f.line("\n%s:\n%s", title, text)
	}
}

// cut shortens a text to so many bytes, at its end or at its beginning.
func cut(text string, most int, keepsEnd bool) string {
	const left = "[...]"
	switch {
	case len(text) <= most:
		return text
	case keepsEnd:
		return left + "\n" + strings.ToValidUTF8(text[len(text)-most+len(left)+1:], "")
	}
	return strings.ToValidUTF8(text[:most-len(left)-1], "") + "\n" + left
}

func (f *facts) task(ctx context.Context, list *task.List, t *task.Task) {
	f.line("Task %s: %s", t.ID, t.Title)
	f.line("It is %s.", t.Label())
	if t.Merged != nil {
		f.line("Its work is %s.", t.Merged)
	}
	f.part("What it asks for", cut(t.Body, mostText, false))
	if len(t.Verify) > 0 {
		f.part("Its checks", strings.Join(t.Verify, "\n"))
	}
	f.card(list, t)
	f.ended(t.Result())
	tip, err := f.tip(ctx, t)
	if err != nil {
		f.line("\nIts work cannot be read: %v", err)
		return
	}
	f.changes(ctx, t.WorkBranch(), f.Target, tip)
	if t.Merged != nil && len(t.Merged.Conflict) > 0 {
		f.sides(ctx, f.Target, f.Target, t.WorkBranch(), tip)
	}
}

// card is how a card stands in its room: its plan, and why it was sent back.
func (f *facts) card(list *task.List, t *task.Task) {
	c := t.Card
	if c == nil {
		return
	}
	f.line("It is a card of the room %s: %s.", c.Room, t.CardLabel(list.Work(t)))
	b, err := book.Open(f.Root, c.Room, f.Now, false)
	if err != nil {
		return // the room was removed
	}
	lines, _, err := b.Lines()
	said := func(n int64) string {
		if err != nil || n < 1 || n > int64(len(lines)) {
			return ""
		}
		return cut(cmp.Or(lines[n-1].Text, lines[n-1].Aside), mostText, false)
	}
	f.part("Its plan", said(c.Plan))
	f.part("Why it was sent back", cmp.Or(c.Remark, said(c.Feedback)))
}

// tip is the commit that a task's work is at; empty: it has none.
func (f *facts) tip(ctx context.Context, t *task.Task) (string, error) {
	if tip := t.Tip(); tip != "" {
		return tip, nil
	}
	tip, err := f.repo.Tip(ctx, t.WorkBranch())
	if errors.Is(err, git.ErrBadRef) {
		return "", nil
	}
	return tip, err
}

func (f *facts) taskMerge(ctx context.Context, list *task.List, t *task.Task) {
	f.line("The work of task %s (%s), on %s, is to be merged into %s.", t.ID, t.Title, t.WorkBranch(), f.Target)
	if t.Merged != nil {
		f.line("It is %s.", t.Merged)
	}
	tip, err := f.tip(ctx, t)
	switch {
	case err != nil:
		f.line("\nIts work cannot be read: %v", err)
	case tip == "":
		f.line("\nIt has no branch %s.", t.WorkBranch())
	case !t.Merged.In():
		f.sides(ctx, f.Target, f.Target, t.WorkBranch(), tip)
	}
	f.part("What the task asks for", cut(t.Body, mostText, false))
	if t.Merged != nil && t.Merged.Task != "" {
		if by := list.Get(t.Merged.Task); by != nil {
			f.part("Task "+by.ID+" is to bring it in ("+by.Label()+")", cut(by.Body, mostText, false))
		}
	}
}

func (f *facts) node(ctx context.Context, name string, merges bool) error {
	r, i, err := f.find(name)
	if err != nil {
		return err
	}
	v, err := r.View(ctx, f.Now())
	if err != nil {
		return err
	}
	n := &v.Nodes[i]
	if merges {
		return f.nodeMerge(ctx, v, n)
	}
	f.line("Node %s of the run %s.", n.Spec.Name, r.Plan.ID)
	f.line("It is %s.", n.Status.Label)
	if n.Status.Reason != "" {
		f.line("Why: %s", cut(n.Status.Reason, mostText, false))
	}
	f.part("Its task", cut(n.Spec.Task, mostText, false))
	if len(n.Spec.Verify) > 0 {
		f.part("Its checks", strings.Join(n.Spec.Verify, "\n"))
	}
	end := n.LastEnd()
	f.ended(end)
	if !n.Spec.HasBranch() {
		return nil
	}
	tip, err := f.nodeTip(ctx, n)
	if err != nil {
		return err
	}
	f.changes(ctx, n.Spec.Branch, r.Plan.Base, tip)
	if end != nil && end.Reason == dag.ReasonConflict {
		f.apart(ctx, v, i)
	}
	return nil
}

// nodeTip is the commit that a node's work is at; empty: it has none.
func (f *facts) nodeTip(ctx context.Context, n *run.NodeView) (string, error) {
	if n.Tip != "" {
		return n.Tip, nil
	}
	tip, err := f.repo.Tip(ctx, n.Spec.Branch)
	if errors.Is(err, git.ErrBadRef) {
		return "", nil
	}
	return tip, err
}

// apart shows the sides that a node cannot begin or end at together: the base, what it
// depends on, and its own work.
func (f *facts) apart(ctx context.Context, v *run.View, i int) {
	plan := &v.Run.Plan
	type side struct{ name, tip string }
	all := []side{{plan.BaseName(), plan.Base}}
	for _, k := range append(slices.Clone(plan.Graph.Deps(i)), i) {
		if n := &v.Nodes[k]; n.Spec.HasBranch() {
			if tip, err := f.nodeTip(ctx, n); err == nil && tip != "" {
				all = append(all, side{n.Spec.Branch, tip})
			}
		}
	}
	for j := range all {
		for _, b := range all[j+1:] {
			if f.sides(ctx, all[j].name, all[j].tip, b.name, b.tip) {
				return
			}
		}
	}
}

func (f *facts) nodeMerge(ctx context.Context, v *run.View, n *run.NodeView) error {
	plan := &v.Run.Plan
	target, at := plan.BaseBranch, plan.BaseBranch
	switch st, err := worktree.ReadMergeState(filepath.Join(run.Folder(f.Root), "merge.json")); {
	case err == nil && st.Target != "":
		target, at = st.Target, st.Good // with what is merged so far
	case err != nil && !errors.Is(err, worktree.ErrNoMerge):
		return err
	}
	f.line("The work of node %s, on %s, is to be merged into %s.", n.Spec.Name, n.Spec.Branch, target)
	tip, err := f.nodeTip(ctx, n)
	if err != nil {
		return err
	}
	if tip == "" || at == "" {
		f.line("\nThere is nothing to merge: %s has no commit.", n.Spec.Branch)
	} else {
		f.sides(ctx, target, at, n.Spec.Branch, tip)
	}
	f.part("The node's task", cut(n.Spec.Task, mostText, false))
	return nil
}

// ended are the checks of an attempt that ended, and what it said of itself.
func (f *facts) ended(end *run.End) {
	if end == nil {
		return
	}
	f.part("What its agent reported", cut(end.Summary, mostText, false))
	for _, c := range end.Checks {
		switch {
		case c.TimedOut:
			f.part("The check `"+c.Command+"` took longer than it may. The end of its output", orNone(cut(c.Output, mostCheck, true)))
		case c.Exit != 0:
			f.part(fmt.Sprintf("The check `%s` failed with exit code %d. The end of its output", c.Command, c.Exit), orNone(cut(c.Output, mostCheck, true)))
		default:
			f.line("\nThe check `%s` passed.", c.Command)
		}
	}
}

func orNone(s string) string {
	if strings.TrimSpace(s) == "" {
		return "(none)"
	}
	return s
}

// changes is what a tip has changed since it left another branch, counted by file.
func (f *facts) changes(ctx context.Context, branch, from, tip string) {
	if tip == "" || from == "" {
		return
	}
	start, err := f.repo.Common(ctx, from, tip)
	if err == nil && start != "" {
		var out string
		if out, err = f.diff(ctx, start, tip, "--stat"); err == nil {
			f.part(fmt.Sprintf("What %s changes (git diff %.12s %.12s)", branch, start, tip), cut(out, mostStat, true))
		}
	}
	if err != nil {
		f.line("\nWhat %s changes cannot be read: %v", branch, err)
	}
}

func (f *facts) diff(ctx context.Context, from, to, how string, files ...string) (string, error) {
	return git.Run(ctx, f.Root, append([]string{"diff", "--no-color", "--no-ext-diff", "--no-textconv", how, "--end-of-options", from, to, "--"}, files...)...)
}

// sides shows what two commits changed, each on its side, in the files in which they do not
// fit together. It reports whether there are any.
func (f *facts) sides(ctx context.Context, nameA, a, nameB, b string) bool {
	_, files, err := f.repo.MergeTree(ctx, a, b, nameA, nameB)
	if err != nil {
		f.line("\n%s and %s cannot be compared: %v", nameA, nameB, err)
		return false
	}
	if len(files) == 0 {
		return false
	}
	f.part(fmt.Sprintf("%s and %s do not fit together in", nameA, nameB), cut(strings.Join(files, "\n"), mostStat, false))
	start, err := f.repo.Common(ctx, a, b)
	for _, side := range []struct{ name, tip string }{{nameA, a}, {nameB, b}} {
		var patch string
		if err == nil {
			patch, err = f.diff(ctx, start, side.tip, "--patch", literal(files)...)
		}
		if err != nil {
			f.line("\nWhat %s changed there cannot be read: %v", side.name, err)
			return true
		}
		f.part(fmt.Sprintf("What %s changed there (since %.12s)", side.name, start), cut(patch, mostSide, false))
	}
	return true
}

// literal are files as git takes them for nothing but names.
func literal(files []string) []string {
	all := make([]string, len(files))
	for i, name := range files {
		all[i] = ":(top,literal)" + name
	}
	return all
}
