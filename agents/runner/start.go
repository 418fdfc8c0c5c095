package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"cmux/agents/agent"
	"cmux/agents/run"
	"cmux/agents/tmux"
	"cmux/dag"
	"cmux/signals"
	"cmux/worktree"
)

// DefaultConfig is the configuration's name at the project's root.
const DefaultConfig = ".cmux-agents.yml"

// DefaultSocket is the name of cmux's own tmux server.
const DefaultSocket = "cmux"

// StartOptions is what a person asks for with `cmux agents start`.
type StartOptions struct {
	Root     string // of the project, absolute
	Config   string // path of the configuration; empty: DefaultConfig at Root
	Base     string // overrides the configuration's base
	New      bool   // end an unfinished run first
	Fresh    bool   // begin every branch and worktree again at the base
	Headless bool
	Binary   string   // absolute path of this cmux
	Env      []string // to be frozen
	Kinds    agent.Kinds
	Socket   string // of the tmux server; empty: DefaultSocket
}

// Launch is a run that may be started: everything was checked, nothing made.
type Launch struct {
	Options  StartOptions
	Graph    *dag.Graph
	Warnings []dag.Warning
	Overlaps []dag.Overlap
	Base     worktree.Base
	Dirt     worktree.Dirt
	Rows     []LaunchRow // by node
	// Unfinished is the run that `start` goes on with instead of a new one;
	// Graph and the rest are then the frozen ones.
	Unfinished *run.Run
	SetAside   []string // by Create: what lay there and is not believed, where it is now

	config  []byte
	repo    *worktree.Repo
	strange bool // the newest run is not believed: it is set aside, and no marker counts
}

// LaunchRow is what the pre-launch table adds to a node.
type LaunchRow struct {
	Continues string    // "continues BRANCH (+3)"; empty: a new branch
	Preset    dag.Label // what a person's marker says already; without a state: none
	Closed    bool      // a marker that would open it does not count: it asks for a code
}

// TryError is an error together with what to do about it.
type TryError struct {
	Err error
	Try string
}

func (e *TryError) Error() string { return e.Err.Error() }
func (e *TryError) Unwrap() error { return e.Err }

// ErrRunning says that a runner is at work on the project.
var ErrRunning = errors.New("a run is under way")

// Plan reads and checks everything that a start needs, and makes nothing.
func Plan(ctx context.Context, o StartOptions) (*Launch, error) {
	l := &Launch{Options: o}
	var err error
	if l.repo, err = worktree.Open(ctx, o.Root); err != nil {
		return nil, err
	}
	if o.Config == "" {
		o.Config = filepath.Join(o.Root, DefaultConfig)
	}
	l.Options.Config = o.Config
	if err := l.unfinished(ctx); err != nil || l.Unfinished != nil {
		return l, err
	}
	if l.config, err = run.ReadConfig(o.Config); errors.Is(err, fs.ErrNotExist) {
		return nil, &TryError{fmt.Errorf("there is no %s", o.Config), "cmux agents init"}
	} else if err != nil {
		return nil, err
	}
	if l.Graph, l.Warnings, err = parse(o, l.config); err != nil {
		return nil, err
	}
	base := l.Graph.Base
	if o.Base != "" {
		base = o.Base
	}
	dirty := make(chan error, 1)
	go func() { // git looks at files meanwhile
		var err error
		l.Dirt, err = l.repo.Dirty(ctx)
		dirty <- err
	}()
	l.Base, err = l.repo.Base(ctx, base)
	if e := <-dirty; err == nil {
		err = e
	}
	if err != nil {
		return nil, err
	}
	l.Overlaps = dag.Overlaps(l.Graph)
	if !o.Headless {
		if err := tmux.Check(ctx); err != nil {
			return nil, &TryError{err, "apt-get install tmux, or cmux agents start --headless"}
		}
		if err := l.checkSession(ctx); err != nil {
			return nil, err
		}
	}
	return l, l.rows(ctx)
}

// Repo is the repository that was looked into.
func (l *Launch) Repo() *worktree.Repo { return l.repo }

// parse reads a configuration and refuses kinds that this binary cannot launch.
func parse(o StartOptions, config []byte) (*dag.Graph, []dag.Warning, error) {
	name := o.Config
	if rel, err := filepath.Rel(o.Root, name); err == nil && filepath.IsLocal(rel) {
		name = rel
	}
	opts := dag.ParseOptions{
		Kinds: slices.Sorted(maps.Keys(o.Kinds)),
		ReadFile: func(path string) ([]byte, error) {
			return run.ReadTask(o.Root, o.Config, path)
		},
		Account: func(n *dag.Node) string {
			if kind, ok := o.Kinds[n.Agent]; ok {
				return kind.Account(n.Account, n.Env, o.Env)
			}
			return n.Agent
		},
	}
	for _, k := range dag.Kinds() {
		if !slices.Contains(opts.Kinds, k) {
			opts.Kinds = append(opts.Kinds, k)
		}
	}
	g, warnings, err := dag.Parse(name, config, opts)
	if err != nil {
		return nil, nil, err
	}
	var faults dag.Faults
	for i := range g.Nodes {
		n := &g.Nodes[i]
		if _, ok := o.Kinds[n.Agent]; ok || n.Role == dag.RoleGate || n.Role == dag.RoleMerge && n.Task == "" {
			continue
		}
		faults = append(faults, dag.Fault{File: cmp.Or(n.File, name), Line: n.Line, Column: 1,
			Message: fmt.Sprintf("agent %q of %s cannot be launched by this version of cmux", n.Agent, n.Name),
			Hint:    "agent: command runs a shell command"})
	}
	if len(faults) > 0 {
		return nil, nil, faults
	}
	return g, warnings, nil
}

// unfinished finds a run that is not over.
func (l *Launch) unfinished(ctx context.Context) error {
	latest, err := run.Latest(l.Options.Root)
	if errors.Is(err, run.ErrNone) {
		return nil
	}
	var refusal *run.Refusal
	if l.Options.New && errors.As(err, &refusal) {
		l.strange = true
		return run.Vouch(l.Options.Root)
	}
	if err != nil {
		return err
	}
	if holder, err := Vacate(ctx, latest); err != nil {
		return err
	} else if holder != nil {
		return &TryError{fmt.Errorf("%w (%s, by %s)", ErrRunning, latest.Plan.ID, holder), "cmux agents attach, or cmux agents stop"}
	}
	over, err := latest.Over()
	if err != nil || over || l.Options.New {
		return err
	}
	l.Unfinished, l.Graph = latest, latest.Plan.Graph
	return nil
}

// TmuxServer is the tmux server that the runs of a project use; socket is empty
// for cmux's own.
func TmuxServer(root, socket string) *tmux.Server {
	if socket == "" {
		socket = DefaultSocket
	}
	return &tmux.Server{Socket: socket, Config: filepath.Join(run.Folder(root), "tmux.conf")}
}

// Server is the tmux server of a run; nil when it is headless.
func Server(r *run.Run) *tmux.Server {
	if r.Plan.Headless {
		return nil
	}
	return TmuxServer(r.Plan.Root, r.Plan.Socket)
}

// checkSession refuses a session name that is somebody else's.
func (l *Launch) checkSession(ctx context.Context) error {
	s := TmuxServer(l.Options.Root, l.Options.Socket)
	taken, err := s.HasSession(ctx, l.Graph.Session)
	if err != nil || !taken {
		return err
	}
	owner, err := s.Exec(ctx, "show-options", "-qv", "-t", "="+l.Graph.Session+":", rootOption)
	if err != nil {
		return err
	}
	if owner == l.Options.Root {
		return nil // left by an earlier run of this project
	}
	if owner == "" {
		owner = "somebody else"
	}
	return &TryError{fmt.Errorf("the tmux session %q is taken by %s", l.Graph.Session, owner),
		"another session: in " + l.Options.Config + ", or cmux agents cleanup there"}
}

// rows fills what is known about each node before the launch.
func (l *Launch) rows(ctx context.Context) error {
	l.Rows = make([]LaunchRow, l.Graph.Len())
	var branches []string
	for i := range l.Graph.Nodes {
		if n := &l.Graph.Nodes[i]; n.HasBranch() && !l.Options.Fresh {
			branches = append(branches, n.Branch)
		}
	}
	ahead, err := l.repo.Ahead(ctx, l.Base.Commit, branches)
	if err != nil {
		return err
	}
	for i := range l.Graph.Nodes {
		n := &l.Graph.Nodes[i]
		if by, ok := ahead[n.Branch]; ok && n.HasBranch() && !l.Options.Fresh {
			l.Rows[i].Continues = "continues " + n.Branch
			if by > 0 {
				l.Rows[i].Continues += fmt.Sprintf(" (+%d)", by)
			}
		}
	}
	all, err := l.found()
	if err != nil {
		return err
	}
	for _, f := range all {
		i := l.Graph.Index(f.name)
		if i < 0 || f.mine() {
			continue
		}
		switch f.what {
		case signals.Override, signals.Touched:
			if l.Graph.Nodes[i].AsksCode() {
				l.Rows[i].Closed = true // the runner takes it back
				continue
			}
			l.Rows[i].Preset = dag.EndLabel(dag.Override, "", 0)
		case signals.FailedByHand:
			l.Rows[i].Preset = dag.Label{State: dag.NodeFailed, Reason: dag.ReasonByHand, Code: f.seen.Content.Code}
		default:
			l.Rows[i].Preset = dag.EndLabel(dag.Failed, dag.ReasonBadMarker, 0)
		}
	}
	return nil
}

// found is a marker that lies there before a start.
type found struct {
	name string
	seen signals.Observed
	what signals.VerdictKind
}

// mine reports whether the latest run wrote it: it counted there and counts no
// more.
func (f *found) mine() bool {
	return f.what == signals.Ours || f.what == signals.Adopt || f.what == signals.Torn
}

// found looks at the markers of the graph's nodes and of the latest run's, in
// the light of what that run recorded.
func (l *Launch) found() ([]found, error) {
	if l.strange {
		return nil, nil
	}
	names := l.Graph.Names()
	known := make(map[string]*run.Node)
	withdrawn := make(map[signals.Identity]bool)
	latest, err := run.Latest(l.Options.Root)
	switch {
	case errors.Is(err, run.ErrNone):
	case err != nil:
		return nil, err
	default:
		h := run.NewHistory(latest.Plan.Graph)
		if _, err := latest.Replay(h, 0, nil); err != nil {
			return nil, err
		}
		for i := range h.Nodes {
			n, name := &h.Nodes[i], latest.Plan.Graph.Nodes[i].Name
			known[name] = n
			if n.Withdrawn != nil {
				withdrawn[n.Withdrawn.Identity] = true
			}
			if l.Graph.Index(name) < 0 {
				names = append(names, name)
			}
		}
	}
	now := time.Now()
	seen, _, err := signals.NewScanner(run.SignalsDir(l.Options.Root), names).Scan(now)
	if errors.Is(err, signals.ErrNoDir) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var all []found
	for i, o := range seen {
		if !o.Exists {
			continue
		}
		f := found{names[i], o, signals.Ours}
		if !withdrawn[o.Identity] {
			var rec signals.Recorded
			if n := known[names[i]]; n != nil {
				rec = n.Beside(o)
			}
			// Nothing is being written: what is empty now is meant to be.
			f.what = signals.Judge(rec, o, now.Add(signals.Settle)).Kind
			if f.what == signals.Ours && o.Identity != rec.Identity {
				// In its own run a touch of a done node changed nothing. Here it says
				// that the node is done, as one of any other marker does.
				f.what = signals.Touched
			}
		}
		all = append(all, f)
	}
	return all, nil
}

// Create makes the run. An unfinished one is taken up as it is.
func (l *Launch) Create(ctx context.Context) (*run.Run, error) {
	if l.Unfinished != nil {
		return l.Unfinished, l.Unfinished.WriteEnv(l.Options.Env)
	}
	o := l.Options
	if err := signals.Init(o.Root); err != nil {
		return nil, err
	}
	if latest, err := run.Latest(o.Root); err == nil {
		if holder, err := Yield(ctx, latest); err != nil {
			return nil, err
		} else if holder != nil {
			return nil, &TryError{fmt.Errorf("%w (%s, by %s)", ErrRunning, latest.Plan.ID, holder), "cmux agents attach, or cmux agents stop"}
		}
	}
	// The lock keeps two starts at once from making two runs.
	lock, err := signals.TryLock(run.LockPath(o.Root))
	var held *signals.HeldError
	if errors.As(err, &held) {
		try := "cmux agents attach, or cmux agents stop"
		if l.strange { // neither would believe the run
			try = fmt.Sprintf("let it end, or stop it with the cmux and the key that it was started with, or end its runner: kill %d; then cmux agents start --new", held.Holder.PID)
		}
		return nil, &TryError{fmt.Errorf("%w (%s)", ErrRunning, held.Holder), try}
	}
	if err != nil {
		return nil, err
	}
	defer lock.Unlock()
	if l.strange {
		if l.SetAside, err = run.SetAside(o.Root); err != nil {
			return nil, err
		}
	}
	if err := l.endUnfinished(ctx); err != nil {
		return nil, err
	}
	if err := l.clear(); err != nil {
		return nil, err
	}
	if err := signals.WriteFile(filepath.Join(o.Root, dag.SchemaPath), dag.Schema(), 0o644); err != nil {
		return nil, err
	}
	// The last step that a signal can end: what the run is then made of is made
	// as one, so that a start that was interrupted has a run or has none.
	var shared *worktree.Shared
	if slices.ContainsFunc(l.Graph.Nodes, func(n dag.Node) bool { return n.HasTree() }) {
		if shared, err = l.repo.Shared(ctx, l.repo.Root, false); err != nil {
			return nil, err
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	now := time.Now()
	r, err := run.Create(run.Plan{
		ID: run.NewID(now), Root: o.Root, Config: o.Config, ConfigSum: run.Sum(l.config),
		BaseRef: l.Base.Ref, BaseBranch: l.Base.Branch, Base: l.Base.Commit,
		Headless: o.Headless, Fresh: o.Fresh, Socket: o.Socket, CreatedAt: now, Graph: l.Graph,
	}, l.config, o.Env, o.Binary)
	if err != nil || shared == nil {
		return r, err
	}
	return r, r.WriteShared(shared)
}

// endUnfinished ends a run that --new gives up. The caller holds the lock.
func (l *Launch) endUnfinished(ctx context.Context) error {
	latest, err := run.Latest(l.Options.Root)
	if errors.Is(err, run.ErrNone) {
		return nil
	}
	if err != nil {
		return err
	}
	over, err := latest.Over()
	if err != nil {
		return err
	}
	if over { // what a person called done and left running ends now
		_, err := cancelAll(ctx, latest, "")
		return err
	}
	if !l.Options.New {
		return &TryError{fmt.Errorf("%w (%s)", ErrRunning, latest.Plan.ID), "cmux agents resume"}
	}
	return giveUp(ctx, latest)
}

// clear removes the markers that earlier runs recorded, and makes those that a
// person touched since then say what was meant.
func (l *Launch) clear() error {
	all, err := l.found()
	if err != nil {
		return err
	}
	dir := run.SignalsDir(l.Options.Root)
	var errs []error
	for _, f := range all {
		switch {
		case f.mine():
			errs = append(errs, signals.Remove(dir, f.name))
		case f.what == signals.Touched:
			_, err := signals.Replace(dir, f.name, signals.Content{Kind: signals.Empty})
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
