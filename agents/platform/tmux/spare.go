package tmux

import (
	"context"
	"errors"
	"slices"
)

// Spare is a process started in advance, in a hidden pane. It waits for a line on its
// terminal that names its node.
type Spare struct {
	Pane PaneID
	Word string // the line that assigns it to the node
}

// Spare starts spec in the hidden session of this client. The process ends with the client
// unless a Board has assigned it to a node by then.
func (c *Client) Spare(ctx context.Context, spec Spec) (PaneID, error) {
	rest, err := spec.args()
	if err != nil {
		return "", err
	}
	at := string(c.session) + ":"
	out, err := c.sequence(ctx,
		// The word for one spare must not reach others, whatever the person has set.
		[]string{"set-option", "-w", "-t", at, "synchronize-panes", "off"},
		append([]string{"split-window", "-d", "-P", "-F", "#{pane_id}", "-t", at}, rest...))
	if err != nil {
		return "", err
	}
	return PaneID(out[1]), nil
}

// engage assigns a spare process to the node and runs the commands that place its pane on
// the board, in one step: if the process is killed, there is a spare or a placed pane of
// the node. If the spare has died, engage starts the node's own process instead. An error
// that wraps errUnplaced concerns only the placing.
func (b *Board) engage(ctx context.Context, n Node, placing ...[]string) error {
	p := n.Spare.Pane
	again, err := respawn(p, n.Spec, true)
	if err != nil {
		return err
	}
	call := append(b.tags(p, n),
		// Before it joins others in a window, where the person may have keys sent to all
		// panes.
		[]string{"send-keys", "-t", string(p), "-l", "--", n.Spare.Word},
		[]string{"send-keys", "-t", string(p), "Enter"},
		[]string{"display-message", "-p", "-t", string(p), "#{pane_dead}"})
	results, err := b.c.send(ctx, [][][]string{call, placing})
	if err != nil {
		return err
	}
	if err := results[0].err; err != nil {
		return err
	}
	if results[0].out[len(call)-1] == "1" {
		if _, err := b.c.Run(ctx, again...); err != nil {
			return err
		}
	}
	if err := results[1].err; err != nil {
		return errors.Join(errUnplaced, err)
	}
	return nil
}

var errUnplaced = errors.New("the pane could not be placed")

// spareInto places a spare process in a new pane of a frame and tiles the frame.
func (b *Board) spareInto(ctx context.Context, f *frame, n Node) (PaneID, error) {
	at, target, before := b.beside(f)
	join := []string{"join-pane", "-d", "-v"}
	if before {
		join = append(join, "-b")
	}
	placing := [][]string{append(join, "-s", string(n.Spare.Pane), "-t", string(target.ID))}
	made := b.made(f, at, n)
	made.ID = n.Spare.Pane
	if layout, _ := b.layout(f); layout != "" {
		placing = append(placing, []string{"select-layout", "-t", string(target.ID), layout})
	}
	err := b.engage(ctx, n, placing...)
	if errors.Is(err, errUnplaced) { // a person changed the window: the next Refresh tiles it
		delete(b.arranged, f.id)
		return n.Spare.Pane, b.ashore(ctx, n.Spare.Pane)
	}
	if err != nil {
		return "", err
	}
	b.enter(f, made, at, target, n)
	return made.ID, nil
}

// ashore gives a node's pane that is still hidden a new window, which always has room.
func (b *Board) ashore(ctx context.Context, p PaneID) error {
	if err := b.list(ctx); err != nil || slices.ContainsFunc(b.all, func(q Pane) bool { return q.ID == p }) {
		return err
	}
	name := (&plan{b: b, frames: b.frames()}).name(kindAgents)
	if _, err := b.c.sequence(ctx,
		[]string{"break-pane", "-d", "-s", string(p), "-t", string(b.cfg.Session) + ":", "-n", name}, setKind(p, kindAgents)); err != nil {
		return err
	}
	return b.list(ctx)
}
