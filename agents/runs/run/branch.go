package run

import (
	"fmt"
	"strings"

	"cmux/dag"
)

// BranchError says that a branch is that of a node of another run that has not
// ended: two agents would work on it.
type BranchError struct {
	Node, Branch string // that is wanted
	Other, Has   string // the other run's node, and its branch: the same one, or a folder of the other's
	ID, Session  string // of the other run
	Live         bool   // a runner carries it
}

func (e *BranchError) Error() string {
	what := "has it for its node " + e.Other
	if e.Has != e.Branch {
		what = fmt.Sprintf("has %s for its node %s, and git takes one of the two only", e.Has, e.Other)
	}
	return fmt.Sprintf("the branch %s of %s is not free: run %s of session %s, which has not ended, %s", e.Branch, e.Node, e.ID, e.Session, what)
}

// Try is what to do about it.
func (e *BranchError) Try() string {
	owned := OwnedError{ID: e.ID, Session: e.Session, Live: e.Live}
	return "another branch:, or " + strings.TrimPrefix(owned.Try(), "other names, or ")
}

// BranchTaken says which branch of g, the graph of a session, a run of another
// session has that has not ended: the error is a *BranchError.
func BranchTaken(root, session string, g *dag.Graph) error {
	all, err := Owners(root)
	if err != nil {
		return err
	}
	return branchTaken(root, all, session, g)
}

func branchTaken(root string, all []Owner, session string, g *dag.Graph) error {
	for i := range all {
		o := &all[i]
		if o.Session == session || o.Free {
			continue
		}
		r, err := Open(root, o.ID)
		if err != nil {
			return err
		}
		e := meet(g, r.Plan.Graph)
		if e == nil {
			continue
		}
		over, err := r.Over()
		if err != nil {
			return err
		}
		if !over {
			e.ID, e.Session, e.Live = o.ID, o.Session, r.RunnerLives()
			return e
		}
	}
	return nil
}

// meet is the first branch of g that cannot be beside those of another graph.
func meet(g, other *dag.Graph) *BranchError {
	has := make(map[string]*dag.Node) // by branch, and by each folder above one
	for i := range other.Nodes {
		n := &other.Nodes[i]
		if !n.HasBranch() {
			continue
		}
		name := strings.ToLower(n.Branch) // as some file systems have it
		for at := range name {
			if name[at] == '/' {
				has[name[:at]] = n
			}
		}
	}
	for i := range other.Nodes {
		if n := &other.Nodes[i]; n.HasBranch() {
			has[strings.ToLower(n.Branch)] = n
		}
	}
	whole := func(name string) *dag.Node { // a branch, not a folder
		if n := has[name]; n != nil && strings.ToLower(n.Branch) == name {
			return n
		}
		return nil
	}
	for i := range g.Nodes {
		n := &g.Nodes[i]
		if !n.HasBranch() {
			continue
		}
		name := strings.ToLower(n.Branch)
		o := has[name]
		for at := range name {
			if name[at] == '/' && o == nil {
				o = whole(name[:at])
			}
		}
		if o != nil {
			return &BranchError{Node: n.Name, Branch: n.Branch, Other: o.Name, Has: o.Branch}
		}
	}
	return nil
}

// BranchTaken is the function of that name under the project's lock.
func (g *Register) BranchTaken(session string, graph *dag.Graph) error {
	return branchTaken(g.root, g.owners, session, graph)
}
