package standing

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"cmux/agents/platform/proc"
	"cmux/agents/platform/tmux"
	"cmux/agents/runs/host"
	"cmux/agents/runs/monitor"
	"cmux/agents/runs/run"
	"cmux/signals"
)

// sessionOwner is what the session of the organization of a project is marked
// with.
func sessionOwner(root string) string { return root + tmux.OrgMark }

// Session is the tmux session of the organization; ok is false when there is
// none of its name, or when that is somebody else's, whose is then not empty.
func Session(ctx context.Context, server *tmux.Server, root, name string) (id tmux.SessionID, whose string, ok bool, err error) {
	id, owner, err := monitor.Session(ctx, server, name)
	switch {
	case err != nil || id == "":
		return "", "", false, err
	case owner == sessionOwner(root):
		return id, "", true, nil
	case owner == "":
		owner = "somebody else"
	}
	return "", owner, false, nil
}

// StartMonitor starts the keeper in the first window of the organization's session, as
// monitor.Process says.
func StartMonitor(ctx context.Context, r *run.Run, server *tmux.Server) error {
	p := process(r, server)
	_, err := p.Start(ctx)
	return err
}

// StartDetached starts the keeper without tmux, where agents have no windows. Nobody
// restarts it when it is killed.
func StartDetached(ctx context.Context, r *run.Run) error {
	env, err := r.Env()
	if err != nil {
		return err
	}
	return process(r, nil).StartDetached(ctx, env)
}

func process(r *run.Run, server *tmux.Server) *monitor.Process {
	root, name := r.Plan.Root, r.Plan.Session
	return &monitor.Process{
		Run: r, Name: "the monitor", Server: server, Session: name, Owner: sessionOwner(root),
		Args: []string{"keep", "--run", r.Dir},
		Dead: "the monitor died five times in a minute: cmux start",
		Find: func(ctx context.Context, _ *tmux.Client) (tmux.SessionID, bool, error) {
			id, whose, ok, err := Session(ctx, server, root, name)
			if err == nil && whose != "" {
				err = fmt.Errorf("the tmux session %q is taken by %s", name, whose)
			}
			return id, ok, err
		},
		Vacate: func(ctx context.Context) (func() error, error) {
			lock, err := takeOver(ctx, r)
			if err != nil {
				return nil, err
			}
			return lock.Unlock, nil
		},
	}
}

// Revive has tmux start a keeper again whose death it missed. The caller has found
// the organization without one.
func Revive(ctx context.Context, r *run.Run, server *tmux.Server) error {
	session, _, ok, err := Session(ctx, server, r.Plan.Root, r.Plan.Session)
	if err != nil || !ok {
		return err
	}
	return server.ReviveMonitor(ctx, session, r.Plan.Root)
}

// takeOver takes the lock of an organization once its keeper has left it;
// monitor.ErrThere says that its keeper keeps it.
func takeOver(ctx context.Context, r *run.Run) (*signals.Lock, error) {
	for {
		lock, err := r.TryLock()
		var held *signals.HeldError
		if !errors.As(err, &held) {
			return lock, err
		}
		up := 0
		if _, err := r.EachRecordFrom(0, func(rec *run.Record) {
			switch rec.Type {
			case run.RunnerUp:
				up = rec.PID
			case run.RunnerDown, run.Stopped:
				up = 0
			}
		}); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		if up == held.Holder.PID && !proc.Dying(up) {
			return nil, monitor.ErrThere
		}
		if lock, err = r.AwaitLock(ctx); !errors.As(err, &held) || ctx.Err() != nil {
			return lock, err
		}
	}
}

// Detached is the host of agents that have no windows.
func Detached(c host.Config) (host.Host, error) {
	return host.NewWindowsBeside(c, func(_ context.Context, name, _ string, _ []string) error {
		return fmt.Errorf("%s works in a window, and there is no tmux here", name)
	})
}

// Nowhere is where agents have no windows.
type Nowhere struct{}

// Host is a host that starts nothing: for who only ends what there is.
func (Nowhere) Host(c host.Config) (host.Host, error) {
	return host.NewWindows(c, func(context.Context, string, string, []string) error { return errors.New("there is no tmux session") }), nil
}

// Put has no session to remember.
func (Nowhere) Put(string, string) {}

// Close has nothing to remove.
func (Nowhere) Close(context.Context, string) error { return nil }

// Show shows nothing.
func (Nowhere) Show(context.Context, string, Word, string) error { return nil }

// Screen is empty.
func (Nowhere) Screen(context.Context, string) (string, error) { return "", nil }

// Broken is never closed.
func (Nowhere) Broken() <-chan struct{} { return nil }

// Err is nil.
func (Nowhere) Err() error { return nil }
