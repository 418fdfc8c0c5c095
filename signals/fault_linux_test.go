package signals

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// tmpfs mounts a small file system of its own, where that is permitted.
func tmpfs(t *testing.T, options string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	if err := unix.Mount("cmux-test", dir, "tmpfs", 0, options); err != nil {
		t.Skipf("cannot mount a file system of its own: %v", err)
	}
	t.Cleanup(func() { must(t, unix.Unmount(dir, unix.MNT_DETACH)) })
	return dir
}

// fillUp uses the space of dir up.
func fillUp(t *testing.T, dir string) (free func()) {
	t.Helper()
	f, err := os.Create(filepath.Join(dir, "ballast"))
	must(t, err)
	buf := make([]byte, 4096)
	for err == nil {
		_, err = f.Write(buf)
	}
	if !errors.Is(err, unix.ENOSPC) {
		t.Fatal(err)
	}
	must(t, f.Close())
	return func() { must(t, os.Remove(f.Name())) }
}

func TestDiskFull(t *testing.T) {
	ctx := context.Background()
	dir := tmpfs(t, "size=256k")
	registry, path := filepath.Join(dir, "registry"), filepath.Join(dir, "log")
	must(t, WriteFile(registry, []byte("old"), 0o644))
	l := openLog(t, path)
	must(t, l.Append(ctx, true, []byte(`"before"`)))
	_, err := Replace(dir, "x", Exit(1))
	must(t, err)
	before := list(t, dir)
	free := fillUp(t, dir)

	if err := WriteFile(registry, make([]byte, 9000), 0o644); !errors.Is(err, ErrDiskFull) {
		t.Errorf("WriteFile: %v", err)
	}
	if got := read(t, registry); got != "old" {
		t.Errorf("registry holds %q", got)
	}
	if err := l.Append(ctx, true, []byte(`"`+strings.Repeat("x", 9000)+`"`)); !errors.Is(err, ErrDiskFull) {
		t.Errorf("Append: %v", err)
	}
	if got := read(t, path); got != "\"before\"\n" {
		t.Errorf("log holds %d bytes", len(got))
	}
	if _, err := Prepare(dir, "y", 0); !errors.Is(err, ErrDiskFull) {
		t.Errorf("Prepare: %v", err)
	}
	if _, err := Replace(dir, "x", Exit(0)); !errors.Is(err, ErrDiskFull) {
		t.Errorf("Replace: %v", err)
	}
	if got := read(t, filepath.Join(dir, "x.done")); got != "1\n" {
		t.Errorf("marker holds %q", got)
	}
	if _, err := TryLock(filepath.Join(dir, "lock")); !errors.Is(err, ErrDiskFull) {
		t.Errorf("TryLock: %v", err)
	}
	if err := Init(dir); !errors.Is(err, ErrDiskFull) {
		t.Errorf("Init: %v", err)
	}

	free()
	must(t, Init(dir))
	must(t, l.Append(ctx, true, []byte(`"after"`)))
	if got := read(t, path); got != "\"before\"\n\"after\"\n" {
		t.Errorf("log holds %q", got)
	}
	lock, err := TryLock(filepath.Join(dir, "lock"))
	must(t, err)
	must(t, lock.Unlock())
	if got := len(list(t, dir)); got != len(before)+2 { // .cmux and the lock
		t.Errorf("folder holds %v", list(t, dir))
	}
}

// Several lines at once on a disk with room for some: the lines that fitted whole stay.
func TestDiskFullWithinABatch(t *testing.T) {
	ctx := context.Background()
	dir := tmpfs(t, "size=64k")
	path := filepath.Join(dir, "log")
	l := openLog(t, path)
	var batch [][]byte
	for i := range 40 {
		batch = append(batch, fmt.Appendf(nil, `{"i":%d,"pad":%q}`, i, strings.Repeat("x", 3000)))
	}
	if err := l.Append(ctx, true, batch...); !errors.Is(err, ErrDiskFull) {
		t.Fatalf("Append: %v", err)
	}
	got, tail := lines(t, path, 0)
	st, err := os.Stat(path)
	must(t, err)
	if len(got) == 0 || len(got) >= 40 || tail.Torn != nil || tail.Next != st.Size() {
		t.Errorf("%d lines of %d bytes, %+v", len(got), st.Size(), tail)
	}
	for i := range got {
		if got[i] != string(batch[i]) {
			t.Errorf("line %d changed", i)
		}
	}
}

func TestReadOnly(t *testing.T) {
	dir := tmpfs(t, "size=256k")
	must(t, Init(dir))
	signals := filepath.Join(dir, Folder, Dir)
	_, err := Replace(signals, "x", Exit(1))
	must(t, err)
	must(t, unix.Mount("", dir, "", unix.MS_REMOUNT|unix.MS_RDONLY, ""))

	must(t, Init(dir)) // nothing to do
	_, logErr := OpenLog(filepath.Join(dir, "log"))
	_, lockErr := TryLock(filepath.Join(dir, "lock"))
	_, prepareErr := Prepare(signals, "y", 0)
	_, replaceErr := Replace(signals, "x", Exit(0))
	for what, err := range map[string]error{
		"WriteFile": WriteFile(filepath.Join(dir, "f"), nil, 0o644),
		"OpenLog":   logErr, "TryLock": lockErr, "Prepare": prepareErr, "Replace": replaceErr,
		"Remove": Remove(signals, "x"), "Init": Init(filepath.Join(dir, "sub")),
	} {
		if !errors.Is(err, ErrReadOnly) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if got := read(t, filepath.Join(signals, "x.done")); got != "1\n" {
		t.Errorf("marker holds %q", got)
	}
}

func TestReadOnlyByItsMode(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root writes anywhere")
	}
	dir := t.TempDir()
	must(t, os.Chmod(dir, 0o555))
	t.Cleanup(func() { os.Chmod(dir, 0o755) })
	if _, err := Prepare(dir, "y", 0); !errors.Is(err, ErrReadOnly) {
		t.Errorf("Prepare: %v", err)
	}
	if err := Init(dir); !errors.Is(err, ErrReadOnly) {
		t.Errorf("Init: %v", err)
	}
}

// renameNew is for file systems without hard links.
func TestRenameNew(t *testing.T) {
	dir := t.TempDir()
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	write(t, a, "a")
	write(t, b, "b")
	if err := renameNew(a, b); !errors.Is(err, os.ErrExist) {
		t.Errorf("onto a file: %v", err)
	}
	must(t, os.Remove(b))
	must(t, renameNew(a, b))
	if read(t, b) != "a" {
		t.Error("not renamed")
	}
}

func TestDescriptorsAreCloseOnExec(t *testing.T) {
	dir := t.TempDir()
	lock, err := TryLock(filepath.Join(dir, "lock"))
	must(t, err)
	defer lock.Unlock()
	l := openLog(t, filepath.Join(dir, "log"))
	p, err := Prepare(dir, "x", 0)
	must(t, err)
	defer p.Discard()
	for what, fd := range map[string]uintptr{"lock": lock.f.Fd(), "log": l.f.Fd(), "marker": uintptr(p.fd)} {
		flags, err := unix.FcntlInt(fd, unix.F_GETFD, 0)
		must(t, err)
		if flags&unix.FD_CLOEXEC == 0 {
			t.Errorf("%s survives exec", what)
		}
	}
}
