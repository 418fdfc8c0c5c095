package remains

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"cmux/agents/control/commands"
	"cmux/agents/control/runview"
	"cmux/agents/platform/proc"
	"cmux/agents/runs/run"
	"cmux/agents/runs/runner"
	"cmux/signals"
	"cmux/worktree"
	"cmux/worktree/git"
	"cmux/worktree/hint"
)

// changelogName is the file in a run's folder that says what each node did.
const changelogName = "CHANGELOG.md"

// Cleanup is what a cleanup of a run would remove.
type Cleanup struct {
	Session string   `json:"session,omitempty"` // tmux session; empty: it is not there
	Trees   []Tree   `json:"trees"`
	Open    []string `json:"open"`              // nodes whose agents are still open
	LeftOut []string `json:"left_out"`          // why other worktrees stay
	Finally []string `json:"finally,omitempty"` // nodes under finally: that have not run, and do not run after the cleanup
	Try     string   `json:"-"`                 // what runs them, before the cleanup

	view     *run.View
	repo     *worktree.Repo
	settings []string // see runs.Runs.Settings
	trees    []*worktree.Tree
	broken   []error
}

// Tree is a worktree that was lent to a node.
type Tree struct {
	Path   string `json:"path"`
	Branch string `json:"branch,omitempty"`
}

// PlanCleanup looks at what there is to be removed.
func (p *Remains) PlanCleanup(ctx context.Context) (*Cleanup, error) {
	r, err := p.Runs.Latest(ctx)
	if err != nil {
		return nil, err
	}
	// The runner of a run that has just ended may still be on its way out.
	if _, err := runner.Vacate(ctx, r); err != nil {
		return nil, err
	}
	v, err := r.View(ctx, p.Now())
	if err != nil {
		return nil, err
	}
	if runview.UnderWay(v) {
		return nil, hint.New(fmt.Errorf("run %s %w (%s)", r.Plan.ID, runner.ErrRunning, v.Holder.Brief(p.Now())), "cmux agents stop")
	}
	switch away := v.Away(); {
	case len(away) > 0 && v.Holder != nil: // it stays with the run, which has ended
		return nil, hint.New(fmt.Errorf("%s is still running", away[0]), "cmux agents stop "+away[0].Name)
	case len(away) > 0:
		err := &run.AwayError{Nodes: away, Over: true}
		return nil, hint.New(err, err.Try())
	}
	if at := runview.AtWork(v); len(at) > 0 && !runview.Over(v) {
		return nil, hint.New(fmt.Errorf("%s is still running", at[0]), "cmux agents stop")
	}
	c := &Cleanup{view: v, Open: runview.AtWork(v)}
	if c.Finally = commands.Unrun(v); len(c.Finally) > 0 {
		c.Try = p.Runs.InSession("cmux agents resume", r.Plan.Graph.Session)
	}
	if c.repo, err = worktree.Open(ctx, r.Plan.Root); err != nil {
		return nil, err
	}
	c.settings = p.Runs.Settings(ctx, r, c.repo)
	ctx = c.context(ctx, p)
	_, session, err := runner.Session(ctx, r)
	if err != nil {
		return nil, err
	}
	if session {
		c.Session = r.Plan.TmuxSession()
	}
	c.trees, c.broken = lentTrees(ctx, c.repo, r)
	for _, err := range c.broken {
		c.LeftOut = append(c.LeftOut, err.Error())
	}
	for _, t := range c.trees {
		c.Trees = append(c.Trees, Tree{t.Path, t.Branch})
	}
	return c, ctx.Err()
}

func (c *Cleanup) context(ctx context.Context, p *Remains) context.Context {
	return git.WithNotes(git.WithConfig(ctx, c.settings...), p.Note)
}

// Empty reports whether there is nothing to remove.
func (c *Cleanup) Empty() bool { return c.Session == "" && len(c.Trees)+len(c.Open) == 0 }

// Removal is told as a cleanup goes on.
type Removal struct {
	Left  string `json:"left,omitempty"`  // what nodes had left running and was ended; else
	Path  string `json:"path,omitempty"`  // a worktree was removed
	Saved string `json:"saved,omitempty"` // the command that brings its uncommitted work back; empty: there was none
}

// Cleanup removes what was planned, what is not committed in it saved first, and
// returns the path of the changelog, which says what each node did.
func (p *Remains) Cleanup(ctx context.Context, c *Cleanup, tell func(Removal)) (changelogPath string, err error) {
	r := c.view.Run
	ctx = c.context(ctx, p)
	if holder, err := runner.Yield(ctx, r); err != nil {
		return "", err
	} else if holder != nil { // somebody has continued it since
		return "", hint.New(fmt.Errorf("run %s %w (%s)", r.Plan.ID, runner.ErrRunning, holder.Brief(p.Now())), "cmux agents stop")
	}
	// From now on another session may have its nodes' names, and this run may take
	// them back.
	if err := p.release(ctx, r); err != nil {
		return "", err
	}
	if len(c.Open) > 0 {
		if _, err := runner.Cancel(ctx, r, ""); err != nil {
			return "", err
		}
	}
	path := filepath.Join(r.Dir, changelogName)
	if err := signals.WriteFile(path, []byte(p.changelog(ctx, c.view)), 0o644); err != nil {
		return "", err
	}
	if err := runner.EndSession(ctx, r); err != nil {
		return "", err
	}
	if over, err := r.Over(); err != nil {
		return "", err
	} else if over {
		if err := r.DropEnv(); err != nil {
			return "", err
		}
	}
	left, err := runner.EndLeftovers(ctx, r)
	if len(left) > 0 {
		tell(Removal{Left: proc.Names(left)})
	}
	errs := c.broken
	if err != nil {
		errs = append(errs, err) // what it holds is named below, and the rest is removed
	}
	for _, t := range c.trees {
		s, err := removeTree(ctx, c.repo, t, r.Plan.ID)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		done := Removal{Path: t.Path}
		if s != nil {
			done.Saved = s.RestoreCommand()
		}
		tell(done)
	}
	return path, errors.Join(errs...)
}

// release gives up the names of a run that no runner carries.
func (p *Remains) release(ctx context.Context, r *run.Run) error {
	g, err := run.LockProject(ctx, r.Plan.Root)
	if err != nil {
		return err
	}
	return errors.Join(g.Release(r), g.Unlock())
}

// lentTrees are the worktrees of a run's nodes that are registered, be their
// folder there or not; broken says why others cannot be dealt with.
func lentTrees(ctx context.Context, repo *worktree.Repo, r *run.Run) (trees []*worktree.Tree, broken []error) {
	for i := range r.Plan.Graph.Nodes {
		n := &r.Plan.Graph.Nodes[i]
		if !n.HasTree() {
			continue
		}
		path := r.Plan.Graph.TreePath(r.Plan.Root, n)
		var t *worktree.Tree
		_, err := os.Lstat(path)
		if err != nil && !repo.Registered(path) {
			err = worktree.ErrOccupied // without asking git for each node that never began
		} else {
			t, err = repo.Tree(ctx, path)
		}
		if errors.Is(err, worktree.ErrOccupied) {
			if err := repo.Lost(path); err != nil {
				broken = append(broken, err)
			}
			continue // not registered: not lent by cmux, or removed
		}
		switch {
		case err != nil:
			broken = append(broken, fmt.Errorf("worktree %s: %w", path, err))
		case t.Owner != "" || t.Unfinished || t.Torn: // else it was not lent by cmux
			trees = append(trees, t)
		}
	}
	return trees, broken
}

// removeTree removes a worktree. The processes of the session that just ended
// may take a moment to leave it. Saving takes as long as there is work to save:
// ^C ends it.
func removeTree(ctx context.Context, repo *worktree.Repo, t *worktree.Tree, id string) (*worktree.Snapshot, error) {
	leaving := time.NewTimer(5 * time.Second)
	defer leaving.Stop()
	again := time.NewTicker(50 * time.Millisecond)
	defer again.Stop()
	for {
		s, err := repo.Remove(ctx, t.Path, worktree.RemoveSpec{Reason: "cleanup of run " + id})
		if !errors.Is(err, worktree.ErrInUse) {
			return s, err
		}
		select {
		case <-again.C:
		case <-leaving.C:
			return s, err
		case <-ctx.Done():
			return s, ctx.Err()
		}
	}
}
