package standing

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"cmux/agents/records/mail"
	"cmux/agents/runs/run"
	"cmux/dag"
	"cmux/signals/mailbox"
)

// send writes a message into the mailbox.
func (w *world) send(from, to, subject string) string {
	w.t.Helper()
	post, err := mail.Open(w.root, time.Now)
	if err != nil {
		w.t.Fatal(err)
	}
	m, err := post.Send(w.t.Context(), mailbox.Message{From: from, To: to, Subject: subject}, true)
	if err != nil {
		w.t.Fatal(err)
	}
	return m.ID
}

// status is how a message stands with somebody.
func (w *world) status(id, to string) mailbox.State {
	w.t.Helper()
	box, err := mail.Box(w.root)
	if err != nil {
		w.t.Fatal(err)
	}
	var l mailbox.Ledger
	var at mailbox.Places
	if _, err := l.Load(box, &at); err != nil {
		w.t.Fatal(err)
	}
	a, err := mailbox.ParseAddress(to)
	if err != nil {
		w.t.Fatal(err)
	}
	return l.Status(id, a).State
}

func (w *world) told(name string) (ids []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append(ids, w.tells[name]...)
}

func (w *world) reads(name, ids string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lives[name].record(run.Record{Type: run.Confirmed, Key: ids})
}

func count(all []string, id string) (n int) {
	for _, x := range all {
		if x == id {
			n++
		}
	}
	return n
}

// A message is handed to a life once, again to the next one or by another keeper
// while nobody has read it, and never after it was read.
func TestMail(t *testing.T) {
	w := newWorld(t)
	stop := w.keep()
	w.answered(w.spawn("api"))
	w.answered(w.spawn("web"))
	w.until("their lives", func(o *Org) bool { return w.lives1("api", 1)(o) && w.lives1("web", 1)(o) })

	first := w.send("user", "api", "hello")
	w.until("it is told", func(*Org) bool { return count(w.told("api"), first) == 1 })
	w.until("it counts as handed over", func(*Org) bool { return w.status(first, "api") == mailbox.Handed })

	w.mu.Lock()
	w.lives["api"].end()
	w.mu.Unlock()
	w.until("its next life is told", func(*Org) bool { return count(w.told("api"), first) == 2 })
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	stop = w.keep()
	w.until("another keeper tells it", func(*Org) bool { return count(w.told("api"), first) == 3 })

	w.reads("api", first)
	w.until("it is confirmed", func(*Org) bool { return w.status(first, "api") == mailbox.Confirmed })
	w.mu.Lock()
	w.lives["api"].end()
	w.mu.Unlock()
	w.until("the next life", func(o *Org) bool { return o.Agents["api"].Life.N == 3 })

	all := w.send("user", "all", "to everybody")
	w.until("both are told", func(*Org) bool { return count(w.told("api"), all) == 1 && count(w.told("web"), all) == 1 })
	w.reads("api", all+",other")
	w.until("one has read it", func(*Org) bool { return w.status(all, "api") == mailbox.Confirmed })
	if s := w.status(all, "web"); s != mailbox.Handed {
		t.Errorf("with the other it is %v", s)
	}
	none := w.send("user", "nobody", "is there anybody")
	last := w.send("api", "web", "after it")
	w.until("what stands behind it is told, although that is not read", func(*Org) bool { return count(w.told("web"), last) == 1 })
	w.reads("web", all)
	if s := w.status(none, "nobody"); s == mailbox.Handed || s == mailbox.Confirmed {
		t.Errorf("what is for nobody is %v", s)
	}
	if n := count(w.told("api"), first); n != 3 {
		t.Errorf("what was read was told %d times", n)
	}
	// What is no message keeps nothing up.
	f, err := os.OpenFile(filepath.Join(w.root, ".cmux", mailbox.Name), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString("no json\n{\"torn"); err != nil {
		t.Fatal(err)
	}
	f.Close()
	after := w.send("user", "api", "still there")
	w.until("the one behind it is told", func(*Org) bool { return count(w.told("api"), after) == 1 })
	w.mu.Lock()
	if w.from[after] != "user" || w.from[all] != "" {
		t.Errorf("a message is from %q, one to everybody from %q", w.from[after], w.from[all])
	}
	w.mu.Unlock()
	if err := stop(); err != nil {
		t.Fatal(err)
	}
}

func (w *world) takes(name string) (ids []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append(ids, w.took[name]...)
}

// mailFor are the subjects of what was written to somebody.
func (w *world) mailFor(to string) (subjects []string) {
	w.t.Helper()
	box, err := mail.Box(w.root)
	if err != nil {
		w.t.Fatal(err)
	}
	if _, err := box.Read(mailbox.Place{}, nil, func(l mailbox.Line) error {
		if l.To == to {
			subjects = append(subjects, l.Subject)
		}
		return nil
	}); err != nil {
		w.t.Fatal(err)
	}
	return subjects
}

// Mail for a node that no run has any more ends, and says why; what is for a node
// whose run can be resumed is left to its runner.
func TestMailToGoneNodes(t *testing.T) {
	w := newWorld(t)
	g, _, err := dag.Parse("x.yml", []byte("session: s\ndefaults: {agent: command, role: review}\nagents:\n  - {name: here, task: \"true\"}\n"), dag.ParseOptions{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := run.Create(run.Plan{ID: run.NewID(time.Now()), Root: w.root, Config: filepath.Join(w.root, "x.yml"), Graph: g}, nil, nil, "/bin/sh")
	if err != nil {
		t.Fatal(err)
	}
	book, err := r.OpenBook()
	if err != nil {
		t.Fatal(err)
	}
	if err := book.Close(); err != nil {
		t.Fatal(err)
	}
	here, gone := w.send("user", "node:here", "wait"), w.send("user", "node:pruned", "hello")
	w.keep()
	w.until("it has failed", func(*Org) bool { return w.whyWaits(gone, "node:pruned") == `no run has a node "pruned" any more` })
	if why := w.whyWaits(here, "node:here"); why != "" {
		t.Errorf("what a runner is to hand over: %q", why)
	}
	if err := os.RemoveAll(r.Dir); err != nil {
		t.Fatal(err)
	}
	w.ahead.Store(int64(nodeLook))
	w.send("user", "user", "wakes the keeper")
	w.until("it has failed too", func(*Org) bool { return w.whyWaits(here, "node:here") == `no run has a node "here" any more` })
}
