package store

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"

	"cmux/signals"
)

const (
	// slowLook is how often all is looked at when nothing tells of a change.
	slowLook = 2 * time.Second
	// breath is what lies between two looks at the least.
	breath = 10 * time.Millisecond
	// maxWatches bounds how many files and folders are watched. What lies beyond
	// is seen by the slow look.
	maxWatches = 4096
)

// Follow takes in what the files hold, and goes on with what is appended, until
// ctx ends. What fails is said and tried again.
func (s *Store) Follow(ctx context.Context) error {
	w := &watch{dir: filepath.Join(s.root, signals.Folder), on: map[string]bool{}}
	w.fsw, _ = fsnotify.NewWatcher() // without events the slow look is all there is
	defer w.close()
	tick := time.NewTicker(slowLook)
	defer tick.Stop()
	var told string
	for {
		what, err := s.follow(ctx)
		if ctx.Err() != nil {
			return nil
		}
		text := ""
		if err != nil {
			text = err.Error()
		}
		if text != told && text != "" {
			s.note(text)
		}
		told = text
		if what != nil && w.watch(what) {
			continue // something may have been written before it was watched
		}
		if !w.wait(ctx, tick.C) {
			return nil
		}
	}
}

func (s *Store) follow(ctx context.Context) (*survey, error) {
	s.ingest.Lock()
	defer s.ingest.Unlock()
	_, what, err := s.catchUp(ctx)
	return what, err
}

// watch hears of changes.
type watch struct {
	dir string // .cmux
	fsw *fsnotify.Watcher
	on  map[string]bool
}

func (w *watch) close() {
	if w.fsw != nil {
		w.fsw.Close()
	}
}

// watch watches the folders and files of a survey. It reports whether one of them
// was not watched before.
func (w *watch) watch(what *survey) (fresh bool) {
	if w.fsw == nil {
		return false
	}
	add := func(path string) {
		if w.on[path] || len(w.on) >= maxWatches {
			return
		}
		if w.fsw.Add(path) == nil {
			w.on[path] = true
			fresh = true
		}
	}
	for _, dir := range what.dirs {
		add(filepath.Join(w.dir, dir))
	}
	for _, src := range what.sources {
		// Files in .cmux itself are heard of by the folder.
		if strings.Contains(src.path, "/") && !strings.HasPrefix(src.path, archives) {
			add(filepath.Join(w.dir, src.path))
		}
	}
	return fresh
}

// wait waits until there is something to look at, or ctx ends.
func (w *watch) wait(ctx context.Context, tick <-chan time.Time) bool {
	rest := time.NewTimer(breath)
	defer rest.Stop()
	var events chan fsnotify.Event
	var errs chan error
	if w.fsw != nil {
		events, errs = w.fsw.Events, w.fsw.Errors
	}
	heard, rested := false, false
	for !heard || !rested {
		select {
		case e := <-events:
			heard = heard || w.counts(e)
		case err := <-errs:
			heard = heard || errors.Is(err, fsnotify.ErrEventOverflow)
		case <-tick:
			heard = true
		case <-rest.C:
			rested = true
		case <-ctx.Done():
			return false
		}
	}
	return true
}

// counts reports whether a change is of something that is taken in.
func (w *watch) counts(e fsnotify.Event) bool {
	if e.Has(fsnotify.Remove) || e.Has(fsnotify.Rename) {
		delete(w.on, e.Name)
	}
	return !strings.HasPrefix(filepath.Base(e.Name), Name) && e.Op != fsnotify.Chmod
}
