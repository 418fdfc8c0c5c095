package server

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"cmux/agents/control/project"

	"github.com/coder/websocket"

	"cmux/agents/control"
	"cmux/agents/platform/endpoint"
	"cmux/agents/testkit/agenttest/until"
	"cmux/server/live"
	"cmux/signals"
)

// A server on demand stays while a page is open, and ends by itself after it. It
// leaves the project to a server that is there, and keeps nothing else for it.
func TestOnDemand(t *testing.T) {
	root := t.TempDir()
	if err := signals.Init(root); err != nil {
		t.Fatal(err)
	}
	const idle = time.Second
	place, end := upWith(t, root, Options{Idle: idle})
	if !place.OnDemand {
		t.Error("server.json does not say that it is there on demand")
	}
	token, err := endpoint.Token(root)
	if err != nil {
		t.Fatal(err)
	}
	page, _, err := websocket.Dial(t.Context(), place.URL()+live.Path, &websocket.DialOptions{HTTPHeader: http.Header{"Authorization": {"Bearer " + token}}})
	if err != nil {
		t.Fatal(err)
	}
	p := &control.Project{Project: project.Project{Caller: project.Caller{Dir: root, Now: time.Now, Person: true}, Root: root}}
	if err := Serve(t.Context(), Options{Project: p, Idle: idle}); err != nil {
		t.Errorf("a second one: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), idle*3/2)
	defer cancel()
	for err == nil { // the page hears what happens, for longer than an unused server stays
		_, _, err = page.Read(ctx)
	}
	if now, rerr := endpoint.Read(root); ctx.Err() == nil || rerr != nil || now.Instance != place.Instance || now.EndedAt != nil {
		t.Fatalf("with a page open it is %+v, %v: %v", now, rerr, err)
	}
	page.CloseNow()
	late, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if !until.True(late, func() bool {
		now, err := endpoint.Read(root)
		return err == nil && now.EndedAt != nil
	}) {
		t.Fatal("it does not end without a page")
	}
	end() // and without an error
}

// Who is here counts, for as long as the answer takes; who was not let in does not.
func TestVisits(t *testing.T) {
	now := time.Unix(0, 0)
	v := newVisits(func() time.Time { return now })
	pass := func(d time.Duration) { now = now.Add(d) }
	pass(time.Minute)
	v.counted(http.NotFoundHandler()).ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil))
	if got := v.absent(); got != time.Minute {
		t.Errorf("after a stranger: absent for %s", got)
	}
	v.add(1)
	v.add(1)
	pass(time.Hour)
	v.add(-1)
	pass(time.Hour)
	if got := v.absent(); got != 0 {
		t.Errorf("with one left: absent for %s", got)
	}
	v.add(-1)
	pass(time.Second)
	if got := v.absent(); got != time.Second {
		t.Errorf("after the last: absent for %s", got)
	}
}
