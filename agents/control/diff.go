package control

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"cmux/agents/run"
	"cmux/worktree"
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
	n, root := &v.Nodes[i], v.Run.Plan.Root
	if !n.Spec.HasBranch() {
		return fmt.Errorf("%s is a %s and has no branch to show", n.Spec.Name, n.Spec.Role)
	}
	a := n.Attempt()
	if a == nil && Succeeded(n) { // overridden before it began
		return fmt.Errorf("%s never ran, so it has no branch (%s)", n.Spec.Name, n.Status.Label)
	} else if a == nil {
		return fmt.Errorf("%s has not started yet (%s)", n.Spec.Name, n.Status.Label)
	}
	if repo, err := worktree.Open(ctx, root); err == nil {
		ctx = worktree.WithConfig(ctx, p.settings(ctx, v.Run, repo)...)
	}
	tip, tipErr := p.git(ctx, root, "rev-parse", "--verify", "--quiet", "--end-of-options", "refs/heads/"+n.Spec.Branch)
	tip = strings.TrimSpace(tip)
	start := p.startCommit(ctx, root, n.Attempts, tip)
	if start == "" {
		return fmt.Errorf("%s: its start commit is not recorded", n.Spec.Name)
	}
	if info, err := os.Stat(a.Place.Tree); a.Place.Tree == "" || err != nil || !info.IsDir() {
		if tipErr != nil {
			return fmt.Errorf("%s: its worktree and its branch %s are gone: %w", n.Spec.Name, n.Spec.Branch, tipErr)
		}
		return p.show(ctx, o, root, nil, start, tip, "--")
	}
	tmp, err := os.MkdirTemp("", "cmux-diff-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	index, err := p.privateIndex(ctx, a.Place.Tree, tmp)
	if err != nil {
		return err
	}
	return p.show(ctx, o, a.Place.Tree, index, start, "--")
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
		if _, err := p.git(ctx, root, "merge-base", "--is-ancestor", c, tip); err == nil {
			return c
		}
	}
	return ""
}

// privateIndex copies the index of a worktree into tmp and adds untracked
// files to the copy, so that a diff shows them and the worktree is not touched.
// It returns the environment that selects the copy.
func (p *Project) privateIndex(ctx context.Context, tree, tmp string) (env []string, err error) {
	path, err := p.git(ctx, tree, "rev-parse", "--path-format=absolute", "--git-path", "index")
	if err != nil {
		return nil, err
	}
	copied := filepath.Join(tmp, "index")
	if _, err := worktree.CopyIndex(strings.TrimSuffix(path, "\n"), copied); err != nil {
		return nil, err
	}
	env = []string{"GIT_INDEX_FILE=" + copied}
	cmd := worktree.Git(ctx, tree, p.Env, "add", "--intent-to-add", "--all", ".")
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
	cmd := worktree.Git(ctx, dir, p.Env, append(options, args...)...)
	cmd.Env = append(cmd.Env, env...)
	cmd.Stdout, cmd.Stderr = o.Output, o.Errors
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("git diff in %s: %w", dir, err)
	}
	return nil
}
