package machine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"cmux/agents/far"
	"cmux/agents/runs/attempt"
	"cmux/agents/runs/host"
	"cmux/agents/runs/run"
	"cmux/dag"
	"cmux/signals"
)

// order puts an order and returns its reply.
func (h *home) order(ref far.Ref, id string, m attempt.Message) *attempt.Reply {
	h.Helper()
	h.must(h.w.Put(h.Context(), ref, far.Entry{ID: id, Kind: far.Order, Message: &m}))
	ctx, cancel := context.WithTimeout(h.Context(), patience)
	defer cancel()
	var reply *attempt.Reply
	found := errors.New("found")
	err := h.w.Follow(ctx, ref, 0, func(e far.Entry) error {
		if e.Kind == far.Reply && e.ID == id {
			reply = e.Reply
			return found
		}
		return nil
	})
	if !errors.Is(err, found) {
		h.Fatalf("no reply to %s: %v", id, err)
	}
	return reply
}

// sees waits for an entry.
func (h *home) sees(ref far.Ref, what string, is func(*far.Entry) bool) {
	h.Helper()
	ctx, cancel := context.WithTimeout(h.Context(), patience)
	defer cancel()
	found := errors.New("found")
	var all []far.Entry
	err := h.w.Follow(ctx, ref, 0, func(e far.Entry) error {
		all = append(all, e)
		if is(&e) {
			return found
		}
		return nil
	})
	if !errors.Is(err, found) {
		h.Fatalf("never %s: %v\n%s", what, err, told(all))
	}
}

func active(a dag.Activity) func(*far.Entry) bool {
	return func(e *far.Entry) bool {
		return e.Kind == far.Record && e.Record.Type == run.Active && e.Record.Activity == a
	}
}

// A person's answer reaches the agent once, gives its slot back meanwhile, and the agent's
// mail comes home.
func TestOrders(t *testing.T) {
	h := newHome(t)
	h.open(func(o *Options) { o.Machine.Slots = 1 })
	h.renewing()
	ref, need, job := h.job(`
agents:
  - name: asks
    agent: scripted
    input_timeout: 1h
    task: |
      echo '{"text":"which way?","options":["left","right"]}' | cmux hook question
      read way
      cmux hook turn-ended </dev/null
      read more
      cmux done "nothing was needed: went $way, not $more"
`)
	h.must(h.w.Open(t.Context(), "home", ref, need, job))
	h.send(ref)
	h.sees(ref, "a question", active(dag.NeedsInput))
	h.until("its slot is free", func() bool { m, err := h.w.Describe(t.Context()); return err == nil && m.Busy == 0 })
	if r := h.order(ref, "1", attempt.Message{Op: attempt.OpAnswer, Text: "left"}); r.Error != "" {
		t.Fatalf("the answer: %+v", r)
	}
	h.must(h.w.Put(t.Context(), ref, far.Entry{ID: "1", Kind: far.Order, Message: &attempt.Message{Op: attempt.OpAnswer, Text: "left"}}))
	h.sees(ref, "that it wants to continue", func(e *far.Entry) bool { return e.Kind == far.Record && e.Record.Type == run.Wants })
	if r := h.order(ref, "2", attempt.Message{Op: attempt.OpGranted}); r.Error != "" {
		t.Fatalf("granted: %+v", r)
	}
	if r := h.order(ref, "3", attempt.Message{Op: attempt.OpDone, Text: "no"}); !strings.Contains(r.Error, "not an order") {
		t.Errorf("a report of home: %+v", r)
	}
	all := h.all(ref)
	end := all[len(all)-1]
	if end.Record == nil || end.Record.End == nil || !strings.HasPrefix(end.Record.End.Summary, "nothing was needed: went left, not You ended") {
		t.Fatalf("the end:\n%s", told(all))
	}
	if got := h.stream(far.Events, all); !strings.Contains(got, "went left") || strings.Count(got, `"kind":"answer"`) != 1 {
		t.Errorf("the events: %s", got)
	}
}

// waits is a node that works until the test lets it end: it counts its programs.
const waits = `
agents:
  - name: api
    agent: command
    task: 'echo one; echo $$ >> "$MARK"; echo half > half; git add half; git commit -q -m half; while ! test -e "$MARK.go"; do echo tick; sleep 0.02; done; echo two'
`

func (h *home) waiting(change ...func(*far.Job)) (ref far.Ref, need far.Need, job far.Job, mark string) {
	mark = filepath.Join(h.T.TempDir(), "mark")
	ref, need, job = h.job(waits, append(change, func(j *far.Job) { j.Env = []string{"MARK=" + mark} })...)
	return ref, need, job, mark
}

// process starts a worker in a process of its own.
func (h *home) process() *exec.Cmd {
	h.Helper()
	self, err := os.Executable()
	h.must(err)
	cmd := exec.Command(self, "worker", h.dir)
	cmd.Stderr = os.Stderr
	h.must(cmd.Start())
	h.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	h.until("the worker is there", func() bool {
		_, held, err := signals.ReadHolder(filepath.Join(h.dir, "worker.lock"))
		return err == nil && held
	})
	return cmd
}

// A worker that is killed while the agent works is taken over from by the next one: the
// program runs once, and every byte comes home once.
func TestWorkerKilled(t *testing.T) {
	h := newHome(t)
	ref, need, job, mark := h.waiting()
	h.open()
	h.must(h.w.Open(t.Context(), "home", ref, need, job))
	h.send(ref)
	h.leave()
	for range 3 { // it is killed before, while and after the program starts
		cmd := h.process()
		h.until("the program works", func() bool { return exists(mark) })
		h.must(cmd.Process.Kill())
		cmd.Wait()
	}
	h.open()
	if held, err := h.w.Held(t.Context(), "home"); err != nil || held[ref] != far.Working {
		t.Errorf("held: %v, %v", held, err)
	}
	h.renewing()
	h.must(os.WriteFile(mark+".go", nil, 0o600))
	all := h.all(ref)
	if end := all[len(all)-1]; end.Record == nil || end.Record.End == nil || end.Record.End.Outcome != dag.Done {
		t.Fatalf("the end:\n%s", told(all))
	}
	b, err := os.ReadFile(mark)
	if err != nil || strings.Count(string(b), "\n") != 1 {
		t.Errorf("programs: %q, %v", b, err)
	}
	r, err := run.Open(h.w.job(ref).root(), ref.Run)
	h.must(err)
	want, err := os.ReadFile(r.Log("api"))
	h.must(err)
	if got := h.stream(far.Log, all); got != string(want) {
		t.Errorf("the log came as %d bytes of %d", len(got), len(want))
	}
	if n := len(records(all, run.Began)); n != 1 {
		t.Errorf("%d began records", n)
	}
}

// The wrapper is killed while no worker is there: the attempt has vanished.
func TestWrapperKilled(t *testing.T) {
	h := newHome(t)
	ref, need, job, mark := h.waiting()
	h.open()
	stop := h.renewing()
	h.must(h.w.Open(t.Context(), "home", ref, need, job))
	h.send(ref)
	h.until("the program works", func() bool { return exists(mark) })
	r, err := run.Open(h.w.job(ref).root(), ref.Run)
	h.must(err)
	h.until("it has committed", func() bool { return h.committed(h.w.job(ref).tree()) })
	stop()
	h.leave()
	holder, _, err := signals.ReadHolder(r.NodeLock("api"))
	h.must(err)
	h.must(syscall.Kill(holder.PID, syscall.SIGKILL))
	h.open()
	all := h.all(ref)
	if end := all[len(all)-1]; end.Record == nil || end.Record.Type != run.Vanished || end.Record.How != run.HowLost || !strings.HasPrefix(end.Record.Detail, "its wrapper is gone") {
		t.Fatalf("the end:\n%s", told(all))
	}
	h.unpack(all)
	if got := h.git("log", "--format=%s", "refs/taken/far/branch"); got != "half\nfirst" {
		t.Errorf("the branch:\n%s", got)
	}
	h.gone(mark)
}

// gone waits until the program that wrote its pid is gone.
func (h *home) gone(mark string) {
	h.Helper()
	b, err := os.ReadFile(mark)
	h.must(err)
	var pid int
	fmt.Sscan(string(b), &pid)
	h.until("the program is gone", func() bool { return pid > 1 && errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) })
}

// Without contact the program is ended, its work is kept, and nothing comes home any more.
func TestFence(t *testing.T) {
	h := newHome(t)
	ref, need, job, mark := h.waiting(func(j *far.Job) { j.LostAfter = 2 * time.Second })
	h.open()
	stop := h.renewing()
	h.must(h.w.Open(t.Context(), "home", ref, need, job))
	h.send(ref)
	h.until("the program works", func() bool { return exists(mark) })
	tree := h.w.job(ref).tree()
	h.until("it has committed", func() bool { return h.committed(tree) })
	h.must(os.WriteFile(filepath.Join(tree, "unfinished"), []byte("work"), 0o600))
	time.AfterFunc(0, stop)
	began := time.Now()
	h.gone(mark)
	if d := time.Since(began); d < time.Second || d > far.Grace {
		t.Errorf("it was ended after %s", d)
	}
	all := h.all(ref)
	if end := all[len(all)-1]; end.Record == nil || end.Record.Type != run.Vanished || end.Record.How != run.HowLost || !strings.Contains(end.Record.Detail, "no contact with home for 2s") {
		t.Errorf("the end:\n%s", told(all))
	}
	for _, e := range all {
		if e.Kind == far.Code {
			t.Errorf("its work came home:\n%s", told(all))
		}
	}
	h.until("it is over", func() bool { m, err := h.w.Describe(t.Context()); return err == nil && m.Busy == 0 })
	s, err := h.w.Status(t.Context())
	if err != nil || len(s.Kept) != 1 || s.Kept[0].Snapshot == "" || !exists(filepath.Join(s.Kept[0].Tree, "unfinished")) {
		t.Fatalf("kept: %+v, %v", s, err)
	}
	// The next worker does not take it up again, whatever home's heartbeats say.
	h.leave()
	h.open()
	h.renewing()
	if held, err := h.w.Held(t.Context(), "home"); err != nil || held[ref] != far.Ended {
		t.Errorf("held: %v, %v", held, err)
	}
	h.must(h.w.Close(t.Context(), ref, far.GivenUp))
	kept, err := ReadKept(h.dir)
	if err != nil || len(kept) != 1 {
		t.Errorf("kept: %v, %v", kept, err)
	}
	h.w.sweep(t.Context(), time.Now().Add(keepLost+time.Minute))
	if exists(h.w.jobDir(ref)) {
		t.Error("it is kept for ever")
	}
	if exists(filepath.Dir(h.w.jobDir(ref))) {
		t.Error("the folder of the node is kept for ever")
	}
	if err := h.w.Put(t.Context(), ref, far.Entry{ID: "x", Kind: far.Order}); !errors.Is(err, far.ErrUnknown) {
		t.Errorf("put: %v", err)
	}
}

func (h *home) committed(tree string) bool {
	out, err := exec.Command("git", "-C", tree, "log", "--format=%s").Output()
	return err == nil && strings.HasPrefix(string(out), "half")
}

// A worker that is killed and does not come back leaves a guard, which ends the program in
// time. The next worker knows that the lease is over.
func TestGuard(t *testing.T) {
	h := newHome(t)
	ref, need, job, mark := h.waiting(func(j *far.Job) { j.LostAfter = 2 * time.Second })
	h.open()
	h.must(h.w.Open(t.Context(), "home", ref, need, job))
	h.send(ref)
	h.leave()
	cmd := h.process()
	h.until("the program works", func() bool { return exists(mark) })
	h.must(cmd.Process.Kill())
	cmd.Wait()
	h.gone(mark)
	h.open()
	h.renewing()
	h.until("it is lost", func() bool {
		held, err := h.w.Held(t.Context(), "home")
		return err == nil && held[ref] == far.Ended
	})
}

// A damaged lease is no reason to leave an attempt alone, and a lease is kept on a disk that
// takes no new file.
func TestLeaseFile(t *testing.T) {
	h := newHome(t)
	ref, need, job, mark := h.waiting(func(j *far.Job) { j.LostAfter = 2 * time.Second })
	h.open()
	stop := h.renewing()
	h.must(h.w.Open(t.Context(), "home", ref, need, job))
	h.send(ref)
	h.until("the program works", func() bool { return exists(mark) })
	dir := h.w.jobDir(ref)
	h.must(os.MkdirAll(filepath.Join(dir, "lease.new", "in the way"), 0o700))
	began := now()
	h.until("the lease before is over", func() bool { return now().Sub(began) > job.LostAfter+look })
	if l, _, err := readLease(dir); err != nil || !l.Begun() || l.Over(now()) {
		t.Errorf("the lease: %+v, %v", l, err)
	}
	for _, torn := range []string{"", `{"boot":"x","se`} {
		stop()
		h.leave()
		h.must(os.WriteFile(leasePath(dir), []byte(torn), 0o600))
		h.open()
		if held, err := h.w.Held(t.Context(), "home"); err != nil || held[ref] != far.Working {
			t.Fatalf("held: %v, %v", held, err)
		}
		stop = h.renewing()
	}
	h.until("the lease is whole", func() bool { l, _, err := readLease(dir); return err == nil && l.Begun() })
	h.must(os.WriteFile(mark+".go", nil, 0o600))
	all := h.all(ref)
	if end := all[len(all)-1]; end.Record == nil || end.Record.End == nil || end.Record.End.Outcome != dag.Done {
		t.Errorf("the end:\n%s", told(all))
	}
}

// One folder that cannot be read hides no other.
func TestReadKept(t *testing.T) {
	h := newHome(t)
	trees := filepath.Join(t.TempDir(), "elsewhere")
	h.open(func(o *Options) { o.Trees = trees })
	h.renewing()
	ref, need, job, mark := h.waiting()
	h.must(h.w.Open(t.Context(), "home", ref, need, job))
	h.send(ref)
	h.until("the program works", func() bool { return exists(mark) })
	h.must(h.w.Close(t.Context(), ref, far.GivenUp))
	bad := filepath.Join(h.dir, "jobs", ref.Project, ref.Run, "bad", "1")
	h.must(os.MkdirAll(bad, 0o700))
	h.must(os.WriteFile(filepath.Join(bad, jobFile), []byte("{"), 0o600))
	kept, err := ReadKept(h.dir)
	if err == nil || !strings.Contains(err.Error(), bad) || len(kept) != 1 || !strings.HasPrefix(kept[0].Tree, trees) {
		t.Errorf("kept: %+v, %v", kept, err)
	}
}

// on_lost: ask needs no lease once the program has begun.
func TestAsks(t *testing.T) {
	h := newHome(t)
	ref, need, job, mark := h.waiting(func(j *far.Job) { j.LostAfter, j.Asks = time.Nanosecond, true })
	h.open()
	h.must(h.w.Open(t.Context(), "home", ref, need, job))
	h.send(ref)
	h.w.Renew([]far.Ref{ref}, time.Now())
	h.until("the program works", func() bool { return exists(mark) })
	h.must(os.WriteFile(mark+".go", nil, 0o600))
	if all := h.all(ref); all[len(all)-1].Record == nil {
		t.Errorf("the end:\n%s", told(all))
	}
}

// What home gives up is ended and kept.
func TestGivenUp(t *testing.T) {
	h := newHome(t)
	ref, need, job, mark := h.waiting()
	h.open()
	h.renewing()
	h.must(h.w.Open(t.Context(), "home", ref, need, job))
	h.send(ref)
	h.until("the program works", func() bool { return exists(mark) })
	h.must(h.w.Close(t.Context(), ref, far.GivenUp))
	h.must(h.w.Close(t.Context(), ref, far.GivenUp))
	h.gone(mark)
	h.until("its slot is free", func() bool { m, err := h.w.Describe(t.Context()); return err == nil && m.Busy == 0 })
	s, err := h.w.Status(t.Context())
	if err != nil || len(s.Kept) != 1 || len(s.Jobs) != 0 {
		t.Errorf("status: %+v, %v", s, err)
	}
	r, err := run.Open(h.w.job(ref).root(), ref.Run)
	h.must(err)
	if p, release, err := host.Find(r, host.Ref{Node: "api", N: 1}); err != nil || p != host.Gone {
		t.Errorf("it lives: %v, %v", p, err)
	} else {
		h.must(release())
	}
}

// Home starts the next attempt elsewhere when Close returns: no program runs then, however
// slowly it ends and whatever is wrong with its run.
func TestGivenUpWaits(t *testing.T) {
	h := newHome(t)
	mark := filepath.Join(h.T.TempDir(), "mark")
	ref, need, job := h.job(`agents: [{name: api, agent: command, task: 'trap "sleep 1; exit 1" TERM; echo $$ > "$MARK"; while :; do sleep 0.02; done'}]`,
		func(j *far.Job) { j.Env = []string{"MARK=" + mark} })
	h.open()
	h.renewing()
	h.must(h.w.Open(t.Context(), "home", ref, need, job))
	h.send(ref)
	var pid int
	h.until("the program works", func() bool {
		b, err := os.ReadFile(mark)
		fmt.Sscan(string(b), &pid)
		return err == nil && pid > 1
	})
	r, err := run.Open(h.w.job(ref).root(), ref.Run)
	h.must(err)
	graph := filepath.Join(r.Dir, "graph.json")
	was, err := os.ReadFile(graph)
	h.must(err)
	h.must(os.WriteFile(graph, []byte("torn"), 0o600))
	for range 2 {
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		if err := h.w.Close(ctx, ref, far.GivenUp); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("closed, and the program cannot be found: %v", err)
		}
		cancel()
	}
	h.leave()
	h.open()
	if h.w.job(ref).over() {
		t.Error("its end is on record")
	}
	h.must(os.WriteFile(graph, was, 0o600))
	h.must(h.w.Close(t.Context(), ref, far.GivenUp))
	if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("the program lives: %v", err)
	}
	if p, release, err := host.Find(r, host.Ref{Node: "api", N: 1}); err != nil || p != host.Gone {
		t.Errorf("its wrapper lives: %v, %v", p, err)
	} else {
		h.must(release())
	}
}

// An attempt whose end is ordered before it began has that end, and needs no lease for it.
func TestEndedEarly(t *testing.T) {
	h := newHome(t)
	h.open()
	ref, need, job, _ := h.waiting()
	h.must(h.w.Open(t.Context(), "home", ref, need, job))
	if r := h.order(ref, "1", attempt.Message{Op: attempt.OpCancel}); r.Error != "" {
		t.Errorf("the reply: %+v", r)
	}
	all := h.all(ref)
	if end := all[len(all)-1]; end.Record == nil || end.Record.End == nil || end.Record.End.Outcome != dag.Cancelled {
		t.Errorf("the end:\n%s", told(all))
	}
}

// An order to end an attempt that a worker took before it was killed finds the attempt
// begun, or ended: the next worker passes it on, and sends the end and the work of the
// attempt itself.
func TestOrderedBeforeRestart(t *testing.T) {
	for name, ends := range map[string]bool{"begun": false, "ended": true} {
		t.Run(name, func(t *testing.T) {
			h := newHome(t)
			ref, need, job, mark := h.waiting()
			h.open()
			stop := h.renewing()
			h.must(h.w.Open(t.Context(), "home", ref, need, job))
			h.send(ref)
			h.until("the program works", func() bool { return exists(mark) })
			j := h.w.job(ref)
			h.until("it has committed", func() bool { return h.committed(j.tree()) })
			stop()
			h.leave()
			in, err := openJournal(j.path("in.jsonl"), nil)
			h.must(err)
			h.must(in.put(t.Context(), []far.Entry{{ID: "1", Kind: far.Order, Message: &attempt.Message{Op: attempt.OpCancel}}}))
			want := dag.Cancelled
			if ends {
				want = dag.Done
				h.must(os.WriteFile(mark+".go", nil, 0o600))
				h.gone(mark)
			}
			r, err := run.Open(j.root(), ref.Run)
			h.must(err)
			h.until("its end is on record", func() bool { f, err := j.facts(r); return err == nil && (!ends || f.end != nil) })
			h.open()
			h.renewing()
			all := h.all(ref)
			h.gone(mark)
			if end := all[len(all)-1]; end.Record == nil || end.Record.End == nil || end.Record.End.Outcome != want {
				t.Errorf("the end:\n%s", told(all))
			}
			h.unpack(all)
			if got := h.git("log", "--format=%s", "refs/taken/far/branch"); got != "half\nfirst" {
				t.Errorf("the branch:\n%s", got)
			}
		})
	}
}

// Attempts wait for a slot in the order in which they came.
func TestSlots(t *testing.T) {
	h := newHome(t)
	h.open(func(o *Options) { o.Machine.Slots = 1 })
	h.renewing()
	ref, need, job, mark := h.waiting()
	var all []far.Ref
	for n := 1; n <= 3; n++ {
		ref.N, job.Spec.Attempt = n, n
		all = append(all, ref)
		h.must(h.w.Open(t.Context(), "home", ref, need, job))
	}
	m, err := h.w.Describe(t.Context())
	if err != nil || m.Busy != 3 || m.Hinders() != "full" {
		t.Errorf("described: %+v, %v", m, err)
	}
	h.must(os.WriteFile(mark+".go", nil, 0o600))
	for i, ref := range all {
		h.send(ref)
		if held, err := h.w.Held(t.Context(), "home"); err != nil || i < 2 && held[all[2]] != far.Waiting {
			t.Errorf("held: %v, %v", held, err)
		}
		h.all(ref)
	}
}

// What a machine does not do it refuses, and says why.
func TestRefusals(t *testing.T) {
	h := newHome(t)
	h.open(func(o *Options) { o.Projects = []string{"github.com/acme/*"} })
	for name, c := range map[string]struct {
		config string
		change func(*far.Ref, *far.Need, *far.Job)
		why    string
	}{
		"label": {waits, func(_ *far.Ref, n *far.Need, _ *far.Job) { n.Labels = []string{"mac"} }, "no label mac"},
		"kind":  {strings.Replace(waits, "agent: command", "agent: scripted", 1), func(_ *far.Ref, n *far.Need, _ *far.Job) { n.Kind = "command" }, ""},
		"unfit": {waits, func(_ *far.Ref, n *far.Need, j *far.Job) {
			j.Graph = []byte(strings.Replace(string(j.Graph), `"command"`, `"claude"`, 1))
		}, "claude is not ready: not logged in"},
		"accept":    {waits, func(_ *far.Ref, n *far.Need, _ *far.Job) { n.Accept = true }, "no auto_accept"},
		"version":   {waits, func(_ *far.Ref, _ *far.Need, j *far.Job) { j.Version = 7 }, "version 7"},
		"project":   {waits, func(_ *far.Ref, _ *far.Need, j *far.Job) { j.Remote = "git@github.com:evil/app.git" }, "github.com/evil/app"},
		"no remote": {waits, func(_ *far.Ref, _ *far.Need, j *far.Job) { j.Remote = "" }, "without a remote"},
		"name":      {waits, func(r *far.Ref, _ *far.Need, _ *far.Job) { r.Node = ".." }, "no attempt has the name"},
		"node":      {waits, func(r *far.Ref, _ *far.Need, _ *far.Job) { r.Node = "web" }, "not of that attempt"},
		"file":      {waits, func(_ *far.Ref, _ *far.Need, j *far.Job) { j.Files = []far.File{{Path: "../x"}} }, "does not travel"},
		"git file":  {waits, func(_ *far.Ref, _ *far.Need, j *far.Job) { j.Files = []far.File{{Path: ".git/config"}} }, "does not travel"},
		"big file": {waits, func(_ *far.Ref, _ *far.Need, j *far.Job) {
			j.Files = []far.File{{Path: "x", Data: make([]byte, 2<<20)}}
		}, "bytes travel"},
		"machine": {waits, func(_ *far.Ref, n *far.Need, _ *far.Job) { n.Machine = "other" }, "has not had it"},
	} {
		t.Run(name, func(t *testing.T) {
			ref, need, job := h.job(c.config, func(j *far.Job) { j.Remote = "https://me:secret@github.com/acme/app.git" })
			c.change(&ref, &need, &job)
			if name == "kind" {
				return // the graph decides: scripted is there
			}
			err := h.w.Open(t.Context(), "home", ref, need, job)
			if err == nil || !strings.Contains(err.Error(), c.why) || strings.Contains(err.Error(), "secret") {
				t.Errorf("%v", err)
			}
		})
	}
	h.w.Drain(true)
	ref, need, job := h.job(waits, func(j *far.Job) { j.Remote = "ssh://git@github.com:22/acme/app" })
	if err := h.w.Open(t.Context(), "home", ref, need, job); err == nil || !strings.Contains(err.Error(), "drained") {
		t.Errorf("%v", err)
	}
	h.w.Drain(false)
	h.must(h.w.Open(t.Context(), "home", ref, need, job))
	if err := h.w.Open(t.Context(), "another", ref, need, job); err == nil {
		t.Error("another home got it")
	}
	if _, err := Open(t.Context(), Options{Dir: h.dir, Machine: far.Machine{Name: "x", Slots: 1}}); !errors.Is(err, ErrRuns) || !strings.Contains(err.Error(), fmt.Sprint(os.Getpid())) {
		t.Errorf("a second worker: %v", err)
	}
}
