package run

import (
	"os"
	"strings"
	"testing"
	"time"

	"cmux/signals"
)

// A node is gone with its run: when that has ended and nobody holds it, when
// nobody resumes it for a week, and when it was pruned.
func TestNodeGone(t *testing.T) {
	root := t.TempDir()
	now := time.Now()
	want := func(at time.Time, name, part string) {
		t.Helper()
		got, err := NodeGone(root, name, at)
		if err != nil || (part == "") != (got == "") || !strings.Contains(got, part) {
			t.Errorf("%s: %q, %v; want %q", name, got, err, part)
		}
	}
	want(now, "api", `no run has a node "api"`)
	one, err := begin(t, root, "one", "api", "web")
	if err != nil {
		t.Fatal(err)
	}
	b, err := one.OpenBook()
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	want(now, "api", "")
	want(now.Add(6*24*time.Hour), "api", "")
	want(now.Add(8*24*time.Hour), "api", "no runner for a week")
	want(now, "other", `no run has a node "other"`)
	ended(t, one)
	lock, err := signals.TryLock(one.LockPath())
	if err != nil {
		t.Fatal(err)
	}
	want(now, "api", "")
	if _, kept, err := NodeKept(root, "api", now); err != nil || !kept {
		t.Errorf("a runner has it: %v, %v", kept, err)
	}
	if err := lock.Unlock(); err != nil {
		t.Fatal(err)
	}
	want(now, "api", "has ended")
	if _, kept, err := NodeKept(root, "api", now); err != nil || kept {
		t.Errorf("no runner has it: %v, %v", kept, err)
	}
	if _, err := begin(t, root, "two", "api"); err != nil { // a new run has the name
		t.Fatal(err)
	}
	want(now, "api", "")
	want(now, "web", "has ended")
	if err := os.RemoveAll(one.Dir); err != nil {
		t.Fatal(err)
	}
	want(now, "web", "no run has a node")
}
