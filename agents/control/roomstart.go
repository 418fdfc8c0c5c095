package control

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"sync"
	"time"

	"github.com/charmbracelet/log"

	"cmux/agents/control/cards"
	"cmux/agents/control/memory"
	"cmux/agents/control/merging"
	"cmux/agents/control/rooms"
	"cmux/agents/org/standing"
	"cmux/agents/platform/tmux"
	"cmux/agents/runs/run"
	"cmux/agents/runs/runner"
	"cmux/signals"
	"cmux/worktree"
	"cmux/worktree/hint"
)

// Rooms opens the rooms of the project.
func (p *Project) Rooms() *rooms.Rooms {
	return &rooms.Rooms{Project: &p.Project, Crew: p.Crew(), Records: p.Records(), Up: func(ctx context.Context) error { return startForRooms(ctx, p) }}
}

// keptRest is between two looks at cards and notes about which nothing was told: how the nodes
// of a run stand is told to nobody here, and what failed is tried again.
const keptRest = 3 * time.Second

// keepRooms carries cards on, and learns from rooms, until ctx ends, or the function end that it
// returns is called. tell says that something has changed, and does not wait. It begins with the
// first: a monitor that finds another one at work ends without a word, and does nothing before.
func keepRooms(ctx context.Context, p *Project, logger *log.Logger) (tell, end func()) {
	ctx, cancel := context.WithCancel(ctx)
	var done sync.WaitGroup
	looks := []struct {
		what    string
		look    func(context.Context) error
		changed chan struct{}
	}{
		{"cards could not be carried on", Cards(p).Look, make(chan struct{}, 1)},
		{"notes of rooms could not be kept", Memory(p).Keeper(logger).Look, make(chan struct{}, 1)},
	}
	begin := sync.OnceFunc(func() {
		for _, k := range looks {
			done.Go(func() {
				lookAgain(ctx, k.look, k.changed, func(err error) { logger.Error(k.what+"; trying again", "err", err) })
			})
		}
	})
	tell = func() {
		begin()
		for _, k := range looks {
			select {
			case k.changed <- struct{}{}:
			default:
			}
		}
	}
	return tell, func() {
		cancel()
		done.Wait()
	}
}

// lookAgain looks until ctx ends, when something has changed and now and then. A failure is told
// once until another one comes.
func lookAgain(ctx context.Context, look func(context.Context) error, changed <-chan struct{}, failed func(error)) {
	tick := time.NewTicker(keptRest)
	defer tick.Stop()
	said := ""
	for {
		if err := look(ctx); err != nil && ctx.Err() == nil && err.Error() != said {
			said = err.Error()
			failed(err)
		}
		select {
		case <-changed:
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// Memory opens what the project has learned.
func Memory(p *Project) *memory.Memory {
	return &memory.Memory{Project: &p.Project, Rooms: p.Rooms()}
}

// Cards opens the cards of rooms of the project.
func Cards(p *Project) *cards.Cards {
	return &cards.Cards{Project: &p.Project, Tasks: p.Tasks(), Rooms: p.Rooms(), Crew: p.Crew(), Commands: p.Commands(), Configurations: p.Configurations(), StartRun: p.Serving().OrderRun}
}

// talkOf has agents of the project talk about work that does not fit.
func talkOf(p *Project) merging.Talk {
	return func(ctx context.Context, about string) (string, error) { return p.Rooms().OnConflict(ctx, about) }
}

// startForRooms starts the monitor where none is up. A project without an organization gets
// one without a supervisor, which cmux start adds.
func startForRooms(ctx context.Context, p *Project) error {
	org, err := standing.Open(p.Root)
	switch {
	case errors.Is(err, run.ErrNoOrganization):
		org = nil
	case err != nil:
		return err
	case org.Run.RunnerLives():
		return nil
	case org.Stopped && org.Agents[standing.Supervisor] != nil:
		return hint.New(errors.New("the organization is stopped, and its rooms with it"), "cmux start")
	}
	if from, err := p.Origin(); err != nil || from != nil {
		return errors.Join(err, hint.New(errors.New("no monitor is up, and an agent does not start it"), "a person: cmux start"))
	}
	if p.Program == nil {
		return hint.New(errors.New("no monitor is up, and none can be started here"), "cmux start")
	}
	binary, err := p.Program()
	if err != nil {
		return fmt.Errorf("the path of this program: %w", err)
	}
	windows := tmux.Check(ctx) == nil
	r, err := organizationForRooms(ctx, p, org, binary, windows)
	if err != nil {
		return err
	}
	if windows {
		return standing.StartMonitor(ctx, r, runner.TmuxServer(p.Root, r.Plan.Socket))
	}
	return standing.StartDetached(ctx, r)
}

// organizationForRooms is the organization that there is, or a new one without agents.
func organizationForRooms(ctx context.Context, p *Project, org *standing.Org, binary string, windows bool) (*run.Run, error) {
	s := &StartingOrg{p: p, order: StartOrg{Binary: binary, Socket: p.Getenv("CMUX_TMUX_SOCKET")}, org: org, First: org == nil}
	var err error
	if s.config, err = p.Configured(); err != nil {
		return nil, err
	}
	if s.repo, err = worktree.Open(ctx, p.Root); err != nil {
		return nil, err
	}
	if err := s.integration(ctx); err != nil {
		return nil, err
	}
	s.Kind = supervisorKind(s.config)
	switch {
	case windows:
		if err := s.name(ctx); err != nil {
			return nil, err
		}
	case org != nil:
		s.Session = org.Run.Plan.Session
	default:
		if s.Session = s.config.Session; s.Session == "" {
			s.Session = "cmux-" + regexp.MustCompile(`[^A-Za-z0-9_-]+`).ReplaceAllString(filepath.Base(p.Root), "-")
		}
	}
	if err := errors.Join(s.repo.KeepRoot(), signals.Init(p.Root)); err != nil {
		return nil, err
	}
	env := p.Env
	if org != nil {
		if env, err = org.Run.Env(); err != nil {
			return nil, hint.New(fmt.Errorf("the environment of the organization cannot be read: %w", err), "cmux start --env")
		}
	}
	r, err := run.CreateOrganization(p.Root, s.Session, s.order.Socket, env, binary)
	if err != nil {
		return nil, err
	}
	if err := standing.WriteRoles(p.Root); err != nil {
		return nil, err
	}
	now, err := standing.Open(p.Root)
	if err != nil {
		return nil, err
	}
	if org == nil { // how agents may act is asked when the first one comes that changes something
		if err := now.Set(ctx, s.config.Settings(standing.Settings{Permissions: s.config.Permissions, Integration: s.base}, s.Kind)); err != nil {
			return nil, err
		}
	}
	if err := now.Run.Withdraw(p.Now()); err != nil {
		return nil, err
	}
	if now.Stopped {
		return r, now.Record(ctx, run.Record{Type: run.Resumed})
	}
	return r, nil
}
