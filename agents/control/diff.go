package control

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"cmux/agents/control/runview"

	"cmux/agents/runs/run"
	"cmux/worktree"
	"cmux/worktree/git"
)

// Diff asks what a node has changed since the commit that it started from.
type Diff struct {
	Node   string `json:"node"`
	Colour bool   `json:"colour,omitempty"`

	Output io.Writer `json:"-"` // the patch
	Errors io.Writer `json:"-"` // what git says besides
}

// Diff writes what a node has committed, and what stands uncommitted and
// untracked in its worktree beside it.
func (p *Project) Diff(ctx context.Context, o Diff) error {
	v, i, err := p.node(ctx, o.Node)
	if err != nil {
		return err
	}
	ctx, w, err := p.nodeWork(ctx, v, i, workNow)
	if err != nil {
		return err
	}
	return w.diff(ctx, func(env []string, args ...string) error {
		return p.show(ctx, o, w.dir, env, append(args, "--")...)
	})
}

// workSpan is what a node or a task has changed: from the commit start to tip, or, where
// tree is set, to what stands in the worktree dir, committed or not.
type workSpan struct {
	p          *Project
	dir        string
	start, tip string
	tree       bool
}

// workEnd says up to where a work is looked at.
type workEnd int

const (
	workNow       workEnd = iota // what stands in the worktree, where that is there
	workCommitted                // what the branch holds
	workPast                     // what the node left, whatever a newer run has done since
)

// nodeWork is the work of node i. The context it returns is for git in that run.
func (p *Project) nodeWork(ctx context.Context, v *run.View, i int, end workEnd) (context.Context, *workSpan, error) {
	n, root := &v.Nodes[i], v.Run.Plan.Root
	if !n.Spec.HasBranch() {
		return ctx, nil, fmt.Errorf("%s is a %s and has no branch to show", n.Spec.Name, n.Spec.Role)
	}
	a := n.Attempt()
	if a == nil && runview.Succeeded(n) { // overridden before it began
		return ctx, nil, fmt.Errorf("%s never ran, so it has no branch (%s)", n.Spec.Name, n.Status.Label)
	} else if a == nil {
		return ctx, nil, fmt.Errorf("%s has not started yet (%s)", n.Spec.Name, n.Status.Label)
	}
	if repo, err := worktree.Open(ctx, root); err == nil {
		ctx = git.WithConfig(ctx, p.settings(ctx, v.Run, repo)...)
	}
	w := &workSpan{p: p, dir: root}
	tip, tipErr := p.Git(ctx, root, "rev-parse", "--verify", "--quiet", "--end-of-options", "refs/heads/"+n.Spec.Branch)
	w.tip = strings.TrimSpace(tip)
	if end == workPast {
		if w.tip, tipErr = n.Tip, nil; w.tip == "" && n.LastEnd() != nil {
			w.tip = n.LastEnd().Tip
		}
		if w.tip == "" {
			return ctx, nil, fmt.Errorf("%s of the past run %s left no commit", n.Spec.Name, v.Run.Plan.ID)
		}
	}
	if w.start = p.startCommit(ctx, root, n.Attempts, w.tip); w.start == "" {
		return ctx, nil, fmt.Errorf("%s: its start commit is not recorded", n.Spec.Name)
	}
	if end == workNow && w.stands(a.Place.Tree) {
		return ctx, w, nil
	}
	if tipErr != nil {
		return ctx, nil, fmt.Errorf("%s: its worktree and its branch %s are gone: %w", n.Spec.Name, n.Spec.Branch, tipErr)
	}
	return ctx, w, nil
}

// stands has the work end in a worktree, where that is there.
func (w *workSpan) stands(tree string) bool {
	if info, err := os.Stat(tree); tree == "" || err != nil || !info.IsDir() {
		return false
	}
	w.dir, w.tree = tree, true
	return true
}

// diff has f run a diff of the work, with these further arguments.
func (w *workSpan) diff(ctx context.Context, f func(env []string, args ...string) error) error {
	if !w.tree {
		return f(nil, w.start, w.tip)
	}
	tmp, err := os.MkdirTemp("", "cmux-diff-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	index, err := w.p.privateIndex(ctx, w.dir, tmp)
	if err != nil {
		return err
	}
	return f(index, w.start)
}

// startCommit is the commit that the node's work began at: the first attempt's,
// unless the branch was begun anew since.
func (p *Project) startCommit(ctx context.Context, root string, attempts []run.Attempt, tip string) string {
	for i := range attempts {
		c := attempts[i].Place.Commit
		if c == "" {
			continue
		}
		if i == len(attempts)-1 || tip == "" {
			return c
		}
		if _, err := p.Git(ctx, root, "merge-base", "--is-ancestor", c, tip); err == nil {
			return c
		}
	}
	return ""
}

// privateIndex copies the index of a worktree into tmp and adds untracked
// files to the copy, so that a diff shows them and the worktree is not touched.
// It returns the environment that selects the copy.
func (p *Project) privateIndex(ctx context.Context, tree, tmp string) (env []string, err error) {
	path, err := p.Git(ctx, tree, "rev-parse", "--path-format=absolute", "--git-path", "index")
	if err != nil {
		return nil, err
	}
	copied := filepath.Join(tmp, "index")
	if _, err := git.CopyIndex(strings.TrimSuffix(path, "\n"), copied); err != nil {
		return nil, err
	}
	env = []string{"GIT_INDEX_FILE=" + copied}
	cmd := git.Exec(ctx, tree, p.Env, "add", "--intent-to-add", "--all", "--sparse", ".")
	cmd.Env = append(cmd.Env, env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("git add in a copy of the index: %s: %w", strings.TrimSpace(string(out)), err)
	}
	return env, nil
}

// show runs git diff, without a pager and without
// programs of the repository's.
func (p *Project) show(ctx context.Context, o Diff, dir string, env []string, args ...string) error {
	options := []string{"diff", "--no-ext-diff", "--no-textconv"}
	if o.Colour {
		options = append(options, "--color=always")
	}
	cmd := git.Exec(ctx, dir, p.Env, append(options, args...)...)
	cmd.Env = append(cmd.Env, env...)
	cmd.Stdout, cmd.Stderr = o.Output, o.Errors
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("git diff in %s: %w", dir, err)
	}
	return nil
}
