package run

import (
	"fmt"

	"cmux/dag"
)

// BudgetError says that more was used than a budget allows.
type BudgetError struct {
	Node   string // whose budget it is; empty: that of the run
	Used   int64
	Budget int64
}

func (e *BudgetError) Error() string {
	whose := e.Node
	if whose == "" {
		whose = "the run"
	}
	return fmt.Sprintf("%s has used %d of its budget of %d tokens", whose, e.Used, e.Budget)
}

// overBudget says which budget keeps an agent from working on a node that has
// used that much, in a run that has used all; nil: none does.
func overBudget(g *dag.Graph, n *dag.Node, used, all dag.Usage) error {
	switch {
	case !n.UsesModel():
		return nil
	case n.Budget.Exceeded(used):
		return &BudgetError{n.Name, used.Counted(), n.Budget.Tokens}
	}
	return runOverBudget(g, all)
}

func runOverBudget(g *dag.Graph, all dag.Usage) error {
	if g.Budget.Exceeded(all) {
		return &BudgetError{"", all.Counted(), g.Budget.Tokens}
	}
	return nil
}

// RunOverBudget says that the run is over its budget; nil: it is not.
func (h *History) RunOverBudget() error { return runOverBudget(h.Graph, h.Used) }

// RunOverBudget is History.RunOverBudget of what is viewed.
func (v *View) RunOverBudget() error { return runOverBudget(v.Run.Plan.Graph, v.Used) }

// OverBudget says which budget, its own or that of the run, keeps an agent from
// working on node i; nil: none does.
func (h *History) OverBudget(i int) error { return h.OverBudgetIn(h.Graph, i) }

// OverBudgetIn is OverBudget with the budgets of g, whose nodes are the run's.
func (h *History) OverBudgetIn(g *dag.Graph, i int) error {
	return overBudget(g, &g.Nodes[i], h.Nodes[i].Used, h.Used)
}

// OverBudget is History.OverBudget of what is viewed.
func (v *View) OverBudget(i int) error { return v.OverBudgetIn(v.Run.Plan.Graph, i) }

// OverBudgetIn is OverBudget with the budgets of g, whose nodes are the run's.
func (v *View) OverBudgetIn(g *dag.Graph, i int) error {
	return overBudget(g, &g.Nodes[i], v.Nodes[i].Used, v.Used)
}

// UsedIn is what the node's attempts have used in a conversation.
func (n *Node) UsedIn(conversation string) (used dag.Usage) {
	for i := range n.Attempts {
		if a := &n.Attempts[i]; a.Conversation == conversation {
			used = used.Plus(a.Used.Beyond(a.before))
		}
	}
	return used
}

// use takes in what attempt a of n has used so far.
func (h *History) use(n *Node, a *Attempt, used dag.Usage) {
	more := used.Beyond(a.Used)
	a.Used, n.Used, h.Used = a.Used.Plus(more), n.Used.Plus(more), h.Used.Plus(more)
}

// attemptKey names an attempt of a node that the graph does not have any more.
type attemptKey struct {
	node string
	n    int
}

// useRemoved takes in what a node has used that the graph does not have any
// more: the run has used it all the same.
func (h *History) useRemoved(r *Record) {
	key, used := attemptKey{r.Node, r.Attempt}, r.use()
	more := used.Beyond(h.removed[key])
	if more != (dag.Usage{}) {
		h.removed[key] = h.removed[key].Plus(more)
		h.Used = h.Used.Plus(more)
	}
}

// use is what the record says that its attempt has used so far.
func (r *Record) use() dag.Usage {
	switch {
	case r.Type == Used:
		return r.Used
	case r.Type == AttemptEnd && r.End != nil:
		return r.End.Used
	}
	return dag.Usage{}
}
