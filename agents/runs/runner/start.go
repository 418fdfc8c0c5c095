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

	"cmux/agents/kinds/agent"
	"cmux/agents/platform/proc"
	"cmux/agents/platform/settings"
	"cmux/agents/platform/tmux"
	"cmux/agents/runs/run"
	"cmux/dag"
	"cmux/signals"
	"cmux/worktree"
	"cmux/worktree/common"
	"cmux/worktree/git"
	"cmux/worktree/hint"
)

// DefaultConfig is the configuration's name at the project's root.
const DefaultConfig = ".cmux-agents.yml"

// DefaultSocket is the name of cmux's own tmux server.
const DefaultSocket = "cmux"

// StartOptions is what a person asks for with `cmux agents start`.
type StartOptions struct {
	Root     string // of the project, absolute
	From     string // root of the worktree that start was called in; empty: Root
	Config   string // path of the configuration; empty: DefaultConfig at Root
	Base     string // overrides the configuration's base
	New      bool   // end an unfinished run first
	Fresh    bool   // begin every branch and worktree again at the base
	Headless bool
	Binary   string   // absolute path of this cmux
	Env      []string // to be frozen
	Kinds    agent.Kinds
	Socket   string   // of the tmux server; empty: DefaultSocket
	On       []string // as in run.Plan
	By       string   // the standing agent that orders it; empty: a person
	Order    string   // by which request
}

// Launch is a run that may be started: everything was checked, nothing made.
type Launch struct {
	Options  StartOptions
	Graph    *dag.Graph
	Warnings []dag.Warning
	Overlaps []dag.Overlap
	Base     git.Base
	Dirt     worktree.Dirt
	Rows     []LaunchRow // by node
	// Unfinished is the run that `start` resumes instead of a new one;
	// Graph and the rest are then the frozen ones.
	Unfinished *run.Run
	SetAside   []string // by Create: what lay there and is not believed, where it is now

	Tmux string // the tmux session, if another project has one of the session's name; empty: the session's

	config   []byte
	repo     *worktree.Repo
	last     *run.Run // the newest run of the session; nil: there is none
	sessions int      // that have a run
	strange  bool     // there are runs that are not believed: they are set aside, and no marker counts
}

// LaunchRow is what the pre-launch table adds to a node.
type LaunchRow struct {
	Continues string    // "continues BRANCH (+3)"; empty: a new branch
	Preset    dag.Label // what a person's marker says already; without a state: none
	Closed    bool      // a marker that would open it does not count: it asks for a code
}

// ErrNoConfig says that the configuration is not there.
var ErrNoConfig = errors.New("there is no")

// ErrRunning says of a run that a runner is at work on it.
var ErrRunning = errors.New("is under way")

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
	l.Options.Config, l.Options.From = o.Config, cmp.Or(o.From, l.repo.Root)
	stands, leave := l.here(ctx) // git looks at files meanwhile
	defer leave()
	if err := l.read(ctx); err != nil || l.Unfinished != nil {
		return l, err
	}
	// Told before anything is asked; Create looks again.
	if _, err := run.Held(o.Root, l.Graph.Session, l.Graph.Names()); err != nil && !l.strange && !l.gives(err) {
		return nil, tried(err)
	}
	if err := run.BranchTaken(o.Root, l.Graph.Session, l.Graph); err != nil && !l.strange && !l.gives(err) {
		return nil, tried(err)
	}
	base := l.Graph.Base
	if o.Base != "" {
		base = o.Base
	}
	elsewhere := base != "" && base != "HEAD"
	if elsewhere {
		if l.Base, err = l.repo.BaseIn(ctx, l.Options.From, base); err != nil {
			return nil, err
		}
	}
	dirt, head, err := stands()
	if err != nil {
		return nil, err
	}
	if l.Dirt = dirt; !elsewhere {
		l.Base = head
	}
	l.Overlaps = dag.Overlaps(l.Graph, worktree.Exists(o.Root))
	if o.Headless {
		if err := run.CheckFiles(); err != nil {
			return nil, err
		}
	} else {
		if err := tmux.Check(ctx); err != nil {
			return nil, hint.New(err, "apt-get install tmux, or cmux agents start --headless")
		}
		if err := l.nameTmux(ctx); err != nil {
			return nil, err
		}
	}
	if err := l.nameFolders(ctx); err != nil {
		return nil, err
	}
	return l, l.rows(ctx)
}

// Repo is the repository that was looked into.
func (l *Launch) Repo() *worktree.Repo { return l.repo }

// parse reads a configuration and refuses kinds that this binary cannot launch. inTheWay
// is as for dag.ParseOptions.
func parse(o StartOptions, config []byte, inTheWay func(branch string) string) (*dag.Graph, []dag.Warning, error) {
	name := o.Config
	if rel, err := filepath.Rel(o.Root, name); err == nil && filepath.IsLocal(rel) {
		name = rel
	}
	opts := dag.ParseOptions{
		InTheWay: inTheWay,
		Kinds:    slices.Sorted(maps.Keys(o.Kinds)),
		ReadFile: func(path string) ([]byte, error) {
			return run.ReadTask(o.Root, o.Config, path)
		},
		Account: func(n *dag.Node) string {
			if kind, ok := o.Kinds[n.Agent]; ok {
				return kind.Account(n.Account, n.ExpandedEnv(func(name string) string { return proc.Getenv(o.Env, name) }), o.Env)
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
	user, err := settings.Read()
	if err != nil {
		return nil, nil, err
	}
	return g, append(warnings, fences(g, name, user)...), nil
}

// read reads the configuration and finds the runs of its session. If the session
// has an unfinished run, read resumes it unchanged and ignores the configuration.
func (l *Launch) read(ctx context.Context) (err error) {
	o := l.Options
	if _, err := settings.Read(); err != nil {
		return err // also where an unfinished run goes on
	}
	if l.config, err = run.ReadConfig(o.Config); errors.Is(err, fs.ErrNotExist) {
		err = hint.New(fmt.Errorf("%w %s", ErrNoConfig, o.Config), "cmux agents init")
	} else if err == nil {
		var all []string
		if all, err = l.repo.Branches(ctx); err != nil {
			return err
		}
		l.Graph, l.Warnings, err = parse(o, l.config, func(branch string) string { return git.InTheWay(branch, all) })
	}
	if uerr := l.unfinished(ctx); uerr != nil || l.Unfinished != nil {
		return uerr
	}
	return err
}

// fences gives each node the fence that it and the person want. A repository's wish for
// none does not count alone.
func fences(g *dag.Graph, file string, user settings.User) (warnings []dag.Warning) {
	for i := range g.Nodes {
		n := &g.Nodes[i]
		if n.Fence.Mode == "" && len(n.Fence.Write)+len(n.Fence.Hide) > 0 {
			n.Fence.Mode = dag.FenceAuto // as the reference says of mode
		}
		was := n.Fence.Mode
		n.Fence.Mode = n.Fence.Strictest(user.Fence, n.Agent)
		if n.Fence.On() {
			n.Fence.Hide = append(slices.Clone(n.Fence.Hide), user.FenceHide...)
		}
		if was == dag.FenceOff && n.Fence.On() {
			warnings = append(warnings, dag.Warning{File: cmp.Or(n.File, file), Line: n.Line, Column: 1, Hint: "write it in your own " + settings.Shown() + " too",
				Message: fmt.Sprintf("fence: off of %s does not count", n.Name)})
		}
	}
	return warnings
}

// unfinished finds the session's newest run, and whether it is over. Where the
// session has none, or the configuration cannot be read, it is the unfinished run
// that was made of this configuration: somebody has renamed its session.
func (l *Launch) unfinished(ctx context.Context) error {
	o := l.Options
	all, err := run.Owners(o.Root)
	if err != nil {
		return err
	}
	l.sessions = len(all)
	var renamed *run.Run
	for _, own := range all {
		r, err := run.Open(o.Root, own.ID)
		var refusal *run.Refusal
		if o.New && errors.As(err, &refusal) {
			l.strange = true
			continue
		}
		switch {
		case err != nil:
			return err
		case l.Graph != nil && l.Graph.Session == own.Session:
			l.last = r
		case r.Plan.Config == o.Config:
			renamed = r
		}
	}
	if l.strange {
		return run.Vouch(o.Root)
	}
	if l.last == nil && renamed != nil {
		over, err := renamed.Over()
		if err != nil {
			return err
		}
		if !over {
			l.last = renamed
		}
	}
	if l.last == nil {
		return nil
	}
	if holder, err := Vacate(ctx, l.last); err != nil {
		return err
	} else if holder != nil {
		return l.running("run "+l.last.Plan.ID, *holder)
	}
	over, err := l.last.Over()
	if err != nil || over || o.New {
		return err
	}
	l.Unfinished, l.Graph = l.last, l.last.Plan.Graph
	return nil
}

// gives reports whether a name is had by the run that --new gives up.
func (l *Launch) gives(err error) bool {
	var owned *run.OwnedError
	var branch *run.BranchError
	id := ""
	switch {
	case errors.As(err, &owned):
		id = owned.ID
	case errors.As(err, &branch):
		id = branch.ID
	}
	return id != "" && l.Options.New && l.last != nil && id == l.last.Plan.ID
}

// running says that holder is at work on the named run.
func (l *Launch) running(name string, holder signals.Holder) error {
	way := "cmux agents attach, or cmux agents stop"
	if l.sessions > 1 && l.last != nil {
		s := l.last.Plan.Graph.Session
		way = fmt.Sprintf("cmux agents attach --session %s, or cmux agents stop --session %s", s, s)
	}
	return hint.New(fmt.Errorf("%s %w (%s)", name, ErrRunning, holder.Brief(time.Now())), way)
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

// rows fills what is known about each node before the launch.
func (l *Launch) rows(ctx context.Context) error {
	l.Rows = make([]LaunchRow, l.Graph.Len())
	ahead, err := l.branches(ctx)
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

// branches says of each branch of the nodes that will be continued how many commits
// it has that the base has not.
func (l *Launch) branches(ctx context.Context) (ahead map[string]int, err error) {
	if !slices.ContainsFunc(l.Graph.Nodes, func(n dag.Node) bool { return n.HasBranch() }) {
		return nil, nil
	}
	all, err := l.repo.Branches(ctx)
	if err != nil {
		return nil, err
	}
	var goesOn []string
	for i := range l.Graph.Nodes {
		n := &l.Graph.Nodes[i]
		if !n.HasBranch() {
			continue
		}
		if !l.Options.Fresh && slices.Contains(all, n.Branch) {
			goesOn = append(goesOn, n.Branch)
		}
	}
	return l.repo.Ahead(ctx, l.Base.Commit, goesOn)
}

// found is a marker that lies there before a start.
type found struct {
	name string
	seen signals.Observed
	what signals.VerdictKind
}

func absent(f found) bool { return !f.seen.Exists }

// mine reports whether the latest run wrote it: it counted there and counts no
// more.
func (f *found) mine() bool {
	return f.what == signals.Ours || f.what == signals.Adopt || f.what == signals.Torn
}

// found looks at the markers of the graph's nodes and of what the session's last
// run has, in the light of what the newest runs recorded.
func (l *Launch) found() ([]found, error) {
	if l.strange {
		return nil, nil
	}
	all, err := run.Owners(l.Options.Root)
	if err != nil {
		return nil, err
	}
	names := l.Graph.Names()
	if l.last != nil {
		own := slices.IndexFunc(all, func(o run.Owner) bool { return o.ID == l.last.Plan.ID })
		for _, name := range l.last.Plan.Graph.Names() {
			if l.Graph.Index(name) < 0 && own >= 0 && all[own].Owns(name) {
				names = append(names, name)
			}
		}
	}
	found, err := lookAt(l.Options.Root, names, all)
	return slices.DeleteFunc(found, absent), err
}

// Create makes the run. An unfinished one is taken up as it is.
func (l *Launch) Create(ctx context.Context) (*run.Run, error) {
	if l.Unfinished != nil {
		if err := Claim(ctx, l.Unfinished); err != nil {
			return nil, err
		}
		return l.Unfinished, errors.Join(l.Unfinished.Withdraw(time.Now()), l.Unfinished.WriteEnv(l.Options.Env))
	}
	o := l.Options
	if err := errors.Join(l.repo.KeepRoot(), signals.Init(o.Root)); err != nil {
		return nil, err
	}
	if l.last != nil {
		if holder, err := Yield(ctx, l.last); err != nil {
			return nil, err
		} else if holder != nil {
			return nil, l.running("run "+l.last.Plan.ID, *holder)
		}
	}
	// The lock keeps two starts at once from making two runs.
	lock, err := l.lock()
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
	if err := writeSchema(o.Root); err != nil {
		return nil, err
	}
	// The last step that a signal can end: what the run is then made of is made
	// as one, so that a start that was interrupted has a run or has none.
	if err := l.repo.HideTrees(ctx, l.trees()); err != nil {
		return nil, err
	}
	var shared *common.State
	if slices.ContainsFunc(l.Graph.Nodes, func(n dag.Node) bool { return n.HasTree() }) {
		if shared, err = l.repo.Shared.Read(ctx, l.repo.Root, false); err != nil {
			return nil, err
		}
	}
	r, err := l.make(ctx)
	if err != nil || shared == nil {
		return r, err
	}
	return r, r.WriteShared(shared)
}

// lock takes the lock of the session, for which no runner may be at work.
func (l *Launch) lock() (*signals.Lock, error) {
	locks := []string{run.LockPath(l.Options.Root, l.Graph.Session)}
	if l.strange {
		all, err := run.Locks(l.Options.Root)
		if err != nil {
			return nil, err
		}
		locks = append(locks, all...) // whose the runs are that they set aside is not known
	}
	for _, path := range locks {
		holder, held, err := signals.ReadHolder(path)
		if err != nil {
			return nil, err
		}
		if held && l.strange { // no command would believe the run
			return nil, hint.New(fmt.Errorf("a run %w (%s)", ErrRunning, holder.Brief(time.Now())),
				fmt.Sprintf("let it end, or stop it with the cmux and the key that it was started with, or end its runner: kill %d; then cmux agents start --new", holder.PID))
		}
	}
	lock, err := signals.TryLock(locks[0])
	var held *signals.HeldError
	if errors.As(err, &held) {
		return nil, l.running("a run", held.Holder)
	}
	return lock, err
}

// make makes the run, whose names are its own from then on.
func (l *Launch) make(ctx context.Context) (_ *run.Run, err error) {
	o, now := l.Options, time.Now()
	register, err := run.LockProject(ctx, o.Root)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, register.Unlock()) }()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := register.BranchTaken(l.Graph.Session, l.Graph); err != nil {
		return nil, tried(err)
	}
	id := run.NewID(now)
	if err := register.Enter(id, l.Graph.Session, l.Graph.Names()); err != nil {
		return nil, tried(err)
	}
	if err := l.clear(); err != nil {
		return nil, err
	}
	return run.Create(run.Plan{
		ID: id, Root: o.Root, From: l.from(), Config: o.Config, ConfigSum: run.Sum(l.config),
		BaseRef: l.Base.Ref, BaseBranch: l.Base.Branch, Base: l.Base.Commit,
		Headless: o.Headless, Fresh: o.Fresh, Socket: o.Socket, Tmux: l.Tmux, CreatedAt: now, Graph: l.Graph, On: o.On, By: o.By, Order: o.Order,
	}, l.config, o.Env, o.Binary)
}

// from is the linked worktree that start was called in; empty: the main one.
func (l *Launch) from() string {
	if l.Options.From == l.repo.Root {
		return ""
	}
	return l.Options.From
}

// endUnfinished ends a run that --new gives up. The caller holds the lock of the
// session.
func (l *Launch) endUnfinished(ctx context.Context) error {
	latest, err := l.latest()
	if err != nil {
		return err
	}
	if latest == nil && l.last != nil && !l.strange { // its session has another name now
		lock, err := l.last.TryLock()
		if err != nil {
			return err
		}
		defer lock.Unlock()
		latest = l.last
	}
	if latest == nil {
		return nil
	}
	over, err := latest.Over()
	if err != nil {
		return err
	}
	if over { // what a person called done and left running ends now
		_, err := cancelAll(ctx, latest, "")
		return errors.Join(err, latest.DropEnv())
	}
	if !l.Options.New {
		return hint.New(fmt.Errorf("run %s %w", latest.Plan.ID, ErrRunning), "cmux agents resume")
	}
	return giveUp(ctx, latest)
}

// latest is the newest run of the session by now; nil: there is none.
func (l *Launch) latest() (*run.Run, error) {
	all, err := run.Owners(l.Options.Root)
	if err != nil {
		return nil, err
	}
	for _, o := range all {
		if o.Session == l.Graph.Session {
			return run.Open(l.Options.Root, o.ID)
		}
	}
	return nil, nil
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
