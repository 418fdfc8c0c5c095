package api_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"cmux/agents/control/project"
	"cmux/agents/org/task"
	"cmux/agents/records/mail"
	"cmux/signals/mailbox"
)

// many is how many events, and a tenth of that how many messages, the benchmark's
// project has.
func many(b *testing.B) int {
	b.Helper()
	if n, err := strconv.Atoi(os.Getenv("CMUX_BENCH_EVENTS")); err == nil {
		return n
	}
	return 10_000
}

// BenchmarkList asks for a page of each list of a large project, through the gate.
// The floor is the same way to a handler that has its answer.
func BenchmarkList(b *testing.B) {
	n := many(b)
	w := newWorld(b)
	w.p.Memory = new(project.Memory)
	post, err := mail.Open(w.root, w.p.Now)
	if err != nil {
		b.Fatal(err)
	}
	post.Box.Lazy = true
	batch := make([]mailbox.Message, 0, 1000)
	for i := range n / 10 {
		batch = append(batch, mailbox.Message{ID: mailbox.NewID(), TS: time.Unix(int64(1_800_000_000+i), 0), From: "api", To: []string{"supervisor", "user", "web"}[i%3], Subject: fmt.Sprintf("[STATUS] step %d of the sign-in", i)})
		if len(batch) == cap(batch) || i == n/10-1 {
			if err := post.Box.Append(b.Context(), true, batch...); err != nil {
				b.Fatal(err)
			}
			batch = batch[:0]
		}
	}
	book, err := task.OpenBook(w.root, w.p.Now, true)
	if err != nil {
		b.Fatal(err)
	}
	if _, _, err := book.Change(b.Context(), func(l *task.List) (all []task.Change, err error) {
		for i := range n / 100 {
			title := fmt.Sprintf("task %d", i)
			all = append(all, task.Change{Task: fmt.Sprintf("t%d", i+1), Op: task.OpAdd, Fields: task.Fields{Title: &title}})
		}
		return all, nil
	}); err != nil {
		b.Fatal(err)
	}
	for node := range 20 {
		var text strings.Builder
		for i := range n / 20 {
			fmt.Fprintf(&text, `{"at":%q,"node":"n%d","attempt":1,"kind":"thought","text":"The handler %d reads the cookie before the request is authorized."}`+"\n", time.Unix(int64(1_800_000_000+i), 0).UTC().Format(time.RFC3339Nano), node, i)
		}
		path := filepath.Join(w.root, ".cmux/agents", fmt.Sprintf("n%d", node), "events.jsonl")
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text.String()), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	if _, err := w.store.Ingest(b.Context()); err != nil {
		b.Fatal(err)
	}
	ask := func(b *testing.B, h http.Handler, target string) {
		r := httptest.NewRequest("GET", "http://127.0.0.1:8420"+target, nil)
		r.Header.Set("Authorization", "Bearer "+token)
		rec := httptest.NewRecorder()
		if h.ServeHTTP(rec, r); rec.Code != 200 {
			b.Fatal(rec.Code, rec.Body)
		}
	}
	b.Run("floor", func(b *testing.B) {
		for b.Loop() {
			ask(b, w.gate, "/api/webhooks/health")
		}
	})
	for _, target := range []string{
		"/api/agent-events", "/api/agent-events?kind=thought", "/api/agent-events?source=agent:n7", "/api/thoughts", "/api/messages", "/api/messages?waiting=true", "/api/messages?from=web",
		"/api/messages/inbox", "/api/tasks", "/api/tasks?all=true", "/api/runs", "/api/heartbeat", "/api/needs",
	} {
		b.Run("path="+target, func(b *testing.B) {
			ask(b, w.gate, target) // what is read once was read
			for b.Loop() {
				ask(b, w.gate, target)
			}
		})
	}
}
