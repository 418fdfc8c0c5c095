package graphs

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"cmux/agents/control/commands"
	"cmux/agents/control/project"
	"cmux/agents/control/runs"
	"cmux/agents/control/runview"
	"cmux/agents/runs/run"
	"cmux/dag"
)

// RunGraph is a run as it is drawn: its graph, and when each node was at work.
type RunGraph struct {
	Run      GraphRun    `json:"run"`
	Nodes    []GraphNode `json:"nodes"`    // in configuration order
	Critical []string    `json:"critical"` // the chain that the run takes its time from, first to last
	Seconds  float64     `json:"seconds"`  // that the chain takes; a node that has not begun counts as the mean of those that ended
}

// GraphRun is the run itself.
type GraphRun struct {
	runs.RunReport
	Past        bool       `json:"past"` // its session has a newer run
	Headless    bool       `json:"headless"`
	Base        string     `json:"base"`        // the commit that it started from
	BaseBranch  string     `json:"base_branch"` // empty: that was no branch
	MaxParallel int        `json:"max_parallel"`
	StartedAt   *time.Time `json:"started_at"`
	EndedAt     *time.Time `json:"ended_at"`
	Runner      bool       `json:"runner"`         // it has one
	Edited      bool       `json:"config_changed"` // its configuration says something else by now
	By          string     `json:"by"`             // the standing agent that ordered it; empty: a person
}

// GraphNode is a node of a RunGraph.
type GraphNode struct {
	runs.NodeReport
	When     dag.Join   `json:"when"`
	If       string     `json:"if"`
	Pool     string     `json:"pool"`
	Since    *time.Time `json:"since"` // it stands so
	Spans    []Span     `json:"spans"` // when its attempts were at work, oldest first
	Critical bool       `json:"critical"`
}

// Span is an attempt in time.
type Span struct {
	Attempt int        `json:"attempt"`
	Began   time.Time  `json:"began_at"`
	Ended   *time.Time `json:"ended_at"` // null: it is at work
	Label   *dag.Label `json:"label"`    // how it ended; null: it has not
	Lost    string     `json:"lost"`     // how it vanished: lost, interrupted, stopped; empty: it did not
}

// Graph is a run as it is drawn; id is as for Named.
func (p *Graphs) RunGraph(ctx context.Context, id string) (*RunGraph, error) {
	r, err := p.Runs.Named(ctx, id)
	if err != nil {
		return nil, err
	}
	past, err := p.Runs.Past(ctx, r)
	if err != nil {
		return nil, err
	}
	v, err := r.View(ctx, p.Now())
	if err != nil {
		return nil, err
	}
	g := GraphOf(v, p.Now())
	g.Run.Past = past
	return g, nil
}

// GraphOf is the graph of a run as it stands.
func GraphOf(v *run.View, now time.Time) *RunGraph {
	report, plan := runs.NewReport(v), v.Run.Plan
	g := &RunGraph{Run: GraphRun{RunReport: *report.Run, Headless: plan.Headless, Base: plan.Base, BaseBranch: plan.BaseBranch,
		MaxParallel: plan.Graph.MaxParallel, StartedAt: project.Moment(v.StartedAt), EndedAt: project.Moment(v.EndedAt), Runner: v.Holder != nil, Edited: v.ConfigChanged, By: plan.By}}
	g.Nodes = make([]GraphNode, len(v.Nodes))
	for i := range v.Nodes {
		n := &v.Nodes[i]
		g.Nodes[i] = GraphNode{NodeReport: report.Nodes[i], When: n.Spec.When, If: n.Spec.If, Pool: n.Spec.Pool, Spans: spansOf(n)}
		if n.Status.Age > 0 {
			g.Nodes[i].Since = project.Moment(v.Since(i))
		}
	}
	chain, whole := plan.Graph.Critical(durations(v, now))
	g.Seconds = seconds(whole)
	for _, i := range chain {
		g.Critical = append(g.Critical, g.Nodes[i].Name)
		g.Nodes[i].Critical = true
	}
	return g
}

// spansOf are the attempts of a node in time.
func spansOf(n *run.NodeView) []Span {
	all := make([]Span, len(n.Attempts))
	for k := range n.Attempts {
		a := &n.Attempts[k]
		all[k] = Span{Attempt: a.N, Began: a.Started, Ended: project.Moment(a.Ended), Lost: a.Vanished}
		if a.End != nil {
			label := a.End.Label()
			all[k].Label = &label
		}
	}
	return all
}

// worked is how long the attempts of a node took together; one that is at work is
// counted until now.
func workedFor(n *run.NodeView, now time.Time) (d time.Duration) {
	for k := range n.Attempts {
		a := &n.Attempts[k]
		end := a.Ended
		if end.IsZero() {
			if end = now; !n.Fact.Live() {
				end = n.Last
			}
		}
		d += max(0, end.Sub(a.Started))
	}
	return d
}

// durations says how long each node of a run took, or, where it has not begun, what
// those took on average that ended. Gates take no time.
func durations(v *run.View, now time.Time) func(i int) time.Duration {
	all := make([]time.Duration, len(v.Nodes))
	var sum, n time.Duration
	for i := range v.Nodes {
		all[i] = workedFor(&v.Nodes[i], now)
		if len(v.Nodes[i].Attempts) > 0 && !v.Nodes[i].Fact.Live() {
			sum, n = sum+all[i], n+1
		}
	}
	for i := range v.Nodes {
		node := &v.Nodes[i]
		if n > 0 && len(node.Attempts) == 0 && node.Spec.Role != dag.RoleGate && !v.State.Settled(i) {
			all[i] = sum / n
		}
	}
	return func(i int) time.Duration { return all[i] }
}

// seconds is a duration as it is written, to the millisecond.
func seconds(d time.Duration) float64 { return math.Round(d.Seconds()*1000) / 1000 }

// Compared is how two runs differ.
type Compared struct {
	A     runs.PastRun   `json:"a"`
	B     runs.PastRun   `json:"b"`
	Nodes []ComparedNode `json:"nodes"` // of A in its order, and then those of B alone
}

// ComparedNode is a node in both runs.
type ComparedNode struct {
	Name string      `json:"name"`
	A    *NodeFigure `json:"a"` // null: the run has no such node
	B    *NodeFigure `json:"b"`
	// Changed are the keys of its configuration that differ, such as task or scope.
	Changed string `json:"changed"`
}

// NodeFigure is what a node came to in a run.
type NodeFigure struct {
	Label    dag.Label  `json:"label"`
	Attempts int        `json:"attempts"`
	Seconds  float64    `json:"seconds"` // that its attempts took together
	Used     *dag.Usage `json:"used"`
	Commits  int        `json:"commits"`
	DiffStat string     `json:"diffstat"`
}

// Compare compares two runs, node by node.
func (p *Graphs) Compare(ctx context.Context, a, b string) (*Compared, error) {
	var views [2]*run.View
	c := &Compared{Nodes: []ComparedNode{}}
	for k, id := range []string{a, b} {
		if id == "" {
			return nil, project.Usage("", "name two runs to compare")
		}
		r, err := p.Runs.Named(ctx, id)
		if err != nil {
			return nil, err
		}
		if views[k], err = r.View(ctx, p.Now()); err != nil {
			return nil, err
		}
	}
	c.A, c.B = runs.PastRunOf(views[0]), runs.PastRunOf(views[1])
	ga, gb := views[0].Run.Plan.Graph, views[1].Run.Plan.Graph
	for i := range ga.Nodes {
		n := ComparedNode{Name: ga.Nodes[i].Name, A: figure(views[0], i, p.Now())}
		if j := gb.Index(n.Name); j >= 0 {
			var err error
			n.B = figure(views[1], j, p.Now())
			if n.Changed, err = commands.ChangedKeys(&ga.Nodes[i], &gb.Nodes[j], "line", "file"); err != nil {
				return nil, fmt.Errorf("%s: %w", n.Name, err)
			}
		}
		c.Nodes = append(c.Nodes, n)
	}
	for j := range gb.Nodes {
		if name := gb.Nodes[j].Name; ga.Index(name) < 0 {
			c.Nodes = append(c.Nodes, ComparedNode{Name: name, B: figure(views[1], j, p.Now())})
		}
	}
	return c, nil
}

func figure(v *run.View, i int, now time.Time) *NodeFigure {
	n := &v.Nodes[i]
	f := &NodeFigure{Label: n.Status.Label, Attempts: len(n.Attempts), Seconds: seconds(workedFor(n, now)), Used: runs.Known(n.Used)}
	if e := n.LastEnd(); e != nil {
		f.Commits, f.DiffStat = e.Commits, e.DiffStat
	}
	return f
}

// Unfolded is when the nodes of a graph would be at work if every one succeeded.
type Unfolded struct {
	Slots     []UnfoldedSlot `json:"slots"` // by their start
	Seconds   float64        `json:"seconds"`
	Parallel  int            `json:"max_parallel"`
	Critical  []string       `json:"critical"`  // the chain that takes longest, however many run at once
	Estimated []string       `json:"estimated"` // nodes whose time is what earlier runs took; the others take a minute
}

// UnfoldedSlot is a node at work.
type UnfoldedSlot struct {
	Node    string  `json:"node"`
	Start   float64 `json:"start"` // in seconds from the beginning
	End     float64 `json:"end"`
	Gate    bool    `json:"gate"`    // a person opens it then
	Blocked bool    `json:"blocked"` // it never starts: what it waits for was called failed by hand
}

const (
	// unknownTook is how long a node is taken to take that no run has had.
	unknownTook = time.Minute
	// pastLooked is from how many of the newest runs the times are taken.
	pastLooked = 5
)

// unfold unfolds a graph.
func (p *Graphs) unfold(ctx context.Context, g *dag.Graph, parallel int, presets []dag.Change) (*Unfolded, error) {
	known, err := p.pastDurations(ctx)
	if err != nil {
		return nil, err
	}
	took := func(i int) time.Duration {
		n := &g.Nodes[i]
		d := known[n.Name]
		switch {
		case n.Role == dag.RoleGate:
			return 0
		case len(d) == 0:
			return unknownTook
		}
		return d[len(d)/2]
	}
	u := &Unfolded{Slots: []UnfoldedSlot{}, Parallel: parallel, Critical: []string{}, Estimated: []string{}}
	if parallel <= 0 {
		u.Parallel = g.MaxParallel
	}
	for _, s := range g.Unfold(parallel, took, presets...) {
		u.Slots = append(u.Slots, UnfoldedSlot{Node: g.Nodes[s.Node].Name, Start: seconds(s.Start), End: seconds(s.End), Gate: s.Opened, Blocked: s.Blocked})
		u.Seconds = max(u.Seconds, seconds(s.End))
	}
	chain, _ := g.Critical(took)
	for _, i := range chain {
		u.Critical = append(u.Critical, g.Nodes[i].Name)
	}
	for i := range g.Nodes {
		if len(known[g.Nodes[i].Name]) > 0 {
			u.Estimated = append(u.Estimated, g.Nodes[i].Name)
		}
	}
	return u, nil
}

// pastDurations is what nodes that ended well took in the newest runs, by name,
// sorted.
func (p *Graphs) pastDurations(ctx context.Context) (map[string][]time.Duration, error) {
	ids, err := run.List(p.Root)
	if err != nil {
		return nil, err
	}
	all := make(map[string][]time.Duration)
	for _, id := range ids[max(0, len(ids)-pastLooked):] {
		r, err := run.Open(p.Root, id)
		if err != nil {
			continue // cmux doctor says what is wrong with it
		}
		v, err := r.View(ctx, p.Now())
		if err != nil {
			return nil, err
		}
		for i := range v.Nodes {
			if n := &v.Nodes[i]; runview.Succeeded(n) && len(n.Attempts) > 0 && !n.Fact.Live() {
				all[n.Spec.Name] = append(all[n.Spec.Name], workedFor(n, p.Now()))
			}
		}
	}
	for _, d := range all {
		slices.Sort(d)
	}
	return all, nil
}

// UnfoldGraph unfolds a text as the configuration of agents; the empty one: that of
// the file. Nothing is written or started.
func (p *Graphs) UnfoldGraph(ctx context.Context, text string, parallel int) (*Unfolded, error) {
	if text == "" {
		file, err := p.GraphText()
		if err != nil {
			return nil, err
		}
		text = file.Text
	}
	g, _, err := p.parseGraph(ctx, text)
	if err != nil {
		return nil, err
	}
	return p.unfold(ctx, g, parallel, nil)
}
