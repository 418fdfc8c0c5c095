package standing

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cmux/agents/org/task"
	"cmux/agents/runs/run"
	"cmux/dag"
)

// A clone is made as the other is, and works on a branch that begins at the
// other's work.
func TestClone(t *testing.T) {
	w := newWorld(t)
	w.keep()
	w.answered(w.ask(OpSpawn, "perm-db", Ask{Spawn: &Spawn{Name: "perm-db", Role: PermanentWorker, Permanent: true, Model: "big", Kind: "scripted", RoleFile: "/roles/db.md"}}))
	w.until("a life", w.lives1("perm-db", 1))
	first := w.add("Rename the tables", "perm-db", task.Normal)
	w.until("it is at work", func(o *Org) bool { return o.Agents["perm-db"].Work != nil })

	name := CloneName("perm-db", 1)
	if a := w.answered(w.ask(OpSpawn, name, Ask{Spawn: &Spawn{Name: name, Role: Clone, CloneOf: "perm-db"}})); a.Refused != "" {
		t.Fatal(a.Refused)
	}
	o := w.until("a clone", w.lives1(name, 1))
	m := o.Agents[name].Member
	if m.Role != Clone || m.CloneOf != "perm-db" || m.CloneIndex != 1 || m.CloneFrom != "task/t1-rename-the-tables" || m.CloneTask != first ||
		m.Model != "big" || m.RoleFile != "/roles/db.md" || m.Permanent || o.Agents[name].Protected() {
		t.Errorf("it is %+v", m)
	}
	if b, err := os.ReadFile(m.Context); err != nil || !strings.Contains(string(b), "a clone of perm-db. Your branch "+m.Branch+" began at task/t1-rename-the-tables") {
		t.Errorf("it reads %s, %v", b, err)
	}
	part := w.add("The first half", name, task.Normal)
	w.until("it is given", func(*Org) bool { return count(w.gives(name), part) == 1 })
	w.mu.Lock()
	branch := w.gave[name][0].Place.Branch
	w.mu.Unlock()
	if got := w.task(part); branch != m.Branch || got.WorkBranch() != m.Branch || got.PartOf != first {
		t.Errorf("it works on %s, and the task says %s, a part of %q; want %s", branch, got.WorkBranch(), got.PartOf, m.Branch)
	}

	for who, want := range map[string]string{"supervisor": "only workers are cloned", "nobody": `there is no agent "nobody"`, name: "only workers are cloned"} {
		if who == "supervisor" {
			w.answered(w.ask(OpSpawn, "supervisor", Ask{Spawn: &Spawn{Name: "supervisor", Role: Supervisor, Dir: w.root}}))
		}
		a := w.answered(w.ask(OpSpawn, who+"-clone-7", Ask{Spawn: &Spawn{Name: who + "-clone-7", Role: Clone, CloneOf: who}}))
		if !strings.Contains(a.Refused, want) {
			t.Errorf("a clone of %s: %q; want %q", who, a.Refused, want)
		}
	}

	// Demoted, it is as every worker.
	if a := w.answered(w.ask(OpKill, "perm-db", Ask{By: "supervisor"})); !strings.Contains(a.Refused, "not removed by the way") {
		t.Errorf("a permanent worker: %q", a.Refused)
	}
	if a := w.answered(w.ask(OpDemote, "perm-db", Ask{})); a.Refused != "" {
		t.Error(a.Refused)
	}
	if a := w.answered(w.ask(OpDemote, name, Ask{})); a.Refused != name+" is a clone, no permanent worker" {
		t.Errorf("a clone: %q", a.Refused)
	}
	if m := w.org().Agents["perm-db"].Member; m.Role != Worker || m.Permanent || w.org().Agents["perm-db"].Work == nil {
		t.Errorf("it is %+v", m)
	}
	if a := w.answered(w.ask(OpKill, "perm-db", Ask{By: "supervisor"})); a.Refused != "" {
		t.Error(a.Refused)
	}

	// Another one does not go on where the clone was: below it is work that may have
	// been rejected.
	w.answered(w.ask(OpKill, name, Ask{}))
	w.until("it cannot go on", func(*Org) bool { return w.task(part).State == task.Blocked })
	w.answered(w.spawn("web"))
	w.until("another one", w.lives1("web", 1))
	w.change(part, task.Assigned, "web")
	w.until("it is given", func(*Org) bool { return count(w.gives("web"), part) == 1 })
	w.mu.Lock()
	branch = w.gave["web"][0].Place.Branch
	w.mu.Unlock()
	if got := w.task(part); branch != "task/t2-the-first-half" || got.WorkBranch() != branch || got.PartOf != "" {
		t.Errorf("it goes on on %s, and the task says %s, a part of %q", branch, got.WorkBranch(), got.PartOf)
	}
}

func TestCloneIndex(t *testing.T) {
	for name, want := range map[string]int{CloneName("perm-a", 12): 12, "a-clone-1-clone-3": 3, "a": 0, "a-clone-": 0, "a-clone-x": 0} {
		if got := cloneIndex(name); got != want {
			t.Errorf("%s: %d, want %d", name, got, want)
		}
	}
}

// Who was made for one piece of work ends with it, where it went well.
func TestOnce(t *testing.T) {
	w := newWorld(t)
	w.keep()
	for _, name := range []string{"well", "badly"} {
		w.answered(w.ask(OpSpawn, name, Ask{Spawn: &Spawn{Name: name, Role: Worker, Once: true}}))
		w.until("a life", w.lives1(name, 1))
		id := w.add("work", name, task.Normal)
		w.until("it is given", func(*Org) bool { return count(w.gives(name), id) == 1 })
		end := run.End{Outcome: dag.Done}
		if name == "badly" {
			end = run.End{Outcome: dag.Failed, Reason: dag.ReasonChecks}
		}
		w.ends(name, id, end)
		w.until("the verdict is there", func(*Org) bool { return w.task(id).State.Over() })
		if name == "well" {
			w.until("it is gone", func(o *Org) bool { return o.Agents[name] == nil })
		}
	}
	// The next look would have removed it too.
	w.spawn("other")
	o := w.until("another one", w.lives1("other", 1))
	if a := o.Agents["badly"]; a == nil || a.Leaving != "" {
		t.Error("who failed is removed")
	}
	b, err := os.ReadFile(filepath.Join(w.root, ".cmux", archives, deletionsFile))
	if err != nil || strings.Count(string(b), "\n") != 1 || !strings.Contains(string(b), `"name":"well"`) || !strings.Contains(string(b), `"by":"cmux"`) {
		t.Errorf("the deletion log says %s, %v", b, err)
	}
}

// Who was made for a task that never came goes after a while.
func TestOnceInVain(t *testing.T) {
	w := newWorld(t)
	w.keep()
	w.answered(w.ask(OpSpawn, "extra", Ask{Spawn: &Spawn{Name: "extra", Role: Worker, Once: true}}))
	w.until("a life", w.lives1("extra", 1))
	w.answered(w.spawn("stays"))
	w.until("a life", w.lives1("stays", 1))
	if a := w.org().Agents["extra"]; a == nil || a.Leaving != "" {
		t.Fatal("it is removed at once")
	}
	w.ahead.Store(int64(onceGrace + time.Minute))
	w.answered(w.spawn("other")) // the keeper looks
	o := w.until("it is gone", func(o *Org) bool { return o.Agents["extra"] == nil })
	if o.Agents["stays"] == nil {
		t.Error("who was not made for one task is removed")
	}
}

func TestOverflows(t *testing.T) {
	list := func(tasks ...task.Change) *task.List {
		l := new(task.List)
		for _, c := range tasks {
			if err := l.Step(c); err != nil {
				t.Fatal(err)
			}
		}
		return l
	}
	title := "x"
	add := func(id string, p task.Priority) task.Change {
		return task.Change{Task: id, Op: task.OpAdd, Fields: task.Fields{Title: &title, Priority: &p}}
	}
	assigned := func(id string) task.Change {
		return task.Change{Task: id, Saw: 1, Op: task.OpMove, To: task.Assigned, Agent: "perm-a"}
	}
	working := task.Change{Task: "t1", Saw: 2, Op: task.OpMove, To: task.Working}
	paused := task.Change{Task: "t1", Saw: 2, Op: task.OpMove, To: task.Paused}
	perm := &Agent{Name: "perm-a", State: State{Member: run.Member{Name: "perm-a", Role: PermanentWorker}}}
	for _, c := range []struct {
		what string
		a    *Agent
		l    *task.List
		want bool
	}{
		{"it has nothing to do", perm, list(add("t1", task.Normal), add("t2", task.Normal)), false},
		{"it is at work", perm, list(add("t1", task.Normal), add("t2", task.Normal), assigned("t1"), working), true},
		{"it is about to begin", perm, list(add("t1", task.Normal), add("t2", task.Normal), assigned("t1")), true},
		{"the new one is more urgent", perm, list(add("t1", task.Normal), add("t2", task.High), assigned("t1"), working), false},
		{"both are urgent", perm, list(add("t1", task.High), add("t2", task.Critical), assigned("t1"), working), true},
		{"what it had is put back", perm, list(add("t1", task.Normal), add("t2", task.Normal), assigned("t1"), paused), false},
		{"it is no permanent worker", &Agent{Name: "perm-a", State: State{Member: run.Member{Role: Worker}}}, list(add("t1", task.Normal), add("t2", task.Normal), assigned("t1"), working), false},
	} {
		if got := Overflows(c.a, c.l, c.l.Get("t2")); got != c.want {
			t.Errorf("%s: %v, want %v", c.what, got, c.want)
		}
	}
}
