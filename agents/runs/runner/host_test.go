package runner

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"cmux/agents/platform/tmux"
)

// A place that cannot be opened is an error, and leaves nothing.
func TestNoPlaceForTheAttempts(t *testing.T) {
	p := newProject(t, "session: s\nagents:\n  - {name: a, agent: command, task: exit 0}\n")
	r := p.create()
	dir := t.TempDir()
	t.Setenv("TMUX_TMPDIR", dir)
	nobody := &tmux.Server{Socket: "none", Config: filepath.Join(dir, "tmux.conf")}
	if err := os.WriteFile(nobody.Config, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { nobody.Exec(context.Background(), "kill-server") })
	if _, err := Run(t.Context(), Options{Run: r, How: HowStart, Kinds: p.options().Kinds, Server: nobody}); !errors.Is(err, tmux.ErrNotFound) {
		t.Errorf("without its session: %v", err)
	}
	if got := p.labels(r); got != "a: ready\n" && got != "a: waiting\n" {
		t.Errorf("it is %s", got)
	}
	p.carry(r) // the lock is free
	p.want(r, "a: done")
}
