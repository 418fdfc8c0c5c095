package control

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestExamineDisk(t *testing.T) {
	s := newScratch(t, "session: scratch\nworktree_base: trees\nagents:\n  - {name: a, agent: command, task: 'true'}\n")
	if f := s.findings()["disk"]; !f.OK || !strings.Contains(f.Detail, "B free at ") {
		t.Errorf("%+v", f)
	}
	trees := filepath.Join(s.Root, "trees")
	if err := os.Mkdir(trees, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("cmux-test", trees, "tmpfs", 0, "size=128k"); err != nil {
		t.Skipf("cannot mount a file system of its own: %v", err)
	}
	t.Cleanup(func() { unix.Unmount(trees, unix.MNT_DETACH) })
	if f := s.findings()["disk"]; !f.OK || !strings.HasSuffix(f.Detail, "kB free at "+trees) {
		t.Errorf("%+v", f)
	}
	s.write(filepath.Join(trees, "ballast"), strings.Repeat("x", 100<<10))
	if f := s.findings()["disk"]; f.OK || f.Detail != "the disk is full: "+trees || !strings.HasPrefix(f.Try, "free some space") {
		t.Errorf("%+v", f)
	}
	if err := os.Remove(filepath.Join(trees, "ballast")); err != nil {
		t.Fatal(err)
	}
	if f := s.findings()["disk"]; !f.OK {
		t.Errorf("%+v", f)
	}
}
