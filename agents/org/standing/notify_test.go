package standing

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"cmux/agents/org/task"
	"cmux/agents/platform/notice"
	"cmux/agents/runs/run"
	"cmux/dag"
)

// A person is told once of each message to them and of each agent that needs
// them, and not again by the next keeper.
func TestNotified(t *testing.T) {
	got := make(chan notice.News, 100)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var n notice.News
		if err := json.NewDecoder(r.Body).Decode(&n); err != nil {
			t.Error(err)
		}
		got <- n
	}))
	defer s.Close()
	next := func() notice.News {
		t.Helper()
		select {
		case n := <-got:
			return n
		case <-time.After(time.Minute):
			t.Fatal("nothing came")
			return notice.News{}
		}
	}

	w := newWorld(t)
	set := w.org().Settings
	set.Notify = dag.Notify{Bell: true, Webhook: s.URL}
	if err := w.org().Set(t.Context(), set); err != nil {
		t.Fatal(err)
	}
	var bells atomic.Int32
	w.bell = func() { bells.Add(1) }
	stop := w.keep()
	w.answered(w.spawn("api"))
	w.until("a life", w.lives1("api", 1))
	id := w.add("Write the endpoint", "api", task.Normal)
	w.until("it is given", func(*Org) bool { return count(w.gives("api"), id) == 1 })
	w.mu.Lock()
	w.lives["api"].record(run.Record{Type: run.Active, Activity: dag.NeedsInput, Detail: "which port?"})
	w.mu.Unlock()
	if n := next(); n.Event != "needs_input" || n.Node != "api" || n.Text != "api needs input: which port?" || n.Session != "shop" || n.At.IsZero() {
		t.Errorf("%+v", n)
	}
	w.ends("api", id, run.End{Outcome: dag.Done, Summary: "written"})
	if n := next(); n.Event != "message" || n.Node != "api" || n.Text != "message from api: [DONE] t1: Write the endpoint" {
		t.Errorf("%+v", n)
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	stop = w.keep()
	w.answered(w.spawn("web"))
	w.until("a life", w.lives1("web", 1))
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	if n := len(got); n != 0 || bells.Load() != 2 {
		t.Errorf("%d more, %d bells", n, bells.Load())
	}
}
