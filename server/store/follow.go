package store

import (
	"cmp"
	"context"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"

	"cmux/agents/records/journal"
	"cmux/agents/room/book"
	"cmux/signals"
)

const (
	// slowLook is how often all is looked at when nothing tells of a change, and
	// slowShare how much of the time that may take at the most, where there are
	// very many files.
	slowLook  = 2 * time.Second
	slowShare = 100
	slowMost  = 30 * time.Second // what is found by it alone is not to come much later
	// breath is what lies between two looks at the least.
	breath = 10 * time.Millisecond
	// maxWatches bounds how many files of agents are watched: those that were
	// written last. What lies beyond is seen by the slow look.
	maxWatches = 2048
)

// Follow ingests the content of the files and everything that is appended, until ctx ends.
// Errors are reported and retried.
func (s *Store) Follow(ctx context.Context) error {
	w := &watch{dir: filepath.Join(s.root, signals.Folder), on: map[string]bool{}, heard: map[string]bool{}, all: true}
	w.fsw, _ = fsnotify.NewWatcher() // without events the slow look is all there is
	defer w.close()
	told := ""
	for {
		begin := time.Now()
		looked := w.all
		what, err := s.follow(ctx, w)
		if ctx.Err() != nil {
			return nil
		}
		if text := words(err); text != told {
			if told = text; text != "" {
				s.note(text)
			}
		}
		if looked {
			w.next = time.Now().Add(pause(time.Since(begin)))
		}
		w.all = what != nil && w.watch(what) // something may have been written before it was watched
		if !w.all && !w.wait(ctx) {
			return nil
		}
	}
}

// pause is what lies between two slow looks, of which the last one took so long.
func pause(took time.Duration) time.Duration {
	return min(max(slowLook, slowShare*took), slowMost)
}

func words(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// follow ingests the changed sources, or all, and returns the survey if it looked at all.
func (s *Store) follow(ctx context.Context, w *watch) (*survey, error) {
	s.ingest.Lock()
	defer s.ingest.Unlock()
	paths := w.heard
	w.heard = map[string]bool{}
	before := s.what
	_, err := s.catchUp(ctx, func() (int, error) {
		if w.all {
			return s.pass(ctx)
		}
		return s.passOf(ctx, paths)
	})
	if err != nil || s.what == before {
		return nil, err
	}
	return s.what, nil
}

// watch hears of changes.
type watch struct {
	dir   string // .cmux
	fsw   *fsnotify.Watcher
	on    map[string]bool // paths that are watched
	all   bool            // all is to be looked at
	heard map[string]bool // else the sources at these paths, from .cmux
	next  time.Time       // of the slow look
}

func (w *watch) close() {
	if w.fsw != nil {
		w.fsw.Close()
	}
}

// watch watches the folders and files of a survey, and nothing else. It reports
// whether one of them was not watched before.
func (w *watch) watch(what *survey) (fresh bool) {
	if w.fsw == nil {
		return false
	}
	want := make(map[string]bool, len(what.dirs))
	for _, dir := range what.dirs {
		want[filepath.Join(w.dir, dir)] = true
	}
	files := make([]int, 0, len(what.sources))
	for i, src := range what.sources {
		// The watch on that folder covers files directly in .cmux.
		if strings.Contains(src.path, "/") && !strings.HasPrefix(src.path, archives) {
			files = append(files, i)
		}
	}
	slices.SortFunc(files, func(x, y int) int {
		missing := func(i int) int64 { return min(what.stamps[i].mtime, 1) }
		return cmp.Or(cmp.Compare(missing(x), missing(y)), cmp.Compare(what.stamps[y].mtime, what.stamps[x].mtime))
	})
	for _, i := range files[:min(len(files), maxWatches)] {
		src := what.sources[i]
		if what.stamps[i].inode == 0 { // it will appear in its folder
			want[filepath.Join(w.dir, path.Dir(src.path))] = true
		} else { // the log beside it grows much faster
			want[filepath.Join(w.dir, src.path)] = true
		}
	}
	for path := range w.on {
		if !want[path] {
			w.fsw.Remove(path)
			delete(w.on, path)
		}
	}
	for path := range want {
		if !w.on[path] && w.fsw.Add(path) == nil {
			w.on[path] = true
			fresh = true
		}
	}
	return fresh
}

// wait waits until there is something to look at, or ctx ends.
func (w *watch) wait(ctx context.Context) bool {
	rest := time.NewTimer(breath)
	defer rest.Stop()
	slow := time.NewTimer(time.Until(w.next))
	defer slow.Stop()
	var events chan fsnotify.Event
	var errs chan error
	if w.fsw != nil {
		events, errs = w.fsw.Events, w.fsw.Errors
	}
	for rested := false; !rested || !w.all && len(w.heard) == 0; {
		select {
		case e := <-events:
			w.take(e)
		case <-errs: // events were lost
			w.all = true
		case <-slow.C:
			w.all = true
		case <-rest.C:
			rested = true
		case <-ctx.Done():
			return false
		}
	}
	return true
}

// take takes in an event.
func (w *watch) take(e fsnotify.Event) {
	rel, err := filepath.Rel(w.dir, e.Name)
	rel = filepath.ToSlash(rel)
	if e.Has(fsnotify.Remove) || e.Has(fsnotify.Rename) {
		delete(w.on, e.Name)
	}
	switch {
	case err != nil || e.Op == fsnotify.Chmod:
	case strings.HasPrefix(rel, "conversations."): // what we write ourselves
	case e.Op != fsnotify.Write || strings.HasPrefix(rel, journal.Folder+"/"):
		w.all = w.all || w.matters(rel)
	case w.matters(rel):
		w.heard[rel] = true
	}
}

// matters reports whether a path may be that of a source, or of a folder that
// leads to one.
func (w *watch) matters(rel string) bool {
	base := path.Base(rel)
	switch strings.Count(rel, "/") {
	case 0:
		for _, t := range tops {
			if strings.HasPrefix(base, t.name) {
				return true
			}
		}
		return rel == runs || rel == agents || rel == archives || rel == book.Folder || rel == journal.Folder
	case 1:
		return true // a run, an agent, a day
	case 2:
		return base == eventsFile || !strings.HasPrefix(rel, agents+"/") // a node, a file of a day
	}
	return base == eventsFile
}
