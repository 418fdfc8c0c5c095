package standing

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"cmux/agents/runs/run"
	"cmux/dag"
	"cmux/signals/mailbox"
)

// Mail to an agent whose wrapper does not answer (SIGSTOP) waits, says for what, and
// arrives once when it answers again, whatever the clock did meanwhile.
func TestMailToTheFrozen(t *testing.T) {
	w := newWorld(t)
	stop := w.keep()
	w.answered(w.spawn("api"))
	w.until("a life", w.lives1("api", 1))
	w.mu.Lock()
	w.frozen = true
	w.mu.Unlock()
	first := w.send("user", "api", "are you there")
	w.until("it was tried", func(*Org) bool { return w.status(first, "api") == mailbox.Handed })
	second := w.send("user", "api", "hello?")
	w.until("the next one waits", func(*Org) bool { return w.whyWaits(second, "api") != "" || w.status(second, "api") == mailbox.Queued })
	for _, ahead := range []time.Duration{-48 * time.Hour, 72 * time.Hour} { // the clock jumps, back and forth
		w.ahead.Store(int64(ahead))
		w.send("user", "nobody", "wakes the keeper")
	}
	if n := len(w.told("api")); n != 0 {
		t.Errorf("told %d times while it was frozen", n)
	}
	w.mu.Lock()
	w.frozen = false
	w.mu.Unlock()
	w.ahead.Store(int64(100 * time.Hour))
	w.send("user", "nobody", "wakes the keeper")
	w.until("it is told", func(*Org) bool { return count(w.told("api"), first) == 1 })
	w.reads("api", first)
	w.until("the next one comes", func(*Org) bool { return count(w.told("api"), second) == 1 })
	w.ahead.Store(0) // back by days: nothing is told again, nothing is stuck
	w.reads("api", second)
	last := w.send("user", "api", "still there")
	w.until("it is told after that", func(*Org) bool { return count(w.told("api"), last) == 1 })
	for _, id := range []string{first, second, last} {
		if n := count(w.told("api"), id); n != 1 {
			t.Errorf("%s was told %d times", id, n)
		}
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
}

// The registry is made from the records: damaged or deleted it is made again.
func TestDamagedRegistry(t *testing.T) {
	w := newWorld(t)
	stop := w.keep()
	w.answered(w.spawn("api"))
	w.until("a life", w.lives1("api", 1))
	path := filepath.Join(w.root, ".cmux", "agent_registry.json")
	whole := func() bool {
		var all map[string]Entry
		b, err := os.ReadFile(path)
		return err == nil && json.Unmarshal(b, &all) == nil && all["api"].ID != ""
	}
	for _, harm := range []func() error{
		func() error { return os.Remove(path) },
		func() error { return os.WriteFile(path, []byte(`{"api": {"agent_id": "ag_`), 0o600) },
	} {
		w.until("the registry is there", func(*Org) bool { return whole() })
		if err := harm(); err != nil {
			t.Fatal(err)
		}
		w.mu.Lock() // something happens
		w.lives["api"].record(run.Record{Type: run.Active, Activity: dag.Working})
		w.lives["api"].record(run.Record{Type: run.Active, Activity: dag.Resting})
		w.mu.Unlock()
		w.until("the registry is whole", func(*Org) bool { return whole() })
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
}
