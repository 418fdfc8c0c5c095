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

// Notice says where something changed since the Notice before it.
type Notice struct {
	Files []string // paths that were made, written, touched or removed, each once
	Dirs  []string // watched folders that were removed, replaced or are watched again
	Err   error    // why events were or may be lost; nil when all is well

	// Rescan asks for a look at everything: events were lost, a folder was
	// replaced, or there are no events to be had. It does not rest on Files.
	Rescan bool
}

// Watcher notices changes in folders. It is an aid to speed: what it says is a
// hint to look, and where it can say nothing (a file system without events,
// the limit on watches reached) it says so once, with Rescan and Err, and its
// user goes on by looking now and then.
type Watcher struct {
	// C gets a Notice when there is something to say. What happens while
	// nobody receives is gathered into the next one. It is closed at the end.
	C <-chan Notice

	cancel context.CancelFunc
	done   chan struct{}
}

// recheck is how often a folder that went missing is looked for. Only then:
// inotify cannot watch what is not there, and its parents may be gone as well.
const recheck = 100 * time.Millisecond

// Watch watches the folders dirs (not their sub-folders) until ctx ends or
// Close is called. One that is a file is watched for what is written to it. A folder that is missing is watched as soon as it appears.
// The first Notice always asks for a rescan, as things may have changed before
// the watch stood.
func Watch(ctx context.Context, dirs ...string) *Watcher {
	l := watching(dirs) // what happens once it has returned is heard
	return watchFrom(ctx, func(context.Context) *loop { return l })
}

// WatchAfter is Watch for what may be over soon: it begins after a while, and
// asks for a look at everything then. On Linux the end of a watch takes 10 to 25
// ms, and the end of its process as long.
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

// Close ends the watch and returns when nothing of it is left running.
func (w *Watcher) Close() {
	w.cancel()
	<-w.done
}

// watching is a loop that watches the folders.
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
	fsw     *fsnotify.Watcher // nil when there are no events to be had
	dirs    []string
	missing map[string]bool
	files   map[string]bool // of next
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

// add watches dir, or remembers that it is missing.
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

// changed notes that dir is gone, or that another one has its name.
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
