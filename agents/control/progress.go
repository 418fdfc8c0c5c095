package control

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"cmux/agents/control/remains"
	"cmux/agents/runs/run"
	"cmux/signals"
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

// shownFiles bounds the lines of a Stat.
const shownFiles = 50

// Work looks at what node i of a view has made so far. There is none before it
// has started, and none without a branch.
func (p *Project) Work(ctx context.Context, v *run.View, i int) (*Work, error) {
	n, root := &v.Nodes[i], v.Run.Plan.Root
	a := n.Attempt()
	if !n.Spec.HasBranch() || a == nil {
		return &Work{}, nil
	}
	ref := "refs/heads/" + n.Spec.Branch
	tip, err := p.Git(ctx, root, "rev-parse", "--verify", "--quiet", "--end-of-options", ref)
	tip = strings.TrimSpace(tip)
	start := p.Runs().StartCommit(ctx, root, n.Attempts, tip)
	if err != nil || start == "" {
		return &Work{}, nil // it is being set up, or its branch is gone
	}
	if repo, err := worktree.Open(ctx, root); err == nil {
		ctx = git.WithConfig(ctx, p.Runs().Settings(ctx, v.Run, repo)...)
	}
	w := new(Work)
	out, err := p.Git(ctx, root, "log", "--format=%h %s", "--first-parent", start+".."+ref, "--")
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(out) {
		if len(w.Commits) == remains.ShownCommits {
			w.More++
			continue
		}
		id, subject, _ := strings.Cut(strings.TrimRight(line, "\n"), " ")
		w.Commits = append(w.Commits, Commit{id, subject})
	}
	dir, what := root, []string{start, tip}
	if info, err := os.Stat(a.Place.Tree); a.Place.Tree != "" && err == nil && info.IsDir() {
		dir, what = a.Place.Tree, []string{start}
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

// promptRoom is how far before the end that is wanted a prompt may begin which is
// left out of it.
const promptRoom = 64 << 10

// LogEnd is the end of what a node has written, from the beginning of a line on:
// at most n bytes, without the prompts of an agent. It is empty where there is
// nothing yet.
func LogEnd(r *run.Run, node string, n int64) ([]byte, error) {
	i := r.Plan.Graph.Index(node)
	if i < 0 || !r.Plan.Graph.Nodes[i].UsesModel() {
		return logEnd(r, node, n)
	}
	b, err := logEnd(r, node, n+promptRoom)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	u := &unprompted{w: &out, order: "cmux agents logs " + node + " --prompt", path: r.Events(node)}
	if _, err := u.Write(b); err != nil {
		return nil, err
	}
	if err := u.flush(); err != nil {
		return nil, err
	}
	return lastWhole(out.Bytes(), n), nil
}

// lastWhole is the end of b from the beginning of a line on: at most n bytes.
func lastWhole(b []byte, n int64) []byte {
	cut := int64(len(b)) - n
	if cut <= 0 {
		return b
	}
	if at := bytes.IndexByte(b[cut-1:], '\n'); at >= 0 {
		return b[cut+int64(at):]
	}
	return b[cut:]
}

func logEnd(r *run.Run, node string, n int64) ([]byte, error) {
	f, err := signals.Open(r.Log(node))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	from := max(0, info.Size()-n-1) // where a line may end
	b, err := io.ReadAll(io.NewSectionReader(f, from, n+1))
	return lastWhole(b, n), err
}

// Sights are the folders in which something changes when node i of a view
// writes or commits, as far as they are there.
func (p *Project) Sights(ctx context.Context, v *run.View, i int) (dirs []string) {
	n := &v.Nodes[i]
	a := n.Attempt()
	if a == nil {
		return nil
	}
	dirs = []string{v.Run.NodeDir(n.Spec.Name)}
	if a.Place.Tree == "" || !n.Fact.Live() {
		return dirs
	}
	dir, err := p.Git(ctx, a.Place.Tree, "rev-parse", "--path-format=absolute", "--git-path", "logs")
	dir = strings.TrimSpace(dir)
	if err == nil {
		_, err = os.Stat(dir)
	}
	if err != nil {
		return dirs
	}
	return append(dirs, dir)
}
