package run

import (
	"time"

	"cmux/agents/platform/lease"
	"cmux/agents/platform/settings"
	"cmux/dag"
	"cmux/signals"
)

// View is the one truth about a run at one moment: what status, the live
// table, wait and the API all show. It is derived from records, markers and
// locks alone and changes none of them, and does not change itself: it may be
// handed on to whoever shows it.
type View struct {
	Run           *Run
	RunState      dag.RunState
	Nodes         []NodeView      // in configuration order
	State         *dag.State      // what the labels come from
	Holder        *signals.Holder // the runner; nil when there is none
	Halted        bool            // a signal has stopped the runner's process: it does nothing
	ConfigChanged bool            // the configuration on disk is not the frozen one
	Pending       []Request       // not carried out yet
	StartedAt     time.Time
	EndedAt       time.Time // of a stopped run: when it was stopped
	Used          dag.Usage // by all nodes
	Full          string    // a folder whose disk is full: nodes wait for space; empty: none
	Incidents     []Record  // what agents tried and may not, and what was found that cmux did not write

	Collisions []Collision // that stand, see Collision

	Limits []AccountLimit // of the accounts of its nodes, that last, by account

	Lost []string // nodes whose names another run has: their markers are no longer this run's

	Strays []string // files among the markers that belong to no node

	foreign []int64 // see Passed
	bad     []BadLine
}

// NodeView is one node of a View.
type NodeView struct {
	*Node
	Spec   *dag.Node
	Status dag.Status
}

// fill computes labels and the run's state from h, which is the view's own.
func (v *View) fill(h *History, now time.Time) {
	h.Tick(now)
	if v.Holder != nil && h.State.Asks() {
		v.crowd(h)
	}
	v.State, v.Incidents = h.State, h.Incidents
	v.foreign, v.bad = h.Foreign, h.Bad
	v.StartedAt, v.EndedAt, v.Used = h.Started, h.Ended, h.Used
	v.Nodes = make([]NodeView, len(h.Nodes))
	for i := range h.Nodes {
		st := v.State.Status(i, now)
		if v.Holder == nil && v.State.Ready(i) && !h.Stopped {
			st.Reason = "no runner: cmux agents resume" // and not a slot is what it waits for
		}
		if st.Label.State == dag.NodeLimited {
			if by := h.Limits[h.Graph.Nodes[i].Account].By; by != nil {
				st.Reason += "; met by " + by.String()
			}
		}
		v.Nodes[i] = NodeView{Node: &h.Nodes[i], Spec: &h.Graph.Nodes[i], Status: st}
	}
	for i := range v.Nodes {
		if at := v.Since(i); v.Nodes[i].Fact.At.IsZero() && !at.IsZero() {
			v.Nodes[i].Status.Age = max(0, now.Sub(at))
		}
	}
	v.Limits = h.limits(now)
	v.RunState = v.state(h)
	if v.RunState == dag.RunStopped && v.EndedAt.IsZero() {
		v.EndedAt = h.StoppedAt
	}
	v.Collisions = h.Standing()
}

// Since returns when node i came to have its status, or zero if that is not known. Nothing
// is on record of a gate that waits: it has waited since the last of its dependencies
// ended, or since the run began.
func (v *View) Since(i int) time.Time {
	n := &v.Nodes[i]
	if !n.Fact.At.IsZero() || n.Spec.Role != dag.RoleGate || n.Status.Label.State != dag.NodeNeedsInput {
		return n.Fact.At
	}
	at := v.StartedAt
	for _, k := range v.Run.Plan.Graph.Deps(i) {
		if end := v.Nodes[k].Fact.At; end.After(at) {
			at = end
		}
	}
	return at
}

// crowd says of the agents that could start that the person's others have all
// places, where they have.
func (v *View) crowd(h *History) {
	user, err := settings.Read()
	if err != nil || user.MaxAgents == 0 {
		return // the runner says what is wrong
	}
	if taken, err := lease.Seated(); err == nil {
		h.State.Crowd(lease.Crowded(user.MaxAgents, taken))
	}
}

// state is how the run stands. It has ended when its end is on record: until
// then a marker may be missing, which only a runner puts back.
func (v *View) state(h *History) dag.RunState {
	state := v.State.Run()
	over := state == dag.RunDone || state == dag.RunFailed
	switch {
	case over && h.Final != "":
		return state
	case v.Holder == nil && (state == dag.RunStopped || h.Stopped):
		return dag.RunStopped
	case v.Holder == nil:
		return dag.RunNoRunner
	case over:
		return dag.RunRunning
	}
	return state
}
