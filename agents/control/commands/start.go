package commands

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"

	"cmux/agents/control/machines"
	"cmux/agents/control/preflight"
	"cmux/agents/control/runs"
	"cmux/agents/far"
	"cmux/agents/platform/say"
	"cmux/agents/runs/run"
	"cmux/agents/runs/runner"
	"cmux/dag"
	"cmux/signals"
	"cmux/worktree"
	"cmux/worktree/hint"
)

// Start orders that the graph of the project is started.
type Start struct {
	Config   string   `json:"config,omitempty"`   // empty: the project's own
	Base     string   `json:"base,omitempty"`     // empty: the configuration's, or HEAD
	New      bool     `json:"new,omitempty"`      // end an unfinished run first
	Fresh    bool     `json:"fresh,omitempty"`    // continue no branch or worktree
	Headless bool     `json:"headless,omitempty"` // without tmux
	On       []string `json:"on,omitempty"`       // the machines of nodes with runs_on; empty: those of the person's settings
	Here     bool     `json:"here,omitempty"`     // ignore runs_on
	Dry      bool     `json:"dry,omitempty"`      // only look

	// IfChanged starts nothing where the base and the configuration are those
	// of the last run that ended well.
	IfChanged bool `json:"if_changed,omitempty"`

	By    string `json:"-"` // the standing agent that orders it; empty: a person
	Order string `json:"-"` // by which request

	Binary string `json:"-"` // absolute path of this cmux
	Socket string `json:"-"` // of the tmux server; empty: cmux's own
}

// Starting is a start that was looked into. Nothing is made yet.
type Starting struct {
	Unfinished *run.Run  `json:"-"` // is continued instead; the rest is then empty
	Changed    bool      `json:"-"` // the configuration is not that of Unfinished
	Unchanged  *Ended    `json:"-"` // nothing has changed since; the rest is then empty
	Session    string    `json:"session"`
	Tmux       string    `json:"tmux,omitempty"`    // the tmux session, if another project has one of that name; empty: Session
	Folders    string    `json:"folders,omitempty"` // what the worktrees' names begin with, if another project has the session's; empty: Session
	Nodes      []Planned `json:"nodes"`
	Parallel   int       `json:"max_parallel"`
	Tokens     int64     `json:"tokens,omitempty"` // budget of all agents together; 0: none
	Base       string    `json:"base"`             // as it was asked for
	Commit     string    `json:"commit"`           // that it stands for
	Dirt       string    `json:"dirt,omitempty"`   // what is not committed, so in no worktree
	Remarks    []string  `json:"remarks"`          // what a person should know
	Config     string    `json:"config,omitempty"` // that is used, as seen from where the caller stands
	Branch     string    `json:"branch,omitempty"` // that Base is; empty: no branch
	Linked     string    `json:"linked,omitempty"` // the linked worktree that the run starts from; empty: the main one

	launch *runner.Launch
}

// Planned is a node that would be started.
type Planned struct {
	Name      string   `json:"name"`
	Kind      string   `json:"kind,omitempty"`
	Role      dag.Role `json:"role"`
	Branch    string   `json:"branch,omitempty"`
	Dir       string   `json:"dir,omitempty"`       // as in the configuration
	Continues string   `json:"continues,omitempty"` // that branch, and how far it is: continues BRANCH (+3)
	DependsOn []string `json:"depends_on"`
	When      dag.Join `json:"when"`
	If        string   `json:"if,omitempty"`
	Finally   bool     `json:"finally,omitempty"` // it waits for all that is not so
	Scope     []string `json:"scope"`
	Verify    []string `json:"verify"`
	Tree      bool     `json:"tree"`            // it has a worktree
	Where     string   `json:"where,omitempty"` // which machines fit; empty: it runs at home
}

// Waits says in a line what the node waits for.
func (n *Planned) Waits() string {
	return runs.Waits(&dag.Node{DependsOn: n.DependsOn, When: n.When, Finally: n.Finally, If: n.If})
}

// PlanStart reads and checks everything that a start needs.
func (p *Commands) PlanStart(ctx context.Context, o Start) (*Starting, error) {
	from, err := p.Configurations.Linked(ctx)
	if err != nil {
		return nil, err
	}
	on := []string{}
	if !o.Here {
		if on, err = machines.On(o.On, p.Getenv); err != nil {
			return nil, err
		}
	}
	asked := runner.StartOptions{
		On:   on,
		Root: p.Root, From: from, Config: p.Configurations.Config(o.Config), Base: o.Base, New: o.New, Fresh: o.Fresh, Headless: o.Headless,
		Binary: o.Binary, Env: p.Env, Kinds: p.Kinds, Socket: o.Socket, By: o.By, Order: o.Order,
	}
	l, err := runner.Plan(ctx, asked)
	if errors.Is(err, runner.ErrNoConfig) {
		return nil, p.Configurations.NoConfig(ctx, p.Configurations.Config(o.Config))
	}
	if err != nil {
		return nil, err
	}
	if u := l.Unfinished; u != nil {
		if o.Dry {
			return nil, hint.New(fmt.Errorf("run %s is not finished, so start would resume it", u.Plan.ID), "cmux agents status, or --new with --dry-run")
		}
		if flags := o.freshFlags(u); len(flags) > 0 {
			return nil, hint.New(fmt.Errorf("run %s is not finished, and start would resume it as it is: %s is for a new run", u.Plan.ID, flags[0]),
				"cmux agents resume, or cmux agents start --new "+strings.Join(flags, " "))
		}
		return &Starting{Unfinished: u, Changed: u.ConfigChanged(), launch: l}, nil
	}
	if o.IfChanged {
		if last, err := p.unchanged(ctx, l); err != nil || last != nil {
			return &Starting{Unchanged: last}, err
		}
	}
	away := machines.Away(l.Graph)
	var there []far.Machine
	switch {
	case o.Here || len(away) == 0:
		l.Options.On = nil // nothing is to be reached
	case len(on) == 0:
		return nil, machines.Needed(l.Graph)
	default:
		if err := machines.Refused(l.Graph); err != nil {
			return nil, err
		}
		if there, err = machines.List(ctx, on, p.Getenv); err != nil {
			return nil, err
		}
	}
	notes, unfit := preflight.Launch(ctx, l)
	if err := ctx.Err(); err != nil {
		return nil, err // what was looked for in vain may well be there
	}
	if unfit != nil && !o.Dry {
		return nil, unfit
	}
	s := starting(l)
	if len(l.Options.On) > 0 {
		for i := range l.Graph.Nodes {
			if n := &l.Graph.Nodes[i]; n.Away() {
				s.Nodes[i].Where = machines.Where(n, there)
			}
		}
	}
	s.Remarks = append(p.lastOne(ctx, o, l.Graph.Session), remarks(l, notes, unfit)...)
	s.Config, s.Linked = p.Short(asked.Config), from
	return s, nil
}

// freshFlags are the flags that say how a run begins, which that of u has.
func (o *Start) freshFlags(u *run.Run) (flags []string) {
	if o.Fresh {
		flags = append(flags, "--fresh")
	}
	if o.Base != "" {
		flags = append(flags, "--base "+o.Base)
	}
	if o.Headless && !u.Plan.Headless {
		flags = append(flags, "--headless")
	}
	return flags
}

// lastOne says how to continue the last run instead, if that did not end well.
func (p *Commands) lastOne(ctx context.Context, o Start, session string) []string {
	r, err := p.Runs.Newest(session)
	if err != nil || r == nil || o.New {
		return nil // without one, or with one that is not believed, there is nothing to resume
	}
	v, err := r.View(ctx, p.Now())
	if err != nil || v.RunState != dag.RunFailed {
		return nil
	}
	return []string{p.Runs.InSession(fmt.Sprintf("note: run %s has failed, and this begins a new run; to continue that one: cmux agents retry --failed", r.Plan.ID), session)}
}

func starting(l *runner.Launch) *Starting {
	g := l.Graph
	s := &Starting{Session: g.Session, Tmux: l.Tmux, Folders: g.Folders, Parallel: g.MaxParallel, Tokens: g.Budget.Tokens, Base: l.Base.Ref, Branch: l.Base.Branch, Commit: l.Base.Commit, launch: l}
	if !l.Dirt.Clean() {
		s.Dirt = l.Dirt.String()
		if len(l.Dirt.Paths) > 0 {
			s.Dirt += " (" + say.Line(say.List(l.Dirt.Paths, 5)) + ")"
		}
	}
	for i := range g.Nodes {
		n := &g.Nodes[i]
		s.Nodes = append(s.Nodes, PlannedAs(n, l.Rows[i].Continues))
	}
	return s
}

func PlannedAs(n *dag.Node, continues string) Planned {
	kind := n.Agent
	if n.Role == dag.RoleGate {
		kind = ""
	}
	return Planned{Name: n.Name, Kind: kind, Role: n.Role, Branch: n.Branch, Dir: n.Dir, Continues: continues,
		DependsOn: n.DependsOn, When: n.When, If: n.If, Finally: n.Finally, Scope: n.Scope, Verify: n.Verify, Tree: n.HasTree()}
}

// Create makes the run, or takes the unfinished one up. aside is where what is not believed of an earlier one is
// now.
func (s *Starting) Create(ctx context.Context) (r *run.Run, aside []string, err error) {
	r, err = s.launch.Create(ctx)
	return r, s.launch.SetAside, err
}

// Repo is the project's repository, as it was looked into.
func (s *Starting) Repo() *worktree.Repo { return s.launch.Repo() }

// Draw draws the graph as text.
func (s *Starting) Draw(w io.Writer) error { return s.launch.Graph.Draw(w, "text") }

// remarks says, a line each, what a person should know of what would be started.
func remarks(l *runner.Launch, notes []string, unfit error) (all []string) {
	tell := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	g := l.Graph
	for i := range g.Nodes {
		name := g.Nodes[i].Name
		if p := l.Rows[i].Preset; p.State != "" {
			tell("note: %s starts as %s: .cmux/signals/%s.done was put there by hand", name, p, name)
		}
		if l.Rows[i].Closed {
			tell("note: %s asks for a code: .cmux/signals/%s.done was put there by hand and does not count", name, name)
		}
	}
	if l.Options.Fresh {
		tell("note: every branch and worktree begins at the base; what is in them is saved first: cmux snapshots list")
	}
	if most := run.MostAtOnce(run.FileLimit()); l.Options.Headless && most < min(g.MaxParallel, len(g.Nodes)) {
		tell("note: at most %d at a time, not %d: a process may open %d files here (ulimit -n)", most, g.MaxParallel, run.FileLimit())
	}
	for _, w := range l.Warnings {
		tell("warning: %s", w.Error())
	}
	for _, o := range l.Overlaps {
		both := o.PatternA
		if o.PatternB != both {
			both += ", " + o.PatternB
		}
		tell("warning: %s and %s may run at the same time and both write %s", g.Nodes[o.A].Name, g.Nodes[o.B].Name, both)
	}
	for _, n := range notes {
		tell("warning: %s", n)
	}
	if unfit != nil {
		tell("warning: start would refuse this now: %v", unfit)
	}
	return all
}

// Wave is what happens at once as a graph unfolds.
type Wave struct {
	Start   []string `json:"start"`   // nodes that start
	Approve []string `json:"approve"` // gates that a person opens
	Blocked []string `json:"blocked"` // by a marker that was put there by hand
}

func (w Wave) String() string {
	var parts []string
	for _, p := range []struct {
		names []string
		what  string
	}{{w.Start, "%s"}, {w.Approve, "a person approves %s"}, {w.Blocked, "blocked: %s"}} {
		if len(p.names) > 0 {
			parts = append(parts, fmt.Sprintf(p.what, strings.Join(p.names, ", ")))
		}
	}
	return strings.Join(parts, "; ")
}

// Waves is in which order the nodes would start if every one succeeded, taking
// equally long. The real scheduler decides.
func (s *Starting) Waves() []Wave {
	g := s.launch.Graph
	var presets []dag.Change
	for i := range g.Nodes {
		switch s.launch.Rows[i].Preset.State {
		case "":
		case dag.NodeDone:
			presets = append(presets, dag.Change{Kind: dag.Overridden, Node: i, Outcome: dag.Override})
		default:
			presets = append(presets, dag.Change{Kind: dag.Overridden, Node: i, Outcome: dag.Failed, Exit: 1, Reason: dag.ReasonByHand})
		}
	}
	return Waves(g, presets)
}

func Waves(g *dag.Graph, presets []dag.Change) (all []Wave) {
	g = g.Unconditional()
	state := dag.Rebuild(g, dag.Facts{Nodes: make([]dag.Fact, g.Len())})
	for effects := state.Step(presets...); len(effects) > 0; {
		var (
			w    Wave
			ends []dag.Change
		)
		for _, e := range effects {
			name := g.Nodes[e.Node].Name
			switch e.Kind {
			case dag.Start:
				w.Start = append(w.Start, name)
				ends = append(ends, dag.Change{Kind: dag.AttemptEnded, Node: e.Node, Attempt: e.Attempt, Outcome: dag.Done})
			case dag.Open:
				w.Approve = append(w.Approve, name)
				ends = append(ends, dag.Change{Kind: dag.Overridden, Node: e.Node, Outcome: dag.Done})
			case dag.Block:
				w.Blocked = append(w.Blocked, name)
			}
		}
		all = append(all, w)
		effects = state.Step(ends...)
	}
	return all
}

// RunnerLog opens what a runner of the run writes down of its own work. If this process
// crashes, the log says where as well: the pane is drawn over by who comes next.
func RunnerLog(r *run.Run) (io.WriteCloser, error) {
	f, err := signals.OpenFile(r.RunnerLog(), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	return f, debug.SetCrashOutput(f, debug.CrashOptions{})
}
