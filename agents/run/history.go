package run

import (
	"slices"
	"strings"
	"time"

	"cmux/dag"
	"cmux/signals"
)

// Attempt is one attempt of a node, as recorded.
type Attempt struct {
	N        int
	Place    Place
	Pane     string
	Started  time.Time
	Began    time.Time // zero: no wrapper ever took it up
	PID      int
	PIDStart uint64
	Ended    time.Time // zero: no end is known
	End      *End      // nil while it lives and when it vanished
	Vanished string    // how it vanished: lost, interrupted, stopped

	Conversation string    // of its agent, which can be resumed; empty: none is known
	Used         dag.Usage // as far as it is recorded
	before       dag.Usage // of it, in conversations before Conversation
}

// Over reports whether the attempt's end is known, however it came.
func (a *Attempt) Over() bool { return a.End != nil || a.Vanished != "" }

// Node is the fold of everything recorded about one node.
type Node struct {
	Fact      dag.Fact
	Attempts  []Attempt
	Marker    *Written          // the marker that cmux last wrote or was about to write; nil: none counts
	Published bool              // Marker was seen in place
	Withdrawn *Written          // the marker before Marker, which no longer counts: to be removed where it still stands
	Tip       string            // what its branch contributes, once it is a success
	Blocked   string            // dependency that its recorded 99 names; empty: none recorded
	Opened    bool              // gate: a person was told
	Fresh     bool              // the next attempt starts from the base
	Left      *Left             // its program has ended without a report, and nobody has decided yet; nil: not so
	Used      dag.Usage         // by all attempts
	Outputs   map[string]string // that its agent published, since its last reset
	Last      time.Time
}

// Left is what is known of an agent whose program ended without a report. It
// outlives the attempt's wrapper: whoever takes the node up again finds it so.
type Left struct {
	Exit   int    `json:"exit"`   // the program's exit code
	Detail string `json:"detail"` // what is there, for people
}

// Attempt is the newest attempt, or nil.
func (n *Node) Attempt() *Attempt {
	if len(n.Attempts) == 0 {
		return nil
	}
	return &n.Attempts[len(n.Attempts)-1]
}

func (n *Node) attempt(i int) *Attempt {
	for k := len(n.Attempts) - 1; k >= 0; k-- {
		if n.Attempts[k].N == i {
			return &n.Attempts[k]
		}
	}
	return nil
}

// Resumable is the conversation that attempt i goes on with: that of the one
// before it which was lost, broken off or ended without a report. Empty: it
// begins one of its own.
func (n *Node) Resumable(i int) string {
	for k := len(n.Attempts) - 1; k >= 0; k-- {
		switch a := &n.Attempts[k]; {
		case a.N >= i:
		case a.Vanished == "" && (a.End == nil || a.End.Reason != dag.ReasonNoReport):
			return ""
		case a.Conversation != "":
			return a.Conversation
		}
	}
	return ""
}

// LastEnd is the newest attempt's end, or nil.
func (n *Node) LastEnd() *End {
	if a := n.Attempt(); a != nil {
		return a.End
	}
	return nil
}

// History is the fold of a run's records.
type History struct {
	Graph    *dag.Graph
	Nodes    []Node           // by node index
	Limits   map[string]Limit // by account, until it is known to be over
	Stopped  bool
	Final    dag.RunState // done or failed once the run has ended; empty before
	Started  time.Time
	Ended    time.Time
	Folder   signals.Identity // of the signals folder, when the newest runner came
	Boot     string           // of the machine, when the newest runner came
	Answered map[string]bool  // ids of requests that were carried out or refused
	Ups      []time.Time      // when runners took the run, since the last one that left in order
	Launch   string           // of the newest runner
	Used     dag.Usage        // by all nodes, those that an update removed as well

	Incidents []Record  // what agents tried and may not
	Foreign   []int64   // where in the records stand lines that this person's cmux did not write there; they count for nothing
	Bad       []BadLine // lines that this person's cmux may have written, and that are no records it knows; they count for nothing

	removed map[attemptKey]dag.Usage
}

// Limit is a limit that an account met.
type Limit struct {
	Since time.Time // it was first met
	Until time.Time // as far as known; it may be past and nobody have tried since
	Times int       // it was met, each time after the end known before
}

// met takes in that the limit was met at a moment, until another.
func (l Limit) met(at, until time.Time) Limit {
	if l.Times == 0 {
		return Limit{at, until, 1}
	}
	if !l.Until.IsZero() && !at.Before(l.Until) {
		l.Times++
	}
	l.Until = dag.LaterEnd(l.Until, until)
	return l
}

// On reports whether the limit lasts at the moment now.
func (l Limit) On(now time.Time) bool {
	return l.Times > 0 && (l.Until.IsZero() || l.Until.After(now))
}

// NewHistory is the history of a run of g in which nothing happened yet.
func NewHistory(g *dag.Graph) *History {
	return &History{Graph: g, Nodes: make([]Node, g.Len()), Limits: make(map[string]Limit), Answered: make(map[string]bool), removed: make(map[attemptKey]dag.Usage)}
}

// Apply takes one record in and returns the change that it is to the
// scheduler, if it is one. A record of a node that the graph does not have
// (any more) is passed over.
func (h *History) Apply(r *Record) (c dag.Change, isChange bool) {
	if r.Type == Requested {
		h.Answered[r.Request] = true
		return c, false
	}
	if r.Type == Incident {
		h.Incidents = append(h.Incidents, *r)
		return c, false
	}
	if r.Node == "" || r.Type == Limited || r.Type == Freed {
		return h.applyRun(r)
	}
	i := h.Graph.Index(r.Node)
	if i < 0 {
		h.useRemoved(r)
		return c, false
	}
	n := &h.Nodes[i]
	n.Last = r.At
	c = dag.Change{Node: i, Attempt: r.Attempt, At: r.At, Detail: r.Detail, Source: "record"}
	switch r.Type {
	case Started:
		if n.attempt(r.Attempt) != nil {
			return c, false // recorded twice
		}
		a := n.known(r)
		if a == nil {
			return c, false // of an attempt before the newest
		}
		if r.Place != nil {
			a.Place = *r.Place
		}
		n.Fresh = false
		c.Kind, c.Source, c.Trial = dag.Began, "runner", r.Trial
	case Began:
		if a := n.known(r); a != nil {
			a.Began, a.PID, a.PIDStart = r.At, r.PID, r.PIDStart
			if r.Pane != "" {
				a.Pane = r.Pane
			}
		}
		c.Kind, c.Source = dag.Began, "lock"
	case Conversed:
		if a := n.attempt(r.Attempt); a != nil && a.Conversation != r.Conversation {
			a.Conversation, a.before = r.Conversation, a.Used
		}
		return c, false
	case Used:
		if a := n.attempt(r.Attempt); a != nil {
			h.use(n, a, r.Used)
		}
		return c, false
	case Active:
		n.known(r)
		c.Kind, c.Activity, c.Until = dag.Active, r.Activity, r.Until
		switch {
		case r.How == HowLeft:
			n.Left = &Left{r.Code, r.Detail}
		case r.Activity != dag.SettingUp: // which another attempt does before it is where this one was
			n.Left = nil
		}
	case Wants:
		n.known(r)
		c.Kind = dag.Wants
	case Granted:
		n.known(r)
		// Step moves a queued attempt on when it emits the Grant; a replay has
		// only the record of it.
		c.Kind, c.Activity, c.Trial = dag.Regained, dag.Working, r.Trial
	case AttemptEnd:
		if a := n.known(r); a != nil {
			a.End, a.Ended = r.End, r.At
			h.use(n, a, r.use())
		}
		n.Left = nil
		c.Kind, c.Outcome, c.Exit, c.Reason = dag.AttemptEnded, r.End.Outcome, r.End.Exit, r.End.Reason
		if r.End.Reason != dag.ReasonExit || r.End.Outcome == dag.Cancelled {
			c.Exit = r.End.Marker()
		}
		c.Detail = r.End.Detail
	case Vanished:
		if a := n.known(r); a != nil {
			a.Vanished, a.Ended = r.How, r.At
		}
		c.Kind, c.Source = dag.Vanished, "lock"
	case Overridden:
		c.Kind, c.Outcome, c.Source = dag.Overridden, dag.Override, "marker"
		switch {
		case r.How == HowApproved:
			c.Outcome = dag.Done
		case r.Code != 0:
			c.Outcome, c.Exit, c.Reason = dag.Failed, r.Code, dag.ReasonByHand
		case r.How == HowBad:
			c.Outcome, c.Exit, c.Reason = dag.Failed, 1, dag.ReasonBadMarker
		}
		n.setMarker(r.Marker)
		n.Published = true
		if c.Outcome != dag.Failed && !(n.Fact.Phase == dag.Ended && n.Fact.Outcome.Success()) {
			n.Tip = r.Tip // of a done node it stays
		}
		n.Blocked, n.Left = "", nil
	case Blocked:
		n.setMarker(r.Marker)
		n.Blocked = r.Cause
		return c, false
	case Unblocked:
		n.setMarker(nil)
		n.Blocked = ""
		return c, false
	case Published:
		if n.Marker != nil && (r.Marker == nil || r.Marker.Identity == n.Marker.Identity) {
			n.Published = true
		} else if r.Marker != nil { // put back with a new identity
			n.Marker, n.Published = r.Marker, true
		}
		return c, false
	case Reset:
		c.Kind = dag.Reset
	case Opened:
		n.Opened = true
		return c, false
	case Moved:
		if n.Tip != "" {
			n.Tip = r.Tip
		}
		return c, false
	case Output:
		n.publish(r.Key, r.Value)
		return c, false
	default:
		return c, false
	}
	decided := n.Fact.StillOpen // the attempt's own end changes nothing more
	if !h.Graph.Fold(&n.Fact, c, h.Stopped) {
		return c, true
	}
	switch {
	case r.Type == AttemptEnd && !decided:
		n.setMarker(r.Marker)
		n.Blocked = ""
		if r.End.Outcome == dag.Done {
			n.Tip = r.End.Tip
		}
	case r.Type == Reset:
		n.setMarker(nil)
		n.Tip, n.Blocked, n.Opened, n.Outputs = "", "", false, nil
		n.Fresh, n.Left = r.Fresh, nil
	}
	return c, true
}

// Known reports whether an incident of this kind, told with these words first,
// is recorded.
func (h *History) Known(how, detail string) bool {
	return slices.ContainsFunc(h.Incidents, func(r Record) bool { return r.How == how && strings.HasPrefix(r.Detail, detail) })
}

// setMarker says which marker counts from here on; nil: none.
func (n *Node) setMarker(w *Written) {
	if n.Marker != nil {
		n.Withdrawn = n.Marker
	}
	n.Marker, n.Published = w, false
}

func (h *History) applyRun(r *Record) (c dag.Change, isChange bool) {
	c.At, c.Source = r.At, "record"
	switch r.Type {
	case RunnerUp:
		if h.Started.IsZero() {
			h.Started = r.At
		}
		h.Ups = append(h.Ups, r.At)
		h.rebooted(r.Boot)
		h.Boot, h.Folder, h.Launch = r.Boot, r.Folder, r.Launch
		h.Final, h.Ended = "", time.Time{}
	case RunnerDown:
		h.Ups = nil
	case Stopped:
		h.Stopped = true
		c.Kind = dag.Stop
		return c, true
	case Resumed:
		h.Stopped = false
		c.Kind = dag.Resume
		return c, true
	case RunEnded:
		h.Final, h.Ended = dag.RunState(r.How), r.At
	case Limited:
		h.Limits[r.Account] = h.Limits[r.Account].met(r.At, r.Until)
		c.Kind, c.Until = dag.AccountLimited, r.Until
	case Freed:
		delete(h.Limits, r.Account)
		c.Kind = dag.AccountFree
	default:
		return c, false
	}
	c.Account = r.Account
	h.Graph.FoldAccount(c.Account, func(i int) *dag.Fact { return &h.Nodes[i].Fact })
	return c, true
}

// rebooted forgets, when this is another boot of the machine, that markers were
// seen: a power cut may have taken them.
func (h *History) rebooted(boot string) {
	if h.Boot == "" || h.Boot == boot {
		return
	}
	for i := range h.Nodes {
		h.Nodes[i].Published = false
	}
}

// Facts is what the scheduler is rebuilt from.
func (h *History) Facts(now time.Time) dag.Facts {
	f := dag.Facts{Nodes: make([]dag.Fact, len(h.Nodes)), Limits: make(map[string]time.Time), Stopped: h.Stopped, Now: now}
	for i := range h.Nodes {
		f.Nodes[i] = h.Nodes[i].Fact
	}
	for a, l := range h.Limits {
		f.Limits[a] = l.Until
	}
	return f
}
