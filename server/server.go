package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	stdlog "log"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/charmbracelet/log"

	"cmux/agents/control"
	"cmux/agents/platform/endpoint"
	"cmux/server/api"
	"cmux/server/changes"
	"cmux/server/live"
	"cmux/server/login"
	"cmux/server/static"
	"cmux/server/store"
	"cmux/server/terminal"
	"cmux/server/watchdog"
	"cmux/signals"
)

const (
	// lockPatience bounds the wait for an earlier server to end.
	lockPatience = 10 * time.Second
	// endPatience bounds the wait for answers that are under way at the end.
	endPatience = 2 * time.Second
	// ports is how many ports the server tries.
	ports = 500
)

// Options is the configuration of a server.
type Options struct {
	Project *control.Project // with the rights of its person
	Port    int              // 0: the last one, or the first free one
	Log     *log.Logger

	Dashboard fs.FS // nil: the binary has no dashboard

	// Idle is set for a server on demand, without a monitor. It ends when there was no
	// request and no run for so long, or when the organization's monitor runs, whose server
	// takes over. It does no background work; it only shows things and carries out
	// commands. 0: the monitor's server.
	Idle time.Duration
}

// Serve serves the project until ctx ends, and holds the lock of the project's server
// meanwhile. It waits a moment for the lock; a server on demand gives up if there is
// another server.
func Serve(ctx context.Context, o Options) (err error) {
	root := o.Project.Root
	if o.Log == nil {
		o.Log = log.New(io.Discard)
	}
	if err := signals.Init(root); err != nil {
		return err
	}
	patience := lockPatience
	if o.Idle > 0 {
		patience = 0
	}
	lock, err := takeLock(ctx, endpoint.LockPath(root), patience)
	var held *signals.HeldError
	if o.Idle > 0 && errors.As(err, &held) {
		o.Log.Info("the project has a server already")
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Unlock()) }()
	token, err := endpoint.MakeToken(root)
	if err != nil {
		return err
	}
	last, err := endpoint.Read(root)
	if err != nil {
		o.Log.Warn("where the last server was cannot be read", "err", err)
	}
	l, port, err := listen(o.Port, last.Port)
	if err != nil {
		return err
	}
	place := endpoint.Place{
		Port: port, PID: os.Getpid(), StartedAt: o.Project.Now(), Project: endpoint.ProjectID(root), Instance: endpoint.NewSecret()[:16],
		OnDemand: o.Idle > 0,
	}
	db, err := store.Open(ctx, root, func(text string) { o.Log.Warn(text) })
	if err != nil {
		return errors.Join(err, l.Close())
	}
	place.Epoch = db.Head().Epoch
	s := &site{project: o.Project, place: place, token: token, store: db, log: o.Log, dashboard: o.Dashboard, idle: o.Idle}
	return errors.Join(s.serve(ctx, l), db.Close())
}

// site is a running server.
type site struct {
	project *control.Project
	place   endpoint.Place
	token   string
	store   *store.Store
	log     *log.Logger

	dashboard fs.FS // nil: none

	idle time.Duration // see Options.Idle
}

func (s *site) serve(ctx context.Context, l net.Listener) error {
	keys := login.NewKeys(s.token, s.place.Project, s.project.Now)
	logins, err := endpoint.Logins(s.project.Root)
	if err != nil {
		return errors.Join(err, l.Close())
	}
	keys.SetLogins(logins)
	open := newConns(l)
	mux := http.NewServeMux()
	orders := newOrders()
	lan := newNetwork(s.project.Root, s.place.Port, s.project.Now, s.log)
	defer lan.end()
	visits := newVisits(time.Now)
	var hub *live.Hub
	api.New(mux, api.Options{Project: s.project, Place: s.place, Token: s.token, Keys: keys, Store: s.store, Log: s.log, Background: orders.background,
		Changed: func(routes ...string) { hub.Changed(routes...) },
		Trusted: control.TrustedHosts,
		LAN:     lan,
		LogOut: func(ctx context.Context) error {
			logins, err := endpoint.EndLogins(s.project.Root)
			if err == nil {
				keys.SetLogins(logins)
				open.end(ctx, login.BySession)
				lan.logOut(ctx)
			}
			return err
		}})
	if err := s.pages(mux); err != nil {
		return errors.Join(err, l.Close())
	}
	ctx, end := context.WithCancel(ctx)
	hub = live.NewHub(ctx, live.Options{
		Log: s.store, Unlogged: changes.All(), Instance: s.place.Instance,
		Status: func(ctx context.Context) (any, error) {
			org, err := s.project.Overview().Organization(ctx)
			return api.Full(org), err
		},
		Failed: func(err error) { s.log.Error("clients could not be told what is new", "err", err) },
	})
	mux.Handle("GET "+live.Path, hub)
	terminals := terminal.NewHub(ctx, terminal.Options{Source: s.project.Terminals(), Dir: filepath.Join(s.project.Root, signals.Folder, "terminals"),
		Failed: func(err error) { s.log.Error("a terminal", "err", err) }})
	terminals.Routes(mux)
	inside := visits.counted(orders.carriedOut(s.audited(mux)))
	gate := login.NewGate(keys, s.place.Port, open.knowing(inside))
	gate.Trust(control.TrustedHosts)
	srv := s.httpServer(ctx, gate, open)
	lan.serve(func(gate http.Handler, open *conns) *http.Server { return s.httpServer(ctx, gate, open) }, inside)
	var tasks sync.WaitGroup
	defer tasks.Wait()
	defer end()
	tasks.Go(hub.Run)
	tasks.Go(terminals.Run)
	tasks.Go(func() { changes.Follow(ctx, s.project.Root, hub.Changed) })
	if s.idle > 0 {
		tasks.Go(func() { s.endUnused(ctx, visits, lan, end) })
	} else {
		s.keepOrganization(ctx, &tasks)
	}
	tasks.Go(func() {
		if err := s.store.Follow(ctx); err != nil {
			s.log.Error("what happens is not taken in any more", "err", err)
		}
	})
	tasks.Go(func() {
		if err := hub.FollowUnfinished(ctx, s.project.Root); err != nil {
			s.log.Warn("what members of rooms are writing is not shown before it is complete", "err", err)
		}
	})
	tasks.Go(func() { s.store.FollowTasks(ctx, s.project.TaskList) })
	served := make(chan error, 1)
	go func() { served <- srv.Serve(open) }()
	if err := endpoint.Write(s.project.Root, s.place); err != nil {
		return errors.Join(err, srv.Close(), <-served)
	}
	s.log.Info("the server is up", "port", s.place.Port)
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	lan.end()
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), endPatience)
	defer cancel()
	if err := srv.Shutdown(ending); err != nil {
		srv.Close() // results of running requests are in files
	}
	if !orders.breakOff(orderEnd) {
		s.log.Warn("orders under way did not end with the server")
	}
	if err := <-served; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	s.log.Info("the server has ended")
	now := s.project.Now()
	s.place.EndedAt = &now
	return endpoint.Write(s.project.Root, s.place)
}

// httpServer serves the handler of a gate, with the limits for all requests. Requests
// running when ctx ends get a moment; Shutdown ends them.
func (s *site) httpServer(ctx context.Context, gate http.Handler, open *conns) *http.Server {
	return &http.Server{
		Handler: open.parting(gate), ConnContext: open.context, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 30 * time.Second,
		WriteTimeout: 2 * time.Minute, IdleTimeout: time.Minute, MaxHeaderBytes: 64 << 10,
		ErrorLog:    stdlog.New(logWriter{s.log}, "", 0),
		BaseContext: func(net.Listener) context.Context { return context.WithoutCancel(ctx) },
	}
}

// pages adds the dashboard, or a page in its place.
func (s *site) pages(mux *http.ServeMux) error {
	missing := func(w http.ResponseWriter, r *http.Request) {
		login.Refuse(w, r, http.StatusNotFound, "there is nothing here", "")
	}
	mux.HandleFunc("GET "+plainPath, s.home)
	if s.dashboard == nil {
		mux.HandleFunc("GET /{$}", s.home)
		mux.HandleFunc("/", missing)
		return nil
	}
	dashboard, err := static.New(s.dashboard, missing)
	if err != nil {
		return err
	}
	mux.Handle("GET /", dashboard)
	mux.HandleFunc("/", missing)
	return nil
}

// keepOrganization does the organization's background work until ctx ends: its schedule,
// its maintenance, the health of its integration branch and the watch of its agents. A
// server on demand does none of it: without an organization nobody has asked for it, and a
// stopped one must stay stopped.
func (s *site) keepOrganization(ctx context.Context, tasks *sync.WaitGroup) {
	tasks.Go(func() { s.keepTime(ctx) })
	tasks.Go(func() { s.keepTidy(ctx) })
	tasks.Go(func() { s.keepHealthy(ctx) })
	if err := s.watch(ctx, tasks); err != nil {
		s.log.Error("nobody watches the agents", "err", err)
	}
}

// watch watches the agents until ctx ends.
func (s *site) watch(ctx context.Context, tasks *sync.WaitGroup) error {
	w, err := watchdog.NewProject(s.project, s.log)
	if err != nil {
		return err
	}
	tasks.Go(func() { w.Follow(ctx) })
	tasks.Go(func() {
		if err := watchdog.Run(ctx, watchdog.Options{Root: s.project.Root, World: w, Log: s.log, Now: s.project.Now}); err != nil {
			s.log.Error("the agents are not watched any more", "err", err)
		}
	})
	return nil
}

// takeLock takes the lock at path and waits for a holder that is ending.
func takeLock(ctx context.Context, path string, patience time.Duration) (*signals.Lock, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for {
		lock, err := signals.TryLock(path)
		var held *signals.HeldError
		if !errors.As(err, &held) {
			return lock, err
		}
		select {
		case <-again.C:
		case <-ctx.Done(): // the lock was tried at least once
			return nil, fmt.Errorf("another server of this project runs: %w", err)
		}
	}
}

// listen listens on the fixed port, else on the last one or the first free one.
func listen(fixed, last int) (net.Listener, int, error) {
	try := func(port int) (net.Listener, error) { return net.Listen("tcp4", endpoint.Addr(port)) }
	if fixed > 0 {
		l, err := try(fixed)
		if errors.Is(err, syscall.EADDRINUSE) {
			err = fmt.Errorf("port %d, which .cmux/config.yml names, is taken by another program: name another port: there, then cmux config apply and cmux restart", fixed)
		}
		return l, fixed, err
	}
	if last > 0 {
		if l, err := try(last); err == nil {
			return l, last, nil
		}
	}
	for port := endpoint.FirstPort; port < endpoint.FirstPort+ports; port++ {
		l, err := try(port)
		if err == nil {
			return l, port, nil
		}
		if !errors.Is(err, syscall.EADDRINUSE) && !errors.Is(err, syscall.EACCES) {
			return nil, 0, err
		}
	}
	return nil, 0, fmt.Errorf("no port from %d to %d is free", endpoint.FirstPort, endpoint.FirstPort+ports-1)
}

// logWriter writes the errors of net/http into the log.
type logWriter struct{ log *log.Logger }

func (w logWriter) Write(b []byte) (int, error) {
	w.log.Warn("http", "said", strings.TrimSpace(string(b)))
	return len(b), nil
}
