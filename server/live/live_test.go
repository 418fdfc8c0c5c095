package live

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"cmux/server/store"
)

// book is a log in memory.
type book struct {
	mu     sync.Mutex
	epoch  string
	events []store.Event
	c      chan struct{}
}

func newBook() *book { return &book{epoch: "one", c: make(chan struct{})} }

func (b *book) Head() store.Position {
	b.mu.Lock()
	defer b.mu.Unlock()
	return store.Position{Epoch: b.epoch, Seq: int64(len(b.events))}
}

func (b *book) After(_ context.Context, seq int64, most int) ([]store.Event, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if seq >= int64(len(b.events)) {
		return nil, nil
	}
	rest := b.events[seq:]
	return append([]store.Event{}, rest[:min(most, len(rest))]...), nil
}

func (b *book) Changed() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.c
}

// add appends events of which each says its own seq.
func (b *book) add(n int, body func(seq int64) string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for range n {
		seq := int64(len(b.events)) + 1
		text := fmt.Sprintf(`{"n":%d}`, seq)
		if body != nil {
			text = body(seq)
		}
		b.events = append(b.events, store.Event{Seq: seq, At: time.Unix(seq, 0), Source: "agent:a", Kind: "tool_use", Name: "a", Body: json.RawMessage(text)})
	}
	close(b.c)
	b.c = make(chan struct{})
}

func (b *book) rebuild() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.epoch, b.events = "two", b.events[:len(b.events)/2]
	close(b.c)
	b.c = make(chan struct{})
}

// serve is a hub on a port, which ends with the test.
func serve(t testing.TB, b *book, status func(context.Context) (any, error)) (url string, h *Hub) {
	ctx, cancel := context.WithCancel(context.Background())
	h = NewHub(ctx, Options{Log: b, Instance: "i", Status: status, Failed: func(err error) { t.Errorf("failed: %v", err) }})
	s := httptest.NewServer(h)
	done := make(chan struct{})
	go func() {
		defer close(done)
		h.Run()
	}()
	t.Cleanup(func() {
		cancel()
		<-done
		s.Close()
	})
	return s.URL, h
}

// said is whatever a client is sent.
type said struct {
	Type   string
	Events []Frame
	Epoch  string
	Seq    int64
	Detail string
}

// peer is a client.
type peer struct {
	t    testing.TB
	conn *websocket.Conn
}

func dial(t testing.TB, url string) *peer {
	t.Helper()
	conn, _, err := websocket.Dial(t.Context(), url, nil)
	if err != nil {
		t.Fatal(err)
	}
	conn.SetReadLimit(2 * MaxMessage)
	t.Cleanup(func() { conn.CloseNow() })
	return &peer{t, conn}
}

func (p *peer) say(text string) {
	p.t.Helper()
	if err := p.conn.Write(p.t.Context(), websocket.MessageText, []byte(text)); err != nil {
		p.t.Fatal(err)
	}
}

func (p *peer) from(epoch string, seq int64) {
	p.t.Helper()
	p.say(fmt.Sprintf(`{"type":"from","epoch":%q,"seq":%d}`, epoch, seq))
}

func (p *peer) hear() (s said, err error) {
	ctx, cancel := context.WithTimeout(p.t.Context(), time.Minute)
	defer cancel()
	_, b, err := p.conn.Read(ctx)
	if err != nil {
		return s, err
	}
	if len(b) > MaxMessage {
		p.t.Errorf("a message of %d bytes", len(b))
	}
	return s, json.Unmarshal(b, &s)
}

// want hears until a notice of a type comes, and counts events on the way.
func (p *peer) want(kind string) (s said, events []Frame) {
	p.t.Helper()
	for {
		s, err := p.hear()
		if err != nil {
			p.t.Fatalf("waiting for %s: %v", kind, err)
		}
		events = append(events, s.Events...)
		if s.Type == kind {
			return s, events
		}
	}
}

// Whenever a client goes and comes again, it gets each event once, in order.
func TestCatchUpAcrossDisconnects(t *testing.T) {
	b := newBook()
	b.add(700, nil)
	url, _ := serve(t, b, nil)
	const all = 12_000
	go func() {
		for n := 700; n < all; n += 100 {
			b.add(100, nil)
			time.Sleep(time.Millisecond) // the speed of who writes, and nothing is waited for
		}
	}()
	var clients sync.WaitGroup
	for i := range 4 {
		clients.Go(func() {
			r := rand.New(rand.NewPCG(1, uint64(i)))
			var seq int64
			for seq < all {
				p := dial(t, url)
				p.from("one", seq)
				for left := r.IntN(20); left > 0 && seq < all; left-- {
					s, err := p.hear()
					if err != nil {
						t.Error(err)
						return
					}
					for _, e := range s.Events {
						if e.Seq != seq+1 || string(e.Data) != fmt.Sprintf(`{"n":%d}`, e.Seq) {
							t.Errorf("client %d got %d %s after %d", i, e.Seq, e.Data, seq)
							return
						}
						seq = e.Seq
					}
					if s.Type == "behind" {
						p.from("one", seq)
					}
				}
				p.conn.CloseNow()
			}
		})
	}
	clients.Wait()
}

func TestForeignEpochs(t *testing.T) {
	b := newBook()
	b.add(10, nil)
	url, _ := serve(t, b, nil)
	p := dial(t, url)
	if s, _ := p.want("hello"); s.Epoch != "one" || s.Seq != 10 {
		t.Errorf("%+v", s)
	}
	p.from("other", 3)
	if s, events := p.want("reload"); s.Epoch != "one" || s.Seq != 10 || len(events) > 0 {
		t.Errorf("%+v, %d events", s, len(events))
	}
	p.from("one", 11) // which nobody has seen
	p.want("reload")
	p.from("", 0)
	if s, events := p.want("live"); s.Seq != 10 || len(events) > 0 {
		t.Errorf("%+v, %d events", s, len(events))
	}
	b.add(1, nil)
	if s, events := p.want("events"); len(events) != 1 || events[0].Seq != 11 || events[0].Event != "agent_event" {
		t.Errorf("%+v", s)
	}
	b.rebuild()
	if s, _ := p.want("reload"); s.Epoch != "two" || s.Seq != 5 {
		t.Errorf("%+v", s)
	}
	p.from("two", 2)
	if _, events := p.want("live"); len(events) != 3 {
		t.Errorf("%d events behind 2 of 5", len(events))
	}
}

// The queue of a client that does not read is bounded, and the client must ask again.
func TestWhoIsBehindIsToldSo(t *testing.T) {
	c := &client{more: make(chan struct{}, 1)}
	big := message{events: 400, last: 1}
	for i, want := range []bool{true, true, false, false} {
		if got := c.push(big); got != want {
			t.Errorf("push %d: %v", i, got)
		}
	}
	if all, _, behind := c.take(); len(all) != 2 || !behind || c.waiting != 800 {
		t.Errorf("%d wait, behind %v", len(all), behind)
	}

	const all = 2_500
	b := newBook()
	url, h := serve(t, b, nil)
	p := dial(t, url)
	p.from("one", 0)
	p.want("live")
	for range all / 100 { // more than the sockets hold
		b.add(100, func(int64) string { return `"` + strings.Repeat("x", 20_000) + `"` })
	}
	left := func() bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		return len(h.live) == 0
	}
	for end := time.Now().Add(time.Minute); !left(); {
		if time.Now().After(end) {
			t.Fatal("it takes all that it is sent")
		}
		<-time.After(5 * time.Millisecond)
	}
	s, events := p.want("behind")
	if n := int64(len(events)); s.Seq != n {
		t.Fatalf("behind at %d with %d events", s.Seq, n)
	}
	p.from("one", s.Seq)
	_, rest := p.want("live")
	if len(events)+len(rest) != all || rest[0].Seq != s.Seq+1 {
		t.Errorf("%d and %d events", len(events), len(rest))
	}
}

func TestBoundsOfMessages(t *testing.T) {
	b := newBook()
	b.add(3, func(seq int64) string {
		if seq == 2 {
			return `"` + strings.Repeat("\\u001b", 1<<18) + `"`
		}
		return `"` + strings.Repeat("x", 600_000) + `"`
	})
	url, _ := serve(t, b, nil)
	p := dial(t, url)
	p.from("one", 0)
	_, events := p.want("live")
	if len(events) != 3 || events[0].Cut || !events[1].Cut || string(events[1].Data) != "null" || events[2].Cut {
		t.Errorf("%d events", len(events))
	}
	for _, text := range []string{"", "nonsense", `{"type":"drop"}`, `{"type":"from","seq":-1}`, `[]`} {
		p.say(text)
		if s, _ := p.want("error"); !strings.Contains(s.Detail, `"from"`) {
			t.Errorf("%q: %+v", text, s)
		}
	}
	if err := p.conn.Write(t.Context(), websocket.MessageText, make([]byte, MaxMessage+1)); err == nil {
		_, err = p.hear()
		if websocket.CloseStatus(err) != websocket.StatusMessageTooBig {
			t.Errorf("a message that is too large: %v", err)
		}
	}
	p = dial(t, url)
	for range maxSent + 1 {
		if p.conn.Write(t.Context(), websocket.MessageText, []byte("x")) != nil {
			break
		}
	}
	for {
		if _, err := p.hear(); err != nil {
			if websocket.CloseStatus(err) != websocket.StatusPolicyViolation {
				t.Errorf("a flood: %v", err)
			}
			break
		}
	}
}

func TestHeartbeat(t *testing.T) {
	b := newBook()
	url, _ := serve(t, b, func(context.Context) (any, error) { return map[string]string{"state": "running"}, nil })
	p := dial(t, url)
	p.from("", 0)
	p.want("live")
	b.add(1, nil)
	for {
		_, events := p.want("events")
		if e := events[len(events)-1]; e.Event == "heartbeat_update" {
			if e.Seq != 0 || string(e.Data) != `{"state":"running"}` {
				t.Errorf("%+v", e)
			}
			return
		}
	}
}

// For changes that are not in the log, clients get the collected routes; a reconnected
// client gets all routes.
func TestChanged(t *testing.T) {
	url, h := serve(t, newBook(), nil)
	h.Changed("/api/nobody") // is there to hear it
	h.mu.Lock()
	h.Unlogged = []string{"/api/locks", "/api/runs"}
	h.mu.Unlock()
	p := dial(t, url)
	p.from("", 0)
	p.want("live")
	changed := func() string {
		t.Helper()
		_, events := p.want("events")
		if e := events[len(events)-1]; e.Event == "changed" && e.Seq == 0 && !e.At.IsZero() {
			return string(e.Data)
		}
		t.Fatalf("%+v", events)
		return ""
	}
	if got := changed(); got != `{"routes":["/api/locks","/api/runs"]}` {
		t.Errorf("who was away is told %s", got)
	}
	h.Changed("/api/runs", "/api/graph")
	if got := changed(); got != `{"routes":["/api/graph","/api/runs"]}` {
		t.Errorf("it is told %s", got)
	}
}

func TestNames(t *testing.T) {
	for _, c := range []struct{ source, kind, body, want string }{
		{"agent:api", "tool_use", `{}`, "agent_event"},
		{"agent:api", "thought", `{}`, "agent_thought"},
		{"agent:api", "session", `{"state":"began"}`, "session_created"},
		{"agent:api", "session", `{"state":"ended"}`, "session_terminated"},
		{"agent:api", store.Removed, `{}`, "agent_archived"},
		{"mailbox", store.Message, `{"from":"api"}`, "new_message"},
		{"mailbox", store.Message, `{"from":"user"}`, "user_message"},
		{"mailbox", store.Message, `{"from":"webhook:ci"}`, "webhook_received"},
		{"mailbox", store.Delivery, `{}`, "message_update"},
		{"run:r1/api", "thought", `{}`, "run_event"},
		{"tasks", "add", `{}`, "task_event"},
		{"journal", store.Entry, `{}`, "journal_entry"},
		{"incidents", store.Incident, `{}`, "incident"},
		{"audit", store.Call, `{}`, "audit_event"},
		{"room:design", "said", `{}`, "room_message"},
		{"room:design", "dropped", `{}`, "room_message"},
		{"room:design", "turn", `{}`, "room_turn"},
		{"room:design", "took", `{}`, "room_turn"},
		{"room:design", "over", `{}`, "room_turn"},
		{"room:design", "round", `{}`, "room_round"},
		{"room:design", "blind", `{}`, "room_round"},
		{"room:design", "order", `{}`, "room_order"},
		{"room:design", "joined", `{}`, "room_member"},
		{"room:design", "set", `{}`, "room_member"},
		{"room:design", "decided", `{}`, "room_decision"},
		{"room:design", store.Unreadable, `"x"`, "room_unverified"},
		{"room:design", "newer", `{}`, "room_unverified"},
	} {
		if got := name(&store.Event{Source: c.source, Kind: c.kind, Body: json.RawMessage(c.body)}); got != c.want {
			t.Errorf("%s %s %s is %s, want %s", c.source, c.kind, c.body, got, c.want)
		}
	}
	if got := name(&store.Event{Source: "room:design", Kind: "said", Unverified: true}); got != "room_unverified" {
		t.Errorf("a forged line is %s", got)
	}
}
