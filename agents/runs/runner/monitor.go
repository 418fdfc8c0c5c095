package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"cmux/agents/platform/tmux"
	"cmux/agents/runs/run"
	"cmux/signals"
)

// monitorWindow is the window whose process is the runner.
const monitorWindow = "monitor"

// monitorOption marks the monitor's pane with the project it belongs to.
const monitorOption = tmux.MonitorOption

// upPatience bounds the wait for a runner that was told to start.
const upPatience = 30 * time.Second

// StartInTmux starts a runner of r in the monitor window of its session, which
// is made when there is none, and returns when the runner is up. tmux itself
// starts it again when it is killed. Before the runner is told to start, ctx ends
// it and nothing has started; from there on it ends with the runner up or an
// error that says why it is not, whatever becomes of ctx.
func StartInTmux(ctx context.Context, r *run.Run, how string) (tmux.SessionID, error) {
	if _, err := r.ProveBin(); err != nil {
		return "", err
	}
	launch := run.NewID(time.Now())
	spec := tmux.Spec{Dir: r.Plan.Root, Argv: []string{r.Binary(), "agents", "run", "--run", r.Dir, "--how", how, "--launch", launch}}
	session, err := startMonitor(ctx, r, spec, launch)
	if errors.Is(err, tmux.ErrGone) {
		// The server that this met was on its way out; what was begun in it has
		// gone with it.
		session, err = startMonitor(ctx, r, spec, launch)
	}
	return session, err
}

// startMonitor starts spec in the monitor and returns when the runner is up.
func startMonitor(ctx context.Context, r *run.Run, spec tmux.Spec, launch string) (tmux.SessionID, error) {
	client, err := Server(r).Connect(ctx, nil)
	if err != nil {
		return "", err
	}
	defer client.Close()
	if err := ctx.Err(); err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), upPatience)
	defer cancel()
	session, pane, err := openMonitor(ctx, client, r, spec)
	if errors.Is(err, errThere) {
		return session, nil
	}
	if err != nil {
		return "", err
	}
	if err := client.SetLabel(ctx, pane, "cmux: "+r.Plan.TmuxSession()); err != nil {
		return "", err
	}
	if err := client.SetHome(ctx, session, pane); err != nil {
		return "", err
	}
	if err := client.Guard(ctx, pane, "the runner died five times in a minute: cmux agents resume"); err != nil {
		return "", err
	}
	return session, awaitRunner(ctx, client, r, pane, launch)
}

// errThere says that tmux has restarted the runner already, and that this runner
// continues the run.
var errThere = errors.New("a runner is there")

// openMonitor starts spec in the monitor's pane.
func openMonitor(ctx context.Context, c *tmux.Client, r *run.Run, spec tmux.Spec) (tmux.SessionID, tmux.PaneID, error) {
	name := r.Plan.TmuxSession()
	session, err := c.FindSession(ctx, name)
	if errors.Is(err, tmux.ErrNotFound) {
		at, err := c.NewSession(ctx, name, monitorWindow, spec, tmux.Marks{
			Session: map[string]string{tmux.RootOption: r.Plan.Root},
			Pane:    map[string]string{monitorOption: r.Plan.Root},
		})
		return at.Session, at.Pane, err
	}
	if err != nil {
		return "", "", err
	}
	panes, err := c.SessionPanes(ctx, session)
	if err != nil {
		return "", "", err
	}
	for _, p := range panes {
		if root, err := c.Option(ctx, p.ID, monitorOption); err == nil && root == r.Plan.Root {
			err := c.RespawnPane(ctx, p.ID, spec, false)
			if !errors.Is(err, tmux.ErrPaneActive) {
				return session, p.ID, err
			}
			// Whoever calls has found no runner alive: what is in this pane shows
			// a run that has ended, or tmux has started it meanwhile.
			if holder, err := Vacate(ctx, r); err != nil {
				return "", "", err
			} else if holder != nil {
				return session, p.ID, errThere
			}
			return session, p.ID, c.RespawnPane(ctx, p.ID, spec, true)
		}
	}
	at, err := c.NewWindow(ctx, session, monitorWindow, spec, tmux.Marks{Pane: map[string]string{monitorOption: r.Plan.Root}})
	return session, at.Pane, err
}

// awaitRunner returns when the runner of a launch has recorded that it took the run,
// or with what it said when it ended instead.
func awaitRunner(ctx context.Context, c *tmux.Client, r *run.Run, pane tmux.PaneID, launch string) error {
	watch := signals.Watch(ctx, r.Dir)
	defer watch.Close()
	tick := time.NewTicker(rescan)
	defer tick.Stop()
	h := run.NewHistory(r.Plan.Graph)
	var offset int64
	for up := false; ; {
		var err error
		offset, err = r.Replay(h, offset, func(rec *run.Record) {
			up = up || rec.Type == run.RunnerUp && rec.Launch == launch
		})
		if err != nil {
			return err
		}
		if up {
			return nil
		}
		if dead, said, err := deadPane(ctx, c, pane); err != nil {
			return err
		} else if dead {
			return fmt.Errorf("the runner ended at once: %s (see %s)", said, r.RunnerLog())
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the runner did not come up within %s (see %s)", upPatience, r.RunnerLog())
		case <-watch.C:
		case <-tick.C:
		}
	}
}

// deadPane reports whether the process of a pane has ended, and its last words.
func deadPane(ctx context.Context, c *tmux.Client, pane tmux.PaneID) (bool, string, error) {
	panes, err := c.ListPanes(ctx)
	if err != nil {
		return false, "", err
	}
	for _, p := range panes {
		if p.ID != pane || !p.Dead {
			continue
		}
		text, err := c.CapturePane(ctx, pane, 50)
		return true, lastWords(text), err
	}
	return false, "", nil
}

// lastWords is the last line of a screen that says something; tmux adds one
// of its own to a dead pane.
func lastWords(screen string) string {
	lines := strings.Split(strings.TrimRight(screen, "\n "), "\n")
	for i := len(lines) - 1; i >= 0; i-- {
		if l := strings.TrimSpace(lines[i]); l != "" && !strings.HasPrefix(l, "Pane is dead") {
			return l
		}
	}
	return "no word"
}

// AdoptEnv replaces the environment of this process, which is the tmux
// server's and may be of another day, by the run's frozen one.
func AdoptEnv(r *run.Run) error {
	env, err := r.Env()
	if err != nil {
		return err
	}
	keep := map[string]string{}
	for _, k := range []string{"TERM", "TMUX", "TMUX_PANE"} {
		if v, ok := os.LookupEnv(k); ok {
			keep[k] = v
		}
	}
	os.Clearenv()
	for _, kv := range env {
		if k, v, ok := strings.Cut(kv, "="); ok && k != "" {
			os.Setenv(k, v)
		}
	}
	for k, v := range keep {
		os.Setenv(k, v)
	}
	return nil
}
