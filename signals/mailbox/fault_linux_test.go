package mailbox

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"cmux/signals"
)

// On a full disk a message is refused whole, and earlier messages stay.
func TestDiskFull(t *testing.T) {
	root := t.TempDir()
	if err := unix.Mount("cmux-test", root, "tmpfs", 0, "size=256k"); err != nil {
		t.Skipf("cannot mount a file system of its own: %v", err)
	}
	t.Cleanup(func() { must(t, unix.Unmount(root, unix.MNT_DETACH)) })
	b := &Box{Dir: filepath.Join(root, ".cmux"), Key: testKey{}}
	must(t, os.Mkdir(b.Dir, 0o755))
	must(t, b.Append(t.Context(), true, message("supervisor", "w1", "before")))
	ballast, err := os.Create(filepath.Join(root, "ballast"))
	must(t, err)
	for err == nil {
		_, err = ballast.Write(make([]byte, 4096))
	}
	must(t, ballast.Close())
	var failed error
	sent := 1
	for failed == nil {
		if failed = b.Append(t.Context(), true, message("supervisor", "w1", strings.Repeat("x", MaxBody))); failed == nil {
			sent++
		}
	}
	if !errors.Is(failed, signals.ErrDiskFull) {
		t.Errorf("%v", failed)
	}
	if all, r := readAll(t, b, Place{}); len(all) != sent || r.Skips != 0 {
		t.Errorf("%d of %d messages, %+v", len(all), sent, r)
	}
	must(t, os.Remove(ballast.Name()))
	must(t, b.Append(t.Context(), true, message("supervisor", "w1", "after")))
	if all, r := readAll(t, b, Place{}); len(all) != sent+1 || r.Skips != 0 || all[sent].Body != "after" {
		t.Errorf("%d messages, %+v", len(all), r)
	}
}
