package runner

import (
	"bytes"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/log"

	"cmux/agents/records/mail"
	"cmux/agents/runs/lives"
	"cmux/agents/runs/run"
	"cmux/dag"
	"cmux/signals"
	"cmux/signals/mailbox"
)

// A postman that failed rests, however often it is kicked, and says so once a try.
func TestPostmanRests(t *testing.T) {
	var said bytes.Buffer
	p := newPostman(&Runner{Options: Options{Log: log.New(&said)}})
	noon, tries := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), 0
	failing := func() error { tries++; return errors.New("full") }
	for _, c := range []struct {
		after time.Duration
		tries int
	}{{0, 1}, {2 * time.Second, 1}, {postRest - 1, 1}, {postRest, 2}, {postRest + time.Second, 2}, {-time.Hour, 3}} {
		p.next = time.Time{}
		if p.round(t.Context(), noon.Add(c.after), failing); tries != c.tries || p.next.IsZero() {
			t.Errorf("after %s: %d tries, want %d; next %s", c.after, tries, c.tries, p.next)
		}
	}
	if n := strings.Count(said.String(), "could not be handed over"); n != tries {
		t.Errorf("said %d times", n)
	}
}

// begins makes a run of one node, which has it from now on.
func begins(t *testing.T, root, session string) *run.Run {
	t.Helper()
	g, _, err := dag.Parse("x.yml", []byte("session: "+session+"\ndefaults: {agent: command, role: review}\nagents:\n  - {name: api, task: \"true\"}\n"), dag.ParseOptions{})
	if err != nil {
		t.Fatal(err)
	}
	reg, err := run.LockProject(t.Context(), root)
	if err != nil {
		t.Fatal(err)
	}
	defer reg.Unlock()
	id := run.NewID(time.Now())
	if err := reg.Enter(id, session, g.Names()); err != nil {
		t.Fatal(err)
	}
	r, err := run.Create(run.Plan{ID: id, Root: root, Config: filepath.Join(root, session+".yml"), Graph: g}, nil, nil, "/bin/sh")
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// endedRun is the runner of a run that has ended.
func endedRun(t *testing.T) *Runner {
	t.Helper()
	root := t.TempDir()
	if err := signals.Init(root); err != nil {
		t.Fatal(err)
	}
	old := begins(t, root, "one")
	book, err := old.OpenBook()
	if err != nil {
		t.Fatal(err)
	}
	err = book.Append(t.Context(), run.Record{Type: run.Overridden, Node: "api", How: run.HowOverride}, run.Record{Type: run.RunEnded, How: string(dag.RunDone)})
	if err := errors.Join(err, book.Close()); err != nil {
		t.Fatal(err)
	}
	r := &Runner{Options: Options{Run: old, Log: log.New(io.Discard)}, g: old.Plan.Graph, lives: new(lives.Table), hist: run.NewHistory(old.Plan.Graph), doing: make(chan func())}
	r.postman = newPostman(r)
	if _, err := old.Replay(r.hist, 0, nil); err != nil || r.hist.Final == "" {
		t.Fatalf("%q, %v", r.hist.Final, err)
	}
	return r
}

// The runner of an ended run, which stays up, leaves mail to a node alone from the
// moment on at which a new run has the node.
func TestPostmanOfEndedRun(t *testing.T) {
	r := endedRun(t)
	look := func() map[string]nodeStands {
		r.postman.stands = map[string]nodeStands{"api": {}}
		done := make(chan error, 1)
		go func() { done <- r.postman.look(t.Context()) }()
		(<-r.doing)()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		return r.postman.stands
	}
	if s, mine := look()["api"]; !mine || s.Stand != mail.Over {
		t.Errorf("before: %+v, %v", s, mine)
	}
	begins(t, r.Run.Plan.Root, "two")
	if s, mine := look()["api"]; mine {
		t.Errorf("a new run has it: %+v", s)
	}
}

// The runner of a headless run, which goes with it, says of what waits for its nodes
// that nobody will read it.
func TestLastMail(t *testing.T) {
	p := endedRun(t).postman
	p.last(t.Context()) // no mailbox
	root := p.r.Run.Plan.Root
	post, err := mail.Open(root, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	for _, to := range []string{"node:api", "node:other"} {
		if _, err := post.Send(t.Context(), mailbox.Message{ID: to[5:], From: "user", To: to, Subject: "late"}, true); err != nil {
			t.Fatal(err)
		}
	}
	p.last(t.Context())
	var at mailbox.Places
	var l mailbox.Ledger
	if _, err := l.Load(post.Box, &at); err != nil {
		t.Fatal(err)
	}
	if s := l.Status("api", mailbox.Address{Kind: mailbox.Node, Name: "api"}); s.State != mailbox.Failed || !strings.Contains(s.Why, "api has no agent") {
		t.Errorf("%+v", s)
	}
	if s := l.Status("other", mailbox.Address{Kind: mailbox.Node, Name: "other"}); s.State != mailbox.Queued {
		t.Errorf("another run's: %+v", s)
	}
}
