package serving

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"cmux/agents/control/commands"
	"cmux/agents/org/standing"
	"cmux/agents/platform/endpoint"
	"cmux/agents/runs/run"
	"cmux/signals"
)

// Without an organization that runs, nobody keeps a server up. One is then started
// on demand, detached from who asks for it. It ends by itself, and leaves the
// project to the monitor's server as soon as there is a monitor.

const (
	// demandPatience bounds the wait for a server that was started on demand.
	demandPatience = 20 * time.Second
	// demandAgain is how often it is looked for meanwhile.
	demandAgain = 50 * time.Millisecond
)

// OnDemand is how a server that is started on demand is started.
type OnDemand struct {
	Binary string        // absolute path of this cmux
	Idle   time.Duration // it ends when it had neither page nor run for so long
}

// Opened is a link to a project's dashboard.
type Opened struct {
	Link    *endpoint.Link
	Started bool // a server was started for it
	Runs    bool // the project has a run, of now or of earlier
}

// RunUnderWay reports whether a run of the project that has not ended has its
// runner. A runner may stay after the end, and one that was lost is no reason to stay.
func (p *Serving) RunUnderWay() (bool, error) {
	owners, err := run.Owners(p.Root)
	var errs []error
	for _, o := range owners {
		r, rerr := run.Open(p.Root, o.ID)
		if errors.Is(rerr, fs.ErrNotExist) {
			continue // it was pruned this moment
		}
		if rerr == nil && !r.RunnerLives() {
			continue
		}
		over := false
		if rerr == nil {
			over, rerr = r.Over()
		}
		if rerr == nil && !over {
			return true, nil
		}
		errs = append(errs, rerr)
	}
	return false, errors.Join(append(errs, err)...)
}

// OpenOnDemand makes a one-time link to the project's dashboard: on the
// organization's server while that runs, and otherwise on one that is there on
// demand, which it starts where there is none.
func (p *Serving) OpenOnDemand(ctx context.Context, o OnDemand) (*Opened, error) {
	ids, err := run.List(p.Root)
	if err != nil {
		return nil, err
	}
	opened := &Opened{Runs: len(ids) > 0}
	ctx, cancel := context.WithTimeout(ctx, demandPatience)
	defer cancel()
	again := time.NewTicker(demandAgain)
	defer again.Stop()
	var ended chan error // of the server that was started; nil: none is under way
	for {
		if p.OrgRuns() {
			opened.Link, err = p.OpenLink(ctx)
			opened.Started = false
			return opened, err
		}
		if opened.Link, err = p.linkNow(ctx); err == nil {
			return opened, nil
		}
		if ended == nil && !endpoint.Lives(p.Root) {
			if ended, err = p.startServer(o); err != nil {
				return nil, err
			}
			opened.Started = true
		}
		select {
		case <-again.C:
		case failed := <-ended:
			if failed != nil {
				return nil, fmt.Errorf("the dashboard's server does not come up: %s", p.serverSaid())
			}
			ended = nil // another one was faster, and may have ended since
			opened.Started = false
		case <-ctx.Done():
			return nil, fmt.Errorf("the dashboard's server does not answer within %s (its log is %s): %w", demandPatience, p.Short(p.serverLogPath()), err)
		}
	}
}

// linkNow makes a link on the server that answers now.
func (p *Serving) linkNow(ctx context.Context) (*endpoint.Link, error) {
	ctx, cancel := context.WithTimeout(ctx, healthPatience)
	defer cancel()
	c, err := endpoint.Dial(ctx, p.Root)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	link := new(endpoint.Link)
	return link, c.Post(ctx, endpoint.LinksPath, nil, link)
}

func (p *Serving) serverLogPath() string { return filepath.Join(run.Folder(p.Root), "server.log") }

// serverLog is the log of servers that are started on demand.
func (p *Serving) serverLog() (*os.File, error) {
	return signals.OpenFile(p.serverLogPath(), os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
}

// serverSaid is what the last of them said at last.
func (p *Serving) serverSaid() string {
	file, err := p.serverLog()
	if err != nil {
		return err.Error()
	}
	defer file.Close()
	return lastSaid(file)
}

// startServer starts a server in a session of its own, with the caller's
// environment, as a run is: what is started from its page has it too.
func (p *Serving) startServer(o OnDemand, more ...string) (ended chan error, err error) {
	if err := signals.Init(p.Root); err != nil {
		return nil, err
	}
	file, err := p.serverLog()
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if info, err := file.Stat(); err == nil && info.Size() > serverLogMost {
		_ = file.Truncate(0) // what it says is of use while it is new
	}
	cmd := exec.Command(o.Binary, append([]string{"serve", "--idle", o.Idle.String()}, more...)...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = p.Root, p.Env, file, file
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // it stays when the terminal closes
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	ended = make(chan error, 1)
	go func() { ended <- cmd.Wait() }() // ends with this process, which the server outlives
	return ended, nil
}

// successorIdle is how long a server stays without a page that takes over from an
// organization's.
const successorIdle = time.Minute

// Succeed starts a process that stops the organization, which ends this server, and then
// serves the project on demand: the page that ordered the stop stays. The channel gets
// why the process has ended.
func (p *Serving) Succeed(runs bool) (ended <-chan error, err error) {
	if p.Program == nil {
		return nil, errors.New("the organization cannot be stopped here")
	}
	binary, err := p.Program()
	if err != nil {
		return nil, fmt.Errorf("the path of this program: %w", err)
	}
	failed, err := p.startServer(OnDemand{Binary: binary, Idle: successorIdle}, fmt.Sprintf("--stop=%v", runs))
	if err != nil {
		return nil, err
	}
	said := make(chan error, 1)
	go func() { // ends with that process, or with this one
		err := <-failed
		if err != nil {
			err = errors.New(p.serverSaid())
		}
		said <- err
	}()
	return said, nil
}

// startHere starts a run in this process, where no monitor could: the caller is a
// person's server that was started on demand.
func (p *Serving) startHere(ctx context.Context, o commands.Start) (*standing.RunMade, error) {
	if p.Program == nil {
		return nil, errors.New("no run can be started here")
	}
	var err error
	if o.Binary, err = p.Program(); err != nil {
		return nil, fmt.Errorf("the path of this program: %w", err)
	}
	o.Socket = p.Getenv("CMUX_TMUX_SOCKET")
	s, err := p.Commands.PlanStart(ctx, o)
	if err != nil {
		return nil, err
	}
	if s.Unchanged != nil {
		return &standing.RunMade{Said: fmt.Sprint(s.Unchanged)}, nil
	}
	l := commands.Launch{Resumed: s.Unfinished != nil, Repo: s.Repo()}
	if l.Run, _, err = s.Create(ctx); err != nil {
		return nil, err
	}
	if err := p.Commands.Launch(context.WithoutCancel(ctx), l); err != nil {
		return nil, fmt.Errorf("run %s was made, but has not started: %w", l.Run.Plan.ID, err)
	}
	said := "Run %s has started in session %s."
	if l.Resumed {
		said = "Run %s was not finished: it continues in session %s."
	}
	plan := l.Run.Plan
	return &standing.RunMade{Run: plan.ID, Session: plan.Session, Said: fmt.Sprintf(said, plan.ID, plan.Session)}, nil
}
