package standing

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cmux/agents/org/task"
	"cmux/agents/platform/lease"
	"cmux/agents/platform/limits"
	"cmux/agents/runs/run"
	"cmux/dag"
)

// person is a person's own folders, with a bound on agents; 0: none.
func person(t *testing.T, most string) {
	t.Helper()
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	config := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", config)
	if most == "" {
		return
	}
	if err := os.MkdirAll(filepath.Join(config, "cmux"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(config, "cmux", "config.yml"), []byte("max_agents: "+most+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
}

// A task waits while as many agents work as may, its place is held while it is
// worked on, and given back after.
func TestTaskWaitsForAPlace(t *testing.T) {
	person(t, "1")
	w := newWorld(t)
	stop := w.keep()
	w.answered(w.spawn("api"))
	w.until("a life", w.lives1("api", 1))

	other, err := lease.OpenSeats(lease.Holder{Project: "/other", Session: "web", Run: "r"})
	if err != nil {
		t.Fatal(err)
	}
	seat, _, err := other.Take(1, "login", false)
	if err != nil || seat == nil {
		t.Fatal(seat, err)
	}
	id := w.add("Write the endpoint", "api", task.Normal)
	w.until("it waits", func(o *Org) bool {
		word, detail := o.Agents["api"].Stands(time.Now(), false)
		return word == Idle && strings.Contains(detail, "its next task waits: max_agents: 1 of 1 in use: other/web")
	})
	if n := len(w.gives("api")); n != 0 {
		t.Fatalf("it was given %d tasks", n)
	}
	if err := lease.ReturnSeat(seat); err != nil {
		t.Fatal(err)
	}
	o := w.until("it is given", func(*Org) bool { return count(w.gives("api"), id) == 1 })
	w.until("it waits no longer", func(o *Org) bool { return o.Agents["api"].Waits == "" })
	if l, taken, err := other.Take(1, "login", false); l != nil || err != nil || len(taken) != 1 || taken[0].Node != "api" || taken[0].Project != o.Root() {
		t.Errorf("while it works, %v, %+v, %v", l, taken, err)
	}
	other.Leave()

	// A new keeper makes the agent hold its seat.
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	stop = w.keep()
	w.until("its place is held again", func(*Org) bool {
		l, _, err := other.Take(1, "login", false)
		if err != nil {
			t.Fatal(err)
		}
		if l != nil {
			if err := lease.ReturnSeat(l); err != nil {
				t.Fatal(err)
			}
		}
		other.Leave()
		return l == nil
	})
	w.ends("api", id, run.End{Outcome: dag.Done})
	w.until("its place is free", func(*Org) bool {
		l, _, err := other.Take(1, "login", false)
		if err != nil {
			t.Fatal(err)
		}
		return l != nil && lease.ReturnSeat(l) == nil
	})
	if err := stop(); err != nil {
		t.Fatal(err)
	}
}

// All learn what one finds out about an account: a task waits for the end of a
// limit that a run met, and a run learns of a limit that an agent met.
func TestLimitsAreShared(t *testing.T) {
	person(t, "")
	w := newWorld(t)
	stop := w.keep()
	w.answered(w.spawn("api"))
	account := w.until("a life", w.lives1("api", 1)).Agents["api"].Member.Account
	if account == "" {
		t.Fatal("it has no account")
	}
	dir, err := limits.Open()
	if err != nil {
		t.Fatal(err)
	}
	tell := func(s limits.State) {
		t.Helper()
		s.Account, s.At, s.By = account, time.Now(), limits.Source{Project: "/other", Session: "web", Run: "r", Node: "login"}
		if _, err := limits.Tell(dir, s, true, time.Now()); err != nil {
			t.Fatal(err)
		}
	}
	tell(limits.State{Until: time.Now().Add(time.Hour)})
	id := w.add("Write the endpoint", "api", task.Normal)
	w.until("it waits", func(o *Org) bool {
		return strings.Contains(o.Agents["api"].Waits, "the account is limited until ") && strings.HasSuffix(o.Agents["api"].Waits, "other, session web, node login found out")
	})
	if n := len(w.gives("api")); n != 0 {
		t.Fatalf("it was given %d tasks", n)
	}
	tell(limits.State{Free: true})
	w.until("it is given", func(*Org) bool { return count(w.gives("api"), id) == 1 })

	// It meets the limit itself.
	w.mu.Lock()
	l := w.lives["api"]
	until := time.Now().Add(2 * time.Hour).Truncate(time.Second)
	l.record(run.Record{Type: run.Limited, Account: account, Until: until, Detail: "5-hour limit"})
	l.record(run.Record{Type: run.Active, Activity: dag.AtLimit, Until: until})
	w.mu.Unlock()
	w.until("all know", func(*Org) bool {
		is, err := limits.Read(dir, account, time.Now())
		return err == nil && is != nil && !is.Free && is.Until.Equal(until) && is.By.Node == "api" && is.Said == "5-hour limit"
	})
	tell(limits.State{Free: true})
	w.until("it is awake", func(*Org) bool { w.mu.Lock(); defer w.mu.Unlock(); return w.awoke["api"] > 0 })
	if err := stop(); err != nil {
		t.Fatal(err)
	}
}

// Every life has ports of its own. Its checks have the same ports, and a new
// keeper keeps them.
func TestPortsOfAgents(t *testing.T) {
	person(t, "")
	w := newWorld(t)
	stop := w.keep()
	w.answered(w.spawn("api"))
	w.answered(w.spawn("web"))
	w.until("a life", w.lives1("api", 1))
	o := w.until("a life", w.lives1("web", 1))
	a, b := o.Agents["api"].place, o.Agents["web"].place
	if a.PortBase == 0 || b.PortBase == 0 || a.PortBase == b.PortBase || a.Slot == b.Slot {
		t.Errorf("%+v, %+v", a, b)
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	stop = w.keep()
	w.answered(w.spawn("docs"))
	o = w.until("a life", w.lives1("docs", 1))
	if c := o.Agents["docs"].place; c.PortBase == 0 || c.Slot == a.Slot || c.Slot == b.Slot {
		t.Errorf("%+v, beside %+v, %+v", c, a, b)
	}
	id := w.add("Write the endpoint", "api", task.Normal)
	w.until("it is given", func(*Org) bool { return count(w.gives("api"), id) == 1 })
	w.mu.Lock()
	if p := w.gave["api"][0].Place; p.PortBase != a.PortBase || p.Slot != a.Slot {
		t.Errorf("its work has %+v, and it %+v", p, a)
	}
	w.lives["web"].end()
	w.mu.Unlock()
	o = w.until("its next life", w.lives1("web", 2))
	if p := o.Agents["web"].place; p.PortBase == 0 || p.Slot == a.Slot {
		t.Errorf("its next life has %+v", p)
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
}

// A place in the line is kept only while somebody wants a seat: an agent whose
// account is at a limit keeps nobody from one.
func TestNobodyWaitsForWhoWaitsForSomethingElse(t *testing.T) {
	person(t, "1")
	w := newWorld(t)
	stop := w.keep()
	w.answered(w.spawn("api"))
	account := w.until("a life", w.lives1("api", 1)).Agents["api"].Member.Account
	other, err := lease.OpenSeats(lease.Holder{Project: "/other", Session: "web", Run: "r"})
	if err != nil {
		t.Fatal(err)
	}
	seat, _, err := other.Take(1, "login", false)
	if err != nil || seat == nil {
		t.Fatal(seat, err)
	}
	w.add("Write the endpoint", "api", task.Normal)
	w.until("it waits for a place", func(o *Org) bool { return strings.HasPrefix(o.Agents["api"].Waits, "max_agents") })
	dir, err := limits.Open()
	if err != nil {
		t.Fatal(err)
	}
	s := limits.State{Account: account, Until: time.Now().Add(time.Hour), At: time.Now(), By: limits.Source{Project: "/other", Session: "web", Run: "r"}}
	if _, err := limits.Tell(dir, s, true, time.Now()); err != nil {
		t.Fatal(err)
	}
	w.until("it waits for the limit", func(o *Org) bool { return strings.HasPrefix(o.Agents["api"].Waits, "the account") })
	if err := lease.ReturnSeat(seat); err != nil {
		t.Fatal(err)
	}
	third, err := lease.OpenSeats(lease.Holder{Project: "/third", Session: "web", Run: "r"})
	if err != nil {
		t.Fatal(err)
	}
	w.until("another has the place", func(*Org) bool {
		l, _, err := third.Take(1, "page", false)
		if err != nil {
			t.Fatal(err)
		}
		return l != nil && lease.ReturnSeat(l) == nil
	})
	if err := stop(); err != nil {
		t.Fatal(err)
	}
}

// A new keeper does not call a limit over that was met after one of its agents
// found the account free.
func TestAnOldEndIsNotToldAgain(t *testing.T) {
	person(t, "")
	w := newWorld(t)
	stop := w.keep()
	w.answered(w.spawn("api"))
	account := w.until("a life", w.lives1("api", 1)).Agents["api"].Member.Account
	w.mu.Lock()
	w.lives["api"].record(run.Record{Type: run.Freed, Account: account})
	w.mu.Unlock()
	w.until("it is on record", func(o *Org) bool { return o.Agents["api"].Limit != nil })
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	dir, err := limits.Open()
	if err != nil {
		t.Fatal(err)
	}
	s := limits.State{Account: account, Until: time.Now().Add(time.Hour), At: time.Now(), By: limits.Source{Project: "/other", Session: "web", Run: "r"}}
	if _, err := limits.Tell(dir, s, false, time.Now()); err != nil {
		t.Fatal(err)
	}
	stop = w.keep()
	w.add("Write the endpoint", "api", task.Normal)
	w.until("it waits for the limit", func(o *Org) bool { return strings.HasPrefix(o.Agents["api"].Waits, "the account") })
	if is, err := limits.Read(dir, account, time.Now()); err != nil || is == nil || is.Free {
		t.Errorf("%+v, %v", is, err)
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
}

// Whoever waits for the answer to a message can be given a task.
func TestWhoAskedIsGivenATask(t *testing.T) {
	w := newWorld(t)
	stop := w.keep()
	w.answered(w.spawn("api"))
	w.until("a life", w.lives1("api", 1))
	w.mu.Lock()
	w.lives["api"].stands = "asked supervisor"
	w.lives["api"].record(run.Record{Type: run.Active, Activity: dag.NeedsInput, Detail: "asked supervisor"})
	w.mu.Unlock()
	w.until("it asks", func(o *Org) bool { return o.Agents["api"].asks() })
	id := w.add("Write the endpoint", "api", task.Normal)
	w.until("it is given", func(*Org) bool { return count(w.gives("api"), id) == 1 })
	if err := stop(); err != nil {
		t.Fatal(err)
	}
}
