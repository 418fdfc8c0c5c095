package runner

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"time"

	"cmux/agents/runs/run"
	"cmux/dag"
	"cmux/worktree"
	"cmux/worktree/git"
	"cmux/worktree/lookout"
	"cmux/worktree/merge"
	"cmux/worktree/separate"
)

// radar finds out, when a commit appears on the branch of a node, which other
// nodes changed the same files. Nothing of it runs while no commit appears.
//
// It works beside the scheduler, one sweep at a time: what a sweep finds comes
// back through swept and is recorded there.
type radar struct {
	lookout *lookout.Lookout // nil: there are no file events; then only the ends of attempts are known
	blips   map[int]*blip    // by node: those that began
	trees   map[string]int   // nodes by the worktree that is watched
	due     map[int]bool     // nodes whose branch may have moved
	busy    bool             // a sweep is under way
	swept   chan sweep
}

// blip is a node as the radar last saw it.
type blip struct {
	node   int
	branch string
	start  string      // the commit that its work began at
	tip    merge.Known // of its branch
	tree   string      // its worktree, while it works there; empty: what is not committed is not looked for
	since  time.Time   // it works there
}

// sweep is what a look at some nodes found.
type sweep struct {
	blips []blip          // as they are now: those that were looked at
	found []run.Collision // of pairs that one of them is in: what has changed, those that are over among it
}

// maxCollisions bounds how many pairs are kept: each costs git's time again at
// every commit on one of the two.
const maxCollisions = 200

// openRadar begins to look for collisions, where two nodes leave a branch.
func (r *Runner) openRadar() {
	branches := 0
	for i := range r.g.Nodes {
		if r.g.Nodes[i].HasBranch() {
			branches++
		}
	}
	if branches < 2 {
		return
	}
	r.radar = &radar{blips: make(map[int]*blip), trees: make(map[string]int), due: make(map[int]bool), swept: make(chan sweep)}
	var err error
	if r.radar.lookout, err = lookout.New(); err != nil {
		r.Log.Warn("file events are not to be had; collisions are looked for when nodes end", "err", err)
	}
	for i := range r.hist.Nodes {
		r.detect(i)
	}
}

// close ends what listens. It may be nil.
func (d *radar) close() error {
	if d == nil || d.lookout == nil {
		return nil
	}
	return d.lookout.Close()
}

// moves tells of worktrees in which a commit may have appeared.
func (d *radar) moves() <-chan []string {
	if d == nil || d.lookout == nil {
		return nil
	}
	return d.lookout.C
}

// sweeps tells of sweeps that are over.
func (d *radar) sweeps() <-chan sweep {
	if d == nil {
		return nil
	}
	return d.swept
}

// atWork reports whether there is something to find out yet.
func (d *radar) atWork() bool { return d != nil && (d.busy || len(d.due) > 0) }

// detect takes node i up as its records say: it began, ended, or was decided.
func (r *Runner) detect(i int) {
	d := r.radar
	if d == nil || !r.g.Nodes[i].HasBranch() {
		return
	}
	n := &r.hist.Nodes[i]
	a := n.Attempt()
	if a == nil {
		return
	}
	b := d.blips[i]
	if b == nil {
		b = &blip{node: i, branch: r.g.Nodes[i].Branch}
		d.blips[i] = b
	}
	if a.Place.Lent != "" {
		b.start = a.Place.Lent
	} else if a.Place.Commit != "" {
		b.start = a.Place.Commit
	}
	tree := ""
	if n.Fact.Live() {
		tree, b.since = a.Place.TreeHere(), a.Started
	}
	if b.tree != tree && d.lookout != nil {
		if b.tree != "" {
			d.lookout.Forget(b.tree)
			delete(d.trees, b.tree)
		}
		if tree != "" {
			if err := d.lookout.Watch(tree); err != nil && !errors.Is(err, fs.ErrNotExist) {
				r.Log.Warn("commits of a node are seen when it ends", "node", r.g.Nodes[i].Name, "err", err)
			}
			d.trees[tree] = i
		}
	}
	b.tree = tree
	d.due[i] = true
}

// again has node i compared with all others, whether it has moved or not: while
// it did not count nobody was compared with it.
func (d *radar) again(i int) {
	if d != nil && d.blips[i] != nil {
		d.blips[i].tip = merge.Known{}
	}
}

// movedIn takes in that commits may have appeared in worktrees.
func (r *Runner) movedIn(ctx context.Context, trees []string) {
	for _, tree := range trees {
		if i, ok := r.radar.trees[tree]; ok {
			r.radar.due[i] = true
		}
	}
	r.sweep(ctx)
}

// sweep begins to look at what is due, unless a sweep is under way.
func (r *Runner) sweep(ctx context.Context) {
	d := r.radar
	if d == nil || d.busy || len(d.due) == 0 || r.leaving != "" {
		return
	}
	s := scan{repo: r.repo, graph: r.g, clear: r.undrifted, known: make(map[[2]int]run.Collision), over: make(map[[2]int]run.Collision)}
	for i, b := range d.blips {
		if r.hist.Counts(i) {
			s.all = append(s.all, *b)
			if d.due[i] {
				s.due = append(s.due, i)
			}
		}
	}
	slices.SortFunc(s.all, func(a, b blip) int { return a.node - b.node })
	clear(d.due)
	if len(s.due) == 0 {
		return
	}
	for _, c := range r.hist.Collisions {
		pair := [2]int{r.g.Index(c.A), r.g.Index(c.B)}
		if c.Over() {
			s.over[pair] = c
		} else {
			s.known[pair] = c
		}
	}
	d.busy = true
	r.tasks.Go(func() {
		res := s.run(ctx, func(node int, err error) {
			if ctx.Err() == nil {
				r.Log.Warn("collisions of a node are not known", "node", r.g.Nodes[node].Name, "err", err)
			}
		})
		select {
		case d.swept <- res:
		case <-ctx.Done():
		}
	})
}

// sweptOver records what a sweep found.
func (r *Runner) sweptOver(ctx context.Context, s sweep) error {
	r.radar.busy = false
	for _, b := range s.blips {
		if !r.radar.due[b.node] { // else it is looked at again, as it is then
			r.radar.blips[b.node].tip = b.tip
		}
	}
	var recs []run.Record
	for i := range s.found {
		recs = append(recs, run.Record{Type: run.Collided, Collision: &s.found[i]})
	}
	if len(recs) > 0 {
		return r.learn(ctx, recs...)
	}
	r.sweep(ctx)
	return nil
}

// scan is one sweep: what it is made from is not changed by anybody else.
type scan struct {
	repo  *worktree.Repo
	graph *dag.Graph
	clear func(context.Context) error // says why git may not merge anything now
	all   []blip                      // in the order of the configuration
	due   []int                       // nodes
	known map[[2]int]run.Collision    // that stand
	over  map[[2]int]run.Collision    // that do not any more
}

// run looks at the nodes that are due, and compares them with all.
func (s *scan) run(ctx context.Context, failed func(node int, err error)) (res sweep) {
	moved := make(map[int]bool)
	for k := range s.all {
		b := &s.all[k]
		if !slices.Contains(s.due, b.node) {
			continue
		}
		if b.tree != "" {
			if err := separate.Publish(ctx, s.repo.GitDir, b.tree); err != nil {
				failed(b.node, err)
			}
		}
		tip, err := s.repo.TipNow(ctx, b.branch)
		if errors.Is(err, git.ErrBadRef) {
			tip, err = "", nil // it is gone: it changes nothing
		}
		if err == nil && tip == b.tip.Commit && b.start == b.tip.From {
			continue
		}
		now := merge.Known{Commit: tip, From: b.start}
		if err == nil && tip != b.start && tip != "" && b.start != "" {
			now.Files, err = s.repo.Touched(ctx, b.start, tip)
		}
		if err != nil {
			failed(b.node, err)
			continue
		}
		b.tip, moved[b.node] = now, true
		res.blips = append(res.blips, *b)
	}
	room := maxCollisions - len(s.known)
	for k := range s.all {
		if !moved[s.all[k].node] {
			continue
		}
		for l := range s.all {
			if l == k || l < k && moved[s.all[l].node] || ctx.Err() != nil {
				continue
			}
			a, b := &s.all[min(k, l)], &s.all[max(k, l)]
			was, stood := s.known[[2]int{a.node, b.node}]
			over, ended := s.over[[2]int{a.node, b.node}]
			if !stood && room == 0 || ended && over.Merged(a.tip.Commit, b.tip.Commit) && a.tree == "" && b.tree == "" {
				continue
			}
			is, err := s.pair(ctx, a, b, moved)
			if err != nil {
				failed(a.node, err)
				continue
			}
			if stood && !was.Same(&is) || !stood && !is.Over() {
				res.found = append(res.found, is)
			}
			if !stood && !is.Over() {
				room--
			}
		}
	}
	return res
}

// pair compares two nodes.
func (s *scan) pair(ctx context.Context, a, b *blip, moved map[int]bool) (run.Collision, error) {
	c := run.Collision{A: s.graph.Nodes[a.node].Name, B: s.graph.Nodes[b.node].Name}
	var clash merge.Clash
	if len(merge.Both(a.tip.Files, b.tip.Files)) > 0 {
		if err := s.clear(ctx); err != nil {
			c.Unknown = err.Error()
		}
		var err error
		if clash, err = s.repo.Clash(ctx, a.tip, b.tip, c.Unknown == ""); err != nil {
			return c, err
		}
	}
	edited, err := s.edited(ctx, a, b, clash.Files, moved)
	if err != nil {
		return c, err
	}
	files := append(slices.Clone(clash.Files), edited...)
	if len(files) == 0 {
		return run.Collision{A: c.A, B: c.B}, nil
	}
	slices.Sort(files)
	c.TipA, c.TipB = a.tip.Commit, b.tip.Commit
	c.Files, c.More = bounded(files)
	c.Uncommitted, _ = bounded(edited)
	c.Conflicts, _ = bounded(clash.Conflicts)
	if c.Unknown == "" && len(c.Conflicts) == 0 {
		c.Unknown = clash.Drops()
	}
	return c, nil
}

// edited lists the files that one of two nodes has committed and the other is
// at work on, but for those that both committed.
func (s *scan) edited(ctx context.Context, a, b *blip, committed []string, moved map[int]bool) (all []string, err error) {
	both := func(f string) bool {
		_, both := slices.BinarySearch(committed, f)
		return both
	}
	for _, way := range [2]struct{ from, to *blip }{{a, b}, {b, a}} {
		if way.to.tree == "" || len(way.from.tip.Files) == 0 {
			continue
		}
		files, err := s.repo.Edited(ctx, way.to.tree, slices.DeleteFunc(slices.Clone(way.from.tip.Files), both), way.to.since)
		if err != nil {
			if moved[way.to.node] || ctx.Err() != nil {
				return nil, err
			}
			continue // its worktree may have gone meanwhile
		}
		all = append(all, files...)
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}

// bounded is as many of the files as are recorded, and how many there are beside.
func bounded(files []string) (some []string, more int) {
	if more = len(files) - run.MaxCollisionFiles; more > 0 {
		return files[:run.MaxCollisionFiles], more
	}
	return files, 0
}
