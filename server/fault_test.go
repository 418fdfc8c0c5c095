package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"cmux/agents/control"
	"cmux/agents/control/project"
	"cmux/agents/platform/endpoint"
	"cmux/signals"
)

// kills is how often TestKilledUnderLoad kills the server: 50 where that is asked for.
var kills = flag.Int("kills", 6, "how often a server is killed under load")

// serveKey has a process of this binary serve the project at its value.
const serveKey = "CMUX_TEST_SERVE"

// serveHere serves until it is killed.
func serveHere(root string) int {
	p := &control.Project{Project: project.Project{Caller: project.Caller{Dir: root, Now: time.Now, Person: true, Memory: new(project.Memory)}, Root: root}}
	if err := Serve(context.Background(), Options{Project: p}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// load is who writes while servers are killed.
type load struct {
	root   string
	mu     sync.Mutex
	sent   map[string]bool // what was sent, and whether that it came was answered
	events int             // lines that agents wrote
}

// order sends a message or a task to the server that is up.
func (l *load) order(ctx context.Context, n int) {
	title := fmt.Sprintf("order-%d", n)
	target, body := "/api/messages", fmt.Sprintf(`{"to":"user","subject":%q}`, title)
	if n%2 == 0 {
		target, body = "/api/tasks", fmt.Sprintf(`{"title":%q}`, title)
	}
	place, err := endpoint.Read(l.root)
	token, terr := endpoint.Token(l.root)
	if err != nil || terr != nil || place.Port == 0 {
		return
	}
	r, err := http.NewRequestWithContext(ctx, "POST", place.URL()+target, strings.NewReader(body))
	if err != nil {
		return
	}
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Content-Type", "application/json")
	l.mu.Lock()
	l.sent[title] = false
	l.mu.Unlock()
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return
	}
	_, err = io.Copy(io.Discard, resp.Body)
	resp.Body.Close()
	if err == nil && resp.StatusCode == 200 {
		l.mu.Lock()
		l.sent[title] = true
		l.mu.Unlock()
	}
}

// write appends an event of an agent, in two pieces.
func (l *load) write(f *os.File) error {
	line := fmt.Sprintf(`{"at":%q,"node":"n","attempt":1,"kind":"thought","text":"event-%d."}`+"\n", time.Now().UTC().Format(time.RFC3339Nano), l.events)
	cut := rand.IntN(len(line))
	_, err := f.WriteString(line[:cut])
	_, err2 := f.WriteString(line[cut:])
	l.events++
	return errors.Join(err, err2)
}

// The server is killed while events are written and orders are given. What was
// answered stands, once; what was not answered stands at most once; each event has one
// number, in order.
func TestKilledUnderLoad(t *testing.T) {
	root := t.TempDir()
	if err := signals.Init(root); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(root, ".cmux/runs/r1/n")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(filepath.Join(dir, "events.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	l := &load{root: root, sent: map[string]bool{}}
	ctx, stop := context.WithCancel(t.Context())
	var senders sync.WaitGroup
	var n int
	for range 2 {
		senders.Go(func() {
			for ctx.Err() == nil {
				l.mu.Lock()
				n++
				mine := n
				l.mu.Unlock()
				l.order(ctx, mine)
				time.Sleep(time.Millisecond) // a load, and not all that the machine can bear
			}
		})
	}
	var said bytes.Buffer
	for range *kills {
		before, _ := endpoint.Read(root)
		c := exec.Command(self)
		c.Env = append(os.Environ(), serveKey+"="+root)
		c.Stderr = &said
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		l.mu.Lock()
		had := answered(l.sent)
		l.mu.Unlock()
		up := func() bool { // it is up, and has carried something out
			l.mu.Lock()
			defer l.mu.Unlock()
			now, err := endpoint.Read(root)
			return err == nil && now.Instance != before.Instance && answered(l.sent) > had+rand.IntN(10)
		}
		for late := time.Now().Add(time.Minute); !up(); {
			if time.Now().After(late) {
				t.Fatalf("the server does nothing: %s", &said)
			}
			for range 5 {
				if err := l.write(f); err != nil {
					t.Fatal(err)
				}
			}
			time.Sleep(time.Millisecond)
		}
		c.Process.Kill()
		c.Wait()
	}
	stop()
	senders.Wait()
	place, end := up(t, root)
	defer end()
	token, err := endpoint.Token(root)
	if err != nil {
		t.Fatal(err)
	}
	// get reads all pages of a list, until it has as many as are wanted.
	get := func(target string, each func(json.RawMessage)) {
		t.Helper()
		for cursor := ""; ; {
			r, err := http.NewRequestWithContext(t.Context(), "GET", place.URL()+target+"&limit=1000&cursor="+cursor, nil)
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Authorization", "Bearer "+token)
			resp, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			var page struct {
				Items []json.RawMessage
				Next  string
			}
			err = json.NewDecoder(resp.Body).Decode(&page)
			resp.Body.Close()
			if err != nil {
				t.Fatal(resp.Status, err)
			}
			for _, item := range page.Items {
				each(item)
			}
			if cursor = page.Next; cursor == "" {
				return
			}
		}
	}
	there := map[string]int{}
	title := func(item json.RawMessage) {
		var x struct{ Title, Subject string }
		if err := json.Unmarshal(item, &x); err != nil {
			t.Fatal(err)
		}
		there[x.Title+x.Subject]++
	}
	get("/api/messages?from=user", title)
	get("/api/tasks?all=true", title)
	for order, sure := range l.sent {
		if got := there[order]; got > 1 || sure && got != 1 {
			t.Errorf("%s, answered %v, is there %d times", order, sure, got)
		}
		delete(there, order)
	}
	if len(there) > 0 {
		t.Errorf("nobody sent %v", there)
	}
	last := int64(-1)
	var texts []string
	for late := time.Now().Add(time.Minute); len(texts) < l.events && time.Now().Before(late); time.Sleep(5 * time.Millisecond) {
		texts, last = nil, -1
		get("/api/agent-events?source=run:r1/n", func(item json.RawMessage) {
			var e struct {
				Seq  int64
				Body struct{ Text string }
			}
			if err := json.Unmarshal(item, &e); err != nil {
				t.Fatal(err)
			}
			if last >= 0 && e.Seq >= last {
				t.Fatalf("%d comes behind %d", e.Seq, last)
			}
			last = e.Seq
			texts = append(texts, e.Body.Text)
		})
	}
	for i, text := range texts { // newest first
		if want := fmt.Sprintf("event-%d.", l.events-1-i); text != want {
			t.Fatalf("%s is at the place of %s", text, want)
		}
	}
	if len(texts) != l.events {
		t.Errorf("%d of %d events", len(texts), l.events)
	}
	t.Logf("%d orders, %d answered; %d events; %d kills", len(l.sent), answered(l.sent), l.events, *kills)
}

func answered(sent map[string]bool) (n int) {
	for _, sure := range sent {
		if sure {
			n++
		}
	}
	return n
}
