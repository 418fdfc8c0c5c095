// Package treewatch looks at the checkouts that members of rooms work at, before and after each
// turn, and reports what changed: members read there, and write nothing.
//
// It looks beside the keeper's own work: a slow disk must not hold the rooms up.
package treewatch

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/charmbracelet/log"

	"cmux/agents/runs/run"
	"cmux/worktree"
	"cmux/worktree/common"
	"cmux/worktree/footprint"
	"cmux/worktree/git"
	"cmux/worktree/separate"
)

const (
	// MostBefore is how long a turn is held back until the checkout is known as it is before.
	MostBefore = time.Second
	// settling is between two looks at a checkout that has changed: git takes several steps.
	settling = 300 * time.Millisecond
	// recorded is how long cmux may take from the record of what it is about to do to that.
	recorded = time.Minute
	// mostLooks bounds the looks at a checkout that changes all the while.
	mostLooks = 5
)

// Config is a Watch's surroundings.
type Config struct {
	Root string // of the project
	Go   func(func())
	Now  func() time.Time
	Log  *log.Logger
}

// Watch looks at the checkouts that members of rooms work at. It is used by one goroutine.
type Watch struct {
	Config
	Found chan Change // changes that cmux is not known to have made

	at map[string]*checkout // by root
}

// New returns a Watch of nothing yet.
func New(c Config) *Watch {
	return &Watch{Config: c, Found: make(chan Change), at: map[string]*checkout{}}
}

// Turn is a turn of a member at a checkout.
type Turn struct {
	ID            string // that it is told by
	Room, Turn    string
	Member, Agent string // in the room, and as an agent
	Began         time.Time
}

// checkout is one. Its looks are taken one after the other.
type checkout struct {
	root  string
	under map[string]Turn // as the keeper knows them, by id

	mu   sync.Mutex
	jobs []func()
	busy bool

	// These belong to the look under way.
	turns []Turn
	last  *footprint.Print // nil: not known
	share *common.State    // nil: not known
	begun time.Time        // the look that took it
	taken time.Time
}

// Change is a change of a checkout that cmux is not known to have made.
type Change struct {
	Root         string
	Turns        []Turn // that were under way
	Since, Until time.Time

	before, after *footprint.Print
	what          footprint.Change
	committed     []string // what differs between the commits
	shared        []common.Change
	unread        error // git cannot read the checkout any more
}

// Checkout is the root of the checkout that a folder is in; empty: it is in none.
func Checkout(dir string) string {
	for {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return dir
		}
		up := filepath.Dir(dir)
		if up == dir {
			return ""
		}
		dir = up
	}
}

// Begins looks at a checkout before a turn begins there. The channel is closed when that is
// done.
func (w *Watch) Begins(ctx context.Context, dir string, t Turn) <-chan struct{} {
	ready := make(chan struct{})
	root := Checkout(dir)
	tree := w.at[root]
	if root != "" && tree == nil {
		tree = &checkout{root: root, under: map[string]Turn{}}
		w.at[root] = tree
	}
	if root == "" || tree.under[t.ID].ID != "" {
		close(ready)
		return ready
	}
	tree.under[t.ID] = t
	asked := w.Now()
	w.then(tree, func() {
		defer close(ready)
		if len(tree.turns) == 0 && (tree.last == nil || tree.begun.Before(asked)) { // else it was looked at for the turn before
			w.look(ctx, tree)
		}
		tree.turns = append(tree.turns, t)
	})
	return ready
}

// Ends looks at the checkouts of the turns that are not open any more.
func (w *Watch) Ends(ctx context.Context, open map[string]bool) {
	for _, tree := range w.at {
		for id, t := range tree.under {
			if !open[id] {
				delete(tree.under, id)
				w.then(tree, func() { w.ended(ctx, tree, t) })
			}
		}
	}
}

// then has something done when what was begun at the checkout before is done.
func (w *Watch) then(tree *checkout, do func()) {
	tree.mu.Lock()
	defer tree.mu.Unlock()
	tree.jobs = append(tree.jobs, do)
	if tree.busy {
		return
	}
	tree.busy = true
	w.Go(func() {
		for {
			tree.mu.Lock()
			if len(tree.jobs) == 0 {
				tree.busy = false
				tree.mu.Unlock()
				return
			}
			next := tree.jobs[0]
			tree.jobs = tree.jobs[1:]
			tree.mu.Unlock()
			next()
		}
	})
}

// look takes the print of a checkout. One that cannot be read is not known any more.
func (w *Watch) look(ctx context.Context, tree *checkout) error {
	tree.begun = w.Now()
	p, err := footprint.Take(separate.AtRest(ctx, w.Root, tree.root), tree.root, tree.last)
	if err != nil && ctx.Err() == nil {
		w.Log.Warn("a checkout at which members of rooms work cannot be looked at", "root", tree.root, "err", err)
	}
	tree.last, tree.share, tree.taken = p, w.readShared(ctx, tree), w.Now()
	if err != nil {
		tree.last = nil
	}
	return err
}

// ended compares a checkout with what it was before the turns that were under way.
func (w *Watch) ended(ctx context.Context, tree *checkout, t Turn) {
	before, share, since, turns := tree.last, tree.share, tree.taken, slices.Clone(tree.turns)
	tree.turns = slices.DeleteFunc(tree.turns, func(o Turn) bool { return o.ID == t.ID })
	err := w.look(ctx, tree)
	for looks := 1; broken(err) && before != nil && looks < mostLooks; looks++ { // git may be in the middle of something
		if !settle(ctx) {
			return
		}
		err = w.look(ctx, tree)
	}
	if broken(err) && before != nil {
		w.Log.Debug("a checkout was looked at after a turn", "root", tree.root, "room", t.Room, "turn", t.Turn, "unread", true)
		w.found(ctx, Change{Root: tree.root, Turns: turns, Since: since, Until: tree.taken, unread: err})
		return
	}
	if err != nil || before == nil {
		return
	}
	change := before.Compare(tree.last)
	for looks := 1; !change.None() && looks < mostLooks; looks++ { // until it rests: it may be in the middle of something
		was := tree.last
		if !settle(ctx) || w.look(ctx, tree) != nil {
			return
		}
		change = before.Compare(tree.last)
		if still := was.Compare(tree.last); still.None() {
			break
		}
	}
	f := Change{Root: tree.root, before: before, after: tree.last, Turns: turns, Since: since, Until: tree.taken}
	err = f.explain(ctx)
	var serr error
	if f.shared, serr = sharedChanges(ctx, tree.root, share, tree.share, since); errors.Join(err, serr) != nil && ctx.Err() == nil {
		w.Log.Warn("a change of a checkout could not be looked into", "root", tree.root, "err", errors.Join(err, serr))
	}
	w.Log.Debug("a checkout was looked at after a turn", "root", tree.root, "room", t.Room, "turn", t.Turn, "changed", !f.what.None())
	if f.what.None() && len(f.shared) == 0 {
		return
	}
	w.found(ctx, f)
}

func (w *Watch) found(ctx context.Context, f Change) {
	select {
	case w.Found <- f:
	case <-ctx.Done():
	}
}

// settle waits for a moment. It is false if ctx ends.
func settle(ctx context.Context) bool {
	select {
	case <-time.After(settling):
		return true
	case <-ctx.Done():
		return false
	}
}

// broken reports whether git says that a checkout cannot be read. A full disk, or one process
// too many, says nothing about the checkout.
func broken(err error) bool {
	var of *git.Error
	return errors.As(err, &of) && of.Code == fatal && !run.NoSpace(err) && !run.NoFiles(err)
}

// fatal is what git exits with when it cannot go on.
const fatal = 128

// explain leaves out that cmux itself has moved the branch, which is checked out, to where it
// is: by a merge, or a recovery. The list of what cmux did is no proof, as an agent without a
// fence can write it.
func (f *Change) explain(ctx context.Context) error {
	f.what = f.before.Compare(f.after)
	if !f.what.Head {
		return nil
	}
	repo, err := worktree.Open(ctx, f.Root)
	if err == nil {
		owns, oerr := repo.Owns(f.Since.Add(-recorded))
		err = oerr
		for _, own := range owns {
			if own.Ref == f.after.Branch && own.New == f.after.Commit {
				here := *f.before
				here.Branch, here.Commit = f.after.Branch, f.after.Commit
				f.before = &here
				f.what = f.before.Compare(f.after)
				return nil
			}
		}
	}
	if err == nil {
		f.committed, err = footprint.Committed(ctx, f.Root, f.before, f.after)
	}
	return err
}
