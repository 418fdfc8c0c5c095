package dag

import "github.com/dominikbraun/graph"

// forest is a graph laid out as trees: a node with several dependencies stands
// under the one that has the longest way to it.
type forest struct {
	roots []int
	under []int   // the node that each stands under; -1: a root
	below [][]int // those that stand under it, in graph order
	deps  [][]int // all of its dependencies that are drawn
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

// Twig is a node in its place in the drawing of a graph.
type Twig struct {
	Node  int
	Under int  // the place, in the drawing, of the node that it stands under; -1: of none
	Last  bool // no other stands under the same one after it
}

// Twigs is the drawing that Draw writes as text, for whoever draws it with more
// beside each node: each node once, and below the one that it stands under.
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
