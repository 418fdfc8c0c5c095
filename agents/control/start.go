package control

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"cmux/agents/run"
	"cmux/agents/runner"
	"cmux/dag"
	"cmux/signals"
)

// Start orders that the graph of the project is started.
type Start struct {
	Config   string `json:"config,omitempty"`   // empty: the project's own
	Base     string `json:"base,omitempty"`     // empty: the configuration's, or HEAD
	New      bool   `json:"new,omitempty"`      // end an unfinished run first
	Fresh    bool   `json:"fresh,omitempty"`    // continue no branch or worktree
	Headless bool   `json:"headless,omitempty"` // without tmux
	Dry      bool   `json:"dry,omitempty"`      // only look

	Binary string `json:"-"` // absolute path of this cmux
	Socket string `json:"-"` // of the tmux server; empty: cmux's own
}

// Starting is a start that was looked into. Nothing is made yet.
type Starting struct {
	Unfinished *run.Run       // is gone on with instead; the rest is then empty
	Launch     *runner.Launch // what would be started
	Linked     *Linked        // what of the caller's worktree is not used; nil: nothing
	Notes      []string       // of the programs of the agents
	Unfit      error          // why a dry start would be refused otherwise
}

// PlanStart reads and checks everything that a start needs.
func (p *Project) PlanStart(ctx context.Context, o Start) (*Starting, error) {
	asked := runner.StartOptions{
		Root: p.Root, Base: o.Base, New: o.New, Fresh: o.Fresh, Headless: o.Headless,
		Binary: o.Binary, Env: p.Env, Kinds: p.Kinds, Socket: o.Socket,
	}
	if o.Config != "" {
		asked.Config = p.Abs(o.Config)
	}
	l, err := runner.Plan(ctx, asked)
	var hinted *runner.TryError
	if _, missing := os.Stat(p.Config(o.Config)); errors.As(err, &hinted) && errors.Is(missing, os.ErrNotExist) {
		return nil, p.NoConfig(ctx, p.Config(o.Config))
	}
	if err != nil {
		return nil, err
	}
	if u := l.Unfinished; u != nil {
		if o.Dry {
			return nil, &Hint{Err: fmt.Errorf("run %s is not finished, so start would go on with it", u.Plan.ID), Try: "cmux agents status, or --new with --dry-run"}
		}
		return &Starting{Unfinished: u}, nil
	}
	s := &Starting{Launch: l}
	s.Notes, s.Unfit = preflight(ctx, l)
	if err := ctx.Err(); err != nil {
		return nil, err // what was looked for in vain may well be there
	}
	if s.Unfit != nil && !o.Dry {
		return nil, s.Unfit
	}
	s.Linked, err = p.Linked(ctx, asked, l)
	return s, err
}

// Remarks says, a line each, what a person should know of what would be
// started.
func (s *Starting) Remarks() (all []string) {
	tell := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	l, g := s.Launch, s.Launch.Graph
	for i := range g.Nodes {
		name := g.Nodes[i].Name
		if p := l.Rows[i].Preset; p.State != "" {
			tell("note: %s starts as %s: .cmux/signals/%s.done was put there by hand", name, p, name)
		}
		if l.Rows[i].Closed {
			tell("note: %s asks for a code: .cmux/signals/%s.done was put there by hand and does not count", name, name)
		}
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
	for _, n := range s.Notes {
		tell("warning: %s", n)
	}
	if s.Unfit != nil {
		tell("warning: start would refuse this now: %v", s.Unfit)
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
func (s *Starting) Waves() (all []Wave) {
	g := s.Launch.Graph
	var presets []dag.Change
	for i := range g.Nodes {
		switch s.Launch.Rows[i].Preset.State {
		case "":
		case dag.NodeDone:
			presets = append(presets, dag.Change{Kind: dag.Overridden, Node: i, Outcome: dag.Override})
		default:
			presets = append(presets, dag.Change{Kind: dag.Overridden, Node: i, Outcome: dag.Failed, Exit: 1, Reason: dag.ReasonByHand})
		}
	}
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

// RunnerLog opens what a runner of the run writes down of its own work.
func RunnerLog(r *run.Run) (io.WriteCloser, error) {
	return signals.OpenFile(r.RunnerLog(), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
}
