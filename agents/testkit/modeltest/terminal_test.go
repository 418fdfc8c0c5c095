package modeltest

import (
	"bytes"
	"io"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/creack/pty"
)

// The prompt of an interactive program reaches the model only when no dialog
// of a first run stands in the way.
func TestTerminalsMeetNoDialog(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, path string
		flags      []string
		subscriber bool
	}{
		{"claude", Claude(t), []string{"--dangerously-skip-permissions"}, false},
		{"claude subscriber", Claude(t), []string{"--dangerously-skip-permissions"}, true},
		{"codex", Codex(t), []string{"--dangerously-bypass-approvals-and-sandbox"}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := New(t, Script{Name: "tui", Turns: []Turn{{Hold("answer"), Text("hello")}}})
			dir := t.TempDir()
			h := Env(t, s, dir)
			if c.subscriber {
				h.Subscribe()
			}
			cmd := command(t, h, dir, c.path, append(c.flags, "do #script:tui")...)
			t.Cleanup(func() { // after the program's end
				if daemon := filepath.Join(h.Codex, "packages", "app-server-daemon"); exists(daemon) {
					t.Errorf("Codex has started a daemon, which outlives it: %s", daemon)
				}
			})
			draw(t, cmd)
			s.WaitHeld(t, "answer", 1)
			if strays := s.Strays(); len(strays) > 0 {
				t.Logf("also asked for: %q", strays)
			}
			if r := s.Requests()[0]; r.Script != "tui" || r.Turn != 0 {
				t.Errorf("asked by script %q turn %d", r.Script, r.Turn)
			}
		})
	}
}

// draw starts the program in a terminal of its own and ends it with the test.
func draw(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	tty, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 60, Cols: 220})
	if err != nil {
		t.Fatal(err)
	}
	var screen []byte
	drawn := make(chan struct{})
	go func() {
		defer close(drawn)
		buf := make([]byte, 32<<10)
		for {
			n, err := tty.Read(buf)
			screen = append(screen, buf[:n]...)
			// A program that asks the terminal where its cursor is waits for the answer.
			for range bytes.Count(buf[:n], []byte("\x1b[6n")) {
				io.WriteString(tty, "\x1b[1;1R")
			}
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() {
		cmd.Wait() // the end of the test's context has told it to end
		tty.Close()
		<-drawn
		if t.Failed() {
			t.Logf("drawn: %q", screen)
		}
	})
}
