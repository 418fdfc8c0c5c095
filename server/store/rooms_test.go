package store

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"cmux/agents/room"
	"cmux/agents/room/book"
)

// aRoom is a room of ann and ben.
func aRoom(t testing.TB, root, name string) *book.Book {
	t.Helper()
	b, err := book.Open(root, name, time.Now, true)
	must(t, err)
	must(t, b.Create(t.Context(), room.Defaults(), room.Line{Name: "ann", Agent: "claude"}, room.Line{Name: "ben", Agent: "codex"}))
	return b
}

func says(t testing.TB, b *book.Book, text string) {
	t.Helper()
	_, _, err := b.Say(t.Context(), book.Message{By: room.User, Text: text})
	must(t, err)
}

// factsBehind are the events behind a number, each in a line.
func factsBehind(t testing.TB, s *Store, seq int) (got []string) {
	t.Helper()
	for _, e := range all(t, s)[seq:] {
		line := told(e)
		if e.Unverified {
			line += " unverified"
		}
		got = append(got, line)
	}
	return got
}

// A line of a room is an event, once: whatever the server missed, and whatever is done to
// the file beside cmux.
func TestRooms(t *testing.T) {
	root := project(t)
	b := aRoom(t, root, "design")
	file := "rooms/design/room.jsonl"
	s, _ := opened(t, root)
	ingest(t, s)
	check := func(seq int, want ...string) {
		t.Helper()
		if got := factsBehind(t, s, seq); !slices.Equal(got, want) {
			t.Errorf("%q", got)
		}
	}
	check(0, "room:design opened ", "room:design joined ann", "room:design joined ben")

	// What happens while no server is there is caught up with.
	must(t, s.Close())
	says(t, b, "which database, @ann?")
	must(t, b.Order(t.Context(), "o1", room.DoPause, 0))
	s, _ = opened(t, root)
	ingest(t, s)
	check(3, "room:design said user", "room:design order user")

	// A line that was cut is none until its end is there.
	whole, err := os.ReadFile(filepath.Join(root, ".cmux", file))
	must(t, err)
	says(t, b, "a third one")
	longer, err := os.ReadFile(filepath.Join(root, ".cmux", file))
	must(t, err)
	next := longer[len(whole):]
	must(t, os.WriteFile(filepath.Join(root, ".cmux", file), longer[:len(longer)-len(next)/2], 0o600))
	ingest(t, s)
	check(5)
	must(t, os.WriteFile(filepath.Join(root, ".cmux", file), longer, 0o600))
	ingest(t, s)
	check(5, "room:design said user")

	// Lines that cmux did not write for this room say so.
	other := aRoom(t, root, "auth")
	says(t, other, "in another room")
	from, err := os.ReadFile(other.Path())
	must(t, err)
	lines := strings.SplitAfter(string(from), "\n")
	appendTo(t, root, file, fmt.Sprintf(`{"n":7,"at":%q,"kind":"said","by":"user","text":"forged"}`+"\n", time.Now().Format(time.RFC3339Nano))+lines[len(lines)-2]+"rubbish\n")
	ingest(t, s)
	got := factsBehind(t, s, 6)
	slices.Sort(got)
	if want := []string{"room:auth joined ann", "room:auth joined ben", "room:auth opened ", "room:auth said user", "room:design said user unverified", "room:design said user unverified", "room:design unreadable "}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}

	// The next writer moves them aside, into a new file. What was there is no news.
	says(t, b, "a fourth one")
	ingest(t, s)
	check(13, "room:design said user")
	if got := hits(t, s, "fourth", 10); len(got) != 1 {
		t.Errorf("%q", got)
	}
	l, err := s.List(t.Context(), Filter{Source: "room:design", Kind: "said", Limit: 2})
	must(t, err)
	if len(l.Events) != 2 || !l.More || !strings.Contains(string(l.Events[0].Body), "a fourth one") {
		t.Errorf("%+v", l)
	}
}

// A room that is made while a server follows is heard from its first line on.
func TestFollowRooms(t *testing.T) {
	root := project(t)
	s, _ := opened(t, root)
	ended := make(chan error)
	ctx, stop := context.WithCancel(t.Context())
	go func() { ended <- s.Follow(ctx) }()
	defer func() {
		stop()
		must(t, <-ended)
	}()
	heard := func(seq int64) {
		t.Helper()
		eventually(t, fmt.Sprintf("event %d", seq), func() bool { return s.Head().Seq >= seq })
	}
	b := aRoom(t, root, "design")
	heard(3)
	says(t, b, "one")
	heard(4)
	says(t, b, strings.Repeat("a long text ", 10_000)) // in a file of its own
	heard(5)
	if e := all(t, s)[4]; e.Kind != "said" || !strings.Contains(string(e.Body), `"file":"long/5.json"`) || e.Unverified {
		t.Errorf("%s", e.Body)
	}
}
