package run

import (
	"slices"
	"strings"
	"time"

	"cmux/agents/kinds/question"
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
	Ended    time.Time          // zero: no end is known
	End      *End               // nil while it lives and when it vanished
	Vanished string             // how it vanished: lost, interrupted, stopped
	Asks     *question.Question // what its agent waits for a person to answer; nil: nothing, or it is not known as data
	Asked    string             // names that question, known as data or not; empty: its agent asks nothing

	Silent time.Time // when its machine was last heard from; zero: it answers, or it is this one

	Conversation string    // of its agent, which can be resumed; empty: none is known
	Used         dag.Usage // as far as it is recorded
	before       dag.Usage // of it, in conversations before Conversation
}

// Over reports whether the attempt's end is known, however it came.
func (a *Attempt) Over() bool { return a.End != nil || a.Vanished != "" }

// Where returns the name of the machine that carries out the newest attempt of n, as
// Place.Where does; "" before the first attempt.
func (n *Node) Where() string {
	if a := n.Attempt(); a != nil {
		return a.Place.Where()
	}
	return ""
}

// Away returns the newest attempt of n if it is on another machine and not over, else nil.
func (n *Node) Away() *Attempt {
	if a := n.Attempt(); a != nil && a.Place.Away() && !a.Over() {
		return a
	}
	return nil
}

// HeardAt returns the last sign of life of the machine that carries out n; zero: it is heard,
// or no other machine carries n out.
func (n *Node) HeardAt() time.Time {
	if a := n.Away(); a != nil {
		return a.Silent
	}
	return time.Time{}
}

// Node is the fold of everything recorded about one node.
type Node struct {
	Fact      dag.Fact // as of the newest record of it; the scheduler may have given it a slot since
	Attempts  []Attempt
	Marker    *Written  // the marker that cmux last wrote or was about to write; nil: none counts
	Published bool      // Marker was seen in place
	Withdrawn *Written  // the marker before Marker, which no longer counts: to be removed where it still stands
	Tip       string    // what its branch contributes, once it is a success
	Blocked   string    // dependency that its recorded 99 names; empty: none recorded
	Skipped   bool      // its recorded 0 says that it is skipped
	Opened    bool      // gate: a person was told
	Fresh     bool      // the next attempt starts from the base
	Left      *Left     // its program has ended without a report, and nobody has decided yet; nil: not so
	Review    *Review   // of its work; nil: nobody has decided
	Used      dag.Usage // by all attempts
	Last      time.Time
	Fenced    []Fencing // what the fence refused, without duplicates, at most mostFenced

	own int // the looks at the History that have not seen Attempts, see History.look
}

// mostFenced bounds what is kept of a node's refused writes.
const mostFenced = 100

// OpenScope begins a Fencing.Open that is a place in the worktree: for the scope.
const OpenScope = "scope:"

// Fencing is a write that the fence refused.
type Fencing struct {
	Attempt int
	Path    string
	Open    string // the place to allow in the configuration; empty: none opens it
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

// Asked names what the agent of n asks, see question.ID; empty: nothing.
func (n *Node) Asked() string {
	if a := n.Attempt(); a != nil && !a.Over() {
		return a.Asked
	}
	return ""
}

func (n *Node) attempt(i int) *Attempt {
	for k := len(n.Attempts) - 1; k >= 0; k-- {
		if n.Attempts[k].N == i {
			return &n.Attempts[k]
		}
	}
	return nil
}

// Resumable returns the conversation that attempt i resumes: that of the attempt
// before it which was lost, broken off, ended without a report or sent back by a
// person. If it is empty, attempt i begins its own conversation.
func (n *Node) Resumable(i int) string {
	for k := len(n.Attempts) - 1; k >= 0; k-- {
		switch a := &n.Attempts[k]; {
		case a.N >= i:
		case a.Vanished == "" && (a.End == nil || a.End.Reason != dag.ReasonNoReport) && (n.Said() == "" || n.Review.Attempt != a.N):
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

// History is the fold of a run's records: what is recorded of each node, and the
// scheduler's State, which is folded from the same records, one at a time, and
// that a runner asks what is due.
type History struct {
	Graph     *dag.Graph
	State     *dag.State         // its clock is moved on by Tick
	Nodes     []Node             // by node index
	Limits    map[string]Limit   // by account, until it is known to be over
	Shared    map[string]string  // by account: the id of the newest state of it known here that all runs of the person know
	Untold    map[string]*Record // by account: what this run found out of it last, which may not be known to others yet
	Stopped   bool
	StoppedAt time.Time    // the last time
	Final     dag.RunState // how the run has ended; empty while it goes on, or goes on again
	Started   time.Time
	Ended     time.Time
	Folder    signals.Identity // of the signals folder, when the newest runner came
	Boot      string           // of the machine, when the newest runner came
	Answered  map[string]bool  // ids of requests that were carried out or refused
	Ups       []time.Time      // when runners took the run, since the last one that left in order
	Launch    string           // of the newest runner
	Used      dag.Usage        // by all nodes, those that an update removed as well

	Collisions []Collision // of each pair of nodes that ever met, in the order in which they first did, as it is now

	Incidents []Record  // what agents tried and may not
	Foreign   []int64   // where in the records stand lines that this person's cmux did not write there; they count for nothing
	Bad       []BadLine // lines that this person's cmux may have written, and that are no records it knows; they count for nothing

	removed map[attemptKey]dag.Usage
	looks   int // how often look was called
}

// NewHistory is the history of a run of g in which nothing happened yet.
func NewHistory(g *dag.Graph) *History {
	return &History{Graph: g, State: dag.Rebuild(g, dag.Facts{}), Nodes: make([]Node, g.Len()), Limits: make(map[string]Limit), Shared: make(map[string]string), Untold: make(map[string]*Record), Answered: make(map[string]bool), removed: make(map[attemptKey]dag.Usage)}
}

// Tick moves the scheduler's clock on to now, never back.
func (h *History) Tick(now time.Time) { h.State.Take(dag.Change{Kind: dag.Tick, At: now}) }

// look is a History of its own that stands as h does: what is told to one of
// them the other does not learn. It may be read while h goes on, but for its
// maps of accounts and requests, which it shares.
func (h *History) look() *History {
	h.looks++
	l := *h
	l.Nodes, l.State = slices.Clone(h.Nodes), h.State.Clone()
	return &l
}

// node is node i, to be changed: what an earlier look shows of it is copied.
func (h *History) node(i int) *Node {
	n := &h.Nodes[i]
	if n.own != h.looks {
		n.own = h.looks
		n.Attempts = slices.Clone(n.Attempts)
	}
	return n
}

// Known reports whether an incident of this kind, told with these words first,
// is recorded.
func (h *History) Known(how, detail string) bool {
	return slices.ContainsFunc(h.Incidents, func(r Record) bool { return r.How == how && strings.HasPrefix(r.Detail, detail) })
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
