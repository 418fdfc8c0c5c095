package run

import "cmux/dag"

// A Frame is what an attempt knows of its project and of the run that it is part
// of. It is made once for all attempts and never changed.
type Frame struct {
	Run        string   `json:"run"`                   // id
	Root       string   `json:"root"`                  // absolute path of the main worktree
	Base       string   `json:"base,omitempty"`        // commit that the run started from
	BaseBranch string   `json:"base_branch,omitempty"` // empty when the base is no branch
	Copy       []string `json:"copy,omitempty"`        // what a new worktree is prepared with, as in dag.Graph
	Link       []string `json:"link,omitempty"`
	Setup      []string `json:"setup,omitempty"`

	// Peers are the nodes of the run that have a branch or a worktree, that of the
	// attempt among them. Only an attempt with a worktree needs them: of each it
	// is known then what is whose.
	Peers []Peer `json:"peers,omitempty"`
}

// A Peer is what other agents learn about a node.
type Peer struct {
	Name   string `json:"name"`
	Branch string `json:"branch,omitempty"` // that it leaves behind; empty: none
	Tree   string `json:"tree,omitempty"`   // its worktree; empty: it has none
}

// Frame is the frame of the run's attempts. It costs time for each node, so it
// is made once. Without a graph (OpenPlan) it tells only what the plan does.
func (r *Run) Frame() *Frame {
	p := &r.Plan
	f := &Frame{Run: r.Mark(), Root: p.Root, Base: p.Base, BaseBranch: p.BaseBranch}
	if g := p.Graph; g != nil {
		f.Copy, f.Link, f.Setup, f.Peers = g.Copy, g.Link, g.Setup, peers(g, p.Root)
	}
	return f
}

// Peers are the peers of the run's attempts, from its graph, which is loaded.
func (r *Run) Peers() ([]Peer, error) {
	if err := r.LoadGraph(); err != nil {
		return nil, err
	}
	return peers(r.Plan.Graph, r.Plan.Root), nil
}

func peers(g *dag.Graph, root string) []Peer {
	var all []Peer
	for i := range g.Nodes {
		n := &g.Nodes[i]
		p := Peer{Name: n.Name, Branch: n.Branch}
		if n.HasTree() {
			p.Tree = g.TreePath(root, n)
		}
		if p.Branch != "" || p.Tree != "" {
			all = append(all, p)
		}
	}
	return all
}

// Past holds the earlier attempts of a node, for the agent of the next one. All of
// them are over.
type Past struct {
	Omitted  int      `json:"omitted,omitempty"` // how many are before those of Attempts
	Attempts []Former `json:"attempts"`          // oldest first
}

// Former is an earlier attempt as the agent of a later one sees it.
type Former struct {
	N        int    `json:"n"`
	Vanished string `json:"vanished,omitempty"` // how it vanished
	End      *End   `json:"end,omitempty"`      // nil when it vanished; holds no more than is told
}
