package rooms

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"cmux/agents/room"
)

// Each setting is shown as it is set.
func TestValueOf(t *testing.T) {
	other := map[string]string{
		"topic": "x", "policy": "robin", "blind": "false", "turns": "7", "tokens": "200k", "tokens-day": "2M", "share": "tagged", "moderator": "ann", "judge": "bob",
		"decide": "moderator", "rebuttals": "4", "timeout": "1", "parse-timeout": "2", "send-timeout": "3", "hard-timeout": "5", "on-parse": "stop",
	}
	defaults := room.Defaults()
	for _, key := range Keys() {
		s := room.Defaults()
		was := valueOf(&s, key)
		if err := setOne(&s, key+"="+other[key]); err != nil || valueOf(&s, key) != other[key] || was == other[key] {
			t.Errorf("%s was %q, is %q: %v; want %q", key, was, valueOf(&s, key), err, other[key])
		}
		if err := setOne(&s, key+"="+was); err != nil || s != defaults {
			t.Errorf("%s=%s: %+v, %v", key, was, s, err)
		}
	}
	for key := range configured() {
		if !slices.Contains(Keys(), key) {
			t.Errorf("no key %s", key)
		}
	}
}

func TestSettings(t *testing.T) {
	p := newRooms(t)
	if err := os.WriteFile(filepath.Join(p.Root, ".cmux", "config.yml"), []byte("rooms:\n  turns: 5\n  tokens: {day: 2M}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p.made(t, "r") // with the built-in ones
	of := func(key string) Setting {
		t.Helper()
		all, err := Settings(p, "r")
		if err != nil || len(all) != len(Keys()) {
			t.Fatal(all, err)
		}
		return all[slices.IndexFunc(all, func(s Setting) bool { return s.Key == key })]
	}
	for _, c := range []struct{ set, key, value, from, inherited, of string }{
		{"", "policy", "everybody", "built-in", "everybody", "built-in"},
		{"", "turns", "3", "room", "5", "config.yml"},
		{"turns=", "turns", "5", "config.yml", "5", "config.yml"},
		{"turns=6", "turns", "6", "room", "5", "config.yml"},
		{"tokens-day=", "tokens-day", "2M", "config.yml", "2M", "config.yml"},
		{"tokens=200k", "tokens", "200k", "room", "0", "built-in"},
		{"tokens=", "tokens", "0", "built-in", "0", "built-in"},
		{"topic=x=y", "topic", "x=y", "room", "", "built-in"},
		{"topic=", "topic", "", "built-in", "", "built-in"},
		{"blind=false", "blind", "false", "room", "true", "built-in"},
		{"blind=", "blind", "true", "built-in", "true", "built-in"},
	} {
		if c.set != "" {
			if _, err := p.Set(t.Context(), "r", []string{c.set}); err != nil {
				t.Fatal(c.set, err)
			}
		}
		if got, want := of(c.key), (Setting{c.key, c.value, Source(c.from), c.inherited, Source(c.of)}); got != want {
			t.Errorf("%s: %+v; want %+v", c.set, got, want)
		}
	}
	if _, err := p.Set(t.Context(), "r", []string{"nothing="}); err == nil {
		t.Error("a setting that there is not")
	}
}
