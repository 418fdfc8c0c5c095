// Package monitor starts the process that carries a run or keeps an organization, in
// the monitor window of its tmux session.
package monitor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"cmux/agents/platform/tmux"
	"cmux/agents/runs/run"
	"cmux/signals"
)

const (
	// Window is the name of the window.
	Window = "monitor"
	// patience bounds the wait for a process that was told to start.
	patience = 30 * time.Second
)

// A Process is what to start, and where.
type Process struct {
	Run     *run.Run
	Name    string // in errors
	Server  *tmux.Server
	Session string // its name
	Owner   string // of the session, if it is made
	Args    []string
	Dead    string // what the window shows when the process has died too often

	// Find finds the session; ok is false if there is none.
	Find func(ctx context.Context, c *tmux.Client) (id tmux.SessionID, ok bool, err error)
	// Vacate makes the process in the window leave. Until release is called, no other
	// takes its place. ErrThere: the process stays.
	Vacate func(ctx context.Context) (release func() error, err error)
}

// ErrThere means that tmux has restarted the process already.
var ErrThere = errors.New("it is there")

// Start starts the process and returns when it is up. It makes the session and the
// window if they are missing. tmux restarts the process when it is killed. If ctx ends
// before the process is told to start, nothing has started; after that Start ignores
// ctx, and returns with the process up or an error that says why it is not. The caller
// has found no such process alive.
func (p *Process) Start(ctx context.Context) (tmux.SessionID, error) {
	if _, err := p.Run.ProveBin(); err != nil {
		return "", err
	}
	launch := run.NewID(time.Now())
	session, err := p.start(ctx, launch)
	if errors.Is(err, tmux.ErrGone) {
		// The server that this met was on its way out; what was begun in it has
		// gone with it.
		session, err = p.start(ctx, launch)
	}
	return session, err
}

func (p *Process) start(ctx context.Context, launch string) (tmux.SessionID, error) {
	client, err := p.Server.Connect(ctx, nil)
	if err != nil {
		return "", err
	}
	defer client.Close()
	if err := ctx.Err(); err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	argv := append([]string{p.Run.Binary()}, p.Args...)
	session, pane, err := p.open(ctx, client, tmux.Spec{Dir: p.Run.Plan.Root, Argv: append(argv, "--launch", launch)})
	if errors.Is(err, ErrThere) {
		return session, nil
	}
	if err != nil {
		return "", err
	}
	if err := client.SetLabel(ctx, pane, "cmux: "+p.Session); err != nil {
		return "", err
	}
	if err := client.SetHome(ctx, session, pane); err != nil {
		return "", err
	}
	if err := client.Guard(ctx, pane, p.Dead); err != nil {
		return "", err
	}
	return session, p.await(ctx, client, pane, launch)
}

// open starts spec in the window's pane.
func (p *Process) open(ctx context.Context, c *tmux.Client, spec tmux.Spec) (tmux.SessionID, tmux.PaneID, error) {
	root := p.Run.Plan.Root
	session, ok, err := p.Find(ctx, c)
	if err != nil {
		return "", "", err
	}
	marks := tmux.Marks{Pane: map[string]string{tmux.MonitorOption: root}}
	if !ok {
		marks.Session = map[string]string{tmux.RootOption: p.Owner}
		at, err := c.NewSession(ctx, p.Session, Window, spec, marks)
		return at.Session, at.Pane, err
	}
	panes, err := c.SessionPanes(ctx, session)
	if err != nil {
		return "", "", err
	}
	for _, at := range panes {
		if !at.Monitor {
			continue
		}
		if of, err := c.Option(ctx, at.ID, tmux.MonitorOption); err != nil || of != root {
			continue
		}
		err := c.RespawnPane(ctx, at.ID, spec, false)
		if !errors.Is(err, tmux.ErrPaneActive) {
			return session, at.ID, err
		}
		// The caller has found none alive: what is in this pane leaves, or tmux has
		// started it meanwhile.
		release, err := p.Vacate(ctx)
		if err != nil {
			return session, at.ID, err
		}
		err = c.RespawnPane(ctx, at.ID, spec, true)
		return session, at.ID, errors.Join(err, release())
	}
	at, err := c.NewWindow(ctx, session, Window, spec, marks)
	return session, at.Pane, err
}

// await returns when the process of a launch has recorded that it is up, or an error
// with its last line if it ended instead.
func (p *Process) await(ctx context.Context, c *tmux.Client, pane tmux.PaneID, launch string) error {
	watch := signals.Watch(ctx, p.Run.Dir)
	defer watch.Close()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	log := p.Run.RunnerLog()
	var offset int64
	for {
		up, next, err := p.up(offset, launch)
		if offset = next; up || err != nil {
			return err
		}
		panes, err := c.ListPanes(ctx)
		if err != nil {
			return err
		}
		for _, at := range panes {
			if at.ID == pane && at.Dead {
				text, err := c.CapturePane(ctx, pane, 50)
				return errors.Join(fmt.Errorf("%s ended at once: %s (see %s)", p.Name, lastLine(text), log), err)
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s did not come up within %s (see %s)", p.Name, patience, log)
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

// StartDetached starts the process without tmux, with an environment, and returns when it
// is up. It outlives this process, and nobody restarts it when it is killed.
func (p *Process) StartDetached(ctx context.Context, env []string) error {
	if _, err := p.Run.ProveBin(); err != nil {
		return err
	}
	file, err := signals.OpenFile(p.Run.RunnerLog(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer file.Close()
	launch := run.NewID(time.Now())
	cmd := exec.Command(p.Run.Binary(), append(slices.Clone(p.Args), "--detached", "--launch", launch)...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = p.Run.Plan.Root, env, file, file
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	gone := make(chan struct{})
	go func() { // as long as the process lives
		defer close(gone)
		cmd.Wait() // what it has to say is in the log
	}()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	watch := signals.Watch(ctx, p.Run.Dir)
	defer watch.Close()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	var offset int64
	for {
		up, next, err := p.up(offset, launch)
		if offset = next; up || err != nil {
			return err
		}
		select {
		case <-gone:
			return fmt.Errorf("%s ended at once (see %s)", p.Name, p.Run.RunnerLog())
		case <-ctx.Done():
			return fmt.Errorf("%s did not come up within %s (see %s)", p.Name, patience, p.Run.RunnerLog())
		case <-watch.C:
		case <-tick.C:
		}
	}
}

// up reports whether the records from offset on say that the process of a launch is up.
func (p *Process) up(offset int64, launch string) (up bool, next int64, err error) {
	next, err = p.Run.EachRecordFrom(offset, func(rec *run.Record) {
		up = up || rec.Type == run.RunnerUp && rec.Launch == launch
	})
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return up, next, err
}

// Session returns the tmux session of a name and its owner; id is empty if there is
// none.
func Session(ctx context.Context, s *tmux.Server, name string) (id tmux.SessionID, owner string, err error) {
	out, err := s.Exec(ctx, "display-message", "-p", "-t", "="+name+":", "#{session_id} #{session_name}")
	out, got, _ := strings.Cut(out, " ")
	if errors.Is(err, tmux.ErrNoServer) || errors.Is(err, tmux.ErrNotFound) || err == nil && got != name { // tmux takes another one where there is none
		return "", "", nil
	}
	if err != nil {
		return "", "", err
	}
	owner, err = s.Exec(ctx, "show-options", "-qv", "-t", out, tmux.RootOption)
	return tmux.SessionID(out), owner, err
}
