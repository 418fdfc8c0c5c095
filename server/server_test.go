package server

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"cmux/agents/control"
	"cmux/agents/control/commands"
	"cmux/agents/control/letters"
	"cmux/agents/control/project"
	"cmux/agents/platform/endpoint"
	"cmux/agents/platform/seal/sealtest"
	"cmux/server/live"
	"cmux/signals"
)

func TestMain(m *testing.M) {
	if root := os.Getenv(serveKey); root != "" {
		os.Exit(serveHere(root))
	}
	os.Exit(sealtest.Main(m))
}

// up is a server at work, and what ends it.
func up(t *testing.T, root string) (place endpoint.Place, end func()) {
	t.Helper()
	return upWith(t, root, Options{})
}

func upWith(t *testing.T, root string, o Options) (place endpoint.Place, end func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	p := &control.Project{Project: project.Project{Caller: project.Caller{Dir: root, Now: time.Now, Person: true}, Root: root}}
	before, err := endpoint.Read(root)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	file, err := os.OpenFile(filepath.Join(root, ".cmux/server.log"), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	o.Project, o.Log = p, commands.RunnerLogger(file)
	go func() { ended <- Serve(ctx, o) }()
	end = func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		file.Close()
	}
	for late := time.Now().Add(time.Minute); place.Port == 0 || place.Instance == before.Instance; place, err = endpoint.Read(root) {
		select {
		case err := <-ended:
			t.Fatalf("the server has ended: %v", err)
		case <-time.After(5 * time.Millisecond):
		}
		if err != nil || time.Now().After(late) {
			t.Fatalf("the server does not come up: %v", err)
		}
	}
	return place, end
}

// hear hears of events until one of a name comes.
func hear(t *testing.T, c *websocket.Conn, name string) live.Frame {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for {
		_, b, err := c.Read(ctx)
		if err != nil {
			t.Fatalf("waiting for %s: %v", name, err)
		}
		var s struct{ Events []live.Frame }
		if err := json.Unmarshal(b, &s); err != nil {
			t.Fatal(err)
		}
		for _, e := range s.Events {
			if e.Event == name {
				return e
			}
		}
	}
}

// Connected and reconnected clients get every message, also after a restart of the server.
func TestServe(t *testing.T) {
	root := t.TempDir()
	if err := signals.Init(root); err != nil {
		t.Fatal(err)
	}
	place, end := up(t, root)
	token, err := endpoint.Token(root)
	if err != nil {
		t.Fatal(err)
	}
	auth := http.Header{"Authorization": {"Bearer " + token}}
	for name, h := range map[string]http.Header{
		"no token":        {},
		"another token":   {"Authorization": {"Bearer " + endpoint.NewSecret()}},
		"another site":    {"Authorization": auth["Authorization"], "Origin": {"http://evil.example"}},
		"a foreign name":  {"Authorization": auth["Authorization"], "Host": {"evil.example"}},
		"a cookie of old": {"Cookie": {"cmux_" + place.Project + "=1.x.y"}, "Origin": {place.URL()}},
	} {
		o := &websocket.DialOptions{HTTPHeader: h, Host: h.Get("Host")}
		h.Del("Host")
		if c, _, err := websocket.Dial(t.Context(), place.URL()+live.Path, o); err == nil {
			c.CloseNow()
			t.Errorf("%s: there is a websocket", name)
		}
	}
	listen := func(from string) *websocket.Conn {
		c, _, err := websocket.Dial(t.Context(), place.URL()+live.Path, &websocket.DialOptions{HTTPHeader: auth})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.CloseNow() })
		if err := c.Write(t.Context(), websocket.MessageText, []byte(from)); err != nil {
			t.Fatal(err)
		}
		return c
	}
	c := listen(`{"type":"from"}`)
	for b := []byte(nil); !strings.Contains(string(b), `"live"`); { // what is new is what comes from there on
		if _, b, err = c.Read(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	client, err := endpoint.Dial(t.Context(), root)
	if err != nil {
		t.Fatal(err)
	}
	send := func(subject string) {
		t.Helper()
		var sent letters.Sent
		if err := client.Post(t.Context(), "/api/messages", map[string]string{"to": "user", "subject": subject}, &sent); err != nil || sent.ID == "" {
			t.Fatal(sent, err)
		}
	}
	send("one")
	first := hear(t, c, "user_message")
	if !strings.Contains(string(first.Data), `"one"`) {
		t.Errorf("%+v", first)
	}
	client.Close()
	epoch := place.Epoch
	told := make(chan error, 1)
	go func() {
		for {
			if _, _, err := c.Read(t.Context()); err != nil {
				told <- err
				return
			}
		}
	}()
	end()
	if err := <-told; websocket.CloseStatus(err) != websocket.StatusGoingAway {
		t.Errorf("at the end: %v", err)
	}
	if p, err := endpoint.Read(root); err != nil || p.EndedAt == nil || endpoint.Lives(root) {
		t.Errorf("%+v, %v", p, err)
	}

	place, end = up(t, root)
	defer end()
	if client, err = endpoint.Dial(t.Context(), root); err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	send("two")
	b, err := json.Marshal(map[string]any{"type": "from", "epoch": epoch, "seq": first.Seq})
	if err != nil {
		t.Fatal(err)
	}
	c = listen(string(b))
	defer c.CloseNow()
	if e := hear(t, c, "user_message"); !strings.Contains(string(e.Data), `"two"`) || e.Seq <= first.Seq {
		t.Errorf("%+v", e)
	}
	soon, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := takeLock(soon, endpoint.LockPath(root), lockPatience); !errors.As(err, new(*signals.HeldError)) {
		t.Errorf("a second server: %v", err)
	}
	b, err = os.ReadFile(root + "/.cmux/server.json")
	if err != nil || strings.Contains(string(b), token) {
		t.Errorf("%s, %v", b, err)
	}
}

// The port of the last time is taken again, as browsers know it; one that was
// fixed, or no other.
func TestListen(t *testing.T) {
	l, port, err := listen(0, 0)
	if err != nil || port < endpoint.FirstPort {
		t.Fatalf("%d, %v", port, err)
	}
	defer l.Close()
	if _, _, err := listen(port, 0); err == nil || !strings.Contains(err.Error(), "taken by another program") {
		t.Errorf("a fixed port that is taken: %v", err)
	}
	other, second, err := listen(0, port)
	if err != nil || second == port {
		t.Fatalf("%d, %v", second, err)
	}
	other.Close()
	free, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	last := free.Addr().(*net.TCPAddr).Port
	free.Close()
	again, third, err := listen(0, last)
	if err != nil || third != last {
		t.Fatalf("%d, %v; want %d", third, err, last)
	}
	again.Close()
	if host, _, _ := net.SplitHostPort(l.Addr().String()); host != "127.0.0.1" {
		t.Errorf("it listens on %s", l.Addr())
	}
}
