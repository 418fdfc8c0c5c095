package runs

import (
	"context"
	"fmt"
	"os"
	"strings"

	"cmux/agents/control/files"
	"cmux/agents/runs/run"
	"cmux/worktree"
	"cmux/worktree/git"
)

// Work is what a node's branch and worktree hold of it.
type Work struct {
	Commits []Commit `json:"commits"`        // since its start commit, the newest first
	More    int      `json:"more,omitempty"` // commits that are not named
	Stat    []string `json:"stat"`           // lines of git diff --stat: committed and not, but for new files not yet added
}

// Commit is one of a node.
type Commit struct {
	ID      string `json:"id"` // short
	Subject string `json:"subject"`
}

// ShownCommits bounds how many commits of a node are listed, the newest.
const ShownCommits = 50

// shownFiles bounds the lines of a Stat.
const shownFiles = 50

// Work looks at what node i of a view has made so far. There is none before it
// has started, and none without a branch.
func (p *Runs) Work(ctx context.Context, v *run.View, i int) (*Work, error) {
	n, root := &v.Nodes[i], v.Run.Plan.Root
	a := n.Attempt()
	if !n.Spec.HasBranch() || a == nil {
		return &Work{}, nil
	}
	ref := "refs/heads/" + n.Spec.Branch
	tip, err := p.Git(ctx, root, "rev-parse", "--verify", "--quiet", "--end-of-options", ref)
	tip = strings.TrimSpace(tip)
	start := p.StartCommit(ctx, root, n.Attempts, tip)
	if err != nil || start == "" {
		return &Work{}, nil // it is being set up, or its branch is gone
	}
	if repo, err := worktree.Open(ctx, root); err == nil {
		ctx = git.WithConfig(ctx, p.Settings(ctx, v.Run, repo)...)
	}
	w := new(Work)
	out, err := p.Git(ctx, root, "log", "--format=%h %s", "--first-parent", start+".."+ref, "--")
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(out) {
		if len(w.Commits) == ShownCommits {
			w.More++
			continue
		}
		id, subject, _ := strings.Cut(strings.TrimRight(line, "\n"), " ")
		w.Commits = append(w.Commits, Commit{id, subject})
	}
	dir, what := root, []string{start, tip}
	tree := a.Place.TreeHere()
	if info, err := os.Stat(tree); tree != "" && err == nil && info.IsDir() {
		dir, what = tree, []string{start}
		if n.Spec.Fence.On() {
			ctx = files.Look(ctx, p.Getenv, root, n.Spec.Fence)
		}
	}
	out, err = p.Git(ctx, dir, append(append([]string{"--no-optional-locks", "diff", "--no-ext-diff", "--no-textconv", fmt.Sprintf("--stat=72,,%d", shownFiles)}, what...), "--")...)
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(out) {
		w.Stat = append(w.Stat, strings.TrimSpace(line))
	}
	return w, nil
}

// Sights are the folders in which something changes when node i of a view
// writes or commits, as far as they are there.
func (p *Runs) Sights(ctx context.Context, v *run.View, i int) (dirs []string) {
	n := &v.Nodes[i]
	a := n.Attempt()
	if a == nil {
		return nil
	}
	dirs = []string{v.Run.NodeDir(n.Spec.Name)}
	tree := a.Place.TreeHere()
	if tree == "" || !n.Fact.Live() {
		return dirs
	}
	dir, err := p.Git(ctx, tree, "rev-parse", "--path-format=absolute", "--git-path", "logs")
	dir = strings.TrimSpace(dir)
	if err == nil {
		_, err = os.Stat(dir)
	}
	if err != nil {
		return dirs
	}
	return append(dirs, dir)
}
