package attempt_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"cmux/agents/platform/fence"
	"cmux/agents/runs/attempt"
	"cmux/dag"
)

// heard is what a node shows, read while it writes.
type heard struct {
	mu sync.Mutex
	b  strings.Builder
}

func (h *heard) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.b.Write(p)
}

func (h *heard) String() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.b.String()
}

// An attempt that begins on a full disk waits, can be cancelled, stopped and
// interrupted meanwhile, and goes on by itself.
func TestBeginsOnAFullDisk(t *testing.T) {
	full := func(t *testing.T) (f *fixture, out *heard, free func()) {
		f = newFixture(t, dag.Node{Task: "touch ran", Retries: dag.Retries{Max: 3}})
		dir := filepath.Join(f.root, ".cmux")
		if err := unix.Mount("cmux-test", dir, "tmpfs", 0, "size=1m"); err != nil {
			t.Skipf("cannot mount a file system of its own: %v", err)
		}
		t.Cleanup(func() { unix.Unmount(dir, unix.MNT_DETACH) })
		if err := os.MkdirAll(f.r.NodeDir("a"), 0o755); err != nil {
			t.Fatal(err)
		}
		err := os.WriteFile(filepath.Join(dir, "ballast"), make([]byte, 2<<20), 0o644)
		if !errors.Is(err, unix.ENOSPC) {
			t.Fatal(err)
		}
		out = new(heard)
		f.job.Live = out
		f.job.Limits.Space = 10 * time.Millisecond
		return f, out, func() { os.Remove(filepath.Join(dir, "ballast")) }
	}
	told := func(out *heard) {
		t.Helper()
		eventually(t, "it tells", func() bool { return strings.Contains(out.String(), "the disk is full") })
	}
	f, out, free := full(t)
	wait := f.start(t.Context())
	told(out)
	if _, err := os.Stat(filepath.Join(f.root, "ran")); err == nil {
		t.Error("it began on a full disk")
	}
	free()
	if end, err := wait(); err != nil || end.Outcome != dag.Done {
		t.Errorf("%+v, %v", end, err)
	}
	if n := strings.Count(out.String(), "the disk is full"); n != 1 {
		t.Errorf("told %d times:\n%s", n, out)
	}
	for op, want := range map[attempt.Op]error{attempt.OpStop: attempt.ErrStopped, attempt.OpBreak: attempt.ErrInterrupted} {
		f, out, _ := full(t)
		wait := f.start(t.Context())
		told(out)
		f.say(attempt.Message{Op: op})
		if _, err := wait(); !errors.Is(err, want) {
			t.Errorf("%s: %v", op, err)
		}
	}
	f, out, _ = full(t)
	wait = f.start(t.Context())
	told(out)
	f.say(attempt.Message{Op: attempt.OpCancel})
	if end, err := wait(); err != nil || end.Outcome != dag.Cancelled {
		t.Errorf("cancel: %+v, %v", end, err)
	}
}

// Only the folder of cmux's secrets is on a full disk: the fence waits for it too.
func TestFenceOnAFullDisk(t *testing.T) {
	if _, err := fence.Hides(); err != nil {
		t.Skip(err)
	}
	f := newFixture(t, dag.Node{Task: "true", Fence: dag.Fence{Mode: dag.FenceAuto}})
	dir := filepath.Join(f.root, ".cmux")
	for _, d := range []string{dir, filepath.Join(dir, "runs")} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := unix.Mount("cmux-test", d, "tmpfs", 0, "size=4m"); err != nil {
			t.Skipf("cannot mount a file system of its own: %v", err)
		}
		t.Cleanup(func() { unix.Unmount(d, unix.MNT_DETACH) })
	}
	if err := os.MkdirAll(f.r.NodeDir("a"), 0o755); err != nil {
		t.Fatal(err)
	}
	ballast := filepath.Join(dir, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 5<<20), 0o644); !errors.Is(err, unix.ENOSPC) {
		t.Fatal(err)
	}
	out := new(heard)
	f.job.Live, f.job.Limits.Space = out, 10*time.Millisecond
	wait := f.start(t.Context())
	eventually(t, "it tells", func() bool { return strings.Contains(out.String(), "the disk is full") })
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	if end, err := wait(); err != nil || end.Outcome != dag.Done {
		t.Errorf("%+v, %v\n%s", end, err, out)
	}
	if n := strings.Count(out.String(), "the disk is full: waiting"); n != 1 {
		t.Errorf("told %d times:\n%s", n, out)
	}
}
