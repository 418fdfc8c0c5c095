package terminals

import (
	"cmux/agents/control/project"
	"cmux/agents/org/standing"
	"cmux/agents/platform/tmux"
	"cmux/signals"
	"cmux/worktree/hint"
	"context"
	"errors"
	"fmt"
	"time"
)

// toFront brings the window of an agent to the front; without a name that of the
// supervisor, if there is one.
func toFront(ctx context.Context, server *tmux.Server, org *standing.Org, name string) error {
	wanted := name
	if name == "" {
		wanted = standing.Supervisor
	}
	a, err := org.Find(wanted)
	if err != nil {
		return project.Usage("cmux workers list", "%w", err)
	}
	err = tmux.ErrNotFound
	if a.Life.Pane != "" {
		err = server.ShowPane(ctx, tmux.PaneID(a.Life.Pane), false)
	}
	if errors.Is(err, tmux.ErrNotFound) && name == "" { // it is about to come
		return nil
	}
	if errors.Is(err, tmux.ErrNotFound) {
		return hint.New(fmt.Errorf("%s has no window", a.Name), "cmux workers status "+a.Name)
	}
	return err
}

// OrgFront brings the window of an agent to the front of the terminals that look at
// the organization's session.
func (t *Terminals) OrgFront(ctx context.Context, name string) error {
	org, err := t.Org()
	if err != nil {
		return err
	}
	return toFront(ctx, t.OrgTmux(org), org, name)
}

// OrgShow is the command that shows a terminal the organization's session, at
// the window of an agent, by default the supervisor's.
func (t *Terminals) OrgShow(ctx context.Context, name, mux string, terminal bool) ([]string, error) {
	org, err := t.Org()
	if err != nil {
		return nil, err
	}
	server := t.OrgTmux(org)
	session := org.Run.Plan.Session
	if a, err := org.Find(name); err == nil && a.Member.Session != "" {
		session = a.Member.Session
	}
	id, _, ok, err := standing.Session(ctx, server, t.Root, session)
	if err != nil {
		return nil, err
	}
	if !ok {
		err := fmt.Errorf("the session %s of the organization is gone", session)
		if org.Stopped {
			err = errors.New("the organization is stopped")
		}
		return nil, hint.New(err, "cmux start")
	}
	if err := toFront(ctx, server, org, name); err != nil {
		return nil, err
	}
	if mux == "" && !terminal {
		return nil, project.Usage("cmux logs "+name+" -f", noTerminal)
	}
	return attached(ctx, server, id, session, mux)
}

// AwaitSupervisor returns when the supervisor has its window, or when that takes
// too long: who looks sees the monitor then, which says why.
func (t *Terminals) AwaitSupervisor(ctx context.Context) error {
	org, err := t.Org()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, windowPatience)
	defer cancel()
	w := signals.Watch(ctx, org.Run.NodeDir(standing.Supervisor))
	defer w.Close()
	for {
		if err := org.Look(); err != nil {
			return err
		}
		if a := org.Agents[standing.Supervisor]; a != nil && a.Life.On() && a.Life.Pane != "" {
			return nil
		}
		select {
		case <-w.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// windowPatience bounds the wait for the supervisor's window.
const windowPatience = 5 * time.Second
