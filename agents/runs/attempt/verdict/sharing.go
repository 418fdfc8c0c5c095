package verdict

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"cmux/agents/runs/attempt/workspace"
	"cmux/agents/runs/conversation"
	"cmux/agents/runs/prompt"
	"cmux/agents/runs/run"
	"cmux/dag"
	"cmux/signals"
	"cmux/worktree"
	"cmux/worktree/git"
)

// A worker without a worktree works in a shared folder. The state at the begin of its task
// is the baseline: cmux examines only later changes.

// before is the state of a shared folder when a task began. It is stored on disk, because
// the agent's next life uses it too.
type before struct {
	Task    string            `json:"task"`
	Attempt int               `json:"attempt"`
	Commit  string            `json:"commit"`
	Files   map[string]string `json:"files"` // content of each file that differed from the commit
}

// beforePath is the path of the stored state.
func (v *Verdict) beforePath() string {
	return filepath.Join(v.Paths.NodeDir(v.node.Name), "before.json")
}

// maxBefore bounds the file.
const maxBefore = 64 << 20

// readBefore returns the state before the task; nil: none was stored.
func (v *Verdict) readBefore() (*before, error) {
	raw, err := signals.ReadFile(v.beforePath(), maxBefore)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	b := new(before)
	if json.Unmarshal(raw, b) != nil || b.Task != v.Task.ID || b.Attempt != v.Task.Attempt {
		return nil, nil
	}
	return b, nil
}

// limited reports whether the task has a scope.
func (v *Verdict) limited() bool { return len(v.node.Scope)+len(v.node.Context) > 0 }

// LookBefore stores the state of the folder when a task with a scope begins.
func (v *Verdict) LookBefore() error {
	if !v.limited() {
		return nil
	}
	if b, err := v.readBefore(); b != nil || err != nil {
		return err
	}
	return v.inFolder(func(ctx context.Context, f *worktree.Folder) error {
		b := &before{Task: v.Task.ID, Attempt: v.Task.Attempt, Commit: v.Spec.Place.Commit}
		var err error
		if b.Files, err = f.Prints(ctx, b.Commit); err != nil {
			return err
		}
		raw, err := json.Marshal(b)
		if err != nil {
			return err
		}
		return signals.PutFile(v.beforePath(), raw, 0o600)
	})
}

// inFolder runs f with the folder, if it is in a repository.
func (v *Verdict) inFolder(f func(context.Context, *worktree.Folder) error) error {
	return v.git(func(ctx context.Context) error {
		folder, err := worktree.OpenFolder(ctx, v.Spec.Place.Dir)
		if err != nil || folder == nil {
			return err
		}
		return f(ctx, folder)
	})
}

// sharedScope finds changes in the folder outside the task's scope.
func (v *Verdict) sharedScope() (*conversation.Fault, error) {
	if !v.limited() {
		return nil, nil
	}
	was, err := v.readBefore()
	if err != nil || was == nil {
		return nil, err
	}
	var outside []string
	err = v.inFolder(func(ctx context.Context, f *worktree.Folder) error {
		changed, err := f.Changed(ctx, was.Commit, was.Files)
		outside = slices.DeleteFunc(changed, v.scopes.MayChange)
		return err
	})
	if err != nil || len(outside) == 0 {
		return nil, err
	}
	files := workspace.Shown(outside)
	return &conversation.Fault{
		Reason: dag.ReasonScope,
		Detail: "changed outside its scope: " + files,
		Tell:   prompt.OutOfSharedScope(files, v.node.Scope, v.node.Context),
	}, nil
}

// surveyShared counts the commits in the folder since the task began.
func (v *Verdict) surveyShared(ctx context.Context, end *run.End) {
	from := v.Spec.Place.Commit
	if !v.Shares || from == "" {
		return
	}
	f, err := worktree.OpenFolder(ctx, v.Spec.Place.Dir)
	if err == nil && f != nil && f.Commit != from {
		var stat git.DiffStat
		if end.Commits, stat, err = f.Since(ctx, from); err == nil {
			end.DiffStat = workspace.StatLine(stat)
		}
	}
	if err != nil {
		v.Note("%s", fmt.Sprintf("the commits in %s cannot be counted: %v", v.Spec.Place.Dir, err))
	}
}
