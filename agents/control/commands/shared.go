package commands

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"cmux/agents/runs/run"
	"cmux/signals"
	"cmux/worktree"
	"cmux/worktree/common"
)

// Shared is what has changed, since the run began, of what all worktrees
// of the repository share.
type Shared struct {
	Run     string          `json:"run"`
	Changes []common.Change `json:"changes"`

	run  *run.Run
	repo *worktree.Repo
	base *common.State
}

// Shared compares what all worktrees share with what it was when the newest run
// began or, where from names a file that RestoreShared kept, with what is in it.
func (p *Commands) Shared(ctx context.Context, from string) (*Shared, error) {
	s, err := p.shared(ctx)
	if err != nil {
		return nil, err
	}
	if s.base, s.Changes, err = s.run.Drift(ctx, s.repo); from != "" {
		s.base, s.Changes, err = sharedSince(ctx, s.repo, p.Abs(from))
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

func (p *Commands) shared(ctx context.Context) (*Shared, error) {
	r, err := p.Runs.Latest(ctx)
	if err != nil {
		return nil, err
	}
	repo, err := worktree.Open(ctx, r.Plan.Root)
	if err != nil {
		return nil, err
	}
	return &Shared{Run: r.Plan.ID, run: r, repo: repo}, nil
}

// AcceptShared takes what all worktrees share as it is.
func (p *Commands) AcceptShared(ctx context.Context) error {
	s, err := p.shared(ctx)
	if err != nil {
		return err
	}
	now, err := s.repo.Shared.Read(ctx, s.repo.Root, false)
	if err != nil {
		return err
	}
	return s.run.WriteShared(now)
}

// PutBack is what RestoreShared did.
type PutBack struct {
	Changes []common.Change `json:"changes"` // that are no more
	Kept    string          `json:"kept"`    // the file that holds what was there
}

// RestoreShared puts back what has changed; there must be something. What is not
// put back is named by the error.
func (p *Commands) RestoreShared(ctx context.Context, s *Shared) (*PutBack, error) {
	now, err := s.repo.Shared.Read(ctx, s.repo.Root, false)
	if err != nil {
		return nil, err
	}
	b, err := json.Marshal(now)
	if err != nil {
		return nil, err
	}
	res := &PutBack{Kept: filepath.Join(s.run.Dir, "shared-"+p.Now().UTC().Format("20060102T150405.000Z")+".json")}
	if err := signals.WriteFile(res.Kept, b, 0o600); err != nil {
		return nil, err
	}
	left, err := s.repo.Shared.Restore(ctx, s.base, s.Changes)
	if err != nil {
		return nil, err
	}
	stays := make(map[string]bool, len(left))
	var errs []error
	for _, c := range left {
		stays[c.What()] = true
		errs = append(errs, fmt.Errorf("%s could not be restored: %s", c.What(), c.New))
	}
	for _, c := range s.Changes {
		if !stays[c.What()] {
			res.Changes = append(res.Changes, c)
		}
	}
	return res, errors.Join(errs...)
}

// sharedSince compares with a state that RestoreShared kept.
func sharedSince(ctx context.Context, repo *worktree.Repo, file string) (*common.State, []common.Change, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, nil, err
	}
	base := new(common.State)
	if err := json.Unmarshal(b, base); err != nil {
		return nil, nil, fmt.Errorf("%s is not what cmux agents shared kept: %w", file, err)
	}
	now, err := repo.Shared.Read(ctx, repo.Root, false)
	if err != nil {
		return nil, nil, err
	}
	return base, base.Compare(now), nil
}
