package tmux

import (
	"errors"
	"fmt"
	"testing"
	"time"
)

// A process that is killed reads no more, whatever there is for it: its client
// goes all the same, and so does the server that it had started.
func TestClientOfAKilledProcess(t *testing.T) {
	s := newServer(t)
	if err := s.writeConfig(); err != nil {
		t.Fatal(err)
	}
	c := &Client{server: s}
	if err := c.start(t.Context()); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- c.cmd.Wait() }()
	t.Cleanup(func() { c.cmd.Process.Kill() })
	// What the end of a process closes, before it has read anything.
	c.stdout.Close()
	c.stdin.Close()
	select {
	case <-ended:
	case <-time.After(30 * time.Second):
		t.Error("the client is still there")
	}
	eventually(t, func() error {
		if _, err := s.Exec(t.Context(), "list-sessions"); !errors.Is(err, ErrNoServer) {
			return fmt.Errorf("the server is still there: %v", err)
		}
		return nil
	})
}
