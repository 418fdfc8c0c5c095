package dag

import "slices"

// ordering orders ids in the heaps that share it and remembers the position of each. An id is
// in at most one of those heaps.
type ordering struct {
	at  []int32 // position in its heap, -1 when in none
	key func(id int32) int32
}

func newOrdering(n int, key func(int32) int32) *ordering {
	k := &ordering{at: make([]int32, n), key: key}
	for i := range k.at {
		k.at[i] = -1
	}
	return k
}

// minHeap is a binary heap of ids that allows removal and a change of key.
type minHeap struct {
	ids []int32
	*ordering
}

func (h *minHeap) empty() bool { return len(h.ids) == 0 }
func (h *minHeap) min() int32  { return h.ids[0] }

// set inserts id (or moves it after a change of key), or removes it.
func (h *minHeap) set(id int32, in bool) {
	p := h.at[id]
	switch {
	case in && p < 0:
		h.ids = append(h.ids, id)
		p = int32(len(h.ids) - 1)
		h.at[id] = p
	case in:
	case p < 0:
		return
	default:
		last := int32(len(h.ids) - 1)
		moved := h.ids[last]
		h.ids = h.ids[:last]
		h.at[id] = -1
		if p == last {
			return
		}
		h.ids[p], h.at[moved] = moved, p
	}
	h.down(h.up(p))
}

func (h *minHeap) up(p int32) int32 {
	id := h.ids[p]
	k := h.key(id)
	for p > 0 {
		parent := (p - 1) / 2
		other := h.ids[parent]
		if h.key(other) <= k {
			break
		}
		h.ids[p], h.at[other] = other, p
		p = parent
	}
	h.ids[p], h.at[id] = id, p
	return p
}

func (h *minHeap) down(p int32) {
	id := h.ids[p]
	k := h.key(id)
	for {
		c := 2*p + 1
		if c >= int32(len(h.ids)) {
			break
		}
		if r := c + 1; r < int32(len(h.ids)) && h.key(h.ids[r]) < h.key(h.ids[c]) {
			c = r
		}
		other := h.ids[c]
		if k <= h.key(other) {
			break
		}
		h.ids[p], h.at[other] = other, p
		p = c
	}
	h.ids[p], h.at[id] = id, p
}

// queue holds the nodes that ask for a slot. It finds the first of them, in graph order,
// whose pool has a free place and whose account is not limited. Nodes with the same pool
// and account share a lane. The open lanes of a pool are in that pool's heap; the pools
// with a free place are in the top heap. So a full pool or a limited account costs nothing,
// however many nodes it holds.
type queue struct {
	laneOf []int32 // by node
	lanes  []lane
	pools  []minHeap // open lanes, by pool
	full   []bool    // by pool
	top    minHeap   // pools
	byNode *ordering // of every lane's heap
}

type lane struct {
	pool  int32
	shut  bool // the account admits no node
	held  bool // the person's limit for all runs (max_agents) is reached
	nodes minHeap
}

// newQueue makes an empty queue; laneOf is the lane of each node, and poolOf the pool of
// each lane.
func newQueue(rank, laneOf, poolOf []int32, pools int) *queue {
	q := &queue{
		laneOf: laneOf,
		lanes:  make([]lane, len(poolOf)),
		pools:  make([]minHeap, pools),
		full:   make([]bool, pools),
	}
	byNode := newOrdering(len(rank), func(i int32) int32 { return rank[i] })
	byLane := newOrdering(len(poolOf), func(l int32) int32 { return rank[q.lanes[l].nodes.min()] })
	byPool := newOrdering(pools, func(p int32) int32 { return byLane.key(q.pools[p].min()) })
	for l := range q.lanes {
		q.lanes[l] = lane{pool: poolOf[l], nodes: minHeap{ordering: byNode}}
	}
	for p := range q.pools {
		q.pools[p].ordering = byLane
	}
	q.top.ordering, q.byNode = byPool, byNode
	return q
}

// clone returns an independent queue with the same nodes.
func (q *queue) clone(rank []int32) *queue {
	poolOf := make([]int32, len(q.lanes))
	for l := range q.lanes {
		poolOf[l] = q.lanes[l].pool
	}
	c := newQueue(rank, q.laneOf, poolOf, len(q.pools))
	copy(c.full, q.full)
	copy(c.byNode.at, q.byNode.at)
	copy(c.top.at, q.top.at)
	c.top.ids = slices.Clone(q.top.ids)
	for l := range q.lanes {
		c.lanes[l].shut, c.lanes[l].held, c.lanes[l].nodes.ids = q.lanes[l].shut, q.lanes[l].held, slices.Clone(q.lanes[l].nodes.ids)
	}
	for p := range q.pools {
		c.pools[p].ids = slices.Clone(q.pools[p].ids)
		copy(c.pools[p].at, q.pools[p].at) // which all of them share
	}
	return c
}

// set inserts or removes node i.
func (q *queue) set(i int, in bool) {
	l := q.laneOf[i]
	q.lanes[l].nodes.set(int32(i), in)
	q.settle(l)
}

func (q *queue) setShut(l int32, shut bool) {
	if q.lanes[l].shut == shut {
		return
	}
	q.lanes[l].shut = shut
	q.settle(l)
}

func (q *queue) setHeld(l int32, held bool) {
	if q.lanes[l].held != held {
		q.lanes[l].held = held
		q.settle(l)
	}
}

func (q *queue) setFull(p int32, full bool) {
	q.full[p] = full
	q.settlePool(p)
}

func (q *queue) settle(l int32) {
	n := &q.lanes[l]
	q.pools[n.pool].set(l, !n.shut && !n.held && !n.nodes.empty())
	q.settlePool(n.pool)
}

func (q *queue) settlePool(p int32) { q.top.set(p, !q.full[p] && !q.pools[p].empty()) }

// shutOut returns how many nodes ask for a slot that their account does not allow.
func (q *queue) shutOut() (n int) {
	for l := range q.lanes {
		if q.lanes[l].shut {
			n += len(q.lanes[l].nodes.ids)
		}
	}
	return n
}

// first returns the next node, or -1.
func (q *queue) first() int {
	if q.top.empty() {
		return -1
	}
	return int(q.lanes[q.pools[q.top.min()].min()].nodes.min())
}
