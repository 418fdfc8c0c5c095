package standing

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"cmux/agents/org/task"
	"cmux/agents/runs/run"
	"cmux/dag"
)

// add makes a task that is assigned to an agent.
func (w *world) add(title, agent string, p task.Priority) (id string) {
	w.t.Helper()
	book, err := task.OpenBook(w.root, time.Now, true)
	if err != nil {
		w.t.Fatal(err)
	}
	_, _, err = book.Change(w.t.Context(), func(l *task.List) ([]task.Change, error) {
		id = l.NextID()
		return []task.Change{
			{Task: id, Op: task.OpAdd, By: "user", Fields: task.Fields{Title: &title, Priority: &p}},
			{Task: id, Saw: 1, Op: task.OpMove, By: "user", To: task.Assigned, Agent: agent},
		}, nil
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return id
}

func (w *world) task(id string) *task.Task {
	w.t.Helper()
	book, err := task.OpenBook(w.root, time.Now, false)
	if err != nil {
		w.t.Fatal(err)
	}
	l, err := book.List()
	if err != nil {
		w.t.Fatal(err)
	}
	return l.Get(id)
}

// ends records that a life's work is over.
func (w *world) ends(name, id string, end run.End) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lives[name].record(run.Record{Type: run.Active, Activity: dag.Resting})
	w.lives[name].record(run.Record{Type: run.WorkEnded, Key: id, End: &end})
}

func (w *world) gives(name string) (ids []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, x := range w.gave[name] {
		ids = append(ids, x.ID)
	}
	return ids
}

func TestTasks(t *testing.T) {
	w := newWorld(t)
	stop := w.keep()
	w.answered(w.spawn("api"))
	w.until("a life", w.lives1("api", 1))

	first := w.add("Write the endpoint", "api", task.Normal)
	w.until("it is given", func(*Org) bool { return count(w.gives("api"), first) == 1 })
	if got := w.task(first); got.State != task.Working || len(got.Attempts) != 1 {
		t.Errorf("it stands at %+v", got)
	}
	w.mu.Lock()
	work := w.gave["api"][0]
	w.mu.Unlock()
	if work.Attempt != 1 || work.Place.Branch != "task/t1-write-the-endpoint" || work.Place.Commit != "base" || work.Def.Task != "Write the endpoint" || work.Past != nil || !slices.Equal(work.Checks, []string{"make test"}) || !slices.Equal(work.Def.Verify, []string{"make test"}) {
		t.Errorf("it is given as %+v, %+v", work, work.Def)
	}

	// Keeper and agent are killed, and the next ones continue the task.
	w.mu.Lock()
	w.lives["api"].end()
	w.mu.Unlock()
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	stop = w.keep()
	o := w.until("the next life", w.lives1("api", 2))
	if spec := o.Spec(o.Agents["api"], 2); !slices.Equal(spec.Checks, []string{"make test"}) {
		t.Errorf("what it may run: %q", spec.Checks)
	}
	if o.Agents["api"].Work == nil || o.Agents["api"].Work.ID != first {
		t.Errorf("the agent continues with %+v", o.Agents["api"].Work)
	}
	w.ends("api", first, run.End{Outcome: dag.Done, Summary: "written", Commits: 2})
	w.until("its verdict is there", func(*Org) bool { return w.task(first).State == task.Done })
	if n := count(w.gives("api"), first); n != 1 {
		t.Errorf("it was given %d times", n)
	}

	// What is urgent has what is not put back; it comes again.
	slow := w.add("Tidy up", "api", task.Low)
	w.until("it is given", func(*Org) bool { return count(w.gives("api"), slow) == 1 })
	fast := w.add("Mend the login", "api", task.Critical)
	w.until("it is put back", func(*Org) bool { return w.task(slow).State == task.Paused && count(w.takes("api"), slow) == 1 })
	w.mu.Lock()
	w.dirty = "cmux snapshots restore tidy/1" // of what it had not committed
	w.mu.Unlock()
	w.ends("api", slow, run.End{Outcome: dag.Cancelled})
	w.until("the urgent one is given", func(*Org) bool { return count(w.gives("api"), fast) == 1 })
	w.ends("api", fast, run.End{Outcome: dag.Failed, Reason: dag.ReasonReported, Detail: "no key"})
	w.until("the urgent one is blocked", func(*Org) bool { return w.task(fast).State == task.Blocked })
	w.until("the other comes again", func(*Org) bool { return count(w.gives("api"), slow) == 2 })
	w.mu.Lock()
	taken, restored := w.gave["api"][len(w.gave["api"])-1], w.restored
	w.mu.Unlock()
	if want := taken.Place.Branch + " tidy/1"; len(restored) != 1 || restored[0] != want || !strings.Contains(taken.Before, "begun before") {
		t.Errorf("restored %v, want %s; it is told %q", restored, want, taken.Before)
	}
	w.ends("api", slow, run.End{Outcome: dag.Done, Summary: "tidy"})
	w.until("and is done", func(*Org) bool { return w.task(slow).State == task.Done })

	// Who gave them was told, once each.
	if n := len(w.mailFor("user")); n != 3 {
		t.Errorf("%d messages: %v", n, w.mailFor("user"))
	}

	// An agent that gets a task again learns of the attempts before.
	w.change(fast, task.Assigned, "api")
	w.until("it is given again", func(*Org) bool { return count(w.gives("api"), fast) == 2 })
	w.mu.Lock()
	again := w.gave["api"][len(w.gave["api"])-1]
	w.mu.Unlock()
	if p := again.Past; again.ID != fast || again.Attempt != 2 || p == nil || len(p.Attempts) != 1 || p.Attempts[0].End == nil || p.Attempts[0].End.Detail != "no key" {
		t.Errorf("the agent's earlier attempts: %+v of %+v", again.Past, again)
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
}

// change moves a task as a person does.
func (w *world) change(id string, to task.State, agent string) {
	w.t.Helper()
	w.decide(id, task.Change{Op: task.OpMove, To: to, Agent: agent})
}

// decide makes a change of a task as a person does.
func (w *world) decide(id string, c task.Change) {
	w.t.Helper()
	book, err := task.OpenBook(w.root, time.Now, true)
	if err != nil {
		w.t.Fatal(err)
	}
	if _, _, err := book.Change(w.t.Context(), func(l *task.List) ([]task.Change, error) {
		c.Task, c.Saw, c.By = id, l.Get(id).Version, "user"
		return []task.Change{c}, nil
	}); err != nil {
		w.t.Fatal(err)
	}
}

// What a person takes back stays so until they give it again, and what is for
// nobody, or for one who is gone, says so.
func TestTasksTakenBack(t *testing.T) {
	w := newWorld(t)
	w.keep()
	w.answered(w.spawn("api"))
	w.until("a life", w.lives1("api", 1))

	id := w.add("Write it", "api", task.Normal)
	w.until("it is given", func(*Org) bool { return count(w.gives("api"), id) == 1 })
	w.change(id, task.Paused, "")
	w.until("it is taken back", func(*Org) bool { return count(w.takes("api"), id) == 1 })
	w.ends("api", id, run.End{Outcome: dag.Cancelled})
	next := w.add("Something else", "api", task.Normal)
	w.until("the next is given", func(*Org) bool { return count(w.gives("api"), next) == 1 })
	w.ends("api", next, run.End{Outcome: dag.Done})
	w.until("the next is done", func(*Org) bool { return w.task(next).State == task.Done })
	if got := w.task(id); got.State != task.Paused || count(w.gives("api"), id) != 1 {
		t.Errorf("it stands at %+v, given %d times", got, count(w.gives("api"), id))
	}
	w.change(id, task.Assigned, "api")
	w.until("it is given again", func(*Org) bool { return count(w.gives("api"), id) == 2 })
	w.change(id, task.Cancelled, "")
	w.until("it is taken back for good", func(*Org) bool { return count(w.takes("api"), id) == 2 })
	w.ends("api", id, run.End{Outcome: dag.Cancelled, Snapshot: "s1"})
	w.until("its end is kept", func(*Org) bool { return w.task(id).Result() != nil })
	if got := w.mailFor("user"); count(got, id+": uncommitted changes are saved: Write it") != 1 {
		t.Errorf("the person is told %q", got)
	}
	for commits, label := range []string{"done (override), nothing to merge", "done (override)"} {
		done := w.add("By hand", "api", task.Normal)
		w.until("it is given", func(*Org) bool { return count(w.gives("api"), done) == 1 })
		w.decide(done, task.Change{Op: task.OpOverride})
		w.until("it is taken back", func(*Org) bool { return count(w.takes("api"), done) == 1 })
		w.ends("api", done, run.End{Outcome: dag.Cancelled, Tip: "abc", Commits: commits})
		w.until("its end is kept", func(*Org) bool { return w.task(done).Result() != nil })
		if got := w.task(done); got.Label() != label {
			t.Errorf("with %d commits: %s, want %s", commits, got.Label(), label)
		}
	}

	lost := w.add("For nobody", "nobody", task.Normal)
	w.until("it is blocked", func(*Org) bool {
		return w.task(lost).State == task.Blocked && w.task(lost).Reason == "there is no agent nobody"
	})
	w.until("who gave it is told", func(*Org) bool { return slices.Contains(w.mailFor("user"), "[BLOCKED] "+lost+": For nobody") })
	last := w.add("The last", "api", task.Normal)
	w.until("it is given", func(*Org) bool { return count(w.gives("api"), last) == 1 })
	w.answered(w.ask(OpKill, "api", Ask{}))
	w.until("it cannot go on", func(*Org) bool { return w.task(last).State == task.Blocked })
	if got := w.task(id); got.State != task.Cancelled {
		t.Errorf("the first stands at %+v", got)
	}

	w.answered(w.spawn("api"))
	w.until("it is given to the new one", func(*Org) bool { return count(w.gives("api"), last) == 2 })
	if got := w.task(last); got.State.Over() || got.Agent != "api" || got.Reason != "" || got.Last().N != 2 {
		t.Errorf("the last stands at %+v", got)
	}
	if got := w.task(lost); got.Label() != "blocked (there is no agent nobody: cmux tasks assign "+lost+" NAME)" {
		t.Errorf("what nobody has is %q", got.Label())
	}
}

// A task that goes to another agent takes its branch along.
func TestTaskOfAnother(t *testing.T) {
	w := newWorld(t)
	w.keep()
	w.answered(w.spawn("api"))
	w.answered(w.spawn("web"))
	w.until("their lives", func(o *Org) bool { return w.lives1("api", 1)(o) && w.lives1("web", 1)(o) })
	id := w.add("Write it", "api", task.Normal)
	w.until("it is given", func(*Org) bool { return count(w.gives("api"), id) == 1 })
	w.ends("api", id, run.End{Outcome: dag.Failed, Reason: dag.ReasonChecks, Detail: "red"})
	w.until("it has failed", func(*Org) bool { return w.task(id).State == task.Failed })
	w.change(id, task.Assigned, "web")
	w.until("the other gets it", func(*Org) bool { return count(w.gives("web"), id) == 1 })
	w.mu.Lock()
	defer w.mu.Unlock()
	if work := w.gave["web"][0]; work.Attempt != 2 || work.Place.Branch != "task/t1-write-it" {
		t.Errorf("it is given as %+v", work)
	}
	for path, branch := range w.trees {
		if filepath.Base(path) == "shop-api" && branch != "shop/api" {
			t.Errorf("the first is on %s", branch)
		}
	}
}

// A task that is taken from an agent at work waits until that agent has left it, and
// no error is reported.
func TestTaskTakenFromOneAtWork(t *testing.T) {
	w := newWorld(t)
	w.keep()
	w.answered(w.spawn("api"))
	w.answered(w.spawn("web"))
	w.until("their lives", func(o *Org) bool { return w.lives1("api", 1)(o) && w.lives1("web", 1)(o) })
	id := w.add("Write it", "api", task.Normal)
	w.until("it is given", func(*Org) bool { return count(w.gives("api"), id) == 1 })
	w.change(id, task.Assigned, "web")
	w.until("the other waits", func(o *Org) bool { return o.Agents["web"].Waits == "api has not left it yet" })
	w.until("it is taken back", func(*Org) bool { return count(w.takes("api"), id) == 1 })
	w.mu.Lock()
	w.lives["api"].stands = "in its turn"
	w.mu.Unlock()
	w.ends("api", id, run.End{Outcome: dag.Cancelled})
	w.until("the end is taken in", func(o *Org) bool { return o.Agents["api"].Work == nil })
	if got := w.gives("web"); len(got) > 0 {
		t.Errorf("in the middle of a turn it gave %q", got)
	}
	w.mu.Lock()
	w.lives["api"].stands = ""
	w.mu.Unlock()
	w.until("the other gets it", func(o *Org) bool { return count(w.gives("web"), id) == 1 && o.Agents["web"].Waits == "" })
	if got := w.mailFor("user"); len(got) > 0 {
		t.Errorf("the person is told %q", got)
	}
}

// A worktree that cannot take a task blocks none: its agent's tasks wait, and who
// gave the first is told once.
func TestTasksOfABadTree(t *testing.T) {
	w := newWorld(t)
	w.stuck = true
	w.keep()
	w.answered(w.spawn("api"))
	w.until("a life", w.lives1("api", 1))
	first, second := w.add("One", "api", task.Normal), w.add("Two", "api", task.Normal)
	w.until("who gave it is told", func(*Org) bool { return len(w.mailFor("user")) == 1 })
	if a, b := w.task(first).State, w.task(second).State; a != task.Assigned || b != task.Assigned {
		t.Errorf("they are %s and %s", a, b)
	}
}

// Who holds the tasks' file holds up the tasks and nothing else.
func TestHeldTasks(t *testing.T) {
	w := newWorld(t)
	w.wait = 20 * time.Millisecond
	w.add("One", "nobody", task.Normal)
	f, err := os.Open(filepath.Join(w.root, ".cmux", task.Name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	w.keep()
	if a := w.answered(w.spawn("api")); a.Refused != "" {
		t.Error(a.Refused)
	}
	w.until("a life", w.lives1("api", 1))
}

// Who gives a task to another agent while the keeper finds that its own is gone has
// decided.
func TestOrphanGivenMeanwhile(t *testing.T) {
	w := newWorld(t)
	id := w.add("One", "gone", task.Normal)
	book, err := task.OpenBook(w.root, time.Now, true)
	if err != nil {
		t.Fatal(err)
	}
	list, err := book.List()
	if err != nil {
		t.Fatal(err)
	}
	w.change(id, task.Assigned, "web")
	k := &Keeper{Options: Options{Wait: time.Minute}, org: &Org{}, desk: desk{book: book}}
	if err := k.orphans(t.Context(), list); err != nil {
		t.Error(err)
	}
	if got := w.task(id); got.State != task.Assigned || got.Agent != "web" {
		t.Errorf("it stands at %+v", got)
	}
}
