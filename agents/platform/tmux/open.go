package tmux

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Open starts a node's process and returns its pane: the node's own if it has one, which
// returns to the tiled windows, else a new one. The pane belongs to the node from the
// moment it exists.
func (b *Board) Open(ctx context.Context, n Node) (PaneID, error) {
	if n.Name == "" || strings.ContainsAny(n.Name, " \t\r\n") {
		return "", fmt.Errorf("bad node name %q for a pane", n.Name)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if p, ok := b.panes[n.Name]; ok {
		err := b.again(ctx, p, n)
		if !errors.Is(err, ErrNotFound) {
			return p, err
		}
		delete(b.panes, n.Name) // a person closed it
	}
	if err := b.clear(ctx); err != nil {
		return "", err
	}
	p, err := b.place(ctx, n)
	if errors.Is(err, ErrNotFound) || errors.Is(err, ErrNoSpace) {
		// The window has changed since it was last listed: a person closed it or made panes
		// small, or the spare has gone.
		n.Spare = Spare{}
		clear(b.arranged)
		if err = b.refresh(ctx); err == nil {
			p, err = b.place(ctx, n)
		}
	}
	if err != nil {
		return "", err
	}
	b.panes[n.Name] = p
	b.shown[n.Name] = Shown{Label: n.Label}
	return p, nil
}

// again starts n in its own pane. The respawn comes first: if tmux refuses it, nothing has
// changed. Lines that scrolled away, from earlier attempts, stay.
func (b *Board) again(ctx context.Context, p PaneID, n Node) error {
	start, err := respawn(p, n.Spec, n.Ended)
	if err != nil {
		return err
	}
	unset := []string{"set-option", "-p", "-u", "-t", string(p), "--", optFinished}
	if _, err := b.c.sequence(ctx, append([][]string{start, unset}, b.tags(p, n)...)...); err != nil {
		return err
	}
	b.shown[n.Name] = Shown{Label: n.Label}
	return b.refresh(ctx)
}

// clear closes the panes that earlier runs left in the session, once.
func (b *Board) clear(ctx context.Context) error {
	if b.cleared {
		return nil
	}
	b.cleared = true
	p := &plan{b: b, frames: b.frames(), stages: make([][][][]string, 1)}
	for i := range b.all {
		if pane := &b.all[i]; pane.Kind != "" && pane.Run != b.cfg.Run && b.role(pane) == roleEnded {
			p.take(pane)
			p.do([][]string{{"kill-pane", "-t", string(pane.ID)}})
			p.moved = true
		}
	}
	if !p.moved {
		return nil
	}
	if err := p.carryOut(ctx); err != nil {
		return err
	}
	return b.refresh(ctx)
}

// tags returns the commands that mark p, or the current pane, as the node's.
func (b *Board) tags(p PaneID, n Node) [][]string {
	return append([][]string{setPane(p, optRun, b.cfg.Run), setPane(p, optNode, n.Name)}, n.Label.commands(p)...)
}

// place starts n in a new pane of the first window with room, or in a new window.
func (b *Board) place(ctx context.Context, n Node) (PaneID, error) {
	f, err := b.vacancy(ctx)
	if err != nil {
		return "", err
	}
	if f != nil && n.Spare.Pane != "" && !f.zoomed {
		return b.spareInto(ctx, f, n)
	}
	if f != nil {
		return b.splitInto(ctx, f, n)
	}
	if b.cfg.Main != nil && !b.cfg.Apart && !b.hasMain() {
		// The main pane is below the agents: their window comes first.
		if err := b.openMain(ctx, kindAgents); err != nil {
			return "", err
		}
		return b.place(ctx, n)
	}
	pane, err := b.window(ctx, n.Spec, kindAgents, b.tags("", n))
	if err == nil && b.cfg.Main != nil && !b.hasMain() {
		b.panes[n.Name] = pane
		err = b.openMain(ctx, kindMain)
	}
	return pane, err
}

func (b *Board) hasMain() bool {
	return slices.ContainsFunc(b.all, func(p Pane) bool { return p.Run != "" && p.Node == "" && !p.Monitor })
}

func (b *Board) openMain(ctx context.Context, kind string) error {
	_, err := b.window(ctx, *b.cfg.Main, kind, [][]string{setPane("", optRun, b.cfg.Run), setPane("", optLabel, "main")})
	if err != nil {
		return fmt.Errorf("open the main pane: %w", err)
	}
	return nil
}

// vacancy returns the first window with room for a pane; nil: none. It first moves out
// panes of ended nodes.
func (b *Board) vacancy(ctx context.Context) (*frame, error) {
	for tidied := false; ; tidied = true {
		p := &plan{b: b, frames: b.frames()}
		for _, f := range p.frames {
			if f.kind == kindAgents && p.room(f) > 0 {
				return f, nil
			}
		}
		if tidied || !slices.ContainsFunc(b.all, func(p Pane) bool { return p.Kind == kindAgents && b.role(&p) == roleEnded }) {
			return nil, nil
		}
		if err := b.refresh(ctx); err != nil {
			return nil, err
		}
	}
}

// window opens a window and marks it and its pane in one step: if the process were killed
// in between, nobody would know the pane. So the new window is current for a moment in
// which nothing is drawn or typed.
func (b *Board) window(ctx context.Context, spec Spec, kind string, tags [][]string) (PaneID, error) {
	rest, err := spec.args()
	if err != nil {
		return "", err
	}
	name := (&plan{b: b, frames: b.frames()}).name(kind)
	create := append([]string{"new-window", "-P", "-F", placeFormat, "-t", string(b.cfg.Session) + ":", "-n", name}, rest...)
	commands := append([][]string{create, setKind("", kind)}, tags...)
	out, err := b.c.sequence(ctx, append(commands, []string{"last-window"})...)
	if err != nil {
		return "", err
	}
	at, err := parsePlace(out[0])
	if err != nil {
		return "", err
	}
	return at.Pane, b.list(ctx)
}

// splitInto starts n in a new pane of a frame and tiles the frame, in one step.
func (b *Board) splitInto(ctx context.Context, f *frame, n Node) (PaneID, error) {
	rest, err := n.Spec.args()
	if err != nil {
		return "", err
	}
	create := []string{"split-window", "-v", "-P", "-F", placeFormat}
	at, target, before := b.beside(f)
	if before {
		create = append(create, "-b")
	}
	back := []string{"last-pane", "-t", string(target.ID)}
	if f.zoomed {
		create, back = append(create, "-Z"), append(back, "-Z")
	}
	create = append(append(create, "-t", string(target.ID)), rest...)
	commands := append(append([][]string{create}, b.tags("", n)...), back)
	made := b.made(f, at, n)
	layout, _ := b.layout(f)
	if layout != "" && !f.zoomed {
		commands = append(commands, []string{"select-layout", "-t", string(target.ID), layout})
	}
	out, err := b.c.sequence(ctx, commands...)
	if err != nil && len(out) == 0 {
		return "", err
	}
	place, perr := parsePlace(out[0])
	if perr != nil {
		return "", errors.Join(err, perr)
	}
	if err != nil || f.zoomed { // the window has changed: the next Refresh tiles it
		delete(b.arranged, f.id)
		return place.Pane, ignore(b.list(ctx), ErrNotFound)
	}
	made.ID = place.Pane
	b.enter(f, made, at, target, n)
	return made.ID, nil
}

// beside returns the target for a new pane in a frame: tmux inserts it beside the target in
// the window's list, which is the order of the layout. So it goes before the main pane or
// after the last agent.
func (b *Board) beside(f *frame) (at int, target *Pane, before bool) {
	at = len(f.panes)
	if _, main := b.split(f); main != "" {
		at = slices.IndexFunc(f.panes, func(p *Pane) bool { return p.ID == main })
		return at, f.panes[at], true
	}
	return at, f.panes[at-1], false
}

// made adds n's new pane to a frame. As long as its id is unknown, tmux goes by the order.
func (b *Board) made(f *frame, at int, n Node) *Pane {
	made := *f.panes[max(at-1, 0)]
	made.ID, made.Run, made.Node, made.Dead, made.Active, made.InMode, made.Finished = "%0", b.cfg.Run, n.Name, false, false, false, 0
	f.panes = slices.Insert(f.panes, at, &made)
	return &made
}

// enter records a pane that was placed, and its tiled window.
func (b *Board) enter(f *frame, made *Pane, at int, target *Pane, n Node) {
	b.shown[n.Name] = Shown{Label: n.Label}
	b.panes[n.Name] = made.ID
	_, b.arranged[f.id] = b.layout(f)
	b.all = slices.Insert(b.all, b.index(target.ID, at == len(f.panes)-1), *made)
}

// index returns the position of a new pane in the list: before or after another.
func (b *Board) index(p PaneID, after bool) int {
	at := slices.IndexFunc(b.all, func(q Pane) bool { return q.ID == p })
	if after {
		at++
	}
	return at
}
