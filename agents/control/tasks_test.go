package control

import (
	"testing"
	"time"

	"cmux/agents/control/project"
	"cmux/agents/control/tasks"
	"cmux/agents/org/standing"
	"cmux/agents/org/task"
	"cmux/agents/runs/run"
	"cmux/dag"
)

// The label of a task says what it comes after, and of what it waits for in vain how
// that ended.
func TestLabelOfWhatWaits(t *testing.T) {
	p := &Project{Project: project.Project{Caller: project.Caller{Now: time.Now, Person: true}, Root: t.TempDir()}}
	book, err := task.OpenBook(p.Root, p.Now, true)
	if err != nil {
		t.Fatal(err)
	}
	title := "x"
	change := func(c task.Change) {
		t.Helper()
		c.By = "user"
		if _, _, err := book.Change(t.Context(), func(*task.List) ([]task.Change, error) { return []task.Change{c}, nil }); err != nil {
			t.Fatal(err)
		}
	}
	label := func(want string) {
		t.Helper()
		all, err := p.Tasks().List(tasks.TaskQuery{All: true})
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range all.Tasks {
			if v.ID == "t3" && v.Label != want {
				t.Errorf("%q, want %q", v.Label, want)
			}
		}
	}
	for _, id := range []string{"t1", "t2"} {
		change(task.Change{Task: id, Op: task.OpAdd, Fields: task.Fields{Title: &title}})
	}
	change(task.Change{Task: "t3", Op: task.OpAdd, Fields: task.Fields{Title: &title, After: &[]string{"t1", "t2"}}})
	label("open, after t1, t2")
	change(task.Change{Task: "t1", Saw: 1, Op: task.OpMove, To: task.Cancelled})
	label("open, waits for t1 (cancelled), t2")
}

// The label of an agent's next task says why it has not begun.
func TestLabelOfWhatHasNotBegun(t *testing.T) {
	alive := standing.Life{N: 1, Started: time.Now(), Began: time.Now()}
	title := "x"
	for _, c := range []struct {
		ann, cy standing.State
		want    string
	}{
		{standing.State{Life: alive, Activity: dag.Resting}, standing.State{}, "assigned"},
		{standing.State{Life: alive, Activity: dag.Working}, standing.State{}, "assigned, ann is working"},
		{standing.State{Life: alive, Activity: dag.Working, Work: &run.Work{ID: "t9"}}, standing.State{}, "assigned"},
		{standing.State{Life: alive, Activity: dag.Resting}, standing.State{Life: alive, Work: &run.Work{ID: "t1"}}, "assigned, waits for cy to leave it, which is at work on it"},
		{standing.State{Life: alive, Activity: dag.Resting, Waits: "cy has not left it yet"}, standing.State{Life: alive}, "assigned, waits: cy has not left it yet"},
	} {
		l := &task.List{}
		for _, change := range []task.Change{{Task: "t1", Op: task.OpAdd, By: "user", Fields: task.Fields{Title: &title}}, {Task: "t1", Saw: 1, Op: task.OpMove, By: "user", To: task.Assigned, Agent: "ann"}} {
			if err := l.Step(change); err != nil {
				t.Fatal(err)
			}
		}
		org := &standing.Org{Agents: map[string]*standing.Agent{"ann": {Name: "ann", State: c.ann}, "cy": {Name: "cy", State: c.cy}}}
		if v := tasks.ViewOf(l, l.Get("t1"), org); v.Label != c.want {
			t.Errorf("%q, want %q", v.Label, c.want)
		}
	}
}

// A task whose agent is stopped or down is at work by its state only.
func TestLabelOfWhatRests(t *testing.T) {
	lives := standing.State{Life: standing.Life{N: 1, Started: time.Now()}}
	org := &standing.Org{Agents: map[string]*standing.Agent{"api": {State: lives}, "web": {State: standing.State{Stopped: true}}, "db": {}}}
	for name, want := range map[string]string{"api": "working", "web": "working, web is stopped", "db": "working, db is down", "gone": "working"} {
		if v := tasks.ViewOf(nil, &task.Task{State: task.Working, Agent: name}, org); v.Label != want {
			t.Errorf("%q, want %q", v.Label, want)
		}
	}
	waits := standing.Agent{State: lives}
	waits.Life.Began, waits.Since = lives.Life.Started, time.Now().Add(-3*time.Minute-4500*time.Millisecond)
	waits.Activity, waits.Detail, waits.Work = dag.Working, "waits for 1 background command", &run.Work{ID: "t1"}
	org.Agents["dan"] = &waits
	for id, want := range map[string]string{"t1": "working, waits for 1 background command, since 3m04s", "t2": "working"} {
		if v := tasks.ViewOf(nil, &task.Task{ID: id, State: task.Working, Agent: "dan"}, org); v.Label != want {
			t.Errorf("%q, want %q", v.Label, want)
		}
	}
	if v := tasks.ViewOf(nil, &task.Task{State: task.NeedsInput, Agent: "web"}, org); v.Label != "needs input, web is stopped" {
		t.Errorf("%q", v.Label)
	}
}
