package dag

import (
	"slices"
	"time"
)

// Rebuild computes the State of a run from its facts alone. f must hold one Fact per node
// of g, or none for a run in which nothing has happened. Due then returns a Block for every
// blocked node, an Open for every open gate, and a Start or Grant for every node that may
// run now. It leaves out the effects that the caller reports as Recorded. Rebuild of
// s.Facts() equals s. It is linear in nodes and dependencies.
func Rebuild(g *Graph, f Facts) *State {
	n := g.Len()
	facts := make([]Fact, n)
	copy(facts, f.Nodes)
	s := &State{
		g: g, facts: facts, now: f.Now, stopped: f.Stopped,
		accounts: make(map[string]int32),
		rank:     make([]int32, n),
		pool:     make([]int32, n),
		account:  make([]int32, n),
		pools:    []places{{}}, // 0: of the nodes that name no pool
		open:     make([]int32, n),
		wins:     make([]int32, n),
		skips:    make([]int32, n),
		stands:   make([]standing, n),
		told:     make([]int32, n),
		listed:   make([]bool, n),
	}
	s.count[waiting] = n
	for p, i := range g.order {
		s.rank[i] = int32(p)
	}

	poolIndex := map[string]int32{"": 0}
	type ask struct {
		pool, account int32
		agent         bool
	}
	laneIndex := make(map[ask]int32)
	laneOf := make([]int32, n)
	var poolOf []int32 // by lane
	for i := range g.Nodes {
		node := &g.Nodes[i]
		p, ok := poolIndex[node.Pool]
		if !ok {
			p = int32(len(s.pools))
			poolIndex[node.Pool] = p
			s.pools = append(s.pools, places{name: node.Pool, max: g.Pools[node.Pool]})
		}
		s.pool[i] = p
		a := int32(-1)
		if node.Account != "" {
			if a, ok = s.accounts[node.Account]; !ok {
				a = int32(len(s.limits))
				s.accounts[node.Account] = a
				s.limits = append(s.limits, limit{name: node.Account, trial: -1})
			}
		}
		s.account[i] = a
		l, ok := laneIndex[ask{p, a, node.UsesModel()}]
		if !ok {
			l = int32(len(poolOf))
			laneIndex[ask{p, a, node.UsesModel()}] = l
			if node.UsesModel() {
				s.lanesOf = append(s.lanesOf, l)
			}
			poolOf = append(poolOf, p)
			if a >= 0 {
				s.limits[a].lanes = append(s.limits[a].lanes, l)
			}
		}
		laneOf[i] = l
		s.open[i], s.told[i] = int32(len(g.deps[i])), toldNothing
	}
	s.ready = newQueue(s.rank, laneOf, poolOf, len(s.pools))
	s.queued = newQueue(s.rank, laneOf, poolOf, len(s.pools))

	for name, until := range f.Limits {
		if a, ok := s.accounts[name]; ok {
			s.setLimit(a, until)
		}
	}
	for _, i := range g.order {
		s.place(i)
		s.dirty = s.dirty[:0] // dependents come later in the order anyway
	}
	return s
}

// Facts returns a copy of everything the State is made from.
func (s *State) Facts() Facts {
	return Facts{Nodes: slices.Clone(s.facts), Limits: s.Limits(), Stopped: s.stopped, Now: s.now}
}

// Graph returns the graph of the State.
func (s *State) Graph() *Graph { return s.g }

// Fact returns a copy of the facts of node i.
func (s *State) Fact(i int) Fact { return s.facts[i] }

// Blocked reports whether node i is blocked, and by which direct dependency.
func (s *State) Blocked(i int) (cause int, ok bool) {
	if s.stands[i] != blocked {
		return 0, false
	}
	return int(s.cause(i)), true
}

// BlockedAt reports whether the dependencies of node i, as they are now, would block it,
// even if it has run already. root is the node that must run again first: one that is not
// blocked itself.
func (s *State) BlockedAt(i int) (root int, ok bool) {
	if s.join(i) != blocked {
		return 0, false
	}
	root = int(s.cause(i))
	for s.stands[root] == blocked {
		root = int(s.cause(root))
	}
	return root, true
}

// Skipped reports whether node i is skipped.
func (s *State) Skipped(i int) bool { return s.stands[i] == skipped }

// Ready reports whether node i would start if it had a slot: its join allows it, no attempt
// is alive and no backoff runs.
func (s *State) Ready(i int) bool { return s.stands[i] == startable }

// Settled reports whether node i has ended, is blocked or is skipped.
func (s *State) Settled(i int) bool { return s.stands[i].ended() }

// Slots returns how many slots are in use, and their number (0: no bound).
func (s *State) Slots() (used, max int) { return s.count[running], s.g.MaxParallel }

// Limits returns the limits that are not known to be over, by account, with their ends,
// which may be past; zero: unknown.
func (s *State) Limits() map[string]time.Time {
	limits := make(map[string]time.Time)
	for i := range s.limits {
		if l := &s.limits[i]; l.known {
			limits[l.name] = l.until
		}
	}
	return limits
}

// NextWake returns the earliest time at which time alone changes something: the end of a
// backoff or of a limit. The runner must send a Tick then.
func (s *State) NextWake() (at time.Time, ok bool) {
	s.wake.trim(s)
	if len(s.wake) == 0 {
		return time.Time{}, false
	}
	return s.wake[0].at, true
}

// RunState is the state of a whole run.
type RunState string

const (
	RunRunning  RunState = "running"
	RunWaiting  RunState = "waiting"   // only for a person
	RunLimited  RunState = "limited"   // continues by itself when a limit ends
	RunStopped  RunState = "stopped"   // until resume
	RunNoRunner RunState = "no runner" // set by callers that find no runner; never by Run
	RunDone     RunState = "done"      // every node is a success or skipped
	RunFailed   RunState = "failed"    // all nodes ended, and some did not succeed
)

// Run returns the state of the run. If one node waits for a limit and another for a person,
// the run is limited, because it continues by itself.
func (s *State) Run() RunState {
	n := s.g.Len()
	well := s.count[succeeded] + s.count[skipped]
	if well == n {
		return RunDone
	}
	if well+s.count[failed]+s.count[cancelled]+s.count[blocked] == n {
		return RunFailed
	}
	if s.stopped {
		return RunStopped
	}
	shut := s.ready.shutOut() + s.queued.shutOut() // a free account would let them run
	switch c := &s.count; {
	case c[running]+c[requeued]+c[paused]+c[backoff]+c[doomed]+c[lingering]+c[startable]-shut > 0:
		return RunRunning
	case c[limited]+shut > 0:
		return RunLimited
	}
	return RunWaiting
}

// BlockedBy returns the nodes that are blocked because node i ended, directly or through
// others, in graph order.
func (s *State) BlockedBy(i int) []int {
	if !s.stands[i].ended() || s.stands[i] == succeeded {
		return nil
	}
	trial := s.Clone()
	trial.facts[i] = Fact{Phase: Running}
	trial.settle(i)
	var out []int
	for _, j := range s.g.order {
		if j != i && s.stands[j] == blocked && trial.stands[j] != blocked {
			out = append(out, j)
		}
	}
	return out
}
