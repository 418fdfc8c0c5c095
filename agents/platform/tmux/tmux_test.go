package tmux

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"

	"cmux/agents/platform/tmux/tmuxtest"
	"cmux/agents/testkit/agenttest/fuzzing"
)

// newServer returns a server for the test, ended with it. Its directory is short, because
// socket paths are limited to about 100 bytes.
func newServer(t testing.TB) Server {
	t.Helper()
	if err := Check(t.Context()); err != nil {
		t.Skip(err)
	}
	dir, err := os.MkdirTemp("/tmp", "ct")
	if err != nil {
		t.Fatal(err)
	}
	s := Server{
		Socket: "t",
		Config: filepath.Join(dir, "tmux.conf"),
		Env: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TMUX_TMPDIR=" + dir, "SHELL=/bin/sh",
			"TERM=xterm-256color", "LC_ALL=C.UTF-8", "TMUX=/nowhere,1,0", "TMUX_PANE=%9"},
	}
	t.Cleanup(func() {
		ctx := context.Background()
		s.Exec(ctx, "kill-server")
		eventually(t, func() error {
			if _, err := s.Exec(ctx, "list-sessions"); !errors.Is(err, ErrNoServer) {
				return fmt.Errorf("the server still answers: %v", err)
			}
			return nil
		})
		os.RemoveAll(dir)
	})
	return s
}

func connect(t testing.TB, s Server, onEvent func(Event)) *Client {
	t.Helper()
	c, err := s.Connect(t.Context(), onEvent)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// eventually waits until check passes.
func eventually(t testing.TB, check func() error) {
	t.Helper()
	deadline := time.After(30 * time.Second)
	tick := time.NewTicker(3 * time.Millisecond)
	defer tick.Stop()
	for {
		err := check()
		if err == nil {
			return
		}
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatal(err)
		}
	}
}

func run(t testing.TB, c *Client, args ...string) string {
	t.Helper()
	out, err := c.Run(t.Context(), args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func cat(dir string) Spec { return Spec{Dir: dir, Argv: []string{"cat", "-u"}} }

func session(t testing.TB, c *Client, spec Spec) Place {
	t.Helper()
	p, err := c.NewSession(t.Context(), "shop", "monitor", spec, Marks{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func pane(t testing.TB, c *Client, id PaneID) Pane {
	t.Helper()
	panes, err := c.ListPanes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range panes {
		if p.ID == id {
			return p
		}
	}
	t.Fatalf("no pane %s in %v", id, panes)
	return Pane{}
}

func waitDead(t testing.TB, c *Client, id PaneID) {
	t.Helper()
	eventually(t, func() error {
		if p := pane(t, c, id); !p.Dead {
			return fmt.Errorf("%+v is not dead", p)
		}
		return nil
	})
}

// contents waits until the file holds want.
func contents(t testing.TB, name, want string) {
	t.Helper()
	eventually(t, func() error {
		got, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		if string(got) != want {
			return fmt.Errorf("%s holds %d bytes %.300q, want %d bytes %.300q", name, len(got), got, len(want), want)
		}
		return nil
	})
}

// attachPTY attaches a terminal of this size and shows the session until the
// test ends or the returned function is called.
func attachPTY(t testing.TB, s Server, id SessionID, width, height int) (detach func()) {
	t.Helper()
	args, err := s.AttachArgs(id)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env = s.env()
	tty, err := pty.StartWithSize(cmd, &pty.Winsize{Cols: uint16(width), Rows: uint16(height)})
	if err != nil {
		t.Fatal(err)
	}
	read := make(chan struct{})
	go func() {
		defer close(read)
		buf := make([]byte, 4096)
		for {
			if _, err := tty.Read(buf); err != nil {
				return
			}
		}
	}()
	detach = sync.OnceFunc(func() {
		cmd.Process.Kill()
		<-read
		cmd.Wait()
		tty.Close()
	})
	t.Cleanup(detach)
	return detach
}

var hardArgs = []string{
	"", " ", "plain", "a b", "-rf", "--", "-t", ";", "a;", `a\;`, `\`, `\\`, `a\`, "'", `"`, `'"'`, "$HOME", "${HOME}", "$",
	"`id`", "$(id)", "#{pane_id}", "#(id)", "#S", "##", "#[fg=red]", "~", "~root", "a~", "\n", "a\nb\n", "\r\n", "\t", "\x1b[31m",
	"%if", "%1", "%end 1 2 1", "{", "}", "{ a }", "A=b", "=", "#comment", "*?[x]", "é ü 漢字 🙂", "a\u0301", "\x7f", "\x01\x02", "&&", "|", "\\012", "\\u00e9", "\xff\xfe",
	strings.Repeat("x", 200_000), strings.Repeat(`"$\`+"\n", 20_000),
}

func TestArgumentsArriveByteForByte(t *testing.T) {
	s := newServer(t)
	c := connect(t, s, nil)
	dir := t.TempDir()
	for i, arg := range hardArgs {
		if arg == "" {
			continue // tmux sets no empty buffer
		}
		file := filepath.Join(dir, strconv.Itoa(i))
		run(t, c, "set-buffer", "-b", "x", "--", arg)
		run(t, c, "save-buffer", "-b", "x", "--", file)
		contents(t, file, arg)
	}
	if _, err := c.Run(t.Context(), "set-buffer", "a\x00b"); !errors.Is(err, errNUL) {
		t.Errorf("NUL: %v", err)
	}
	for i, arg := range hardArgs { // a forked tmux, likewise
		if arg == "" || len(arg) > 10_000 {
			continue // a message to the server holds 16 KB
		}
		file := filepath.Join(dir, "exec"+strconv.Itoa(i))
		if _, err := s.Exec(t.Context(), "set-buffer", "-b", "y", "--", arg); err != nil {
			t.Fatal(err)
		}
		run(t, c, "save-buffer", "-b", "y", "--", file)
		contents(t, file, arg)
	}
}

func TestArgvReachesThePaneWithoutAShell(t *testing.T) {
	c := connect(t, newServer(t), nil)
	dir := t.TempDir()
	var short []string
	for _, a := range hardArgs {
		if len(a) < 1000 {
			short = append(short, a)
		}
	}
	out := filepath.Join(dir, "argv")
	argv := append([]string{"/bin/sh", "-c", `f=$1; shift; printf '%s\0' "$@" >"$f.tmp"; mv "$f.tmp" "$f"`, "sh", out}, short...)
	p := session(t, c, Spec{Dir: dir, Argv: argv})
	contents(t, out, strings.Join(short, "\x00")+"\x00")
	waitDead(t, c, p.Pane)

	// Respawned without arguments, as Guard does, it runs the same command.
	if err := os.Remove(out); err != nil {
		t.Fatal(err)
	}
	run(t, c, "respawn-pane", "-t", string(p.Pane))
	contents(t, out, strings.Join(short, "\x00")+"\x00")

	// A single argument is a program's path, not a shell command.
	prog := filepath.Join(dir, "a b;$(id) #{pane_id}")
	if err := os.WriteFile(prog, []byte("#!/bin/sh\npwd >'"+dir+"/single.tmp'; mv '"+dir+"/single.tmp' '"+dir+"/single'"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := c.NewWindow(t.Context(), p.Session, "w", Spec{Dir: dir, Argv: []string{prog}}, Marks{}); err != nil {
		t.Fatal(err)
	}
	contents(t, filepath.Join(dir, "single"), dir+"\n")
}

func TestDirectoriesAreNotExpanded(t *testing.T) {
	c := connect(t, newServer(t), nil)
	root := t.TempDir()
	p := session(t, c, cat(root))
	out := filepath.Join(root, "out")
	for i, name := range []string{"a b", "#{pane_id}", "#(touch hacked)", "#S", "##", "a#", "##[x]", "#[x", "%H", "$HOME", "~", "é;", "-c", "'\"", "#{", "#,}"} {
		dir := filepath.Join(root, name)
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		file := out + strconv.Itoa(i)
		spec := Spec{Dir: dir, Argv: []string{"/bin/sh", "-c", `pwd >"$0.tmp"; mv "$0.tmp" "$0"`, file}}
		if _, err := c.NewWindow(t.Context(), p.Session, name, spec, Marks{}); err != nil {
			t.Fatal(err)
		}
		contents(t, file, dir+"\n")
	}
	if m, _ := filepath.Glob(filepath.Join(root, "*", "hacked")); m != nil {
		t.Errorf("a directory's name ran as a command: %v", m)
	}
	for _, dir := range []string{"", "relative", filepath.Join(root, "missing"), out + "0"} {
		if _, err := c.NewWindow(t.Context(), p.Session, "w", cat(dir), Marks{}); err == nil {
			t.Errorf("%q was taken for a directory", dir)
		}
	}
}

func TestAnswersFindTheirCommands(t *testing.T) {
	c := connect(t, newServer(t), nil)
	ctx := t.Context()
	var g sync.WaitGroup
	for i := range 8 {
		g.Go(func() {
			for j := range 50 {
				want := fmt.Sprintf("%d-%d", i, j)
				if j%5 == 0 {
					if _, err := c.Run(ctx, "no-such-command", want); err == nil {
						t.Error("no error from a command that does not exist")
					}
					continue
				}
				got, err := c.Run(ctx, "display-message", "-p", want)
				if got != want || err != nil {
					t.Errorf("got %q, %v; want %q", got, err, want)
				}
			}
		})
	}
	g.Wait()

	run(t, c, "set-buffer", "-b", "x", "--", "%end 1 2 1\n%error x\n%begin 1 2 1")
	out, err := c.RunAll(ctx, []string{"display-message", "-p", "a"}, []string{"kill-pane", "-t", "%99"},
		[]string{"show-buffer", "-b", "x"}, []string{"display-message", "-p", ""})
	if want := []string{"a", "", "%end 1 2 1\n%error x\n%begin 1 2 1", ""}; !equal(out, want) {
		t.Errorf("RunAll gave %q, want %q", out, want)
	}
	var refused *CommandError
	if !errors.Is(err, ErrNotFound) || !errors.As(err, &refused) || refused.Command != "kill-pane" {
		t.Errorf("RunAll gave the error %v", err)
	}

	// A sequence stops at the first refusal, and the next answers are right.
	out, err = c.sequence(ctx, []string{"display-message", "-p", "a"}, []string{"kill-pane", "-t", "%99"}, []string{"display-message", "-p", "b"})
	if !equal(out, []string{"a"}) || !errors.Is(err, ErrNotFound) {
		t.Errorf("sequence gave %q, %v", out, err)
	}
	if got := run(t, c, "display-message", "-p", "c"); got != "c" {
		t.Errorf("after a refused sequence: %q", got)
	}
}

func equal(a, b []string) bool { return fmt.Sprintf("%q", a) == fmt.Sprintf("%q", b) }

func TestHooksDoNotAnswer(t *testing.T) {
	c := connect(t, newServer(t), nil)
	run(t, c, "set-hook", "-g", "after-show-options", "display-message -p hook ; kill-pane -t %99")
	run(t, c, "set-hook", "-g", "after-display-message", "list-sessions")
	for i := range 20 {
		run(t, c, "show-options", "-g", "mouse")
		if got := run(t, c, "display-message", "-p", strconv.Itoa(i)); got != strconv.Itoa(i) {
			t.Fatalf("got %q, want %d", got, i)
		}
	}
}

func TestACancelledCommandDoesNotDisturbTheNext(t *testing.T) {
	s := newServer(t)
	c := connect(t, s, nil)
	ctx, cancel := context.WithCancel(t.Context())
	run(t, c, "wait-for", "never") // answered, but holds up what follows
	ended := make(chan error)
	go func() {
		_, err := c.Run(ctx, "display-message", "-p", "cancelled")
		ended <- err
	}()
	eventually(t, func() error {
		c.mu.Lock()
		defer c.mu.Unlock()
		if len(c.pending) == 0 {
			return errors.New("not sent yet")
		}
		return nil
	})
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	if _, err := s.Exec(t.Context(), "wait-for", "-S", "never"); err != nil {
		t.Fatal(err)
	}
	if got := run(t, c, "display-message", "-p", "next"); got != "next" {
		t.Errorf("got %q", got)
	}
}

func TestServerDeathReachesEveryWaiter(t *testing.T) {
	c := connect(t, newServer(t), nil)
	pid, err := strconv.Atoi(run(t, c, "display-message", "-p", "#{pid}"))
	if err != nil {
		t.Fatal(err)
	}
	run(t, c, "wait-for", "never") // answered, but holds up what follows
	const waiters = 5
	ended := make(chan error)
	for range waiters {
		go func() {
			_, err := c.Run(t.Context(), "list-sessions")
			ended <- err
		}()
	}
	eventually(t, func() error {
		c.mu.Lock()
		defer c.mu.Unlock()
		if len(c.pending) < waiters {
			return fmt.Errorf("%d sent", len(c.pending))
		}
		return nil
	})
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	for range waiters {
		if err := <-ended; !errors.Is(err, ErrGone) {
			t.Errorf("a waiter got %v", err)
		}
	}
	<-c.Done()
	if err := c.Err(); !errors.Is(err, ErrGone) {
		t.Errorf("Err is %v", err)
	}
	if _, err := c.Run(t.Context(), "list-sessions"); !errors.Is(err, ErrGone) {
		t.Errorf("afterwards Run gives %v", err)
	}
	// The next connection starts a server in the place of the dead one.
	c2 := connect(t, c.server, nil)
	run(t, c2, "list-sessions")
}

func TestCloseLeavesNothingBehind(t *testing.T) {
	s := newServer(t)
	c := connect(t, s, nil)
	other := connect(t, s, nil)
	if c.session == other.session {
		t.Fatalf("two clients share the session %s", c.session)
	}
	place := session(t, c, cat("/tmp"))
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if err := c.Err(); !errors.Is(err, ErrGone) {
		t.Errorf("Err is %v", err)
	}
	if err := syscall.Kill(c.cmd.Process.Pid, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("the child lives: %v", err)
	}
	eventually(t, func() error { // the hidden session is gone, the run's is not
		if got := run(t, other, "list-sessions", "-F", "#{session_id}"); strings.Contains(got, string(c.session)) {
			return fmt.Errorf("sessions %q", got)
		}
		return nil
	})
	if ok, err := s.HasSession(t.Context(), "shop"); !ok || err != nil {
		t.Errorf("HasSession: %v, %v", ok, err)
	}
	if ok, err := s.HasSession(t.Context(), "sho"); ok || err != nil {
		t.Errorf("HasSession of a prefix: %v, %v", ok, err)
	}
	// kill -9 of a process that held a client ends its hidden session as well.
	other.cmd.Process.Kill()
	<-other.Done()
	if _, err := s.Exec(t.Context(), "kill-session", "-t", string(place.Session)); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() error { // no session, no server
		if out, err := s.Exec(t.Context(), "list-sessions"); !errors.Is(err, ErrNoServer) {
			return fmt.Errorf("%q, %v", out, err)
		}
		return nil
	})
	if ok, err := s.HasSession(t.Context(), "shop"); ok || err != nil {
		t.Errorf("HasSession without a server: %v, %v", ok, err)
	}
}

func TestEventsArriveInOrderAndMayCall(t *testing.T) {
	s := newServer(t)
	var c *Client
	ready := make(chan struct{})
	seen := make(chan string, 1000)
	c = connect(t, s, func(e Event) {
		<-ready
		if e.Name == "unlinked-window-add" {
			if _, err := c.Run(context.Background(), "list-sessions"); err != nil && !errors.Is(err, ErrGone) {
				t.Error(err)
			}
			seen <- e.Args
		}
	})
	close(ready)
	p := session(t, c, cat("/tmp"))
	want := []string{string(p.Window)}
	for range 10 {
		w, err := c.NewWindow(t.Context(), p.Session, "w", cat("/tmp"), Marks{})
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, string(w.Window))
	}
	for _, w := range want {
		if got := <-seen; got != w {
			t.Errorf("event of %s, want %s", got, w)
		}
	}
}

func TestSessions(t *testing.T) {
	s := newServer(t)
	c := connect(t, s, nil)
	ctx := t.Context()
	p := session(t, c, cat("/tmp"))
	if got := pane(t, c, p.Pane); got.WindowWidth != DefaultWidth || got.WindowHeight != DefaultHeight || got.Window != p.Window || got.Session != p.Session {
		t.Errorf("the session's pane is %+v", got)
	}
	if _, err := c.NewSession(ctx, "shop", "monitor", cat("/tmp"), Marks{}); !errors.Is(err, ErrSessionExists) {
		t.Errorf("a second session of this name: %v", err)
	}
	for _, bad := range []string{"", "a b", "a.b", "a:b", "-é", "$1"} {
		if _, err := c.NewSession(ctx, bad, "monitor", cat("/tmp"), Marks{}); err == nil {
			t.Errorf("session name %q was taken", bad)
		}
	}
	if id, err := c.FindSession(ctx, "shop"); id != p.Session || err != nil {
		t.Errorf("FindSession: %v, %v", id, err)
	}
	if id, err := c.FindSession(ctx, "sho"); !errors.Is(err, ErrNotFound) {
		t.Errorf("FindSession of a prefix: %v, %v", id, err)
	}
	if err := c.RespawnPane(ctx, p.Pane, cat("/tmp"), false); !errors.Is(err, ErrPaneActive) {
		t.Errorf("respawn of a live pane: %v", err)
	}
	if err := c.RespawnPane(ctx, p.Pane, cat("/tmp"), true); err != nil {
		t.Error(err)
	}
	below, err := splitPane(ctx, c, p.Pane, Spec{Dir: "/tmp", Argv: []string{"/bin/sh", "-c", "exit 7"}})
	if err != nil {
		t.Fatal(err)
	}
	waitDead(t, c, below.Pane)
	if err := c.KillPane(ctx, below.Pane); err != nil {
		t.Error(err)
	}
	if err := c.KillPane(ctx, below.Pane); !errors.Is(err, ErrNotFound) {
		t.Errorf("a pane killed twice: %v", err)
	}
	if err := c.SetOption(ctx, p.Pane, "@x", "a #{pane_id} $HOME;"); err != nil {
		t.Error(err)
	}
	if got, err := c.Option(ctx, p.Pane, "@x"); got != "a #{pane_id} $HOME;" || err != nil {
		t.Errorf("option: %q, %v", got, err)
	}
	if got, err := c.Option(ctx, p.Pane, "@unset"); got != "" || err != nil {
		t.Errorf("unset option: %q, %v", got, err)
	}
	if err := c.KillSession(ctx, p.Session); err != nil {
		t.Error(err)
	}
	if _, err := c.FindSession(ctx, "shop"); !errors.Is(err, ErrNotFound) {
		t.Errorf("after its end: %v", err)
	}
}

func TestConfiguration(t *testing.T) {
	s := newServer(t)
	home := filepath.Dir(s.Config)
	must(t, os.WriteFile(filepath.Join(home, ".tmux.conf"), []byte("set -g @theirs 1\nset -g remain-on-exit off\n"), 0o644))
	must(t, os.MkdirAll(filepath.Join(home, ".config/cmux"), 0o755))
	must(t, os.WriteFile(filepath.Join(home, ".config/cmux/tmux.conf"), []byte("set -g history-limit 77\n"), 0o644))
	c := connect(t, s, nil)
	if out, err := s.Exec(t.Context(), "source-file", s.Config); err != nil || out != "" {
		t.Errorf("the configuration is not understood: %s, %v", out, err)
	}
	for name, want := range map[string]string{"@theirs": "", "remain-on-exit": "on", "history-limit": "77", "window-size": "latest", "pane-border-status": "top"} {
		if got := run(t, c, "show-options", "-gqv", name); got != want {
			got2 := run(t, c, "show-options", "-gwqv", name)
			if got2 != want {
				t.Errorf("%s is %q, want %q", name, got+got2, want)
			}
		}
	}
	if env := run(t, c, "show-environment", "-g"); strings.Contains(env, "TMUX=/nowhere") || strings.Contains(env, "TMUX_PANE=%9") {
		t.Errorf("the server has the environment of another: %s", env)
	}
	// A server that another program started has cmux's settings after Connect too.
	run(t, c, "set-option", "-gw", "remain-on-exit", "off")
	run(t, c, "set-option", "-s", "@cmux_config", "old")
	c2 := connect(t, s, nil)
	if got := run(t, c2, "show-options", "-gwv", "remain-on-exit"); got != "on" {
		t.Errorf("remain-on-exit is %q", got)
	}
	if _, err := (Server{Socket: "x", Config: "relative", Env: s.Env}).Connect(t.Context(), nil); err == nil {
		t.Error("a relative configuration path was taken")
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestVersions(t *testing.T) {
	for v, ok := range map[string]bool{
		"tmux 3.2": true, "tmux 3.2a": true, "tmux 3.3a": true, "tmux 3.10": true, "tmux 4.0": true, "tmux next-3.6": true,
		"tmux master": true, "tmux openbsd-7.4": true,
		"tmux 3.1c": false, "tmux 2.9": false, "tmux 1.8": false, "tmux next-3.1": false,
	} {
		var old *VersionError
		if err := checkVersion(v); (err == nil) != ok || err != nil && !errors.As(err, &old) {
			t.Errorf("%s: %v", v, err)
		}
	}
}

func TestMissingAndOldTmux(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	s := Server{Socket: "x", Config: filepath.Join(dir, "c")}
	if _, err := s.Connect(t.Context(), nil); !errors.Is(err, ErrMissing) {
		t.Errorf("Connect: %v", err)
	}
	if _, err := s.Exec(t.Context(), "list-sessions"); !errors.Is(err, ErrMissing) {
		t.Errorf("Exec: %v", err)
	}
	must(t, os.WriteFile(filepath.Join(dir, "tmux"), []byte("#!/bin/sh\necho tmux 3.0a\n"), 0o755))
	var old *VersionError
	if _, err := s.Connect(t.Context(), nil); !errors.As(err, &old) {
		t.Errorf("Connect: %v", err)
	}
}

func TestCapture(t *testing.T) {
	c := connect(t, newServer(t), nil)
	p := session(t, c, Spec{Dir: "/tmp", Argv: []string{"/bin/sh", "-c", "i=0; while [ $i -lt 300 ]; do i=$((i+1)); echo \"line $i; #{x}\"; done; exec cat"}})
	eventually(t, func() error {
		got, err := c.CapturePane(t.Context(), p.Pane, 100)
		if err != nil {
			return err
		}
		// What has scrolled away is there as far back as was asked for.
		if !strings.Contains(got, "line 300; #{x}") || !strings.Contains(got, "line 150; #{x}") || strings.Contains(got, "line 99; ") {
			return fmt.Errorf("the pane shows %q", got)
		}
		return nil
	})
}

func TestAttachInsideShowsLiteralLabels(t *testing.T) {
	s := newServer(t)
	c := connect(t, s, nil)
	ctx := t.Context()
	p := session(t, c, cat("/tmp"))
	label := "#[fg=red]x #{pane_id} #(id) ##[a %H é\n;"
	must(t, c.SetLabel(ctx, p.Pane, label))

	outer := newServer(t) // the person's own tmux
	oc := connect(t, outer, nil)
	at, err := oc.NewSession(ctx, "own", "w", cat("/tmp"), Marks{})
	must(t, err)
	args, err := s.AttachInsideArgs(p.Session, "cmux #S;")
	must(t, err)
	cmd := exec.Command(args[0], args[1:]...)
	sock := run(t, oc, "display-message", "-p", "#{socket_path},#{pid},"+strings.TrimPrefix(string(at.Session), "$"))
	cmd.Env = append(outer.env(), "TMUX="+sock, "TMUX_PANE="+string(at.Pane))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	panes, err := oc.SessionPanes(ctx, at.Session)
	must(t, err)
	if len(panes) != 2 {
		t.Fatalf("no window was opened: %+v", panes)
	}
	eventually(t, func() error {
		got, err := oc.CapturePane(ctx, panes[1].ID, 0)
		if want := "#[fg=red]x #{pane_id} #(id) ##[a %H é ;"; err == nil && !strings.Contains(got, want) {
			err = fmt.Errorf("no %q in %q", want, got)
		}
		return err
	})
	if got := run(t, oc, "display-message", "-p", "-t", string(panes[1].ID), "#{window_name}"); got != "cmux #S;" {
		t.Errorf("the window is called %q", got)
	}
	must(t, c.Message(ctx, p.Session, "100% of #{pane_id} #[fg=red]done"))
	eventually(t, func() error {
		got, err := oc.CapturePane(ctx, panes[1].ID, 0)
		if want := "100% of #{pane_id} #[fg=red]done"; err == nil && !strings.Contains(got, want) {
			err = fmt.Errorf("no %q in %q", want, got)
		}
		return err
	})
}

func TestGuard(t *testing.T) {
	tmuxtest.Retry(t, func(t *testing.T, failed func(string, ...any)) {
		s := newServer(t)
		c := connect(t, s, nil)
		ctx := t.Context()
		dir := t.TempDir()
		file := filepath.Join(dir, "pids")
		p := session(t, c, Spec{Dir: dir, Argv: []string{"/bin/sh", "-c", "echo $$ >>pids; exec cat"}})
		must := func(t *testing.T, err error) {
			t.Helper()
			if errors.Is(err, ErrGone) {
				failed("its server has died: %v", err)
			}
			must(t, err)
		}
		// born waits until the command was started n times, for the last one's pid.
		born := func(n int) (pid int) {
			t.Helper()
			asked := time.Now()
			eventually(t, func() error {
				must(t, c.Err())
				b, err := os.ReadFile(file)
				if got := strings.Fields(string(b)); err != nil || len(got) != n {
					// The pane is dead, has no status, and no hook runs.
					if p := pane(t, c, p.Pane); p.Dead && p.DeadStatus < 0 && time.Since(asked) > 10*time.Second {
						failed("it forgot a death: %+v", p)
					}
					return fmt.Errorf("started %d times, want %d", len(got), n)
				} else if pid, err = strconv.Atoi(got[n-1]); err != nil {
					return err
				}
				return nil
			})
			return pid
		}
		// kill ends it as kill -9 ends a runner, whose client goes with it.
		kill := func(pid int) {
			t.Helper()
			runner := connect(t, s, nil)
			must(t, syscall.Kill(pid, syscall.SIGKILL))
			must(t, runner.Close())
		}
		must(t, c.Guard(ctx, p.Pane, "given up; #{x}"))
		n := 1
		for range guardDeaths - 1 {
			kill(born(n))
			n++
		}
		born(n)
		must(t, c.Guard(ctx, p.Pane, "given up; #{x}")) // forgets
		for range guardDeaths - 1 {
			kill(born(n))
			n++
		}
		kill(born(n))
		waitDead(t, c, p.Pane)
		dead := time.Now()
		eventually(t, func() error {
			if got, err := c.Option(ctx, p.Pane, optLabel); got != "given up; ##{x}" {
				if p := pane(t, c, p.Pane); p.Dead && p.DeadStatus < 0 && time.Since(dead) > 10*time.Second {
					failed("it forgot a death: %+v", p)
				}
				return fmt.Errorf("label %q, %v", got, err)
			}
			return nil
		})
		born(n)
		must(t, c.Guard(ctx, p.Pane, "")) // a pane that is dead already
		n++
		pid := born(n)
		must(t, c.Unguard(ctx, p.Pane, pid+1)) // one that has left its place to pid
		kill(pid)
		n++
		pid = born(n)
		must(t, c.Unguard(ctx, p.Pane, pid))
		kill(pid)
		waitDead(t, c, p.Pane)
		born(n)
	})
}

func TestGuardGivesUpOnWhatEndsAtOnce(t *testing.T) {
	c := connect(t, newServer(t), nil)
	dir := t.TempDir()
	p := session(t, c, Spec{Dir: dir, Argv: []string{"/bin/sh", "-c", "echo >>starts"}})
	must(t, c.Guard(t.Context(), p.Pane, "gone"))
	eventually(t, func() error {
		if got, err := c.Option(t.Context(), p.Pane, optLabel); got != "gone" {
			return fmt.Errorf("label %q, %v", got, err)
		}
		return nil
	})
	waitDead(t, c, p.Pane)
	starts, err := os.ReadFile(filepath.Join(dir, "starts"))
	// tmux may miss a death that Guard itself sees.
	if n := len(starts); err != nil || n < guardDeaths || n > guardDeaths+1 {
		t.Errorf("started %d times, %v", n, err)
	}
}

// TestClientKilledUnread: killing a process whose control client has unread output ends
// only the client's own session.
func TestClientKilledUnread(t *testing.T) {
	s := newServer(t)
	c := connect(t, s, nil)
	p := session(t, c, Spec{Dir: t.TempDir(), Argv: []string{"/bin/sh", "-c", "exec cat"}})
	sessions := func() int {
		t.Helper()
		out, err := c.Run(t.Context(), "list-sessions", "-F", "#{session_name}")
		must(t, err)
		return len(strings.Fields(out))
	}
	before := sessions()
	for range 10 {
		cmd, err := s.control(t.Context(), nil)
		must(t, err)
		stdin, err := cmd.StdinPipe()
		must(t, err)
		stdout, err := cmd.StdoutPipe()
		must(t, err)
		must(t, cmd.Start())
		if _, err := stdout.Read(make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
		_, err = io.WriteString(stdin, strings.Repeat("list-keys\n", 50))
		must(t, err)
		must(t, stdin.Close())
		sessions() // tmux has gone round
		must(t, stdout.Close())
		must(t, cmd.Process.Kill()) // without readers it would wait
		cmd.Wait()
	}
	eventually(t, func() error {
		if n := sessions(); n != before {
			return fmt.Errorf("%d sessions, want %d", n, before)
		}
		return nil
	})
	if pane(t, c, p.Pane).Dead {
		t.Error("a pane died with it")
	}
}

// The server also answers for the command that a condition runs: that is not taken for
// another command's answer.
func TestAnswersOfConditions(t *testing.T) {
	c := connect(t, newServer(t), nil)
	p := session(t, c, Spec{Dir: t.TempDir(), Argv: []string{"/bin/sh", "-c", "exec cat"}})
	for format, want := range map[string]string{"1": "on", "0": ""} {
		then, err := condition(p.Pane, format, []string{"set-option", "-p", "-t", string(p.Pane), "@test_" + format, "on"})
		must(t, err)
		out, err := c.RunAll(t.Context(), then, []string{"display-message", "-p", "next"}, then, []string{"display-message", "-p", "after"})
		if err != nil || out[1] != "next" || out[3] != "after" {
			t.Errorf("%s: %q, %v", format, out, err)
		}
		if got, err := c.Option(t.Context(), p.Pane, "@test_"+format); err != nil || got != want {
			t.Errorf("%s: %q, %v", format, got, err)
		}
	}
	bad, err := condition("%99", "1", []string{"display-message", "-p", "x"})
	must(t, err)
	fails, err := condition(p.Pane, "1", []string{"kill-pane", "-t", "%99"})
	must(t, err)
	out, err := c.RunAll(t.Context(), bad, []string{"display-message", "-p", "one"}, fails, []string{"display-message", "-p", "two"})
	if err == nil || out[1] != "one" || out[3] != "two" {
		t.Errorf("%q, %v", out, err)
	}
	if out, err := c.sequence(t.Context(), fails, []string{"display-message", "-p", "behind it"}); err == nil {
		t.Errorf("beside others: %q", out)
	}
	if got, err := c.Run(t.Context(), "display-message", "-p", "still there"); got != "still there" {
		t.Errorf("%q, %v", got, err)
	}
}

// TestRevive: a pane whose end tmux missed is restarted under the guard's rules: not while
// it lives, not once it is unguarded or given up.
func TestRevive(t *testing.T) {
	s := newServer(t)
	c := connect(t, s, nil)
	ctx := t.Context()
	p := session(t, c, Spec{Dir: t.TempDir(), Argv: []string{"/bin/sh", "-c", "exec cat"}})
	must(t, c.Guard(ctx, p.Pane, "given up"))
	hook, err := guardHook(p.Pane)
	must(t, err)
	// missed simulates an end for which the hook did not run.
	missed := func() (pid int) {
		t.Helper()
		pid = pane(t, c, p.Pane).PID
		must(t, c.Unguard(ctx, p.Pane, pid))
		must(t, syscall.Kill(pid, syscall.SIGKILL))
		waitDead(t, c, p.Pane)
		return pid
	}
	restore := func() {
		t.Helper()
		_, err := c.Run(ctx, hook...)
		must(t, err)
	}
	for range guardDeaths - 1 {
		old := missed()
		must(t, s.Revive(ctx, p.Pane)) // unguarded
		if !pane(t, c, p.Pane).Dead {
			t.Fatal("an unguarded pane was started again")
		}
		restore()
		must(t, s.Revive(ctx, p.Pane))
		if now := pane(t, c, p.Pane); now.Dead || now.PID == old {
			t.Fatalf("it was not started again: %+v", now)
		}
		must(t, s.Revive(ctx, p.Pane)) // it lives
	}
	missed()
	restore()
	for range 2 { // the death that was one too many, and nothing more
		must(t, s.Revive(ctx, p.Pane))
	}
	if label, err := c.Option(ctx, p.Pane, optLabel); err != nil || label != "given up" || !pane(t, c, p.Pane).Dead {
		t.Errorf("label %q, %v, %+v", label, err, pane(t, c, p.Pane))
	}
}

// TestReviveByServer: the server itself restarts a guarded monitor for which it ran no hook,
// after the client of the process that died has detached. No other pane is touched.
func TestReviveByServer(t *testing.T) {
	s := newServer(t)
	c := connect(t, s, nil)
	ctx := t.Context()
	spec := Spec{Dir: t.TempDir(), Argv: []string{"/bin/sh", "-c", "exec cat"}}
	at := session(t, c, spec)
	window, err := c.NewWindow(ctx, at.Session, "other", spec, Marks{})
	must(t, err)
	monitor, other := at.Pane, window.Pane
	_, err = c.Run(ctx, "set-option", "-p", "-t", string(monitor), MonitorOption, "/p")
	must(t, err)
	for _, p := range []PaneID{monitor, other} {
		must(t, c.Guard(ctx, p, "given up"))
		hook, err := guardHook(p)
		must(t, err)
		pid := pane(t, c, p).PID
		must(t, c.Unguard(ctx, p, pid)) // no hook runs
		must(t, syscall.Kill(pid, syscall.SIGKILL))
		eventually(t, func() error { // a pane is dead before tmux has read how it ended
			how, err := c.Run(ctx, "display-message", "-p", "-t", string(p), "#{pane_dead_signal}")
			if how == "" || err != nil {
				return fmt.Errorf("%q, %v", how, err)
			}
			return nil
		})
		_, err = c.Run(ctx, hook...)
		must(t, err)
	}
	connect(t, s, nil).Close()
	eventually(t, func() error {
		if pane(t, c, monitor).Dead {
			return errors.New("the monitor is dead")
		}
		return nil
	})
	if !pane(t, c, other).Dead {
		t.Error("a pane that is no monitor was started again")
	}
	if got, err := c.Option(ctx, monitor, death(2)); err != nil || got != "0" {
		t.Errorf("one death was counted again: %q, %v", got, err)
	}
}

func TestFuzzing(t *testing.T) { fuzzing.Run(t) }

func FuzzQuote(f *testing.F) {
	for _, a := range hardArgs {
		if len(a) < 1000 {
			f.Add(a)
		}
	}
	s := newServer(f)
	c, err := s.Connect(context.Background(), nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { c.Close() })
	file := filepath.Join(f.TempDir(), "out")
	f.Fuzz(func(t *testing.T, arg string) {
		if arg == "" || strings.Contains(arg, "\x00") {
			return
		}
		if _, err := c.sequence(t.Context(), []string{"set-buffer", "-b", "f", "--", arg}, []string{"save-buffer", "-b", "f", "--", file}); err != nil {
			t.Fatalf("%q: %v", arg, err)
		}
		got, err := os.ReadFile(file)
		if err != nil || string(got) != arg {
			t.Errorf("%q became %q, %v", arg, got, err)
		}
	})
}

// A server has the environment of the process that first started it; programs in a session
// still find their own user's key.
func TestSessionsAreTheirStartersOwn(t *testing.T) {
	first := newServer(t)
	connect(t, first, nil)
	dir := filepath.Dir(first.Config)
	ctx := t.Context()
	said := func(name string) Spec {
		return Spec{Dir: dir, Argv: []string{"/bin/sh", "-c", fmt.Sprintf("echo \"$HOME $XDG_STATE_HOME\" > %[1]s.new && mv %[1]s.new %[1]s; exec cat", name)}}
	}
	expect := func(name, want string) {
		t.Helper()
		eventually(t, func() error {
			text, err := os.ReadFile(filepath.Join(dir, name))
			if err == nil && strings.TrimSpace(string(text)) != want {
				err = fmt.Errorf("%s has %q, not %q", name, text, want)
			}
			return err
		})
	}
	as := func(vars ...string) *Client {
		s := first
		s.Env = append(append([]string(nil), s.Env...), vars...)
		return connect(t, s, nil)
	}
	at, err := as("HOME=/second", "XDG_STATE_HOME=/second/#{state}").NewSession(ctx, "s", "w", said("session"), Marks{})
	if err != nil {
		t.Fatal(err)
	}
	expect("session", "/second /second/#{state}")
	third := as("HOME=/third")
	if _, err := third.NewWindow(ctx, at.Session, "v", said("window"), Marks{}); err != nil {
		t.Fatal(err)
	}
	expect("window", "/third")
	if err := as("HOME=/fourth", "XDG_STATE_HOME=/fourth;x").RespawnPane(ctx, at.Pane, said("pane"), true); err != nil {
		t.Fatal(err)
	}
	expect("pane", "/fourth /fourth;x")
	if _, err := third.Spare(ctx, said("spare")); err != nil {
		t.Fatal(err)
	}
	expect("spare", "/third")
}
