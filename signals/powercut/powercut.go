// Package powercut lets tests see what a power cut leaves on a disk.
package powercut

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Disk is a file system of its own for a test.
type Disk struct {
	Path string // where it is mounted

	t     testing.TB
	image string
}

// New makes a disk. It skips the test if mounting is not permitted.
func New(t testing.TB) *Disk {
	t.Helper()
	dir := t.TempDir()
	d := &Disk{Path: filepath.Join(dir, "mounted"), t: t, image: filepath.Join(dir, "disk")}
	if err := os.Mkdir(d.Path, 0o755); err != nil {
		t.Fatal(err)
	}
	d.run("truncate", "-s", "64M", d.image)
	d.run("mkfs.ext4", "-q", "-F", d.image)
	d.mount()
	return d
}

// Cut simulates a power cut: everything that had not reached the disk is gone, and the disk
// is mounted again in the same place.
func (d *Disk) Cut() {
	d.t.Helper()
	left := d.image + "-left"
	d.run("cp", d.image, left)
	d.run("umount", "-l", d.Path)
	d.image = left
	d.mount()
}

func (d *Disk) mount() {
	d.t.Helper()
	d.run("mount", "-o", "loop", d.image, d.Path)
	d.t.Cleanup(func() { exec.Command("umount", "-l", d.Path).Run() })
}

func (d *Disk) run(name string, args ...string) {
	d.t.Helper()
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		d.t.Skipf("cannot have a disk of its own: %s %q: %v\n%s", name, args, err, out)
	}
}
