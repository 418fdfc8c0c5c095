package signals

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"github.com/fsnotify/fsnotify"
)

// Notice is what has changed since the previous Notice.
type Notice struct {
	Files []string // paths created, written, touched or removed, each once
	Dirs  []string // watched folders removed, replaced or watched again
	Err   error    // why events were or may be lost; nil: none

	// Rescan asks the caller to look at everything: events were lost, a folder was
	// replaced, or there are no events here. It does not depend on Files.
	Rescan bool
}

// Watcher reports changes in folders. It only makes the caller faster: a Notice is a hint
// to look. If the system reports no events (a file system without events, the limit on
// watches), the Watcher says so once, with Rescan and Err, and the caller must look from
// time to time.
type Watcher struct {
	// C gets a Notice when something has changed. Changes while nobody receives are
	// collected for the next one. C is closed at the end.
	C <-chan Notice

	cancel context.CancelFunc
	done   chan struct{}
}

// recheck is how often the Watcher looks for a missing folder. inotify cannot watch a
// folder that does not exist, and its parents may be missing too.
const recheck = 100 * time.Millisecond

// Watch watches the folders dirs (not their sub-folders) until ctx ends or Close is called.
// If dirs names a file, Watch reports writes to it. Watch begins to watch a missing folder
// as soon as it appears. The first Notice always asks for a rescan, because things may have
// changed before the watch began.
func Watch(ctx context.Context, dirs ...string) *Watcher {
	l := watching(dirs) // before Watch returns, so that it misses no later change
	return watchFrom(ctx, func(context.Context) *loop { return l })
}

// WatchAfter is Watch for a caller that may end soon: it begins after while and then asks
// for a rescan. On Linux it takes 10 to 25 ms to end a watch, and its process cannot end
// before.
func WatchAfter(ctx context.Context, while time.Duration, dirs ...string) *Watcher {
	return watchFrom(ctx, func(ctx context.Context) *loop {
		t := time.NewTimer(while)
		defer t.Stop()
		select {
		case <-t.C:
			return watching(dirs)
		case <-ctx.Done():
			return nil
		}
	})
}

func watchFrom(ctx context.Context, begin func(context.Context) *loop) *Watcher {
	ctx, cancel := context.WithCancel(ctx)
	c := make(chan Notice)
	w := &Watcher{C: c, cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(w.done)
		defer close(c)
		if l := begin(ctx); l != nil {
			l.run(ctx, c)
		}
	}()
	return w
}

// Close ends the watch and returns when its goroutines have ended.
func (w *Watcher) Close() {
	w.cancel()
	<-w.done
}

// watching starts a loop that watches the folders.
func watching(dirs []string) *loop {
	l := &loop{missing: map[string]bool{}, next: Notice{Rescan: true}}
	fsw, err := fsnotify.NewWatcher()
	if err != nil {
		l.degrade(err)
		return l
	}
	l.fsw = fsw
	for _, dir := range dirs {
		l.dirs = append(l.dirs, filepath.Clean(dir))
	}
	for _, dir := range l.dirs {
		l.add(dir)
	}
	return l
}

// loop is the state of the watching goroutine.
type loop struct {
	fsw     *fsnotify.Watcher // nil: the system reports no events
	dirs    []string
	missing map[string]bool
	files   map[string]bool // the Files of next, as a set
	next    Notice
}

func (l *loop) run(ctx context.Context, c chan<- Notice) {
	var events chan fsnotify.Event
	var errs chan error
	if l.fsw != nil {
		defer l.fsw.Close()
		events, errs = l.fsw.Events, l.fsw.Errors
	}
	tick := time.NewTicker(recheck)
	defer tick.Stop()
	tick.Stop()
	ticking := false
	for {
		if want := len(l.missing) > 0; want != ticking {
			if ticking = want; want {
				tick.Reset(recheck)
			} else {
				tick.Stop()
			}
		}
		var out chan<- Notice
		if l.next.Rescan || l.next.Err != nil || len(l.next.Files) > 0 || len(l.next.Dirs) > 0 {
			out = c
		}
		select {
		case <-ctx.Done():
			return
		case out <- l.next:
			l.next, l.files = Notice{}, nil
		case e, ok := <-events:
			if !ok {
				events = nil
				continue
			}
			l.event(e)
		case err, ok := <-errs:
			if !ok {
				errs = nil
				continue
			}
			l.degrade(err)
		case <-tick.C:
			for dir := range l.missing {
				l.add(dir)
			}
		}
	}
}

func (l *loop) event(e fsnotify.Event) {
	if slices.Contains(l.dirs, e.Name) && !e.Has(fsnotify.Write) { // a folder itself is never written
		if e.Has(fsnotify.Remove) || e.Has(fsnotify.Rename) {
			l.missing[e.Name] = true
			l.changed(e.Name)
		}
		if l.missing[e.Name] {
			l.add(e.Name)
		}
		return
	}
	if l.files == nil {
		l.files = map[string]bool{}
	}
	if !l.files[e.Name] {
		l.files[e.Name] = true
		l.next.Files = append(l.next.Files, e.Name)
	}
}

// add watches dir, or records that it is missing.
func (l *loop) add(dir string) {
	err := l.fsw.Add(dir)
	switch {
	case err == nil && l.missing[dir]:
		delete(l.missing, dir)
		l.changed(dir)
	case err == nil:
	case errors.Is(err, fs.ErrNotExist):
		l.missing[dir] = true
	default:
		delete(l.missing, dir)
		l.degrade(fmt.Errorf("watch %s: %w", dir, err))
	}
}

// changed records that dir is gone or was replaced.
func (l *loop) changed(dir string) {
	l.next.Rescan = true
	if !slices.Contains(l.next.Dirs, dir) {
		l.next.Dirs = append(l.next.Dirs, dir)
	}
}

func (l *loop) degrade(err error) {
	l.next.Rescan = true
	l.next.Err = errors.Join(l.next.Err, err)
}
