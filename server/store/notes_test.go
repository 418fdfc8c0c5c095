package store

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"cmux/agents/records/note"
	"cmux/signals"
)

// Notes are found as they are now, each by its id: also when the database is rebuilt. A
// forgotten one is not found.
func TestNotesAreFound(t *testing.T) {
	root := project(t)
	b, err := note.OpenBook(root, time.Now, true)
	must(t, err)
	for _, text := range []string{"Sessions are kept in SQLite.", "Sessions end after an hour."} {
		_, _, err := b.Add(t.Context(), note.Fields{Text: text, Kind: note.Project, By: note.ByUser, About: note.About{Files: []string{"db/session.go"}}})
		must(t, err)
	}
	found := func(s *Store, query string) (names []string) {
		t.Helper()
		f, err := s.Search(t.Context(), query, 10, "")
		must(t, err)
		for _, h := range f.Hits {
			if h.Source != Memory || h.Path != "" || h.Line != 0 {
				t.Errorf("%+v", h)
			}
			names = append(names, h.Name)
		}
		return names
	}
	s, _ := opened(t, root)
	ingest(t, s)
	if got := found(s, "sessions"); len(got) != 2 {
		t.Errorf("%q", got)
	}
	if got := found(s, "sqlite session.go"); len(got) != 1 || got[0] != "n1" {
		t.Errorf("%q", got)
	}
	_, _, err = b.Forget(t.Context(), "n1", true)
	must(t, err)
	said := "Sessions end after a day."
	_, _, err = b.Edit(t.Context(), "n2", func(f note.Fields) note.Fields { f.Text = said; return f })
	must(t, err)
	ingest(t, s)
	for query, want := range map[string]int{"sqlite": 0, "hour": 0, "day": 1} {
		if got := found(s, query); len(got) != want {
			t.Errorf("%s: %q", query, got)
		}
	}
	must(t, s.Close())
	for _, name := range []string{Name, Name + "-wal", Name + "-shm"} {
		must(t, os.RemoveAll(filepath.Join(root, signals.Folder, name)))
	}
	s, _ = opened(t, root)
	ingest(t, s)
	if got := found(s, "sessions"); len(got) != 1 || got[0] != "n2" {
		t.Errorf("rebuilt: %q", got)
	}
}
