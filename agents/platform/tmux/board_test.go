package tmux

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

type rect struct{ w, h, x, y int }

var leaf = regexp.MustCompile(`(\d+)x(\d+),(\d+),(\d+),(\d+)`)

// leaves returns the panes of a layout, by number.
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
		layout, err := lineTile.Layout(w, h, ids(n), main)
		if err != nil {
			if n <= lineTile.Capacity(w, h, main != "") && w >= lineTile.Width && h >= 3*lineTile.Height {
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
			fits := w >= lineTile.Width && agentHeight(h, main != "") > lineTile.Height && n <= lineTile.Capacity(w, h, main != "")
			if id != main && fits && (r.w < lineTile.Width || visible < lineTile.Height) {
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
		if got := lineTile.Capacity(c.w, c.h, c.main); got != c.capacity {
			t.Errorf("%dx%d, main %v: %d, want %d", c.w, c.h, c.main, got, c.capacity)
		}
	}
	if _, err := lineTile.Layout(220, 60, nil, ""); err == nil {
		t.Error("a layout of nothing")
	}
}

// tmux must accept every layout unchanged: it refuses or adapts a wrong checksum or size.
func TestTmuxTakesEveryLayout(t *testing.T) {
	c := connect(t, newServer(t), nil)
	ctx := t.Context()
	for _, size := range []struct{ w, h int }{{220, 60}, {120, 40}, {80, 24}} {
		for _, withMain := range []bool{true, false} {
			for n := 1; n <= lineTile.Capacity(size.w, size.h, withMain)+2; n++ {
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
				layout, err := lineTile.Layout(size.w, size.h, agents, main)
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
	cfg := BoardConfig{Session: at.Session, Run: "run-1"}
	if main {
		cfg.Main = &Spec{Dir: "/tmp", Argv: []string{"cat", "-"}}
	}
	return boardOf(t, c, cfg)
}

func boardOf(t testing.TB, c *Client, cfg BoardConfig) *Board {
	t.Helper()
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

// end records that nodes have ended.
func end(t testing.TB, b *Board, names ...string) {
	t.Helper()
	nodes := map[string]Shown{}
	for _, n := range names {
		nodes[n] = Shown{Label: Label{State: "done"}, Over: true, Done: true}
	}
	must(t, b.Show(t.Context(), nodes))
}

// tiled checks that every window of the board that is not zoomed is tiled as Layout says,
// and returns which panes are in which: "agents: a b main; ended: c".
func tiled(t testing.TB, b *Board) string {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	must(t, b.list(t.Context()))
	var all []string
	for _, f := range b.frames() {
		var names []string
		for _, p := range f.panes {
			switch name := p.Node; {
			case name == "" && p.Run != "":
				names = append(names, "main")
			case name == "":
				names = append(names, "own")
			default:
				names = append(names, name)
			}
		}
		all = append(all, f.name+": "+strings.Join(names, " "))
		want, _ := b.layout(f)
		if got := run(t, b.c, "display-message", "-p", "-t", string(f.id), "#{window_layout}"); got != want && !f.zoomed {
			t.Errorf("the layout of %s is\n%s, want\n%s", f.name, got, want)
		}
	}
	return strings.Join(all, "; ")
}

// stands checks what tiled returns.
func stands(t testing.TB, b *Board, want string) {
	t.Helper()
	if got := tiled(t, b); got != want {
		t.Errorf("there is %q, want %q", got, want)
	}
}

func names(from, to int) []string {
	var all []string
	for i := from; i < to; i++ {
		all = append(all, fmt.Sprint("n", i))
	}
	return all
}

func openAll(t testing.TB, b *Board, names ...string) map[string]PaneID {
	t.Helper()
	all := map[string]PaneID{}
	for _, n := range names {
		all[n] = open(t, b, n, cat("/tmp"))
	}
	return all
}

func TestBoardFillsWindowsAndIsFoundAgain(t *testing.T) {
	for _, main := range []bool{true, false} {
		t.Run(fmt.Sprint("main=", main), func(t *testing.T) {
			c := connect(t, newServer(t), nil)
			at := session(t, c, cat("/tmp"))
			b := board(t, c, at, main)
			first, later := lineTile.Capacity(220, 60, main), lineTile.Capacity(220, 60, false)
			total := first + later + 1
			opened := openAll(t, b, names(0, total)...)
			below := ""
			if main {
				below = " main"
			}
			want := "agents: " + strings.Join(names(0, first), " ") + below + "; agents-2: " +
				strings.Join(names(first, first+later), " ") + "; agents-3: " + strings.Join(names(first+later, total), " ")
			stands(t, b, want)
			if got := run(t, c, "list-windows", "-t", string(at.Session), "-F", "#{window_active}"); got != "1\n0\n0\n0" {
				t.Errorf("the monitor is not the current window: %q", got)
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
			open(t, again, "one-more", cat("/tmp"))
			stands(t, again, want+" one-more")
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

// Panes of ended nodes leave the tiled windows together and return on a restart; a later
// board recognizes them.
func TestEndedPanesLeaveTheTiles(t *testing.T) {
	c := connect(t, newServer(t), nil)
	at := session(t, c, cat("/tmp"))
	b := board(t, c, at, true)
	panes := openAll(t, b, "a", "b", "c", "d")
	stands(t, b, "agents: a b c d main")
	end(t, b, "b")
	stands(t, b, "agents: a c d main; ended: b")
	end(t, b, "a", "d")
	if got := tiled(t, b); got != "agents: c main; ended: b a d" && got != "agents: c main; ended: b d a" {
		t.Error(got)
	}
	b = board(t, c, at, true)
	p, err := b.Open(t.Context(), Node{Name: "b", Ended: true, Spec: cat("/tmp")})
	if p != panes["b"] || err != nil {
		t.Errorf("the retry is in %s, the node's pane is %s: %v", p, panes["b"], err)
	}
	end(t, b, "a", "d") // as a new runner reports all nodes
	if got := tiled(t, b); got != "agents: c b main; ended: a d" && got != "agents: c b main; ended: d a" {
		t.Error(got)
	}
	end(t, b, "c", "b")
	open(t, b, "e", cat("/tmp"))
	if got := tiled(t, b); !strings.HasPrefix(got, "agents: e main; ended: ") {
		t.Error(got)
	}
}

// The main pane has its own window, and the agents' windows close when the last agent has
// ended.
func TestMainPaneApart(t *testing.T) {
	c := connect(t, newServer(t), nil)
	at := session(t, c, cat("/tmp"))
	cfg := BoardConfig{Session: at.Session, Run: "run-1", Main: &Spec{Dir: "/tmp", Argv: []string{"cat", "-"}}, Apart: true}
	b := boardOf(t, c, cfg)
	openAll(t, b, "a", "b")
	stands(t, b, "agents: a b; main: main")
	run(t, c, "select-window", "-t", string(b.frames()[0].id))
	end(t, b, "a")
	stands(t, b, "agents: b; main: main; ended: a")
	end(t, b, "b")
	stands(t, b, "main: main; ended: a b")
	if got := run(t, c, "display-message", "-p", "-t", string(at.Session), "#{window_name}"); got != "monitor" {
		t.Errorf("the session shows %s", got)
	}
	open(t, b, "c", cat("/tmp"))
	stands(t, b, "main: main; ended: a b; agents: c")

	// A main pane below the agents leaves when there are more agents.
	c = connect(t, newServer(t), nil)
	at = session(t, c, cat("/tmp"))
	cfg.Session, cfg.Apart = at.Session, false
	b = boardOf(t, c, cfg)
	openAll(t, b, "a", "b")
	stands(t, b, "agents: a b main")
	end(t, b, "a", "b")
	cfg.Apart = true
	b = boardOf(t, c, cfg)
	end(t, b, "a", "b") // as a new runner reports all nodes
	open(t, b, "c", cat("/tmp"))
	if got := tiled(t, b); !strings.Contains(got, "main: main") || !strings.Contains(got, "agents: c") {
		t.Error(got)
	}
}

// A person at the pane of an agent that ends stays with it, because what they type next
// would go to another agent. The same holds in copy mode or when zoomed in.
func TestBoardLeavesAPersonAlone(t *testing.T) {
	s := newServer(t)
	c := connect(t, s, nil)
	ctx := t.Context()
	at := session(t, c, cat("/tmp"))
	b := board(t, c, at, false)
	panes := openAll(t, b, "a", "b", "c")
	run(t, c, "select-window", "-t", string(panes["a"]))
	run(t, c, "select-pane", "-t", string(panes["a"]))
	attachPTY(t, s, at.Session, 200, 50)
	eventually(t, func() error {
		if p := pane(t, c, panes["a"]); !p.Viewed || p.WindowWidth != 200 {
			return fmt.Errorf("nobody is there: %+v", p)
		}
		return nil
	})
	must(t, b.Refresh(ctx))
	run(t, c, "copy-mode", "-t", string(panes["b"]))
	end(t, b, "a", "b")
	stands(t, b, "agents: a b c")
	b.mu.Lock()
	must(t, b.list(ctx))
	late := b.plan(b.all[0].Typed.Add(typing + time.Second))
	b.mu.Unlock()
	if text := fmt.Sprint(late.stages); !strings.Contains(text, "break-pane -d -s "+string(panes["a"])) || strings.Contains(text, "-s "+string(panes["b"])) {
		t.Errorf("later: %s", text)
	}
	run(t, c, "send-keys", "-X", "-t", string(panes["b"]), "cancel")
	must(t, b.Refresh(ctx))
	stands(t, b, "agents: a c; ended: b")
	run(t, c, "select-pane", "-t", string(panes["c"]))
	run(t, c, "resize-pane", "-Z", "-t", string(panes["c"]))
	must(t, b.Refresh(ctx))
	stands(t, b, "agents: a c; ended: b")
	run(t, c, "resize-pane", "-Z", "-t", string(panes["c"]))
	must(t, b.Refresh(ctx))
	if got := tiled(t, b); got != "agents: c; ended: b a" {
		t.Error(got)
	}
}

// If the current window closes, clients see the window with its panes.
func TestThePersonFollowsTheLastToEnd(t *testing.T) {
	c := connect(t, newServer(t), nil)
	at := session(t, c, cat("/tmp"))
	b := board(t, c, at, false)
	panes := openAll(t, b, "a", "b")
	end(t, b, "a")
	stands(t, b, "agents: b; ended: a")
	run(t, c, "select-window", "-t", string(panes["b"]))
	attachPTY(t, b.c.server, at.Session, 200, 50)
	eventually(t, func() error {
		if p := pane(t, c, panes["b"]); !p.Viewed {
			return fmt.Errorf("%+v", p)
		}
		return nil
	})
	b.mu.Lock()
	b.shown["b"] = Shown{Over: true}
	must(t, b.list(t.Context()))
	p := b.plan(time.Now().Add(time.Hour))
	must(t, p.carryOut(t.Context()))
	b.mu.Unlock()
	if got := run(t, c, "display-message", "-p", "-t", string(at.Session), "#{window_name}"); got != "ended" {
		t.Errorf("the session shows %s", got)
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
	run(t, c, "kill-window", "-t", string(b.frames()[0].id))
	open(t, b, "a", cat(dir))
	open(t, b, "b", cat(dir))
	stands(t, b, "agents: a b main")
}

// A limited number of panes of ended nodes is kept: successful ones are closed first,
// oldest first.
func TestBoardKeepsSoManyEndedPanes(t *testing.T) {
	c := connect(t, newServer(t), nil)
	ctx := t.Context()
	at := session(t, c, cat("/tmp"))
	b := boardOf(t, c, BoardConfig{Session: at.Session, Run: "r", Keep: 2})
	openAll(t, b, "failed", "c", "a", "live", "b")
	must(t, b.Show(ctx, map[string]Shown{"failed": {Label: Label{State: "failed"}, Over: true}}))
	end(t, b, "c")
	end(t, b, "a")
	must(t, b.Refresh(ctx))
	stands(t, b, "agents: live b; ended: failed a")
	if _, ok := b.Pane("c"); ok {
		t.Error("c still has a pane")
	}
	must(t, b.Show(ctx, map[string]Shown{"unknown": {Over: true}}))
	open(t, b, "c", cat("/tmp"))
	stands(t, b, "agents: live b c; ended: failed a")
}

func TestBoardOfALaterRunGoesOnInTheSameWindows(t *testing.T) {
	c := connect(t, newServer(t), nil)
	at := session(t, c, cat("/tmp"))
	b := board(t, c, at, true)
	quick := Spec{Dir: "/tmp", Argv: []string{"/bin/sh", "-c", "echo old"}}
	waitDead(t, c, open(t, b, "a", quick))
	waitDead(t, c, open(t, b, "c", quick))
	alive := open(t, b, "b", cat("/tmp"))
	end(t, b, "a")
	later := boardOf(t, c, BoardConfig{Session: at.Session, Run: "run-2", Main: b.cfg.Main})
	if _, ok := later.Pane("b"); ok {
		t.Error("the later run has the earlier one's node")
	}
	open(t, later, "b", cat("/tmp"))
	stands(t, later, "agents: b b main")
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
	w := b.frames()[0].id
	active := func() string {
		return run(t, c, "display-message", "-p", "-t", string(w), "#{pane_id} #{window_zoomed_flag}")
	}
	run(t, c, "select-pane", "-t", string(a))
	open(t, b, "c", cat("/tmp"))
	if got := active(); got != string(a)+" 0" {
		t.Errorf("active %s, want %s", got, a)
	}
	run(t, c, "resize-pane", "-Z", "-t", string(a))
	must(t, b.Refresh(ctx))
	open(t, b, "d", cat("/tmp"))
	must(t, b.Refresh(ctx))
	if got := active(); got != string(a)+" 1" {
		t.Errorf("active %s, want %s zoomed", got, a)
	}
	run(t, c, "resize-pane", "-Z", "-t", string(a))
	must(t, b.Refresh(ctx))
	stands(t, b, "agents: a b c d main")

	// Sizes a person chose stay, until panes change.
	run(t, c, "resize-pane", "-t", string(a), "-x", "30")
	must(t, b.Refresh(ctx))
	if got := pane(t, c, a); got.Width != 30 {
		t.Errorf("the person's width became %d", got.Width)
	}

	// A main pane that was moved up goes back to the bottom; its height of one line does
	// not prevent a new pane.
	_, main := b.split(b.frames()[0])
	run(t, c, "resize-pane", "-t", string(main), "-y", "1")
	open(t, b, "e", cat("/tmp"))
	stands(t, b, "agents: a b c d e main")
	run(t, c, "swap-pane", "-d", "-s", string(main), "-t", string(a))
	must(t, b.Refresh(ctx))
	stands(t, b, "agents: a b c d e main")

	// A pane that a person moved into their own window stays there.
	run(t, c, "break-pane", "-d", "-s", string(a), "-t", string(at.Session)+":", "-n", "mine")
	end(t, b, "a")
	must(t, b.Refresh(ctx))
	stands(t, b, "agents: b c d e main")
	if got := run(t, c, "display-message", "-p", "-t", string(a), "#{window_name}"); got != "mine" {
		t.Errorf("it stands in %s", got)
	}
}

// A smaller terminal has fewer panes in more windows, and a larger one the reverse.
func TestBoardFollowsTheTerminal(t *testing.T) {
	s := newServer(t)
	c := connect(t, s, nil)
	ctx := t.Context()
	at := session(t, c, cat("/tmp"))
	b := board(t, c, at, true)
	panes := openAll(t, b, names(0, 5)...)
	w := panes["n0"]
	sized := func(width int, want string) {
		t.Helper()
		eventually(t, func() error {
			if got := pane(t, c, w).WindowWidth; got != width {
				return fmt.Errorf("the window is %d wide, want %d", got, width)
			}
			return nil
		})
		must(t, b.Refresh(ctx))
		must(t, b.Refresh(ctx)) // new windows are of the same size by now
		stands(t, b, want)
	}
	connect(t, s, nil)
	sized(220, "agents: n0 n1 n2 n3 n4 main") // a control client has no size
	run(t, c, "select-window", "-t", string(w))
	detach := attachPTY(t, s, at.Session, 120, 40)
	sized(120, "agents: n0 n1 main; agents-2: n2 n3 n4")
	detach()
	attachPTY(t, s, at.Session, 200, 50)
	sized(200, "agents: n0 n1 n2 n3 n4 main")
}

// Thirty nodes, all at once, end one after the other at each size.
func TestThirtyNodes(t *testing.T) {
	for _, size := range []struct{ w, h, windows int }{{80, 24, 15}, {160, 45, 4}, {250, 70, 2}} {
		t.Run(fmt.Sprintf("%dx%d", size.w, size.h), func(t *testing.T) {
			s := newServer(t)
			c := connect(t, s, nil)
			at := session(t, c, cat("/tmp"))
			b := boardOf(t, c, BoardConfig{Session: at.Session, Run: "r", Main: &Spec{Dir: "/tmp", Argv: []string{"cat", "-"}}, Apart: true})
			attachPTY(t, s, at.Session, size.w, size.h)
			eventually(t, func() error {
				if got := pane(t, c, at.Pane); got.WindowWidth != size.w {
					return fmt.Errorf("%+v", got)
				}
				return nil
			})
			all := names(0, 30)
			openAll(t, b, all...)
			must(t, b.Refresh(t.Context()))
			tiled(t, b)
			count := func(kind string) (windows, panes int) {
				for _, f := range b.frames() {
					if f.kind != kind {
						continue
					}
					windows++
					panes += len(f.panes)
					for _, p := range f.panes {
						if tile := b.tileOf(kind); p.Width < tile.Width || p.Height < tile.Height {
							t.Errorf("%s is %dx%d in %s", p.Node, p.Width, p.Height, f.name)
						}
					}
				}
				return windows, panes
			}
			if windows, panes := count(kindAgents); windows != size.windows || panes != 30 {
				t.Errorf("%d panes in %d windows, want %d", panes, windows, size.windows)
			}
			end(t, b, all[:25]...)
			must(t, b.Refresh(t.Context()))
			tiled(t, b)
			if _, panes := count(kindAgents); panes != 5 {
				t.Errorf("%d are tiled", panes)
			}
			if _, panes := count(kindEnded); panes != 25 {
				t.Errorf("%d have ended", panes)
			}
			openAll(t, b, "x", "y")
			end(t, b, append(all[25:], "x", "y")...)
			must(t, b.Refresh(t.Context()))
			tiled(t, b)
			if windows, _ := count(kindAgents); windows != 0 {
				t.Errorf("%d windows of agents", windows)
			}
		})
	}
}

// splitPane makes a pane below p.
func splitPane(ctx context.Context, c *Client, p PaneID, spec Spec) (Place, error) {
	return c.create(ctx, spec, string(p), Marks{}, "split-window", "-v", "-t", string(p))
}
