//go:build linux

package storm_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// The disk that .cmux is on is full now and then, also at a kill, and has room
// again later: nothing fails by it, and nothing is done twice.
func TestDisk(t *testing.T) {
	t.Parallel()
	for _, headless := range []bool{true, false} {
		for seed := range uint64(setting(t, "STORM_DISKS", 1)) {
			t.Run(fmt.Sprintf("headless=%v,seed=%d", headless, seed), func(t *testing.T) {
				w := newWorld(t, 1000+seed, headless)
				disk := w.mount()
				w.start()
				for range 2 {
					w.lull()
					w.fill(disk)
					w.lull()
					if w.r.IntN(2) == 0 {
						w.killOne()
						w.launch("resume")
					}
					w.lull()
					w.free(disk)
				}
				w.judge()
			})
		}
	}
}

// mount gives .cmux a small disk of its own.
func (w *world) mount() string {
	dir := filepath.Join(w.root, ".cmux")
	if err := os.Mkdir(dir, 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := syscall.Mount("storm", dir, "tmpfs", 0, "size=96m,mode=0755"); err != nil {
		w.t.Skipf("mounting a disk needs root: %v", err)
	}
	w.t.Cleanup(func() {
		w.endAll()
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			w.t.Errorf("unmounting: %v", err)
		}
	})
	return dir
}

// fill takes all of the disk's room.
func (w *world) fill(disk string) {
	f, err := os.OpenFile(filepath.Join(disk, "filler"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		w.t.Fatal(err)
	}
	defer f.Close()
	for size := 1 << 20; size > 0; size /= 8 {
		for err == nil {
			_, err = f.Write(make([]byte, size))
		}
		if !errors.Is(err, syscall.ENOSPC) {
			w.t.Fatal(err)
		}
		err = nil
	}
	w.tell("the disk is full")
}

func (w *world) free(disk string) {
	if err := os.Remove(filepath.Join(disk, "filler")); err != nil {
		w.t.Fatal(err)
	}
	w.tell("the disk has room at %s", time.Now().Format("15:04:05"))
}
