// Package lookout tells in which worktrees a commit may have appeared, by file events.
package lookout

import (
	"path/filepath"
	"sync"

	"github.com/fsnotify/fsnotify"

	"cmux/worktree/gitfile"
)

// A Lookout tells in which worktrees a commit may have appeared. Git locks the
// HEAD of a worktree while it moves the branch that is checked out there, so the
// end of that lock is a commit, a reset, a merge or a switch; adding files and
// asking for the status is none. It costs nothing while nothing happens.
type Lookout struct {
	// C gets the worktrees, each once, in which something has moved since it was
	// last received. It is closed at the end.
	C <-chan []string

	watcher *fsnotify.Watcher
	done    chan struct{}

	mu    sync.Mutex
	trees map[string]string // by private git directory
}

// New returns a Lookout that looks at no worktree yet. Its error says that there are
// no file events to be had.
func New() (*Lookout, error) {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, err
	}
	c := make(chan []string)
	l := &Lookout{C: c, watcher: w, done: make(chan struct{}), trees: make(map[string]string)}
	go func() {
		defer close(l.done)
		defer close(c)
		l.run(c)
	}()
	return l, nil
}

// Watch begins to look at a worktree. What happened before is not told.
func (l *Lookout) Watch(tree string) error {
	private, err := gitfile.Private(tree)
	if err != nil {
		return err
	}
	if filepath.Base(private) == gitfile.Separate {
		if err := l.add(private, tree); err != nil {
			return err
		}
		private = filepath.Dir(private)
	}
	return l.add(private, tree)
}

func (l *Lookout) add(dir, tree string) error {
	l.mu.Lock()
	l.trees[dir] = tree
	l.mu.Unlock()
	return l.watcher.Add(dir)
}

// Forget ends looking at a worktree, which may be gone.
func (l *Lookout) Forget(tree string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for private, t := range l.trees {
		if t == tree {
			delete(l.trees, private)
			l.watcher.Remove(private) // it ends by itself where the folder is gone
		}
	}
}

// Close ends it and returns when nothing of it is left running.
func (l *Lookout) Close() error {
	err := l.watcher.Close()
	<-l.done
	return err
}

func (l *Lookout) run(c chan<- []string) {
	var (
		next []string
		out  chan<- []string
		seen = make(map[string]bool) // in next
	)
	moved := func(tree string) {
		if tree != "" && !seen[tree] {
			seen[tree] = true
			next, out = append(next, tree), c
		}
	}
	events, errs := l.watcher.Events, l.watcher.Errors
	for events != nil {
		select {
		case e, ok := <-events:
			if !ok {
				events = nil
				continue
			}
			if tree := l.tree(filepath.Dir(e.Name)); tree != "" && filepath.Base(e.Name) == gitfile.Separate && e.Has(fsnotify.Create) {
				_ = l.add(e.Name, tree) // gone already: then its commits are in the other
				moved(tree)
			}
			if base := filepath.Base(e.Name); base == "HEAD.lock" && e.Has(fsnotify.Remove) || base == "HEAD" {
				moved(l.tree(filepath.Dir(e.Name)))
			}
		case _, ok := <-errs:
			if !ok {
				errs = nil
				continue
			}
			for _, tree := range l.all() { // events were lost
				moved(tree)
			}
		case out <- next:
			next, out = nil, nil
			clear(seen)
		}
	}
}

func (l *Lookout) tree(private string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.trees[private]
}

func (l *Lookout) all() (trees []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, tree := range l.trees {
		trees = append(trees, tree)
	}
	return trees
}
