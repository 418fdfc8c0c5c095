package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cmux/agents/platform/notice"
	"cmux/agents/runs/run"
	"cmux/dag"
)

const patience = 5 * time.Minute // ends broken tests only

// hookServer is a webhook that keeps what it is sent.
func hookServer(t *testing.T) (url string, next func() notice.News, none func()) {
	t.Helper()
	got := make(chan notice.News, 100)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var n notice.News
		if err := json.NewDecoder(r.Body).Decode(&n); err != nil || r.Method != http.MethodPost || r.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s %v: %v", r.Method, r.Header, err)
		}
		got <- n
	}))
	t.Cleanup(s.Close)
	next = func() notice.News {
		t.Helper()
		select {
		case n := <-got:
			if n.At.IsZero() || n.Run == "" || n.Session != "s" {
				t.Errorf("%+v", n)
			}
			return n
		case <-time.After(patience):
			t.Fatal("nothing came")
			return notice.News{}
		}
	}
	none = func() {
		t.Helper()
		select {
		case n := <-got:
			t.Errorf("told again: %+v", n)
		default:
		}
	}
	return s.URL, next, none
}

// start runs r in the background; leave breaks it off, wait returns its state.
func (p *project) start(r *run.Run, how string) (leave func(), wait func() dag.RunState) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), patience)
	done := make(chan struct{})
	var state dag.RunState
	var err error
	go func() {
		defer close(done)
		state, err = Run(ctx, Options{Run: r, How: how, Kinds: p.options().Kinds})
	}()
	p.t.Cleanup(func() { cancel(); <-done })
	return cancel, func() dag.RunState {
		p.t.Helper()
		<-done
		if err != nil {
			p.t.Fatal(err)
		}
		return state
	}
}

func (p *project) append(r *run.Run, recs ...run.Record) {
	p.t.Helper()
	book, err := r.OpenBook()
	if err != nil {
		p.t.Fatal(err)
	}
	defer book.Close()
	for i := range recs {
		recs[i].At = time.Now()
	}
	if err := book.Append(p.t.Context(), recs...); err != nil {
		p.t.Fatal(err)
	}
}

// Each thing that a person may want to know is told once: not again when the
// runner looks again, nor when another one resumes.
func TestNotifiedOnce(t *testing.T) {
	url, next, none := hookServer(t)
	p := newProject(t, fmt.Sprintf(`
session: s
notify: {webhook: %q}
agents:
  - {name: g, role: gate}
  - {name: a, agent: command, role: review, task: "until test -e go; do sleep 0.1; done"}
  - {name: b, agent: command, role: review, task: "true", depends_on: g}
`, url))
	r := p.create()
	leave, wait := p.start(r, HowStart)
	if n := next(); n.Event != "needs_input" || n.Node != "g" || n.Text != "g waits for approval: cmux agents approve g" {
		t.Errorf("%+v", n)
	}
	until := time.Now().Add(time.Hour).Round(time.Second)
	limit := run.Record{Type: run.Limited, Node: "a", Account: dag.KindCommand, Until: until, Detail: "no more today"}
	p.append(r, limit, limit, run.Record{Type: run.Limited, Account: "nobody's"})
	if n := next(); n.Event != "limited" || n.Account != dag.KindCommand || !n.Until.Equal(until) || !strings.HasSuffix(n.Text, "no more today") {
		t.Errorf("%+v", n)
	}
	p.append(r, run.Record{Type: run.Freed, Account: dag.KindCommand}, limit, limit)
	if n := next(); n.Event != "limited" {
		t.Errorf("%+v", n)
	}
	leave()
	if state := wait(); state != dag.RunStopped {
		t.Fatal(state)
	}
	none()

	_, wait = p.start(r, HowResume)
	p.append(r, run.Record{Type: run.Freed, Account: dag.KindCommand})
	p.write("go", "")
	if _, err := r.Ask(run.Request{Op: run.OpApprove, Node: "g"}); err != nil {
		t.Fatal(err)
	}
	if state := wait(); state != dag.RunDone {
		t.Fatal(state)
	}
	if n := next(); n.Event != "run_ended" || n.State != "done" || n.Text != "run s: done" {
		t.Errorf("%+v", n)
	}
	none()
	p.want(r, "g: done\na: done\nb: done")
}

// A webhook that does not answer, refuses or is not there holds nothing up.
func TestWebhookInTrouble(t *testing.T) {
	came, over := make(chan struct{}, 10), make(chan struct{})
	hangs := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		came <- struct{}{}
		select {
		case <-r.Context().Done():
		case <-over:
		}
	}))
	defer hangs.Close()
	defer close(over)
	refuses := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusTeapot) }))
	defer refuses.Close()
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	for _, url := range []string{hangs.URL + "/secret", refuses.URL, "http://" + closed.Addr().String()} {
		p := newProject(t, fmt.Sprintf(`
session: s
notify: {webhook: %q}
agents:
  - {name: g, role: gate}
  - {name: a, agent: command, role: review, task: "true"}
`, url))
		r := p.create()
		_, wait := p.start(r, HowStart)
		if strings.HasPrefix(url, hangs.URL) {
			<-came // the run goes on while it is held
		}
		if _, err := r.Ask(run.Request{Op: run.OpApprove, Node: "g"}); err != nil {
			t.Fatal(err)
		}
		if state := wait(); state != dag.RunDone {
			t.Errorf("%s: %s", url, state)
		}
	}
}

// The desktop's own program is given the text as an argument.
func TestDesktopNotification(t *testing.T) {
	p := newProject(t, "session: s\nnotify: {desktop: true}\nagents:\n  - {name: a, agent: command, role: review, task: \"true\"}\n")
	dir := t.TempDir()
	script := "#!/bin/sh\nfor a; do echo \"$a\"; done >> " + filepath.Join(dir, "told") + "\n"
	for _, program := range []string{"notify-send", "osascript"} {
		if err := os.WriteFile(filepath.Join(dir, program), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	p.carry(p.create())
	b, err := os.ReadFile(filepath.Join(dir, "told"))
	if errors.Is(err, os.ErrNotExist) || strings.Count(string(b), "run s: done\n") != 1 {
		t.Errorf("%s, %v", b, err)
	}
}
