package standing

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"cmux/agents/platform/proc"
	"cmux/agents/platform/tmux"
	"cmux/agents/runs/host"
	"cmux/agents/runs/run"
	"cmux/signals"
)

const (
	// monitorWindow is the first window of the session, whose process is the
	// keeper.
	monitorWindow = "monitor"
	// upPatience bounds the wait for a keeper that was told to start.
	upPatience = 30 * time.Second
)

// sessionOwner is what the session of the organization of a project is marked
// with.
func sessionOwner(root string) string { return root + tmux.OrgMark }

// Session is the tmux session of the organization; ok is false when there is
// none of its name, or when that is somebody else's, whose is then not empty.
func Session(ctx context.Context, server *tmux.Server, root, name string) (id tmux.SessionID, whose string, ok bool, err error) {
	out, err := server.Exec(ctx, "display-message", "-p", "-t", "="+name+":", "#{session_id} #{session_name}")
	out, got, _ := strings.Cut(out, " ")
	if err == nil && got != name { // tmux takes another one where there is none
		return "", "", false, nil
	}
	if errors.Is(err, tmux.ErrNoServer) || errors.Is(err, tmux.ErrNotFound) {
		return "", "", false, nil
	}
	if err != nil {
		return "", "", false, err
	}
	owner, err := server.Exec(ctx, "show-options", "-qv", "-t", out, tmux.RootOption)
	if err != nil {
		return "", "", false, err
	}
	if owner != sessionOwner(root) {
		if owner == "" {
			owner = "somebody else"
		}
		return "", owner, false, nil
	}
	return tmux.SessionID(out), "", true, nil
}

// StartMonitor starts the keeper in the first window of the organization's
// session, which is made where there is none, and returns when it is up. tmux
// starts it again when it is killed. The caller has found no keeper alive.
func StartMonitor(ctx context.Context, r *run.Run, server *tmux.Server) error {
	if _, err := r.ProveBin(); err != nil {
		return err
	}
	launch := run.NewID(time.Now())
	spec := tmux.Spec{Dir: r.Plan.Root, Argv: []string{r.Binary(), "keep", "--run", r.Dir, "--launch", launch}}
	err := startMonitor(ctx, r, server, spec, launch)
	if errors.Is(err, tmux.ErrGone) { // the server that this met was on its way out
		err = startMonitor(ctx, r, server, spec, launch)
	}
	return err
}

func startMonitor(ctx context.Context, r *run.Run, server *tmux.Server, spec tmux.Spec, launch string) error {
	client, err := server.Connect(ctx, nil)
	if err != nil {
		return err
	}
	defer client.Close()
	if err := ctx.Err(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), upPatience)
	defer cancel()
	session, pane, err := openMonitor(ctx, client, server, r, spec)
	if errors.Is(err, errThere) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := client.SetLabel(ctx, pane, "cmux: "+r.Plan.Session); err != nil {
		return err
	}
	if err := client.SetHome(ctx, session, pane); err != nil {
		return err
	}
	if err := client.Guard(ctx, pane, "the monitor died five times in a minute: cmux start"); err != nil {
		return err
	}
	return awaitKeeper(ctx, client, r, pane, launch)
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

// errThere says that tmux was first to start the keeper again.
var errThere = errors.New("a keeper is there")

// openMonitor starts spec in the monitor's pane.
func openMonitor(ctx context.Context, c *tmux.Client, server *tmux.Server, r *run.Run, spec tmux.Spec) (tmux.SessionID, tmux.PaneID, error) {
	root := r.Plan.Root
	session, whose, ok, err := Session(ctx, server, root, r.Plan.Session)
	if err != nil {
		return "", "", err
	}
	marks := tmux.Marks{Pane: map[string]string{tmux.MonitorOption: root}}
	switch {
	case whose != "":
		return "", "", fmt.Errorf("the tmux session %q is taken by %s", r.Plan.Session, whose)
	case !ok:
		marks.Session = map[string]string{tmux.RootOption: sessionOwner(root)}
		at, err := c.NewSession(ctx, r.Plan.Session, monitorWindow, spec, marks)
		return at.Session, at.Pane, err
	}
	panes, err := c.SessionPanes(ctx, session)
	if err != nil {
		return "", "", err
	}
	for _, p := range panes {
		if p.Monitor {
			err := c.RespawnPane(ctx, p.ID, spec, false)
			if !errors.Is(err, tmux.ErrPaneActive) {
				return session, p.ID, err
			}
			// The caller has found no keeper alive: this is one that leaves, or that
			// tmux has started meanwhile.
			lock, err := takeOver(ctx, r)
			if err != nil {
				return session, p.ID, err
			}
			err = c.RespawnPane(ctx, p.ID, spec, true)
			return session, p.ID, errors.Join(err, lock.Unlock())
		}
	}
	at, err := c.NewWindow(ctx, session, monitorWindow, spec, marks)
	return session, at.Pane, err
}

// takeOver takes the lock of an organization once its keeper has left it; errThere
// says that its keeper keeps it.
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
			return nil, errThere
		}
		if lock, err = r.AwaitLock(ctx); !errors.As(err, &held) || ctx.Err() != nil {
			return lock, err
		}
	}
}

// awaitKeeper returns when the keeper of a launch is up, or with what it said
// when it ended instead.
func awaitKeeper(ctx context.Context, c *tmux.Client, r *run.Run, pane tmux.PaneID, launch string) error {
	watch := signals.Watch(ctx, r.Dir)
	defer watch.Close()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	log := r.RunnerLog()
	var offset int64
	for up := false; ; {
		var err error
		offset, err = r.EachRecordFrom(offset, func(rec *run.Record) {
			up = up || rec.Type == run.RunnerUp && rec.Launch == launch
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if up {
			return nil
		}
		panes, err := c.ListPanes(ctx)
		if err != nil {
			return err
		}
		for _, p := range panes {
			if p.ID == pane && p.Dead {
				text, err := c.CapturePane(ctx, pane, 50)
				return errors.Join(fmt.Errorf("the monitor ended at once: %s (see %s)", lastLine(text), log), err)
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the monitor did not come up within %s (see %s)", upPatience, log)
		case <-watch.C:
		case <-tick.C:
		}
	}
}

// lastLine is the last line of a screen that says something; tmux adds one of
// its own to a dead pane.
func lastLine(screen string) string {
	last := "no word"
	for line := range strings.Lines(screen) {
		if l := strings.TrimSpace(line); l != "" && !strings.HasPrefix(l, "Pane is dead") {
			last = l
		}
	}
	return last
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
