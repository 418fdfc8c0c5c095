package worktree

import (
	"cmux/worktree/hint"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A removal does not cross a mount, not even one of the same device, and says
// so before it saves or removes anything.
func TestRemoveStopsAtAMount(t *testing.T) {
	if os.Getenv("CMUX_TEST_MOUNTS") == "" {
		// A name space of its own: nobody else sees the mounts, and none is left.
		cmd := exec.Command(os.Args[0], "-test.run=^TestRemoveStopsAtAMount$", "-test.v")
		cmd.Env = append(os.Environ(), "CMUX_TEST_MOUNTS=1")
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
			UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}}
		out, err := cmd.CombinedOutput()
		if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.ENOSYS) || errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOSPC) {
			t.Skipf("this system lets nobody make name spaces: %v", err)
		}
		if err != nil || !strings.Contains(string(out), "--- PASS") {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}
	r := newRepo(t)
	tree := lend(t, r, LendSpec{Path: beside(r, "w"), Branch: "w", Owner: "o"})
	precious := filepath.Join(t.TempDir(), "precious")
	write(t, precious, "it", "precious")
	for name, file := range map[string]bool{"a folder": false, "it": true} {
		at := filepath.Join(tree.Path, name)
		from := precious
		if file {
			write(t, tree.Path, name, "x")
			from = filepath.Join(precious, "it")
		} else if err := os.Mkdir(at, 0o777); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Mount(from, at, "", syscall.MS_BIND, ""); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { syscall.Unmount(at, syscall.MNT_DETACH) }) // before the folders go
	}
	_, err := r.Remove(t.Context(), tree.Path, RemoveSpec{})
	var h *hint.Error
	if !errors.Is(err, ErrMounted) || !errors.As(err, &h) || !strings.Contains(err.Error(), "/a folder") {
		t.Fatal(err)
	}
	if all := must[[]Snapshot](t)(r.Snapshots(t.Context())); len(all) > 0 {
		t.Errorf("saved all the same: %+v", all)
	}
	if err := r.deregister(t.Context(), tree.Path); !errors.Is(err, ErrMounted) {
		t.Errorf("what was mounted meanwhile: %v", err)
	}
	if read(t, precious, "it") != "precious" || read(t, tree.Path, "a.txt") != "a\n" {
		t.Error("something was removed")
	}
	literally(t, r, h.Try)
	if _, err := r.Remove(t.Context(), tree.Path, RemoveSpec{}); err != nil {
		t.Error(err)
	}
	if read(t, precious, "it") != "precious" {
		t.Error("gone")
	}
}
