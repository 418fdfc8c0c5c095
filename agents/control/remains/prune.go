package remains

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"cmux/agents/control/runs"
	"cmux/agents/runs/run"
	"cmux/dag"
	"cmux/signals"
)

// changelogsName is the folder in .cmux that holds what the nodes of removed
// runs did.
const changelogsName = "changelogs"

// Pruning is which past runs would be removed and which stay.
type Pruning struct {
	Gone []Prunable `json:"gone"`
	Kept []Prunable `json:"kept"`
	Size int64      `json:"size"` // of what would be removed, in bytes
}

// Prunable is a run that a pruning has looked at.
type Prunable struct {
	runs.PastRun
	Why  string `json:"why,omitempty"` // it stays
	Size int64  `json:"size"`          // of its folder, in bytes
}

// PlanPruning looks which past runs may be removed: all but the newest ones, keep
// of them, the newest of each session and what has not ended.
func (p *Remains) PlanPruning(ctx context.Context, keep int) (*Pruning, error) {
	all, damaged, err := p.Runs.List(ctx)
	if err != nil {
		return nil, err
	}
	plan := &Pruning{Gone: []Prunable{}, Kept: []Prunable{}}
	sessions := make(map[string]bool)
	for i, one := range all {
		r, err := run.Open(p.Root, one.ID)
		if err != nil {
			return nil, err
		}
		x := Prunable{PastRun: one, Size: FolderSize(r.Dir)}
		switch {
		case !sessions[one.Session]: // what goes on continues this one
			x.Why = "the newest of session " + one.Session
		case one.State != dag.RunDone && one.State != dag.RunFailed:
			x.Why = "it has not ended"
		case len(r.LocksHeld()) > 0:
			x.Why = "still at work: " + strings.Join(r.LocksHeld(), ", ")
		case i < keep:
			x.Why = fmt.Sprintf("one of the %d newest", keep)
		}
		sessions[one.Session] = true
		if x.Why == "" { // no lock here says so
			away, err := run.AwayOf(r)
			if err != nil {
				return nil, err
			}
			if len(away) > 0 {
				x.Why = "still at work: " + away[0].String()
			}
		}
		if x.Why != "" {
			plan.Kept = append(plan.Kept, x)
			continue
		}
		plan.Gone = append(plan.Gone, x)
		plan.Size += x.Size
	}
	for _, err := range damaged {
		p.Tell(fmt.Sprintf("left out: %v", err))
	}
	return plan, ctx.Err()
}

// FolderSize is how much the files below dir hold; what cannot be read counts
// nothing.
func FolderSize(dir string) (size int64) {
	filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			if info, err := d.Info(); err == nil {
				size += info.Size()
			}
		}
		return nil
	})
	return size
}

// Prune removes the runs of a plan: their records, logs and prompts. What each
// node did stays, as a changelog whose path is told; branches, worktrees and
// saved work are none of a run's folder. Copies of cmux that no run is carried
// out by any more go too.
func (p *Remains) Prune(ctx context.Context, plan *Pruning, tell func(id, changelog string)) error {
	to := filepath.Join(run.Folder(p.Root), changelogsName)
	if err := signals.MkdirAll(to, 0o755); err != nil {
		return err
	}
	for i := range plan.Gone {
		id := plan.Gone[i].ID
		r, err := run.Open(p.Root, id)
		if err != nil {
			return err
		}
		// From when the run was cleaned up, git may have known more of it.
		text, err := signals.ReadFile(filepath.Join(r.Dir, changelogName), signals.MaxFile)
		if errors.Is(err, fs.ErrNotExist) {
			v, err := r.View(ctx, p.Now())
			if err != nil {
				return err
			}
			text = []byte(p.changelog(ctx, v))
		} else if err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		path := filepath.Join(to, id+".md")
		if err := signals.WriteFile(path, text, 0o644); err != nil {
			return err
		}
		// First by its name, by which nothing finds it any more: a kill leaves no
		// half of a run.
		if err := signals.Rename(r.Dir, "."+id); err != nil {
			return err
		}
		if err := os.RemoveAll(filepath.Join(filepath.Dir(r.Dir), "."+id)); err != nil {
			return err
		}
		tell(id, path)
	}
	return run.PrunePrograms(p.Root, time.Now())
}

// pruned is the changelog of a run that was removed; empty: there is none.
func (p *Remains) pruned(id string) (string, error) {
	if id == "" || strings.ContainsRune(id, filepath.Separator) {
		return "", nil
	}
	text, err := signals.ReadFile(filepath.Join(run.Folder(p.Root), changelogsName, id+".md"), signals.MaxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return string(text), err
}
