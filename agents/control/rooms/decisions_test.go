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

// An agent that reads the room finds nobody's answer about a proposal before the decision.
func TestAnswersAreWithheld(t *testing.T) {
	settings := room.Defaults()
	lines := []room.Line{
		{Kind: room.KindOpened, Settings: &settings},
		{Kind: room.KindJoined, Name: "a", Agent: "scripted"},
		{Kind: room.KindJoined, Name: "b", Agent: "scripted"},
		{Kind: room.KindProposed, What: "decision", By: "a", ID: "p", Text: "We take SQLite."},
		{Kind: room.KindSaid, By: room.User, Ask: "p", Text: "D1?", Wakes: []string{"b"}},
		{Kind: room.KindSaid, By: "b", Turn: "t1", Ask: "p", Text: "AGREE", Aside: "hm"},
		{Kind: room.KindDecided, By: room.User, ID: "p", What: string(room.Accepted), Text: "We take SQLite."},
	}
	for i := range lines {
		lines[i].N = int64(i + 1)
	}
	for _, c := range []struct {
		lines       int
		agent       string
		text, aside string
	}{
		{6, "r.a", "(not for you)", ""},
		{6, "r.b", "AGREE", "hm"},
		{7, "r.a", "AGREE", ""},
	} {
		l := forAgent("r", lines[:c.lines], c.agent)[5]
		if l.Text != c.text || l.Aside != c.aside {
			t.Errorf("after %d lines %s reads %q and %q, and not %q and %q", c.lines, c.agent, l.Text, l.Aside, c.text, c.aside)
		}
	}
}
