package dag

import (
	"slices"

	"cmux/dag/scopes"
)

// Overlap is a pair of nodes that may run at the same time and may write the
// same files.
type Overlap struct {
	A, B               int    // indices, A before B
	PatternA, PatternB string // a pattern of each scope that meet
}

const (
	maxScoped   = 2048 // nodes looked at
	maxOverlaps = 1000 // pairs reported
)

// Overlaps returns, in configuration order, the pairs of nodes with own branches that do
// not wait for each other and whose scopes may overlap. A node without a scope is in no
// pair. Two globs count as overlapping unless they clearly cannot; a name with an extension
// counts as a file. Overlaps looks at the first 2,048 nodes with a scope and returns at
// most 1,000 pairs. exists is as for scopes.Literal; nil: nothing exists.
func Overlaps(g *Graph, exists func(path string) bool) []Overlap {
	if exists == nil {
		exists = func(string) bool { return false }
	}
	var scoped []int
	bit := make([]int, g.Len()) // place in scoped, from 1
	for i := range g.Nodes {
		if n := &g.Nodes[i]; n.HasBranch() && len(n.Scope) > 0 && len(scoped) < maxScoped {
			scoped = append(scoped, i)
			bit[i] = len(scoped)
		}
	}
	if len(scoped) < 2 {
		return nil
	}
	// before[i] holds the scoped nodes that i waits for, directly or not.
	words := (len(scoped) + 63) / 64
	all := make([]uint64, g.Len()*words)
	before := func(i int) []uint64 { return all[i*words : (i+1)*words] }
	for _, i := range g.Order() {
		mine := before(i)
		for _, d := range g.Deps(i) {
			for w, bits := range before(d) {
				mine[w] |= bits
			}
			if b := bit[d] - 1; b >= 0 {
				mine[b/64] |= 1 << (b % 64)
			}
		}
	}
	waits := func(i, b int) bool { return before(i)[b/64]&(1<<(b%64)) != 0 }

	areas := make([][]scopes.Area, len(scoped))
	for k, i := range scoped {
		areas[k] = scopes.Areas(scopes.Literal(g.Nodes[i].Scope, exists))
	}
	var out []Overlap
	var tree scopes.Tree
	for b, j := range scoped {
		var beside []int
		for _, area := range areas[b] {
			beside = tree.Near(beside, area)
		}
		slices.Sort(beside)
		for _, a := range slices.Compact(beside) {
			i := scoped[a]
			if waits(j, a) || waits(i, b) {
				continue
			}
			if x, y, ok := scopes.FirstMeeting(areas[a], areas[b]); ok {
				out = append(out, Overlap{i, j, g.Nodes[i].Scope[x], g.Nodes[j].Scope[y]})
			}
			if len(out) == maxOverlaps {
				slices.SortFunc(out, byNodes)
				return out
			}
		}
		for _, area := range areas[b] {
			tree.Add(area, b)
		}
	}
	slices.SortFunc(out, byNodes)
	return out
}

func byNodes(x, y Overlap) int {
	if x.A != y.A {
		return x.A - y.A
	}
	return x.B - y.B
}
