package runs

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"

	"cmux/agents/control/files"
	"cmux/agents/control/project"
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
// untracked in its worktree beside it. Of a node on another machine it writes what has come
// home.
func (p *Runs) Diff(ctx context.Context, o Diff) error {
	v, i, err := p.Node(ctx, o.Node)
	if err != nil {
		return err
	}
	ctx, w, err := p.nodeWork(ctx, v, i, workNow)
	if err != nil {
		return err
	}
	if a := v.Nodes[i].Away(); a != nil && o.Errors != nil {
		fmt.Fprintf(o.Errors, "cmux: %s works on %s: this is what has come home of its work\n", o.Node, cmp.Or(a.Place.Machine, "another machine"))
	}
	return w.Diff(ctx, func(ctx context.Context, env []string, args ...string) error {
		return p.show(ctx, o, w.Dir, env, append(args, "--")...)
	})
}

// workEnd says up to where a work is looked at.
type workEnd int

const (
	workNow       workEnd = iota // what stands in the worktree, where that is there
	workCommitted                // what the branch holds
	workPast                     // what the node left, whatever a newer run has done since
)

// nodeWork is the work of node i. The context it returns is for git in that run.
func (p *Runs) nodeWork(ctx context.Context, v *run.View, i int, end workEnd) (context.Context, *files.Span, error) {
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
		ctx = git.WithConfig(ctx, p.Settings(ctx, v.Run, repo)...)
	}
	w := &files.Span{By: p.Caller, Dir: root, Root: root, Fence: n.Spec.Fence}
	tip, tipErr := p.Git(ctx, root, "rev-parse", "--verify", "--quiet", "--end-of-options", "refs/heads/"+n.Spec.Branch)
	w.Tip = strings.TrimSpace(tip)
	if end == workPast {
		if w.Tip, tipErr = n.Tip, nil; w.Tip == "" && n.LastEnd() != nil {
			w.Tip = n.LastEnd().Tip
		}
		if w.Tip == "" {
			return ctx, nil, fmt.Errorf("%s of the past run %s left no commit", n.Spec.Name, v.Run.Plan.ID)
		}
	}
	if w.Start = p.StartCommit(ctx, root, n.Attempts, w.Tip); w.Start == "" {
		return ctx, nil, fmt.Errorf("%s: its start commit is not recorded", n.Spec.Name)
	}
	if end == workNow && w.Stands(a.Place.TreeHere()) {
		return ctx, w, nil
	}
	if tipErr != nil && a.Place.Away() {
		return ctx, nil, fmt.Errorf("%s: nothing has come home from %s yet: there is no branch %s", n.Spec.Name, cmp.Or(a.Place.Machine, "its machine"), n.Spec.Branch)
	}
	if tipErr != nil {
		return ctx, nil, fmt.Errorf("%s: its worktree and its branch %s are gone: %w", n.Spec.Name, n.Spec.Branch, tipErr)
	}
	return ctx, w, nil
}

// StartCommit is the commit that the node's work began at: the first attempt's,
// unless the branch was begun again since.
func (p *Runs) StartCommit(ctx context.Context, root string, attempts []run.Attempt, tip string) string {
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

// show runs git diff, without a pager and without
// programs of the repository's.
func (p *Runs) show(ctx context.Context, o Diff, dir string, env []string, args ...string) error {
	options := []string{"diff", "--no-ext-diff", "--no-textconv"}
	if o.Colour {
		options = append(options, "--color=always")
	}
	cmd := git.Exec(ctx, dir, p.Env, append(options, args...)...)
	cmd.Env = append(cmd.Env, env...)
	cmd.Stdout, cmd.Stderr = o.Output, o.Errors
	if err := git.Wait(ctx, cmd); err != nil {
		return fmt.Errorf("git diff in %s: %w", dir, err)
	}
	return nil
}

// Part selects a part of what a node has changed.
type Part struct {
	Committed bool // nothing that is not committed
	Decided   bool // only what changed since the last decision about the work
}

// NodeChanges lists the files that a node of a run has changed. Of a past run they are
// what the node left.
func (p *Runs) NodeChanges(ctx context.Context, id, node string, part Part) (*files.Changes, error) {
	ctx, w, err := p.namedWork(ctx, id, node, part)
	if err != nil {
		return nil, err
	}
	return w.Changes(ctx)
}

// NodeFile is a file of a node's changes; was is its path at the start, where that
// was another.
func (p *Runs) NodeFile(ctx context.Context, id, node, path, was string, part Part) (*files.FilePair, error) {
	ctx, w, err := p.namedWork(ctx, id, node, part)
	if err != nil {
		return nil, err
	}
	return w.File(ctx, path, was)
}

func (p *Runs) namedWork(ctx context.Context, id, node string, part Part) (context.Context, *files.Span, error) {
	r, err := p.Named(ctx, id)
	if err != nil {
		return ctx, nil, err
	}
	past, err := p.Past(ctx, r)
	if err != nil {
		return ctx, nil, err
	}
	v, i, err := p.NodeOf(ctx, r, node)
	if err != nil {
		return ctx, nil, err
	}
	end := workNow
	switch {
	case past:
		end = workPast
	case part.Committed:
		end = workCommitted
	}
	ctx, w, err := p.nodeWork(ctx, v, i, end)
	if err != nil || !part.Decided {
		return ctx, w, err
	}
	since := p.since(ctx, v.Run.Plan.Root, &v.Nodes[i], w.Tip)
	if since == "" {
		return ctx, nil, project.Tag(fmt.Errorf("%s has not changed since a decision about its work", node), project.ErrMissing)
	}
	w.Start = since
	return ctx, w, nil
}
