package merging

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"cmux/agents/runs/run"
	"cmux/worktree"
	"cmux/worktree/git"
	"cmux/worktree/merge"
)

// MergeQueue is what a merge of a run would take, in order, and what would come of
// it. Nothing is left behind by the look.
type MergeQueue struct {
	Target   string         `json:"target"`
	Commit   string         `json:"commit"` // that the target is at
	Begun    bool           `json:"begun"`  // a merge into it was begun and has not ended
	Branches []QueuedBranch `json:"branches"`
}

// What would come of a branch.
const (
	QueuedMerged    = "merged"
	QueuedContained = "contained" // it is in already
	QueuedConflict  = "conflict"  // the merge stops there; those behind it are looked at without it
	QueuedLeftOut   = "left out"
)

// QueuedBranch is one branch of a MergeQueue.
type QueuedBranch struct {
	Node     string   `json:"node"`
	Branch   string   `json:"branch"`
	Commit   string   `json:"commit"` // that is merged; empty: none
	Moved    string   `json:"moved"`  // the commit that its branch holds by now, which --tips would take; empty: the same
	Outcome  string   `json:"outcome"`
	Conflict []string `json:"conflict"` // files
	Why      string   `json:"why"`      // left out; or what a merge leaves out of it
}

// MergeQueue looks at what a merge of a run would do; into is empty for the branch
// that the run started from.
func (p *Merging) MergeQueue(ctx context.Context, into string) (*MergeQueue, error) {
	v, err := p.Runs.LatestView(ctx)
	if err != nil {
		return nil, err
	}
	repo, err := worktree.Open(ctx, v.Run.Plan.Root)
	if err != nil {
		return nil, err
	}
	q := &MergeQueue{Branches: []QueuedBranch{}}
	spec, _, err := mergeSpec(v.Run, Merge{Into: into})
	switch state, begun := mergeBegun(v.Run); {
	case begun && (into == "" || into == state):
		q.Target, q.Begun = state, true
	case err != nil:
		return nil, err
	default:
		q.Target = spec.Target
	}
	if err := mergeTarget(ctx, repo, q.Target, q.Begun); err != nil {
		return nil, err
	}
	if q.Commit, err = repo.Tip(ctx, q.Target); err != nil {
		return nil, err
	}
	items, err := p.mergeItems(ctx, repo, v, q.Target)
	if err != nil {
		return nil, err
	}
	good := q.Commit
	for _, item := range items {
		one := QueuedBranch{Node: item.node.Spec.Name, Branch: item.tip.Name, Commit: item.tip.Commit, Conflict: []string{}, Why: item.leftOut}
		now, err := repo.Tip(ctx, item.tip.Name)
		if err != nil && !errors.Is(err, git.ErrBadRef) {
			return nil, err
		}
		switch {
		case item.leftOut != "":
			one.Outcome = QueuedLeftOut
		case one.Commit == "":
			one.Commit = now
		case err == nil && now != one.Commit:
			one.Moved = now
		}
		if one.Outcome == "" {
			if good, err = one.try(ctx, repo, q.Target, good); err != nil {
				return nil, err
			}
		}
		q.Branches = append(q.Branches, one)
	}
	return q, nil
}

// mergeBegun is the target of a merge that was begun and has not ended.
func mergeBegun(r *run.Run) (target string, begun bool) {
	state, err := worktree.ReadMergeState(filepath.Join(run.Folder(r.Plan.Root), "merge.json"))
	if err != nil {
		return "", false
	}
	return state.Target, true
}

// try says what would come of a branch, and where the target would be then.
func (b *QueuedBranch) try(ctx context.Context, repo *worktree.Repo, target, good string) (string, error) {
	ctx = git.WithNotes(ctx, func(s string) { b.Why = strings.TrimPrefix(b.Why+"; "+s, "; ") })
	commit, err := repo.Merge(ctx, good, []merge.Tip{{Name: b.Branch, Commit: b.Commit}})
	var conflict *merge.ConflictError
	switch {
	case errors.As(err, &conflict):
		b.Outcome, b.Conflict = QueuedConflict, append(b.Conflict, conflict.Files...)
		if conflict.Unrelated {
			conflict.CallBase(target)
			b.Why = conflict.Error()
		}
		return good, nil
	case err != nil:
		return "", fmt.Errorf("%s: %w", b.Branch, err)
	}
	if b.Outcome = QueuedMerged; commit == good {
		b.Outcome = QueuedContained
	}
	return commit, nil
}
