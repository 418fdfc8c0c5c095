package dag

// Fold takes a change of a node into its fact, exactly as Step does. With it
// recorded changes become the Facts of Rebuild and Observe. stopped says
// whether the run is stopped at that moment. It reports whether the change
// applied.
func (g *Graph) Fold(f *Fact, c Change, stopped bool) bool {
	s := State{g: g, stopped: stopped}
	return s.fold(f, &c)
}

// FoldAccount takes a change of an account into the facts of its nodes, exactly
// as Step does: whatever is learnt of it, nobody is on trial any more.
func (g *Graph) FoldAccount(account string, fact func(node int) *Fact) {
	for i := range g.Nodes {
		if g.Nodes[i].Account == account {
			fact(i).Trial = false
		}
	}
}

// Observe is Rebuild for those who only look and never ask what is Due: nothing
// is handed a slot, so a node that could start is ready, not running.
func Observe(g *Graph, f Facts) *State { return Rebuild(g, f) }
