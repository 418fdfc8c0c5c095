package run

import (
	"slices"
	"time"

	"cmux/agents/kinds/question"
	"cmux/dag"
)

// Apply takes one record in. A record of a node that the graph does not have
// (any more) is passed over.
func (h *History) Apply(r *Record) {
	switch {
	case r.Type == Requested:
		h.Answered[r.Request] = true
	case r.Type == Incident && r.How == IncidentShared && h.Known(r.How, r.Detail):
		// Two nodes told of it at the same moment.
	case r.Type == Incident:
		h.Incidents = append(h.Incidents, *r)
	case r.Type == Collided:
		h.collide(r)
	case r.Type == Limited || r.Type == Freed:
		h.applyAccount(r)
	case r.Node == "":
		h.applyRun(r)
	default:
		if i := h.Graph.Index(r.Node); i >= 0 {
			h.applyNode(i, r)
		} else {
			h.useRemoved(r)
		}
	}
	h.goesOn()
}

// goesOn takes the end of the run back where there is something to do again: a
// node was reset, a person's decision set others free, an update brought more.
func (h *History) goesOn() {
	if h.Final == "" || h.Final == dag.RunStopped {
		return
	}
	if s := h.State.Run(); s != dag.RunDone && s != dag.RunFailed {
		h.Final, h.Ended = "", time.Time{}
	}
}

func (h *History) applyRun(r *Record) {
	switch r.Type {
	case RunnerUp:
		if h.Started.IsZero() {
			h.Started = r.At
		}
		h.Ups = append(h.Ups, r.At)
		h.rebooted(r.Boot)
		h.Boot, h.Folder, h.Launch = r.Boot, r.Folder, r.Launch
	case RunnerDown:
		h.Ups = nil
	case Stopped:
		h.Stopped, h.StoppedAt = true, r.At
		h.State.Take(dag.Change{Kind: dag.Stop})
	case Resumed:
		h.Stopped = false
		h.State.Take(dag.Change{Kind: dag.Resume})
	case RunEnded:
		h.Final, h.Ended = dag.RunState(r.How), r.At
	}
}

func (h *History) applyNode(i int, r *Record) {
	n := h.node(i)
	n.Last = r.At
	c, ok := n.change(r)
	if !ok {
		h.note(i, n, r)
		return
	}
	if !h.attempted(n, r) {
		return
	}
	c.Node = i
	was := n.Fact
	applied := h.State.Fold(c)
	if applied {
		n.Fact = h.State.Fact(i)
		if a := n.Attempt(); a == nil || a.N < n.Fact.Attempts {
			n.Fact.StillOpen = false // the scheduler gave it a slot, and nothing was started
		}
	}
	switch {
	case r.Type == Overridden:
		n.setMarker(r.Marker)
		n.Published = true
		if c.Outcome != dag.Failed && !(was.Phase == dag.Ended && was.Outcome.Success()) {
			n.Tip = r.Tip // of a done node it stays
		}
		n.Blocked, n.Skipped, n.Left = "", false, nil
	case !applied:
	case r.Type == AttemptEnd && !was.StillOpen: // else the attempt's own end changes nothing more
		n.setMarker(r.Marker)
		n.Blocked, n.Skipped = "", false
		if r.End.Outcome == dag.Done {
			n.Tip = r.End.Tip
		}
	case r.Type == Reset:
		n.setMarker(nil)
		n.Tip, n.Blocked, n.Skipped, n.Opened = "", "", false, false
		n.Fresh, n.Left, n.Review = r.Fresh, nil, n.sentBack(r)
	}
}

// Where what the scheduler knows is known from.
const (
	sourceRecord = "record"
	sourceRunner = "runner"
	sourceLock   = "lock"
	sourceMarker = "marker"
)

// change is what a record of n is to the scheduler, if it is a change.
func (n *Node) change(r *Record) (c dag.Change, ok bool) {
	c = dag.Change{Attempt: r.Attempt, At: r.At, Detail: r.Detail, Source: sourceRecord}
	switch r.Type {
	case Started:
		c.Kind, c.Source, c.Trial = dag.Began, sourceRunner, r.Trial
	case Began:
		c.Kind, c.Source = dag.Began, sourceLock
	case Active:
		c.Kind, c.Activity, c.Until = dag.Active, r.Activity, r.Until
	case Wants:
		c.Kind = dag.Wants
	case Granted:
		// Due moves a queued attempt on when it gives the Grant; a replay has only
		// the record of it.
		c.Kind, c.Activity, c.Trial = dag.Regained, dag.Working, r.Trial
	case Output:
		c.Kind, c.Output, c.Value = dag.Published, r.Key, r.Value
		return c, n.publishes(r.Key, r.Value)
	case AttemptEnd:
		c.Kind, c.Outcome, c.Exit, c.Reason = dag.AttemptEnded, r.End.Outcome, r.End.Exit, r.End.Reason
		if r.End.Reason != dag.ReasonExit || r.End.Outcome == dag.Cancelled {
			c.Exit = r.End.Marker()
		}
		c.Detail = r.End.Detail
	case Vanished:
		c.Kind, c.Source = dag.Vanished, sourceLock
	case Overridden:
		c.Kind, c.Outcome, c.Source = dag.Overridden, dag.Override, sourceMarker
		switch {
		case r.How == HowApproved:
			c.Outcome = dag.Done
		case r.Code != 0:
			c.Outcome, c.Exit, c.Reason = dag.Failed, r.Code, dag.ReasonByHand
		case r.How == HowBad:
			c.Outcome, c.Exit, c.Reason = dag.Failed, 1, dag.ReasonBadMarker
		}
	case Reset:
		c.Kind = dag.Reset
	default:
		return c, false
	}
	return c, true
}

// attempted enters what a change tells of an attempt. It reports whether the
// change is to be folded.
func (h *History) attempted(n *Node, r *Record) bool {
	switch r.Type {
	case Started:
		if n.attempt(r.Attempt) != nil {
			return false // recorded twice
		}
		a := n.known(r)
		if a == nil {
			return false // of an attempt before the newest
		}
		if r.Place != nil {
			a.Place = *r.Place
		}
		n.Fresh = false
	case Began:
		if a := n.known(r); a != nil {
			a.Began = r.At
			if a.Place.Away() {
				break // its process and its pane are on another machine
			}
			a.PID, a.PIDStart = r.PID, r.PIDStart
			if r.Pane != "" {
				a.Pane = r.Pane
			}
		}
	case Active:
		if a := n.known(r); a != nil {
			a.Asks, a.Asked = r.Question, ""
			if r.Activity == dag.NeedsInput {
				a.Asked = question.ID(r.At, r.Detail)
			}
		}
		switch {
		case r.How == HowLeft:
			n.Left = &Left{r.Code, r.Detail}
		case r.Activity != dag.SettingUp: // which another attempt does before it is where this one was
			n.Left = nil
		}
	case Wants, Granted, Output:
		n.known(r)
	case AttemptEnd:
		if a := n.known(r); a != nil {
			a.End, a.Ended = r.End, r.At
			h.use(n, a, r.use())
		}
		n.Left = nil
	case Vanished:
		if a := n.known(r); a != nil {
			a.Vanished, a.Ended = r.How, r.At
		}
	}
	return true
}

// note takes in what is recorded of n beside its changes: what its attempt has
// and used, which of the scheduler's effects were carried out, what stands in
// its marker.
func (h *History) note(i int, n *Node, r *Record) {
	switch r.Type {
	case Conversed:
		if a := n.attempt(r.Attempt); a != nil && a.Conversation != r.Conversation {
			a.Conversation, a.before = r.Conversation, a.Used
		}
	case Used:
		if a := n.attempt(r.Attempt); a != nil {
			h.use(n, a, r.Used)
		}
	case Claimed:
		if a := n.attempt(r.Attempt); a != nil {
			a.Place.Machine, a.Silent = r.Value, time.Time{}
		}
	case Silent:
		if a := n.attempt(r.Attempt); a != nil {
			a.Silent, _ = time.Parse(time.RFC3339Nano, r.Value) // zero: it answers again
		}
	case Reviewed:
		n.reviewed(r)
	case Blocked:
		n.setMarker(r.Marker)
		n.Blocked, n.Skipped = r.Cause, false
		h.State.Recorded(dag.Effect{Kind: dag.Block, Node: i, Cause: h.Graph.Index(r.Cause)})
	case Unblocked:
		n.setMarker(nil)
		n.Blocked, n.Skipped = "", false
		h.State.Recorded(dag.Effect{Kind: dag.Unblock, Node: i})
	case Skipped:
		n.setMarker(r.Marker)
		n.Blocked, n.Skipped = "", true
		h.State.Recorded(dag.Effect{Kind: dag.Skip, Node: i})
	case Opened:
		n.Opened = true
		h.State.Recorded(dag.Effect{Kind: dag.Open, Node: i})
	case Published:
		if n.Marker != nil && (r.Marker == nil || r.Marker.Identity == n.Marker.Identity) {
			n.Published = true
		} else if r.Marker != nil { // put back with a new identity
			n.Marker, n.Published = r.Marker, true
		}
	case Fenced:
		known := slices.ContainsFunc(n.Fenced, func(f Fencing) bool { return f.Path == r.Value && f.Attempt == r.Attempt })
		if !known && len(n.Fenced) < mostFenced {
			n.Fenced = append(slices.Clip(n.Fenced), Fencing{r.Attempt, r.Value, r.Key})
		}
	case Moved:
		if n.Tip != "" {
			n.Tip = r.Tip
		}
	}
}

// setMarker says which marker counts from here on; nil: none.
func (n *Node) setMarker(w *Written) {
	if n.Marker != nil {
		n.Withdrawn = n.Marker
	}
	n.Marker, n.Published = w, false
}
