package task

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"cmux/signals"
)

// On a full disk a change is refused whole, and what was there counts.
func TestDiskFull(t *testing.T) {
	root := t.TempDir()
	if err := unix.Mount("cmux-test", root, "tmpfs", 0, "size=256k"); err != nil {
		t.Skipf("cannot mount a file system of its own: %v", err)
	}
	t.Cleanup(func() { must(t, unix.Unmount(root, unix.MNT_DETACH)) })
	b := newBook(t, root)
	change(t, b, add("t1", "before"))
	ballast, err := os.Create(filepath.Join(root, "ballast"))
	must(t, err)
	for err == nil {
		_, err = ballast.Write(make([]byte, 4096))
	}
	must(t, ballast.Close())
	big := add("t2", "big")
	big.Body = ptr(strings.Repeat("x", 20000))
	_, _, err = b.Change(t.Context(), func(*List) ([]Change, error) { return []Change{big}, nil })
	if !errors.Is(err, signals.ErrDiskFull) {
		t.Errorf("%v", err)
	}
	if l, err := newBook(t, root).List(); err != nil || len(l.All()) != 1 || len(l.Bad) != 0 {
		t.Errorf("%+v, %v", l, err)
	}
	must(t, os.Remove(ballast.Name()))
	if l := change(t, b, big); len(l.All()) != 2 || len(l.Bad) != 0 {
		t.Errorf("%+v", l)
	}
}
