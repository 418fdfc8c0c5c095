package runner

import (
	"context"
	"errors"
	"iter"
	"maps"
	"os"
	"slices"
	"time"

	"cmux/agents/runs/run"
	"cmux/dag"
	"cmux/signals"
	"cmux/worktree/hint"
)

// Claim makes r, which is about to go on, the owner of all its nodes' names
// again. Runs of other sessions that have ended lose them; a *hint.Error says that
// one has not.
func Claim(ctx context.Context, r *run.Run) error {
	own, err := r.Owner()
	if err != nil || own == nil || len(own.Lost) == 0 && !own.Free {
		return err
	}
	g, err := run.LockProject(ctx, r.Plan.Root)
	if err != nil {
		return err
	}
	return errors.Join(reclaim(g, r), g.Unlock())
}

// reclaim is Claim under the project's lock.
func reclaim(g *run.Register, r *run.Run) error {
	own := g.Of(r)
	if own == nil || len(own.Lost) == 0 && !own.Free {
		return nil
	}
	return acquire(g, r, own.Lost)
}

// acquire makes r the owner of names. What ended runs wrote under them goes, and
// what r recorded is there again: between the two the names are nobody's, so that
// nobody takes that for a person's doing.
func acquire(g *run.Register, r *run.Run, names []string) error {
	names = slices.Clone(names)
	if err := g.Free(r, names); err != nil {
		return tried(err)
	}
	h := run.NewHistory(r.Plan.Graph)
	if _, err := r.Replay(h, 0, nil); err != nil {
		return err
	}
	all, err := lookAt(r.Plan.Root, names, g.Owners())
	if err != nil {
		return err
	}
	dir := r.Signals()
	for _, f := range all {
		if !f.mine() && f.seen.Exists {
			continue // a person's, for r to take in
		}
		var want signals.Recorded
		if i := r.Plan.Graph.Index(f.name); i >= 0 {
			want = h.Nodes[i].Recorded()
		}
		switch {
		case !want.Known || want.Content.Kind == signals.Bad:
			err = signals.Remove(dir, f.name)
		case f.seen.Identity != want.Identity:
			_, err = signals.Replace(dir, f.name, want.Content)
		}
		if err != nil {
			return err
		}
	}
	return g.Give(r, names)
}

// tried is err with the way out that it has.
func tried(err error) error {
	var owned *run.OwnedError
	if errors.As(err, &owned) {
		return hint.New(err, owned.Try())
	}
	var away *run.AwayError
	if errors.As(err, &away) {
		return hint.New(err, away.Try())
	}
	var branch *run.BranchError
	if errors.As(err, &branch) {
		return hint.New(err, branch.Try())
	}
	return err
}

// lookAt looks at the markers of names in the light of what the newest runs of
// the sessions recorded.
func lookAt(root string, names []string, owners []run.Owner) ([]found, error) {
	known := make(map[string][]*run.Node)
	withdrawn := make(map[signals.Identity]bool)
	for _, o := range owners {
		r, err := run.Open(root, o.ID)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		g := r.Plan.Graph
		if !slices.ContainsFunc(names, func(n string) bool { return g.Index(n) >= 0 }) {
			continue
		}
		h := run.NewHistory(g)
		if _, err := r.Replay(h, 0, nil); err != nil {
			return nil, err
		}
		for i := range h.Nodes {
			n, name := &h.Nodes[i], g.Nodes[i].Name
			known[name] = append(known[name], n)
			if n.Withdrawn != nil {
				withdrawn[n.Withdrawn.Identity] = true
			}
		}
	}
	now := time.Now()
	seen, _, err := signals.NewScanner(run.SignalsDir(root), names).Scan(now)
	if errors.Is(err, signals.ErrNoDir) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	all := make([]found, 0, len(names))
	for i, o := range seen {
		f := found{names[i], o, signals.Ours}
		if o.Exists && !withdrawn[o.Identity] {
			f.what = meaning(known[f.name], o, now)
		}
		all = append(all, f)
	}
	return all, nil
}

// meaning is what a marker says to a run that begins: the records of no run may
// know it.
func meaning(known []*run.Node, o signals.Observed, now time.Time) signals.VerdictKind {
	// Nothing is being written: what is empty now is meant to be.
	what := signals.Judge(signals.Recorded{}, o, now.Add(signals.Settle)).Kind
	for _, n := range known {
		rec := n.Beside(o)
		switch kind := signals.Judge(rec, o, now.Add(signals.Settle)).Kind; {
		case kind == signals.Ours && o.Identity != rec.Identity, kind == signals.Touched:
			// In its own run a touch of a done node changed nothing. Here it says
			// that the node is done, as one of any other marker does.
			what = signals.Touched
		case kind == signals.Ours, kind == signals.Adopt, kind == signals.Torn:
			return kind
		}
	}
	return what
}

// disowned are the nodes whose names another run has. A run that has not ended
// has lost none.
func (r *Runner) disowned() map[int]bool {
	if r.hist.Final == "" {
		return nil
	}
	info, err := os.Lstat(run.OwnersPath(r.Run.Plan.Root))
	if err != nil || r.ownedSeen != nil && os.SameFile(info, r.ownedSeen) && info.ModTime().Equal(r.ownedSeen.ModTime()) {
		return r.lostNames
	}
	own, err := r.Run.Owner()
	if err != nil {
		r.Log.Error("whose the markers are cannot be read", "err", err)
		return r.lostNames
	}
	r.ownedSeen, r.lostNames = info, make(map[int]bool)
	if own != nil {
		for _, name := range own.Lost {
			if i := r.g.Index(name); i >= 0 {
				r.lostNames[i] = true
			}
		}
	}
	return r.lostNames
}

// keepNames has the run keep its names until done is called, so that an ended run
// may go on: it takes back what it has lost. The error says that another run
// has it.
func (r *Runner) keepNames(ctx context.Context) (done func(), err error) {
	if r.hist.Final == "" {
		return func() {}, nil // nobody takes them
	}
	g, err := run.LockProject(ctx, r.Run.Plan.Root)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(tried(g.BranchTaken(r.g.Session, r.g)), reclaim(g, r.Run)); err != nil {
		return nil, errors.Join(err, g.Unlock())
	}
	r.register = g
	return func() {
		r.register = nil
		r.unlock(g)
	}, nil
}

func (r *Runner) unlock(g *run.Register) {
	if err := g.Unlock(); err != nil {
		r.Log.Error("the project's lock could not be given up", "err", err)
	}
}

// takeNew makes the run the owner of the names that g adds to it. Until done is
// called, with them in the plan, no other run can take them.
func (r *Runner) takeNew(ctx context.Context, g *dag.Graph) (done func(), err error) {
	var names []string
	for _, n := range g.Names() {
		if r.g.Index(n) < 0 {
			names = append(names, n)
		}
	}
	if names == nil {
		return func() {}, nil
	}
	if err := tried(run.BranchTaken(r.Run.Plan.Root, r.g.Session, g)); err != nil {
		return nil, err
	}
	if r.register != nil {
		return func() {}, acquire(r.register, r.Run, names)
	}
	reg, err := run.LockProject(ctx, r.Run.Plan.Root)
	if err != nil {
		return nil, err
	}
	if err := acquire(reg, r.Run, names); err != nil {
		return nil, errors.Join(err, reg.Unlock())
	}
	return func() { r.unlock(reg) }, nil
}

// claimAgain is when a run looks again whether it can have the names that it
// needs to go on.
const claimAgain = 10 * time.Second

// ownOnly is what an ended run has seen of markers whose names are its own, and
// were before it looked. Where one of them is to have the run go on, it keeps its
// names until done is called.
func (r *Runner) ownOnly(ctx context.Context, now time.Time, before map[int]bool, seen iter.Seq2[int, signals.Observed]) (own iter.Seq2[int, signals.Observed], done func(), err error) {
	after := r.disowned()
	var decided []int
	mine := make(map[int]signals.Observed)
	for i, o := range seen {
		if before[i] || after[i] {
			continue
		}
		mine[i] = o
		switch r.hist.Nodes[i].Judge(o, now).Kind {
		case signals.Override, signals.FailedByHand, signals.Touched, signals.BadMarker, signals.Retry:
			decided = append(decided, i)
		}
	}
	if decided == nil {
		return maps.All(mine), func() {}, nil
	}
	if done, err = r.keepNames(ctx); err != nil {
		for _, i := range decided { // what keeps it from going on may end
			r.unseen[i] = now.Add(claimAgain)
		}
		return nil, nil, err
	}
	for i := range after { // the run has it again
		r.unseen[i] = now
	}
	return maps.All(mine), done, nil
}
