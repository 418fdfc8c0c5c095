package remains

import (
	"context"
	"slices"
	"time"

	"cmux/worktree"
)

// Snapshot is work that was saved before something was removed or reset.
type Snapshot struct {
	ID        string    `json:"id"`
	Time      time.Time `json:"time"`
	Reason    string    `json:"reason"`
	Branch    string    `json:"branch"`
	Path      string    `json:"path"`
	Commit    string    `json:"commit"`
	Head      string    `json:"head"`
	Operation string    `json:"operation"`
	Omitted   []string  `json:"omitted"`
}

// Snapshots lists saved work, newest first.
func (p *Remains) Snapshots(ctx context.Context) ([]Snapshot, error) {
	repo, err := worktree.Open(ctx, p.Root)
	if err != nil {
		return nil, err
	}
	saved, err := repo.Snapshots(ctx)
	if err != nil {
		return nil, err
	}
	all := make([]Snapshot, 0, len(saved))
	for _, s := range slices.Backward(saved) {
		all = append(all, Snapshot{ID: s.ID, Time: s.Time, Reason: s.Reason, Branch: s.Branch, Path: s.Path,
			Commit: s.Commit, Head: s.Head, Operation: s.Operation, Omitted: append([]string{}, s.Omitted...)})
	}
	return all, nil
}

// Restore orders that saved work is brought back.
type Restore struct {
	Snapshot string `json:"snapshot"`         // its id, or a name, which means the newest of that name
	To       string `json:"to,omitempty"`     // worktree to restore into; empty: where it was
	Branch   string `json:"branch,omitempty"` // to restore on; empty: the one it was on
}

// Restored is work that was brought back.
type Restored struct {
	Snapshot string `json:"snapshot"`
	Path     string `json:"path,omitempty"`   // of the worktree; empty: the branch alone
	Branch   string `json:"branch,omitempty"` // empty: no branch
	Head     string `json:"head"`
	Kept     []Kept `json:"kept"`
}

// Kept is a commit or the like that a snapshot holds besides, and what named it.
type Kept struct {
	ID   string `json:"id"`
	From string `json:"from"`
}

// Restore brings saved work back. It moves no branch and overwrites no file.
func (p *Remains) Restore(ctx context.Context, o Restore) (*Restored, error) {
	repo, err := worktree.Open(ctx, p.Root)
	if err != nil {
		return nil, err
	}
	s, err := repo.FindSnapshot(ctx, o.Snapshot)
	if err != nil {
		return nil, err
	}
	if o.To != "" {
		o.To = p.Abs(o.To)
	}
	tree, err := repo.Restore(ctx, s, worktree.RestoreSpec{Path: o.To, Branch: o.Branch})
	if err != nil {
		return nil, err
	}
	res := &Restored{Snapshot: s.ID, Path: tree.Path, Branch: tree.Branch, Head: tree.Head}
	for _, k := range s.Kept {
		res.Kept = append(res.Kept, Kept{k.ID, k.From})
	}
	return res, nil
}
