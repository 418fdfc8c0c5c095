package run

import (
	"fmt"
	"strings"
)

// AwayError says that attempts are on other machines, and that the run has no runner, which
// alone reaches them.
type AwayError struct {
	Nodes []AwayNode
	Over  bool // the run has ended: only a request makes a runner come again
}

// AwayNode is a node whose newest attempt is on another machine.
type AwayNode struct {
	Name    string
	Machine string // empty: none has claimed it yet
}

func (n AwayNode) String() string {
	if n.Machine == "" {
		return n.Name + " (no machine yet)"
	}
	return n.Name + " on " + n.Machine
}

func (e *AwayError) Error() string {
	const most = 8
	var all []string
	for _, n := range e.Nodes[:min(len(e.Nodes), most)] {
		all = append(all, n.String())
	}
	who := strings.Join(all, ", ")
	if more := len(e.Nodes) - most; more > 0 {
		who += fmt.Sprintf(" and %d more", more)
	}
	return fmt.Sprintf("cmux cannot end %s: the run has no runner, and only a runner reaches other machines", who)
}

// Try returns what ends them.
func (e *AwayError) Try() string {
	if e.Over {
		return "cmux agents stop " + e.Nodes[0].Name + ", then cmux agents resume"
	}
	return "cmux agents resume, then cmux agents stop; or cmux machines stop on that machine"
}

// Away returns the nodes whose newest attempts are on other machines and not over.
func (h *History) Away() (nodes []AwayNode) {
	for i := range h.Nodes {
		if a := h.Nodes[i].Away(); a != nil {
			nodes = append(nodes, AwayNode{h.Graph.Nodes[i].Name, a.Place.Machine})
		}
	}
	return nodes
}

// AwayOf returns the nodes of r whose newest attempts are on other machines and not over.
func AwayOf(r *Run) ([]AwayNode, error) {
	h := NewHistory(r.Plan.Graph)
	_, err := r.Replay(h, 0, nil)
	return h.Away(), err
}

// Away returns the nodes whose newest attempts are on other machines and not over.
func (v *View) Away() (nodes []AwayNode) {
	for i := range v.Nodes {
		if a := v.Nodes[i].Away(); a != nil {
			nodes = append(nodes, AwayNode{v.Nodes[i].Spec.Name, a.Place.Machine})
		}
	}
	return nodes
}
