package dag

import (
	"cmp"
	"container/heap"
	"time"
)

// Slot is when a node would run, counted from the beginning.
type Slot struct {
	Node       int
	Start, End time.Duration
	Opened     bool // a gate, which a person opens at Start: its time does not count
	Blocked    bool // it never starts, because a dependency has failed
}

// Unfold returns when the nodes would run if every one succeeded and took as long as took
// returns. parallel is how many run at once; 0: as the graph says. presets are changes that
// have happened before. The order is that of the scheduler, without conditions (if:), whose
// values are not known in advance.
func (g *Graph) Unfold(parallel int, took func(i int) time.Duration, presets ...Change) []Slot {
	u := *g.Unconditional()
	if parallel > 0 {
		u.MaxParallel = parallel
	}
	state := Rebuild(&u, Facts{Nodes: make([]Fact, u.Len())})
	var (
		all  []Slot
		live toEnd
		now  time.Duration
	)
	effects := state.Step(presets...)
	for {
		var opened []Change
		for _, e := range effects {
			switch e.Kind {
			case Start:
				s := Slot{Node: e.Node, Start: now, End: now + max(0, took(e.Node))}
				all = append(all, s)
				heap.Push(&live, end{s.End, Change{Kind: AttemptEnded, Node: e.Node, Attempt: e.Attempt, Outcome: Done}})
			case Open:
				all = append(all, Slot{Node: e.Node, Start: now, End: now, Opened: true})
				opened = append(opened, Change{Kind: Overridden, Node: e.Node, Outcome: Done})
			case Block:
				all = append(all, Slot{Node: e.Node, Start: now, End: now, Blocked: true})
			}
		}
		if len(opened) == 0 {
			if len(live) == 0 {
				return all
			}
			now = live[0].at
			for len(live) > 0 && live[0].at == now {
				opened = append(opened, heap.Pop(&live).(end).change)
			}
		}
		effects = state.Step(opened...)
	}
}

// end is the future end of a node.
type end struct {
	at     time.Duration
	change Change
}

// toEnd is a heap of ends, the next one first.
type toEnd []end

func (e toEnd) Len() int { return len(e) }
func (e toEnd) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(e[i].at, e[j].at), e[i].change.Node-e[j].change.Node) < 0
}
func (e toEnd) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e *toEnd) Push(x any)   { *e = append(*e, x.(end)) }
func (e *toEnd) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}
