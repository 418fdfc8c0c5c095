package tmux

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
)

// Windows gives programs that stay a window each, in one session. Which window
// is whose stands in options of its pane, so that another process finds it again.
// Its methods may be called from several goroutines.
type Windows struct {
	c       *Client
	session SessionID
	owner   string // whose windows they are, without white space

	mu sync.Mutex // one look and what follows from it at a time
}

// NewWindows are the windows of an owner in a session.
func NewWindows(c *Client, session SessionID, owner string) *Windows {
	return &Windows{c: c, session: session, owner: owner}
}

// NodeMarks are the options by which the pane of a name is found again.
func NodeMarks(owner, name string) map[string]string {
	return map[string]string{optRun: owner, optNode: name}
}

// find is the pane of a name; nil: it has none.
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

// Open starts spec in the window of a name, which is made when there is none.
// What still has the terminal there is ended first: the caller knows that the
// program before it has ended.
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
		if !errors.Is(err, ErrNotFound) { // else a person closed it this moment
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

// Show shows in the border of its pane how the program of a name stands.
func (w *Windows) Show(ctx context.Context, name string, l Label) error {
	p, err := w.find(ctx, name)
	if err != nil || p == nil {
		return err
	}
	_, err = w.c.RunAll(ctx, l.commands(p.ID)...)
	return ignore(err, ErrNotFound)
}

// Screen is the text in the window of a name, with lines that scrolled away;
// empty where there is none.
func (w *Windows) Screen(ctx context.Context, name string) (string, error) {
	p, err := w.find(ctx, name)
	if err != nil || p == nil {
		return "", err
	}
	text, err := w.c.CapturePane(ctx, p.ID, 2000)
	return text, ignore(err, ErrNotFound)
}
