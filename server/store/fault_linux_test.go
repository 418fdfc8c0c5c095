package store

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"cmux/signals"
)

// mounted is a project on a file system of its own.
func mounted(t *testing.T, size string) (root string) {
	t.Helper()
	root = t.TempDir()
	if err := unix.Mount("cmux-test", root, "tmpfs", 0, "size="+size); err != nil {
		t.Skipf("cannot mount a file system of its own: %v", err)
	}
	t.Cleanup(func() { must(t, unix.Unmount(root, unix.MNT_DETACH)) })
	must(t, signals.Init(root))
	return root
}

// On a full disk what was taken in stays, queries go on, and all is caught up
// with once there is room.
func TestDiskFull(t *testing.T) {
	root := mounted(t, "6m")
	write(t, root, "agents/w1/events.jsonl", thought(1, "before"))
	s, notes := opened(t, root)
	ingest(t, s)
	old := s.Head()
	var text strings.Builder
	for i := range 1000 {
		text.WriteString(thought(i+2, "the disk becomes full while this is taken in"))
	}
	write(t, root, "agents/w1/events.jsonl", thought(1, "before")+text.String())
	ballast, err := os.Create(filepath.Join(root, "ballast"))
	must(t, err)
	for err == nil {
		_, err = ballast.Write(make([]byte, 4096))
	}
	must(t, ballast.Close())
	for range 3 {
		n, err := s.Ingest(t.Context())
		if !errors.Is(err, signals.ErrDiskFull) {
			t.Fatalf("%d, %v", n, err)
		}
	}
	if got := all(t, s); s.Head().Epoch != old.Epoch || len(got) < 1 {
		t.Errorf("%d events, %+v, was %+v", len(got), s.Head(), old)
	}
	must(t, os.Remove(ballast.Name()))
	ingest(t, s)
	if got := all(t, s); len(got) != 1001 || s.Head().Epoch != old.Epoch {
		t.Errorf("%d events, %+v, was %+v", len(got), s.Head(), old)
	}
	if len(*notes) > 0 {
		t.Errorf("%q", *notes)
	}
}

// Where nothing can be written the error says so.
func TestReadOnly(t *testing.T) {
	root := mounted(t, "6m")
	write(t, root, "agents/w1/events.jsonl", thought(1, "before"))
	s, _ := opened(t, root)
	ingest(t, s)
	must(t, s.Close())
	must(t, unix.Mount("", root, "", unix.MS_REMOUNT|unix.MS_RDONLY, ""))
	if _, err := Open(t.Context(), root, nil); !errors.Is(err, signals.ErrReadOnly) {
		t.Errorf("%v", err)
	}
	must(t, unix.Mount("", root, "", unix.MS_REMOUNT, ""))
	s, _ = opened(t, root)
	if n := ingest(t, s); n != 0 || len(all(t, s)) != 1 {
		t.Errorf("%d", n)
	}
}
