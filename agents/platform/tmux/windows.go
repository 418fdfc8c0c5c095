package tmux

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
)

// Windows gives each program a permanent window in one session. A pane's options record the
// program, so that another process finds the window again. It is safe for concurrent use.
type Windows struct {
	c       *Client
	session SessionID
	owner   string // owner of the windows, without white space

	mu sync.Mutex // one look with its action at a time
}

// NewWindows returns the windows of an owner in a session.
func NewWindows(c *Client, session SessionID, owner string) *Windows {
	return &Windows{c: c, session: session, owner: owner}
}

// NodeMarks returns the options by which the pane of a name is found again.
func NodeMarks(owner, name string) map[string]string {
	return map[string]string{optRun: owner, optNode: name}
}

// find returns the pane of a name; nil: it has none.
func (w *Windows) find(ctx context.Context, name string) (*Pane, error) {
	all, err := w.c.SessionPanes(ctx, w.session)
	if err != nil {
		return nil, err
	}
	var found *Pane
	for i := range all {
		if p := &all[i]; p.Run == w.owner && p.Node == name && (found == nil || found.Dead) {
			found = p
		}
	}
	return found, nil
}

// Open starts spec in the window of a name and creates the window if there is none. It
// first ends any process that still has the terminal there: the caller knows that the
// earlier program has ended.
func (w *Windows) Open(ctx context.Context, name string, spec Spec) (PaneID, error) {
	if name == "" || strings.ContainsAny(name, " \t\r\n") {
		return "", fmt.Errorf("bad name %q for a window", name)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	p, err := w.find(ctx, name)
	if err != nil {
		return "", err
	}
	if p != nil {
		err := w.c.RespawnPane(ctx, p.ID, spec, true)
		if !errors.Is(err, ErrNotFound) { // else a person has just closed it
			return p.ID, err
		}
	}
	at, err := w.c.NewWindow(ctx, w.session, name, spec, Marks{Pane: NodeMarks(w.owner, name)})
	return at.Pane, err
}

// Close removes the window of a name, if there is one.
func (w *Windows) Close(ctx context.Context, name string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	p, err := w.find(ctx, name)
	if err != nil || p == nil {
		return err
	}
	return ignore(w.c.KillPane(ctx, p.ID), ErrNotFound)
}

// Show sets the label in the border of the pane of a name.
func (w *Windows) Show(ctx context.Context, name string, l Label) error {
	p, err := w.find(ctx, name)
	if err != nil || p == nil {
		return err
	}
	_, err = w.c.RunAll(ctx, l.commands(p.ID)...)
	return ignore(err, ErrNotFound)
}

// Screen returns the text in the window of a name, with lines that scrolled away; empty if
// there is none.
func (w *Windows) Screen(ctx context.Context, name string) (string, error) {
	p, err := w.find(ctx, name)
	if err != nil || p == nil {
		return "", err
	}
	text, err := w.c.CapturePane(ctx, p.ID, 2000)
	return text, ignore(err, ErrNotFound)
}
