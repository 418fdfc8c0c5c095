package standing

import (
	"context"
	"errors"
	"fmt"
	"os"

	"cmux/agents/platform/tmux"
	"cmux/agents/runs/host"
	"cmux/agents/runs/run"
)

// Panes is where each agent has a window of tmux: in the organization's session, or
// in another one that belongs to the organization too.
type Panes struct {
	server  *tmux.Server
	root    string
	client  *tmux.Client
	windows *tmux.Windows     // in the organization's session
	placed  map[string]string // agent to its session; no entry: the organization's
}

// NewPanes connects to the tmux server, where the organization has its session.
func NewPanes(ctx context.Context, r *run.Run, server *tmux.Server) (*Panes, error) {
	client, err := server.Connect(ctx, nil)
	if err != nil {
		return nil, err
	}
	session, err := client.FindSession(ctx, r.Plan.Session)
	if err != nil {
		return nil, errors.Join(err, client.Close())
	}
	return &Panes{server: server, root: r.Plan.Root, client: client, windows: tmux.NewWindows(client, session, run.OrganizationID), placed: map[string]string{}}, nil
}

// Put remembers where an agent's window is.
func (p *Panes) Put(name, session string) {
	if delete(p.placed, name); session != "" {
		p.placed[name] = session
	}
}

// at are the windows among which an agent has its own; nil: its session is not
// there.
func (p *Panes) at(ctx context.Context, name string) (*tmux.Windows, error) {
	session, ok := p.placed[name]
	if !ok {
		return p.windows, nil
	}
	id, whose, ok, err := Session(ctx, p.server, p.root, session)
	if err != nil {
		return nil, err
	}
	if whose != "" {
		return nil, fmt.Errorf("the tmux session %q is taken by %s", session, whose)
	}
	if !ok {
		return nil, nil
	}
	return tmux.NewWindows(p.client, id, run.OrganizationID), nil
}

// Host is the host whose attempts live in these windows, or in none.
func (p *Panes) Host(c host.Config) (host.Host, error) { return host.NewWindowsBeside(c, p.open) }

// open starts a program in the window of an agent. Its session is made with the
// window where it is not there.
func (p *Panes) open(ctx context.Context, name, dir string, argv []string) error {
	spec := tmux.Spec{Dir: dir, Argv: argv}
	w, err := p.at(ctx, name)
	if err != nil {
		return err
	}
	if w != nil {
		_, err = w.Open(ctx, name, spec)
		return err
	}
	marks := tmux.Marks{Session: map[string]string{tmux.RootOption: sessionOwner(p.root)}, Pane: tmux.NodeMarks(run.OrganizationID, name)}
	_, err = p.client.NewSession(ctx, p.placed[name], name, spec, marks)
	return err
}

// Close removes the window; with the last one its session goes.
func (p *Panes) Close(ctx context.Context, name string) error {
	w, err := p.at(ctx, name)
	if err != nil || w == nil {
		return err
	}
	return w.Close(ctx, name)
}

// looks are the colors of the words.
func looks() map[Word]string {
	return map[Word]string{Working: "fg=cyan", Checking: "fg=cyan", Starting: "fg=cyan", NeedsInput: "fg=magenta,bold",
		TakenOver: "fg=magenta,bold", Limited: "fg=magenta", Down: "fg=yellow", Stopped: "fg=yellow", Going: "fg=yellow"}
}

// Show says in the border how the agent stands.
func (p *Panes) Show(ctx context.Context, name string, w Word, detail string) error {
	at, err := p.at(ctx, name)
	if err != nil || at == nil {
		return err
	}
	return at.Show(ctx, name, tmux.Label{State: name + ": " + string(w), Why: detail, Style: looks()[w], Needs: WantsPerson(w, detail)})
}

// Screen is the text in the window.
func (p *Panes) Screen(ctx context.Context, name string) (string, error) {
	w, err := p.at(ctx, name)
	if err != nil || w == nil {
		return "", err
	}
	return w.Screen(ctx, name)
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
		if err = p.client.Unguard(ctx, monitor, os.Getpid()); errors.Is(err, tmux.ErrGone) || errors.Is(err, tmux.ErrNotFound) {
			err = nil
		}
	}
	return errors.Join(err, p.client.Close())
}
