package merging

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"cmux/agents/control/project"
	"cmux/agents/control/runs"
	"cmux/agents/control/runview"
	"cmux/agents/platform/say"
	"cmux/agents/runs/run"
	"cmux/signals"
	"cmux/worktree"
	"cmux/worktree/common"
	"cmux/worktree/git"
	"cmux/worktree/hint"
	"cmux/worktree/merge"
)

// Merge orders that the branches of the run's done nodes are merged, in
// the order of the graph, with their checks after each.
type Merge struct {
	Into     string `json:"into,omitempty"`     // empty: the branch that the run started from
	Continue bool   `json:"continue,omitempty"` // continue one that stopped
	Abort    bool   `json:"abort,omitempty"`    // give one up that stopped
	Tips     bool   `json:"tips,omitempty"`     // the branches as they are now, not as their nodes left them

	Output io.Writer    `json:"-"` // what the checks write
	Begun  func(string) `json:"-"` // is told each branch before its checks are run
	Tell   func(string) `json:"-"` // is told, in a line, what is left out or taken as it was
}

// Merged is what has become of a Merge.
type Merged struct {
	Target    string   `json:"target"`
	Abandoned bool     `json:"abandoned,omitempty"` // the target is where it was
	Contained []string `json:"contained"`           // branches of which there was nothing to merge
	Merged    []string `json:"merged"`
	Commit    string   `json:"commit,omitempty"` // what the target is at now
}

// Merge merges. At the first branch that conflicts or breaks a check it stops,
// and the target has not moved.
func (p *Merging) Merge(ctx context.Context, o Merge) (*Merged, error) {
	r, err := p.Runs.Latest(ctx)
	if err != nil {
		return nil, err
	}
	spec, begun, err := mergeSpec(r, o)
	if err != nil {
		return nil, err
	}
	repo, err := worktree.Open(ctx, r.Plan.Root)
	if err != nil {
		return nil, err
	}
	spec.Saved = func(s *worktree.Snapshot) {
		if o.Tell != nil {
			o.Tell("What was done in " + spec.Path + " is saved: " + s.RestoreCommand())
		}
	}
	if o.Abort {
		if err := repo.AbortMerge(ctx, *spec); err != nil {
			return nil, err
		}
		return &Merged{Target: spec.Target, Abandoned: true}, nil
	}
	if err := mergeTarget(ctx, repo, spec.Target, begun); err != nil {
		return nil, err
	}
	v, err := r.View(ctx, p.Now())
	if err != nil {
		return nil, err
	}
	if _, err := r.Undrifted(ctx, repo, "not merged", common.Change.Sensitive); err != nil {
		return nil, err
	}
	if err := p.mergeBranches(ctx, repo, v, spec, o); err != nil {
		return nil, err
	}
	if err := p.mergeTips(ctx, repo, spec, o); err != nil {
		return nil, err
	}
	if o.Tell != nil {
		ctx = git.WithNotes(ctx, o.Tell)
	}
	res, err := repo.MergeInto(ctx, *spec)
	if err != nil {
		return nil, mergeHint(ctx, err, repo, v, spec, p.talk(ctx, err, v, o.Tell))
	}
	if err := settle(ctx, v, spec); err != nil {
		return nil, fmt.Errorf("%s is merged, and which collisions are over could not be recorded: %w", spec.Target, err)
	}
	return &Merged{Target: spec.Target, Contained: res.Skipped, Merged: res.Merged, Commit: res.Commit}, nil
}

// TreeOf is the worktree of a merge in the project at root, until the merge has ended.
func TreeOf(root string) string { return filepath.Join(run.Folder(root), "merge") }

// mergeSpec is where a merge goes, and whether it was begun before.
func mergeSpec(r *run.Run, o Merge) (spec *worktree.MergeSpec, begun bool, err error) {
	folder := run.Folder(r.Plan.Root)
	spec = &worktree.MergeSpec{Path: TreeOf(r.Plan.Root), Target: o.Into, StateFile: filepath.Join(folder, "merge.json")}
	if err := errors.Join(signals.Expect(spec.StateFile, 0), signals.Expect(spec.Path, fs.ModeDir)); err != nil {
		return nil, false, err
	}
	state, err := worktree.ReadMergeState(spec.StateFile)
	begun = err == nil
	if err != nil && !errors.Is(err, worktree.ErrNoMerge) {
		return nil, false, err
	}
	switch {
	case !begun && (o.Continue || o.Abort):
		return nil, false, hint.New(worktree.ErrNoMerge, "cmux agents merge")
	case begun && !o.Continue && !o.Abort:
		return nil, false, hint.New(fmt.Errorf("a merge into %s was begun and has not ended", state.Target), "cmux agents merge --continue, or --abort")
	case begun && o.Into != "" && o.Into != state.Target:
		return nil, false, project.Usage("cmux agents merge --abort", "the merge that was begun is into %s", state.Target)
	case begun:
		spec.Target = state.Target
	case spec.Target == "":
		if spec.Target = r.Plan.BaseBranch; spec.Target == "" {
			return nil, false, project.Usage("cmux agents merge --into BRANCH", "the run started from %s, which is no branch", r.Plan.BaseRef)
		}
	}
	return spec, begun, nil
}

// mergeTarget makes sure that the branch to merge into is there.
func mergeTarget(ctx context.Context, repo *worktree.Repo, target string, begun bool) error {
	_, err := repo.Tip(ctx, target)
	if !errors.Is(err, git.ErrBadRef) {
		return err
	}
	text := fmt.Sprintf("there is no branch %q", target)
	if begun {
		return hint.New(fmt.Errorf("%s any more, into which a merge was begun", text), "git branch "+say.Word(target)+" COMMIT, then cmux agents merge --continue; or cmux agents merge --abort")
	}
	if _, err := repo.Resolve(ctx, target); err == nil {
		text += ", only a commit of that name"
	}
	branches, err := repo.Branches(ctx)
	if err != nil {
		return err
	}
	if near := runs.Nearest(target, branches); near != "" {
		return project.Usage("cmux agents merge --into "+say.Word(near), "%s (did you mean %q?)", text, near)
	}
	return project.Usage("git branch, then cmux agents merge --into BRANCH", "%s; there are %s", text, say.List(branches, 5))
}

// mergeItem is a node whose branch a merge takes, or leaves out.
type mergeItem struct {
	node     *run.NodeView
	standing runs.BranchStanding
	tip      merge.Tip
	leftOut  string // why; empty: it is taken
}

// mergeItems are the nodes of a run that leave a branch, in graph order.
func (p *Merging) mergeItems(ctx context.Context, repo *worktree.Repo, v *run.View, target string) (all []mergeItem, err error) {
	standings := p.Runs.Standings(ctx, repo, v)
	for _, i := range v.Run.Plan.Graph.Order() {
		n := &v.Nodes[i]
		if !n.Spec.HasBranch() || n.Spec.Branch == target {
			continue
		}
		item := mergeItem{node: n, standing: standings[i], tip: merge.Tip{Name: n.Spec.Branch, Commit: n.Tip}}
		switch {
		case !runview.Succeeded(n):
			item.leftOut = n.Status.Label.String()
		case standings[i].Why != "":
			item.leftOut = standings[i].Why
		case n.Tip == "": // overridden before it began
			if _, err := repo.Tip(ctx, n.Spec.Branch); errors.Is(err, git.ErrBadRef) {
				item.leftOut = n.Status.Label.String() + ", it has no branch"
			} else if err != nil {
				return nil, err
			}
		}
		if standings[i].State == runs.ReviewApproved {
			item.tip.Commit = n.Review.Commit
		}
		all = append(all, item)
	}
	return all, nil
}

// mergeBranches fills in the branches of the done nodes, in graph order, and
// how each merge is judged.
func (p *Merging) mergeBranches(ctx context.Context, repo *worktree.Repo, v *run.View, spec *worktree.MergeSpec, o Merge) error {
	var nodes []*run.NodeView // as spec.Branches
	reviewed, work := false, false
	items, err := p.mergeItems(ctx, repo, v, spec.Target)
	if err != nil {
		return err
	}
	for _, item := range items {
		n, s := item.node, item.standing
		if runview.Succeeded(n) && o.Continue && s.State == runs.ReviewMoved && s.Why != "" {
			return hint.New(fmt.Errorf("%s: %s", n.Spec.Name, s.Why), "cmux agents review "+n.Spec.Name+", then cmux agents merge --continue; or cmux agents merge --abort")
		}
		if item.leftOut != "" {
			reviewed = reviewed || runview.Succeeded(n) && s.Why != ""
			o.Tell(fmt.Sprintf("left out: %s (%s)", n.Spec.Name, item.leftOut))
			continue
		}
		work = work || s.State != runs.ReviewNothing
		spec.Branches = append(spec.Branches, item.tip)
		nodes = append(nodes, n)
	}
	if reviewed && !work {
		return hint.New(errors.New("the review leaves nothing to merge"), "cmux agents review")
	}
	if len(spec.Branches) == 0 {
		return hint.New(errors.New("no node of the run is done and has a branch"), "cmux agents status")
	}
	spec.Verify = func(ctx context.Context, dir, branch string) error {
		o.Begun(branch)
		// Those before it are in, whether now or before --continue.
		merged := nodes
		if i := slices.IndexFunc(nodes, func(n *run.NodeView) bool { return n.Spec.Branch == branch }); i >= 0 {
			merged = nodes[:i+1]
		}
		type check struct{ dir, command string }
		ran := make(map[check]bool)
		for _, n := range merged {
			commands := slices.DeleteFunc(slices.Clone(n.Spec.Verify), func(command string) bool { return ran[check{n.Spec.Dir, command}] })
			begun := func(command string) { ran[check{n.Spec.Dir, command}] = true }
			err := p.check(ctx, v.Run, n, dir, commands, o.Output, begun, func(c Checked) error {
				if c.Failed != "" {
					return fmt.Errorf("%s (of %s): %s", c.Command, n.Spec.Name, c.Failed)
				}
				return nil
			})
			if err != nil {
				return err
			}
		}
		return nil
	}
	return nil
}

// mergeTips decides about the branches that have moved since their nodes were
// done: they are merged as recorded, unless a person says otherwise or repaired
// one of them.
func (p *Merging) mergeTips(ctx context.Context, repo *worktree.Repo, spec *worktree.MergeSpec, o Merge) error {
	head := "" // of the merge so far
	if o.Continue {
		out, err := p.Git(ctx, spec.Path, "rev-parse", "--verify", "--quiet", "HEAD")
		if err == nil {
			head = strings.TrimSpace(out)
		}
	}
	for i := range spec.Branches {
		b := &spec.Branches[i]
		now, err := repo.Tip(ctx, b.Name)
		if errors.Is(err, git.ErrBadRef) && b.Commit != "" {
			o.Tell(fmt.Sprintf("%s is gone; what its node left is merged: %.12s", b.Name, b.Commit))
			continue
		} else if err != nil {
			return err
		}
		if b.Commit == "" || o.Tips {
			b.Commit = now
		}
		if b.Commit == now {
			continue
		}
		in := false // merged already as its node left it, so its later commits are no repair
		if head != "" {
			if in, err = repo.Holds(ctx, head, b.Commit); err != nil {
				return err
			}
		}
		if o.Continue && !in {
			if holds, err := repo.Holds(ctx, now, b.Commit); err != nil {
				return err
			} else if holds {
				b.Commit = now
				continue
			}
		}
		o.Tell(fmt.Sprintf("%s has moved since its node was done: %.12s -> %.12s; the first is merged (--tips takes the second)", b.Name, b.Commit, now))
	}
	return nil
}

// mergeHint adds to what stopped a merge how to go on; talk is a way besides, of a conflict.
func mergeHint(ctx context.Context, err error, repo *worktree.Repo, v *run.View, spec *worktree.MergeSpec, talk string) error {
	const next = "then cmux agents merge --continue; or cmux agents merge --abort"
	var (
		conflict *merge.ConflictError
		broken   *worktree.VerifyError
		inMerge  *worktree.UnfinishedError
	)
	switch {
	case errors.As(err, &inMerge):
		return hint.New(err, fmt.Sprintf("git -C %s %s --continue, or --abort, %s", say.Word(inMerge.Path), inMerge.Operation, next))
	case errors.As(err, &conflict):
		what := conflict.Tips[0] // the one that did not fit; the others are in
		for _, b := range spec.Branches {
			if now, terr := repo.Tip(ctx, what); b.Name == what && (terr != nil || now != b.Commit) {
				what = b.Commit
			}
		}
		then := next
		for _, s := range conflict.Submodules {
			then = fmt.Sprintf("for %s by git -C %s merge %s and git -C %s add %s, ", s.Path, say.Word(filepath.Join(spec.Path, s.Path)), s.Commit, say.Word(spec.Path), say.Word(s.Path)) + then
		}
		return hint.New(err, fmt.Sprintf("git -C %s merge %s%s, resolve and commit there, %s%s", say.Word(spec.Path), conflict.Options(), say.Word(what), then, talk))
	case errors.As(err, &broken) && broken.Tree != "":
		return hint.New(err, fmt.Sprintf("repair it in %s and commit there, %s", broken.Tree, next))
	case errors.As(err, &broken):
		return hint.New(err, fmt.Sprintf("repair it on %s, %s", broken.Branch, next))
	case errors.Is(err, worktree.ErrDirty):
		return hint.New(err, "commit these changes there, or put them aside (git stash -u), "+next)
	}
	return err
}

// talk is the command that has agents talk about the branch of a node that does not fit, or
// that shows what they say; empty: err is not about one.
func (p *Merging) talk(ctx context.Context, err error, v *run.View, tell func(string)) string {
	var conflict *merge.ConflictError
	if !errors.As(err, &conflict) {
		return ""
	}
	i := slices.IndexFunc(v.Nodes, func(n run.NodeView) bool { return n.Spec.HasBranch() && n.Spec.Branch == conflict.Tips[0] })
	if i < 0 {
		return ""
	}
	about := "merge:" + v.Nodes[i].Spec.Name
	if p.Talk != nil {
		room, err := p.Talk(ctx, about)
		if err != nil && tell != nil {
			tell(err.Error())
		}
		if room != "" {
			return "; agents talk about it: cmux rooms tail " + room
		}
	}
	return "; or cmux rooms start --about " + about
}

// TaskHint adds the way out to an error about a task's work that shares no commit with
// the target, which nobody but a person brings together.
func TaskHint(err error, tip merge.Tip, target string) error {
	var c *merge.ConflictError
	if !errors.As(err, &c) {
		return err
	}
	c.CallBase(target)
	return hint.New(err, fmt.Sprintf("git merge %s%.12s into %s, resolve, commit; then cmux tasks merge", c.Options(), tip.Commit, target))
}

// settle records that the collisions between branches that a merge took are
// over, unless one of the two has moved since.
func settle(ctx context.Context, v *run.View, spec *worktree.MergeSpec) error {
	taken := make(map[string]string)
	for i := range v.Nodes {
		n := v.Nodes[i].Spec
		if k := slices.IndexFunc(spec.Branches, func(t merge.Tip) bool { return n.HasBranch() && t.Name == n.Branch }); k >= 0 {
			taken[n.Name] = spec.Branches[k].Commit
		}
	}
	var over []run.Record
	for _, c := range v.Collisions {
		if c.TipA != "" && c.TipB != "" && taken[c.A] == c.TipA && taken[c.B] == c.TipB {
			over = append(over, run.Record{Type: run.Collided, Collision: &run.Collision{A: c.A, B: c.B, TipA: c.TipA, TipB: c.TipB}})
		}
	}
	if len(over) == 0 {
		return nil
	}
	book, err := v.Run.OpenBook()
	if err != nil {
		return err
	}
	return errors.Join(book.Commit(ctx, over...), book.Close())
}
