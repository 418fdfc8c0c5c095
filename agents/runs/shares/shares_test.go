package shares

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/log"

	"cmux/agents/platform/lease"
	"cmux/agents/platform/limits"
)

// person gives the test a state folder and settings of its own.
func person(t *testing.T, settings string) {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("HOME", dir)
	t.Setenv("XDG_STATE_HOME", filepath.Join(dir, "state"))
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(dir, "config"))
	if err := os.MkdirAll(filepath.Join(dir, "config", "cmux"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "config", "cmux", "config.yml"), []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
}

func open(t *testing.T, session string, n Needs) (*Shares, *bytes.Buffer) {
	t.Helper()
	var said bytes.Buffer
	s := Open(lease.Holder{Project: "/p", Session: session, Run: session}, n, log.New(&said))
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s, &said
}

// Two owners share one seat: the second waits in line, and gets it once the first gives it
// back.
func TestSeats(t *testing.T) {
	person(t, "max_agents: 1\n")
	one, _ := open(t, "one", Needs{Seats: true})
	two, said := open(t, "two", Needs{Seats: true})
	working := map[string]bool{}
	works := func(agent string) bool { return working[agent] }
	agents := slices.Values([]string{"a", "b"})
	one.Sit(agents, works)
	two.Sit(agents, works)
	if why := one.Seat("a"); why != "" {
		t.Fatalf("the first agent gets no seat: %s", why)
	}
	working["a"] = true
	if one.Sit(agents, works); !one.Free(works) {
		t.Error("seats are not bounded")
	}
	if why := two.Seat("b"); !strings.Contains(why, "max_agents") {
		t.Fatalf("the second agent waits for %q", why)
	}
	clear(working)
	one.Free(works)
	two.Sit(agents, works)
	if why := one.Seat("a"); why == "" {
		t.Error("who gave the seat back has it before the one that waits")
	}
	one.Leave()
	if why := two.Seat("b"); why != "" {
		t.Errorf("the seat is free, but %s", why)
	}
	if said.Len() > 0 {
		t.Errorf("logged %s", said)
	}
}

func TestLimits(t *testing.T) {
	person(t, "")
	one, _ := open(t, "one", Needs{Limits: true})
	two, said := open(t, "two", Needs{Limits: true})
	now := time.Now()
	until := now.Add(time.Hour)
	if is, ok := two.Limit("work", now); is != nil || !ok {
		t.Fatalf("before: %+v, %v", is, ok)
	}
	told, ok := one.Tell(limits.State{Account: "work", Until: until, At: now}, "api", false, now)
	if !ok || told == nil || told.By != (limits.Source{Project: "/p", Session: "one", Run: "one", Node: "api"}) {
		t.Fatalf("told %+v, %v", told, ok)
	}
	if is, ok := two.Limit("work", now); !ok || is == nil || is.ID != told.ID || !is.Until.Equal(until) {
		t.Errorf("the other owner reads %+v, %v", is, ok)
	}
	if said.Len() > 0 {
		t.Errorf("logged %s", said)
	}
	if without, _ := open(t, "three", Needs{}); len(without.Dirs()) > 0 {
		t.Errorf("who needs nothing watches %v", without.Dirs())
	}
}

// What cannot be shared is said once, and holds nobody up.
func TestUnusable(t *testing.T) {
	person(t, "max_agents: 1\n")
	if err := os.WriteFile(os.Getenv("XDG_STATE_HOME"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s, said := open(t, "one", Needs{Seats: true, Limits: true})
	for range 3 {
		s.Sit(slices.Values([]string{"a"}), func(string) bool { return true })
		if why := s.Seat("b"); why != "" {
			t.Errorf("b waits for %s", why)
		}
		if is, ok := s.Tell(limits.State{Account: "work"}, "b", false, time.Now()); ok {
			t.Errorf("told %+v", is)
		}
	}
	if n := strings.Count(said.String(), "\n"); n != 2 {
		t.Errorf("logged %d lines:\n%s", n, said)
	}
}
