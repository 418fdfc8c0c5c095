package lease

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// bound writes how many agents may work at once.
func bound(t *testing.T, text string) {
	t.Helper()
	dir := filepath.Join(os.Getenv("XDG_CONFIG_HOME"), "cmux")
	if err := errors.Join(os.MkdirAll(dir, 0o700), os.WriteFile(filepath.Join(dir, "config.yml"), []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
}

func TestSeating(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	warned := 0
	open := func(run string) *Seating {
		return OpenSeating(Holder{Project: "/p/" + run, Session: "s", Run: run}, func(error) { warned++ })
	}
	a, b := open("a"), open("b")
	if a.Look(false); a.Bounded() {
		t.Error("bounded without a bound")
	}
	bound(t, "max_agents: 1\n")
	a.Look(false)
	b.Look(false)
	if !a.Bounded() || a.Take("n1", false) != "" || a.Take("n1", false) != "" {
		t.Error("the first agent has no seat, or takes another one")
	}
	if why := b.Take("x", false); why != "max_agents: 1 of 1 in use: a/s/n1" {
		t.Errorf("the second one waits: %q", why)
	}
	if why := b.Take("works", true); why != "" {
		t.Errorf("one that works already: %q", why)
	}
	bound(t, "max_agents: none\n")
	if b.Look(true); warned != 1 || !b.Bounded() {
		t.Errorf("warned %d times of a file that is wrong", warned)
	}
	b.Keep(func(agent string) bool { return agent != "works" })
	a.Keep(func(string) bool { return false })
	if why := b.Take("x", false); why != "" {
		t.Errorf("it does not get the seat that is free: %q", why)
	}
	if why := a.Take("n1", false); why == "" {
		t.Error("two of one")
	}
	a.Close()
	b.Close()
	if seated, err := Seated(); len(seated) > 0 || err != nil {
		t.Errorf("after all closed there sit %v, %v", seated, err)
	}
}

func TestSeatingWithoutFolder(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", "/dev/null/state")
	warned := 0
	for _, s := range []*Seating{OpenSeating(Holder{}, func(error) { warned++ }), new(Seating)} {
		s.Look(true)
		s.Keep(func(string) bool { return true })
		if s.Bounded() || s.Dir() != "" {
			t.Error("bounded by seats that cannot be had")
		}
		s.Close()
	}
	if warned != 1 {
		t.Errorf("warned %d times", warned)
	}
}
