package runner

import (
	"slices"
	"time"

	"cmux/agents/runs/host"
	"cmux/dag"
)

// tally counts how nodes stand for those who look, a node at a time: no change
// costs a look at all of them.
type tally struct {
	states []dag.NodeState // by node, as counted
	needs  []int           // nodes that need a person
	done   int
	failed int
}

// take counts node i, which now stands so.
func (t *tally) take(i int, s dag.NodeState) {
	was := t.states[i]
	if was == s {
		return
	}
	t.states[i] = s
	switch was {
	case dag.NodeDone:
		t.done--
	case dag.NodeFailed:
		t.failed--
	case dag.NodeNeedsInput:
		t.needs = slices.DeleteFunc(t.needs, func(k int) bool { return k == i })
	}
	switch s {
	case dag.NodeDone:
		t.done++
	case dag.NodeFailed:
		t.failed++
	case dag.NodeNeedsInput:
		t.needs = append(t.needs, i)
	}
}

// show shows people how the nodes stand of which something was recorded.
func (r *Runner) show() {
	defer clear(r.relabel)
	if !r.screen.Shows() || len(r.relabel) == 0 {
		return
	}
	// A gate waits again once what it depends on was reset, and no record is of the gate.
	for _, i := range r.tally.needs {
		r.relabel[i] = true
	}
	now := time.Now()
	for i := range r.relabel {
		label := r.hist.State.Status(i, now).Label
		r.tally.take(i, label.State)
		if r.hist.Nodes[i].Fact.Attempts > 0 { // else there is nothing to show it at
			r.screen.Show(r.g.Nodes[i].Name, label, r.hist.Nodes[i].Fact.Live())
		}
	}
	r.headline("", now)
}

// showAll shows how every node stands, to begin with.
func (r *Runner) showAll() {
	for i := range r.g.Nodes {
		r.relabel[i] = true
	}
	r.show()
}

// headline shows how the run stands. state is empty while it goes on.
func (r *Runner) headline(state dag.RunState, now time.Time) {
	s := host.Summary{Need: len(r.tally.needs), Done: r.tally.done, Failed: r.tally.failed, Nodes: r.g.Len(), Tokens: r.hist.Used.Counted(), State: state}
	for _, i := range r.tally.needs {
		if r.g.Nodes[i].Role == dag.RoleGate {
			s.Gates++
		}
	}
	for account, l := range r.hist.Limits {
		if !r.hasAccount(account) || !l.Until.IsZero() && !l.Until.After(now) {
			continue
		}
		s.Limited = true
		if until := l.Until.Local(); !l.Until.IsZero() && (s.Until.IsZero() || until.Before(s.Until)) {
			s.Until = until
		}
	}
	r.screen.Headline(s)
}
