package run

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"cmux/dag"
	"cmux/signals/powercut"
)

// A blocked node is blocked after a power cut too: its marker may have lost its
// content, and alone would be a person's override.
func TestBlockedAfterAPowerCut(t *testing.T) {
	disk := powercut.New(t)
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	r := newRunAt(t, disk.Path)
	book, err := r.OpenBook()
	if err != nil {
		t.Fatal(err)
	}
	for _, rec := range []Record{
		{Type: RunnerUp, Boot: "the one before"},
		{Type: Started, Node: "a", Attempt: 1},
		{Type: AttemptEnd, Node: "a", Attempt: 1, End: &End{Outcome: dag.Failed, Exit: 3, Retry: true}},
		{Type: Started, Node: "a", Attempt: 2},
		{Type: AttemptEnd, Node: "a", Attempt: 2, End: &End{Outcome: dag.Failed, Exit: 3}},
		{Type: Blocked, Node: "b", Cause: "a"},
	} {
		if err := book.Commit(t.Context(), rec); err != nil {
			t.Fatal(err)
		}
	}
	if err := book.Close(); err != nil {
		t.Fatal(err)
	}
	// The journal of the file system goes to the disk with any file that is synced:
	// the names that were made come with it, what is in their files does not.
	other, err := os.Create(filepath.Join(disk.Path, "other"))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(other.Sync(), other.Close()); err != nil {
		t.Fatal(err)
	}
	disk.Cut()
	r, err = Open(disk.Path, r.Plan.ID)
	if err != nil {
		t.Fatal(err)
	}
	v, err := r.View(t.Context(), time.Now().Add(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	if a, b := v.Nodes[0].Status.Label.String(), v.Nodes[1].Status.Label.String(); a != "failed (exit 3)" || b != "blocked (a failed)" {
		t.Errorf("a is %q and b %q; markers %q %q", a, b, r.marker(t, "a"), r.marker(t, "b"))
	}
}
