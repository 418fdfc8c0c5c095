package signals

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"
)

func watch(t *testing.T, dirs ...string) *Watcher {
	w := Watch(context.Background(), dirs...)
	t.Cleanup(w.Close)
	if n := notice(t, w); !n.Rescan {
		t.Fatalf("first notice %+v does not ask for a rescan", n)
	}
	return w
}

func notice(t *testing.T, w *Watcher) Notice {
	t.Helper()
	select {
	case n, ok := <-w.C:
		if !ok {
			t.Fatal("closed")
		}
		return n
	case <-time.After(20 * time.Second):
		t.Fatal("no notice")
	}
	panic("unreachable")
}

// hears receives until a notice holds, and fails on an unexpected error.
func hears(t *testing.T, w *Watcher, what string, holds func(Notice) bool) {
	t.Helper()
	for {
		n := notice(t, w)
		if n.Err != nil {
			t.Fatalf("waiting for %s: %v", what, n.Err)
		}
		if holds(n) {
			return
		}
	}
}

func TestWatchSeesWhatHappensToMarkers(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "x.done")
	w := watch(t, dir)
	ofX := func(n Notice) bool { return slices.Contains(n.Files, path) }

	p, err := Prepare(dir, "x", 1)
	must(t, err)
	must(t, p.Publish())
	hears(t, w, "link", ofX)
	must(t, os.Chtimes(path, time.Time{}, time.Unix(1, 0)))
	hears(t, w, "touch", ofX)
	write(t, path, "0\n")
	hears(t, w, "write", ofX)
	_, err = Replace(dir, "x", Exit(0))
	must(t, err)
	hears(t, w, "rename", ofX)
	must(t, os.Remove(path))
	hears(t, w, "removal", ofX)
}

func TestWatchGathersWhatNobodyReceives(t *testing.T) {
	dir := t.TempDir()
	w := watch(t, dir)
	want := map[string]bool{}
	for _, name := range []string{"a", "b", "c"} {
		path := filepath.Join(dir, name)
		want[path] = true
		for range 50 {
			write(t, path, name)
		}
	}
	notices := 0
	hears(t, w, "all three files", func(n Notice) bool {
		notices++
		seen := map[string]bool{}
		for _, file := range n.Files {
			if seen[file] {
				t.Errorf("%s twice in one notice", file)
			}
			seen[file] = true
			delete(want, file)
		}
		return len(want) == 0
	})
	if notices > 300 {
		t.Errorf("%d notices for 300 events", notices)
	}
}

func TestWatchFollowsItsFolder(t *testing.T) {
	root := t.TempDir()
	dir, file := filepath.Join(root, "signals"), filepath.Join(root, "signals", "x.done")
	ofDir := func(n Notice) bool { return n.Rescan && slices.Contains(n.Dirs, dir) }
	ofFile := func(n Notice) bool { return slices.Contains(n.Files, file) }

	w := watch(t, dir) // is not there yet
	must(t, os.Mkdir(dir, 0o755))
	hears(t, w, "appearance", ofDir)
	write(t, file, "")
	hears(t, w, "file", ofFile)

	for range 3 {
		must(t, os.RemoveAll(dir))
		must(t, os.Mkdir(dir, 0o755))
		hears(t, w, "replacement", ofDir)
		eventually(t, "the new folder is watched", func() bool {
			os.Remove(file)
			write(t, file, "")
			select {
			case n := <-w.C:
				return ofFile(n)
			default:
				return false
			}
		})
	}
	must(t, os.Rename(dir, filepath.Join(root, "away")))
	hears(t, w, "renaming", ofDir)
	must(t, os.RemoveAll(root))
	must(t, os.MkdirAll(dir, 0o755))
	hears(t, w, "appearance with its parent", ofDir)
	eventually(t, "the new folder is watched", func() bool {
		os.Remove(file)
		write(t, file, "")
		select {
		case n := <-w.C:
			return ofFile(n)
		default:
			return false
		}
	})
}

func TestWatchEnds(t *testing.T) {
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(context.Background())
	w := Watch(ctx, dir)
	cancel()
	for range w.C {
	}
	w.Close()
	w.Close()
	before := runtime.NumGoroutine()
	for range 20 {
		Watch(context.Background(), dir).Close()
	}
	eventually(t, "its goroutines are gone", func() bool { return runtime.NumGoroutine() <= before })
}

// run drives the loop with the test's own events.
func run(t *testing.T, fsw *fsnotify.Watcher, dirs ...string) *Watcher {
	ctx, cancel := context.WithCancel(context.Background())
	c := make(chan Notice)
	w := &Watcher{C: c, cancel: cancel, done: make(chan struct{})}
	l := loop{fsw: fsw, dirs: dirs, missing: map[string]bool{}}
	go func() {
		defer close(w.done)
		l.run(ctx, c)
	}()
	t.Cleanup(w.Close)
	return w
}

func TestWatchOverflowAsksForARescan(t *testing.T) {
	fsw, err := fsnotify.NewWatcher()
	must(t, err)
	w := run(t, fsw)
	fsw.Errors <- fsnotify.ErrEventOverflow
	if n := notice(t, w); !n.Rescan || !errors.Is(n.Err, fsnotify.ErrEventOverflow) {
		t.Errorf("notice %+v", n)
	}
}

func TestWatchWithoutEvents(t *testing.T) {
	l := loop{missing: map[string]bool{}}
	l.degrade(errors.New("too many open files")) // as Watch does when inotify fails
	if !l.next.Rescan || l.next.Err == nil {
		t.Errorf("notice %+v", l.next)
	}
	ctx, cancel := context.WithCancel(context.Background())
	c := make(chan Notice)
	done := make(chan struct{})
	go func() { defer close(done); l.run(ctx, c) }()
	if n := <-c; !n.Rescan || n.Err == nil {
		t.Errorf("notice %+v", n)
	}
	cancel()
	<-done
}

func TestWatchOfAFolderThatCannotBeWatched(t *testing.T) {
	fsw, err := fsnotify.NewWatcher()
	must(t, err)
	must(t, fsw.Close()) // every Add fails from now on, as at the limit on watches
	l := loop{fsw: fsw, missing: map[string]bool{}}
	l.add(t.TempDir())
	if !l.next.Rescan || l.next.Err == nil || len(l.missing) != 0 {
		t.Errorf("notice %+v, missing %v", l.next, l.missing)
	}
}

func BenchmarkWatch(b *testing.B) {
	dir := b.TempDir()
	for b.Loop() {
		w := Watch(context.Background(), dir)
		<-w.C
		w.Close()
	}
}

// A delayed watch asks for a rescan when it begins; if it ends before, it sends nothing.
func TestWatchAfter(t *testing.T) {
	dir := t.TempDir()
	w := WatchAfter(t.Context(), time.Millisecond, dir)
	defer w.Close()
	if n := notice(t, w); !n.Rescan {
		t.Fatalf("first notice %+v does not ask for a rescan", n)
	}
	path := filepath.Join(dir, "x.done")
	must(t, os.WriteFile(path, nil, 0o644))
	hears(t, w, "the marker", func(n Notice) bool { return slices.Contains(n.Files, path) })

	never := WatchAfter(t.Context(), time.Hour, dir)
	never.Close()
	if n, ok := <-never.C; ok {
		t.Errorf("told %+v", n)
	}
}
