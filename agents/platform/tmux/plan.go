package tmux

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"
)

// typing is how long a pane stays where it is after its process has ended if a person typed
// in it: the next keys would go to another agent.
const typing = 10 * time.Second

// role is what a pane is for a Board.
type role uint8

const (
	rolePerson role = iota // the person's own pane: it stays where it is
	roleMain
	roleLive
	roleEnded
)

func (b *Board) role(p *Pane) role {
	switch {
	case p.Run == "":
		return rolePerson
	case p.Node == "":
		return roleMain
	case p.Run != b.cfg.Run:
		if p.Dead {
			return roleEnded
		}
	case b.panes[p.Node] != p.ID && p.Dead, b.shown[p.Node].Over:
		return roleEnded
	}
	return roleLive
}

// frame is a window of the board, existing or planned.
type frame struct {
	id     WindowID // empty: its first pane will become it
	kind   string
	name   string
	width  int
	height int
	room   [2]int // width and height available to panes
	zoomed bool
	viewed bool
	panes  []*Pane // in tmux's order, which is the layout's
	joins  int
	lost   int // last stage in which a pane left it, from 1
}

// first returns a pane of the frame, by which tmux finds its window; empty: none.
func (f *frame) first() PaneID {
	if len(f.panes) == 0 {
		return ""
	}
	return f.panes[0].ID
}

// frames returns the windows of the board, oldest first. tmux gives a window the size of
// the terminal only when a client shows it, so the current window's size decides what fits.
func (b *Board) frames() []*frame {
	var all []*frame
	seen := slices.IndexFunc(b.all, func(p Pane) bool { return p.Viewed })
	for i := range b.all {
		p := &b.all[i]
		if p.Kind == "" {
			continue // the monitor, or a person's window
		}
		at := slices.IndexFunc(all, func(f *frame) bool { return f.id == p.Window })
		if at < 0 {
			at = len(all)
			all = append(all, &frame{id: p.Window, kind: p.Kind, name: p.WindowName,
				width: p.WindowWidth, height: p.WindowHeight, room: [2]int{p.WindowWidth, p.WindowHeight}, zoomed: p.Zoomed, viewed: p.Viewed})
			if seen >= 0 {
				all[at].room = [2]int{b.all[seen].WindowWidth, b.all[seen].WindowHeight}
			}
		}
		all[at].panes = append(all[at].panes, p)
	}
	slices.SortStableFunc(all, func(x, y *frame) int { // @9 before @10
		if d := len(x.id) - len(y.id); d != 0 {
			return d
		}
		return slices.Compare([]byte(x.id), []byte(y.id))
	})
	return all
}

// plan is the changes that put every pane in its place.
type plan struct {
	b      *Board
	frames []*frame
	stages [][][][]string // lines of commands; a stage is sent when the one before has ended
	moved  bool
	tiled  map[PaneID]string // by first pane: the state for which its window was tiled
}

// plan finds the panes in the wrong window and the windows that are not tiled, from the
// last listing.
func (b *Board) plan(now time.Time) *plan {
	p := &plan{b: b, frames: b.frames(), tiled: map[PaneID]string{}, stages: make([][][][]string, 1)}
	p.drop()
	follow := p.leave(now)
	p.crowd()
	for p.merge() {
	}
	if follow != nil {
		p.do([][]string{{"select-window", "-t", string(follow.ID)}})
	}
	for _, f := range p.frames {
		p.tile(f)
	}
	return p
}

// drop closes the panes of ended nodes beyond the limit: successful ones first, oldest
// first.
func (p *plan) drop() {
	var ended []*Pane
	for _, f := range p.frames {
		if f.kind != kindEnded || f.zoomed {
			continue
		}
		for _, pane := range f.panes {
			if p.b.role(pane) == roleEnded {
				ended = append(ended, pane)
			}
		}
	}
	surplus := len(ended) - p.b.cfg.Keep
	if surplus <= 0 {
		return
	}
	rank := func(pane *Pane) int {
		if p.b.shown[pane.Node].Done {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(ended, func(x, y *Pane) int {
		if d := rank(x) - rank(y); d != 0 {
			return d
		}
		return x.Finished - y.Finished
	})
	for _, pane := range ended[:surplus] {
		p.moved = true
		p.take(pane)
		p.do([][]string{{"kill-pane", "-t", string(pane.ID)}})
	}
}

// leave moves panes of ended nodes out of the tiled windows, panes of restarted nodes back,
// and the main pane to its place. It returns a pane to show if the current window becomes
// empty.
func (p *plan) leave(now time.Time) (follow *Pane) {
	for _, f := range slices.Clone(p.frames) {
		if f.zoomed {
			continue
		}
		gone := f.kind == kindAgents && f.viewed
		var goes []*Pane
		for _, pane := range f.panes {
			role := p.b.role(pane)
			held := pane.Active && pane.Viewed && now.Sub(pane.Typed) < typing || pane.InMode
			switch {
			case role == roleEnded && f.kind == kindAgents && !held,
				role == roleLive && f.kind == kindEnded,
				role == roleMain && f.kind == kindAgents && p.b.cfg.Apart:
				goes = append(goes, pane)
			default:
				gone = false
			}
		}
		if gone && len(goes) > 0 {
			follow = goes[0]
		}
		if len(goes) == len(f.panes) && f.kind == kindAgents && p.find(kindEnded) == nil &&
			!slices.ContainsFunc(goes, func(pane *Pane) bool { return p.b.role(pane) != roleEnded }) {
			// All have ended: the window becomes the one for ended nodes.
			f.kind, f.name = kindEnded, kindEnded
			p.moved, follow = true, nil
			p.do([][]string{{"rename-window", "-t", string(f.id), f.name}, setKind(f.first(), kindEnded)})
			continue
		}
		for _, pane := range goes {
			switch p.b.role(pane) {
			case roleEnded:
				p.move(pane, kindEnded)
			case roleMain:
				p.move(pane, kindMain)
			default:
				p.move(pane, kindAgents)
			}
		}
	}
	return follow
}

// crowd moves panes out of a window that has too little room for them, for example after a
// smaller terminal attached: the last ones, but none that a person uses.
func (p *plan) crowd() {
	for _, f := range slices.Clone(p.frames) {
		if f.zoomed || f.kind == kindMain {
			continue
		}
		var surplus []*Pane
		for k := len(f.panes) - 1; k > 0 && len(surplus) < -p.room(f); k-- {
			pane := f.panes[k]
			if r := p.b.role(pane); (r == roleLive || r == roleEnded) && !(pane.Active && pane.Viewed) {
				surplus = append(surplus, pane)
			}
		}
		slices.Reverse(surplus)
		for _, pane := range surplus {
			p.move(pane, f.kind)
		}
	}
}

// merge moves the panes of the last window of agents to others that have room for all of
// them, unless a client shows it. It reports whether it did.
func (p *plan) merge() bool {
	var open []*frame
	for _, f := range p.frames {
		if f.kind == kindAgents && len(f.panes) > 0 {
			open = append(open, f)
		}
	}
	if len(open) < 2 {
		return false
	}
	last := open[len(open)-1]
	free := 0
	for _, f := range open[:len(open)-1] {
		if !f.zoomed {
			free += max(0, p.room(f))
		}
	}
	if last.zoomed || last.viewed || free < len(last.panes) || last.id == "" ||
		slices.ContainsFunc(last.panes, func(pane *Pane) bool { return p.b.role(pane) != roleLive }) {
		return false
	}
	for _, pane := range slices.Clone(last.panes) {
		p.move(pane, kindAgents) // to an earlier window: those come first
	}
	return true
}

// room returns for how many more panes a frame has room, below 0 if it has too many.
func (p *plan) room(f *frame) int {
	agents, main := p.b.split(f)
	return p.b.tileOf(f.kind).Capacity(f.room[0], f.room[1], main != "") - len(agents)
}

// find returns a frame of that kind with room for a pane; nil: there is none.
func (p *plan) find(kind string) *frame {
	for _, f := range p.frames {
		if f.kind == kind && !f.zoomed && len(f.panes) > 0 && p.room(f) > 0 {
			return f
		}
	}
	return nil
}

// take removes a pane from its frame and returns the frame. The caller's next command moves
// the pane in tmux. tmux 3.3a reports the active pane of a window to control clients a
// little later, and crashes if there is none by then: so the last pane of a window leaves
// in its own stage.
func (p *plan) take(pane *Pane) (from *frame) {
	for _, f := range p.frames {
		if k := slices.Index(f.panes, pane); k >= 0 {
			f.panes, from = slices.Delete(slices.Clone(f.panes), k, k+1), f
		}
	}
	if len(from.panes) == 0 && from.lost == len(p.stages) {
		p.stages = append(p.stages, nil)
	}
	from.lost = len(p.stages)
	return from
}

// do adds a line of commands.
func (p *plan) do(line [][]string) {
	last := len(p.stages) - 1
	p.stages[last] = append(p.stages[last], line)
}

// carryOut runs the plan in tmux.
func (p *plan) carryOut(ctx context.Context) error {
	for _, lines := range p.stages {
		if err := p.b.carryOut(ctx, lines); err != nil {
			return err
		}
	}
	return nil
}

// move moves a pane to a window of that kind with room, or to a new one.
func (p *plan) move(pane *Pane, kind string) {
	p.moved = true
	to := p.find(kind)
	from := p.take(pane)
	if to == nil {
		to = &frame{kind: kind, name: p.name(kind), width: from.width, height: from.height, room: from.room, panes: []*Pane{pane}}
		p.frames = append(p.frames, to)
		p.do([][]string{
			{"break-pane", "-d", "-s", string(pane.ID), "-t", string(p.b.cfg.Session) + ":", "-n", to.name},
			setKind(pane.ID, kind),
		})
		return
	}
	// At the bottom in full width there is room whatever the tiles are. The order of tmux's
	// list is that of the layout, the main pane last.
	join := []string{"join-pane", "-d", "-f", "-v", "-l", "2", "-s", string(pane.ID)}
	at := len(to.panes)
	if _, main := p.b.split(to); main != "" {
		at = slices.IndexFunc(to.panes, func(q *Pane) bool { return q.ID == main })
		join = append(join, "-b", "-t", string(main))
	} else {
		join = append(join, "-t", string(to.panes[at-1].ID))
	}
	to.panes = slices.Insert(to.panes, at, pane)
	line := [][]string{join}
	if to.joins++; to.joins%4 == 0 { // to make room for the next
		if layout, _ := p.b.layout(to); layout != "" {
			line = append(line, []string{"select-layout", "-t", string(to.first()), layout})
		}
	}
	p.do(line)
}

// name returns the first unused name for a window of that kind.
func (p *plan) name(kind string) string {
	for k := 1; ; k++ {
		name := kind
		if k > 1 {
			name += "-" + strconv.Itoa(k)
		}
		if !slices.ContainsFunc(p.frames, func(f *frame) bool { return f.name == name && len(f.panes) > 0 }) {
			return name
		}
	}
}

// tile tiles a window unless its size and panes have not changed since. It does not tile a
// zoomed window, because that would end the zoom.
func (p *plan) tile(f *frame) {
	if len(f.panes) == 0 || f.zoomed {
		return
	}
	// The main pane goes to the bottom, even if a person moved it.
	if _, main := p.b.split(f); main != "" && f.panes[len(f.panes)-1].ID != main {
		at, last := slices.IndexFunc(f.panes, func(q *Pane) bool { return q.ID == main }), len(f.panes)-1
		p.do([][]string{{"swap-pane", "-d", "-s", string(main), "-t", string(f.panes[last].ID)}})
		f.panes[at], f.panes[last] = f.panes[last], f.panes[at]
		p.moved = true
	}
	layout, key := p.b.layout(f)
	if layout == "" || f.id != "" && p.b.arranged[f.id] == key {
		return // or too small to tile: tmux's own layout stays
	}
	p.tiled[f.first()] = key
	p.do([][]string{{"select-layout", "-t", string(f.first()), layout}})
}

// tileOf returns the minimum size of panes in a window of that kind.
func (b *Board) tileOf(kind string) Tile {
	if kind == kindEnded {
		return endedTile
	}
	return b.cfg.Tile
}

// split returns the panes of a frame without the main pane, and the main pane.
func (b *Board) split(f *frame) (agents []PaneID, main PaneID) {
	for _, p := range f.panes {
		if main == "" && b.role(p) == roleMain && f.kind == kindAgents {
			main = p.ID
		} else {
			agents = append(agents, p.ID)
		}
	}
	return agents, main
}

// layout returns the layout of a frame, empty if the frame is too small for one, and a key
// that identifies it.
func (b *Board) layout(f *frame) (layout, key string) {
	agents, main := b.split(f)
	layout, err := b.tileOf(f.kind).Layout(f.width, f.height, agents, main)
	if err != nil {
		return "", ""
	}
	return layout, fmt.Sprint(f.kind, f.width, f.height, agents, main)
}
