package standing

import (
	"context"
	"errors"

	"cmux/agents/run"
	"cmux/agents/tmux"
)

// Panes is where each agent has a window of tmux.
type Panes struct {
	client  *tmux.Client
	windows *tmux.Windows
}

// NewPanes connects to the tmux server, where the organisation has its session.
func NewPanes(ctx context.Context, r *run.Run, server *tmux.Server) (*Panes, error) {
	client, err := server.Connect(ctx, nil)
	if err != nil {
		return nil, err
	}
	session, err := client.FindSession(ctx, r.Plan.Session)
	if err != nil {
		return nil, errors.Join(err, client.Close())
	}
	return &Panes{client, tmux.NewWindows(client, session, run.OrganisationID)}, nil
}

// Open starts a program in the window of an agent.
func (p *Panes) Open(ctx context.Context, name, dir string, argv []string) error {
	_, err := p.windows.Open(ctx, name, tmux.Spec{Dir: dir, Argv: argv})
	return err
}

// Close removes the window.
func (p *Panes) Close(ctx context.Context, name string) error { return p.windows.Close(ctx, name) }

// looks are the colours of the words.
func looks() map[Word]string {
	return map[Word]string{Working: "fg=cyan", Checking: "fg=cyan", Starting: "fg=cyan", NeedsInput: "fg=magenta,bold",
		TakenOver: "fg=magenta,bold", Limited: "fg=magenta", Down: "fg=yellow", Stopped: "fg=yellow", Going: "fg=yellow"}
}

// Show says in the border how the agent stands.
func (p *Panes) Show(ctx context.Context, name string, w Word, detail string) error {
	return p.windows.Show(ctx, name, tmux.Label{State: name + ": " + string(w), Why: detail, Style: looks()[w], Needs: w == NeedsInput})
}

// Screen is the text in the window.
func (p *Panes) Screen(ctx context.Context, name string) (string, error) {
	return p.windows.Screen(ctx, name)
}

// Broken is closed when tmux can no longer be spoken to.
func (p *Panes) Broken() <-chan struct{} { return p.client.Done() }

// Err is why the connection to tmux is gone.
func (p *Panes) Err() error { return p.client.Err() }

// Disconnect ends the connection. Where the monitor's pane is named, tmux is not
// to start its process again: it leaves in order.
func (p *Panes) Disconnect(ctx context.Context, monitor tmux.PaneID) error {
	var err error
	if monitor != "" {
		if err = p.client.Unguard(ctx, monitor); errors.Is(err, tmux.ErrGone) || errors.Is(err, tmux.ErrNotFound) {
			err = nil
		}
	}
	return errors.Join(err, p.client.Close())
}
