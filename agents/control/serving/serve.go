// Package serving finds, starts and opens the server of a project, and has runs started where
// no terminal stays for them.
package serving

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/charmbracelet/log"

	"cmux/agents/control/commands"
	"cmux/agents/control/project"
	"cmux/agents/org/standing"
	"cmux/agents/platform/endpoint"
	"cmux/agents/runs/origin"
	"cmux/agents/runs/run"
	"cmux/signals"
	"cmux/worktree/hint"
)

// Serving is the server of a project.
type Serving struct {
	*project.Project
	Commands *commands.Commands
}

// The monitor asks its server so often who it is, and ends it when it has not
// answered so many times in a row.
const (
	healthEvery    = 5 * time.Second
	healthPatience = 3 * time.Second
	healthMisses   = 3
)

// A server that ended is started again after a while, which doubles with each
// time until it has been up for longer than the longest.
const (
	backoffFirst = 500 * time.Millisecond
	backoffMost  = 30 * time.Second
)

// serverLogMost is how long the log of a server may be when another one begins.
const serverLogMost = 10 << 20

// endServer bounds the wait for the server to end in order.
const endServer = 10 * time.Second

// ServerReport is how the project's server stands.
type ServerReport struct {
	Up    bool       `json:"up"`
	URL   string     `json:"url,omitempty"`
	Since *time.Time `json:"since"` // it is up, or down; null: not known
	Why   string     `json:"why,omitempty"`
}

// Server says how the project's server stands, going by its lock and by what was
// written of it.
func (p *Serving) Server() *ServerReport {
	place, err := endpoint.Read(p.Root)
	if err != nil {
		return &ServerReport{Why: err.Error()}
	}
	// While a server starts, what was written is of an earlier one, which may have
	// been killed and noted no end.
	if holder, held, err := signals.ReadHolder(endpoint.LockPath(p.Root)); err == nil && held {
		if place.Port == 0 || place.EndedAt != nil || place.PID != holder.PID {
			return &ServerReport{Why: "it is starting"}
		}
		return &ServerReport{Up: true, URL: place.URL(), Since: project.Moment(place.StartedAt)}
	}
	return &ServerReport{Since: place.EndedAt, Why: place.Why}
}

// OpenLink makes a one-time link to the project's dashboard.
func (p *Serving) OpenLink(ctx context.Context) (*endpoint.Link, error) {
	if _, err := p.Running(); err != nil {
		return nil, orOnDemand(err, "")
	}
	c, err := p.dialServer(ctx)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	link := new(endpoint.Link)
	return link, c.Post(ctx, endpoint.LinksPath, nil, link)
}

// orOnDemand has an error that no organization runs name the other server too.
func orOnDemand(err error, flags string) error {
	var e *hint.Error
	if errors.As(err, &e) {
		e.Try = "cmux start, or cmux agents open" + flags + " for runs without an organization"
	}
	return err
}

// EndLogins logs every browser out, of a server that runs or of the next one.
func (p *Serving) EndLogins(ctx context.Context) error {
	if !endpoint.Lives(p.Root) {
		if err := signals.Init(p.Root); err != nil {
			return err
		}
		_, err := endpoint.EndLogins(p.Root)
		return err
	}
	c, err := p.dialServer(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	var out struct{ Done bool }
	return c.Post(ctx, endpoint.LogOutPath, nil, &out)
}

// upServer bounds the wait for a server that is about to come up.
const upServer = 10 * time.Second

// dialServer reaches the project's server, which may be about to come up.
func (p *Serving) dialServer(ctx context.Context) (*endpoint.Client, error) {
	ctx, cancel := context.WithTimeout(ctx, upServer)
	defer cancel()
	again := time.NewTicker(100 * time.Millisecond)
	defer again.Stop()
	for {
		c, err := endpoint.Dial(ctx, p.Root)
		if err == nil && c.Place().OnDemand && p.OrgRuns() {
			c.Close()
			err = errors.New("the one that was started on demand has not ended yet")
		}
		if err == nil {
			return c, nil
		}
		s := p.Server()
		failed := !endpoint.Lives(p.Root) && s.Why != "" // and is started again later and later
		select {
		case <-again.C:
			if !failed {
				continue
			}
		case <-ctx.Done():
		}
		if s.Why != "" {
			err = errors.New(s.Why)
		}
		if ctx.Err() != nil || failed {
			return nil, hint.New(fmt.Errorf("the server does not answer: %w", err), "cmux restart")
		}
	}
}

// LinkFile writes a page that leads a browser to a link, readable by its owner
// alone: a link in a command line can be read by every user of the machine.
func (p *Serving) LinkFile(link *endpoint.Link) (string, error) {
	text := "<!doctype html><meta charset=\"utf-8\"><meta name=\"referrer\" content=\"no-referrer\"><meta http-equiv=\"refresh\" content=\"0;url=" +
		link.URL + "\"><title>cmux</title><a href=\"" + link.URL + "\">Open the dashboard</a>\n"
	return endpoint.WritePage(p.Root, text)
}

// KeepServer keeps the server of the organization r up until stop is called,
// which returns when it has ended. It dies with this process.
func KeepServer(ctx context.Context, r *run.Run, logger *log.Logger) (stop func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	k := &serverKeeper{run: r, log: logger, every: healthEvery, patience: healthPatience}
	var done sync.WaitGroup
	done.Go(func() { k.keep(ctx) })
	return func() {
		cancel()
		done.Wait()
	}
}

// serverKeeper is the part of the monitor that keeps the server up.
type serverKeeper struct {
	run             *run.Run
	log             *log.Logger
	every, patience time.Duration // see healthEvery
}

func (k *serverKeeper) keep(ctx context.Context) {
	wait := backoffFirst
	for ctx.Err() == nil {
		began := time.Now()
		why := k.once(ctx)
		if ctx.Err() != nil {
			return
		}
		k.log.Error("the server has ended", "why", why)
		k.note(why)
		if time.Since(began) > backoffMost {
			wait = backoffFirst
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
		}
		wait = min(2*wait, backoffMost)
	}
}

// note writes down that the server is down, for who asks how it stands.
func (k *serverKeeper) note(why string) {
	root := k.run.Plan.Root
	if endpoint.Lives(root) {
		return // another one's
	}
	place, err := endpoint.Read(root)
	if err == nil {
		now := time.Now()
		place.PID, place.EndedAt, place.Why = 0, &now, why
		err = endpoint.Write(root, place)
	}
	if err != nil {
		k.log.Error("that the server is down could not be written", "err", err)
	}
}

// once carries one server from its start to its end, and says why that was.
func (k *serverKeeper) once(ctx context.Context) (why string) {
	path := filepath.Join(k.run.Dir, "server.log")
	file, err := signals.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err.Error()
	}
	defer file.Close()
	if info, err := file.Stat(); err == nil && info.Size() > serverLogMost {
		_ = file.Truncate(0) // what it says is of use while it is new
	}
	if _, err := k.run.ProveBin(); err != nil {
		return err.Error()
	}
	cmd := exec.Command(k.run.Binary(), "serve", "--run", k.run.Dir)
	cmd.Dir, cmd.Stdout, cmd.Stderr = k.run.Plan.Root, file, file
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // what a terminal sends is for the monitor
	alive, err := cmd.StdinPipe()                         // it ends with this, whatever ends this process
	if err != nil {
		return err.Error()
	}
	if err := cmd.Start(); err != nil {
		return err.Error()
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	why = k.watch(ctx, ended)
	alive.Close()
	select {
	case <-ended:
	case <-time.After(endServer):
		_ = cmd.Process.Kill()
		<-ended
	}
	if why != "" {
		return why
	}
	if s, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && s.Signaled() {
		return "it was ended by the signal " + s.Signal().String()
	}
	return lastSaid(file)
}

// watch returns when the server has ended, does not answer any more or is to
// end. The reason is empty where the server knows it best. ended can be read
// once more.
func (k *serverKeeper) watch(ctx context.Context, ended chan error) (why string) {
	tick := time.NewTicker(k.every)
	defer tick.Stop()
	for misses := 0; ; {
		select {
		case err := <-ended:
			ended <- err
			return ""
		case <-ctx.Done():
			return ""
		case <-tick.C:
		}
		if err := k.check(ctx); err != nil {
			misses++
			k.log.Warn("the server does not answer", "err", err)
		} else {
			misses = 0
		}
		if misses == healthMisses {
			return fmt.Sprintf("it did not answer %d times in a row, and was ended", misses)
		}
	}
}

func (k *serverKeeper) check(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, k.patience)
	defer cancel()
	c, err := endpoint.Dial(ctx, k.run.Plan.Root)
	if err == nil {
		c.Close()
	}
	return err
}

// lastSaid is the last line of the server's log.
func lastSaid(file *os.File) string {
	const most = 4 << 10
	info, err := file.Stat()
	if err != nil {
		return ""
	}
	b := make([]byte, min(most, info.Size()))
	if _, err := file.ReadAt(b, info.Size()-int64(len(b))); err != nil && !errors.Is(err, io.EOF) {
		return ""
	}
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")
	return strings.TrimPrefix(lines[len(lines)-1], "cmux: ")
}

// Port is the port that the project's server was given, 0: any will do. The
// server is the monitor's child, or was started on demand, and none of an agent's:
// it speaks for a person.
func (p *Serving) Port(onDemand bool) (port int, err error) {
	from, err := origin.Of(p.Root)
	if err != nil {
		return 0, err
	}
	if from != nil && from.Node != "" {
		return 0, fmt.Errorf("this is %s: the server is started by the monitor or by a person", from)
	}
	org, err := standing.Open(p.Root)
	if onDemand && errors.Is(err, run.ErrNoOrganization) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return org.Settings.Port, nil
}
