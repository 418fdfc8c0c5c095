package runner

import (
	"context"
	"fmt"
	"slices"

	"cmux/agents/runs/run"
	"cmux/dag"
	"cmux/worktree"
)

// Moved says, for a retry of nodes that a person orders, which branches stand
// elsewhere by now than is recorded of them. A dependency contributes its tip
// as recorded when it was done; a node that failed because such tips do not fit,
// and one that only brings branches together, can be helped by a person's
// commit on one of them, which is then a new fact to be recorded. Other nodes
// keep what is recorded.
func Moved(ctx context.Context, repo *worktree.Repo, h *run.History, nodes ...int) []run.Record {
	var (
		recs []run.Record
		rank []int
	)
	for _, i := range nodes {
		end := h.Nodes[i].LastEnd()
		if h.Graph.Nodes[i].Role != dag.RoleMerge && (end == nil || end.Reason != dag.ReasonConflict) {
			continue
		}
		if rank == nil {
			rank = ranks(h.Graph)
		}
		for _, d := range contributors(h, rank, i) {
			spec := &h.Graph.Nodes[d]
			if slices.Contains(nodes, d) || slices.ContainsFunc(recs, func(r run.Record) bool { return r.Node == spec.Name }) {
				continue
			}
			was, is := h.Nodes[d].Tip, tip(ctx, repo, spec)
			if is == "" || is == was {
				continue
			}
			recs = append(recs, run.Record{Type: run.Moved, Node: spec.Name, Tip: is,
				Detail: fmt.Sprintf("%s has moved since: %.12s -> %.12s", spec.Branch, was, is)})
		}
	}
	return recs
}

// tip is what a node's branch holds now; empty when there is none.
func tip(ctx context.Context, repo *worktree.Repo, spec *dag.Node) string {
	if !spec.HasBranch() {
		return ""
	}
	commit, err := repo.Resolve(ctx, "refs/heads/"+spec.Branch)
	if err != nil {
		return ""
	}
	return commit
}
