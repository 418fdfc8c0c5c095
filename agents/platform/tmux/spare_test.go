package tmux

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"cmux/agents/platform/proc"
)

// waiter is a spare that prints the line it gets.
func waiter(dir string) Spec {
	return Spec{Dir: dir, Argv: []string{"/bin/sh", "-c", `stty -echo; echo up; read -r word; echo "told $word"; exec cat -u`}}
}

func spare(t testing.TB, c *Client, spec Spec) PaneID {
	t.Helper()
	p, err := c.Spare(t.Context(), spec)
	must(t, err)
	return p
}

// openSpare opens a node with a spare.
func openSpare(t testing.TB, b *Board, name string, p PaneID) PaneID {
	t.Helper()
	got, err := b.Open(t.Context(), Node{Name: name, Label: Label{State: "running"}, Spec: cat("/tmp"), Spare: Spare{Pane: p, Word: "1 " + name}})
	must(t, err)
	if node := run(t, b.c, "show-options", "-pqv", "-t", string(got), optNode); node != name {
		t.Errorf("the pane %s of %s is %q's", got, name, node)
	}
	return got
}

// says waits until a pane shows a line.
func says(t testing.TB, c *Client, p PaneID, line string) {
	t.Helper()
	eventually(t, func() error {
		text := run(t, c, "capture-pane", "-p", "-t", string(p))
		for l := range strings.Lines(text) {
			if strings.TrimSpace(l) == line {
				return nil
			}
		}
		return fmt.Errorf("%s does not say %q:\n%s", p, line, text)
	})
}

// A spare is hidden until a node gets it. Its pane is then where a new one would be, and no
// other pane gets its word.
func TestSpareBecomesANodes(t *testing.T) {
	for _, main := range []bool{true, false} {
		t.Run(fmt.Sprint("main=", main), func(t *testing.T) {
			c := connect(t, newServer(t), nil)
			at := session(t, c, cat("/tmp"))
			b := board(t, c, at, main)
			first := spare(t, c, waiter("/tmp"))
			says(t, c, first, "up")
			if got := run(t, c, "list-panes", "-s", "-t", string(at.Session), "-F", "#{pane_id}"); strings.Contains(got, string(first)) {
				t.Errorf("a spare is seen: %s", got)
			}
			below, room := "", lineTile.Capacity(220, 60, main)
			if main {
				below = " main"
			}
			opened := openAll(t, b, "n0")
			if got := openSpare(t, b, "n1", first); got != first {
				t.Errorf("the pane is %s, the spare was %s", got, first)
			}
			says(t, c, first, "told 1 n1")
			stands(t, b, "agents: n0 n1"+below)
			maps.Copy(opened, openAll(t, b, names(2, room-1)...))
			run(t, c, "set-option", "-w", "-t", string(first), "synchronize-panes", "on")
			last, over := spare(t, c, waiter("/tmp")), spare(t, c, waiter("/tmp"))
			openSpare(t, b, fmt.Sprint("n", room-1), last)
			if got := openSpare(t, b, "over", over); got == over {
				t.Error("a spare has a window, whose size is not that of the others") // what break-pane makes of it
			}
			says(t, c, last, "told 1 n"+fmt.Sprint(room-1))
			stands(t, b, "agents: "+strings.Join(names(0, room), " ")+below+"; agents-2: over")
			for name, p := range opened {
				if got := run(t, c, "capture-pane", "-p", "-t", string(p)); strings.TrimSpace(got) != "" {
					t.Errorf("%s was told %q", name, got)
				}
			}
			if got := run(t, c, "list-windows", "-t", string(at.Session), "-F", "#{window_active}"); got != "1\n0\n0" {
				t.Errorf("the monitor is not the current window: %q", got)
			}
		})
	}
}

// Whatever happens to a spare, the node gets its process.
func TestNodeNeedsNoSpare(t *testing.T) {
	c := connect(t, newServer(t), nil)
	at := session(t, c, cat("/tmp"))
	b := board(t, c, at, true)
	spoken := Spec{Dir: "/tmp", Argv: []string{"/bin/sh", "-c", "echo itself; exec cat -u"}}
	openSpare := func(name string, p PaneID) PaneID {
		t.Helper()
		got, err := b.Open(t.Context(), Node{Name: name, Ended: true, Label: Label{State: "running"}, Spec: spoken, Spare: Spare{Pane: p, Word: "1 " + name}})
		must(t, err)
		return got
	}

	dead := spare(t, c, Spec{Dir: "/tmp", Argv: []string{"/bin/true", ""}})
	waitDead(t, c, dead)
	if got := openSpare("a", dead); got != dead {
		t.Errorf("the dead spare %s is not used: %s", dead, got)
	}
	says(t, c, dead, "itself")

	closed := spare(t, c, waiter("/tmp"))
	must(t, c.KillPane(t.Context(), closed))
	says(t, c, openSpare("b", closed), "itself")

	idle := spare(t, c, waiter("/tmp"))
	pane, _ := b.Pane("b")
	must(t, c.KillPane(t.Context(), pane))
	own := openAll(t, b, "c")["c"]
	if got := openSpare("c", idle); got != own {
		t.Errorf("the node has the pane %s, but was started in %s", own, got)
	}
	says(t, c, own, "itself")
	run(t, c, "resize-pane", "-Z", "-t", string(own))
	must(t, b.Refresh(t.Context()))
	if got := openSpare("d", idle); got == idle {
		t.Error("a pane was joined to a zoomed window, which ends the zoom")
	}
	if got := run(t, c, "display-message", "-p", "-t", string(own), "#{window_zoomed_flag}"); got != "1" {
		t.Error("the zoom has ended")
	}
	run(t, c, "resize-pane", "-Z", "-t", string(own))
	must(t, b.Refresh(t.Context()))
	stands(t, b, "agents: a c d main")
}

// An assigned spare becomes visible, also if the windows have changed.
func TestSpareWithoutRoom(t *testing.T) {
	c := connect(t, newServer(t), nil)
	at := session(t, c, cat("/tmp"))
	b := board(t, c, at, false)
	n0 := openAll(t, b, "n0")["n0"]
	run(t, c, "resize-window", "-t", string(n0), "-x", "20", "-y", "2")
	p := spare(t, c, waiter("/tmp"))
	if got := openSpare(t, b, "n1", p); got != p {
		t.Errorf("the spare is %s, the node has %s", p, got)
	}
	says(t, c, p, "told 1 n1")
	run(t, c, "resize-window", "-A", "-t", string(n0))
	must(t, b.Refresh(t.Context()))
	must(t, b.Refresh(t.Context())) // the sizes of windows are known after the first
	if got := tiled(t, b); got != "agents: n0 n1" && got != "agents: n0; agents-2: n1" {
		t.Error(got)
	}
}

// When the connection ends, panes of nodes stay and spares end.
func TestSparesEndWithTheirClient(t *testing.T) {
	s := newServer(t)
	stays := connect(t, s, nil)
	at := session(t, stays, cat("/tmp"))
	c := connect(t, s, nil)
	b := board(t, c, at, false)
	openAll(t, b, "first")
	of := func(p PaneID) proc.Identity {
		pid := pane(t, c, p).PID
		start, err := proc.StartTime(pid)
		must(t, err)
		return proc.Identity{PID: pid, Start: start}
	}
	used, unused := spare(t, c, waiter("/tmp")), spare(t, c, waiter("/tmp"))
	node, left := of(used), of(unused)
	openSpare(t, b, "a", used)
	must(t, c.cmd.Process.Kill()) // at once, as when this process is killed
	eventually(t, func() error {
		if left.Alive() {
			return fmt.Errorf("the spare %v lives", left)
		}
		return nil
	})
	says(t, stays, used, "told 1 a")
	if !node.Alive() {
		t.Error("the node's process ended with the client")
	}
}
