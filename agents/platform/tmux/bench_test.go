package tmux

import (
	"fmt"
	"testing"
)

// Each command through the control connection and through a process of its
// own, in the same run.
func BenchmarkCommand(b *testing.B) {
	s := newServer(b)
	c := connect(b, s, nil)
	at := session(b, c, cat("/tmp"))
	for _, cmd := range []struct {
		name string
		args []string
	}{
		{"send-keys", []string{"send-keys", "-t", string(at.Pane), "x"}},
		{"capture-pane", []string{"capture-pane", "-p", "-t", string(at.Pane)}},
		{"new-window", []string{"new-window", "-d", "-P", "-F", "#{pane_id}", "-t", string(at.Session) + ":", "--", "cat", "-u"}},
	} {
		measure := func(via string, call func() (string, error)) {
			b.Run("command="+cmd.name+"/via="+via, func(b *testing.B) {
				var made []string
				for b.Loop() {
					out, err := call()
					if err != nil {
						b.Fatal(err)
					}
					made = append(made, out)
				}
				b.StopTimer()
				for _, id := range made {
					if cmd.name == "new-window" {
						must(b, c.KillPane(b.Context(), PaneID(id)))
					}
				}
			})
		}
		measure("control", func() (string, error) { return c.Run(b.Context(), cmd.args...) })
		measure("fork", func() (string, error) { return s.Exec(b.Context(), cmd.args...) })
	}
}

// A control client of a server that runs, from its start to its end.
func BenchmarkConnect(b *testing.B) {
	s := newServer(b)
	session(b, connect(b, s, nil), cat("/tmp"))
	for b.Loop() {
		c, err := s.connect(b.Context(), nil)
		must(b, err)
		must(b, c.Close())
	}
}

// A node's pane with tags and layout, in windows that fill up.
func BenchmarkBoardOpen(b *testing.B) {
	c := connect(b, newServer(b), nil)
	at := session(b, c, cat("/tmp"))
	brd := board(b, c, at, true)
	i := 0
	for b.Loop() {
		open(b, brd, fmt.Sprint("n", i), Spec{Dir: "/tmp", Argv: []string{"/bin/true", ""}})
		i++
	}
}

func BenchmarkRefresh(b *testing.B) {
	for _, n := range []int{12, 120} {
		b.Run(fmt.Sprintf("panes=%d", n), func(b *testing.B) {
			c := connect(b, newServer(b), nil)
			at := session(b, c, cat("/tmp"))
			brd := board(b, c, at, true)
			for i := range n {
				open(b, brd, fmt.Sprint("n", i), Spec{Dir: "/tmp", Argv: []string{"/bin/true", ""}})
			}
			for b.Loop() {
				must(b, brd.Refresh(b.Context()))
			}
		})
	}
}
