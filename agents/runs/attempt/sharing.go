package attempt

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"cmux/agents/runs/prompt"
	"cmux/dag"
	"cmux/signals"
	"cmux/worktree"
)

// A worker without a worktree of its own works in a folder that it shares. What
// it finds there is the baseline: cmux looks only at what has changed since.

// shares reports whether the attempt is at a task in such a folder.
func (a *attempt) shares() bool {
	return a.stays() && a.task != nil && a.spec.Place.Tree == "" && a.node.HasBranch() && !leads(a.spec.Member)
}

// before is what a shared folder held when a task began, on disk: the next life
// of the agent compares with it too.
type before struct {
	Task    string            `json:"task"`
	Attempt int               `json:"attempt"`
	Commit  string            `json:"commit"`
	Files   map[string]string `json:"files"` // content of each that was not as in the commit
}

// beforePath is the file that holds it.
func (a *attempt) beforePath() string {
	return filepath.Join(a.job.Paths.NodeDir(a.node.Name), "before.json")
}

// maxBefore bounds the file.
const maxBefore = 64 << 20

// readBefore returns what was there before the task; nil: nobody has looked.
func (a *attempt) readBefore() (*before, error) {
	raw, err := signals.ReadFile(a.beforePath(), maxBefore)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	b := new(before)
	if json.Unmarshal(raw, b) != nil || b.Task != a.task.ID || b.Attempt != a.task.Attempt {
		return nil, nil
	}
	return b, nil
}

// limited reports whether the task names files that it may change.
func (a *attempt) limited() bool { return len(a.node.Scope)+len(a.node.Context) > 0 }

// lookBefore writes down what the folder holds when a task with a scope begins.
func (a *attempt) lookBefore() error {
	if !a.limited() {
		return nil
	}
	if b, err := a.readBefore(); b != nil || err != nil {
		return err
	}
	return a.inFolder(func(ctx context.Context, f *worktree.Folder) error {
		b := &before{Task: a.task.ID, Attempt: a.task.Attempt, Commit: a.spec.Place.Commit}
		var err error
		if b.Files, err = f.Prints(ctx, b.Commit); err != nil {
			return err
		}
		raw, err := json.Marshal(b)
		if err != nil {
			return err
		}
		return signals.PutFile(a.beforePath(), raw, 0o600)
	})
}

// inFolder runs f with the folder, where it is in a repository.
func (a *attempt) inFolder(f func(context.Context, *worktree.Folder) error) error {
	return a.git(func(ctx context.Context) error {
		folder, err := worktree.OpenFolder(ctx, a.spec.Place.Dir)
		if err != nil || folder == nil {
			return err
		}
		return f(ctx, folder)
	})
}

// sharedScope finds what has changed in the folder outside the task's scope.
func (a *attempt) sharedScope() (*fault, error) {
	if !a.limited() {
		return nil, nil
	}
	was, err := a.readBefore()
	if err != nil || was == nil {
		return nil, err
	}
	var outside []string
	err = a.inFolder(func(ctx context.Context, f *worktree.Folder) error {
		changed, err := f.Changed(ctx, was.Commit, was.Files)
		outside = slices.DeleteFunc(changed, a.mayChange)
		return err
	})
	if err != nil || len(outside) == 0 {
		return nil, err
	}
	files := shown(outside)
	return &fault{
		reason: dag.ReasonScope,
		detail: "changed outside its scope: " + files,
		tell:   prompt.OutOfSharedScope(files, a.node.Scope, a.node.Context),
	}, nil
}

// surveyShared counts what was committed in the folder since the task began.
func (a *attempt) surveyShared() {
	from := a.spec.Place.Commit
	if !a.shares() || from == "" {
		return
	}
	ctx := context.WithoutCancel(a.ctx)
	f, err := worktree.OpenFolder(ctx, a.spec.Place.Dir)
	if err == nil && f != nil && f.Commit != from {
		var stat worktree.DiffStat
		if a.end.Commits, stat, err = f.Since(ctx, from); err == nil {
			a.end.DiffStat = statLine(stat)
		}
	}
	if err != nil {
		a.note("%s", fmt.Sprintf("the commits in %s cannot be counted: %v", a.spec.Place.Dir, err))
	}
}
