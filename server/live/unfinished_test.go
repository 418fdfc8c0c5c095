package live

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"cmux/agents/records/unfinished"
	"cmux/agents/testkit/agenttest/until"
	"cmux/signals"
)

// project is a project whose members of rooms write.
type project struct {
	t    *testing.T
	root string
}

func newProject(t *testing.T) project {
	t.Helper()
	p := project{t, t.TempDir()}
	if err := signals.Init(p.root); err != nil {
		t.Fatal(err)
	}
	return p
}

// follow follows what they write until end is called, and returns when it is followed.
func (p project) follow(h *Hub) (end func()) {
	p.t.Helper()
	ctx, cancel := context.WithCancel(p.t.Context())
	done := make(chan error, 1)
	go func() { done <- h.FollowUnfinished(ctx, p.root) }()
	for begin := time.Now(); ; <-time.After(time.Millisecond) {
		if info, err := os.Stat(unfinished.Dir(p.root)); err == nil && info.IsDir() {
			break
		}
		if time.Since(begin) > time.Minute {
			p.t.Fatal("there is no folder")
		}
	}
	return func() {
		p.t.Helper()
		cancel()
		if err := <-done; err != nil {
			p.t.Error(err)
		}
	}
}

func (p project) member(name string) *unfinished.Text {
	text := unfinished.New(p.root, name)
	p.t.Cleanup(text.Close)
	return text
}

// deltas hears what is written until a text is the last that a member has written. It
// returns all else that it heard.
func (p *peer) deltas(member, text string) (events []Frame) {
	p.t.Helper()
	for {
		s, err := p.hear()
		if err != nil {
			p.t.Fatal(err)
		}
		for _, f := range s.Events {
			var d unfinished.Piece
			if f.Event != "room_delta" {
				events = append(events, f)
				continue
			}
			if err := json.Unmarshal(f.Data, &d); err != nil || f.Seq != 0 || f.Source != "room:design" {
				p.t.Errorf("%+v: %v", f, err)
			}
			if f.Name == member && d.Text == text {
				return events
			}
		}
	}
}

// What members write reaches live clients, and who comes meanwhile. It has no place in the
// log: who catches up gets exactly what is there.
func TestUnfinished(t *testing.T) {
	pr, b := newProject(t), newBook()
	url, h := serve(t, b, nil)
	end := pr.follow(h)
	p := dial(t, url)
	p.from("one", 0)
	p.want("live")
	ada, bob := pr.member("design.ada"), pr.member("design.bob")
	ada.Say("Post")
	p.deltas("ada", "Post")
	b.add(3, nil)
	ada.Say("gres")
	bob.Say("SQLite")
	events := p.deltas("ada", "Postgres")
	for len(events) < 3 {
		s, err := p.hear()
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range s.Events {
			if f.Seq > 0 {
				events = append(events, f)
			}
		}
	}
	for i, f := range events {
		if f.Seq != int64(i)+1 {
			t.Errorf("event %d has the seq %d", i, f.Seq)
		}
	}

	late := dial(t, url)
	late.from("one", 1)
	if s, events := late.want("live"); s.Seq != 3 || len(events) != 2 {
		t.Errorf("live at %d with %d events", s.Seq, len(events))
	}
	late.deltas("ada", "Postgres")
	ada.Finished("Postgres", time.Now())
	p.deltas("ada", "")
	late.deltas("ada", "")
	if h.Log.Head().Seq != 3 {
		t.Error("they are in the log")
	}
	end()
	if _, err := os.Lstat(unfinished.Dir(pr.root)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folder stays: %v", err)
	}
}

// What a server that was killed left is not shown, nor what is no text of a member.
func TestUnfinishedLeftBehind(t *testing.T) {
	pr := newProject(t)
	dir := unfinished.Dir(pr.root)
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	write("design.ada", `{"text":"long ago"}`)
	url, h := serve(t, newBook(), nil)
	defer pr.follow(h)()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if !until.True(ctx, func() bool {
		_, err := os.Stat(filepath.Join(dir, "design.ada"))
		return errors.Is(err, fs.ErrNotExist)
	}) {
		t.Fatal("what was left behind stays")
	}
	p := dial(t, url)
	p.from("one", 0)
	p.want("live")
	bob := pr.member("design.bob")
	for _, text := range []string{"", "{", `"x"`, string(make([]byte, 1<<20))} {
		write("design.ada", text)
		write("worker", `{"text":"of no room"}`)
	}
	bob.Say("SQLite")
	p.deltas("bob", "SQLite")
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.unfinished) != 1 {
		t.Errorf("%d texts", len(h.unfinished))
	}
}

// For a client that does not read, the last piece of each waits alone, and it is no further
// behind for it.
func TestUnfinishedDoesNotPileUp(t *testing.T) {
	h := NewHub(t.Context(), Options{Log: newBook()})
	c := &client{more: make(chan struct{}, 1)}
	h.live[c] = struct{}{}
	for i := range 10 * MaxWaiting {
		h.Unfinished("design", "ada", unfinished.Piece{Text: string(make([]byte, i%100)) + "x"})
		h.Unfinished("design", "bob", unfinished.Piece{Text: "y"})
	}
	if !c.push(message{events: MaxWaiting}) {
		t.Error("it is behind")
	}
	queue, latest, behind := c.take()
	if len(queue) != 1 || len(latest) != 2 || behind {
		t.Errorf("%d and %d messages, behind %v", len(queue), len(latest), behind)
	}
	if _, latest, _ = c.take(); len(latest) != 0 {
		t.Errorf("%d are sent again", len(latest))
	}
}
