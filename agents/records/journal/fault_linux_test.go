package journal

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"cmux/signals"
)

// On a full disk an entry is refused whole, and earlier entries stay.
func TestDiskFull(t *testing.T) {
	j, _ := newJournal(t)
	if err := unix.Mount("cmux-test", j.Root, "tmpfs", 0, "size=256k"); err != nil {
		t.Skipf("cannot mount a file system of its own: %v", err)
	}
	t.Cleanup(func() { must(t, unix.Unmount(j.Root, unix.MNT_DETACH)) })
	_, err := j.Add(t.Context(), Entry{Title: "before"})
	must(t, err)
	_, err = j.Reflect(t.Context(), "ideas", "", "before")
	must(t, err)
	ballast, err := os.Create(filepath.Join(j.Root, "ballast"))
	must(t, err)
	for err == nil {
		_, err = ballast.Write(make([]byte, 4096))
	}
	must(t, ballast.Close())
	page := func() *Page {
		p, err := j.Show("2026-03-01")
		must(t, err)
		return p
	}
	was := page()
	if _, err := j.Add(t.Context(), Entry{Title: "x", Text: strings.Repeat("x", 20000)}); !errors.Is(err, signals.ErrDiskFull) {
		t.Errorf("Add: %v", err)
	}
	if _, err := j.Reflect(t.Context(), "ideas", "", "x"); !errors.Is(err, signals.ErrDiskFull) {
		t.Errorf("Reflect: %v", err)
	}
	if _, err := j.Attach("msg-a.md", []byte("x")); !errors.Is(err, signals.ErrDiskFull) {
		t.Errorf("Attach: %v", err)
	}
	if now := page(); now.Text != was.Text || now.Reflection != was.Reflection {
		t.Errorf("%+v", now)
	}
	must(t, os.Remove(ballast.Name()))
	_, err = j.Add(t.Context(), Entry{Title: "after"})
	must(t, err)
	if now := page(); len(now.Entries) != 2 || now.Entries[1].Title != "after" {
		t.Errorf("%+v", now.Entries)
	}
}
