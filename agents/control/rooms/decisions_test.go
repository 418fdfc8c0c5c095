package rooms

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cmux/agents/room"
)

// A decision whose record could not be written is kept when it is given again.
func TestDecisionIsKeptAgain(t *testing.T) {
	p := newRooms(t)
	p.made(t, "r")
	journal := filepath.Join(p.Root, ".cmux", "journal")
	if err := os.WriteFile(journal, []byte("no folder"), 0o600); err != nil {
		t.Fatal(err)
	}
	o := Decide{Verdict: room.Changed, Text: "We take SQLite."}
	if _, err := p.Decide(t.Context(), "r", o); err == nil || !strings.Contains(err.Error(), "D1 is decided, and is not in the journal") {
		t.Fatalf("with a journal that is a file: %v", err)
	}
	if err := os.Remove(journal); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		v, err := p.Decide(t.Context(), "r", Decide{ID: "D1", Verdict: room.Accepted})
		if err != nil || v.Decided == nil || v.Decided.Text != o.Text {
			t.Fatalf("again: %+v, %v", v, err)
		}
		text, err := os.ReadFile(filepath.Join(p.Root, v.Decided.Journal))
		if n := strings.Count(string(text), "D1 of room r"); err != nil || n != 1 {
			t.Errorf("the record stands there %d times, %v", n, err)
		}
	}
}
