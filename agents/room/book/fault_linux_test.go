package book

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"cmux/agents/room"
	"cmux/signals"
)

// On a full disk nothing is attached, and nothing is left of it.
func TestAttachOnFullDisk(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	root := t.TempDir()
	if err := unix.Mount("cmux-test", root, "tmpfs", 0, "size=256k"); err != nil {
		t.Skipf("cannot mount a file system of its own: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(root, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	b, err := Open(root, "auth", time.Now, true)
	if err == nil {
		err = b.Create(t.Context(), room.Defaults(), room.Line{Name: "claude", Agent: "auth.claude"})
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Attach(t.Context(), "large", make([]byte, 1<<20)); !errors.Is(err, signals.ErrDiskFull) {
		t.Errorf("%v", err)
	}
	if entries, err := os.ReadDir(filepath.Join(b.dir, Files)); err != nil || len(entries) != 0 {
		t.Errorf("%d files are left, %v", len(entries), err)
	}
	if b.attached(t, "small", "x"); len(b.must(t)) != 2 {
		t.Errorf("%d lines", len(b.must(t)))
	}
}
