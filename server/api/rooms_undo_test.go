package api_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"cmux/agents/control/rooms"
	"cmux/agents/org/treewatch"
	"cmux/agents/records/incident"
	"cmux/signals"
	"cmux/worktree/footprint"
)

// A change that was made in a turn waits for the person, who takes it back.
func TestUndoOfRooms(t *testing.T) {
	w := withRooms(t)
	const one = "/api/rooms/design"
	w.must("POST", "/api/rooms", `{"name":"design","members":["scripted=ann"]}`, nil)
	w.refused("POST", one+"/undo", `{}`, 404, "has no open incident")
	w.refused("POST", one+"/undo", `{"change":"../x"}`, 422, "change")
	w.refused("POST", "/api/rooms/nobody/undo", `{}`, 404, "cmux rooms list")

	before, err := footprint.Take(t.Context(), w.root, nil)
	if err != nil {
		t.Fatal(err)
	}
	stolen := filepath.Join(w.root, "stolen.txt")
	if err := os.WriteFile(stolen, []byte("x\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	after, err := footprint.Take(t.Context(), w.root, before)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(treewatch.Undo{Root: w.root, Before: before, After: after})
	if err != nil {
		t.Fatal(err)
	}
	hash := sha256.Sum256(text)
	sum := hex.EncodeToString(hash[:])
	file := treewatch.UndoFile(w.root, "design", sum)
	book, err := incident.OpenBook(w.root, w.p.Now, true)
	if err := errors.Join(err, signals.MkdirAll(filepath.Dir(file), 0o700), signals.PutFile(file, text, 0o600)); err != nil {
		t.Fatal(err)
	}
	i, _, err := book.Open(t.Context(), "monitor", incident.Report{
		Kind: treewatch.Kind, About: "design", Title: "room design: ann (or you) changed stolen.txt",
		Note: incident.Note{Evidence: []incident.Evidence{{Text: "stolen.txt (change " + sum + ")"}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	var v rooms.View
	if w.must("GET", one, "", &v); len(v.Waits) != 1 || v.Waits[0].Way != rooms.WayUndo || v.Waits[0].Incident != i.ID {
		t.Errorf("%+v", v.Waits)
	}
	w.refused("POST", one+"/undo", `{"change":"0123"}`, 404, "no change")
	if code, text := w.ask("POST", one+"/undo", `{}`, "Origin: http://evil.example"); code != 403 {
		t.Errorf("another page undoes: %d %s", code, text)
	}
	var u rooms.Undone
	w.must("POST", one+"/undo", `{"change":"`+treewatch.UndoID(sum)+`"}`, &u)
	if _, err := os.Stat(stolen); !os.IsNotExist(err) || u.Incident != i.ID || u.Snapshot == "" {
		t.Errorf("%+v, %v", u, err)
	}
	v = rooms.View{}
	if w.must("GET", one, "", &v); len(v.Waits) != 0 {
		t.Errorf("%+v", v.Waits)
	}
}
