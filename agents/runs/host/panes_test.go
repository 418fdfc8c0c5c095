package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/log"
	"github.com/creack/pty"

	"cmux/agents/kinds/agent"
	"cmux/agents/kinds/command"
	"cmux/agents/platform/seal/sealtest"
	"cmux/agents/platform/tmux"
	"cmux/agents/runs/run"
	"cmux/dag"
	"cmux/signals"
)

func TestMain(m *testing.M) { os.Exit(sealtest.Main(m)) }

// shop is a run of so many nodes and the panes of its attempts, whose processes
// do nothing.
type shop struct {
	*Panes
	t      *testing.T
	run    *run.Run
	server tmux.Server
}

func newShop(t *testing.T, nodes int) *shop {
	t.Helper()
	if err := tmux.Check(t.Context()); err != nil {
		t.Skip(err)
	}
	root, err := os.MkdirTemp("/tmp", "ch") // the path of a socket ends near 100 bytes
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(root) })
	must(t, os.Mkdir(filepath.Join(root, ".git"), 0o755))
	must(t, signals.Init(root))
	var config strings.Builder
	config.WriteString("session: shop\nmax_parallel: 99\ndefaults: {agent: command, role: review}\nagents:\n")
	for i := range nodes {
		fmt.Fprintf(&config, "  - {name: n%d, task: exit 0}\n", i)
	}
	g, _, err := dag.Parse("x.yml", []byte(config.String()), dag.ParseOptions{})
	must(t, err)
	// In the place of cmux: it takes any arguments, and any word.
	program := filepath.Join(root, "program")
	must(t, os.WriteFile(program, []byte("#!/bin/sh\nread -r word; echo told $word; exec cat\n"), 0o755))
	s := &shop{t: t, server: tmux.Server{Socket: "t", Config: filepath.Join(root, "tmux.conf"), Env: []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + root, "TMUX_TMPDIR=" + root, "SHELL=/bin/sh", "TERM=xterm-256color", "LC_ALL=C.UTF-8"}}}
	s.run, err = run.Create(run.Plan{ID: run.NewID(time.Now()), Root: root, Graph: g}, nil, nil, program)
	must(t, err)
	book, err := s.run.OpenBook()
	must(t, err)
	t.Cleanup(func() { book.Close() })
	t.Cleanup(func() { s.server.Exec(context.Background(), "kill-server") })
	client, err := s.server.Connect(t.Context(), nil)
	must(t, err)
	t.Cleanup(func() { client.Close() })
	_, err = client.NewSession(t.Context(), "shop", "monitor", tmux.Spec{Dir: root, Argv: []string{"cat", "-u"}}, tmux.Marks{})
	must(t, err)
	_, err = s.server.Exec(t.Context(), "set-option", "-s", "message-limit", "100000")
	must(t, err)
	s.Panes, err = NewPanes(t.Context(), Config{
		Run: s.run, Kinds: agent.NewKinds(command.Kind()), Book: book, Log: log.New(io.Discard), Told: t.Context(),
		Go: func(f func()) { f() }, Left: func(ref Ref) { t.Errorf("%v has left", ref) },
	}, &s.server, "")
	must(t, err)
	t.Cleanup(func() { must(t, s.Panes.Close()) })
	return s
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (s *shop) start(i int) {
	s.t.Helper()
	def := &s.run.Plan.Graph.Nodes[i]
	_, err := s.Start(s.t.Context(), &run.Spec{Node: def.Name, Attempt: 1, Def: def, Frame: s.run.Frame(), Place: run.Place{Dir: s.run.Plan.Root}})
	must(s.t, err)
}

// eventually waits until what is listed of the panes is as it should be.
func (s *shop) eventually(format string, holds func(lines []string) bool) {
	s.t.Helper()
	deadline := time.After(30 * time.Second)
	for {
		out, err := s.server.Exec(s.t.Context(), "list-panes", "-a", "-F", format)
		if errors.Is(err, tmux.ErrNoServer) {
			s.t.Fatal(err)
		}
		if holds(strings.Split(out, "\n")) {
			return
		}
		select {
		case <-time.After(5 * time.Millisecond):
		case <-deadline:
			s.t.Fatalf("there are the panes\n%s", out)
		}
	}
}

// commands is how often tmux has been given a command on the connection.
func (s *shop) commands(name string) int {
	s.t.Helper()
	out, err := s.server.Exec(s.t.Context(), "show-messages")
	must(s.t, err)
	n := 0
	for line := range strings.Lines(out) {
		if strings.Contains(line, "command: "+name+" ") && strings.Contains(line, "-s") { // those of this test list all sessions
			n++
		}
	}
	return n
}

// Nodes that end one after the other are shown and arranged together: what that
// takes of tmux goes by the time, not by the number of nodes.
func TestEndsAreShownTogether(t *testing.T) {
	const nodes = 30
	s := newShop(t, nodes)
	for i := range nodes {
		s.start(i)
	}
	s.eventually("#{@cmux_node}", func(lines []string) bool { return strings.Count(strings.Join(lines, " "), "n") == nodes })
	before, began := s.commands("list-panes"), time.Now()
	for i := range nodes {
		s.Show(fmt.Sprint("n", i), dag.Label{State: dag.NodeDone}, false)
	}
	s.eventually("#{@cmux_node}#{?#{@cmux_finished},ended,}", func(lines []string) bool {
		return strings.Count(strings.Join(lines, " "), "ended") == nodes
	})
	// A pass lists the panes before it moves some and afterwards.
	passes := int(time.Since(began)/spacing) + 2
	if got := s.commands("list-panes") - before; got == 0 || got > 2*passes {
		t.Errorf("%d ends made tmux list the panes %d times, want %d passes of two at most", nodes, got, passes)
	}
}

// What starts soon after something else finds its process waiting; one that
// nobody needs any more is ended.
func TestSpares(t *testing.T) {
	const nodes = 6
	s := newShop(t, nodes)
	spare := func(n int) func(lines []string) bool {
		return func(lines []string) bool { return strings.Count(strings.Join(lines, "\n"), "--spare waits") == n }
	}
	const waiting = "#{pane_start_command}#{?#{@cmux_node},, waits}"
	s.start(0)
	s.eventually("#{@cmux_node}", func(lines []string) bool { return strings.Contains(strings.Join(lines, " "), "n0") })
	s.eventually(waiting, spare(0))
	s.start(1)
	s.eventually(waiting, spare(mostSpares))
	for i := 2; i < nodes-1; i++ {
		s.start(i)
		s.eventually("#{@cmux_node} #{pane_start_command}", func(lines []string) bool {
			for _, l := range lines {
				if strings.HasPrefix(l, fmt.Sprintf("n%d ", i)) {
					return strings.HasSuffix(strings.Trim(l, `"`), "--spare")
				}
			}
			return false
		})
	}
	s.eventually(waiting, spare(1)) // one node is left
	if out, err := s.server.Exec(t.Context(), "list-windows", "-t", "shop", "-F", "#{window_name}"); err != nil || strings.Join(strings.Fields(out), " ") != "monitor agents main" {
		t.Errorf("there are the windows %q, %v", out, err)
	}
	s.eventually(waiting, spare(0)) // at rest
}

// While nobody is attached nobody changes panes by hand: the runner's looks, one
// every 2 s, ask nothing of tmux. Whoever attaches finds all as it should be.
func TestNobodyLooks(t *testing.T) {
	s := newShop(t, 1)
	s.start(0)
	states := 0
	settled := func() { // all that was asked for before is done: the label goes first
		t.Helper()
		for range 2 {
			states++
			why := fmt.Sprint("look ", states, ".")
			s.Show("n0", dag.Label{State: dag.NodeRunning, Detail: why}, true)
			s.eventually("#{@cmux_why}", func(lines []string) bool { return strings.Contains(strings.Join(lines, "\n"), why) })
		}
	}
	s.Refresh()
	settled()
	before := s.commands("list-panes")
	for range 5 {
		s.Refresh()
	}
	settled()
	if got := s.commands("list-panes"); got != before {
		t.Errorf("the panes were listed %d times", got-before)
	}
	args, err := s.server.AttachArgs("shop")
	must(t, err)
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env = s.server.Env
	tty, err := pty.StartWithSize(cmd, &pty.Winsize{Cols: 100, Rows: 30})
	must(t, err)
	defer func() { cmd.Process.Kill(); tty.Close(); cmd.Wait() }()
	go io.Copy(io.Discard, tty)
	deadline := time.After(30 * time.Second)
	for s.commands("list-panes") == before {
		select {
		case <-time.After(5 * time.Millisecond):
		case <-deadline:
			t.Fatal("nothing was arranged for who attached")
		}
	}
	settled()
	before = s.commands("list-panes")
	s.Refresh()
	settled()
	if s.commands("list-panes") == before {
		t.Error("what a person may have changed is not looked at while they are attached")
	}
}
