package tmux

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"cmux/agents/testkit/agenttest/testall"
)

// A server survives clients that connect while sessions and windows open and close. Without
// the proxy tmux 3.3a crashes within the first ten clients.
func TestConnectInTurmoil(t *testing.T) {
	connections := 300
	if testing.Short() {
		connections = 20
	}
	s := newServer(t)
	c := connect(t, s, nil)
	session(t, c, cat("/tmp"))
	run(t, c, "set-option", "-gw", "remain-on-exit", "off") // windows close
	large := s
	large.Env = slices.Clone(s.Env)
	for i := range 200 {
		large.Env = append(large.Env, fmt.Sprintf("LARGE_%d=%s", i, strings.Repeat("x", 500)))
	}
	turmoil(t, s)
	for n := range connections {
		from := s
		if n%3 == 0 {
			from = large
		}
		other, err := from.connect(t.Context(), nil)
		if err != nil {
			t.Fatalf("connection %d: %v; %v", n, err, c.Err())
		}
		other.Close()
		if c.Err() != nil {
			t.Fatalf("connection %d: %v", n, c.Err())
		}
	}
}

// turmoil opens and closes sessions and windows until the end of the test. tmux notifies
// also clients that have no session yet of new sessions and of a session's current window.
func turmoil(t testing.TB, s Server) {
	ctx, cancel := context.WithCancel(t.Context())
	var wait sync.WaitGroup
	for range 2 {
		wait.Go(func() {
			for ctx.Err() == nil {
				s.ExecAll(ctx, []string{"new-session", "-d", "true"}, []string{"new-window", "-t", "=shop:", "true"})
			}
		})
	}
	t.Cleanup(func() { cancel(); wait.Wait() })
}

// The proxy finds a server where tmux does.
func TestSocketPath(t *testing.T) {
	testall.Only(t)
	s := newServer(t)
	dir := s.Env[slices.IndexFunc(s.Env, func(kv string) bool { return strings.HasPrefix(kv, "TMUX_TMPDIR=") })][len("TMUX_TMPDIR="):]
	link := filepath.Join(dir, "link")
	must(t, os.Symlink(dir, link))
	for _, of := range []Server{s, {Socket: filepath.Join(dir, "s"), Config: s.Config, Env: s.Env}, {Socket: "t", Config: s.Config, Env: append(slices.Clone(s.Env), "TMUX_TMPDIR="+link)}} {
		c := connect(t, of, nil)
		if path := run(t, c, "display-message", "-p", "#{socket_path}"); path != of.path() {
			t.Errorf("the server is at %s, and the proxy expects %s", path, of.path())
		}
		c.Close()
	}
}
