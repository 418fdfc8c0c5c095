package dag

import "github.com/dominikbraun/graph"

// forest is a graph arranged as trees: a node with several dependencies is below the one
// with the longest path to it.
type forest struct {
	roots []int
	under []int   // parent of each node; -1: a root
	below [][]int // children, in graph order
	deps  [][]int // all of its drawn dependencies
}

func (g *Graph) forest(d graph.Graph[string, string]) (*forest, error) {
	waiting, deps, err := g.arrows(d)
	if err != nil {
		return nil, err
	}
	f := &forest{under: make([]int, g.Len()), below: make([][]int, g.Len()), deps: deps}
	level := make([]int, g.Len())
	for _, i := range g.order {
		f.under[i] = -1
		for _, j := range deps[i] {
			if f.under[i] < 0 || level[j] >= level[f.under[i]] {
				f.under[i] = j
			}
			level[i] = max(level[i], level[j]+1)
		}
		if f.under[i] < 0 {
			f.roots = append(f.roots, i)
		}
	}
	for _, i := range g.order {
		for _, j := range waiting[i] {
			if f.under[j] == i {
				f.below[i] = append(f.below[i], j)
			}
		}
	}
	return f, nil
}

// Twig is a node with its position in the drawing of a graph.
type Twig struct {
	Node  int
	Under int  // index in the drawing of its parent; -1: none
	Last  bool // last child of its parent
}

// Twigs returns the drawing that Draw writes as text, for callers that draw more beside
// each node: each node once, below its parent.
func (g *Graph) Twigs() ([]Twig, error) {
	d, err := g.reduced()
	if err != nil {
		return nil, err
	}
	f, err := g.forest(d)
	if err != nil {
		return nil, err
	}
	all := make([]Twig, 0, g.Len())
	var grow func(i, under int, last bool)
	grow = func(i, under int, last bool) {
		place := len(all)
		all = append(all, Twig{i, under, last})
		for k, j := range f.below[i] {
			grow(j, place, k == len(f.below[i])-1)
		}
	}
	for _, i := range f.roots {
		grow(i, -1, true)
	}
	return all, nil
}
