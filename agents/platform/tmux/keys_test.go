package tmux

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// press attaches a terminal of a size to the session, in a tmux around it, and returns
// functions that press keys there and read the screen.
func press(t *testing.T, s Server, session SessionID, w, h int) (keys func(...string), screen func() string) {
	t.Helper()
	if _, err := s.Exec(t.Context(), "set-option", "-g", "assume-paste-time", "0"); err != nil { // these keys come fast
		t.Fatal(err)
	}
	outer := newServer(t)
	oc := connect(t, outer, nil)
	args, err := s.AttachArgs(session)
	must(t, err)
	at, err := oc.NewSession(t.Context(), "own", "w", cat("/tmp"), Marks{})
	must(t, err)
	run(t, oc, "set-option", "-g", "status", "off")
	run(t, oc, "resize-window", "-t", string(at.Window), "-x", fmt.Sprint(w), "-y", fmt.Sprint(h+1)) // and a border
	must(t, oc.RespawnPane(t.Context(), at.Pane, Spec{Dir: "/tmp", Argv: args}, true))
	keys = func(keys ...string) {
		t.Helper()
		run(t, oc, append([]string{"send-keys", "-t", string(at.Pane)}, keys...)...)
	}
	screen = func() string {
		t.Helper()
		text, err := oc.CapturePane(t.Context(), at.Pane, 0)
		must(t, err)
		return text
	}
	return keys, screen
}

// current waits until the session shows a pane, zoomed or not.
func current(t *testing.T, c *Client, s SessionID, want PaneID, zoomed bool) {
	t.Helper()
	eventually(t, func() error {
		got := run(t, c, "display-message", "-p", "-t", string(s), "#{pane_id} #{window_zoomed_flag}")
		flag := 0
		if zoomed {
			flag = 1
		}
		if want := fmt.Sprint(want, " ", flag); got != want {
			return fmt.Errorf("the session shows %s, want %s", got, want)
		}
		return nil
	})
}

func TestKeys(t *testing.T) {
	s := newServer(t)
	c := connect(t, s, nil)
	ctx := t.Context()
	at, err := c.NewSession(ctx, "shop", "monitor", cat("/tmp"), Marks{Pane: map[string]string{MonitorOption: "/tmp"}})
	must(t, err)
	must(t, c.SetHome(ctx, at.Session, at.Pane))
	b := board(t, c, at, true)
	panes := map[string]PaneID{}
	for i := range 5 {
		name := fmt.Sprint("n", i)
		panes[name] = open(t, b, name, cat("/tmp"))
	}
	must(t, b.Refresh(ctx))
	keys, screen := press(t, s, at.Session, 220, 45)
	shows := func(text string) {
		t.Helper()
		eventually(t, func() error {
			if got := screen(); !strings.Contains(got, text) {
				return fmt.Errorf("no %q in\n%s", text, got)
			}
			return nil
		})
	}
	shows("Keys: F8 next agent that needs you, F9 monitor, C-b e ended, C-b z zoom, C-b d leave, C-b ? all")
	need := func(b *Board, gate bool, nodes ...string) {
		t.Helper()
		show := map[string]Shown{}
		for name := range panes {
			show[name] = Shown{Label: Label{State: "running", Needs: slices.Contains(nodes, name)}}
		}
		must(t, b.Show(ctx, show))
		must(t, b.SetHeadline(ctx, Headline{Gate: gate}))
	}
	need(b, true, "n3", "n1")
	for _, key := range []string{"F8", "prefix"} {
		next := func(want PaneID, zoomed bool) {
			t.Helper()
			if key == "F8" {
				keys("F8")
			} else {
				keys("C-b", "a")
			}
			current(t, c, at.Session, want, zoomed)
		}
		next(panes["n1"], true)
		next(panes["n3"], true)
		next(at.Pane, false)
		if got := run(t, c, "display-message", "-p", "-t", string(panes["n1"]), "#{window_zoomed_flag}"); got != "0" {
			t.Error("the window that was left is still zoomed")
		}
		next(panes["n1"], true)
		keys("C-b", "m")
		current(t, c, at.Session, at.Pane, false)
		if got := run(t, c, "display-message", "-p", "-t", string(panes["n1"]), "#{window_zoomed_flag}"); got != "0" {
			t.Error("the window that was left is still zoomed")
		}
	}
	// A later runner continues.
	again := board(t, c, at, true)
	need(again, false, "n1", "n2")
	for _, want := range []string{"n1", "n2", "n1"} {
		keys("F8")
		current(t, c, at.Session, panes[want], true)
	}
	need(again, false)
	keys("F8") // nobody is left: back to the tiles
	current(t, c, at.Session, panes["n1"], false)
	shows("No agent needs you.")
	keys("F9")
	current(t, c, at.Session, at.Pane, false)

	must(t, s.ShowPane(ctx, panes["n4"], false))
	current(t, c, at.Session, panes["n4"], false)
	must(t, s.ShowPane(ctx, panes["n2"], true))
	current(t, c, at.Session, panes["n2"], true)
	must(t, s.ShowPane(ctx, panes["n2"], true))
	current(t, c, at.Session, panes["n2"], true)
	must(t, s.ShowPane(ctx, at.Pane, true))
	current(t, c, at.Session, at.Pane, false)

	// In a person's own pane, the keys go to the program there, unless somebody needs
	// the person: that is what the status line names the key for.
	own, err := c.NewWindow(ctx, at.Session, "own", Spec{Dir: "/tmp", Argv: []string{"cat", "-v"}}, Marks{})
	must(t, err)
	run(t, c, "select-window", "-t", string(own.Window))
	keys("F8", "F9")
	shows("^[[19~^[[20~")
	run(t, c, "set-option", "-t", string(at.Session), optHint, "1")
	shows("Keys: F8 next agent that needs you, C-b m monitor, C-b e ended")
	need(again, false, "n2")
	keys("F8")
	current(t, c, at.Session, panes["n2"], true)
	run(t, c, "select-window", "-t", string(own.Window))
	need(again, false)
	keys("F8")
	shows("^[[19~^[[20~^[[19~")
	// So they do in a session that is no project's.
	need(again, false, "n2")
	run(t, c, "set-option", "-t", string(at.Session), RootOption, "/tmp/shop")
	foreign, err := c.NewSession(ctx, "foreign", "own", Spec{Dir: "/tmp", Argv: []string{"cat", "-v"}}, Marks{})
	must(t, err)
	keys, screen = press(t, s, foreign.Session, 220, 45)
	shows("foreign")
	keys("F8")
	shows("^[[19~")
}

// The key goes to the panes of all sessions of the project, and to no other's.
func TestNextAcrossSessions(t *testing.T) {
	s := newServer(t)
	c := connect(t, s, nil)
	ctx := t.Context()
	const root = "/tmp/a, #{b}; 'c'" // as odd as a path can be
	agent := func(session, root, name string, needs bool) Place {
		t.Helper()
		at, err := c.NewSession(ctx, session, "monitor", cat("/tmp"),
			Marks{Session: map[string]string{RootOption: root}, Pane: map[string]string{MonitorOption: root}})
		must(t, err)
		w := NewWindows(c, at.Session, "org")
		p, err := w.Open(ctx, name, cat("/tmp"))
		must(t, err)
		must(t, w.Show(ctx, name, Label{State: name, Needs: needs}))
		return Place{at.Session, at.Window, p}
	}
	org := agent("org", root+OrgMark, "api", true)
	group := agent("org-group", root+OrgMark, "web", true)
	nodes := agent("run", root, "build", true)
	agent("other", "/tmp/other"+OrgMark, "api", true)
	keys, screen := press(t, s, org.Session, 220, 45)
	at := func(want Place) {
		t.Helper()
		eventually(t, func() error {
			if got := run(t, c, "list-clients", "-F", "#{?client_control_mode,,#{session_id} #{pane_id}}"); strings.TrimSpace(got) != fmt.Sprint(want.Session, " ", want.Pane) {
				return fmt.Errorf("the terminal shows %s, want %v\n%s", got, want, screen())
			}
			return nil
		})
	}
	at(Place{Session: org.Session, Pane: PaneID(run(t, c, "display-message", "-p", "-t", string(org.Window), "#{pane_id}"))})
	for _, want := range []Place{org, group, nodes, org, group} {
		keys("F8")
		at(want)
	}
	// The answered one is left out, also by the keeper that comes after.
	must(t, NewWindows(c, org.Session, "org").Show(ctx, "api", Label{State: "api"}))
	for _, want := range []Place{nodes, group, nodes} {
		keys("F8")
		at(want)
	}
}

// What the keys are called depends on the prefix of the tmux around.
func TestPrefixIsTold(t *testing.T) {
	s, outer := newServer(t), newServer(t)
	c, oc := connect(t, s, nil), connect(t, outer, nil)
	at := session(t, c, cat("/tmp"))
	_, err := oc.NewSession(t.Context(), "own", "w", cat("/tmp"), Marks{})
	must(t, err)
	socket := run(t, oc, "display-message", "-p", "#{socket_path}")
	told := func(outer, want string) {
		t.Helper()
		must(t, s.TellPrefix(t.Context(), at.Session, outer))
		if got := run(t, c, "display-message", "-p", "-t", string(at.Session), "#{E:@cmux_prefix}"); got != want {
			t.Errorf("the prefix is %q, want %q", got, want)
		}
	}
	told("", "C-b")
	told(socket, "C-b C-b")
	run(t, oc, "set-option", "-g", "prefix", "C-a")
	told(socket, "C-b")
	run(t, c, "set-option", "-g", "prefix", "C-a")
	told(socket, "C-a C-a")
	told("", "C-a")
}

// tmux complains of nothing in the configuration.
func TestConfigurationIsTaken(t *testing.T) {
	s := newServer(t)
	c := connect(t, s, nil)
	session(t, c, cat("/tmp"))
	if out, err := s.Exec(t.Context(), "source-file", s.Config); err != nil || out != "" {
		t.Errorf("%v: %s", err, out)
	}
}

// The name and the reason are cut, the state is not.
func TestBorderAtEveryWidth(t *testing.T) {
	c := connect(t, newServer(t), nil)
	at := session(t, c, cat("/tmp"))
	b := board(t, c, at, false)
	const long = "a-node-with-a-rather-long-name-that-describes-itself"
	p, err := b.Open(t.Context(), Node{Name: long, Label: Label{State: "needs input", Why: "#[fg=red] which database, #{pane_id} or sqlite?", Needs: true}, Spec: cat("/tmp")})
	must(t, err)
	q := open(t, b, "api", cat("/tmp"))
	_, err = splitPane(t.Context(), c, p, cat("/tmp"))
	must(t, err)
	border := func(p PaneID, width int) string {
		t.Helper()
		w := string(pane(t, c, p).Window)
		run(t, c, "resize-window", "-t", w, "-x", "300", "-y", "60")
		run(t, c, "select-layout", "-t", w, "even-horizontal")
		run(t, c, "resize-pane", "-t", string(p), "-x", fmt.Sprint(width))
		if got := pane(t, c, p).Width; got != width {
			t.Fatalf("the pane is %d wide, want %d", got, width)
		}
		text := run(t, c, "display-message", "-p", "-t", string(p), "#{T:pane-border-format}")
		return strings.NewReplacer("#[reverse]", "", " #[default]", "").Replace(text)
	}
	for width, want := range map[int]string{
		150: " " + long + ": needs input · ##[fg=red] which database, ##{pane_id} or sqlite?",
		100: " " + long + ": needs input · ##[fg=red] which database, …",
		78:  " " + long + ": needs input",
		60:  " a-node-with-a-rather-long-name-that-descr…: needs input",
		30:  " a-node-with…: needs input",
		24:  " a-node-with-a-rath…",
		12:  " a-node…",
	} {
		if got := border(p, width); got != want {
			t.Errorf("at %d: %q, want %q", width, got, want)
		}
	}
	if got := border(q, 20); got != " api" {
		t.Errorf("%q", got)
	}
	if got := border(q, 40); got != " api: running" {
		t.Errorf("%q", got)
	}
}
