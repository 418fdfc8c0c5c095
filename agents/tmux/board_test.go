package tmux

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

type rect struct{ w, h, x, y int }

var leaf = regexp.MustCompile(`(\d+)x(\d+),(\d+),(\d+),(\d+)`)

// leaves are the panes of a layout, by number.
func leaves(layout string) map[PaneID]rect {
	out := map[PaneID]rect{}
	for _, m := range leaf.FindAllStringSubmatch(layout, -1) {
		n := make([]int, 5)
		for i := range n {
			n[i], _ = strconv.Atoi(m[i+1])
		}
		out[PaneID("%"+m[5])] = rect{n[0], n[1], n[2], n[3]}
	}
	return out
}

func ids(n int) []PaneID {
	out := make([]PaneID, n)
	for i := range out {
		out[i] = PaneID("%" + strconv.Itoa(i+1))
	}
	return out
}

func TestLayoutTilesTheWindow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := rapid.IntRange(1, 400).Draw(t, "width")
		h := rapid.IntRange(1, 120).Draw(t, "height")
		n := rapid.IntRange(1, 40).Draw(t, "agents")
		main := PaneID("")
		if rapid.Bool().Draw(t, "main") {
			main = "%999"
		}
		layout, err := Layout(w, h, ids(n), main)
		if err != nil {
			if n <= Capacity(w, h, main != "") && w >= minPaneWidth && h >= 3*minPaneHeight {
				t.Fatalf("%d panes within capacity: %v", n, err)
			}
			return
		}
		cells := leaves(layout)
		want := n
		if main != "" {
			want++
		}
		if len(cells) != want {
			t.Fatalf("%d panes in %s, want %d", len(cells), layout, want)
		}
		area := make([]int, w*h) // every cell belongs to one pane or a border
		for id, r := range cells {
			for y := r.y; y < r.y+r.h; y++ {
				for x := r.x; x < r.x+r.w; x++ {
					if x >= w || y >= h || area[y*w+x] != 0 {
						t.Fatalf("%s overlaps or sticks out in %s", id, layout)
					}
					area[y*w+x] = 1
				}
			}
			visible := r.h
			if r.y == 0 {
				visible--
			}
			if r.w < 1 || visible < 1 && want > 1 {
				t.Fatalf("%s has no room in %s", id, layout)
			}
			fits := w >= minPaneWidth && agentHeight(h, main != "") > minPaneHeight && n <= Capacity(w, h, main != "")
			if id != main && fits && (r.w < minPaneWidth || visible < minPaneHeight) {
				t.Fatalf("%s is unreadable in %s within capacity", id, layout)
			}
		}
		if main != "" && n > 0 {
			if r := cells[main]; r.w != w || r.x != 0 || r.y+r.h != h || r.h > h/4+1 {
				t.Fatalf("the main pane is at %+v of %dx%d", r, w, h)
			}
		}
	})
}

func TestCapacity(t *testing.T) {
	for _, c := range []struct {
		w, h     int
		main     bool
		capacity int
	}{{220, 60, true, 12}, {220, 60, false, 18}, {120, 40, true, 2}, {120, 40, false, 4}, {80, 24, true, 1}, {80, 24, false, 2}, {20, 5, true, 1}} {
		if got := Capacity(c.w, c.h, c.main); got != c.capacity {
			t.Errorf("%dx%d, main %v: %d, want %d", c.w, c.h, c.main, got, c.capacity)
		}
	}
	if _, err := Layout(220, 60, nil, ""); err == nil {
		t.Error("a layout of nothing")
	}
}

// tmux must take every layout as it is: a wrong checksum or size is refused or
// adapted.
func TestTmuxTakesEveryLayout(t *testing.T) {
	c := connect(t, newServer(t), nil)
	ctx := t.Context()
	for _, size := range []struct{ w, h int }{{220, 60}, {120, 40}, {80, 24}} {
		for _, withMain := range []bool{true, false} {
			for n := 1; n <= Capacity(size.w, size.h, withMain)+2; n++ {
				p, err := c.NewWindow(ctx, c.session, "w", cat("/tmp"), Marks{})
				must(t, err)
				win := string(p.Window)
				run(t, c, "resize-window", "-t", win, "-x", strconv.Itoa(size.w), "-y", strconv.Itoa(size.h))
				total := n
				if withMain {
					total++
				}
				order := []PaneID{p.Pane}
				for len(order) < total {
					s, err := splitPane(ctx, c, order[len(order)-1], cat("/tmp"))
					must(t, err)
					order = append(order, s.Pane)
					run(t, c, "select-layout", "-t", win, "tiled")
				}
				agents, main := order, PaneID("")
				if withMain {
					agents, main = order[:n], order[n]
				}
				layout, err := Layout(size.w, size.h, agents, main)
				must(t, err)
				run(t, c, "select-layout", "-t", win, layout)
				if got := run(t, c, "display-message", "-p", "-t", win, "#{window_layout}"); got != layout {
					t.Errorf("%dx%d, %d agents, main %v: tmux made\n%s of\n%s", size.w, size.h, n, withMain, got, layout)
				}
				want := leaves(layout)
				for line := range strings.Lines(run(t, c, "list-panes", "-t", win, "-F", "#{pane_id} #{pane_width} #{pane_height} #{pane_left} #{pane_top}")) {
					var id PaneID
					var r rect
					if _, err := fmt.Sscan(line, &id, &r.w, &r.h, &r.x, &r.y); err != nil {
						t.Fatal(err)
					}
					if r.y == 1 { // the line of the border on top
						r.y, r.h = 0, r.h+1
					}
					if r != want[id] {
						t.Errorf("pane %s is at %+v, want %+v", id, r, want[id])
					}
				}
				run(t, c, "kill-window", "-t", win)
			}
		}
	}
}

func board(t testing.TB, c *Client, at Place, main bool) *Board {
	t.Helper()
	cfg := BoardConfig{Session: at.Session, Run: "run-1", Window: "agents"}
	if main {
		cfg.Main = &Spec{Dir: "/tmp", Argv: []string{"cat", "-"}}
	}
	b, err := NewBoard(t.Context(), c, cfg)
	must(t, err)
	return b
}

func open(t testing.TB, b *Board, name string, spec Spec) PaneID {
	t.Helper()
	p, err := b.Open(t.Context(), Node{Name: name, Label: Label{State: "running"}, Spec: spec})
	if err != nil {
		t.Fatalf("open %s: %v", name, err)
	}
	return p
}

// arranged checks that a window of the board is tiled as Layout says.
func arranged(t testing.TB, b *Board, w WindowID) error {
	t.Helper()
	panes, err := b.c.WindowPanes(t.Context(), w)
	if err != nil {
		return err
	}
	agents, main := b.roles(panes)
	want, err := Layout(panes[0].WindowWidth, panes[0].WindowHeight, agents, main)
	if err != nil {
		return err
	}
	if got := run(t, b.c, "display-message", "-p", "-t", string(w), "#{window_layout}"); got != want {
		return fmt.Errorf("the layout is\n%s, want\n%s", got, want)
	}
	return nil
}

func TestBoardFillsWindowsAndIsFoundAgain(t *testing.T) {
	for _, main := range []bool{true, false} {
		t.Run(fmt.Sprint("main=", main), func(t *testing.T) {
			c := connect(t, newServer(t), nil)
			at := session(t, c, cat("/tmp"))
			b := board(t, c, at, main)
			first, later := Capacity(220, 60, main), Capacity(220, 60, false)
			total := first + later + 1
			opened := map[string]PaneID{}
			for i := range total {
				name := fmt.Sprint("n", i)
				opened[name] = open(t, b, name, cat("/tmp"))
				if b.windows[0] == "" {
					t.Fatal("no window")
				}
				must(t, arranged(t, b, b.windows[len(b.windows)-1]))
			}
			windows := run(t, c, "list-windows", "-t", string(at.Session), "-F", "#{window_name} #{window_panes} #{window_active}")
			inFirst := first
			if main {
				inFirst++
			}
			if want := fmt.Sprintf("monitor 1 1\nagents %d 0\nagents-2 %d 0\nagents-3 1 0", inFirst, later); windows != want {
				t.Errorf("windows\n%s\nwant\n%s", windows, want)
			}
			panes, err := c.SessionPanes(t.Context(), at.Session)
			must(t, err)
			seen := map[string]int{}
			for _, p := range panes {
				if p.Node != "" {
					seen[p.Node]++
					if opened[p.Node] != p.ID || p.Run != "run-1" {
						t.Errorf("pane %+v is not that of its node", p)
					}
				}
			}
			if len(seen) != total || main && panes[first+1].Node != "" {
				t.Errorf("%d nodes have panes, want %d: %+v", len(seen), total, panes)
			}
			again := board(t, c, at, main)
			for name, id := range opened {
				if got, ok := again.Pane(name); !ok || got != id {
					t.Errorf("a new board has %s in %q", name, got)
				}
				if got, err := c.Option(t.Context(), id, optState); got != "running" || err != nil {
					t.Errorf("label %q, %v", got, err)
				}
			}
			if p := open(t, again, "one-more", cat("/tmp")); p == "" {
				t.Error("no pane")
			}
		})
	}
}

func TestBoardRejectsNames(t *testing.T) {
	c := connect(t, newServer(t), nil)
	at := session(t, c, cat("/tmp"))
	b := board(t, c, at, false)
	for _, name := range []string{"", "a b", "a\nb"} {
		if _, err := b.Open(t.Context(), Node{Name: name, Spec: cat("/tmp")}); err == nil {
			t.Errorf("%q was taken", name)
		}
	}
	if _, err := NewBoard(t.Context(), c, BoardConfig{Session: at.Session, Run: "a b"}); err == nil {
		t.Error("a run id with a space was taken")
	}
	if _, err := b.Open(t.Context(), Node{Name: "x", Spec: cat("/nonexistent")}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing directory: %v", err)
	}
}

func TestBoardRetriesInTheNodesOwnPane(t *testing.T) {
	c := connect(t, newServer(t), nil)
	ctx := t.Context()
	at := session(t, c, cat("/tmp"))
	b := board(t, c, at, true)
	dir := t.TempDir()
	p := open(t, b, "a", Spec{Dir: dir, Argv: []string{"/bin/sh", "-c", "echo first attempt"}})
	waitDead(t, c, p)
	if got := open(t, b, "a", cat(dir)); got != p {
		t.Errorf("the retry is in %s, the node's pane is %s", got, p)
	}
	if _, err := b.Open(ctx, Node{Name: "a", Spec: cat(dir)}); !errors.Is(err, ErrPaneActive) {
		t.Errorf("a live node was opened again: %v", err)
	}
	// The process is over, but a child of it holds the terminal.
	out := filepath.Join(dir, "out")
	got, err := b.Open(ctx, Node{Name: "a", Label: Label{State: "again"}, Ended: true, Spec: Spec{Dir: dir, Argv: []string{"/bin/sh", "-c", "echo done >out; exec cat"}}})
	if got != p || err != nil {
		t.Errorf("with the proof: %s, %v", got, err)
	}
	contents(t, out, "done\n")
	// A person closed the pane, or the whole window.
	must(t, c.KillPane(ctx, p))
	if q := open(t, b, "a", cat(dir)); q == p {
		t.Error("the pane came back")
	}
	run(t, c, "kill-window", "-t", string(b.windows[0]))
	open(t, b, "a", cat(dir))
	open(t, b, "b", cat(dir))
	must(t, arranged(t, b, b.windows[0]))
	if n := len(b.windows); n != 1 {
		t.Errorf("%d windows", n)
	}
}

func TestBoardUsesOldPanesAgain(t *testing.T) {
	c := connect(t, newServer(t), nil)
	ctx := t.Context()
	at := session(t, c, cat("/tmp"))
	cfg := BoardConfig{Session: at.Session, Run: "r", Window: "agents", Keep: 2}
	b, err := NewBoard(ctx, c, cfg)
	must(t, err)
	quick := Spec{Dir: "/tmp", Argv: []string{"/bin/sh", "-c", "echo old"}}
	panes := map[string]PaneID{}
	for _, n := range []string{"a", "b", "failed", "c", "d"} {
		panes[n] = open(t, b, n, quick)
		waitDead(t, c, panes[n])
	}
	must(t, b.Label(ctx, "failed", Label{State: "failed"}))
	for _, n := range []string{"c", "a", "b", "d"} { // the order of finishing
		must(t, b.Finish(ctx, n, Label{State: "done"}))
	}
	if b, err = NewBoard(ctx, c, cfg); err != nil { // it outlives the board
		t.Fatal(err)
	}
	for i, want := range []PaneID{panes["c"], panes["a"]} {
		if got := open(t, b, fmt.Sprint("new", i), cat("/tmp")); got != want {
			t.Errorf("new%d is in %s, want %s: %v", i, got, want, panes)
		}
	}
	if got := open(t, b, "new2", cat("/tmp")); slices.Contains([]PaneID{panes["b"], panes["d"], panes["failed"]}, got) {
		t.Errorf("a kept pane was used: %s", got)
	}
	if _, ok := b.Pane("a"); ok {
		t.Error("a still has its pane")
	}
	if got, _ := c.Option(ctx, panes["c"], optFinished); got != "" {
		t.Errorf("the used pane counts as finished: %q", got)
	}
	must(t, b.Label(ctx, "unknown", Label{}))
	must(t, b.Finish(ctx, "unknown", Label{}))
}

func TestBoardOfALaterRunGoesOnInTheSameWindows(t *testing.T) {
	c := connect(t, newServer(t), nil)
	at := session(t, c, cat("/tmp"))
	b := board(t, c, at, true)
	ended := open(t, b, "a", Spec{Dir: "/tmp", Argv: []string{"/bin/sh", "-c", "echo old"}})
	alive := open(t, b, "b", cat("/tmp"))
	waitDead(t, c, ended)
	before := mustPanes(t, c, b.windows[0])
	later, err := NewBoard(t.Context(), c, BoardConfig{Session: at.Session, Run: "run-2", Window: "agents", Main: b.cfg.Main})
	must(t, err)
	if _, ok := later.Pane("b"); ok {
		t.Error("the later run has the earlier one's node")
	}
	if got := open(t, later, "b", cat("/tmp")); got != ended {
		t.Errorf("b is in %s, want the free pane %s", got, ended)
	}
	if got := open(t, later, "c", cat("/tmp")); got == alive {
		t.Error("a live pane of the earlier run was taken")
	}
	must(t, arranged(t, later, b.windows[0]))
	if got := mustPanes(t, c, b.windows[0]); len(later.windows) != 1 || len(got) != len(before)+1 {
		t.Errorf("windows %v, panes %+v, before %+v", later.windows, got, before)
	}
	if got := pane(t, c, alive); got.Dead || got.Run != "run-1" || got.Node != "b" {
		t.Errorf("the live pane is now %+v", got)
	}
}

func TestBoardLeavesThePersonsViewAlone(t *testing.T) {
	c := connect(t, newServer(t), nil)
	ctx := t.Context()
	at := session(t, c, cat("/tmp"))
	b := board(t, c, at, true)
	a := open(t, b, "a", cat("/tmp"))
	open(t, b, "b", cat("/tmp"))
	w := b.windows[0]
	active := func() string {
		return run(t, c, "display-message", "-p", "-t", string(w), "#{pane_id} #{window_zoomed_flag}")
	}
	run(t, c, "select-pane", "-t", string(a))
	open(t, b, "c", cat("/tmp"))
	if got := active(); got != string(a)+" 0" {
		t.Errorf("active %s, want %s", got, a)
	}
	run(t, c, "resize-pane", "-Z", "-t", string(a))
	open(t, b, "d", cat("/tmp"))
	must(t, b.Refresh(ctx))
	if got := active(); got != string(a)+" 1" {
		t.Errorf("active %s, want %s zoomed", got, a)
	}
	run(t, c, "resize-pane", "-Z", "-t", string(a))
	must(t, b.Refresh(ctx))
	must(t, arranged(t, b, w))

	// Sizes a person chose stay, until asked or panes change.
	run(t, c, "resize-pane", "-t", string(a), "-x", "30")
	must(t, b.Refresh(ctx))
	if got := pane(t, c, a); got.Width != 30 {
		t.Errorf("the person's width became %d", got.Width)
	}
	must(t, b.Arrange(ctx, w))
	must(t, arranged(t, b, w))

	// A main pane moved up goes back to the bottom; its size of one line does
	// not hinder a new pane.
	_, main := b.roles(mustPanes(t, c, w))
	run(t, c, "resize-pane", "-t", string(main), "-y", "1")
	open(t, b, "e", cat("/tmp"))
	must(t, arranged(t, b, w))
	run(t, c, "swap-pane", "-d", "-s", string(main), "-t", string(a))
	must(t, b.Refresh(ctx))
	must(t, arranged(t, b, w))
	if panes := mustPanes(t, c, w); panes[len(panes)-1].ID != main {
		t.Errorf("main is not last: %+v", panes)
	}
}

func mustPanes(t testing.TB, c *Client, w WindowID) []Pane {
	t.Helper()
	panes, err := c.WindowPanes(t.Context(), w)
	must(t, err)
	return panes
}

func TestBoardFollowsTheTerminal(t *testing.T) {
	s := newServer(t)
	c := connect(t, s, nil)
	ctx := t.Context()
	at := session(t, c, cat("/tmp"))
	b := board(t, c, at, true)
	for i := range 5 {
		open(t, b, fmt.Sprint("n", i), cat("/tmp"))
	}
	w := b.windows[0]
	sized := func(width int) {
		t.Helper()
		eventually(t, func() error {
			if got := mustPanes(t, c, w)[0].WindowWidth; got != width {
				return fmt.Errorf("the window is %d wide, want %d", got, width)
			}
			return nil
		})
		must(t, b.Refresh(ctx))
		must(t, arranged(t, b, w))
	}
	connect(t, s, nil)
	sized(220) // a control client has no size
	run(t, c, "select-window", "-t", string(w))
	detach := attachPTY(t, s, at.Session, 120, 40)
	sized(120)
	open(t, b, "small", cat("/tmp")) // full at this size: another window
	if len(b.windows) != 2 {
		t.Errorf("%d windows", len(b.windows))
	}
	detach()
	attachPTY(t, s, at.Session, 200, 50)
	sized(200)
}

// splitPane makes a pane below p.
func splitPane(ctx context.Context, c *Client, p PaneID, spec Spec) (Place, error) {
	return c.create(ctx, spec, string(p), Marks{}, "split-window", "-v", "-t", string(p))
}
