package note

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"cmux/signals"
)

// On a full disk nothing is half learned, and a forgotten note stays forgotten while its text
// cannot be erased.
func TestDiskFull(t *testing.T) {
	root := t.TempDir()
	if err := unix.Mount("cmux-test", root, "tmpfs", 0, "size=256k"); err != nil {
		t.Skipf("cannot mount a file system of its own: %v", err)
	}
	t.Cleanup(func() { must(t, unix.Unmount(root, unix.MNT_DETACH)) })
	b, ctx := newBook(t, root), t.Context()
	_, _, err := b.Add(ctx, practice("before"))
	must(t, err)
	ballast, err := os.Create(filepath.Join(root, "ballast"))
	must(t, err)
	for err == nil {
		_, err = ballast.Write(make([]byte, 4096))
	}
	must(t, ballast.Close())
	var many []Fields
	for i := range 40 {
		many = append(many, practice(string(rune('a'+i%26))+string(rune('a'+i/26))+" is a long fact that takes so much space that no block of the file is left for it and all of its others"))
	}
	if _, _, err := b.Learn(ctx, Read{Room: "auth", Opened: noon, From: 1, To: 2, By: ByHeuristic}, false, many); !errors.Is(err, signals.ErrDiskFull) {
		t.Errorf("Learn: %v", err)
	}
	if l := list(t, newBook(t, root)); len(l.Shown()) != 1 || len(l.Reads()) != 0 || len(l.Bad) > 0 {
		t.Errorf("%+v", l)
	}
	if _, _, err := b.Forget(ctx, "n1", true); err == nil {
		t.Error("erased on a full disk")
	}
	must(t, os.Remove(ballast.Name()))
	if n, _, err := b.Forget(ctx, "n1", true); err != nil || n.Text != "" {
		t.Errorf("%+v, %v", n, err)
	}
	if l, _, err := b.Learn(ctx, Read{Room: "auth", Opened: noon, From: 1, To: 2, By: ByHeuristic}, false, many); err != nil || len(l) != 40 {
		t.Errorf("%d, %v", len(l), err)
	}
}
