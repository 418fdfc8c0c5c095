package runs

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"cmux/agents/control/runview"
	"cmux/agents/runs/run"
	"cmux/dag"
	"cmux/worktree"
	"cmux/worktree/git"
)

// ReviewState is how a node's work stands before a person.
type ReviewState string

const (
	ReviewOpen     ReviewState = "to review"
	ReviewApproved ReviewState = "approved"
	ReviewMoved    ReviewState = "changed since it was approved"
	ReviewDropped  ReviewState = "dropped"
	ReviewSentBack ReviewState = "sent back"         // and waits for a runner
	ReviewMerged   ReviewState = "merged"            // into the branch that the run started from
	ReviewNothing  ReviewState = "nothing to review" // it changed nothing
)

// Waits reports whether the work waits for a person's decision.
func (s ReviewState) Waits() bool { return s == ReviewOpen || s == ReviewMoved }

// BranchStanding is how one node's work stands, and whether a merge takes it.
type BranchStanding struct {
	State   ReviewState // empty: the node is not done, or leaves no branch
	Why     string      // a merge leaves it out; empty: it takes it
	builtOn []string    // nodes whose work is in its branch
	HeldBy  []string    // of these: a merge does not take them, so it does not take this one
	start   string      // the commit that its work began at
	Tip     string      // what its branch holds now; empty: there is none
}

// Standings are how the nodes of v stand, by node.
func (p *Runs) Standings(ctx context.Context, repo *worktree.Repo, v *run.View) []BranchStanding {
	into := v.Run.Plan.BaseBranch
	base, gone := repo.TipNow(ctx, into)
	return stand(v, func(i int) (start, tip string, merged bool) {
		n := &v.Nodes[i]
		tip, err := repo.TipNow(ctx, n.Spec.Branch)
		if err != nil {
			tip = ""
			if errors.Is(err, git.ErrBadRef) {
				tip = n.Tip // the branch is gone; what the node left may still be merged
			}
		}
		if start = p.StartCommit(ctx, v.Run.Plan.Root, n.Attempts, tip); start == "" {
			start = v.Run.Plan.Base
		}
		if into != "" && gone == nil && into != n.Spec.Branch && tip != "" && tip != start {
			merged = p.Recall("holds "+base+" "+tip, func() (bool, error) { return repo.Holds(ctx, base, tip) })
		}
		return start, tip, merged
	})
}

// stand works out how the nodes of v stand. at says of a node with a branch where
// its work began, what the branch holds now, and whether that was merged.
func stand(v *run.View, at func(i int) (start, tip string, merged bool)) []BranchStanding {
	g := v.Run.Plan.Graph
	all := make([]BranchStanding, g.Len())
	for _, i := range g.Order() {
		n, s := &v.Nodes[i], &all[i]
		if !runview.Succeeded(n) {
			continue // it contributes nothing
		}
		for _, d := range g.Sources(i) {
			if !runview.Succeeded(&v.Nodes[d]) {
				continue
			}
			if all[d].State != "" {
				s.builtOn = append(s.builtOn, v.Nodes[d].Spec.Name)
			} else { // what it stands for
				s.builtOn = append(s.builtOn, all[d].builtOn...)
			}
			s.HeldBy = append(s.HeldBy, all[d].HeldBy...)
			if all[d].held(g) {
				s.HeldBy = append(s.HeldBy, v.Nodes[d].Spec.Name)
			}
		}
		slices.Sort(s.builtOn)
		slices.Sort(s.HeldBy)
		s.builtOn, s.HeldBy = slices.Compact(s.builtOn), slices.Compact(s.HeldBy)
		if n.Spec.HasBranch() {
			var merged bool
			s.start, s.Tip, merged = at(i)
			s.State = reviewState(v, i, s.start, s.Tip)
			if merged && (s.State.Waits() || s.State == ReviewApproved) {
				s.State = ReviewMerged
			}
			s.Why = s.why(g, n)
		}
	}
	return all
}

// reviewState is how the work of a done node with a branch stands.
func reviewState(v *run.View, i int, start, tip string) ReviewState {
	n := &v.Nodes[i]
	r := n.Review
	switch {
	case slices.ContainsFunc(v.Pending, func(q run.Request) bool { return q.Op == run.OpRetry && q.Node == n.Spec.Name && q.Text != "" }):
		return ReviewSentBack
	case r != nil && r.Verdict == run.VerdictDropped && (r.Commit == tip || r.Commit == n.Tip):
		return ReviewDropped
	case r != nil && r.Verdict == run.VerdictApproved && r.Commit == tip:
		return ReviewApproved
	case r != nil && r.Verdict == run.VerdictApproved:
		return ReviewMoved
	case tip == start || tip == "":
		return ReviewNothing
	}
	return ReviewOpen
}

// held reports whether the node's own work is not to be merged.
func (s *BranchStanding) held(g *dag.Graph) bool {
	switch s.State {
	case ReviewDropped, ReviewSentBack:
		return true
	case ReviewOpen, ReviewMoved:
		return g.Review == dag.ReviewRequired
	}
	return false
}

// why says why a merge leaves the node out; empty: it takes it.
func (s *BranchStanding) why(g *dag.Graph, n *run.NodeView) string {
	name := n.Spec.Name
	switch {
	case !s.held(g) && len(s.HeldBy) == 0:
		return ""
	case !s.held(g):
		return fmt.Sprintf("it is built on %s, which is left out", s.HeldBy[0])
	case s.State == ReviewMoved:
		return fmt.Sprintf("it was approved at %.12s and is at %.12s now: cmux agents review %s", n.Review.Commit, s.Tip, name)
	case s.State == ReviewOpen:
		return fmt.Sprintf("nobody has approved it: cmux agents review %s", name)
	}
	return string(s.State) + " in the review"
}

// unreviewed is how many nodes wait for a person's approval, as far as the
// records tell.
func unreviewed(v *run.View) (count int) {
	if v.Run.Plan.Graph.Review != dag.ReviewRequired {
		return 0
	}
	for i := range v.Nodes {
		n := &v.Nodes[i]
		if end := n.LastEnd(); n.Spec.HasBranch() && runview.Succeeded(n) && (end == nil || end.Commits > 0) &&
			(n.Review == nil || n.Review.Verdict == run.VerdictSentBack) {
			count++
		}
	}
	return count
}
