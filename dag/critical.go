package dag

import (
	"slices"
	"time"
)

// Critical returns the chain of nodes that takes longest, first to last, and its duration,
// if each node takes as long as took returns. Of equal chains it returns the one that ends
// in the earlier node.
func (g *Graph) Critical(took func(i int) time.Duration) (chain []int, whole time.Duration) {
	if g.Len() == 0 {
		return nil, 0
	}
	at := make([]time.Duration, g.Len()) // earliest end of each node
	from := make([]int, g.Len())
	last := -1
	for _, i := range g.Order() {
		from[i] = -1
		for _, d := range g.Deps(i) {
			if from[i] < 0 || at[d] > at[from[i]] {
				from[i] = d
			}
		}
		at[i] = max(0, took(i))
		if from[i] >= 0 {
			at[i] += at[from[i]]
		}
		if last < 0 || at[i] > at[last] {
			last = i
		}
	}
	for i := last; i >= 0; i = from[i] {
		chain = append(chain, i)
	}
	slices.Reverse(chain)
	return chain, at[last]
}
